"""The report ``report.md``: headline numbers, differences from print, what was not run; pages show them too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.claims import NO_VERDICT
from lpbench.analysis.verdicts import OUTCOMES
from lpbench.analysis.verdicts import in_words as claims_in_words
from lpbench.experiments import catalogue
from lpbench.files import write_text
from lpbench.reporting.claim_files import read_claims, tabulate
from lpbench.reporting.claims import TOO_FEW, decide_about, decide_all
from lpbench.reporting.comparison import met_numbers, one_row_each
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.headlines import headlines, table_of
from lpbench.reporting.paper import paper_of, papers
from lpbench.reporting.printed_names import in_print, mask_name, method_title
from lpbench.reporting.published import explain
from lpbench.reporting.render import render

#: Relative difference beyond which a cell is listed.
LISTED = 0.1
#: How many groups of differences of an artefact are listed, the largest first.
LARGEST = 8
#: Ratio to the printed number beyond which a difference is called a factor.
FACTOR = 2.0
#: How many methods that did not run are named; more are counted.
NAMED = 3
_STATUS = {
    "left_out": "left out by plan",
    "timeout": "incomplete, stopped by the clock (run again)",
    "failed": "incomplete, failed (run again)",
}


def write_report(
    results_dir: Path,
    experiments: Sequence,
    missing: Sequence[tuple[str, str]],
    environment: Mapping,
    folder: Path | None = None,
    *,
    judged: bool = True,
    alone: bool = False,
    within: str = "",
) -> Path:
    """Write ``headlines.csv`` and ``report.md`` into a folder where :func:`write_claims` has been.

    Links in the report are relative to the folder, so it must have the artefacts under the same names. ``judged``: the
    run was large enough for claims to be decided; ``alone``: the report is about these experiments and nothing else;
    ``within``: its folder in the results, if that holds artefacts too.
    """
    results_dir, folder = Path(results_dir), Path(folder or results_dir)
    entries = sorted((ReportEntry(e, results_dir, within) for e in experiments), key=in_order)
    decided = read_claims(folder)
    found = headline(decided, entries)
    write_csv(table_of(found["near"]), folder / "headlines.csv")
    content = {
        "headline": found,
        "papers": _papers(decided, entries, "index.html" if alone else ""),
        "judged": judged,
        "not_run": not_run_in_short(entries, missing),
        "files": sorted(p.name for p in folder.glob("*.csv")),
        # the machine is described on the checks page: this one is the same wherever it is written
        "environment": described({k: environment[k] for k in ("lpbench", "versions") if k in environment}),
    }
    path = folder / "report.md"
    write_text(render("report.md.j2", **content), path)
    return path


def write_claims(results_dir: Path, folder: Path, about: Sequence[str] | None = None) -> None:
    """Decide the papers' claims, or those about some experiments, and write ``verdicts.csv`` and what is behind it."""
    decided = decide_all(Evidence(results_dir)) if about is None else decide_about(about, results_dir)
    tabulate(decided).write(folder)


def in_order(entry: ReportEntry) -> list[tuple[int, str]]:
    """Sort key by which figure 2 comes before figure 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", entry.name)]


def headline(claims: Sequence[Mapping], entries: Sequence[ReportEntry]) -> dict:
    """Count claims by outcome and experiments that were run, and say how far our numbers are from the printed ones."""
    return {
        "claims": claims_in_words(pd.DataFrame(claims)) if claims else "",
        "banner": banner(claims),
        "experiments": len(entries),
        "run": sum(e.was_run for e in entries),
        "in_part": sum(e.was_run and len(e.reasons()) > 0 for e in entries),
        "deviating": [e.name for e in entries if e.deviations],
        # seconds differ from run to run
        "near": headlines([e for e in entries if e.kind != "timing"]),
    }


def banner(claims: Sequence[Mapping]) -> str:
    """Say that some claims have too few replications for a verdict; empty where none has."""
    few = [c["claim"] for c in claims if c["reason"].startswith(TOO_FEW)]
    return f"{len(few)} of {len(claims)} claims have no verdict: {TOO_FEW} were run." if few else ""


def _papers(claims: Sequence[Mapping], entries: Sequence[ReportEntry], page: str) -> list[dict]:
    """Title, page (default: its own), claims by verdict and artefacts of every paper that has experiments."""
    known = {p.name: p for p in papers()}
    found = []
    for name in dict.fromkeys([*known, *(e.paper for e in entries)]):
        mine = [e for e in entries if e.paper == name]
        title, letter = (known[name].title, known[name].letter) if name in known else (name, name)
        if mine:
            ours = [c for c in claims if c["paper"] == letter]
            decided = {s: [c["claim"] for c in ours if c["ours"] == s] for s in (*OUTCOMES, NO_VERDICT)}
            found.append(
                {
                    "title": title,
                    "page": page or f"{name}.html",
                    "artefacts": mine,
                    "claims": {s: names for s, names in decided.items() if names},
                }
            )
    return found


def described(environment: Mapping) -> dict[str, str]:
    """Describe each part of an environment in words."""
    return {
        key: ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)
        for key, value in environment.items()
    }


def in_errors(difference: float, se: float) -> float:
    """Divide a difference by its standard error, the papers' numbers being taken to be as precise as ours."""
    if np.isnan(se):
        return np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.float64(difference) / (np.sqrt(2) * se), nan=0.0, posinf=99.0, neginf=-99.0))


def compared(entry: ReportEntry) -> tuple[str, list[str]] | None:
    """Describe how far an artefact's numbers are from the published ones: a sentence, and the largest differences."""
    if entry.comparison is None or entry.comparison.empty:
        return None
    printed = one_row_each(entry.comparison)
    rows, total = printed.dropna(subset=["reproduced"]), len(printed)
    if rows.empty:
        return f"None of the {total} published cells was reproduced.", []
    apart = rows["relative_difference"].abs()
    # the papers give no standard errors: theirs are taken to be ours
    noise = rows["difference"].abs() <= 3 * np.sqrt(2) * rows["se"]
    [near] = headlines([entry])
    text = f"{str(near)[:1].upper()}{str(near)[1:]}. {int(noise.sum())} are within 3 standard errors."
    return text, _largest(rows.assign(apart=apart))


def verdict(entry: ReportEntry, claims: Sequence[Mapping]) -> str:
    """Say how many printed numbers are met, the largest miss, and which claims about the artefact fail.

    Met is what is within the tolerance that the paper's totals state; empty without one.
    """
    totals = [t for t in paper_of(entry.name).totals if entry.name in t.artefacts]
    if not totals or entry.comparison is None or entry.comparison.empty:
        return ""
    rows = met_numbers(entry.name, entry.comparison)
    if rows.empty:
        return ""
    total, unit = totals[0], "%" if totals[0].relative else "percentage points"
    apart = 100 * rows["distance"].abs()
    met, noun = int(rows["met"].sum()), "points" if entry.kind == "figure" else "numbers"
    parts = [f"{met} of {len(rows)} {noun} met within {100 * total.tolerance:g} {unit}"]
    if met < len(rows):
        parts.append(f"largest miss {_miss(rows, apart, total.relative)}")
    return "; ".join(parts) + "."


def _miss(rows: pd.DataFrame, apart: pd.Series, relative: bool) -> str:
    """The largest difference in percentage points or per cent, or the factor where it is large."""
    if not relative:
        return f"{apart.max():.2g} percentage points"
    factor = float(np.exp(np.log(rows["reproduced"] / rows["published"]).abs().max()))
    return f"by a factor of {factor:,.0f}" if factor > FACTOR else f"{apart.max():.0f} %"


def _largest(rows: pd.DataFrame) -> list[str]:
    """Differences over 10 %: one line for the cells of a data set that share an explanation, the largest shown."""
    rows = rows[rows["apart"] > LISTED].sort_values("apart", ascending=False, kind="stable")
    groups: dict[tuple[str, str], list[dict]] = {}
    for row in rows.to_dict("records"):
        groups.setdefault((row["dataset"], explain(row) or "no explanation known"), []).append(row)
    lines = []
    for (dataset, reason), cells in list(groups.items())[:LARGEST]:
        first = cells[0]
        method = first["method"] and method_title(first["method"], catalogue.methods())
        place = " ".join(filter(None, [mask_name(first["mask"]), method]))
        axes = ((k, first[c]) for k, c in (("ε", "epsilon"), ("x", "x")))
        place = " ".join(filter(None, [place, *(f"{k} = {v:g}" for k, v in axes if not np.isnan(v))]))
        se = "" if np.isnan(first["se"]) else f" (se {first['se']:.2g})"
        count = f"{len(cells)} cells" if len(cells) > 1 else "1 cell"
        most = (", most of all " if len(cells) > 1 else ", that is ") if place else ""
        lines.append(
            f"{in_print(dataset)}: {count} off by more than 10 %{most}{place}, "
            f"published {first['published']:g}, reproduced {first['reproduced']:.4g}{se}: {reason}"
        )
    if len(groups) > LARGEST:
        rest = list(groups.values())[LARGEST:]
        total = sum(len(cells) for cells in rest)
        lines.append(f"and {total} smaller differences in {len(rest)} such groups, see comparison.csv")
    return lines


def not_run_in_short(entries: Sequence[ReportEntry], missing: Sequence[tuple[str, str]]) -> list[str]:
    """Say in a few words what has no number: data sets whose files are missing, methods that did not finish."""
    known = dict.fromkeys(name for name, _ in missing)
    other: dict[str, dict[str, None]] = {}
    for entry in entries:
        for row in entry.reasons().itertuples():
            dataset = row.dataset.partition("[")[0]
            if row.status == "skipped":
                known[dataset] = None
            elif dataset not in known:
                cell = f"{method_title(row.method, catalogue.methods())} on {in_print(row.dataset)}"
                other.setdefault(row.status, {})[cell] = None
    lines = [f"data not at hand: {', '.join(known)}"] if known else []
    return lines + [f"{_STATUS.get(status, status)}: {', '.join(cells)}" for status, cells in other.items()]


def not_run(entries: Sequence[ReportEntry], missing: Sequence[tuple[str, str]]) -> dict:
    """Collect what has no number and why."""
    known = {name for name, _ in missing}
    cells: dict[tuple[str, str, str], dict[str, dict]] = {}
    for entry in entries:
        for row in entry.reasons().itertuples():
            if row.dataset.partition("[")[0] not in known:
                found = cells.setdefault((row.status, row.reason, row.dataset), {"methods": {}, "experiments": {}})
                found["methods"][row.method] = found["experiments"][entry.name] = None
    return {
        "missing": [(name, " ".join(how.split())) for name, how in missing],
        "absent": [e.name for e in entries if not e.was_run],
        "cells": [
            {"dataset": dataset, "methods": list(found["methods"]) if len(found["methods"]) <= NAMED else [],
             "count": len(found["methods"]), "experiments": list(found["experiments"]),
             "status": status, "reason": reason}
            for (status, reason, dataset), found in cells.items()
        ],
    }  # fmt: skip
