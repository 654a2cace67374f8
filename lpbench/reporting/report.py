"""The report ``report.md``: headline numbers, differences from print, what was not run; pages show them too."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from lpbench.analysis.claims import NO_VERDICT
from lpbench.analysis.numbers import by_configuration, equivalent_in_words, judged_numbers
from lpbench.analysis.numbers import in_words as numbers_in_words
from lpbench.analysis.verdicts import COUNTED_OUTCOMES
from lpbench.analysis.verdicts import in_words as claims_in_words
from lpbench.disk import write_text
from lpbench.experiments import catalog
from lpbench.experiments.results import Artifact
from lpbench.members import bare_name
from lpbench.reporting.claim_files import read_claims, tabulate
from lpbench.reporting.claims import TOO_FEW, decide_about, decide_all
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.number_table import kept_by_seed, read_numbers
from lpbench.reporting.paper import paper_of, papers
from lpbench.reporting.printed_names import in_print, method_title
from lpbench.reporting.render import render

#: How many methods, or cells, that did not run are named; more are counted.
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
    alone: bool = False,
    within: str = "",
) -> Path:
    """Write ``report.md`` into a folder where :func:`write_claims` has been.

    Links in the report are relative to the folder, so it must have the artifacts under the same names. ``alone``:
    the report is about these experiments and nothing else; ``within``: its folder in the results, if that holds
    artifacts too.
    """
    results_dir, folder = Path(results_dir), Path(folder or results_dir)
    entries = sorted((ReportEntry(e, results_dir, within) for e in experiments), key=in_order)
    decided = read_claims(folder)
    content = {
        "headline": headline(decided, entries, read_numbers(folder), folder),
        "papers": _papers(decided, entries, "index.html" if alone else ""),
        "linked": {e.name for e in entries if alone or e.links(folder, stored=False)},
        "not_run": not_run(entries, missing)["not_run_in_short"],
        "files": sorted(p.name for p in folder.glob("*.csv")),
        # the machine is described on the checks page: this one is the same wherever it is written
        "environment": described({k: environment[k] for k in ("lpbench", "versions") if k in environment}),
    }
    path = folder / "report.md"
    write_text(render("report.md.j2", **content), path)
    return path


def write_claims(results_dir: Path, folder: Path, about: Sequence[str] | None = None) -> list[Path]:
    """Write ``verdicts.csv`` with what is behind it, of all papers or about some experiments; return the files."""
    evidence = Evidence(results_dir)
    return tabulate(decide_all(evidence) if about is None else decide_about(about, evidence)).write(folder)


def in_order(entry: Artifact) -> list[tuple[int, str]]:
    """Sort key by which figure 2 comes before figure 10."""
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in re.split(r"(\d+)", entry.name)]


def headline(claims: Sequence[Mapping], entries: Sequence[ReportEntry], numbers: pd.DataFrame, folder: Path) -> dict:
    """Sentences and counts at the top of a report: claims by outcome, experiments run, numbers met."""
    judged = judged_numbers(numbers)
    return {
        "claims": claims_in_words(pd.DataFrame(claims)) if claims else "",
        "banner": banner(claims),
        "experiments": len(entries),
        "run": sum(e.was_run for e in entries),
        "in_part": sum(e.was_run and len(e.reasons()) > 0 for e in entries),
        "deviating": [e.name for e in entries if e.deviations],
        "numbers": numbers_in_words(judged) if len(judged) else "",
        "near": [
            n | {"title": paper_of(n["paper"]).short, "said": equivalent_in_words(n)} for n in by_configuration(numbers)
        ],
        "seed": kept_by_seed(judged, folder),
    }


def banner(claims: Sequence[Mapping]) -> str:
    """Say that some claims have too few replications for a verdict; empty where none has."""
    few = [c["claim"] for c in claims if c["reason"].startswith(TOO_FEW)]
    return f"{len(few)} of {len(claims)} claims have no verdict: {TOO_FEW} were run." if few else ""


def _papers(claims: Sequence[Mapping], entries: Sequence[ReportEntry], page: str) -> list[dict]:
    """Title, page, claims by verdict and artifacts of every paper that has experiments, as dictionaries.

    ``page`` is the file for all of them; empty: each has its own.
    """
    summaries = []
    for paper in dict.fromkeys([*papers(), *(e.paper for e in entries)]):
        if of_paper := [e for e in entries if e.paper is paper]:
            ours = [c for c in claims if c["paper"] == paper.letter]
            decided = {s: [c["claim"] for c in ours if c["ours"] == s] for s in (*COUNTED_OUTCOMES, NO_VERDICT)}
            summaries.append(
                {
                    "title": paper.title,
                    "page": page or f"{of_paper[0].section.file}.html",
                    "artifacts": of_paper,
                    "claims": {s: names for s, names in decided.items() if names},
                }
            )
    return summaries


def described(environment: Mapping) -> dict[str, str]:
    """Return the environment of a run as texts by key."""
    return {
        key: ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)
        for key, value in environment.items()
    }


def not_run(entries: Sequence[ReportEntry], missing: Sequence[tuple[str, str]]) -> dict:
    """Gaps of a report with the reason: data sets whose files are missing, methods that did not finish; a few words."""
    cell, absent = ["status", "reason", "dataset"], [name for name, _ in missing]
    columns = ["experiment", "method", *cell]
    rows = pd.concat([pd.DataFrame(columns=columns), *(e.reasons().assign(experiment=e.name) for e in entries)])
    rows = rows.assign(name=rows["dataset"].map(bare_name))
    rows = rows[~rows["name"].isin(absent)]
    rows = rows.assign(cell=rows.groupby(cell, sort=False).ngroup()).sort_values("cell", kind="stable")
    absent = list(dict.fromkeys([*absent, *rows.loc[rows["status"] == "skipped", "name"]]))
    places = rows[["method", "dataset"]].itertuples(index=False)
    rows["title"] = [f"{method_title(m, catalog.methods())} on {in_print(dataset)}" for m, dataset in places]
    unfinished = rows[~rows["name"].isin(absent)].drop_duplicates(["status", "title"])
    short = [f"data not at hand: {', '.join(absent)}"] if absent else []
    short += [
        f"{_STATUS.get(status, status)}: {', '.join(titles) if len(titles) <= NAMED else f'{len(titles)} cells'}"
        for status, titles in unfinished.groupby("status", sort=False)["title"]
    ]
    content = {
        "missing": [(name, " ".join(how.split())) for name, how in missing],
        "absent": [e.name for e in entries if not e.was_run],
        "cells": [
            {
                "count": len(methods := group["method"].unique()),
                "methods": list(methods) if len(methods) <= NAMED else [],
                "experiments": list(group["experiment"].unique()),
                **dict(zip(cell, key, strict=True)),
            }
            for key, group in rows.groupby(cell, sort=False)
        ],
    }
    return {"not_run": content, "not_run_in_short": short}
