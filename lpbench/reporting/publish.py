"""Reports and pages of all committed results in ``reproduced/``, of a run, or of a user's study."""

import json
import os
import shutil
from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.analysis import Summary, is_ranked
from lpbench.analysis.summary import NON_PRIVATE_PANEL
from lpbench.audit.table import report_bits
from lpbench.errors import NotRunError
from lpbench.experiments import catalogue
from lpbench.experiments.committed import commit, digest, remember
from lpbench.experiments.committed import summary as committed_summary
from lpbench.experiments.engines import engine
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.fingerprint import source_hash, versions
from lpbench.experiments.method import Method, facts_of
from lpbench.experiments.plan import by_name, registered_methods
from lpbench.experiments.records import environment, hash_of, method_card, missing_data
from lpbench.experiments.results import RECORD, Artefact, Results, keep_summary, read_summary
from lpbench.experiments.store import lock_of
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
        kept = [n for n in names
                if n in run and (within or n in dirty or (less[n.partition("/")[0]] and not overwrite))]  # fmt: skip
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
    for name in (n for n in registered if n.partition("/")[0] in found):
        here, there = results.artefact(name), committed.artefact(name)
        if here.is_finished:
            short = bool(here.deviations) or there.numbers > here.numbers
        else:
            short = not registered[name]["on_request"]
        if short:
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
    from lpbench.reporting.report import write_claims, write_report

    target, artefacts = results.folder / paper, [results.artefact(name) for name in names]
    content = _content(results, artefacts, target)
    decided = write_claims(results.folder, target, names, judged)
    write_report(*content, judged=judged, alone=True, within=paper)
    write_pages(*content, _cards(artefacts), study=title, within=paper)
    return Report(target, [a.name for a in artefacts if a.is_finished], decided=decided)


def _commit(results: Results, run: Sequence[str]) -> set[str]:
    """Write the scores of what was run to those that are committed, where they differ: names of these papers."""
    changed = set()
    for paper in papers():
        mine = [results.artefact(n) for n in run if n.partition("/")[0] == paper.name]
        if mine and commit(mine, results.folder / REPRODUCED, paper.name, paper.rule):
            changed.add(paper.name)
    return changed


def _publish_all(results: Results, run: Sequence[str], changed: Container[str], own: Container[str]) -> Report:
    from lpbench.reporting.pages.site import write_pages
    from lpbench.reporting.report import write_report

    target, names = results.folder / REPRODUCED, [n for n in catalogue.experiment_names() if n not in own]
    for artefact in map(results.artefact, run):
        _copy(artefact, target / artefact.name, measured=artefact.name.partition("/")[0] in changed)
    committed, registered = Results(target), catalogue.heads("experiment", ("on_request", "kind"))
    there = (a for a in committed.finished() if a.name in names and registered[a.name]["kind"] != "drawing")
    decided = _render({a.name: a for a in there}, target, drawn=run)  # all are composed later: that takes seconds
    # what runs on request alone is missed by nobody
    artefacts = [a for a in map(committed.artefact, names) if a.was_run or not registered[a.name]["on_request"]]
    content = _content(committed, artefacts, target)
    write_report(*content)
    write_pages(*content, _cards(artefacts))
    shutil.copyfile(target / "verdicts.csv", results.folder / "verdicts.csv")
    return Report(target, [a.name for a in artefacts if a.was_run], decided=decided)


def _render(scored: dict[str, Artefact], target: Path, drawn: Sequence[str]) -> list[Decision]:
    """Write tables and figures from committed scores, unless drawn before, and claims once their papers are there."""
    from lpbench.reporting.report import write_claims

    judged, read = {p.name for p in papers() if p.claims}, {name for p in papers() for name in p.rests_on}
    waited = {name for name in scored if name.partition("/")[0] in judged or name in read}
    # claims are decided while the rest is drawn, of which the longest comes first
    order = sorted(scored, key=lambda name: (name not in waited, -len(scored[name].record.get("block_times", ()))))
    code, drawn_by = "", target / _DRAWN
    if drawn_by.is_file() and (code := _code(scored)) != drawn_by.read_text(encoding="utf-8"):
        drawn_by.unlink()
    changed = {n for n in order if n not in drawn and not (drawn_by.is_file() and _is_drawn(scored[n]))}
    workers = min(os.cpu_count() or 1, len(changed) // 8)  # they take as long to start as eight experiments to draw
    todo = {name: (scored[name].results, name, name not in drawn, name not in changed) for name in order}
    with engine("loky" if workers > 1 else "serial", workers) as mapping:
        for name, summary in mapping(_render_one, list(todo.values())):
            code, (folder, *_) = code or _code(scored), todo.pop(name)  # while workers draw
            if summary is not None:
                remember(folder, name, summary)
            if name in waited and not waited & todo.keys():
                decided = write_claims(target, target)
    for call in todo.values():  # what a worker did not live to write
        _render_one(*call)
    write_text(code, drawn_by)
    return write_claims(target, target) if not waited or waited & todo.keys() else decided


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
    path = artefact.folder / _DRAWN
    if artefact.name in paper_of(artefact.name).drawings or not path.is_file():
        return False
    return path.read_text(encoding="utf-8") == _stamp(artefact)


@_QUICK_TEXTS
def _render_one(folder: Path, name: str, draw: bool = True, is_drawn: bool = False) -> tuple[str, Summary | None]:
    artefact, place, summary = Results(folder).artefact(name), folder / name, None
    if draw and digest(folder, name):
        summary = read_summary(place / _KEPT) if is_drawn else None
        if summary is None:
            from lpbench.reporting.artefact import render_artefact  # takes a second

            summary = committed_summary(folder, name)
            assert summary is not None
            place.mkdir(parents=True, exist_ok=True)
            seed, cards = artefact.record["config"]["seed"], _cards([artefact])
            render_artefact(artefact.experiment, paper_of(name), summary, cards, place, seed, paged=True)
            keep_summary(summary, place / _KEPT)
            write_text(_stamp(artefact), place / _DRAWN)
            if name in {n for paper in papers() for n in paper.leaderboard}:  # by this process, of which there are more
                shown = summary.table.loc[summary.table["panel"] != NON_PRIVATE_PANEL, ["method", "epsilon"]]
                for method, epsilon in shown[shown["method"].map(is_ranked)].itertuples(index=False, name=None):
                    report_bits(method, epsilon)
    return name, artefact.full if summary is None else summary


def _content(
    results: Results, artefacts: Sequence[Artefact], target: Path
) -> tuple[Path, list[Experiment], list[tuple[str, str]], dict[str, Any], Path]:
    """What reports and pages are made from; the times of the run are written on the way."""
    target.mkdir(parents=True, exist_ok=True)
    records, path = [a.record for a in artefacts if a.is_finished], target / "timing.csv"
    times = timing_table(records)
    if path.is_file():  # of experiments of which nothing is kept but their tables
        before, shown = pd.read_csv(path), {a.name for a in artefacts if not a.is_finished}
        times = pd.concat([before[before["artefact"].isin(shown)], times])
    write_text(times.to_csv(index=False, lineterminator="\n"), path)
    catalogue.experiments({a.name for a in artefacts} & {*catalogue.experiment_names()})  # together, which takes less
    return (
        results.folder,
        [a.experiment for a in artefacts],
        sorted(missing_data(records).items()),
        environment(),
        target,
    )


def _cards(artefacts: Sequence[Artefact]) -> dict[str, Method]:
    return by_name(registered_methods(dict.fromkeys(m for a in artefacts for m in a.experiment.methods)))


def publish_experiment(results_dir: Path, name: str) -> Path:
    """Write the page of one finished experiment, if it is older than its results; the report stays as it is."""
    from lpbench.reporting.pages.site import alone, write_experiment_page  # takes a second

    artefact = Results(results_dir).artefact(name)
    page, record = results_dir / alone(name), artefact.folder / RECORD
    if not page.is_file() or page.stat().st_mtime < record.stat().st_mtime:
        experiment = artefact.experiment
        write_experiment_page(results_dir, experiment, environment(), by_name(registered_methods(experiment.methods)))
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
