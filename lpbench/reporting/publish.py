"""Reports and their pages: of a run beside its results, and the committed one, which is replaced on demand alone.

A report is a list of derivations: tables and figures drawn from committed scores, then verdicts, numbers and standings,
then the pages. Each is made where its inputs or its code changed (:mod:`lpbench.derivation`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.analysis.statistics import STATISTICS, meaning
from lpbench.derivation import PICTURES, TABLES, Derivation, record_in
from lpbench.digest import folder_hash, hash_of
from lpbench.disk import inside, locked, write_text
from lpbench.errors import NotRunError, StoreError
from lpbench.experiments import catalog
from lpbench.experiments.committed import commit, digest
from lpbench.experiments.committed import summary as committed_summary
from lpbench.experiments.derive import make_all
from lpbench.experiments.method import Method
from lpbench.experiments.plan import by_name, registered_methods
from lpbench.experiments.records import environment, missing_data
from lpbench.experiments.results import RECORD, Artifact, Results
from lpbench.experiments.schema import ALTERNATIVES
from lpbench.experiments.store import lock_of
from lpbench.experiments.submissions import SUBMISSIONS_FOLDER as SUBMITTED
from lpbench.experiments.submissions import submissions
from lpbench.experiments.timing import fit_seconds, is_measured, timing_table
from lpbench.paths import COMMITTED, CONF, MANIFESTS, PUBLISHED, REPRODUCED
from lpbench.reporting.derived import drawn_from, printed
from lpbench.reporting.paper import Paper, paper_of, papers, sources
from lpbench.reporting.render import TEMPLATES

#: Tables are small and read cell by cell, which takes three times as long where texts are kept by Arrow.
_QUICK_TEXTS = pd.option_context("mode.string_storage", "python")


def report_run(results_dir: Path, experiments: Sequence[str] = (), within: str = "") -> list[Report]:
    """Write the reports of what was run in a results folder (``within`` it, of runs that deviate), and their pages.

    The experiments of a user's paper have a report in its folder, all others one beside them. The committed report
    stays as it is. Where experiments are asked for, the reports that show one of them are written.
    """
    with locked(lock_of(results_dir / "store")):
        return [report.write() for report in reports_of_run(Results(results_dir / within), experiments)]


def reports_of_run(results: Results, experiments: Sequence[str] = ()) -> list[Report]:
    """Return a report for each paper of the users' own and one for all else that was run in a results folder.

    With ``experiments``, only reports that show one of these. Alternatives are left out unless they are named.
    """
    user_names, studies = set(catalog.own_names("experiment")), dict[str, list[str]]()
    listed = (a.name for a in results.finished() if a.experiment.kind != ALTERNATIVES)
    for name in dict.fromkeys([*listed, *experiments]):
        studies.setdefault(name.partition("/")[0] if name in user_names else "", []).append(name)
    wanted = {paper: names for paper, names in studies.items() if not experiments or set(experiments) & set(names)}
    titles = {paper: paper_of(paper).title if paper else "Results of this run" for paper in wanted}
    return [Report(results.folder, tuple(wanted[p]), titles[p], p) for p in sorted(wanted, reverse=True)]


def replace_committed(results_dir: Path, experiments: Sequence[str] = ()) -> tuple[Report, dict[str, list[str]]]:
    """Replace the committed scores of each paper that was run in full, then write the committed report from scores.

    Return the report and, by paper, why the scores of others stay. Where experiments are asked for, no other paper's
    are replaced.
    """
    with locked(lock_of(results_dir / "store")):
        results, committed = Results(results_dir), Results(results_dir / REPRODUCED)
        registered = catalog.heads("experiment", ("on_request", "kind"))
        names = [n for n in registered if n not in catalog.own_names("experiment")]
        refused: dict[str, list[str]] = {}
        for paper in papers():
            of_paper = [n for n in names if n.partition("/")[0] == paper.name]
            run = [a for a in map(results.artifact, of_paper) if a.was_computed]
            if not run or (experiments and not set(experiments) & set(of_paper)):
                continue
            if reasons := list(_refusals(results, committed, {n: registered[n] for n in of_paper})):
                refused[paper.name] = reasons
                continue
            changed = commit(run, committed.folder, paper.name, paper.rule)
            for artifact in (a for a in run if registered[a.name]["kind"] != ALTERNATIVES):
                _copy(artifact, committed.folder / artifact.name, measured=changed)
        # drawings are no derivations of scores: they are copied from a run
        artifacts = [Artifact(committed.folder / name, name) for name in names]
        artifacts = [a for a in artifacts if registered[a.name]["kind"] != ALTERNATIVES]
        scored = [a for a in artifacts if a.is_finished and registered[a.name]["kind"] != "drawing"]
        _make([drawn_from_scores(artifact) for artifact in scored])
        # nobody misses what runs on request alone
        listed = [a.name for a in artifacts if not registered[a.name]["on_request"] or a.was_run]
        return Report(committed.folder, tuple(listed)).write(), refused


def _refusals(results: Results, committed: Results, registered: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the reasons why a run of a paper's experiments must not replace the committed scores.

    ``registered`` has the head of each experiment's file; only those not marked ``on_request`` must have run.
    """
    of_the_checkout = committed.folder.resolve() == COMMITTED.resolve()
    for name, head in registered.items():
        run, before = results.artifact(name), committed.artifact(name)
        if of_the_checkout and run.commit.endswith("+changes"):
            yield f"{name} ran from a work tree with changes"
        if not run.was_computed:
            if not head["on_request"]:
                yield f"{name} was not run"
        elif run.deviations:
            yield f"{name} was not run as registered ({'; '.join(run.deviations)})"
        elif before.numbers > run.numbers:
            yield f"{name} shows less: {before.numbers} numbers or files are committed, and {run.numbers} were run"


def report_experiment(results_dir: Path, name: str, paper: Paper) -> Path:
    """Write the page of one finished experiment, unless it is current; the reports stay as they are."""
    from lpbench.reporting.pages.site import alone  # takes a second

    content, page = Report(results_dir, (name,)), results_dir / alone(name)
    write = partial(content.page, paper)
    _make([content.derivation(page.stem, write, content.read_by_pages(), _SITE, PICTURES)])
    return page


#: Modules behind the pages.
_SITE = ("lpbench.reporting.pages.site", "lpbench.reporting.report")


@dataclass(frozen=True)
class Report:
    """Artifacts of a results folder as a report shows them, and the derivations that the report consists of.

    A ``study`` has the title of a report on these experiments and nothing else; it lies in the folder of its ``paper``,
    if that is a user's.
    """

    folder: Path
    names: tuple[str, ...]
    study: str = ""
    paper: str = ""

    @property
    def target(self) -> Path:
        """Folder of the report, within the results folder."""
        return self.folder / self.paper

    @cached_property
    def artifacts(self) -> list[Artifact]:
        """Artifacts of the report's experiments."""
        return [*map(Results(self.folder).artifact, self.names)]

    @cached_property
    def cards(self) -> dict[str, Method]:
        """Methods of the report by name."""
        return _cards(self.artifacts)

    @property
    def _alternatives(self) -> list[Artifact]:
        """Return the artifacts of alternatives (such as mutants), which no page shows; a user's folder has none."""
        kinds = {} if self.paper else catalog.heads("experiment", ("kind",))
        names = (n for n, head in kinds.items() if head["kind"] == ALTERNATIVES and n not in self.names)
        return [*map(Results(self.folder).artifact, names)]

    @property
    def shown(self) -> list[str]:
        """Names of the report's experiments that have results."""
        return [a.name for a in self.artifacts if a.is_finished or a.was_run]

    def write(self) -> Report:
        """Write all parts of the report that are not current, and return the report."""
        self.target.mkdir(parents=True, exist_ok=True)
        _write_times([*self.artifacts, *self._alternatives], self.target / "timing.csv")
        workers = 1 if self.study else None  # to start some takes longer than the tables of a small run
        _make(self.tables(), workers)
        _make([self.laid_out()])
        return self

    def derivation(
        self,
        name: str,
        write: Callable[[], list[Path]],
        inputs: Mapping[str, Any],
        code: tuple[str, ...],
        libraries: tuple[str, ...] = TABLES,
    ) -> Derivation:
        """Return a file of the report as a derivation of its inputs, code and libraries."""
        packages = dict.fromkeys(package for n in self.names for package in sources(n)[1:])
        return Derivation(name, inputs, (*code, *packages), libraries, record_in(self.target, name), write)

    def tables(self) -> list[Derivation]:
        """Return the derivations of the report's tables: verdicts, numbers and standings."""
        read = {name for paper in papers() for name in paper.rests_on}
        scores = {artifact.name: artifact.content for artifact in self.artifacts}
        judged = {
            name: [scores[name], printed(name, paper)]
            for name in self.names
            if (paper := paper_of(name)).claims or paper.published or name in read
        }
        # the words of a rule are docstrings, which are no part of the code's hash
        rules = [check.rule for paper in papers() for claim in paper.claims for check in claim.checks]
        rivals = {n: Results(self.folder).artifact(n).content for paper in papers() for n in paper.rivals}
        runs = {a.name: [a.experiment.settings, a.seed, a.commit] for a in self.artifacts}
        costs = [{name: card.privacy for name, card in self.cards.items()}, fit_seconds(), folder_hash(SUBMITTED)]
        compared = "lpbench.reporting.number_table", "lpbench.reporting.comparison"
        standings = "lpbench.reporting.standings", "lpbench.estimators"  # of which the bits of a report are counted
        return [
            self.derivation(
                "verdicts", self.verdicts, {"scores": judged, "rules": rules}, ("lpbench.reporting.report",)
            ),
            self.derivation("numbers", self.numbers, {"scores": judged, "rivals": rivals}, compared),
            self.derivation("standings", self.standings, {"scores": scores, "runs": runs, "costs": costs}, standings),
        ]

    def laid_out(self) -> Derivation:
        """Return the derivation of the pages from the written tables."""
        tables = {"tables": folder_hash(self.target, "*.csv", "*.csv.gz", "*.json", "bench*.svg")}
        return self.derivation("pages", self.pages, tables | self.read_by_pages(), _SITE, PICTURES)

    def read_by_pages(self) -> dict[str, Any]:
        """Return all inputs of the pages besides the tables: settings, titles, templates."""
        files = "*.csv", "*.svg", "*.tex", "*.md"
        return {
            "artifacts": {
                a.name: hash_of([a.content, a.record, folder_hash(a.folder, *files)]) for a in self.artifacts
            },
            "experiments": {a.name: hash_of(asdict(a.experiment)) for a in self.artifacts},
            "methods": {name: hash_of(asdict(card)) for name, card in self.cards.items()},
            "environment": environment(),
            "statistics": [*map(meaning, STATISTICS)],
            "folders": [folder_hash(MANIFESTS, "*.yaml"), *map(folder_hash, (PUBLISHED, TEMPLATES, SUBMITTED, CONF))],
        }

    @_QUICK_TEXTS
    def verdicts(self) -> list[Path]:
        """Decide the claims (of a study those about its experiments) and write ``verdicts.csv``; return the files."""
        from lpbench.reporting.report import write_claims

        return write_claims(self.folder, self.target, self.names if self.study else None)

    @_QUICK_TEXTS
    def numbers(self) -> list[Path]:
        """Write ``numbers.csv``, published numbers beside ours; return the files."""
        from lpbench.reporting.number_table import write_numbers

        return write_numbers(papers(), Results(self.folder), self.target, self.names if self.study else None)

    @_QUICK_TEXTS
    def standings(self) -> list[Path]:
        """Write ``standings.csv.gz``, losses of methods at equal inputs; return the files."""
        from lpbench.reporting.report import in_order
        from lpbench.reporting.standings import write_standings

        submitted = () if self.study else submissions()
        return [write_standings(sorted(self.artifacts, key=in_order), self.cards, self.target, submitted)]

    @_QUICK_TEXTS
    def pages(self) -> list[Path]:
        """Write ``report.md`` and the pages."""
        from lpbench.reporting.pages.site import write_pages
        from lpbench.reporting.report import write_report

        missing = sorted(missing_data(a.record for a in self.artifacts if a.is_finished).items())
        about = self.folder, [a.experiment for a in self.artifacts], missing, environment(), self.target
        report = write_report(*about, alone=bool(self.study), within=self.paper)
        return [report, *write_pages(*about, self.cards, study=self.study, within=self.paper)]

    def page(self, paper: Paper) -> list[Path]:
        """Write the page of the only experiment."""
        from lpbench.reporting.pages.site import write_experiment_page

        (artifact,) = self.artifacts
        return [write_experiment_page(self.folder, artifact.experiment, paper, environment(), self.cards)]


def _make(derivations: Sequence[Derivation], workers: int | None = None) -> None:
    for derivation, _, problem in make_all(derivations, workers):
        if problem:
            raise StoreError(f"{derivation.name}: {problem}")


def drawn_from_scores(artifact: Artifact) -> Derivation:
    """Return the derivation (inputs and writer) of a committed report's tables and figures from committed scores."""
    record, name = artifact.record, artifact.name
    inputs = drawn_from(
        artifact.experiment, artifact.seed, registered_methods(artifact.experiment.methods), paper_of(name)
    )
    inputs |= {"scores": digest(artifact.results, name), "rule": record["rule"]}
    write = partial(_draw, artifact.results, name)
    return Derivation(name, inputs, sources(name), PICTURES, record_in(artifact.folder, "artifact"), write)


@_QUICK_TEXTS
def _draw(folder: Path, name: str) -> list[Path]:
    """Summarize an experiment's committed scores, and write the tables and figures that pages show."""
    from lpbench.reporting.artifact import OPTIMISM, render_artifact  # takes a second

    artifact, summary = Artifact(folder / name, name), committed_summary(folder, name)
    if summary is None:
        return []
    artifact.folder.mkdir(parents=True, exist_ok=True)
    cards = _cards([artifact])
    render_artifact(artifact.experiment, paper_of(name), summary, cards, artifact.folder, artifact.seed, paged=True)
    return [p for p in artifact.folder.iterdir() if p.is_file() and p.name != OPTIMISM and not is_measured(p)]


def _write_times(artifacts: Sequence[Artifact], path: Path) -> None:
    """Write seconds by artifact to the CSV ``path``; earlier lines stay for artifacts whose record is gone."""
    times = timing_table(a.record for a in artifacts if a.is_finished)
    if path.is_file():
        before, unfinished = pd.read_csv(path), {a.name for a in artifacts if not a.is_finished}
        times = pd.concat([before[before["artifact"].isin(unfinished)], times])[times.columns]
    write_text(times.to_csv(index=False, lineterminator="\n"), path)


def _cards(artifacts: Sequence[Artifact]) -> dict[str, Method]:
    return by_name(registered_methods(dict.fromkeys(m for a in artifacts for m in a.experiment.methods)))


def _copy(artifact: Artifact, destination: Path, *, measured: bool = True) -> None:
    """Copy an artifact without its scores and its record; files that hold seconds stay where ``measured`` is False."""
    files = artifact.record.get("files", {})
    for old in destination.glob("*"):
        if old.is_file() and old.name not in files:
            old.unlink()
    for name in files:
        if not name.endswith((".parquet", ".png", RECORD)):
            # Results may be somebody else's: their record names files of their own folder alone.
            source, copied = inside(artifact.folder, name, RECORD), inside(destination, name, RECORD)
            if not source.is_file():
                raise NotRunError(f"{source} is not there, although {RECORD} lists it; run {artifact.name} again")
            if not measured and copied.is_file() and is_measured(copied):
                continue
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copied)
