"""The report as pages for a browser: a verdict first, then one page a paper, and the privacy audit.

The pages are static and ask nothing of any server: style and script stand in them, pictures lie next to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
import pandas as pd

from lpbench.analysis import read_csv, write_text
from lpbench.reporting.differences import CODE_FACTS
from lpbench.reporting.entries import Entry
from lpbench.reporting.errata import errata
from lpbench.reporting.html_tables import SELECTIONS, csv_table, in_errors, points, shown_tables
from lpbench.reporting.markdown import bullets, inline, sections, tables
from lpbench.reporting.report import PAPERS, compared_lines, not_run_lines

#: Folder of experiments -> letter of the paper in claims and errata.
LETTERS = {"histoftree": "H", "lpct": "L", "label_dp": "Z"}
VERDICTS = {"holds": "✓ holds", "fails": "✗ fails", "not_run": "○ not run"}
#: Relative difference within which a cell counts as met.
TOLERANCE = 0.1


def write_pages(
    results_dir: Path,
    experiments: Sequence,
    missing: Sequence[tuple[str, str]],
    environment: Mapping,
    folder: Path,
    cards: Mapping[str, Mapping],
) -> list[Path]:
    """Write ``index.html``, a page a paper and, if ``audit.md`` is there, ``audit.html``.

    Parameters
    ----------
    results_dir : Path
        Holds ``<experiment>/`` with its scores.
    experiments, missing, environment
        As for :func:`lpbench.reporting.write_report`, which must have written ``claims.csv`` into the folder.
    folder : Path
        Where the pages go; it holds the artefacts under the experiments' names.
    cards : mapping of str to mapping
        Method selector -> printed name, grid, stated setting.

    Returns
    -------
    list of Path
    """
    results_dir, folder = Path(results_dir), Path(folder)
    entries = [Entry(e, results_dir) for e in experiments]
    claims = read_csv(folder / "claims.csv").to_dict("records")
    papers = [p for p in dict.fromkeys([*PAPERS, *(e.paper for e in entries)]) if any(e.paper == p for e in entries)]
    pages = [(f"{p}.html", PAPERS.get(p, p)) for p in papers]
    audits = [("audit.html", "Privacy audit")] if (folder / "audit.md").is_file() else []
    shared = {"pages": [("index.html", "Verdict"), *pages, *audits], "verdicts": VERDICTS, "selections": SELECTIONS}
    templates = _templates()
    written = []
    for paper, (name, title) in zip(papers, pages, strict=True):
        mine = [e for e in entries if e.paper == paper]
        letter = LETTERS.get(paper, "")
        content = {
            "title": title,
            "claims": [c for c in claims if c["paper"] == letter],
            "artefacts": [_artefact(e, folder, cards) for e in mine if e.was_run],
            "absent": [e for e in mine if not e.was_run],
            "errata": [e for e in errata() if e["paper"] == letter],
            "facts": CODE_FACTS if paper == "lpct" else (),
        }
        written.append(_write(templates, "paper.html.j2", folder / name, shared | content | {"here": name}))
    written += [_audit(templates, folder, shared) for _ in audits]
    index = {
        "title": "Results",
        "verdict": _verdict(claims, entries),
        "claims": claims,
        "page_of": {letter: f"{paper}.html" for paper, letter in LETTERS.items() if paper in papers},
        "papers": [_paper(p, t, n, entries, claims) for p, (n, t) in zip(papers, pages, strict=True)],
        "not_run": bullets(not_run_lines(entries, missing)),
        "environment": {k: _words(v) for k, v in environment.items()} | _seeds(entries),
        "extras": _extras(folder),
    }
    written.append(_write(templates, "index.html.j2", folder / "index.html", shared | index | {"here": "index.html"}))
    return written


def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    made = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True,
                              undefined=jinja2.StrictUndefined)  # fmt: skip
    made.filters["inline"] = inline
    return made


def _write(templates: jinja2.Environment, template: str, path: Path, content: Mapping) -> Path:
    write_text(templates.get_template(template).render(content), path)
    return path


def _audit(templates: jinja2.Environment, folder: Path, shared: Mapping) -> Path:
    title, parts = sections((folder / "audit.md").read_text(encoding="utf-8"))
    files = [name for name in ("audit.md", "audit.csv") if (folder / name).is_file()]
    content = {"title": "Privacy audit", "heading": title, "sections": parts, "files": files, "here": "audit.html"}
    return _write(templates, "text.html.j2", folder / "audit.html", shared | content)


def _compared(entries: Sequence[Entry]) -> pd.DataFrame:
    tables = [e.comparison for e in entries if e.comparison is not None and len(e.comparison)]
    columns = ["published", "reproduced", "se", "difference", "relative_difference"]
    return pd.concat([t[columns] for t in tables]) if tables else pd.DataFrame(columns=columns, dtype=float)


def _verdict(claims: Sequence[Mapping], entries: Sequence[Entry]) -> dict:
    cells = _compared(entries)
    met = cells.dropna(subset=["published", "reproduced"])
    close = met["relative_difference"].abs() <= TOLERANCE
    errors = pd.Series([in_errors(d, s) for d, s in zip(met["difference"], met["se"], strict=True)], dtype=float)
    return {
        **{v: sum(c["verdict"] == v for c in claims) for v in VERDICTS},
        "claims": len(claims),
        "experiments": len(entries),
        "run": sum(e.was_run for e in entries),
        "cells": len(cells),
        "compared": len(met),
        "close": int(close.sum()),
        "noise": int((errors.abs() <= 3).sum()),
    }


def _paper(paper: str, title: str, page: str, entries: Sequence[Entry], claims: Sequence[Mapping]) -> dict:
    letter = LETTERS.get(paper, "")
    mine = [e for e in entries if e.paper == paper]
    return {"title": title, "page": page, **_verdict([c for c in claims if c["paper"] == letter], mine)}


def _artefact(entry: Entry, folder: Path, cards: Mapping) -> dict:
    """Everything a page shows of one experiment."""
    pictures = [f for f in entry.files if f.endswith(".svg")]
    shown = shown_tables(entry, cards)
    plain = entry.folder / f"{entry.leaf}.md"
    lines = compared_lines(entry)
    here = [(f, f"{entry.name}/{f}") for f in entry.files if (folder / entry.name / f).is_file()]
    scores = entry.folder / "scores.parquet"
    # a run's own folder lies beside the summary; elsewhere there is nothing to link to
    stored = f"../{entry.name}/scores.parquet" if (folder / ".." / entry.name / scores.name).is_file() else ""
    return {
        "name": entry.name,
        "anchor": entry.name.replace("/", "-"),
        "title": entry.title,
        "pictures": [f for f in pictures if "tuning_free" not in f],
        "free": [f for f in pictures if "tuning_free" in f],
        "tables": [t for t in shown if t.selection == "oracle"],
        "free_tables": [t for t in shown if t.selection != "oracle"],
        "plain": [] if shown or not plain.is_file() else tables(plain.read_text(encoding="utf-8")),
        "compared": bullets(lines),
        "points": points(entry),
        "notes": [inline(n) for n in entry.notes],
        "files": here,
        "stored": stored,
        "made": _made(entry),
    }


def _made(entry: Entry) -> str:
    record = entry.record()
    if not record:
        return ""
    config = record["config"]
    replications = config["replications"] or config["experiment"].get("replications", 1)
    machine = record["environment"]
    return f"{replications} replications, seed {config['seed']}, commit {machine['commit']}, {machine['system']}"


def _seeds(entries: Sequence[Entry]) -> dict[str, str]:
    records = [e.record() for e in entries]
    seeds = sorted({r["config"]["seed"] for r in records if r})
    return {"seed": ", ".join(map(str, seeds))} if seeds else {}


def _words(value) -> str:
    return ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)


def _extras(folder: Path) -> list[dict]:
    """Tables other commands leave in the folder: where the time went, and the privacy audit if it has no page."""
    titles = {"audit": "Privacy audit", "timing": "Timing"}
    if (folder / "audit.md").is_file():
        del titles["audit"]
    found = []
    for stem, title in titles.items():
        table = csv_table(folder / f"{stem}.csv")
        if table is not None:
            found.append({"stem": stem, "title": title, "heads": table[0], "rows": table[1]})
    return found
