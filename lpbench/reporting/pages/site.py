"""The site: ``index.html``, a page for each paper, the privacy audit and the checks.

The pages are static and ask nothing of any server: style and script stand in them, pictures lie next to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lpbench.analysis import read_csv
from lpbench.experiments.method import Method
from lpbench.files import write_text
from lpbench.reporting.entries import Entry
from lpbench.reporting.floors import floors, published_wins
from lpbench.reporting.pages.artefacts import Place, artefact, links
from lpbench.reporting.pages.audit import audit_page
from lpbench.reporting.pages.checks import checks
from lpbench.reporting.pages.tables import SELECTIONS
from lpbench.reporting.paper import Page, Paper, errata, papers
from lpbench.reporting.render import document, render
from lpbench.reporting.report import TOLERANCE, VERDICTS, headline, in_order, not_run, not_run_in_short


def write_pages(
    results_dir: Path,
    experiments: Sequence,
    missing: Sequence[tuple[str, str]],
    environment: Mapping,
    folder: Path,
    cards: Mapping[str, Method],
) -> list[Path]:
    """Write ``index.html``, a page a paper, ``checks.html`` and ``audit.html`` (if ``audit.json`` is there).

    They are written twice: the pages in ``folder`` stand on their own, those in ``results_dir`` lie next to the scores
    and link to every replication.

    Parameters
    ----------
    results_dir : Path
        Holds ``<experiment>/`` with its scores.
    experiments, missing, environment
        As for :func:`lpbench.reporting.report.write_report`, which must have written ``claims.csv`` into the folder.
    folder : Path
        Where the pages go; it holds the artefacts under the experiments' names.
    cards : mapping of str to mapping
        Method selector -> printed name, grid, stated setting.

    Returns
    -------
    list of Path
    """
    results_dir, folder = Path(results_dir), Path(folder)
    entries = sorted((Entry(e, results_dir) for e in experiments), key=in_order)
    places = [Place(folder, folder)]
    if folder.resolve() != results_dir.resolve():
        places.append(Place(results_dir, folder, stored=True))
    site = _Site(entries, read_csv(folder / "claims.csv").to_dict("records"), missing, environment, cards)
    return [path for place in places for path in site.write(place)]


def page_of(entry: Entry) -> str:
    """Name of an experiment's page: its paper's, or one of the paper's further pages."""
    return next((p.name for p in _pages() if entry.name.startswith(p.experiments)), entry.paper)


def _pages() -> list[Page]:
    """Pages besides the papers' own."""
    return [page for paper in papers() for page in paper.pages]


class _Site:
    """Content of all pages, computed once for both places they are written to."""

    def __init__(
        self, entries: list[Entry], claims: list[dict], missing, environment: Mapping, cards: Mapping[str, Method]
    ):
        self.entries, self.missing, self.environment = entries, missing, environment
        rules = {claim.name: claim.judged_by for paper in papers() for claim in paper.claims}
        self.claims = [c | {"rule": rules.get(c["claim"], "")} for c in claims]
        self.known = {p.name: p for p in papers()}
        extra = {p.name: p.title for p in _pages()}
        titles = {name: p.title for name, p in self.known.items()} | extra
        short = {name: p.short for name, p in self.known.items()} | extra
        pages = dict.fromkeys([*titles, *map(page_of, entries)])
        self.papers = [p for p in pages if any(page_of(e) == p for e in entries)]
        self.pages = [(f"{p}.html", titles.get(p, p)) for p in self.papers]
        self.links = [(f"{p}.html", short.get(p, p)) for p in self.papers]
        self.floor = floors(entries)
        self.cards = cards
        self.wins = [r for e in entries if e.was_run for r in published_wins(e.name, self.floor)]
        self.shown = {e.name: artefact(e, cards, self.floor) for e in entries if e.was_run}
        self.errata = errata()

    def write(self, place: Place) -> list[Path]:
        audits = [("audit.html", "Privacy audit")] if place.audited else []
        shared = {
            "pages": [("index.html", "Verdict"), *self.links, *audits, ("checks.html", "Checks")],
            "verdicts": VERDICTS,
            "selections": SELECTIONS,
            "stored": place.stored,
        }
        written = [
            self._write("paper.html.j2", place.folder / name, shared | self._paper_page(paper, title, place))
            for paper, (name, title) in zip(self.papers, self.pages, strict=True)
        ]
        if place.audited:
            names = [n for n in ("audit.md", "audit.json", "audit.csv") if (place.report / n).is_file()]
            content = audit_page(place.report) | {"files": [(n, place.data + n) for n in names]}
            written.append(self._write("audit.html.j2", place.folder / "audit.html", shared | content))
        content = checks(place, self.entries, self.environment)
        written.append(self._write("checks.html.j2", place.folder / "checks.html", shared | content))
        return [*written, self._write("index.html.j2", place.folder / "index.html", shared | self._index(place))]

    def _write(self, template: str, path: Path, content: dict) -> Path:
        write_text(render(template, **content, here=path.name), path)
        return path

    def _paper_page(self, paper: str, title: str, place: Place) -> dict:
        mine = [e for e in self.entries if page_of(e) == paper]
        page = next((p for p in _pages() if p.name == paper), Page(paper, title, ()))
        mine.sort(key=lambda e: [not e.name.startswith(start) for start in page.experiments])
        known = self.known.get(paper, Paper(paper, title))
        letter = known.letter
        names = {e.name for e in mine}
        shown = [self.shown[e.name] | links(e, place, self.cards) for e in mine if e.was_run]
        return {
            "title": title,
            "claims": [c for c in self.claims if c["paper"] == letter],
            "artefacts": shown,
            "compared": any(a["points"] or any(t.compared for t in a["tables"]) for a in shown),
            "cells": any(a["points"] or a["tables"] for a in shown),
            "absent": [e for e in mine if not e.was_run],
            "wins": [r for r in self.wins if r["artefact"] in names],
            "errata": [e for e in self.errata if e["paper"] == letter],
            "facts": [f"{d.fact} ({d.place}; {d.commit})" for d in known.deviations],
            "note": document(page.notes) if page.notes is not None and page.notes.is_file() else "",
        }

    def _index(self, place: Place) -> dict:
        return {
            "title": "Results",
            "headline": headline(self.claims, self.entries),
            "claims": self.claims,
            "tolerance": TOLERANCE,
            "page_of": {p.letter: f"{name}.html" for name, p in self.known.items() if name in self.papers},
            "papers": [self._row(p, name, title) for p, (name, title) in zip(self.papers, self.pages, strict=True)],
            "wins": self.wins,
            "not_run": not_run(self.entries, self.missing),
            "not_run_in_short": not_run_in_short(self.entries, self.missing),
            "data": place.data,
        }

    def _row(self, paper: str, page: str, title: str) -> dict:
        letter = self.known[paper].letter if paper in self.known else ""
        mine = [e for e in self.entries if page_of(e) == paper]
        claims = [c for c in self.claims if c["paper"] == letter]
        decided = {f"{v}_claims": [c for c in claims if c["verdict"] == v] for v in VERDICTS}
        return {"title": title, "page": page, **headline(claims, mine), **decided}
