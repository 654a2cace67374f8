"""Which report shows what, and where it is written: everything in ``reproduced/``, a run or a user's study alone."""

from __future__ import annotations

import shutil
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lpbench.errors import NotRunError
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.experiments.plan import by_name, registered_methods
from lpbench.experiments.records import environment, missing_data
from lpbench.experiments.results import RECORD, Artefact, Results
from lpbench.experiments.store import lock_of
from lpbench.experiments.timing import timing_table
from lpbench.files import inside, locked
from lpbench.paths import REPRODUCED
from lpbench.reporting.paper import paper_of


@dataclass(frozen=True)
class Report:
    """A report that was written.

    Attributes
    ----------
    folder : Path
    names : list of str
        Experiments with results that it shows.
    kept : list of str
        Experiments of which the committed report, which it therefore did not replace, shows more.
    """

    folder: Path
    names: list[str]
    kept: list[str] = field(default_factory=list)


def publish(
    results_dir: Path, asked: Sequence[str] = (), within: str = "", *, judged: bool = True, overwrite: bool = False
) -> list[Report]:
    """Write the reports that show some experiments, and their pages.

    The benchmark's own report is ``reproduced/``, with a copy of what is small, as it is committed. It is written where
    every experiment was run as registered and it would show no less than the one that is there. Otherwise the report
    shows what was run, beside the results. The experiments of a user have a report in the folder of their paper.

    Parameters
    ----------
    results_dir : Path
    asked : sequence of str
        Experiments whose reports are written (default: all that have results).
    within : str
        Folder in the results, of runs that deviate from the registered experiments.
    judged : bool
        Whether claims are decided: a few replications decide nothing.
    overwrite : bool
        Write ``reproduced/`` whatever is there.
    """
    with locked(lock_of(results_dir / "store")):
        results, own = Results(results_dir / within), set(catalogue.own_experiment_names())
        studies: dict[str, list[str]] = {}
        for name in dict.fromkeys([*(a.name for a in results.finished()), *asked]):
            studies.setdefault(name.partition("/")[0] if name in own else "", []).append(name)
        found = []
        for paper, names in studies.items():
            if asked and not set(asked) & set(names):
                continue
            if paper:
                found.append(_publish_study(results, names, paper_of(paper).title, paper, judged))
                continue
            less = _less_than_committed(results) if not (within or overwrite) else []
            if within or less:
                report = _publish_study(results, names, "Results of this run", "", judged)
                found.append(replace(report, kept=less))
            else:
                found.append(_publish_all(results, own))
        return found


def _less_than_committed(results: Results) -> list[str]:
    """Experiments that were not run as registered, or of which the report in ``reproduced/`` shows more."""
    committed = Results(results.folder / REPRODUCED)
    names = [n for n in catalogue.experiment_names() if n not in set(catalogue.own_experiment_names())]
    registered = catalogue.heads("experiment", ("on_request",))
    found = []
    for name in names:
        here, there = results.artefact(name), committed.artefact(name)
        unrun = not here.is_finished and not registered[name]["on_request"]
        if unrun or here.deviations or there.numbers > here.numbers:
            found.append(name)
    return found


def _publish_study(results: Results, names: Sequence[str], title: str, paper: str, judged: bool) -> Report:
    """Write a report on these experiments alone, beside their artefacts."""
    from lpbench.reporting.pages.site import write_pages
    from lpbench.reporting.report import write_report

    target, artefacts = results.folder / paper, [results.artefact(name) for name in names]
    content = _content(results, artefacts, target)
    write_report(*content, judged=judged, alone=True, within=paper)
    write_pages(*content, _cards(artefacts), study=title, within=paper)
    return Report(target, [a.name for a in artefacts if a.is_finished])


def _publish_all(results: Results, own: Container[str]) -> Report:
    from lpbench.reporting.causes import write_causes, write_cells
    from lpbench.reporting.pages.site import write_pages
    from lpbench.reporting.paper import papers
    from lpbench.reporting.report import write_report

    target, names = results.folder / REPRODUCED, [n for n in catalogue.experiment_names() if n not in own]
    registered = catalogue.heads("experiment", ("on_request",))
    # what runs on request alone is missed by nobody
    artefacts = [a for a in map(results.artefact, names) if a.is_finished or not registered[a.name]["on_request"]]
    for artefact in artefacts:
        if artefact.is_finished:
            _copy(artefact, target / artefact.name)
    content = _content(results, artefacts, target)
    write_causes(papers(), results.folder, target)
    write_cells(papers(), results.folder, target)
    write_report(*content)
    write_pages(*content, _cards(artefacts))
    shutil.copyfile(target / "claims.csv", results.folder / "claims.csv")
    return Report(target, [a.name for a in artefacts if a.is_finished])


def _content(
    results: Results, artefacts: Sequence[Artefact], target: Path
) -> tuple[Path, list[Experiment], list[tuple[str, str]], dict[str, Any], Path]:
    """What reports and pages are made from; the times of the run are written on the way."""
    target.mkdir(parents=True, exist_ok=True)
    records = [a.record for a in artefacts if a.is_finished]
    timing_table(records).to_csv(target / "timing.csv", index=False, lineterminator="\n")
    catalogue.experiments(a.name for a in artefacts if not a.is_finished)  # together, which takes less
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
    """Write the page of one finished experiment, if it is older than its results; the report stays as it is.

    Parameters
    ----------
    results_dir : Path
        Results folder, or one of deviating runs in it.
    name : str

    Returns
    -------
    Path
        The page.
    """
    # takes a second to import
    from lpbench.reporting.pages.site import alone, write_experiment_page

    artefact = Results(results_dir).artefact(name)
    page, record = results_dir / alone(name), artefact.folder / RECORD
    if not page.is_file() or page.stat().st_mtime < record.stat().st_mtime:
        experiment = artefact.experiment
        write_experiment_page(results_dir, experiment, environment(), by_name(registered_methods(experiment.methods)))
    return page


def _copy(artefact: Artefact, destination: Path) -> None:
    """Copy an artefact without its scores and its record."""
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
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copied)
