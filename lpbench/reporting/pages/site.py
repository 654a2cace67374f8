"""The site: Home, what to use, the leaderboard, one page per paper, the audit, About, and one page per claim.

The pages are static and ask nothing of any server: style, script, pictures and data lie beside them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from lpbench.analysis.claims import FAILS, NO_VERDICT
from lpbench.analysis.numbers import counts as count_numbers
from lpbench.analysis.numbers import equivalent_in_words, judged_numbers
from lpbench.analysis.verdicts import COUNTED_OUTCOMES
from lpbench.disk import write_text
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.experiments.results import Results
from lpbench.experiments.submissions import submissions
from lpbench.reporting.alternative_table import read_alternatives
from lpbench.reporting.baselines import best_constants, published_wins
from lpbench.reporting.claim_files import tabulate
from lpbench.reporting.claims import claims_about, decide
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.figures.numbers import draw_numbers
from lpbench.reporting.number_table import read_numbers, write_numbers
from lpbench.reporting.pages.about import about, changed_by_seed, time_in_words
from lpbench.reporting.pages.advice import EXAMPLE, RULE, choices, sizes, worked
from lpbench.reporting.pages.alternatives import telling
from lpbench.reporting.pages.audit import AUDIT_FILE as AUDIT
from lpbench.reporting.pages.audit import audit_page
from lpbench.reporting.pages.causes import causes_of, why
from lpbench.reporting.pages.claims import shown_claims
from lpbench.reporting.pages.findings import PageFinding, findings
from lpbench.reporting.pages.leaderboard import FILTERS, SCRIPT, as_script, board, default_view, in_view
from lpbench.reporting.pages.names import group_of, label_of
from lpbench.reporting.pages.units import picture, unit
from lpbench.reporting.paper import Page, Paper, errata, papers, trial_experiments
from lpbench.reporting.printed_names import mask_name
from lpbench.reporting.render import write_page
from lpbench.reporting.report import banner, headline, in_order, not_run
from lpbench.reporting.standings import GAINS, read_standings, write_standings

#: Title of the page with the advice of all experiments.
USE = "What should I use?"
#: Folder of the pages of claims, and page that holds what is compared and has no page of a paper.
CLAIMS, BOARD = "claims", "leaderboard"
#: The way from the committed pages to the tutorial of a checkout.
TUTORIAL = "../../docs/tutorial.md"


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
    """Write Home, one page per paper and claim, About and, if ``audit.json`` is there, the audit.

    The folder holds the artifacts, the report and its tables. Pages of a study lie next to the scores and link to every
    replication; where it has one page, that is its ``index.html``.
    """
    entries = sorted((ReportEntry(e, Path(results_dir), within) for e in experiments), key=in_order)
    results = None if study else Results(Path(results_dir))
    return Site(entries, environment, cards, Path(folder), Path(folder), missing, results, study).write()


def write_experiment_page(
    results_dir: Path, experiment: Experiment, paper: Paper, environment: Mapping, cards: Mapping[str, Method]
) -> Path:
    """Write the page of one experiment alone, ``<results>/<paper>-<leaf>.html``, with the claims about it."""
    entry = ReportEntry(experiment, results_dir, paper=paper)
    with TemporaryDirectory() as folder:
        tabulate(decide(paper, claims_about(paper, entry.leaf), Evidence(results_dir))).write(Path(folder))
        write_numbers([paper], Results(results_dir), Path(folder), {experiment.name})
        write_standings([entry], cards, Path(folder))
        return Site([entry], environment, cards, Path(folder), results_dir).write_alone()


class Site:
    """Pages of a report, written from its tables and artifacts."""

    def __init__(
        self,
        entries: list[ReportEntry],
        environment: Mapping,
        cards: Mapping[str, Method],
        report: Path,  # with the tables of claims and numbers
        folder: Path,  # of the pages
        missing: Sequence[tuple[str, str]] = (),
        results: Results | None = None,  # of the committed scores; None: scores lie next to the artifacts
        study: str = "",
    ):
        """Read the report's tables once, for all pages.

        ``report`` is the folder with tables, ``folder`` that of the pages, ``cards`` the methods by name, and
        ``missing`` are pairs of an experiment that was not run and the reason.
        """
        self.results, self.study, self.folder, self.stored = results, study, folder, results is None
        self.entries, self.environment, self.cards = entries, environment, cards
        self.not_run, self.other_seed = not_run(entries, missing), changed_by_seed(folder)
        self.audit = audit_page(folder) if (folder / AUDIT).is_file() else {}
        self.claims, self.numbers = shown_claims(report), read_numbers(report)
        self.alternatives = read_alternatives(report)
        self.errata = errata(dict.fromkeys(e.paper for e in entries))
        self.papers = page_names(entries)
        self.one = bool(study) and len(self.papers) == 1  # whether the page of its experiments is its front page
        sent = [] if study else submissions()
        self.table = table = read_standings(report)
        constants = best_constants(table)
        self.wins = [r for e in entries if e.was_run for r in published_wins(e.name, e.paper, constants)]
        self.units = {e.name: self._unit(e, constants, table) for e in entries if e.was_run}
        self.lines = board(table, cards, sent)
        self.view = default_view(self.lines)
        self.findings = [] if study else findings(self.wins, table, entries, self.folder)
        self.choices = [] if study else choices([e.experiment for e in entries if e.was_run], table, cards)

    def _unit(self, entry: ReportEntry, constants: Mapping, table: pd.DataFrame) -> dict:
        letter = entry.paper.letter
        claims, errata = ([row for row in rows if row["paper"] == letter] for rows in (self.claims, self.errata))
        tables = (table, "experiment"), (self.numbers, "artifact")
        standings, numbers = (t[t[key] == entry.name] for t, key in tables)
        return unit(entry, self.cards, constants, standings, numbers, claims, errata)

    def write(self) -> list[Path]:
        """Write all pages and return their paths."""
        boarded = len(self.lines) or BOARD in self.papers
        files = {p: "index.html" if self.one else f"{p}.html" for p in self.papers if p != BOARD}
        # pages of experiments that no paper has are reached from the leaderboard
        in_menu = set(filter(self._is_in_menu, files))
        menu = [
            ("index.html", "Home" if not self.study else "Results", True),
            ("use.html", USE, self.choices),
            (f"{BOARD}.html", "Leaderboard", boarded),
            *((file, self._short(p), p in in_menu and not self.one) for p, file in files.items()),
            ("audit.html", "Audit", self.audit),
            ("about.html", "About", True),
        ]
        shared = self._shared([(file, label) for file, label, is_shown in menu if is_shown])
        contents = [("paper", files[p], self._paper_page(p)) for p in files]
        if self.audit:
            contents.append(("audit", "audit.html", self.audit))
        if boarded:
            write_text(as_script(self.lines, self.view), self.folder / SCRIPT)
            picked = {key: list(dict.fromkeys(self.lines[key])) for key in FILTERS}
            content = {
                "view": self.view,
                "choices": picked,
                "filters": FILTERS,
                "rows": in_view(self.lines, self.view),
                "added": (self.folder / GAINS).is_file(),
                "sources": sorted({(line.title, line.paper) for line in self.lines.itertuples() if line.paper}),
                "further": [(files[p], self._short(p)) for p in files if p not in in_menu],
            }
            content = self._paper_page(BOARD) | content | {"title": "Leaderboard"}
            contents.append(("leaderboard", f"{BOARD}.html", content))
        if self.choices:
            distinct = list(dict.fromkeys(c["code"] for c in self.choices))
            codes = [distinct.index(c["code"]) for c in self.choices]
            content = {"title": USE, "choices": self.choices, "codes": codes, "rule": RULE}
            contents.append(
                (
                    "use",
                    "use.html",
                    content
                    | {"sizes": sizes(self.choices, self.table), "worked": worked(self.choices), "example": EXAMPLE},
                )
            )
        about_content = about(self.folder, self.entries, self.environment, self.cards)
        contents.append(("about", "about.html", about_content | self.not_run | {"other_seed": self.other_seed}))
        if not self.one:
            contents.append(("index", "index.html", self._index()))
        written = [self._write(name, file, shared | content) for name, file, content in contents]
        return written + self._write_claims(shared)

    def _shared(self, menu: Sequence[tuple[str, str]]) -> dict:
        made = {"version": self.environment.get("lpbench", "")}
        # seconds are no scores, and new in every run
        scored = [entry for entry in self.entries if entry.record and entry.kind != "timing"]
        made |= provenance(entry.record.get("environment", {}) for entry in scored)
        return {"pages": menu, "stored": self.stored, "made": made, "audited": self.audit.get("verdict")}

    def write_alone(self) -> Path:
        """Write the page of the only experiment, with its claims and nothing else of its paper."""
        (entry,) = self.entries
        file = alone(entry.name)
        back = [("index.html", "Results")] if (self.folder / "index.html").is_file() else []
        shared = self._shared([*back, (file, label_of(entry.name))])
        content = self._paper_page(entry.section.file)
        empty = {"lead": (), "elsewhere": [], "errata": [], "facts": (), "overview": [], "heading": ""}
        content |= {"sections": [s | empty for s in content["sections"]], "not_run": {}, "title": entry.title}
        self._write_claims(shared)
        return self._write("paper", file, shared | content)

    def _papers_on(self, page: str) -> list[Paper]:
        return list(dict.fromkeys(e.paper for e in self.entries if e.section.file == page))

    def _is_in_menu(self, page: str) -> bool:
        return bool(self.study) or any(paper.citation for paper in self._papers_on(page))

    def _short(self, page: str) -> str:
        """Short name of a page in the menu, from its file's name: those of its papers."""
        return " & ".join(p.short for p in self._papers_on(page))

    def _write(self, template: str, file: str, content: dict) -> Path:
        files = [file for file, _ in content["pages"]]
        above = f"{BOARD}.html" if f"{BOARD}.html" in files else "index.html"
        page = file if file in files else content.get("page", above)
        return write_page(f"{template}.html.j2", self.folder / file, **content, here=page)

    def _write_claims(self, shared: Mapping) -> list[Path]:
        """Write a page for each claim, with a link back to the page where the claim stands; return their paths.

        ``shared`` is the content that all pages take.
        """
        by_letter = {p.letter: p for p in papers()}
        seeds = {row[0].partition(",")[0] for row in (self.other_seed or ("", [], []))[2]}
        written = []
        for c in self.claims:
            of_paper = [e for e in self.entries if e.paper is by_letter[c["paper"]]]
            concerned = [e for e in of_paper if c["concerns"](e.leaf)]
            # a sentence about no artifact stands on its paper's page as well
            page = next((f"{e.section.file}.html" for e in [*concerned, *of_paper]), "index.html")
            files = [file for file, _ in shared["pages"]]
            page = page if page in files else files[-1] if len(files) < 3 else "index.html"
            content = {
                "title": f"Claim {c['claim']}",
                "root": "../",
                "c": c,
                "paper": by_letter[c["paper"]],
                "page": page,
                "anchor": f"claim-{c['claim']}" if of_paper else "main",
                "experiments": [e.name for e in concerned],
                "seed": "Another seed changes the outcome of a check." if c["claim"] in seeds else "",
            }
            written.append(self._write("claim", f"{CLAIMS}/{c['claim']}.html", {**shared, **content}))
        return written

    def _paper_page(self, page: str) -> dict:
        """Return the template's content for a page (file without ending): sections with experiments, own first."""
        sections: dict[str, tuple[Page, list[ReportEntry]]] = {}
        for entry in self.entries:
            if (section := entry.section).file == page:
                sections.setdefault(section.name, (section, []))[1].append(entry)
        # a paper's own section comes first, then those that it lists, in its order
        order = [name for p in papers() for name in (p.name, *(s.name for s in p.pages))]
        in_order = sorted(sections.values(), key=lambda one: order.index(one[0].name) if one[0].name in order else -1)
        contents = [self._section(*one, early=k < 2) for k, one in enumerate(in_order)]
        if len(contents) == 1 and page != BOARD:
            contents[0]["heading"] = ""
        units = [u for s in contents for g in s["groups"] for u in g["units"]]
        return {
            "title": in_order[0][0].title if len(in_order) == 1 else self._short(page) or USE,
            "sections": contents,
            "compared": any(t[0][1]["compared"] for u in units for t in u["tables"]),
            "cells": any(u["tables"] for u in units),
            # of a study of one page, this is the place for it
            **(self.not_run if self.one else {"not_run": {}, "not_run_in_short": []}),
        }

    def _section(self, section: Page, entries: list[ReportEntry], early: bool) -> dict:
        """Return a section's content: claims, numbers, experiments in groups, causes of differences, errata.

        The first table of an ``early`` section is shown unfolded.
        """
        paper = entries[0].paper
        # what a paper's main result is laid out as comes first, the rest in the section's order
        grids = {name for name, unit in self.units.items() if unit["grid"]}
        entries.sort(key=lambda e: (e.name not in grids, [not e.name.startswith(s) for s in section.experiments]))
        units = [self.units[e.name] | {"files": e.links(self.folder, self.stored)} for e in entries if e.was_run]
        names = {e.name for e in entries}
        _anchored(units)
        is_main = section.name == paper.name
        placed = {id(e) for u in units for e in u["errata"]}
        claims = [c for c in self.claims if c["paper"] == paper.letter] if is_main else []
        beside = {c["claim"] for u in units for c in u["claims"]}
        numbers = self.numbers[self.numbers["artifact"].isin(names)]
        trials = _trials(units)
        groups, won = _grouped(units), [r for r in self.wins if r["artifact"] in names]
        n = count_numbers(judged) if is_main and len(judged := judged_numbers(numbers)) else None
        lines = [_overview(g) for g in groups]
        for k, (group, line) in enumerate(zip(groups, lines, strict=True)):
            words = equivalent_in_words(line["numbers"]) if line["numbers"] else ""
            group |= {"said": words, "open": _is_printed_table(group) or (early and not (k or trials))}
        lines = [o for o, g in zip(lines, groups, strict=True) if not g["folded"] and (o["claims"] or o["numbers"])]
        return {
            "anchor": section.name,
            "heading": section.title,
            "paper": paper,
            "lead": section.lead,
            "headline": headline(claims, [], numbers, self.folder),
            "overview": lines if is_main and not trials else [],
            "elsewhere": [c for c in claims if c["claim"] not in beside],
            "banner": banner(claims),
            "deviating": _deviating(entries),
            "trials": trials,
            "groups": groups,
            "why": n,
            "lines": why(n, "The printed numbers", judged=judged) if n else [],
            "causes": self.results and is_main and causes_of(paper, self.numbers, self.results),
            "telling": is_main and telling(paper, self.numbers, self.alternatives, {n: label_of(n) for n in names}),
            "chosen": self.results and is_main and paper.chosen and paper.chosen(self.results),
            "won": f"{sum(r['wins_below'] for r in won)} of {sum(r['wins'] for r in won)}",
            "wins": [
                [
                    label_of(r["artifact"]),
                    mask_name(r["mask"]),
                    f"{r['epsilon']:g}",
                    *(f"{r[f'{kind}_below']} of {r[kind]}" for kind in ("wins", "proposed", "marks", "cells")),
                ]
                for r in won
            ],
            "errata": [e for e in self.errata if is_main and e["paper"] == paper.letter and id(e) not in placed],
            "facts": paper.released.deviations if is_main and paper.released else (),
        }

    def _index(self) -> dict:
        """Return the content of Home: verdicts by paper, the comparison of all printed numbers, findings."""
        judged, content = judged_numbers(self.numbers), headline([], self.entries, self.numbers, self.folder)
        rows = [self._row(p) for p in self.papers if self._is_in_menu(p)]
        by_name = {e.name: e for e in self.entries}
        judged = judged.assign(line=[f"{by_name[n].paper.short}, {group_of(n)[1]}" for n in judged["artifact"]])
        pairs = judged[["line", "artifact"]].values
        lines = {line: f"{by_name[n].section.file}.html#{group_of(n)[0]}" for line, n in pairs}
        counted = [c for c in self.claims if not c["counted_apart"]]
        dots = [picture(path, path.name, content["numbers"]) for path in draw_numbers(judged, self.folder)]
        return {
            "title": self.study or "Home",
            "study": self.study,
            "description": "Do published results on local differential privacy hold? Each number re-run and compared.",
            "preview": dots[0]["href"] if dots else "",
            "compared": f"{len(judged):,}",
            "numbers": count_numbers(judged),
            "failing": sum(c["ours"] == FAILS for c in counted),
            "sentences": len(counted),
            "known_papers": sum(bool(p.claims) for p in papers()),
            "surprise": surprise(self.findings, count_numbers(judged), counted) if len(judged) else (),
            "tutorial": TUTORIAL * (self.folder / TUTORIAL).is_file(),
            "time": time_in_words(self.folder) if (self.folder / "timing.csv").is_file() and not self.study else None,
            "papers": rows,
            "total": [sum(v for v in column if v != "–") for column in zip(*(r["cells"] for r in rows), strict=True)],
            "findings": self.findings,
            "doors": not self.study,
            "theorems": next((by_name[name].section.file for name, unit in self.units.items() if _trials([unit])), ""),
            "chosen": bool(self.choices),
            "worked": worked(self.choices),
            "sizes": sizes(self.choices, self.table),
            "example": EXAMPLE,
            "headline": content,
            "dots": dots,
            "lines": lines,
            "banner": banner(self.claims),
            "deviating": _deviating(self.entries),
            "claims": self.claims,
            "apart": [c for c in self.claims if c["counted_apart"]],
            "not_run_in_short": self.not_run["not_run_in_short"],
        }

    def _row(self, page: str) -> dict:
        """A page's line of the table on Home: link, name, and counts of numbers by class and of claims by outcome."""
        names = {e.name for e in self.entries if e.section.file == page}
        rows = self.numbers[self.numbers["artifact"].isin(names)]
        judged, letters = count_numbers(judged_numbers(rows)), {p.letter for p in self._papers_on(page)}
        outcomes = [c["ours"] for c in self.claims if c["paper"] in letters and not c["counted_apart"]]
        is_compared = judged["compared"] > 0
        numbers = [
            *(judged[key] for key in ("compared", "method", "budget", "alike", "different", "undecided", "apart")),
        ]
        sentences = [outcomes.count(outcome) for outcome in (*COUNTED_OUTCOMES, NO_VERDICT)]
        values = [*(numbers if is_compared else "–" * len(numbers)), *(sentences if outcomes else "–" * len(sentences))]
        return {"page": f"{page}.html", "name": self._short(page), "cells": values}


def surprise(findings: Sequence[PageFinding], n: Mapping[str, int], claims: Sequence[Mapping]) -> list[tuple]:
    """Findings on published results by the share of these results that they put in doubt, the largest first."""
    failing = sum(c["ours"] == FAILS for c in claims)
    numbers = f"{n['different']:,} of {n['compared']:,} published numbers are different from ours."
    doubts = [(n["different"] / n["compared"], numbers, "papers")]
    if claims:
        doubts.append(
            (failing / len(claims), f"{failing} of {len(claims)} published sentences fail in our runs.", "papers")
        )
    return sorted([*doubts, *((f.share, f.sentence, f"finding-{f.name}") for f in findings if f.share)], reverse=True)


def alone(experiment: str) -> str:
    """Name of the file of an experiment's own page."""
    return f"{experiment.replace('/', '-')}.html"


def provenance(records: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the commits that scores come from as one range in time, and the date of the last.

    A range, because each run of a part adds a commit, and every page names them.
    """
    run = sorted(records, key=lambda record: record.get("date", ""))
    commits = list(dict.fromkeys(record["commit"] for record in run if "commit" in record))
    ends = {0: "", 1: "commit {0}"}.get(len(commits), "commits {0} to {1}")
    return {"commits": ends.format(*commits[:1], *commits[-1:]), "date": run[-1].get("date", "") if run else ""}


def _anchored(units: Sequence[dict]) -> None:
    """Keep each claim and erratum only at the first artifact that it is about, so that a page shows it once."""
    seen: set[object] = set()
    for entry in units:
        for kind, key in (("claims", itemgetter("claim")), ("errata", id)):
            entry[kind] = [one for one in entry[kind] if key(one) not in seen]
            seen |= {key(one) for one in entry[kind]}


def page_names(entries: Iterable[ReportEntry]) -> list[str]:
    """Names of the pages of some experiments, in the order of the papers."""
    needed = dict.fromkeys(e.section.file for e in entries)
    in_order = [name for paper in papers() for name in (paper.name, *(page.file for page in paper.pages))]
    return [name for name in dict.fromkeys([*in_order, *needed]) if name in needed]


def _deviating(entries: Sequence[ReportEntry]) -> list[str]:
    return [f"{e.name} ({'; '.join(e.deviations)})" for e in entries if e.deviations]


def _trials(units: Sequence[dict]) -> str:
    """Count the outcomes of theorems' cases in the tables of ``units``, as a sentence; empty without any."""
    tables = [u["plain"] for u in units if u["plain"] and "outcome" in u["plain"].heads]
    counts = Counter(row[table.heads.index("outcome")] for table in tables for row in table.rows)
    words = ", ".join(f"{word} {n}" for word, n in counts.most_common())
    return f"{counts.total()} cases of theorems: {words}." if tables else ""


def _overview(group: dict) -> dict:
    """A figure's or table's line in the overview of its section: anchor, label, claims, counts of numbers."""
    judged = pd.concat([u["judged"] for u in group["units"]])
    claims = [c for u in group["units"] for c in u["claims"]]
    return {key: group[key] for key in ("anchor", "label")} | {
        "claims": claims,
        "numbers": count_numbers(judged) if len(judged) else None,
    }


def _grouped(units: Sequence[dict]) -> list[dict]:
    """Group experiments by figure, whose panels stand together: printed tables first, drawings and trials last.

    A group has anchor, label, its units, and ``folded``, True for drawings and tried interpretations.
    """
    readings = trial_experiments()
    groups: dict[str, dict] = {}
    for entry in units:
        anchor, label = entry["group"]
        read = entry["name"] in readings
        anchor, label = ("readings", "Interpretations that were tried") if read else (anchor, label)
        folded = read or anchor == "drawings"
        group = groups.setdefault(anchor, {"anchor": anchor, "label": label, "units": [], "folded": folded})
        group["units"].append(entry)
    last = itemgetter("folded")
    return sorted(groups.values(), key=lambda g: (last(g), g["anchor"] == "drawings", not _is_printed_table(g)))


def _is_printed_table(group: dict) -> bool:
    """Return True if a group shows a table as printed beside ours, which its page shows first and unfolded."""
    return not group["folded"] and any(t[0][1]["published"] for u in group["units"] for t in u.get("tables", ()))
