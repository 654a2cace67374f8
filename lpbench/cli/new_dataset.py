"""``lpbench new dataset``: profile the columns of a CSV, write its manifest. Non-interactive."""

from __future__ import annotations

import csv
import gzip
import itertools
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from lpbench.cli.new_method import check_name, refuse_overwriting, shown
from lpbench.cli.profile import Choices, Profile, profile_features, profile_target, texts
from lpbench.datasets.archives import check_size
from lpbench.datasets.manifest import Manifest, list_datasets
from lpbench.datasets.preprocess import prepare
from lpbench.datasets.readers import read_source
from lpbench.datasets.table import Table
from lpbench.errors import ConfigurationError, DataError, unknown_key
from lpbench.experiments.config import ROOT_SEED

#: Cells that mean "missing" besides those that pandas knows (empty, NA, NaN, ...).
MISSING = ("?", "-", ".", "unknown")
#: Public rows of a classification data set: this share, within these bounds.
PUBLIC_SHARE, PUBLIC_ROWS = 0.1, (20, 500)
SEPARATORS = ",;\t|"


def new_dataset(file: Path, folder: Path, *, name: str | None = None, **choices: Any) -> tuple[Path, Profile]:
    """Write the manifest of a CSV file (see :class:`Choices`) into the subfolder ``datasets`` of a folder.

    The file, whose stem is the default name, is copied beside the manifest, which names files of its own folder alone.
    """
    chosen = Choices(**choices)
    file, folder = Path(file).resolve(), Path(folder).resolve() / "datasets"
    name = name or re.sub(r"[^a-z0-9]+", "_", re.sub(r"\.csv$|\.gz$|\.csv\.gz$", "", file.name.lower())).strip("_")
    check_name("dataset", name)
    path = folder / f"{name}.yaml"
    refuse_overwriting(path)
    if name in list_datasets():
        raise ConfigurationError(f"data set {name!r} exists already; choose another with --name")
    if not file.is_file():
        raise DataError(f"{shown(file)} is no file")
    check_size(file)
    copy = file if file.is_relative_to(folder) else folder / f"{name}{''.join(file.suffixes[-2:])}"
    if copy != file:
        refuse_overwriting(copy)
    profile, _ = profile_file(file, copy.relative_to(folder).as_posix(), name, chosen)
    folder.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(profile.content, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    if copy != file:
        shutil.copyfile(file, copy)
    path.write_text(text, encoding="utf-8")
    return path, profile


def profile_file(file: Path, listed: str, name: str, chosen: Choices) -> tuple[Profile, Table]:
    """Decide what a CSV file holds; return the decisions and the table that follows from them."""
    profile, raw = _read(file, listed, name)
    target = _choose_target(profile, raw, chosen.target)
    profile_target(profile, raw[target], chosen)
    profile_features(profile, raw.drop(columns=target))
    return profile, _profile_rows(profile, raw, name, chosen)


def _read(file: Path, listed: str, name: str) -> tuple[Profile, pd.DataFrame]:
    """Find out how the file is written, and read it as the manifest will."""
    sep, cells = _head(file)
    header = any(cell and not _is_number(cell) for cell in cells)
    how: dict[str, Any] = {} if sep == "," else {"sep": sep}
    if not header:
        how["header"] = False
    source: dict[str, Any] = {"kind": "file", "files": {"data": listed}, "format": how}
    columns = [] if header else [*(f"x{k}" for k in range(1, len(cells))), "y"]
    raw = read_source(source, {"data": file}, columns, name)
    if raw.empty or raw.shape[1] < 2:
        raise DataError(f"{shown(file)} has {len(raw)} rows and {raw.shape[1]} columns; at least one feature is needed")
    found = [texts(raw[column].dropna()) for column in raw.select_dtypes(exclude="number")]
    if markers := [marker for marker in MISSING if any((text == marker).any() for text in found)]:
        how["missing"] = markers
        raw = read_source(source, {"data": file}, columns, name)
    raw.columns = raw.columns.map(str)
    profile = Profile({"title": name.replace("_", " ").capitalize(), "task": "", "origin": f"the file {file.name}"})
    profile.content["sources"] = [source if how else {k: v for k, v in source.items() if k != "format"}]
    if columns:
        profile.content["columns"] = columns
    more = ("" if header else "; no header: columns are called x1, x2, ..., y") + (
        f"; {', '.join(markers)} means missing" if markers else ""
    )
    profile.say("file", f"{len(raw)} rows, {raw.shape[1]} columns, separated by {sep!r}{more}")
    return profile, raw


def _head(file: Path) -> tuple[str, list[str]]:
    """Separator and cells of the first line; lines of different length would be read as something else."""
    opener = gzip.open if file.suffix == ".gz" else open
    try:
        with opener(file, "rt", encoding="utf-8-sig", newline="") as stream:
            first = stream.readline()
            sep = max(SEPARATORS, key=first.count)
            stream.seek(0)
            lines = list(itertools.islice((line for line in csv.reader(stream, delimiter=sep) if line), 2))
    except (UnicodeDecodeError, OSError, csv.Error) as error:
        raise DataError(f"{shown(file)} is not text in UTF-8 ({error}); export it as CSV in UTF-8") from error
    if not lines:
        raise DataError(f"{shown(file)} is empty")
    if len(lines) == 2 and len(lines[0]) != len(lines[1]):
        raise DataError(f"{shown(file)}: its first line has {len(lines[0])} cells, the next one {len(lines[1])}")
    return sep, [cell.strip() for cell in lines[0]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _choose_target(profile: Profile, raw: pd.DataFrame, target: str | None) -> str:
    if target is not None and target not in raw.columns:
        raise unknown_key("unknown column --target", target, raw.columns)
    chosen = target or str(raw.columns[-1])
    profile.say("target", chosen + ("" if target else " (the last column; --target names another)"))
    return chosen


def _profile_rows(profile: Profile, raw: pd.DataFrame, name: str, chosen: Choices) -> Table:
    """Treat missing cells, cap the rows, draw a public sample, and fingerprint the result."""
    content = profile.content
    target = content["target"] if isinstance(content["target"], str) else content["target"]["column"]
    used = [f if isinstance(f, str) else f["column"] for f in content["features"]]
    steps = _missing(profile, raw, used, target, chosen.missing)
    kept = len(raw.dropna(subset=[target] if chosen.missing == "fill" else [*used, target]))
    if kept < 10:
        raise DataError(f"data set {name!r}: {kept} rows remain without those that miss a cell; at least 10 are needed")
    if chosen.rows is not None and chosen.rows < kept:
        steps.append({"sample": {"size": chosen.rows, "seed": ROOT_SEED}})
        profile.say("rows", f"{chosen.rows} of {kept}, drawn once (--rows)")
        kept = chosen.rows
    elif chosen.rows is not None:
        profile.say("rows", f"all {kept}: no more than --rows {chosen.rows}")
    if steps:
        content["rows"] = steps
    _public(profile, kept, chosen.public)
    table = prepare(raw, manifest_of(name, content))
    content["fingerprint"] = table.fingerprint
    return table


def _missing(profile: Profile, raw: pd.DataFrame, used: list[str], target: str, choice: str) -> list[dict[str, Any]]:
    """Count missing cells, and treat them as chosen."""
    counts = raw[[*used, target]].isna().sum()
    counts = counts[counts > 0].sort_values(ascending=False, kind="stable")
    if counts.empty:
        return []
    where = ", ".join(f"{column} {n}" for column, n in counts.head(4).items()) + ", ..." * (len(counts) > 4)
    cells = f"{int(counts.sum())} cells are missing ({where})"
    if choice == "drop":
        rows = int(raw[[*used, target]].isna().any(axis=1).sum())
        profile.say("missing", f"{cells}: {rows} rows are dropped ({rows / len(raw):.0%}); --missing fill keeps them")
        return [{"drop_missing": [*used, target]}]
    steps: list[dict[str, Any]] = [{"drop_missing": [target]}] if target in counts.index else []
    filled = [column for column in counts.index if column != target]
    without = f"; {int(counts[target])} rows without a label are dropped" if steps else ""
    profile.say("missing", f"{cells}: filled by the column's median or most frequent category, which are the file's"
                + without)  # fmt: skip
    return [*steps, {"fill_missing": filled}] if filled else steps


def _public(profile: Profile, kept: int, share: float | None) -> None:
    """Which rows are public, in one sentence for numbers and classes."""
    rows = round((share or 0.0) * kept)
    if share is None and profile.content["task"] == "classification":
        rows = int(np.clip(PUBLIC_SHARE * kept, *PUBLIC_ROWS))
    rows = min(rows, kept // 2)
    if rows:
        profile.content["public"] = {"sample": rows, "seed": ROOT_SEED}
        profile.say("public", f"{rows} rows ({rows / kept:.0%}), drawn once, are the public sample: they scale the "
                    "features, and methods may learn from them (--public SHARE)")  # fmt: skip
    else:
        profile.say("public", "no rows: the range of all rows scales the features (--public SHARE draws a sample)")


def manifest_of(name: str, content: dict[str, Any]) -> Manifest:
    """Return the manifest that holds the decisions."""
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
    return Manifest(name=name, **fields)
