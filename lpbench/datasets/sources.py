"""Where a table comes from."""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name

import pandas as pd

from lpbench.datasets.manifest import Manifest, load_manifest
from lpbench.datasets.preprocess import prepare
from lpbench.datasets.table import Table, check_fingerprint
from lpbench.errors import MissingDataError


def read_embedded(source: dict) -> pd.DataFrame:
    """Read a data set that ships with a library: ``{kind: embedded, loader: module:function, options: {...}}``."""
    bunch = resolve_name(source["loader"])(as_frame=True, **source.get("options", {}))
    return bunch.frame


def is_available(manifest: Manifest) -> bool:
    return any(source["kind"] == "embedded" for source in manifest.sources)


def how_to_get(manifest: Manifest) -> str:
    return "; ".join(source.get("instructions", "") for source in manifest.sources)


@cache
def load_table(name: str) -> Table:
    """Return the canonical table of a real data set."""
    manifest = load_manifest(name)
    for source in manifest.sources:
        if source["kind"] == "embedded":
            table = prepare(read_embedded(source), manifest)
            check_fingerprint(table.fingerprint, manifest.fingerprint, name, source["loader"])
            return table
    raise MissingDataError(f"data set {name!r} is not at hand. {how_to_get(manifest)}")
