"""Run blocks: resumable, in any order, on any engine, with the same bits."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from lpbench.experiments.compute import Outcome, run_block
from lpbench.experiments.config import Runner
from lpbench.experiments.engines import MapUnordered, check_backend, engine
from lpbench.experiments.experiment import WORK_LIMIT
from lpbench.experiments.limits import SECONDS_OF_WORK
from lpbench.experiments.parts import containing, part_of
from lpbench.experiments.plan import Block
from lpbench.experiments.progress import Progress
from lpbench.experiments.records import worker_count
from lpbench.experiments.store import CorruptBlockError, Store

#: Stored blocks that are read in about a second; to check more is named while it is done.
_MANY = 200


@dataclass
class RunReport:
    """What a run did."""

    outcomes: list[Outcome] = field(default_factory=list)
    reused: int = 0
    recomputed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> list[Outcome]:
        """Blocks without a result."""
        return [o for o in self.outcomes if o.status in {"failed", "timeout"}]

    @property
    def fits(self) -> int:
        """Fits that were replaced by this run's sweeps."""
        return sum(o.fits for o in self.outcomes if o.status == "ok")


def run_blocks(
    blocks: Sequence[Block],
    store: Store,
    runner: Runner | None = None,
    *,
    progress: bool = True,
    timeouts: Mapping[str, float] | None = None,
    bar: Progress | None = None,
    timed: Collection[str] = (),
) -> RunReport:
    """Run the blocks that the store does not hold yet; those that are part of another one are read from it.

    Parameters
    ----------
    blocks : sequence of Block
    store : Store
    runner : Runner, optional
        How they are executed.
    progress : bool
        Show progress with the time left and a line per block.
    timeouts : mapping of str to float, optional
        Seconds after which a block is stopped and recorded as ``timeout``, by its key (default: those of the largest
        work limit for each of its budgets). Like one that failed, it is tried again by the next run.
    bar : Progress, optional
        That of a run which does more than computing blocks; it stays open (default: one of its own).
    timed : collection of str, optional
        Keys of blocks that are there for the seconds that they take: they are computed by themselves.
    """
    runner = runner or Runner()
    check_backend(runner.backend)
    start = time.perf_counter()
    limits = {b.key: SECONDS_OF_WORK * WORK_LIMIT * len(b.budgets) for b in blocks} | dict(timeouts or {})
    report, workers = RunReport(), worker_count(runner)
    with nullcontext(bar) if bar else Progress(progress) as shown:
        stored = store.keys()
        if sum(block.key in stored for block in blocks) > _MANY:
            shown.stage("checking the stored blocks")
        pending = _ordered([block for block in blocks if not _is_done(block, store, report)], runner.order)
        report.reused = len(blocks) - len(pending)
        wholes = {key: whole for key, whole in containing(blocks).items() if key not in timed}
        parts = [block for block in pending if block.key in wholes]
        pending = [block for block in pending if block.key not in wholes]
        shown.expect(sum(b.work for b in pending) / workers)
        if pending or parts:
            with engine(runner.backend, workers, runner.address) as mapping:
                _Pending(pending, store, mapping, limits).run(report, shown, workers)
                left = [block for block in parts if not _is_read(block, wholes[block.key], store, report)]
                _Pending(left, store, mapping, limits).run(report, shown, workers)
    report.seconds = time.perf_counter() - start
    return report


def _is_done(block: Block, store: Store, report: RunReport) -> bool:
    if store.has(block.key):
        try:
            store.read(block.key)
            return True
        except CorruptBlockError as error:
            print(f"warning: {error}", file=sys.stderr)
            store.discard(block.key)
            report.recomputed.append(block.key)
    return False


def _is_read(block: Block, whole: Block, store: Store, report: RunReport) -> bool:
    """Store a block from the one that contains it, if that has a result."""
    start = time.perf_counter()
    try:
        table, metadata = store.read(whole.key)
    except (FileNotFoundError, CorruptBlockError):
        return False
    rows = part_of(table, block)
    seconds = time.perf_counter() - start
    store.write(block.key, rows, {**metadata, "config": block.config, "seconds": seconds, "part_of": whole.key})
    report.outcomes.append(Outcome(block.key, block.label, "ok", seconds, len(rows), "part of another block"))
    return True


def _ordered(blocks: list[Block], order: str) -> list[Block]:
    if order == "longest_first":
        return sorted(blocks, key=lambda b: -b.work)
    if order == "shuffle":
        return random.Random(0).sample(blocks, len(blocks))
    return blocks


class _Pending:
    """Blocks that have no result yet, and what becomes of them."""

    def __init__(self, blocks: Sequence[Block], store: Store, mapping: MapUnordered, limits: Mapping[str, float]):
        self.waiting = {b.key: b for b in blocks}
        self._total, self._store, self._mapping, self._limits = len(blocks), store, mapping, limits
        #: Keys of waiting blocks that another process is computing.
        self._busy: set[str] = set()

    def run(self, report: RunReport, bar: Progress, workers: int) -> None:
        """Compute all of them, some at once."""
        while self.waiting:
            for outcome in self._round():
                report.outcomes.append(outcome)
                bar.advance(self.waiting.pop(outcome.key).work / workers)
                bar.write(f"[{self._total - len(self.waiting)}/{self._total}] {outcome.line()}")

    def _round(self) -> Iterator[Outcome]:
        yield from self._compute([b for b in self.waiting.values() if b.key not in self._busy])
        # only a lost worker leaves blocks behind: some are stored, although nobody was left to say so,
        left = [b for b in self.waiting.values() if b.key not in self._busy]
        yield from (self._stored(b) for b in left if self._store.has(b.key))
        # and those that workers died on are tried one by one, each in a fresh worker
        left = [b for b in left if b.key in self.waiting]
        for block in [b for b in left if self._store.leases.is_abandoned(b.key)] or left[:1]:
            yield from self._compute([block])
            if block.key in self.waiting.keys() - self._busy:
                yield _lost(block, self._store)
        if self._busy == self.waiting.keys():
            yield from self._await_others()

    def _compute(self, blocks: Sequence[Block]) -> Iterator[Outcome]:
        calls = [(b, str(self._store.root), self._limits[b.key]) for b in blocks]
        for outcome in self._mapping(run_block, calls) if calls else ():
            if outcome.status == "busy":
                self._busy.add(outcome.key)
            else:
                yield outcome

    def _stored(self, block: Block) -> Outcome:
        metadata, rows = self._store.footer(block.key)
        return Outcome(block.key, block.label, "ok", metadata["seconds"], rows)

    def _await_others(self) -> Iterator[Outcome]:
        """Wait until other processes have finished some of their blocks, or have died over them."""
        freed: set[str] = set()
        while self._busy and not freed:
            time.sleep(0.2)
            freed = {key for key in self._busy if not self._store.leases.is_held(key)}
        self._busy -= freed
        for block in [self.waiting[key] for key in freed if self._store.has(key)]:
            yield Outcome(block.key, block.label, "ok", 0.0, 0, "computed by another process")


def _lost(block: Block, store: Store) -> Outcome:
    """A block that kills its worker even when it runs alone."""
    reason = "the worker process died while computing this block (out of memory?)"
    store.leases.release(block.key)
    store.write_failure(block.key, {"status": "failed", "reason": reason, "label": block.label, "traceback": ""})
    return Outcome(block.key, block.label, "failed", 0.0, 0, reason)
