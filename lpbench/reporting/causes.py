"""Distances of interpretations from a paper's numbers, and causes of the numbers that none of them meets.

``causes.csv`` compares the interpretations on the same replications; ``causes_cells.csv`` has a cause for each number
that none of them meets.

Papers state them as data: :class:`lpbench.reporting.interpretations.Interpretations`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.summary import BASELINE
from lpbench.analysis.variants import bare_name
from lpbench.errors import NotRunError
from lpbench.experiments import catalogue
from lpbench.experiments.results import Results
from lpbench.reporting.interpretations import SUPPORT, Interpretations, Step, Total
from lpbench.reporting.paper import Paper
from lpbench.reporting.published import published_cells
from lpbench.selectors import parse_selector

FILE, CELLS = "causes.csv", "causes_cells.csv"
COLUMNS = [
    *("paper", "what", "artefact", "mask", "method", "step", "reading", "support", "replications"),
    *("cells", "within", "tolerance", "relative", "median", "median_size"),
]
CELL_COLUMNS = [
    *("paper", "experiment", "panel", "dataset", "mask", "method", "epsilon", "x", "configuration"),
    *("published", "reproduced", "support", "cause"),
]


def distances(candidates: Interpretations, results: Results) -> pd.DataFrame:
    """Distance of every step from the published numbers: a row each, in the order of the steps.

    All steps are compared on the published numbers and the replications that every one of them has.
    """
    cells, ours, replications = _by_step(candidates, results)
    rows = []
    for number, (step, values) in enumerate(zip(candidates.steps, ours, strict=True)):
        apart = _apart(candidates, cells, values)
        rows.append(
            {
                "what": candidates.what,
                "artefact": " ".join(candidates.artefacts),
                "mask": candidates.mask,
                "method": step.method,
                "step": number,
                "reading": step.reading,
                "support": step.support,
                "replications": replications,
                "cells": len(apart),
                "within": float(np.mean(np.abs(apart) <= candidates.tolerance)) if len(apart) else np.nan,
                "tolerance": candidates.tolerance,
                "relative": candidates.relative,
                "median": float(np.median(apart)) if len(apart) else np.nan,
                "median_size": float(np.median(np.abs(apart))) if len(apart) else np.nan,
            }
        )
    return pd.DataFrame(rows)


@lru_cache(maxsize=64)  # both files are made of the steps of all candidates
def _by_step(candidates: Interpretations, results: Results) -> tuple[pd.DataFrame, np.ndarray, int]:
    """The published numbers that all steps have, the value of each step for them, and the replications behind it."""
    cells = pd.concat(
        [published_cells(name).assign(experiment=name) for name in candidates.artefacts], ignore_index=True
    )
    cells = cells[(cells["method"].map(bare_name) == candidates.method) & cells["published"].notna()]
    cells = cells[cells["mask"] == candidates.mask] if candidates.mask else cells
    found = [_chosen(candidates, step, results) for step in candidates.steps]
    replications = min(int(rows["replication"].max()) + 1 for rows in found)
    means = [
        _means(candidates, step, rows, replications, results)
        for step, rows in zip(candidates.steps, found, strict=True)
    ]
    ours = np.array([[_look_up(cell, table) for cell in cells.to_dict("records")] for table in means])
    common = np.isfinite(ours).all(axis=0)
    return cells[common], ours[:, common], replications


def _apart(candidates: Interpretations, cells: pd.DataFrame, values: np.ndarray) -> np.ndarray:
    printed = cells["published"].to_numpy(dtype=float)
    return (values - printed) / np.abs(printed) if candidates.relative else values - printed


def write_causes(papers: Sequence[Paper], results: Results, folder: Path) -> pd.DataFrame:
    """Write ``causes.csv``: the candidate interpretations whose experiments were run."""
    parts = []
    for paper in papers:
        for candidates in paper.interpretations:
            try:
                parts.append(distances(candidates, results).assign(paper=paper.name))
            except NotRunError:
                continue
    table = pd.concat(parts, ignore_index=True)[COLUMNS] if parts else pd.DataFrame(columns=COLUMNS)
    write_csv(table, folder / FILE)
    return table


def totals(papers: Sequence[Paper], results_dir: Path) -> list[dict[str, Any]]:
    """Numbers met: a dictionary for each total and configuration, with the published, compared and met numbers.

    ``excluded`` counts the numbers that our data rule out. ``outside`` lists what is not met, a dictionary a published
    method: how many of its compared numbers, and where. The last configuration is shown again with all that was found
    after the fact.
    """
    results, found = Results(results_dir), []
    for paper in papers:
        for total in paper.totals:
            standing = {name: _standing(total, name, results) for name in total.configurations}
            last = list(standing)[-1]
            standing[f"{last}, with what was found after the fact"] = _with_found(paper, total, standing[last], results)
            for name, one in standing.items():
                if one is None:
                    continue
                apart = one[_difference(total)]
                met = int((apart.abs() <= total.tolerance).sum())
                found.append({"paper": paper.name, "what": total.what, "configuration": name, "cells": len(apart),
                              "compared": int(apart.notna().sum()), "met": met, "tolerance": total.tolerance,
                              "excluded": sum(_bound(paper, row) != "" for row in one.to_dict("records")),
                              "relative": total.relative,
                              "outside": _outside(one.assign(out=apart.abs() > total.tolerance))})  # fmt: skip
    return found


def _with_found(paper: Paper, total: Total, one: pd.DataFrame | None, results: Results) -> pd.DataFrame | None:
    """Rows of a configuration with the last interpretation that was found after the fact; None without any."""
    found: dict[tuple[Any, ...], float] = {}
    for candidates in paper.interpretations if one is not None else ():
        steps = [k for k, step in enumerate(candidates.steps) if step.support == "found"]
        if steps and candidates.artefacts == total.artefacts:
            try:
                cells, ours, _ = _by_step(candidates, results)
            except NotRunError:
                continue
            for cell, apart in zip(cells.to_dict("records"), _apart(candidates, cells, ours[steps[-1]]), strict=True):
                found[_key(cell | {"method": bare_name(cell["method"])})] = apart
    if one is None or not found:
        return None
    keys = [_key(r | {"method": r["base"], "dataset": r["data"], "mask": bare_name(r["mask"])})
            for r in one.to_dict("records")]  # fmt: skip
    column = _difference(total)
    return one.assign(**{column: [found.get(key, apart) for key, apart in zip(keys, one[column], strict=True)]})


def _difference(total: Total) -> str:
    return "relative_difference" if total.relative else "difference"


def _standing(total: Total, configuration: str, results: Results) -> pd.DataFrame | None:
    """The row that stands for each published number under a configuration; None where an artefact was not run.

    A method that has a variant of the configuration, and was not run in it, has no number there.
    """
    tables = [results.artefact(name).comparison for name in total.artefacts]
    rows = [table for table in tables if table is not None]
    if len(rows) < len(tables):
        return None
    table, variants = pd.concat(rows, ignore_index=True), total.configurations[configuration]
    one = _one_row_each(table[table["published"].notna()], variants)
    own = [bool(set(variants) & set(catalogue.method(base).variants)) for base in one["base"]]
    ran = [parse_selector(method)[1].get("variant") if method else None for method in one["method"]]
    borrowed = np.array([has and variant not in variants for has, variant in zip(own, ran, strict=True)], dtype=bool)
    numbers = ["reproduced", "difference", "relative_difference"]
    return one.assign(**{column: one[column].mask(borrowed) for column in numbers})


def write_cells(papers: Sequence[Paper], results: Results, folder: Path) -> pd.DataFrame:
    """Write ``causes_cells.csv``: each number that a configuration of a total leaves outside, with its cause.

    Of the configurations that were run for most numbers it is the last.
    The cause is a proof that our data rule the number out, else a known error of the print, else the best supported
    interpretation that meets it, else "none found".
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for paper in papers:
        met = _met_by_interpretations(paper, results)
        for total in paper.totals:
            standing = {c: one for c in total.configurations if (one := _standing(total, c, results)) is not None}
            configuration = max(reversed(standing), key=lambda c: standing[c]["reproduced"].count(), default="")
            for row in standing[configuration].to_dict("records") if standing else []:
                if abs(row[_difference(total)]) > total.tolerance:
                    key = _key(row | {"method": row["base"], "dataset": row["data"], "mask": bare_name(row["mask"])})
                    support, cause = _cause(paper, row, met.get(key))
                    rows[key] = row | {"paper": paper.name, "configuration": configuration}
                    rows[key] |= {"support": support, "cause": cause}
    table = pd.DataFrame(rows.values(), columns=CELL_COLUMNS)
    write_csv(table, folder / CELLS)
    return table


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    numbers = (None if row[axis] != row[axis] else round(float(row[axis]), 9) for axis in ("epsilon", "x"))
    return (row["experiment"], row["dataset"], row["mask"], row["method"], *numbers)


def _bound(paper: Paper, row: dict[str, Any]) -> str:
    """Why our data rule a number out; empty where they do not."""
    for bound in paper.bounds:
        if any(all(row[key] == value for key, value in cell.items()) for cell in bound.cells):
            return bound.why
    return ""


def _cause(paper: Paper, row: dict[str, Any], met: tuple[str, str] | None) -> tuple[str, str]:
    if why := _bound(paper, row):
        return "bound", why
    if isinstance(row["note"], str) and row["note"]:
        return "print", row["note"]
    return met or ("", "none found")


def _met_by_interpretations(paper: Paper, results: Results) -> dict[tuple[Any, ...], tuple[str, str]]:
    """Published number -> support and words of the best supported interpretation that meets it."""
    order, best = list(SUPPORT), dict[tuple[Any, ...], tuple[str, str]]()
    for candidates in paper.interpretations:
        try:
            cells, ours, _ = _by_step(candidates, results)
        except NotRunError:
            continue
        records = cells.to_dict("records")
        for step, values in zip(candidates.steps, ours, strict=True):
            if step.support in ("tried", "refuted"):
                continue
            for cell, apart in zip(records, _apart(candidates, cells, values), strict=True):
                key = _key(cell | {"method": bare_name(cell["method"])})
                known = best.get(key)
                if abs(apart) <= candidates.tolerance and (
                    known is None or order.index(step.support) < order.index(known[0])
                ):
                    best[key] = step.support, step.reading
    return best


def best_interpretations(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Numbers met if every method takes its nearest interpretation: a dictionary for each set of tables.

    Chosen by their distance, so that they say what is out of reach and nothing else. ``table`` is ``causes.csv``.
    """
    table = table.assign(
        base=[bare_name(m.partition(" or ")[0]) for m in table["method"]], met=table["within"] * table["cells"]
    )
    found = []
    for (paper, artefact), part in table.groupby(["paper", "artefact"], sort=False):
        best = part.groupby(["base", "mask"], dropna=False).agg(met=("met", "max"), cells=("cells", "max"))
        found.append({"paper": paper, "artefact": artefact, "methods": len(best), "cells": int(best["cells"].sum()),
                      "met": round(float(best["met"].sum()))})  # fmt: skip
    return [row for row in found if row["methods"] > 1]


def _outside(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Numbers that are not met by published method, and where they lie: (place, how many), most first.

    A place is a data set where there are several, else an experiment where there are several, else a budget.
    """
    several = [column for column in ("data", "experiment") if rows[column].nunique() > 1]
    place = several[0] if several else "epsilon"
    found = []
    for method, part in rows[rows["reproduced"].notna()].groupby("base", sort=False):
        out = part[part["out"]]
        where = [(key, int(n)) for key, n in out[place].value_counts(sort=True).items()]
        found.append({"method": method, "compared": len(part), "outside": len(out), "place": place, "where": where})
    return sorted(found, key=lambda row: -row["outside"])


def _one_row_each(table: pd.DataFrame, variants: tuple[str, ...]) -> pd.DataFrame:
    """The row that stands for each published number under a configuration."""

    def preference(method: str) -> tuple:
        params = parse_selector(method)[1] if method else {}
        return params.get("variant") not in variants, params != {}, params.get("variant") != "text", method

    table = table.assign(base=[bare_name(m) for m in table["method"]], data=[bare_name(d) for d in table["dataset"]],
                         preference=[preference(m) for m in table["method"]])  # fmt: skip
    keys = ["experiment", "panel", "data", "mask", "base", "epsilon", "x"]
    return table.sort_values("preference", kind="stable").drop_duplicates(keys)


def bounds(papers: Sequence[Paper], results_dir: Path) -> list[dict[str, str]]:
    """Evidence of all bounds that can be computed: dictionaries of paper, where, why, evidence."""
    results, found = Results(results_dir), []
    for paper in papers:
        for bound in paper.bounds:
            try:
                evidence = bound.compute(results)
            except NotRunError:
                continue
            found.append({"paper": paper.name, "where": bound.where, "why": bound.why, "evidence": evidence})
    return found


def interpretations_tried(papers: Sequence[Paper]) -> dict[str, int]:
    """Count, for each paper, the interpretations beside the defaults that were run."""
    return {
        p.name: len(
            {(s.reading, s.method.partition("[")[2]) for candidates in p.interpretations for s in candidates.steps[1:]}
        )
        for p in papers
        if p.interpretations
    }


def _chosen(candidates: Interpretations, step: Step, results: Results) -> pd.DataFrame:
    """Scores of the best grid points of a step, one row a replication."""
    parts = []
    for name in (step.experiment,) if step.experiment else candidates.artefacts:
        rows = results.artefact(name).chosen
        if rows is None:
            raise NotRunError(f"{name}: scores by replication are not at hand")
        rows = rows[(rows["selection"] == "oracle") & rows["method"].isin(step.method.split(" or "))]
        parts.append(rows[rows["panel"] == step.panel] if step.panel else rows)
    rows = pd.concat(parts, ignore_index=True)
    if rows.empty:
        raise NotRunError(f"{step.method} was not run in {step.experiment or ', '.join(candidates.artefacts)}")
    return rows


def _means(
    candidates: Interpretations, step: Step, rows: pd.DataFrame, replications: int, results: Results
) -> Mapping[str, np.ndarray]:
    """Mean of each cell over the first replications, in the unit of the paper, under the published budget: columns."""
    rows = rows[rows["replication"] < replications]
    keys = ["panel", "dataset", "mask", "epsilon", "x"]
    if " or " in step.method:  # of errors the least is the best
        rows = rows.groupby([*keys, "replication"], dropna=False, sort=False)["value"].min().reset_index()
    table = rows.groupby(keys, dropna=False, sort=False)["value"].mean().rename("ours").reset_index()
    if candidates.relative:
        base = _baseline(candidates, step, replications, results)
        table["ours"] /= table["dataset"].map(base)
    return {
        "ours": table["ours"].to_numpy(),
        "epsilon": table["epsilon"].to_numpy() * step.budget,
        "x": table["x"].to_numpy(dtype=float),
        "panel": table["panel"].to_numpy(dtype=object),
        "data": np.array([bare_name(d) for d in table["dataset"]], dtype=object),
        "paradigm": np.array([bare_name(m) for m in table["mask"]], dtype=object),
    }


def _baseline(candidates: Interpretations, step: Step, replications: int, results: Results) -> dict[str, float]:
    """Mean of the non-private tree by data set, on the same splits: the artefacts', and the step's own where run."""
    names = [*candidates.artefacts, *([step.experiment] if step.experiment else [])]
    found: dict[str, float] = {}
    for name in names:
        rows = results.artefact(name).chosen
        if rows is not None:
            rows = rows[(rows["method"] == BASELINE) & (rows["selection"] == "oracle")]
            rows = rows[rows["replication"] < replications]
            found |= rows.groupby("dataset")["value"].mean().to_dict()
    return found


def _look_up(cell: dict, table: Mapping[str, np.ndarray]) -> float:
    """Our value for a published cell; NaN where there is none."""
    same = np.ones(len(table["ours"]), dtype=bool)
    if cell["dataset"]:
        same &= table["data"] == cell["dataset"]
    if (panel := table["panel"] == cell["panel"]).any():
        same &= panel
    if cell["mask"]:
        same &= table["paradigm"] == cell["mask"]
    for axis in ("epsilon", "x"):
        if cell[axis] == cell[axis]:
            same &= np.isclose(table[axis], cell[axis])
    found = table["ours"][same]
    return float(found[0]) if found.size else np.nan
