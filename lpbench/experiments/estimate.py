"""How long a run will take: its blocks by their known cost, corrected for the machine, and the writing of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lpbench.datasets import describe
from lpbench.errors import LpbenchError
from lpbench.experiments.costs import Size, hidden_units
from lpbench.experiments.job import Job
from lpbench.experiments.method import import_object
from lpbench.experiments.parts import containing
from lpbench.experiments.plan import Plan
from lpbench.experiments.store import Store

#: Stored blocks from which the machine's speed is read.
_READ = 500
#: Seconds by which the listed costs outweigh what the store holds of an estimator.
_TRUST = 1.0
#: Kind of an artefact -> seconds to write one, for each of its cells and for each million of its scores, as they were
#: recorded in a full run on two cores with two writers (tests/experiments/recorded_writing.csv).
_WRITING = {
    "single": (0.3, 0.0, 1.1),
    "drawing": (0.7, 0.0, 1.1),
    "timing": (0.6, 0.0, 1.1),
    "figure": (1.3, 0.015, 1.1),
    "table": (3.5, 0.032, 1.1),
}


@dataclass
class Costs:
    """Seconds of blocks on this machine.

    Attributes
    ----------
    known : dict of str to (float, float)
        Estimator -> seconds that its stored blocks took, and those that the list gives for them.
    """

    known: dict[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store) -> Costs:
        """Read what the blocks of a store took."""
        return cls.measured(filter(None, (_stored(store, key) for key in sorted(store.keys())[:_READ])))

    @classmethod
    def measured(cls, blocks: Iterable[tuple[Size, float]]) -> Costs:
        """Costs from blocks and the seconds that they took."""
        found = cls()
        for size, seconds in blocks:
            took, listed = found.known.get(size.estimator, (0.0, 0.0))
            found.known[size.estimator] = took + seconds, listed + size.seconds
        return found

    def seconds(self, size: Size) -> float:
        """Seconds of a block in one worker."""
        took, listed = self.known.get(size.estimator, (0.0, 0.0))
        whole = [sum(column) for column in zip(*self.known.values(), strict=True)] or [0.0, 0.0]
        machine = (whole[0] + _TRUST) / (whole[1] + _TRUST)
        return size.seconds * (took + machine * _TRUST) / (listed + _TRUST)


def _stored(store: Store, key: str) -> tuple[Size, float] | None:
    try:
        metadata, rows = store.footer(key)
        if "part_of" in metadata:
            return None
        config, seconds = metadata["config"], metadata["seconds"]
        facts = describe(config["dataset"], config["dataset_params"])
        estimator = import_object(config["estimator"])
    except (LpbenchError, OSError, ValueError, KeyError):
        return None
    replications = config["replications"]
    numbers = replications * (facts.n_train or 0) * facts.n_features
    units = hidden_units(config["params"], config["grid"], facts.n_features) * len(config["budgets"])
    size = Size(estimator.__name__, replications, numbers, rows, numbers * units, estimator.costs)
    return size, float(seconds)


def writing_seconds(job: Job) -> float:
    """Seconds to write the artefact of a job."""
    cells = sum(len(e.epsilons) for e in job.plan.entries if e.block)
    scores = sum(len(e.epsilons) * e.block.n_points * e.block.replications for e in job.plan.entries if e.block)
    return seconds_to_write(job.experiment.kind, cells, scores)


def seconds_to_write(kind: str, cells: int, scores: int) -> float:
    """Seconds to summarise, draw and write an artefact.

    Parameters
    ----------
    kind : {"table", "figure", "drawing", "timing", "single"}
    cells, scores : int
        Of its plan; a cell is a data set, mask, method and budget, with a score for each grid point and replication.
    """
    artefact, cell, million_scores = _WRITING[kind]
    return artefact + cell * cells + million_scores * scores / 1e6


@dataclass(frozen=True)
class Estimate:
    """Cost of a run that is not started.

    Attributes
    ----------
    blocks, to_do, fits : int
        Blocks of the plan; those that the store does not hold, and their fits.
    computing, writing : float
        Seconds on the clock.
    """

    blocks: int
    to_do: int
    fits: int
    computing: float
    writing: float

    def __str__(self) -> str:
        seconds = max(self.computing + self.writing, 1)
        return (
            f"{self.blocks} blocks, {self.to_do} to do: {self.fits} fits, about {seconds:.0f} s "
            f"({self.writing:.0f} s of them to write results)"
        )


def estimate(jobs: Sequence[Job], store: Store, workers: int, *, with_missing: bool = False) -> Estimate:
    """Estimate what jobs cost with a number of workers, at will as if no data were missing."""
    plan = sum((job.plan for job in jobs), Plan(()))
    blocks = plan.wanted if with_missing else plan.blocks
    todo, costs = [b for b in blocks if not store.has(b.key)], Costs.of(store)
    parts = containing(blocks)
    seconds = [costs.seconds(b.size) for b in todo if b.key not in parts]
    computing = max(sum(seconds) / workers, max(seconds, default=0.0))
    writing = sum(map(writing_seconds, jobs)) / min(workers, len(jobs)) if todo else 0.0
    return Estimate(len(blocks), len(todo), sum(b.fits for b in todo), computing, writing)
