"""The reader of a results folder: what every artifact was run with, its numbers, and the scores behind them.

A finished artifact is a folder ``<results>/<experiment>`` with ``run.json``, ``summary.csv`` and ``comparison.csv``
(of a timing experiment ``seconds.csv`` and ``seconds_comparison.csv``);
where it was computed on this machine, also ``scores.parquet`` and the summary at full precision, which spares reports
the reading of millions of scores. Where it was not, the folder's committed scores stand in
(:mod:`lpbench.experiments.committed`)::

    results = Results(Path("results/reproduced"))
    results.artifact("histoftree/table1").chosen  # experiment, panel, dataset, mask, method, epsilon, x, metric,
                                                  # selection, params, replication, value
    results.artifact("histoftree/table1").full    # the summary at full precision, with the same scores
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.analysis import Summary, as_text, from_text, read_csv
from lpbench.analysis.summary import NO_COSTS
from lpbench.digest import file_hash, hash_of
from lpbench.errors import NotRunError
from lpbench.experiments import catalog, committed
from lpbench.experiments.experiment import Experiment, labeled
from lpbench.experiments.summaries import CHOSEN_FILE, ROW, SUMMARY_FILE, read_chosen, read_parquet, read_summary
from lpbench.experiments.timing import COMPARED_SECONDS, SECONDS_FILE
from lpbench.paths import RUNS

#: The record of a run, written last: an artifact without it is not finished.
RECORD = "run.json"


class Results:
    """A results folder: ``<experiment>/`` of every artifact, and ``single/`` with single cells."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self._artifacts: dict[str, Artifact] = {}

    def artifact(self, name: str) -> Artifact:
        """The artifact of an experiment, run or not; its files are read once, on first use."""
        if name not in self._artifacts:
            self._artifacts[name] = Artifact(self.folder / name, name)
        return self._artifacts[name]

    def finished(self) -> list[Artifact]:
        """Artifacts of the registered experiments that were run, in the order of the catalog."""
        return [a for a in map(self.artifact, catalog.experiment_names()) if a.is_finished]

    def cells(self) -> Iterator[Artifact]:
        """Yield the artifacts of single cells run from the command line, by path."""
        for path in sorted((self.folder / "single").rglob(RECORD)):
            yield Artifact(path.parent, "single")

    def runs(self) -> list[Results]:
        """Results folders of the runs that deviate from the registered experiments."""
        return [Results(path) for path in sorted((self.folder / RUNS).glob("*")) if path.is_dir()]


class Artifact:
    """One experiment and what its folder holds; files are read on first use."""

    def __init__(self, folder: Path, name: str):
        self.folder, self.name = Path(folder), name
        #: The last part of the name, with which the names of tables and figures begin.
        self.leaf = name.rpartition("/")[2]
        #: The results folder.
        self.results = self.folder.parents[name.count("/")]

    @property
    def is_finished(self) -> bool:
        """Return True if a run wrote the artifact completely, or its scores are committed."""
        return self.was_computed or bool(self.record)

    @property
    def was_computed(self) -> bool:
        """Return True if a run wrote the artifact completely: the record is written last."""
        return (self.folder / RECORD).is_file()

    @cached_property
    def record(self) -> dict[str, Any]:
        """Content of ``run.json``, or what is committed of it: configuration, environment, times; empty without."""
        path = self.folder / RECORD
        if not path.is_file():
            return committed.record(self.results, self.name)
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise NotRunError(f"{path} is damaged ({error}); run {self.name} again") from error
        if not isinstance(content, dict) or not isinstance(content.get("files", {}), dict):
            raise NotRunError(f"{path} is no record of a run; run {self.name} again")
        return content

    @property
    def seed(self) -> int:
        """Root seed of the run; 0 without one."""
        return int(self.record.get("config", {}).get("seed", 0))

    @property
    def commit(self) -> str:
        """Commit that was run, with ``+changes`` if files of the checkout differed from it; empty without a run."""
        return str(self.record.get("environment", {}).get("commit", ""))

    @property
    def deviations(self) -> list[str]:
        """Return the settings that were run otherwise than registered, one ``key: registered → run`` each."""
        return list(self.record.get("deviations", []))

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment as it was run, else as it is registered; deviations stand in its title and first note."""
        run = self.record.get("config", {}).get("experiment")
        if run is None or not self.was_computed:
            return catalog.experiment(self.name)
        return labeled(Experiment.from_record(run), self.deviations)

    @cached_property
    def files(self) -> list[str]:
        """Return the names of the artifact's tables and figures, sorted."""
        return sorted(p.name for p in self.folder.glob("*") if p.suffix in {".svg", ".md", ".tex", ".csv"})

    @property
    def summary_file(self) -> Path:
        """``summary.csv``, or ``seconds.csv`` of an experiment that measures."""
        return self.folder / (SECONDS_FILE if (self.folder / SECONDS_FILE).is_file() else "summary.csv")

    @cached_property
    def summary(self) -> pd.DataFrame | None:
        """The summary with seven significant digits, from its file or the committed scores; None without a run."""
        if self.summary_file.is_file() or self.full is None:
            table = self._csv(self.summary_file)
            # an earlier version wrote nothing of what scores cost
            return table if table is None or "audit" in table else table.assign(**NO_COSTS)
        return from_text(as_text(self.full.table))

    @cached_property
    def comparison(self) -> pd.DataFrame | None:
        """Published cells beside ours; None without a run."""
        measured = self.folder / COMPARED_SECONDS
        return self._csv(measured if measured.is_file() else self.folder / "comparison.csv")

    def _csv(self, path: Path) -> pd.DataFrame | None:
        return read_csv(path) if path.is_file() else None

    def rows(self, selection: str = "oracle") -> pd.DataFrame:
        """Rows of the summary for one selection; NotRunError if no cell has a number."""
        if self.summary is None:
            raise NotRunError(f"{self.name} was not run")
        if not self.summary["mean"].notna().any():
            raise NotRunError(f"{self.name} has no result")
        return self.summary[self.summary["selection"] == selection]

    @property
    def was_run(self) -> bool:
        """Return True if the folder holds any number, or the files of a drawing."""
        return self.numbers > 0

    @cached_property
    def numbers(self) -> int:
        """Return the number of rows of the summary with a mean, or of files of a drawing."""
        return len(self.files) if self.summary is None else int(self.summary["mean"].notna().sum())

    @cached_property
    def content(self) -> str:
        """Hash of the numbers that the artifact shows, and of what deviates."""
        files = [self.folder / CHOSEN_FILE, self.folder / SUMMARY_FILE, self.summary_file]
        hashes = [file_hash(path) for path in files if path.is_file()]
        return hash_of([self.deviations, committed.digest(self.results, self.name), hashes])

    @property
    def has_scores(self) -> bool:
        """Return True if the scores of every grid point and replication are in the folder."""
        return (self.folder / "scores.parquet").is_file()

    def scores(self, **options: Any) -> pd.DataFrame:
        """Scores of every point and replication by :func:`pandas.read_parquet`; NotRunError where there are none."""
        if not self.has_scores:
            raise NotRunError(f"{self.name}: scores.parquet is not there, and scores by replication are needed")
        return read_parquet(self.folder / "scores.parquet", **options)

    @cached_property
    def full(self) -> Summary | None:
        """The summary at full precision with the chosen replications; None where it was not kept."""
        stored = read_summary(self.folder)
        return committed.summary(self.results, self.name) if stored is None else stored

    @property
    def shown(self) -> Summary | None:
        """The summary at full precision, else ``summary.csv``: no replications, no reasons, no marks after Holm."""
        if self.full is not None or self.summary is None:
            return self.full
        empty = pd.DataFrame(columns=[*ROW, "replication", "value", "reason"])
        return Summary(self.summary, empty, empty, pd.Series(False, index=self.summary.index))

    @cached_property
    def chosen(self) -> pd.DataFrame | None:
        """Scores of the chosen grid points, one row per replication; None where they were not kept.

        Columns experiment, panel, dataset, mask, method, epsilon, x, metric, selection, params, replication, value.
        """
        stored = read_chosen(self.folder)
        return self.full.chosen if stored is None and self.full else stored

    def reasons(self) -> pd.DataFrame:
        """Cells without a number: columns dataset, method, status, reason."""
        columns = ["dataset", "method", "status", "reason"]
        if not self.has_scores:
            committed_reasons = committed.reasons(self.results, self.name)
            return pd.DataFrame(columns=columns) if committed_reasons is None else committed_reasons
        rows = self.scores(columns=columns, filters=[("replication", "<", 0)])
        return rows.astype(str).drop_duplicates()
