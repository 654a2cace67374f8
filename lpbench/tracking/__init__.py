"""MLflow runs of what a results folder holds; all of them can be made again from the folder.

One MLflow experiment a paper (``quick/...`` for runs that are not as registered, ``single`` for single cells and
sweeps), of the kind that opens as model training. In it a run of the paper, below it one an artifact and one a claim,
below an artifact one for each data set x mask x method x ε (and panel). Logging is idempotent: a run has the hash of
what it logs, and is replaced only when that changes, never by another configuration's. Workers log nothing; one process
at a time logs into a file what is complete; whatever fails is a :class:`~lpbench.errors.TrackingError`.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lpbench.derivation import Derivation
from lpbench.digest import file_hash, hash_of
from lpbench.disk import write_text
from lpbench.experiments.progress import Progress
from lpbench.experiments.results import Artifact
from lpbench.reporting.number_table import printed_numbers
from lpbench.tracking.artifacts import COUNTED_NUMBERS as COUNTED_NUMBERS
from lpbench.tracking.artifacts import ArtifactRuns, artifact_name
from lpbench.tracking.run import CELL, CLAIM, ENDED, Run
from lpbench.tracking.store import QUICK_TAG, SINGLE, experiment_of, has_file, opened, search, tracking_uri
from lpbench.tracking.store import experiment_pages as experiment_pages

if TYPE_CHECKING:
    from lpbench.tracking.papers import PaperRuns

#: Seconds that a run is expected to take.
_SECONDS = 0.04
#: Beside the folder's own store: the contents that it has.
_LOGGED = ".mlflow.json"
_PARENT = "mlflow.parentRunId"


@dataclass(eq=False)
class _Entry:
    """An artifact's or paper's run that the store should have, with the runs below it.

    ``digest`` is the hash of its content, ``place`` its position among the artifacts, ``above`` the paper's entry, and
    ``run_id`` the run in the store.
    """

    experiment: str
    name: str  # what the run stands for
    folder: Path
    digest: str
    place: int  # in the list of runs
    record: Mapping = field(default_factory=dict)  # of an artifact
    above: "_Entry | None" = None
    paper: "PaperRuns | None" = None
    #: Id of its run in the store; empty until it is logged, or found to be current.
    run_id: str = ""
    is_new: bool = False
    runs: "ArtifactRuns | PaperRuns | None" = None  # of what is to be logged


def content_of(folder: Path, record: Mapping) -> str:
    """Return the key of an artifact's runs: a hash of configuration, tables (else pictures) and printed numbers."""
    files = sorted(folder.glob("*.csv")) or sorted(folder.glob("*.svg"))
    artifact = Artifact(folder, record["name"])
    inputs = {
        "config": record["config"],
        "files": {path.name: file_hash(path) for path in files},
        "content": artifact.content,
        # of cells of the command line nothing is printed, and papers take a second to load
        "print": "" if artifact.name == SINGLE else hash_of(printed_numbers(artifact).to_csv(index=False)),
    }
    return _digest(inputs)


def _digest(inputs: Mapping) -> str:
    return Derivation("MLflow runs", inputs, (__name__,), ("mlflow",)).key


def _entries(records: Iterable[tuple[Path, Mapping]]) -> list[_Entry]:
    """Entries of papers, then of artifacts, from (folder, record) pairs; single cells have no paper.

    Entries of cells load nothing of what claims need.
    """
    papers: dict[tuple[Path, str], _Entry] = {}
    artifacts = []
    for place, (folder, record) in enumerate(records):
        name, above = str(record["name"]), None
        paper, at = name.partition("/")[0], str(record.get("folder", ""))
        experiment = paper if paper == SINGLE or not at else f"{QUICK_TAG}/{paper}"
        if experiment != SINGLE and "group" not in record:
            from lpbench.tracking.papers import PaperRuns

            key = Artifact(folder, name).results, at.removesuffix(name).rstrip("/")
            key = key[0] / paper, key[1]
            if key not in papers:
                runs = PaperRuns(paper, key[0].parent, key[1])
                papers[key] = _Entry(experiment, runs.name, key[0], _digest({"": runs.digest}), -1, paper=runs)
            above = papers[key]
        content = content_of(folder, record)
        artifacts.append(_Entry(experiment, artifact_name(record), folder, content, place, record, above))
    return [*papers.values(), *artifacts]


def rebuild(uri: str, results_dir: Path, records: Iterable[tuple[Path, Mapping]]) -> int:
    """Log finished artifacts, folder and content of ``run.json`` each; returns the number of runs written.

    The store is asked once per experiment what it has. Files go to ``mlartifacts`` of the results folder where the
    store is a local file.
    """
    entries = _entries(records)
    is_local, note = uri == tracking_uri(None, results_dir), results_dir.resolve() / _LOGGED
    wanted = {f"{entry.folder.resolve()}|{entry.name}": entry.digest for entry in entries}
    before = _noted(note) if is_local and has_file(uri) else {}
    if wanted.items() <= before.items():  # MLflow alone takes two seconds to start
        return 0
    with opened(uri) as client:
        experiments = []
        for name in dict.fromkeys(entry.experiment for entry in entries):
            of_experiment = [entry for entry in entries if entry.experiment == name]
            experiments.append(_Experiment(client, experiment_of(client, uri, name, results_dir), of_experiment))
        written = sum(map(len, experiments))
        with Progress(written > 1) as bar:
            bar.stage(f"logging {written:,} runs to MLflow")
            bar.expect(written * _SECONDS)
            for experiment in experiments:
                experiment.log(lambda: bar.advance(_SECONDS))
    if is_local:
        write_text(json.dumps(before | wanted, indent=1, sort_keys=True) + "\n", note)
    return written


def _noted(path: Path) -> dict[str, str]:
    """Content keys that earlier calls recorded in the file ``path``, by artifact folder; empty without any."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class _Experiment:
    """One MLflow experiment: what it has, and what is to be logged in it; outdated runs are deleted at once."""

    def __init__(self, client, experiment, entries: Sequence[_Entry]):
        self.client, self.id, self.entries = client, experiment.experiment_id, entries
        # MLflow shows the newest 100 runs first: parents are of now, in their order, children older than any parent
        self.made = experiment.creation_time or int(time.time() * 1000)
        self.now = max(int(time.time() * 1000), self.made)
        logged = self._known([entry.name for entry in entries])
        for entry in entries:
            same = (None, entry.record.get("config_hash"))
            runs = [r for r in logged.get(entry.name, ()) if r.data.tags.get("lpbench.config_hash") in same]
            entry.run_id = self._current(runs, entry.digest)
            if not entry.run_id:
                entry.runs = entry.paper or ArtifactRuns(entry.folder, entry.record)

    def __len__(self) -> int:
        return sum(1 + entry.runs.count for entry in self.entries if entry.runs)

    def _known(self, names: Sequence[str]) -> dict[str, list]:
        """Find the experiment's runs with a content key by one search, grouped by the artifact that they stand for.

        ``names`` are the artifacts; of one the store is asked for it alone.
        """
        query, first = "tags.`lpbench.content` != ''", names[0]
        if len(names) == 1:
            quote = '"' if "'" in first else "'"
            query = f"tags.`lpbench.artifact` = {quote}{first}{quote}"
        found: dict[str, list] = {}
        for run in search(self.client, self.id, query):
            found.setdefault(run.data.tags.get("lpbench.artifact", ""), []).append(run)
        return found

    def _current(self, runs: Iterable, digest: str) -> str:
        """Id of the complete run with a content, if there is one; others are deleted with their cells and claims."""
        parents = [r for r in runs if "lpbench.content" in r.data.tags]
        complete = [r for r in parents if r.data.tags["lpbench.content"] == digest and r.info.status in ENDED][:1]
        for parent in parents:
            if parent not in complete:
                below = search(self.client, self.id, f"tags.`{_PARENT}` = '{parent.info.run_id}'")
                ends = [run for run in below if run.data.tags.get("lpbench.kind") in (CELL, CLAIM)]
                for run in [*ends, parent]:  # the parent last: without it nobody finds them
                    self.client.delete_run(run.info.run_id)
        return complete[0].info.run_id if complete else ""

    def log(self, advance: Callable[[], None]) -> None:
        """Log what is not there; each run is ended as it is written, parents behind their cells and claims."""
        for entry in self.entries:
            above = entry.above
            if entry.runs:
                self._log(entry, entry.runs, above.run_id if above else "", advance)
            elif above and above.is_new:
                self.client.set_tag(entry.run_id, _PARENT, above.run_id)

    def _log(self, entry: _Entry, runs: "ArtifactRuns | PaperRuns", above: str, advance: Callable) -> None:
        """Log a run of an artifact or a paper, and those below it, claims as newer than cells.

        ``above`` is the id of the paper's run or empty; ``advance`` moves the progress bar.
        """
        run, written = runs.parent, runs.written
        run.tags = {**run.tags, "lpbench.content": entry.digest}
        start, span = self.now - 1 - entry.place, int(run.seconds * 1000)
        start = int(min(written, start)) - span if runs.alone else start
        entry.run_id, entry.is_new = run.log(self.client, self.id, start, above), True
        last = self.made - 1 if entry.paper else min(written, self.made - 1000)
        for k, one in enumerate(runs.below()):
            end = int(last) - k
            self._end(one, one.log(self.client, self.id, end - int(one.seconds * 1000), entry.run_id), end, advance)
        self._end(run, entry.run_id, start + span, advance)

    def _end(self, run: Run, run_id: str, end: int, advance: Callable[[], None]) -> None:
        self.client.set_terminated(run_id, ENDED[bool(run.reason)], end_time=end)
        advance()
