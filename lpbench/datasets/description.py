"""Size, features, task and range of a data set under given parameters, known without drawing a replication."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from lpbench.datasets import splits
from lpbench.datasets.manifest import Manifest, load_manifest
from lpbench.datasets.parameters import resolve_params
from lpbench.datasets.real import kept_rows
from lpbench.datasets.sources import how_to_get, is_available, load_table
from lpbench.errors import DataError, foreign
from lpbench.source import source_hash


@dataclass(frozen=True)
class Description:
    """Facts about a data set.

    Parameters
    ----------
    name, title : str
        Name of the manifest, and the printed name.
    task : str
        ``regression`` or ``classification``.
    metric : str
        Metric by which predictions are scored.
    n_train, n_test, n_public : int or None
        Rows of a replication; None if they depend on a table that is not available.
    n_features : int
        Columns of the table.
    y_range : (float, float) or None
        Public range of the label; None also if the range is that of the drawn sample.
    fingerprint : str
        Hash of whatever determines the draws besides seed and parameters: table and manifest, or the source code of a
        synthetic family.
    available : bool
        True if the raw files are at hand.
    how_to_get : str
        Instructions; empty if the data set is available.
    """

    name: str
    title: str
    task: str
    metric: str
    n_train: int | None  #: None where they depend on a table that is not at hand.
    n_test: int | None  #: None where they depend on a table that is not at hand.
    n_features: int
    n_public: int | None  #: None where they depend on a table that is not at hand.
    y_range: tuple[float, float] | None  #: None also where the range is that of the drawn sample.
    #: Hash of what determines the draws besides seed and parameters: the table and how it is used, or the source code
    #: of a synthetic family.
    fingerprint: str
    available: bool
    how_to_get: str  #: Empty where the data set is available.


def describe(dataset: str, dataset_params: Mapping | None = None) -> Description:
    """Return the facts about a data set; nothing is drawn and, where avoidable, nothing read.

    Parameters
    ----------
    dataset : str
        Name of a manifest.
    dataset_params : mapping, optional
        Parameters, as of :func:`lpbench.datasets.make_problem`.

    Returns
    -------
    Description
        Sizes, task, range and fingerprint under these parameters.
    """
    manifest = load_manifest(dataset)
    params = resolve_params(manifest, dataset_params)
    if manifest.synthetic:
        stated = {key: params[value] if isinstance(value, str) else value for key, value in manifest.shape.items()}
        sizes = dict.fromkeys(("n_train", "n_test", "n_features", "n_public"), 0) | stated
    else:
        sizes = _real_sizes(manifest, params)
    available = bool(manifest.synthetic) or is_available(manifest)
    return Description(
        name=manifest.name,
        title=manifest.title,
        task=manifest.task,
        metric=manifest.score if manifest.synthetic else params["metric"],
        y_range=manifest.label_range(params.get("label_range", "file")),
        fingerprint=_identity(manifest, params, available),
        available=available,
        how_to_get="" if available else how_to_get(manifest),
        **sizes,
    )


def _real_sizes(manifest: Manifest, params: Mapping) -> dict:
    """Return the rows that a replication of a real data set draws, and its features, keyed ``n_train`` and so on.

    A number is None where it needs a missing table.
    """
    sizes = {"n_train": None, "n_test": None, "n_features": _n_features(manifest), "n_public": None}
    counts = _row_counts(manifest, params["deduplicate"])
    if counts is not None and params["split"] != "openml":
        private, public = counts
        drawn = splits.n_train_rows(private, params["test_size"], params["private_fraction"])
        train, published = splits.publish_rows(np.arange(drawn), params["public_share"])
        given = public if params["n_public"] is None else params["n_public"]
        sizes |= {
            "n_train": train.size,
            "n_test": splits.n_test_rows(private, params["test_size"]),
            "n_public": given + published.size,
        }
    return sizes


def _n_features(manifest: Manifest) -> int:
    """Number of features: promised by the manifest, else counted where the table is at hand."""
    promised = manifest.fingerprint.get("features")
    if promised is not None:
        return int(promised)
    if not is_available(manifest):
        raise DataError(
            f"data set {manifest.name}: its files are not at hand, and its manifest lacks "
            "`fingerprint: {features: d}`, the number of features; add it"
        )
    return len(load_table(manifest.name, sealed=True).columns)


def _row_counts(manifest: Manifest, deduplicate: bool) -> tuple[int, int] | None:
    """Numbers of private and public rows: promised by the manifest, else counted where the table is at hand, else None.

    ``deduplicate`` counts distinct rows.
    """
    promised = manifest.fingerprint
    if not deduplicate and promised.get("rows") is not None and promised.get("public") is not None:
        return promised["rows"] - promised["public"], promised["public"]
    if not is_available(manifest):
        return None
    private, public = kept_rows(load_table(manifest.name, sealed=True), deduplicate)
    return private.size, public.size


def _identity(manifest: Manifest, params: Mapping, available: bool) -> str:
    """Return the fingerprint: a hash of whatever determines the draws besides seed and parameters."""
    facts: dict[str, object] = {
        "task": manifest.task,
        "metric": manifest.score,
        "draws_as": manifest.draws_as or manifest.name,
    }
    if manifest.synthetic:
        must = "must be module:function of a module that can be imported and read"
        with foreign(f"data set {manifest.name}: synthetic={manifest.synthetic!r} {must}"):
            source = source_hash(import_module(manifest.synthetic.partition(":")[0]).__name__)
        facts |= {"function": manifest.synthetic, "params": manifest.params, "source": source}
    else:
        # A file nobody could hash yet has no promised value hash: then the table at hand decides.
        is_stated = manifest.fingerprint.get("values") is not None or not available
        table = manifest.fingerprint if is_stated else load_table(manifest.name, sealed=True).fingerprint
        facts |= {
            "table": table,
            "y_range": manifest.y_range,
            "scale": manifest.scale,
            "groups": manifest.groups,
            "sensitivity": manifest.sensitivity.get("order"),
        }
        facts |= {key: value for key, value in manifest.sensitivity.items() if key == "importance"}
        facts |= {"unit": manifest.unit} if manifest.unit else {}
        if params["split"] == "openml":
            facts["openml"] = manifest.openml
        if params["scaling"] == "bounds":
            facts["bounds"] = manifest.bounds
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
