"""LPCT's table 1: the sizes of the data sets, printed and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lpbench.analysis import read_csv, write_csv
from lpbench.datasets import describe
from lpbench.experiments.experiment import Experiment
from lpbench.papers.published_files import names
from lpbench.reporting.comparison import COMPARISON_COLUMNS
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.published import published_cells

FACTS = {"n_private": "n_train", "n_public": "n_public", "n_features": "n_features"}


def write_facts(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Write ``comparison.csv``; the panel of a row says which fact it is.

    Sizes come from the manifests, so the table is complete for data sets that are not at hand too.
    """
    name = experiment.name
    rows = published_cells(name)
    known = {d: describe(d) for d in dict.fromkeys(rows["dataset"])}
    ours = [getattr(known[d], FACTS[fact]) for d, fact in zip(rows["dataset"], rows["panel"], strict=True)]
    rows["reproduced"] = [np.nan if v is None else float(v) for v in ours]
    rows["experiment"], rows["se"] = name, np.nan
    rows["difference"] = rows["reproduced"] - rows["published"]
    rows["relative_difference"] = rows["difference"] / rows["published"]
    rows["note"] = [_note(row, known[row["dataset"]].available) for row in rows.to_dict("records")]
    comparison = folder / "comparison.csv"
    write_csv(rows[COMPARISON_COLUMNS], comparison)
    return [comparison]


def _note(row: dict[str, Any], available: bool) -> str:
    # the errata of this table are about sizes
    erratum = row["note"] if row["panel"] != "n_features" else ""
    if np.isnan(row["reproduced"]):
        return "; ".join(filter(None, [erratum, "unknown until the data are at hand"]))
    return erratum or ("" if available else "promised by the manifest; the data are not at hand")


def _print(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.0f}"


def read_sizes(folder: Path) -> PlainTable | None:
    """Lay out ``comparison.csv`` of the experiment's folder as in the paper; None without the file."""
    path = folder / "comparison.csv"
    if not path.is_file():
        return None
    rows = read_csv(path)
    labels = {ours: published for (published, _), ours in names("dataset", "L").items()}
    entries = {(r.dataset, r.panel): f"{_print(r.published)} / {_print(r.reproduced)}" for r in rows.itertuples()}
    return PlainTable(
        "Each entry: published / ours, after preprocessing; private rows are the 80 % used for training.",
        ("data set", "n_P", "n_Q", "d"),
        tuple((labels[d], *(entries[d, fact] for fact in FACTS)) for d in dict.fromkeys(rows["dataset"])),
    )
