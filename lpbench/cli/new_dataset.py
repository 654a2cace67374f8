"""``lpbench new dataset``: profile the columns of a CSV, write its manifest. Nothing is asked, everything is said."""

from __future__ import annotations

import csv
import gzip
import itertools
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from lpbench.cli.new_method import check_name, refuse_overwriting, shown
from lpbench.datasets.manifest import Manifest, list_datasets
from lpbench.datasets.preprocess import prepare
from lpbench.datasets.readers import read_source
from lpbench.errors import ConfigurationError, DataError, unknown_key
from lpbench.experiments.config import ROOT_SEED

#: A text column with more values than this is left out, and so is one that misses more than this share of its cells.
MAX_CATEGORIES, MAX_MISSING = 20, 0.5
#: Cells that mean "missing" besides those that pandas knows (empty, NA, NaN, ...).
MISSING = ("?", "-", ".", "unknown")
#: Public rows of a classification data set: this share, within these bounds. They set the scale of the features.
PUBLIC_SHARE, PUBLIC_ROWS = 0.1, (20, 500)
SEPARATORS = ",;\t|"
#: Names of columns that hold identifiers, where all values are different: id, customer_id, CustomerId, order no.
_IDENTIFIER = re.compile(r"(?i:(?:^|[_\W])(?:id|nr|no|key|index|number))$|[a-z]I[dD]$")


@dataclass
class Profile:
    """A manifest in the making, and what was decided on the way."""

    content: dict[str, Any]
    decisions: list[str] = field(default_factory=list)

    def say(self, what: str, text: str) -> None:
        """Note one decision."""
        self.decisions.append(f"{what:12s}{text}")


def new_dataset(
    file: Path, folder: Path, *, name: str | None = None, target: str | None = None, positive: str | None = None
) -> tuple[Path, Profile]:
    """Write the manifest of a CSV file into the subfolder ``datasets`` of a folder.

    Parameters
    ----------
    file : Path
        Separated by comma, semicolon, tab or bar, with a header or without; the manifest names it relative to itself.
    folder : Path
    name, target : str, optional
        Default: the file's stem in lower case; the last column.
    positive : str, optional
        Class that is told apart from all others; default: of two classes the last in order.

    Raises
    ------
    ConfigurationError
        A name that cannot be used, an unknown column or class, or a manifest that exists.
    DataError
        The file cannot be read, or has no column or row to learn from.
    """
    file, folder = Path(file).resolve(), Path(folder).resolve() / "datasets"
    name = name or re.sub(r"[^a-z0-9]+", "_", re.sub(r"\.csv$|\.gz$|\.csv\.gz$", "", file.name.lower())).strip("_")
    check_name("dataset", name)
    path = folder / f"{name}.yaml"
    refuse_overwriting(path)
    if name in list_datasets():
        raise ConfigurationError(f"data set {name!r} exists already; choose another with --name")
    if not file.is_file():
        raise DataError(f"{shown(file)} is no file")
    profile, raw = _read(file, folder, name)
    target = _choose_target(profile, raw, target)
    _profile_target(profile, raw[target], target, positive)
    _profile_features(profile, raw.drop(columns=target), target)
    _profile_rows(profile, raw, name)
    folder.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(profile.content, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    path.write_text(text, encoding="utf-8")
    return path, profile


def _read(file: Path, folder: Path, name: str) -> tuple[Profile, pd.DataFrame]:
    """Find out how the file is written, and read it as the manifest will."""
    sep, cells = _head(file)
    header = any(cell and not _is_number(cell) for cell in cells)
    how: dict[str, Any] = {} if sep == "," else {"sep": sep}
    if not header:
        how["header"] = False
    source: dict[str, Any] = {"kind": "file", "files": {"data": os.path.relpath(file, folder)}, "format": how}
    columns = [] if header else [*(f"x{k}" for k in range(1, len(cells))), "y"]
    raw = read_source(source, {"data": file}, columns, name)
    if raw.empty or raw.shape[1] < 2:
        raise DataError(f"{shown(file)} has {len(raw)} rows and {raw.shape[1]} columns; at least one feature is needed")
    texts = [_texts(raw[column].dropna()) for column in raw.select_dtypes(exclude="number")]
    if markers := [marker for marker in MISSING if any((text == marker).any() for text in texts)]:
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


def _profile_target(profile: Profile, column: pd.Series, target: str, positive: str | None) -> None:
    """Two values, or --positive: a classification. Numbers: a regression."""
    known = column.dropna()
    classes = sorted(_texts(known).unique())
    if positive is not None and positive not in classes:
        raise unknown_key(f"unknown class --positive of column {target!r}", positive, classes)
    if len(classes) < 2:
        raise DataError(f"target {target!r} has {len(classes)} different values; choose another with --target")
    if positive is not None or len(classes) == 2:
        positive = positive or classes[-1]
        others = [c for c in classes if c != positive]
        profile.content["task"] = "classification"
        profile.content["target"] = {"column": target, "positive": [positive], "negative": others}
        share = (_texts(known) == positive).mean()
        profile.say("task", f"classification: {positive!r} is 1 ({share:.0%}), {', '.join(map(repr, others[:4]))} is 0")
    elif pd.api.types.is_numeric_dtype(known):
        low, high = float(known.min()), float(known.max())
        profile.content |= {"task": "regression", "target": target, "y_range": [low, high]}
        profile.say("task", f"regression; y_range {low:g} to {high:g} is the file's: must be public knowledge")
    else:
        raise DataError(
            f"target {target!r} is text with {len(classes)} values; --positive VALUE tells one from the others, "
            "--target COLUMN chooses another column"
        )


def _profile_features(profile: Profile, raw: pd.DataFrame, target: str) -> None:
    """Numbers as they are, two values as 0 and 1, few categories one-hot; the rest is left out."""
    features: list[str | dict[str, Any]] = []
    for column in raw.columns:
        values = raw[column].dropna()
        reason = _useless(raw[column], values)
        if reason:
            profile.say("left out", f"{column}: {reason}")
        elif pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            features.append(column)
        else:
            categories = sorted(_texts(values).unique())
            two = len(categories) == 2
            coding = {"map": dict(zip(categories, (0, 1), strict=True))} if two else {"one_hot": categories}
            features.append({"column": column, **coding})
            how = "as 0, 1" if two else "one column each"
            profile.say("category", f"{column}: {', '.join(categories[:6])}{', ...' * (len(categories) > 6)}; {how}")
    if not features:
        raise DataError("no column can be a feature: " + "; ".join(profile.decisions[2:]))
    profile.content["features"] = features
    numbers = [f for f in features if isinstance(f, str)]
    profile.say("numbers", f"{len(numbers)} column{'s' * (len(numbers) != 1)}: {', '.join(numbers[:6])}"
                + (", ..." if len(numbers) > 6 else ""))  # fmt: skip
    profile.content["sensitivity"] = {"order": "columns", "reason": "not known: the order of the file"}
    profile.say("sensitivity", "the order of the columns, first = most personal; edit `sensitivity` to change it")


def _useless(column: pd.Series, values: pd.Series) -> str:
    """Why a column can be no feature; empty if it can."""
    if len(values) < (1 - MAX_MISSING) * len(column):
        return f"{1 - len(values) / len(column):.0%} of its cells are missing"
    if values.nunique() < 2:
        return "constant"
    if pd.api.types.is_integer_dtype(values) and len(values) > 2:
        steps = values.diff().dropna()
        if (steps == 1).all():
            return "numbers the rows"
        if (steps > 0).all():
            return "numbers the rows, with gaps"
        if values.is_unique and _IDENTIFIER.search(str(column.name)):
            return "identifies the rows"
    if not pd.api.types.is_numeric_dtype(values) and values.nunique() > MAX_CATEGORIES:
        strange = values[pd.to_numeric(values, errors="coerce").isna()]
        if len(strange) < len(values) / 2:
            return f"{len(strange)} cells are no numbers, e.g. {str(strange.iloc[0])!r}"
        return f"text with {values.nunique()} different values"
    return ""


def _profile_rows(profile: Profile, raw: pd.DataFrame, name: str) -> None:
    """Rows with missing cells are dropped; a classification gets a public sample; the result is fingerprinted."""
    content = profile.content
    target = content["target"]
    used = [f if isinstance(f, str) else f["column"] for f in content["features"]]
    used.append(target if isinstance(target, str) else target["column"])
    complete = raw[used].notna().all(axis=1)
    if not complete.all():
        content["rows"] = [{"drop_missing": used}]
        worst = Counter(raw[used].isna().sum().to_dict()).most_common(1)[0][0]
        profile.say("rows", f"{int((~complete).sum())} with missing cells are dropped (most of them miss {worst})")
    if complete.sum() < 10:
        raise DataError(f"data set {name!r}: only {int(complete.sum())} rows have no missing cell; 10 are the least")
    if content["task"] == "classification":
        rows = int(np.clip(PUBLIC_SHARE * complete.sum(), *PUBLIC_ROWS))
        rows = min(rows, int(complete.sum()) // 2)
        content["public"] = {"sample": rows, "seed": ROOT_SEED}
        profile.say("public", f"{rows} rows, drawn once, are the public sample that scales the features")
    content["fingerprint"] = prepare(raw, _manifest(name, content)).fingerprint


def _manifest(name: str, content: dict[str, Any]) -> Manifest:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
    return Manifest(name=name, **fields)


def _texts(values: pd.Series) -> pd.Series:
    """Cells as the preparation compares them: text without blanks, whole numbers without ``.0``."""
    if pd.api.types.is_float_dtype(values) and (values == values.round()).all():
        values = values.astype("Int64")
    return values.astype(str).str.strip()
