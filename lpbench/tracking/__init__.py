"""MLflow runs of what a results folder holds; all of them can be made again from the folder.

One MLflow experiment a paper (``quick/...`` for runs that are not as registered, ``single`` for single cells and
sweeps), of the kind that opens as model training. In it a run of the paper, below it one an artifact and one a claim,
below an artifact one for each data set x mask x method x ε (and panel). Logging is idempotent: a run has the hash of
what it logs, and is replaced only when that changes, never by another configuration's. Workers log nothing; one process
at a time logs into a file what is complete; whatever fails is a :class:`~lpbench.errors.TrackingError`.
"""

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpbench.derivation import Derivation
from lpbench.digest import file_hash, hash_of
from lpbench.experiments.progress import Progress
from lpbench.experiments.results import Artifact
from lpbench.files import write_text
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
#: Name of a paper, its results folder, and where that is in the whole one; None for single cells.
_PaperKey = tuple[str, Path, str] | None


@dataclass(frozen=True, eq=False)
class _Content:
    """An artifact that is to be in the store."""

    folder: Path
    record: Mapping
    place: int

    @property
    def experiment(self) -> str:
        """Name of the MLflow experiment."""
        name = str(self.record["name"]).partition("/")[0]
        return name if name == SINGLE or "folder" not in self.record else f"{QUICK_TAG}/{name}"

    @property
    def paper(self) -> _PaperKey:
        """Key of the paper's run, below which the artifact's is."""
        name = str(self.record["name"])
        if self.experiment == SINGLE or "group" in self.record:
            return None
        within = str(self.record.get("folder", "")).removesuffix(name).rstrip("/")
        return name.partition("/")[0], Artifact(self.folder, name).results, within


def content_of(folder: Path, record: Mapping) -> str:
    """Key of runs, which follow from the configuration, the tables or, without scores, the pictures, and the print."""
    files = sorted(folder.glob("*.csv")) or sorted(folder.glob("*.svg"))
    artifact = Artifact(folder, record["name"])
    inputs = {
        "config": record["config"],
        "files": {path.name: file_hash(path) for path in files},
        "content": artifact.content,
        # of cells of the command line nothing is printed, and papers take a second to load
        "print": "" if artifact.name == SINGLE else hash_of(printed_numbers(artifact).to_csv(index=False)),
    }
    return Derivation("MLflow runs", inputs, (__name__,), ("mlflow",)).key


def _papers(keys: Collection[tuple[str, Path, str]]) -> dict[tuple[str, Path, str], "PaperRuns"]:
    """Describe the runs of papers; single cells have none, and load nothing of what claims are computed by."""
    if not keys:
        return {}
    from lpbench.tracking.papers import PaperRuns

    return {key: PaperRuns(*key) for key in keys}


def rebuild(uri: str, results_dir: Path, records: Iterable[tuple[Path, Mapping]]) -> int:
    """Log finished artifacts, folder and content of ``run.json`` each; returns the number of runs written.

    The store is asked once per experiment what it has. Files go to ``mlartifacts`` of the results folder where the
    store is a local file.
    """
    contents = {_Content(*pair, k): content_of(*pair) for k, pair in enumerate(records)}
    papers = _papers(dict.fromkeys(key for content in contents if (key := content.paper)))
    digests = {key: Derivation("", {"": paper.digest}, (__name__,), ("mlflow",)).key for key, paper in papers.items()}
    is_local, note = uri == tracking_uri(None, results_dir), results_dir.resolve() / _LOGGED
    wanted = {f"{c.folder.resolve()}|{artifact_name(c.record)}": digest for c, digest in contents.items()}
    wanted |= {f"{results.resolve()}|paper {name}": digests[name, results, at] for name, results, at in papers}
    before = _noted(note) if is_local and has_file(uri) else {}
    if wanted.items() <= before.items():  # MLflow alone takes two seconds to start
        return 0
    with opened(uri) as client:
        names = dict.fromkeys(content.experiment for content in contents)
        experiments = {name: _Experiment(client, experiment_of(client, uri, name, results_dir)) for name in names}
        for name, experiment in experiments.items():
            of_experiment = {c: digest for c, digest in contents.items() if c.experiment == name}
            experiment.plan(of_experiment, {c.paper: papers[c.paper] for c in of_experiment if c.paper}, digests)
        written = sum(len(experiment) for experiment in experiments.values())
        with Progress(written > 1) as bar:
            bar.stage(f"logging {written:,} runs to MLflow")
            bar.expect(written * _SECONDS)
            for experiment in experiments.values():
                experiment.log(lambda: bar.advance(_SECONDS))
    if is_local:
        write_text(json.dumps(before | wanted, indent=1, sort_keys=True) + "\n", note)
    return written


def _noted(path: Path) -> dict[str, str]:
    """Contents that the folder's own store has, by folder; empty where no call has noted any."""
    try:
        noted = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


class _Experiment:
    """One MLflow experiment: what it has, and what is to be logged in it."""

    def __init__(self, client, experiment):
        self.client, self.id = client, experiment.experiment_id
        # MLflow shows the newest 100 runs first: parents are of now, in their order, children older than any parent
        self.made = experiment.creation_time or int(time.time() * 1000)
        self.now = max(int(time.time() * 1000), self.made)
        #: Each with the id of its run, if that is current, and its digest.
        self.papers: dict[_PaperKey, tuple[PaperRuns, str, str]] = {}
        self.artifacts: list[tuple[ArtifactRuns, str, _Content]] = []
        #: Current runs of artifacts, by the paper that they are below.
        self.orphans: dict[_PaperKey, list[str]] = {}

    def plan(self, contents: Mapping[_Content, str], papers: Mapping[Any, "PaperRuns"], digests: Mapping) -> None:
        """Decide what is to be logged, and delete what is outdated."""
        names = [artifact_name(c.record) for c in contents] + [paper.name for paper in papers.values()]
        logged = self._known(names)
        for key, paper in papers.items():
            self.papers[key] = paper, self._current(logged.get(paper.name, ()), digests[key]), digests[key]
        for content, digest in contents.items():
            same = (None, content.record["config_hash"])
            runs = logged.get(artifact_name(content.record), ())
            runs = [r for r in runs if r.data.tags.get("lpbench.config_hash") in same]
            if current := self._current(runs, digest):
                self.orphans.setdefault(content.paper, []).append(current)
            else:
                self.artifacts.append((ArtifactRuns(content.folder, content.record), digest, content))

    def __len__(self) -> int:
        below = sum(1 if runs.alone else 1 + len(runs.cells) for runs, _, _ in self.artifacts)
        return below + sum(1 + len(paper.decided) for paper, current, _ in self.papers.values() if not current)

    def _known(self, names: Sequence[str]) -> dict[str, list]:
        """Runs with a content by what they stand for, from one search."""
        query, first = "tags.`lpbench.content` != ''", names[0]
        if len(names) == 1:
            quote = '"' if "'" in first else "'"
            query = f"tags.`lpbench.artifact` = {quote}{first}{quote}"
        runs_of: dict[str, list] = {}
        for run in search(self.client, self.id, query):
            runs_of.setdefault(run.data.tags.get("lpbench.artifact", ""), []).append(run)
        return runs_of

    def _current(self, runs: Iterable, digest: str) -> str:
        """Id of the complete run with a content, if there is one; others are deleted with their cells and claims."""
        parents = [r for r in runs if "lpbench.content" in r.data.tags]
        complete = [r for r in parents if r.data.tags.get("lpbench.content") == digest and r.info.status in ENDED][:1]
        for parent in parents:
            if parent not in complete:
                below = search(self.client, self.id, f"tags.`{_PARENT}` = '{parent.info.run_id}'")
                ends = [run for run in below if run.data.tags.get("lpbench.kind") in (CELL, CLAIM)]
                for run in [*ends, parent]:  # the parent last: without it nobody finds them
                    self.client.delete_run(run.info.run_id)
        return complete[0].info.run_id if complete else ""

    def log(self, advance: Callable[[], None]) -> None:
        """Log what was planned; each run is ended as it is written, parents behind their children."""
        parents: dict[_PaperKey, str] = {None: ""}
        with_claims = []
        for key, (paper, current, digest) in self.papers.items():
            if not current:
                run = paper.run
                run.tags = {**run.tags, "lpbench.content": digest, "lpbench.artifact": paper.name}
                current = run.log(self.client, self.id, self.now)
                with_claims.append((paper, current))
                for orphan in self.orphans.get(key, ()):
                    self.client.set_tag(orphan, _PARENT, current)
            parents[key] = current
        for runs, digest, content in self.artifacts:
            self._log_artifact(runs, digest, content.place, parents[content.paper], advance)
        for paper, parent in with_claims:
            for k, claim in enumerate(paper.claims()):
                self._end(claim, claim.log(self.client, self.id, self.made - 1 - k, parent), self.made - 1 - k, advance)
            self._end(paper.run, parent, self.now, advance)

    def _log_artifact(self, runs: ArtifactRuns, digest: str, position: int, parent: str, advance: Callable) -> None:
        """Log a run of an artifact, and one for each of its cells."""
        run, start, file = runs.parent, self.now - 1 - position, runs.artifact.summary_file
        run.tags = {**run.tags, "lpbench.content": digest}
        created = start if runs.alone else self.made - 1000
        written = min(int(file.stat().st_mtime * 1000), created) if file.is_file() else created
        span = int(run.seconds * 1000)
        if runs.alone:
            return self._end(run, run.log(self.client, self.id, written - span, parent), written, advance)
        current = run.log(self.client, self.id, start, parent)
        for cell in (runs.cell(*cell) for cell in runs.cells):
            started = written - int(cell.seconds * 1000)
            self._end(cell, cell.log(self.client, self.id, started, current), written, advance)
        self._end(run, current, start + span, advance)

    def _end(self, run: Run, run_id: str, end: int, advance: Callable[[], None]) -> None:
        self.client.set_terminated(run_id, ENDED[bool(run.reason)], end_time=end)
        advance()
