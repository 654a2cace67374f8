"""Reports and pages of all committed results in ``reproduced/``, of a run, or of a user's study."""

import json
import os
import shutil
from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from itertools import starmap
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.analysis import is_ranked, write_csv
from lpbench.analysis.summary import COSTS, NON_PRIVATE_PANEL
from lpbench.audit.table import report_bits
from lpbench.errors import NotRunError
from lpbench.experiments import catalogue
from lpbench.experiments.committed import commit, digest, remember, remembered
from lpbench.experiments.committed import summary as committed_summary
from lpbench.experiments.engines import engine
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.fingerprint import source_hash, versions
from lpbench.experiments.method import Method, facts_of
from lpbench.experiments.plan import by_name, registered_methods
from lpbench.experiments.records import environment, hash_of, method_card, missing_data
from lpbench.experiments.results import CHOSEN, RECORD, Artefact, Results, forget_summary, keep_summary, read_summary
from lpbench.experiments.store import lock_of
from lpbench.experiments.submissions import submissions
from lpbench.experiments.timing import is_measured, timing_table
from lpbench.files import inside, locked, write_text
from lpbench.paths import COMMITTED, PUBLISHED, REPRODUCED
from lpbench.reporting.claims import Decision
from lpbench.reporting.paper import paper_of, papers, sources

#: Beside tables and figures, not committed: what they were drawn from, and the summary.
_DRAWN, _KEPT = ".drawn.json", ".kept"
#: Tables are small and read cell by cell, which takes three times as long where texts are kept by Arrow.
_QUICK_TEXTS = pd.option_context("mode.string_storage", "python")


@dataclass(frozen=True)
class Report:
    folder: Path
    names: list[str]  # experiments with results that it shows
    kept: list[str] = field(default_factory=list)  # experiments of which the committed report shows more
    uncommitted: list[str] = field(default_factory=list)  # whose scores come from no commit of the history
    decided: list[Decision] = field(default_factory=list)


@_QUICK_TEXTS
def publish(
    results_dir: Path, asked: Sequence[str] = (), within: str = "", *, judged: bool = True, overwrite: bool = False
) -> list[Report]:
    """Write the reports that show some experiments, and their pages.

    The benchmark's own report is ``reproduced/``, as it is committed: all of it is made from committed scores. Those of
    a paper are replaced where each of its experiments was run as registered and shows no less than what is there, or
    with ``overwrite``. Other runs have a report beside the results; where experiments are asked for, it shows those too
    that found the committed scores. The experiments of a user have a report in the folder of their paper. Without
    ``judged`` no claim is decided: a few replications decide nothing.
    """
    with locked(lock_of(results_dir / "store")):
        results, own = Results(results_dir / within), set(catalogue.own_names("experiment"))
        run = [a.name for a in results.finished()]
        studies: dict[str, list[str]] = {}
        for name in dict.fromkeys([*run, *asked]):
            studies.setdefault(name.partition("/")[0] if name in own else "", []).append(name)
        found = []
        for paper, names in studies.items():
            if paper and not (asked and not set(asked) & set(names)):
                found.append(_publish_study(results, names, paper_of(paper).title, paper, judged))
        names = studies.get("", [])
        if asked and not set(asked) & set(names):
            return found
        less = {} if within else _less_than_committed(results, names)
        dirty = _of_no_commit(results, run)
        kept = [
            n for n in names if n in run and (within or n in dirty or (less[n.partition("/")[0]] and not overwrite))
        ]
        whole = [n for n in names if n in run and n not in kept]
        changed = _commit(results, whole)
        if (whole and not (kept and asked and not changed)) or not (kept or within):
            found.append(_publish_all(results, whole, changed, own))
        elif kept:
            kept = [n for n in names if n in run]
        if kept:
            report = _publish_study(results, kept, "Results of this run", "", judged)
            found.append(replace(report, kept=[n for paper in less.values() for n in paper], uncommitted=dirty))
        return found


def _less_than_committed(results: Results, run: Sequence[str]) -> dict[str, list[str]]:
    """Of each paper of which something was run: what was not, not as registered, or shows less than is committed."""
    committed, registered = Results(results.folder / REPRODUCED), catalogue.heads("experiment", ("on_request",))
    found: dict[str, list[str]] = {name.partition("/")[0]: [] for name in run}
    for name, head in ((n, head) for n, head in registered.items() if n.partition("/")[0] in found):
        here, there = results.artefact(name), committed.artefact(name)
        if (here.deviations or there.numbers > here.numbers) if here.is_finished else not head["on_request"]:
            found[name.partition("/")[0]].append(name)
    return found


def _of_no_commit(results: Results, run: Sequence[str]) -> list[str]:
    """Experiments whose scores would enter the checkout's committed results and come from no commit of its history."""
    if (results.folder / REPRODUCED).resolve() != COMMITTED.resolve():
        return []
    commits = {name: str(results.artefact(name).record.get("environment", {}).get("commit", "")) for name in run}
    return [name for name, commit in commits.items() if commit.endswith("+changes")]


def _publish_study(results: Results, names: Sequence[str], title: str, paper: str, judged: bool) -> Report:
    """Write a report on these experiments alone, beside their artefacts."""
    from lpbench.reporting.pages.site import write_pages
    from lpbench.reporting.report import in_order, write_claims, write_report
    from lpbench.reporting.standings import write_standings

    target, artefacts = results.folder / paper, [results.artefact(name) for name in names]
    content, cards = _content(results, artefacts, target), _cards(artefacts)
    decided = write_claims(results.folder, target, names, judged)
    write_report(*content, judged=judged, alone=True, within=paper)
    write_standings(sorted(artefacts, key=in_order), cards, target)
    write_pages(*content, cards, study=title, within=paper)
    return Report(target, [a.name for a in artefacts if a.is_finished], decided=decided)


def _commit(results: Results, run: Sequence[str]) -> set[str]:
    """Write the scores of what was run to those that are committed, where they differ: names of these papers."""
    mine = [(p, [results.artefact(n) for n in run if n.partition("/")[0] == p.name]) for p in papers()]
    return {p.name for p, found in mine if found and commit(found, results.folder / REPRODUCED, p.name, p.rule)}


def _publish_all(results: Results, run: Sequence[str], changed: Container[str], own: Container[str]) -> Report:
    from lpbench.reporting.pages.site import write_pages
    from lpbench.reporting.report import in_order, write_report

    target, names = results.folder / REPRODUCED, [n for n in catalogue.experiment_names() if n not in own]
    for artefact in map(results.artefact, run):
        _copy(artefact, target / artefact.name, measured=artefact.name.partition("/")[0] in changed)
        if artefact.full is not None and (shown := target / artefact.name / "summary.csv").is_file():
            # committed scores do not say what they cost, and neither do the tables made from them
            write_csv(artefact.full.table.drop(columns=COSTS), shown)
    committed, registered = Results(target), catalogue.heads("experiment", ("on_request", "kind"))
    known = {a.name: a for a in committed.finished() if a.name in names and registered[a.name]["kind"] != "drawing"}
    decided = _render(known, sorted(map(committed.artefact, names), key=in_order), target, drawn=run)
    # what runs on request alone is missed by nobody
    artefacts = [a for a in map(committed.artefact, names) if a.was_run or not registered[a.name]["on_request"]]
    content = _content(committed, artefacts, target)
    write_report(*content)
    write_pages(*content, _cards(artefacts))
    shutil.copyfile(target / "verdicts.csv", results.folder / "verdicts.csv")
    return Report(target, [a.name for a in artefacts if a.was_run], decided=decided)


def _render(
    known: dict[str, Artefact], every: Sequence[Artefact], target: Path, drawn: Sequence[str]
) -> list[Decision]:
    """Write from committed scores tables and figures, unless drawn before, then what is read off all of them.

    Claims and standings are written here, numbers by a worker: what is decided.
    """
    from lpbench.reporting.report import write_claims
    from lpbench.reporting.standings import write_standings

    read = {name for p in papers() for name in p.rests_on}
    waited = {name for name in known if paper_of(name).claims or paper_of(name).published or name in read}
    # claims are decided while the rest is drawn, of which the longest comes first
    order = sorted(known, key=lambda name: (name not in waited, -len(known[name].record.get("block_times", ()))))
    code, drawn_by = "", target / _DRAWN
    if drawn_by.is_file() and (code := _code(known)) != drawn_by.read_text(encoding="utf-8"):
        drawn_by.unlink()
    # few are left if code is what it was, and a worker takes as long to start as eight to be drawn
    cores, few = min(os.cpu_count() or 1, len(known) // 8), drawn_by.is_file() and len(drawn) <= 8
    with engine("loky" if cores > 1 else "serial", 1 if few else cores) as mapping:
        mapping(_remember, [(target, ())])  # workers begin
        kept = {n for n in order if n not in drawn and drawn_by.is_file() and _is_drawn(known[n])}
        todo = {name: (target, name, name not in drawn) for name in order if name not in kept}
        for name in todo:
            forget_summary(target / name / _KEPT)
            (target / name / _DRAWN).unlink(missing_ok=True)
        mapping(_remember, [(target, kept)])
        rest = (mapping if len(todo) > 8 else starmap)(_render_one, list(todo.values()))
        _remember(target, kept)
        code = code or _code(known)

        def wait_for(some: Container[str]) -> None:
            while left := [call for name, call in todo.items() if name in some]:
                done = next(rest, "") or _render_one(*left[0])  # what no worker lived to write
                _remember(target, [todo.pop(done)[1]])

        wait_for(waited)
        tables = mapping(_tabulate, [(target, list(known))])
        decided = write_claims(target, target, numbers=False)
        wait_for(known)
        write_text(code, drawn_by)
        write_standings(every, _cards(every), target, submissions())
        list(tables) or _tabulate(target, known)  # what no worker lived to write
        return decided


@_QUICK_TEXTS
def _tabulate(folder: Path, scored: Iterable[str]) -> None:
    """Write published numbers beside ours."""
    from lpbench.reporting.number_table import write_numbers

    _remember(folder, scored)
    write_numbers(papers(), Results(folder), folder)


def _remember(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        if remembered(folder, name) is None and (summary := read_summary(folder / name / _KEPT)) is not None:
            remember(folder, name, summary)


def _code(names: Iterable[str]) -> str:
    """Hash of what decides all tables, figures and bits beside an experiment: code, published numbers, libraries."""
    modules = sorted({"lpbench.audit.table", *(module for name in names for module in sources(name))})
    published = [(str(p), p.read_text(encoding="utf-8")) for p in sorted(PUBLISHED.rglob("*.*"))]
    libraries = [versions(), *(version(name) for name in ("matplotlib", "pandas"))]
    return hash_of([[source_hash(module) for module in modules], published, libraries])


def _stamp(artefact: Artefact) -> str:
    """Hash of what only this experiment is drawn from, with the sizes and times of its files."""
    scores, record, place = digest(artefact.results, artefact.name), artefact.record, artefact.folder
    methods = registered_methods(artefact.experiment.methods).values()
    cards = [[method_card(m), m.params, source_hash(facts_of(m.estimator).module)] for m in methods]
    stamp = hash_of([scores, record["rule"], record["config"]["seed"], asdict(artefact.experiment), cards])
    found = {path.name: path.stat() for path in sorted(place.iterdir()) if path.name != _DRAWN and path.is_file()}
    return json.dumps({"stamp": stamp} | {name: [stat.st_size, stat.st_mtime_ns] for name, stat in found.items()})


def _is_drawn(artefact: Artefact) -> bool:
    """Whether tables and figures are those of the scores; what methods and data sets decide too is drawn each time."""
    path, output = artefact.folder / _DRAWN, paper_of(artefact.name).output_of(artefact.name)
    there = (output.in_place or not output.write) and path.is_file() and (artefact.folder / _KEPT / CHOSEN).is_file()
    return there and path.read_text(encoding="utf-8") == _stamp(artefact)


@_QUICK_TEXTS
def _render_one(folder: Path, name: str, draw: bool = True) -> str:
    """Summarise an experiment's committed scores; write its tables and figures unless its run drew these; its name."""
    from lpbench.reporting.artefact import render_artefact  # takes a second

    artefact, place = Results(folder).artefact(name), folder / name
    if (summary := committed_summary(folder, name)) is not None:
        place.mkdir(parents=True, exist_ok=True)
        keep_summary(summary, place / _KEPT)
        # scores that differ in the last digits alone are not committed: what was drawn from them is drawn again
        run = None if draw else Results(folder.parent).artefact(name).chosen
        if run is None or not run["value"].equals(summary.chosen["value"]):
            seed, cards = artefact.record["config"]["seed"], _cards([artefact])
            render_artefact(artefact.experiment, paper_of(name), summary, cards, place, seed, paged=draw)
            write_text(_stamp(artefact), place / _DRAWN)
        if name in {n for paper in papers() for n in paper.leaderboard}:  # by this process, of which there are more
            shown = summary.table.loc[summary.table["panel"] != NON_PRIVATE_PANEL, ["method", "epsilon"]]
            for method, epsilon in shown[shown["method"].map(is_ranked)].itertuples(index=False, name=None):
                report_bits(method, epsilon)
    return name


def _content(
    results: Results, artefacts: Sequence[Artefact], target: Path
) -> tuple[Path, list[Experiment], list[tuple[str, str]], dict[str, Any], Path]:
    """What reports and pages are made from; the times of the run are written on the way."""
    target.mkdir(parents=True, exist_ok=True)
    records, path = [a.record for a in artefacts if a.is_finished], target / "timing.csv"
    times = timing_table(records)
    if path.is_file():  # of experiments of which nothing is kept but their tables
        before, shown = pd.read_csv(path), {a.name for a in artefacts if not a.is_finished}
        times = pd.concat([before[before["artefact"].isin(shown)], times])[times.columns]
    write_text(times.to_csv(index=False, lineterminator="\n"), path)
    catalogue.experiments({a.name for a in artefacts} & {*catalogue.experiment_names()})  # together, which takes less
    missing = sorted(missing_data(records).items())
    return results.folder, [a.experiment for a in artefacts], missing, environment(), target


def _cards(artefacts: Sequence[Artefact]) -> dict[str, Method]:
    return by_name(registered_methods(dict.fromkeys(m for a in artefacts for m in a.experiment.methods)))


def publish_experiment(results_dir: Path, name: str) -> Path:
    """Write the page of one finished experiment, if it is older than its results; the report stays as it is."""
    from lpbench.reporting.pages.site import alone, write_experiment_page  # takes a second

    artefact = Results(results_dir).artefact(name)
    page, record = results_dir / alone(name), artefact.folder / RECORD
    if not page.is_file() or page.stat().st_mtime < record.stat().st_mtime:
        write_experiment_page(results_dir, artefact.experiment, paper_of(name), environment(), _cards([artefact]))
    return page


def _copy(artefact: Artefact, destination: Path, *, measured: bool = True) -> None:
    """Copy an artefact without its scores and its record; files that hold seconds stay where ``measured`` is False."""
    files = artefact.record.get("files", {})
    for old in destination.glob("*"):
        if old.is_file() and old.name not in files:
            old.unlink()
    for name in files:
        if not name.endswith((".parquet", RECORD)):
            # Results may be somebody else's: their record names files of their own folder alone.
            source, copied = inside(artefact.folder, name, RECORD), inside(destination, name, RECORD)
            if not source.is_file():
                raise NotRunError(f"{source} is not there, although {RECORD} lists it; run {artefact.name} again")
            if not measured and copied.is_file() and is_measured(copied):
                continue
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copied)
