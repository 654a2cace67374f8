"""The report: one page with every artefact, the verdicts, what differs, what was not run, and errata."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.files import write_text
from lpbench.reporting.claims import decide
from lpbench.reporting.entries import Entry
from lpbench.reporting.evidence import Results
from lpbench.reporting.paper import errata, papers
from lpbench.reporting.published import explain
from lpbench.reporting.streaming import streaming_section
from lpbench.reporting.timing import timing_section

#: How many groups of differences of an artefact are listed, the largest first.
LARGEST = 8
#: How many methods that did not run are named; more are counted.
NAMED = 3
_STATUS = {"timeout": "over the time limit"}


def write_report(
    results_dir: Path,
    experiments: Sequence,
    missing: Sequence[tuple[str, str]],
    environment: Mapping,
    folder: Path | None = None,
) -> Path:
    """Write ``claims.csv`` and ``report.md``.

    Parameters
    ----------
    results_dir : Path
        Holds ``<experiment>/`` with what :func:`lpbench.reporting.write_artefact` wrote, and ``scores.parquet``.
    experiments : sequence of mapping or record
        All experiments, run or not.
    missing : sequence of (data set, how to get it)
    environment : mapping
        Versions, system, commit.
    folder : Path, optional
        Where the two files go (default ``results_dir``); links in the report are relative to it, so it must have the
        artefacts under the same names.

    Returns
    -------
    Path
        The report.
    """
    results_dir, folder = Path(results_dir), Path(folder or results_dir)
    claims = decide(Results(results_dir))
    write_csv(claims, folder / "claims.csv")
    entries = sorted((Entry(e, results_dir) for e in experiments), key=in_order)
    parts = [
        "# Results",
        _overview(claims, entries),
        _verdicts(claims),
        *_artefacts(entries),
        _not_run(entries, missing),
        _errata(),
        timing_section(folder),
        streaming_section(folder),
        _environment(environment),
    ]
    path = folder / "report.md"
    write_text("\n\n".join(p for p in parts if p).rstrip() + "\n", path)
    return path


def in_order(entry: Entry) -> list[tuple[int, str]]:
    """Sort key by which figure 2 comes before figure 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", entry.name)]


def _overview(claims: pd.DataFrame, entries: Sequence[Entry]) -> str:
    count = claims["verdict"].value_counts()
    cells = [e.comparison for e in entries if e.comparison is not None and len(e.comparison)]
    compared = pd.concat(cells)[["published", "reproduced", "relative_difference"]].dropna() if cells else None
    lines = [
        f"{sum(e.was_run for e in entries)} of {len(entries)} experiments have results. Of {len(claims)} claims of the "
        f"papers {count.get('holds', 0)} hold, {count.get('fails', 0)} fail and {count.get('not_run', 0)} were not "
        "decided."
    ]
    if compared is not None and len(compared):
        apart = compared["relative_difference"].abs()
        lines.append(
            f"{len(compared)} published cells were compared: the median relative difference is "
            f"{100 * apart.median():.1f} %, and {100 * (apart <= 0.1).mean():.0f} % of the cells are within 10 %."
        )
    lines.append(
        "Published numbers are compared, never aimed at. Unless said otherwise a number is the best grid point with "
        "hindsight (`oracle`), as in the papers; `tuning_free` numbers use one setting fixed without test rows."
    )
    return "\n".join(lines)


def _verdicts(claims: pd.DataFrame) -> str:
    lines = [
        "## What the papers claim",
        "",
        "| claim | where | statement | verdict | evidence |",
        "|---|---|---|---|---|",
    ]
    for row in claims.itertuples():
        cells = (row.claim, row.artefact, row.statement, f"**{row.verdict.replace('_', ' ')}**", row.evidence)
        lines.append("| " + " | ".join(c.replace("|", r"\|") for c in cells) + " |")
    return "\n".join(lines)


def _artefacts(entries: Sequence[Entry]) -> list[str]:
    parts = []
    titles = {p.name: p.title for p in papers()}
    for paper in dict.fromkeys([*titles, *(e.paper for e in entries)]):
        mine = [e for e in entries if e.paper == paper and e.was_run]
        if mine:
            parts.append(f"## {titles.get(paper, paper)}")
            parts += [_artefact(e) for e in mine]
    return parts


def _artefact(entry: Entry) -> str:
    lines = [f"### {entry.title}", ""]
    lines += [f"![{entry.leaf}]({entry.name}/{f})" for f in entry.pictures()["main"]]
    table = entry.folder / f"{entry.leaf}.md"
    if table.is_file():
        # without its own title; the notes are repeated below
        body = table.read_text(encoding="utf-8").split("\n", 2)[-1].strip()
        lines += [_without(body, entry.notes), ""]
    lines += compared_lines(entry)
    lines += [f"- {note}" for note in entry.notes]
    links = ", ".join(f"[{f}]({entry.name}/{f})" for f in entry.files)
    return "\n".join([*lines, "", f"Files: {links}"])


def _without(text: str, notes: Sequence[str]) -> str:
    for note in notes:
        text = text.replace(f"- {note}", "")
    return text.strip()


def compared_lines(entry: Entry) -> list[str]:
    """How far the cells of an artefact are from the published ones, as lines of Markdown."""
    if entry.comparison is None or entry.comparison.empty:
        return []
    rows = entry.comparison.dropna(subset=["published", "reproduced"])
    total = len(entry.comparison)
    if rows.empty:
        return [f"- None of the {total} published cells was reproduced."]
    apart = rows["relative_difference"].abs()
    close = apart <= 0.1
    # the papers give no standard errors: theirs are taken to be ours
    noise = rows["difference"].abs() <= 3 * np.sqrt(2) * rows["se"]
    lines = [
        f"- {len(rows)} of {total} published cells have a counterpart: median relative difference "
        f"{100 * apart.median():.1f} %, {int(close.sum())} within 10 %, {int(noise.sum())} within 3 standard errors."
    ]
    return lines + _largest(rows.assign(apart=apart))


def _largest(rows: pd.DataFrame) -> list[str]:
    """Differences over 10 %: one line for the cells of a data set that share an explanation, the largest shown."""
    rows = rows[rows["apart"] > 0.1].sort_values("apart", ascending=False, kind="stable")
    groups: dict[tuple[str, str], list[dict]] = {}
    for row in rows.to_dict("records"):
        groups.setdefault((row["dataset"], explain(row) or "no explanation known"), []).append(row)
    lines = []
    for (dataset, reason), cells in list(groups.items())[:LARGEST]:
        first = cells[0]
        place = " ".join(str(first[k]) for k in ("mask", "method") if first[k])
        x = "" if np.isnan(first["x"]) else f" x = {first['x']:g}"
        count = f"{len(cells)} cells" if len(cells) > 1 else "1 cell"
        most = "most of all" if len(cells) > 1 else "that is"
        lines.append(
            f"  - {dataset}: {count} off by more than 10 %, {most} {place} ε = {first['epsilon']:g}{x}, published "
            f"{first['published']:g}, reproduced {first['reproduced']:.4g} (se {first['se']:.2g}): {reason}"
        )
    if len(groups) > LARGEST:
        rest = list(groups.values())[LARGEST:]
        total = sum(len(cells) for cells in rest)
        lines.append(f"  - and {total} smaller differences in {len(rest)} such groups, see comparison.csv")
    return lines


def _not_run(entries: Sequence[Entry], missing: Sequence[tuple[str, str]]) -> str:
    lines = not_run_lines(entries, missing)
    return "\n".join(["## Not run, and how to get it", "", *lines]) if lines else ""


def not_run_for(entries: Sequence[Entry], missing: Sequence[tuple[str, str]]) -> list[str]:
    """What has no number and why, in a few words: a data set for want of its file, or a method on a data set."""
    known = dict.fromkeys(name for name, _ in missing)
    other: dict[str, dict[str, None]] = {}
    for entry in entries:
        for row in entry.reasons().itertuples():
            dataset = row.dataset.partition("[")[0]
            if row.status == "skipped":
                known[dataset] = None
            elif dataset not in known:
                other.setdefault(row.status, {})[f"{row.method} on {row.dataset}"] = None
    lines = [f"data not at hand: {', '.join(known)}"] if known else []
    return lines + [f"{_STATUS.get(status, status)}: {', '.join(cells)}" for status, cells in other.items()]


def not_run_lines(entries: Sequence[Entry], missing: Sequence[tuple[str, str]]) -> list[str]:
    """What has no number and why, as lines of Markdown."""
    lines = [f"- Data set **{name}** is not at hand. {' '.join(how.split())}" for name, how in missing]
    absent = [e.name for e in entries if not e.was_run]
    if absent:
        lines.append(f"- No results yet (run `lpbench experiment=<name>`): {', '.join(absent)}.")
    known = {name for name, _ in missing}
    cells: dict[tuple[str, str, str], dict[str, dict]] = {}
    for entry in entries:
        for row in entry.reasons().itertuples():
            if row.dataset.partition("[")[0] not in known:
                found = cells.setdefault((row.status, row.reason, row.dataset), {"methods": {}, "experiments": {}})
                found["methods"][row.method] = found["experiments"][entry.name] = None
    for (status, reason, dataset), found in cells.items():
        methods = list(found["methods"])
        which = ", ".join(f"`{m}`" for m in methods) if len(methods) <= NAMED else f"{len(methods)} methods"
        lines.append(f"- **{dataset}**, {which}, in {', '.join(found['experiments'])}: {status}, {reason}")
    return lines


def _errata() -> str:
    lines = ["## Errata found in the papers", "", "| paper | where | what | computation |", "|---|---|---|---|"]
    for row in errata():
        cells = (row["paper"], row["where"], row["what"], row["computation"])
        lines.append("| " + " | ".join(c.replace("|", r"\|") for c in cells) + " |")
    for paper in papers():
        if paper.deviations:
            text = f"The public code of {paper.short} differs from its text in these points (facts about public files):"
            lines += ["", text, "", *(f"- {d.fact} ({d.place}; {d.commit})" for d in paper.deviations)]
    return "\n".join(lines)


def _environment(environment: Mapping) -> str:
    lines = ["## Environment", ""]
    for key, value in environment.items():
        text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)
        lines.append(f"- {key}: {text}")
    return "\n".join(lines)
