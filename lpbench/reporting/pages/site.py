"""The site: the front page, a page a paper, leaderboard, explorer, privacy audit and checks.

The pages are static and ask nothing of any server: style and script stand in them, pictures and data lie next to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from lpbench.analysis.numbers import judged_numbers
from lpbench.analysis.verdicts import cross_table
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.experiments.results import Results
from lpbench.experiments.submissions import submissions
from lpbench.files import write_text
from lpbench.reporting.baselines import best_constants, published_wins
from lpbench.reporting.claim_files import tabulate
from lpbench.reporting.claims import decide_about
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.number_table import read_numbers, write_numbers
from lpbench.reporting.other_seed import changes_in_words
from lpbench.reporting.pages.advice import choices
from lpbench.reporting.pages.audit import audit_page, audit_verdict
from lpbench.reporting.pages.causes import PICTURE as NUMBERS
from lpbench.reporting.pages.causes import causes_of, dots
from lpbench.reporting.pages.checks import checks
from lpbench.reporting.pages.claims import counts, shown_claims
from lpbench.reporting.pages.explorer import LIBRARIES, write_explorer
from lpbench.reporting.pages.findings import draw_below, findings
from lpbench.reporting.pages.leaderboard import (
    FILTERS,
    SCRIPT,
    as_script,
    board,
    default_view,
    in_view,
)
from lpbench.reporting.pages.names import is_numbered, label_of
from lpbench.reporting.pages.over_constant import over_constant
from lpbench.reporting.pages.tables import SELECTION_WORDS
from lpbench.reporting.pages.units import PageFolder, defer_long_tables, links, unit
from lpbench.reporting.paper import Page, Paper, errata, page_of, papers, trial_experiments
from lpbench.reporting.printed_names import mask_name
from lpbench.reporting.render import render
from lpbench.reporting.report import banner, headline, in_order, not_run, not_run_in_short
from lpbench.reporting.standings import read_standings, write_standings

#: Title of the page with the advice of all experiments.
USE = "What should I use?"


def write_pages(
    results_dir: Path,
    experiments: Sequence,
    missing: Sequence[tuple[str, str]],
    environment: Mapping,
    folder: Path,
    cards: Mapping[str, Method],
    *,
    study: str = "",  # title of pages that show these experiments alone; empty for those of the whole benchmark
    within: str = "",
) -> list[Path]:
    """Write ``index.html``, a page a paper, ``checks.html`` (About) and ``audit.html`` (if ``audit.json`` is there).

    The folder holds the artefacts and the report. Pages of a study lie next to the scores and link to every
    replication; where it has one page, that is its ``index.html``.
    """
    results_dir, folder = Path(results_dir), Path(folder)
    entries = sorted((ReportEntry(e, results_dir, within) for e in experiments), key=in_order)
    results = None if study else Results(results_dir)
    site = Site(entries, folder, missing, environment, cards, results, study)
    return site.write(PageFolder(folder, stored=bool(study)))


def write_experiment_page(
    results_dir: Path, experiment: Experiment, environment: Mapping, cards: Mapping[str, Method]
) -> Path:
    """Write the page of one experiment alone, ``<results>/<paper>-<leaf>.html``, with the claims about it."""
    with TemporaryDirectory() as folder:
        tabulate(decide_about([experiment.name], Evidence(results_dir))).write(Path(folder))
        write_numbers(papers(), Results(results_dir), Path(folder), {experiment.name})
        site = Site([ReportEntry(experiment, results_dir)], Path(folder), [], environment, cards)
        return site.write_alone(PageFolder(results_dir, stored=True))


class Site:
    """Content of all pages."""

    def __init__(
        self,
        entries: list[ReportEntry],
        report: Path,
        missing,
        environment: Mapping,
        cards: Mapping[str, Method],
        results: Results | None = None,
        study: str = "",
    ):
        self.results, self.study = results, study
        self.entries, self.missing, self.environment, self.cards = entries, missing, environment, cards
        self.claims, self.numbers = shown_claims(report), read_numbers(report)
        self.errata = errata()
        self.known = {p.name: p for p in papers()}
        further = {page.name: page for paper in papers() for page in paper.pages}
        self.papers = page_names(e.name for e in entries)
        self.about = {p: further.get(p, Page(p, self._paper(p).title, ())) for p in self.papers}
        sent = [] if study else submissions()
        write_standings(entries, cards, report, sent)
        table = read_standings(report)
        constants = best_constants(table)
        self.wins = [r for e in entries if e.was_run for r in published_wins(e.name, constants)]
        self.units = {e.name: self._unit(e, constants, table) for e in entries if e.was_run}
        self.lines = board(table, cards, sent)
        self.view = default_view(self.lines)
        self.explored = write_explorer(entries, cards, report)
        self.over = over_constant(table, [] if study else entries, cards)
        self.findings = [] if study else findings(self.wins, self.lines, self.over, entries, cards)
        self.choices = {} if study else choices([e.experiment for e in entries if e.was_run], table, cards)

    def _paper(self, name: str) -> Paper:
        return self.known.get(name, Paper(name, name))

    def _unit(self, entry: ReportEntry, constants: Mapping, table: pd.DataFrame) -> dict:
        letter = self._paper(entry.paper).letter
        claims, errata = ([row for row in rows if row["paper"] == letter] for rows in (self.claims, self.errata))
        mine = [t[t[key] == entry.name] for t, key in ((table, "experiment"), (self.numbers, "artefact"))]
        shown = unit(entry, self.cards, constants, mine[0], mine[1], claims, errata)
        return shown | defer_long_tables(shown)

    def write(self, place: PageFolder) -> list[Path]:
        """Write all pages."""
        further = [("explorer.html", "Explorer")] if self.explored else []
        if not self._is_one_page:
            further += [(f"{p}.html", self._short(p)) for p in self.papers if p not in self.known]
        menu = [
            ("index.html", "Results", True),
            ("use.html", USE, self.choices),
            ("leaderboard.html", "Leaderboard", len(self.lines)),
            ("index.html#papers", "Papers", not self._is_one_page),
            ("audit.html", "Audit", place.audited),
            ("checks.html", "About", True),
        ]
        shared = {
            "pages": [(file, label) for file, label, there in menu if there],
            "selections": SELECTION_WORDS,
            "stored": place.stored,
            "audited": place.audited and audit_verdict(place.folder),
        }
        own = {p: "index.html" if self._is_one_page else f"{p}.html" for p in self.papers}
        contents = [("paper", own[p], self._paper_page(p, place)) for p in self.papers]
        if place.audited:
            names = [n for n in ("audit.md", "audit.json", "audit.csv") if (place.folder / n).is_file()]
            content = audit_page(place.folder) | {"files": names}
            contents.append(("audit", "audit.html", content))
        if any(f.name == "floor" for f in self.findings):
            draw_below(self.wins, place.folder)
        if not (place.stored or self.study) and (drawn := dots(self.numbers)):
            write_text(render("numbers_svg.html.j2", dots=drawn, links=False), place.folder / NUMBERS)
        if len(self.lines):
            write_text(as_script(self.lines, self.view), place.folder / SCRIPT)
            choices = {key: list(dict.fromkeys(self.lines[key])) for key in FILTERS}
            content = {"title": "Leaderboard", "view": self.view, "choices": choices, "filters": FILTERS}
            contents.append(("leaderboard", "leaderboard.html", content | {"rows": in_view(self.lines, self.view)}))
        if self.choices:
            contents.append(("use", "use.html", {"title": USE, "choices": self.choices}))
        if self.explored:
            groups = {k: [e for e in self.explored if e["paper"] == k] for k in (e["paper"] for e in self.explored)}
            content = {"title": "Explorer", "groups": groups, "libraries": LIBRARIES}
            contents.append(("explorer", "explorer.html", content))
        about = checks(place, self.entries, self.environment, self.cards) | {"further": further}
        contents.append(("checks", "checks.html", about))
        if not self._is_one_page:
            contents.append(("index", "index.html", self._index(place)))
        return [self._write(name, place.folder / file, shared | content) for name, file, content in contents]

    @property
    def _is_one_page(self) -> bool:
        """Whether the page of a study's experiments is its front page."""
        return bool(self.study) and len(self.papers) == 1

    def write_alone(self, place: PageFolder) -> Path:
        """Write the page of the only experiment, with its claims and nothing else of its paper."""
        (entry,) = self.entries
        file = alone(entry.name)
        whole = [("index.html", "Results")] if (place.folder / "index.html").is_file() else []
        shared = {
            "pages": [*whole, (file, label_of(entry.name))],
            "selections": SELECTION_WORDS,
            "stored": place.stored,
        }
        content = self._paper_page(page_of(entry.name), place)
        rest: dict[str, object] = {"lead": (), "elsewhere": [], "errata": [], "facts": (), "not_run": {}}
        return self._write("paper", place.folder / file, shared | content | rest | {"title": entry.title})

    def _short(self, page: str) -> str:
        return self.about[page].title if page not in self.known else self._paper(page).short

    def _write(self, template: str, path: Path, content: dict) -> Path:
        files = [file for file, _ in content["pages"]]
        under = {"paper": "index.html#papers"}.get(template, "checks.html")
        here = path.name if path.name in files else under
        write_text(render(f"{template}.html.j2", **content, here=here), path)
        return path

    def _paper_page(self, page: str, place: PageFolder) -> dict:
        mine = [e for e in self.entries if page_of(e.name) == page]
        about = self.about[page]
        mine.sort(key=lambda e: [not e.name.startswith(start) for start in about.experiments])
        for entry in mine:
            if entry.was_run and (held := self.units[entry.name])["late"]:
                write_text(held["late_script"], place.folder / held["late"])
        paper = self._paper(page)
        # what a paper's main result is laid out as comes first
        mine.sort(key=lambda e: e.name not in paper.grids)
        shown = [self.units[e.name] | links(e, place) for e in mine if e.was_run]
        names = {e.name for e in mine}
        _anchored(shown)
        placed = {id(e) for u in shown for e in u["errata"]}
        claims = [c for c in self.claims if c["paper"] == paper.letter]
        beside = {c["claim"] for u in shown for c in u["claims"]}
        return {
            "title": paper.full_title or about.title,
            "paper": paper,
            "lead": about.lead,
            "claims": claims,
            "elsewhere": [c for c in claims if c["claim"] not in beside],
            "counts": counts(claims),
            "changed": list(dict.fromkeys((c["claim"], was) for c in claims for was in c["changed"])),
            "banner": banner(claims),
            "headline": self._headline(mine),
            "groups": _grouped(shown),
            "causes": self.results and causes_of(paper, self.numbers, self.results),
            "compared": any(u["points"] or any(t.compared for t in u["tables"]) for u in shown),
            "cells": any(u["points"] or u["tables"] for u in shown),
            "absent": [e for e in mine if not e.was_run],
            # of a study of one page, this is the place for it
            "not_run": not_run(self.entries, self.missing) if self._is_one_page else {},
            "not_run_in_short": not_run_in_short(self.entries, self.missing) if self._is_one_page else [],
            "wins": [
                r | {"where": label_of(r["artefact"]), "mask": mask_name(r["mask"])}
                for r in self.wins
                if r["artefact"] in names
            ],
            "errata": [e for e in self.errata if e["paper"] == paper.letter and id(e) not in placed],
            "facts": paper.deviations,
        }

    def _headline(self, entries: Sequence[ReportEntry]) -> dict:
        return headline([], entries, self.numbers[self.numbers["artefact"].isin([e.name for e in entries])])

    def _index(self, place: PageFolder) -> dict:
        return {
            "title": self.study or "Results",
            "study": self.study,
            "compared": f"{len(judged_numbers(self.numbers)):,}",
            "known_papers": sum(bool(p.claims) for p in self.known.values()),
            "findings": self.findings,
            "chosen": bool(self.choices),
            "headline": self._headline(self.entries),
            "dots": dots(self.numbers),
            "banner": banner(self.claims),
            "deviating": [f"{e.name} ({'; '.join(e.deviations)})" for e in self.entries if e.deviations],
            "claims": self.claims,
            "said": headline(self.claims, [], self.numbers)["claims"],
            "outcomes": _outcomes(self.claims),
            "counts": counts(self.claims),
            "other_seed": None if self.study else changes_in_words(place.folder),
            "page_of": {p.letter: f"{name}.html" for name, p in self.known.items() if name in self.papers},
            "top": in_view(self.lines, self.view)[:5],
            "view": self.view,
            "cards": [self._card(p) for p in self.papers],
            "not_run": not_run(self.entries, self.missing),
            "not_run_in_short": not_run_in_short(self.entries, self.missing),
        }

    def _card(self, page: str) -> dict:
        paper, mine = self._paper(page), [e for e in self.entries if page_of(e.name) == page]
        claims = [c for c in self.claims if c["paper"] == paper.letter]
        return {
            "page": f"{page}.html",
            "name": self._short(page),
            "title": paper.full_title or self.about[page].title,
            "paper": paper,
            "counts": counts(claims),
            "headline": self._headline(mine),
            "artefacts": dict(self.units[e.name]["group"] for e in mine if e.was_run and is_numbered(e.name)),
        }


def _outcomes(claims: Sequence[Mapping]) -> list[list]:
    """Head and rows of the table of claims by outcome here and in print, those that occur."""
    if not claims:
        return []
    table = cross_table(pd.DataFrame([{key: c[key] for key in ("ours", "print", "counted_apart")} for c in claims]))
    table = table.loc[table.any(axis=1), table.any()]
    return [["here", *table.columns], *([word, *row] for word, row in zip(table.index, table.to_numpy(), strict=True))]


def alone(experiment: str) -> str:
    """Name of the file of an experiment's own page."""
    return f"{experiment.replace('/', '-')}.html"


def _anchored(units: Sequence[dict]) -> None:
    """Show each claim and each error in print once, beside the first artefact that it is about."""
    seen: set[object] = set()
    for shown in units:
        for kind, key in (("claims", itemgetter("claim")), ("errata", id)):
            shown[kind] = [one for one in shown[kind] if key(one) not in seen]
            seen |= {key(one) for one in shown[kind]}


def page_names(experiments: Iterable[str]) -> list[str]:
    """Names of the pages of some experiments: each paper's own, then its further ones."""
    needed = dict.fromkeys(map(page_of, experiments))
    known = [name for paper in papers() for name in (paper.name, *(page.name for page in paper.pages))]
    return [name for name in dict.fromkeys([*known, *needed]) if name in needed]


def _grouped(units: Sequence[dict]) -> list[dict]:
    """Units in groups: the panels of one figure stand together.

    Last and folded come drawings, which hold no result, and experiments that only tried interpretations of a text:
    the page of causes has what came out.
    """
    readings = trial_experiments()
    found: dict[str, dict] = {}
    for shown in units:
        anchor, label = shown["group"]
        read = shown["name"] in readings
        anchor, label = ("readings", "Interpretations that were tried") if read else (anchor, label)
        folded = read or anchor == "drawings"
        group = found.setdefault(anchor, {"anchor": anchor, "label": label, "units": [], "folded": folded})
        group["units"].append(shown)
    return sorted(found.values(), key=lambda group: (group["folded"], group["anchor"] == "drawings"))
