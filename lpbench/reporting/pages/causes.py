"""Content of the page "Why the numbers differ": numbers met, interpretations of what the papers leave open, bounds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.analysis.variants import bare_name
from lpbench.experiments.method import Method
from lpbench.reporting.causes import CELLS, FILE, best_interpretations, bounds, interpretations_tried, totals
from lpbench.reporting.interpretations import SUPPORT
from lpbench.reporting.numbers import per_cent
from lpbench.reporting.pages.names import label_of
from lpbench.reporting.paper import papers
from lpbench.reporting.printed_names import dataset_title, method_title

TITLE = "Why the numbers differ"


def causes_page(results_dir: Path, report: Path, cards: Mapping[str, Method]) -> dict[str, Any] | None:
    """Collect the page's content from ``causes.csv`` in the folder of the report; None without anything to show."""
    known = papers()
    table = pd.read_csv(report / FILE, keep_default_na=False) if (report / FILE).is_file() else None
    met, excluded, tried = totals(known, results_dir), bounds(known, results_dir), interpretations_tried(known)
    if not met and (table is None or table.empty):
        return None
    rows = [] if table is None else table.to_dict("records")
    outside = pd.read_csv(report / CELLS, keep_default_na=False) if (report / CELLS).is_file() else pd.DataFrame()
    best = [] if table is None or table.empty else best_interpretations(table)
    unexplained = {(p.name, candidates.what): candidates.unexplained for p in known for candidates in p.interpretations}
    found = []
    for paper in known:
        names = dict.fromkeys(r["what"] for r in rows if r["paper"] == paper.name)
        interpretations = [
            {
                "what": what,
                "steps": [_step(r) for r in rows if (r["paper"], r["what"]) == (paper.name, what)],
                "unexplained": unexplained.get((paper.name, what), ""),
            }
            for what in names
        ]
        totals_of = [_total(t, cards) for t in met if t["paper"] == paper.name]
        bounds_of = [b for b in excluded if b["paper"] == paper.name]
        if interpretations or totals_of or bounds_of:
            count = tried.get(paper.name, 0)
            found.append({"name": paper.name, "title": paper.title, "tried": count, "totals": totals_of,
                          "best": [_best(b) for b in best if b["paper"] == paper.name],
                          "cells": _cells(outside[outside["paper"] == paper.name], cards) if len(outside) else [],
                          "interpretations": interpretations, "bounds": bounds_of})  # fmt: skip
    return {"title": TITLE, "found": found, "file": FILE}


#: What explains a missed number, by the support of its cause.
_EXPLAINED = {
    "": "unexplained",
    "bound": "ruled out by our data",
    "print": "known to be errors in print",
}
_OTHERWISE = "met by another interpretation"


def explained(report: Path) -> dict[str, str]:
    """How many of an experiment's missed numbers are explained by what, and how many are not; a sentence each."""
    if not (report / CELLS).is_file():
        return {}
    table = pd.read_csv(report / CELLS, keep_default_na=False)
    table["why"] = [_EXPLAINED.get(support, _OTHERWISE) for support in table["support"]]
    found = {}
    for (experiment, configuration), part in table.groupby(["experiment", "configuration"], sort=False):
        counted = part["why"].value_counts()
        shares = [f"{counted[why]} {why}" for why in (*_EXPLAINED.values(), _OTHERWISE) if why in counted]
        # the default is what the numbers before this sentence count
        where = "" if configuration.startswith("default") else f" with the {configuration} configuration"
        found[experiment] = f"{len(part)} missed{where}: {', '.join(shares)}."
    return found


def _best(row: dict[str, Any]) -> dict[str, str]:
    places = ", ".join(map(label_of, row["artefact"].split()))
    share = per_cent(row["met"] / row["cells"])
    return {"where": places, "numbers": f"{row['met']} of {row['cells']} ({share})"}


def _cells(table: pd.DataFrame, cards: Mapping[str, Method]) -> list[dict[str, Any]]:
    """Numbers outside, cell by cell, by experiment, method and cause."""
    groups = table.groupby(["experiment", "configuration", "method", "cause"], sort=False)
    return [
        {
            "experiment": label_of(experiment),
            "configuration": configuration,
            "method": method_title(method, cards),
            "cause": cause,
            "numbers": len(part),
            "where": "; ".join(_printed(row) for row in part.to_dict("records")),
        }
        for (experiment, configuration, method, cause), part in groups
    ]


def _printed(row: dict[str, Any]) -> str:
    """One number: where it is, print and ours."""
    mask = bare_name(row["mask"])
    place = [dataset_title(row["dataset"]) if row["dataset"] else "", "" if mask == "all_private" else mask]
    place += [f"ε = {row['epsilon']:g}" if row["epsilon"] != "" else "", f"x = {row['x']}" if row["x"] != "" else ""]
    return f"{', '.join(filter(None, place))}: {row['published']:g}, ours {row['reproduced']:.3g}"


def _step(row: dict[str, Any]) -> dict[str, Any]:
    relative = bool(row["relative"])
    return {
        "reading": row["reading"],
        "support": SUPPORT[row["support"]],
        "adopted": row["support"] not in ("found", "tried", "refuted"),
        "cells": f"{row['cells']:g}",
        "replications": f"{row['replications']:g}",
        "share": row["within"],
        "within": per_cent(row["within"]),
        "median": f"{100 * row['median']:+.1f} %" if relative else f"{100 * row['median']:+.2f} pp",
        "size": f"{100 * row['median_size']:.1f} %" if relative else f"{100 * row['median_size']:.2f} pp",
        "tolerance": _tolerance(row["tolerance"], relative),
    }


def _total(row: dict[str, Any], cards: Mapping[str, Method]) -> dict[str, Any]:
    share = row["met"] / row["cells"] if row["cells"] else 0.0
    return {
        "what": row["what"],
        "configuration": row["configuration"],
        "numbers": f"{row['met']} of {row['cells']}",
        "absent": row["cells"] - row["compared"],
        "excluded": row["excluded"],
        "share": share,
        "within": per_cent(share),
        "tolerance": _tolerance(row["tolerance"], row["relative"]),
        "outside": [
            {
                "method": method_title(part["method"], cards),
                "numbers": f"{part['outside']} of {part['compared']}",
                "where": ", ".join(f"{_place(part['place'], key)} ({n})" for key, n in part["where"]),
            }
            for part in row["outside"]
            if part["outside"]
        ],
    }


def _place(place: str, key: Any) -> str:
    """A data set, an experiment or a budget in print."""
    if place == "epsilon":
        return f"ε = {key:g}"
    return dataset_title(key) if place == "data" else label_of(key)


def _tolerance(value: float, relative: bool) -> str:
    return f"{100 * value:g} {'%' if relative else 'pp'}"
