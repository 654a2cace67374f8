"""L Table 1: the sizes of the data sets, printed and ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.datasets import describe
from lpbench.files import write_text
from lpbench.papers.published_files import names
from lpbench.reporting.cards import get
from lpbench.reporting.comparison import COMPARISON_COLUMNS
from lpbench.reporting.published import published_cells

FACTS = {"n_private": "n_train", "n_public": "n_public", "n_features": "n_features"}


def write_facts(experiment, folder: Path, seed: int) -> list[Path]:
    """Write ``table1.md`` and ``comparison.csv``; the panel of a row says which fact it is.

    Sizes come from the manifests, so the table is complete for data sets that are not at hand too.
    """
    name = get(experiment, "name")
    rows = published_cells(name)
    known = {d: describe(d) for d in dict.fromkeys(rows["dataset"])}
    ours = [getattr(known[d], FACTS[fact]) for d, fact in zip(rows["dataset"], rows["panel"], strict=True)]
    rows["reproduced"] = [np.nan if v is None else float(v) for v in ours]
    rows["experiment"], rows["se"] = name, np.nan
    rows["difference"] = rows["reproduced"] - rows["published"]
    rows["relative_difference"] = rows["difference"] / rows["published"]
    rows["note"] = [_note(row, known[row["dataset"]].available) for row in rows.to_dict("records")]
    comparison, table = folder / "comparison.csv", folder / f"{name.rpartition('/')[2]}.md"
    write_csv(rows[COMPARISON_COLUMNS], comparison)
    write_text(_markdown(experiment, rows), table)
    return [comparison, table]


def _note(row: dict, available: bool) -> str:
    # the errata of this table are about sizes
    erratum = row["note"] if row["panel"] != "n_features" else ""
    if np.isnan(row["reproduced"]):
        return "; ".join(filter(None, [erratum, "unknown until the data are at hand"]))
    return erratum or ("" if available else "promised by the manifest; the data are not at hand")


def _print(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.0f}"


def _markdown(experiment, rows: pd.DataFrame) -> str:
    labels = {ours: published for (published, _), ours in names("dataset", "L").items()}
    cells = {(r.dataset, r.panel): f"{_print(r.published)} / {_print(r.reproduced)}" for r in rows.itertuples()}
    lines = [
        f"# {get(experiment, 'title', 'Data sets')}",
        "",
        "Each cell: published / ours, after preprocessing; private rows are the 80 % used for training.",
        "",
        "| | n_P | n_Q | d |",
        "|---|---|---|---|",
    ]
    for dataset in dict.fromkeys(rows["dataset"]):
        lines.append(f"| {labels[dataset]} | " + " | ".join(cells[dataset, fact] for fact in FACTS) + " |")
    notes = [*get(experiment, "notes", [])]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)]) + "\n"
