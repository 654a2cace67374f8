"""Run blocks: resumable, in any order, on any engine, with the same bits; parts of other blocks are cut out of them."""

import itertools
import json
import random
import sys
import time
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lpbench.datasets.manifest import load_manifest
from lpbench.datasets.parameters import check_sealed
from lpbench.digest import canonical_json
from lpbench.experiments.compute import Outcome, run_block
from lpbench.experiments.config import Runner
from lpbench.experiments.engines import MapUnordered, check_backend, engine
from lpbench.experiments.experiment import WORK_LIMIT
from lpbench.experiments.method import import_object
from lpbench.experiments.plan import Block
from lpbench.experiments.progress import Progress
from lpbench.experiments.records import worker_count
from lpbench.experiments.store import CorruptBlockError, Store

#: What may differ between a block and one that contains it.
_SIZES = ("grid", "extra_point", "budgets", "replications")


@dataclass
class RunReport:
    """Account of a run: outcomes of computed blocks, number of reused ones, keys of damaged ones made again."""

    outcomes: list[Outcome] = field(default_factory=list)
    reused: int = 0
    recomputed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> list[Outcome]:
        """Return the outcomes without a result: failures and blocks over their time limit."""
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

    A block is stopped after its seconds in ``timeouts`` (by key; default: the usual limit for each of its budgets), and
    like one that failed it is tried again by the next run. Keys ``timed`` are of blocks that are there for the seconds
    that they take: they are computed by themselves. A ``bar`` of a longer run stays open.
    """
    runner = runner or Runner()
    check_backend(runner.backend)
    for block in blocks:
        check_sealed(load_manifest(block.dataset), block.dataset_params)
    start = time.perf_counter()
    limits = {b.key: WORK_LIMIT * len(b.budgets) for b in blocks} | dict(timeouts or {})
    report, workers = RunReport(), worker_count(runner)
    with nullcontext(bar) if bar else Progress(progress) as active:
        pending = _ordered([block for block in blocks if not _is_done(block, store, report)], runner.order)
        report.reused = len(blocks) - len(pending)
        wholes = {
            key: container for key, container in containing(blocks if pending else ()).items() if key not in timed
        }
        parts = [block for block in pending if block.key in wholes]
        pending = [block for block in pending if block.key not in wholes]
        active.expect(sum(map(_weight, pending)))
        if pending or parts:
            backend = "serial" if runner.backend == "loky" and workers == 1 else runner.backend
            with engine(backend, workers, runner.address) as mapping:
                _compute_all(pending, store, mapping, limits, report, active)
                unread = [block for block in parts if not _is_read(block, wholes[block.key], store, report)]
                _compute_all(unread, store, mapping, limits, report, active)
    report.seconds = time.perf_counter() - start
    return report


def _is_done(block: Block, store: Store, report: RunReport) -> bool:
    """Return True if a block's stored file is complete; a damaged one is reported and computed again.

    Rows are verified when they are read.
    """
    try:
        store.footer(block.key)
        return True
    except FileNotFoundError:
        return False
    except CorruptBlockError as error:
        print(f"warning: {error}", file=sys.stderr)
        report.recomputed.append(block.key)
        return False


def _is_read(block: Block, container: Block, store: Store, report: RunReport) -> bool:
    """Cut a block's rows from a larger stored block, ``container``, and store them; True if that had a result."""
    start = time.perf_counter()
    try:
        table, metadata = store.read(container.key)
    except (FileNotFoundError, CorruptBlockError):
        return False
    rows = part_of(table, block)
    seconds = time.perf_counter() - start
    metadata |= {"config": block.config, **block.derivation.stored(), "seconds": seconds, "part_of": container.key}
    store.write(block.key, rows, metadata)
    report.outcomes.append(Outcome(block.key, block.label, "ok", seconds, len(rows), "part of another block"))
    return True


def _weight(block: Block) -> float:
    """Work of a block for the progress bar: the square root of the training features it reads, as times grow."""
    return float(max(block.numbers, 1) ** 0.5)


def _ordered(blocks: list[Block], order: str) -> list[Block]:
    if order == "longest_first":
        return sorted(blocks, key=lambda block: -block.numbers)
    if order == "shuffle":
        return random.Random(0).sample(blocks, len(blocks))
    return blocks


def _compute_all(
    blocks: Sequence[Block],
    store: Store,
    mapping: MapUnordered,
    limits: Mapping[str, float],
    report: RunReport,
    bar: Progress,
) -> None:
    """Compute blocks on an engine, and add each outcome to the report and the progress bar as it arrives.

    ``mapping`` is the engine, ``limits`` the seconds allowed by block key.
    """
    by_key = {block.key: block for block in blocks}
    for outcome in _outcomes(by_key, store, mapping, limits):
        report.outcomes.append(outcome)
        bar.advance(_weight(by_key[outcome.key]))
        bar.write(f"[{len(report.outcomes)}/{len(blocks)}] {outcome.line()}")


def _outcomes(
    blocks: Mapping[str, Block], store: Store, mapping: MapUnordered, limits: Mapping[str, float]
) -> Iterator[Outcome]:
    """Outcome of every block; those that another process is computing are waited for at the end."""
    waiting, busy = dict(blocks), dict[str, Block]()
    while waiting or busy:
        wait = not waiting
        if wait:
            waiting, busy = busy, {}
        sent: list[Block] = []
        for outcome in mapping(run_block, _calls(waiting, sent, str(store.root), limits, wait)):
            block = waiting.pop(outcome.key)
            if outcome.status == "busy":
                busy[block.key] = block
            else:
                yield outcome
        # only a lost worker leaves blocks behind that were sent
        for block in sent:
            if waiting.pop(block.key, None) is not None:
                yield _lost(block, store)


def _calls(
    waiting: Mapping[str, Block], sent: list[Block], root: str, limits: Mapping[str, float], wait: bool
) -> Iterator[tuple[Block, str, float, bool]]:
    """Yield calls of :func:`run_block`, noting each block in ``sent``; a worker keeps to its data set.

    ``waiting`` are blocks by key that have no outcome yet, ``limits`` seconds by key; ``wait`` lets a worker wait for a
    block that another process computes.
    """
    queues, last = dict[str, deque[Block]](), dict[str, str]()
    for block in waiting.values():
        queues.setdefault(canonical_json([block.dataset, block.dataset_params]), deque()).append(block)
    while queues:
        # the worker that asks is the one whose outcome is known
        idle = (name for name, key in last.items() if key not in waiting)
        name = next(itertools.chain(idle, (name for name in queues if name not in last), queues))
        sent.append(block := queues[name].popleft())
        last[name] = block.key
        if not queues[name]:
            del queues[name], last[name]
        yield block, root, limits[block.key], wait


def _lost(block: Block, store: Store) -> Outcome:
    """Outcome of a block whose worker died: stored, if the file was finished, else failed."""
    if store.has(block.key):
        metadata, rows = store.footer(block.key)
        return Outcome(block.key, block.label, "ok", metadata["seconds"], rows)
    reason = "a worker process died while this block was computed (out of memory?)"
    store.write_failure(block.key, {"status": "failed", "reason": reason, "label": block.label, "traceback": ""})
    return Outcome(block.key, block.label, "failed", 0.0, 0, reason)


def containing(blocks: Iterable[Block]) -> dict[str, Block]:
    """Key of each block that is part of another one -> the largest block that contains it, itself part of none."""
    alike: dict[str, list[Block]] = {}
    for block in {b.key: b for b in blocks}.values():
        same = {name: value for name, value in block.config.items() if name not in _SIZES}
        # a parameter at its default is the same whether it is written or not
        same["params"] = import_object(block.estimator)(**block.params).get_params()
        alike.setdefault(canonical_json(same), []).append(block)
    containers = {}
    for group in alike.values():
        # whatever contains a block has each of its budgets and points: the largest is sought where the fewest have one
        having: dict[object, list[Block]] = {}
        for block in sorted(group, key=lambda b: (b.fits, b.key), reverse=True):
            for value in _values(block):
                having.setdefault(value, []).append(block)
        for block in group:
            for candidate in min((having[value] for value in _values(block)), key=len, default=group):
                if candidate.fits <= block.fits:
                    break
                if _is_part(block, candidate):
                    containers[block.key] = candidate
                    break
    return containers


def _values(block: Block) -> set[object]:
    grid = {(name, value) for name, values in block.grid.items() for value in values if isinstance(value, Hashable)}
    return {*block.budgets, *grid}


def _is_part(block: Block, container: Block) -> bool:
    """Return True if a block's rows can be cut from ``container``'s, of the same scenario and method.

    Grids, budgets and replications must be some of the container's.
    """
    return (
        block.grid.keys() == container.grid.keys()
        and all(_is_selection(values, container.grid[name]) for name, values in block.grid.items())
        and block.extra_point == container.extra_point
        and _is_selection(block.budgets, container.budgets)
        and block.replications <= container.replications
    )


def _is_selection(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """Return True if values are some of others in the same order, so that they can be cut out of a larger block.

    A word such as "all" may stand for several values, so lists with words must be equal.
    """
    chosen = [value for value in others if value in values]
    return list(values) == list(others) or (chosen == list(values) and not _has_words(others))


def _has_words(values: Sequence[Any]) -> bool:
    return any(isinstance(value, str) for value in values)


def part_of(table: pa.Table, block: Block) -> pa.Table:
    """Rows of a block among those of one that contains it, as if the block had been computed by itself."""
    params = table["params"].unify_dictionaries().combine_chunks()
    points, index = map(json.loads, params.dictionary.to_pylist()), params.indices.to_numpy()
    grid = block.grid.items()
    wanted = [p == block.extra_point or all(_has_words(v) or p[name] in v for name, v in grid) for p in points]
    selected = (
        np.array(wanted, dtype=bool)[index]
        & np.isin(table["epsilon"].to_numpy(), block.budgets)
        & (table["replication"].to_numpy() < block.replications)
    )
    rows = table.filter(pa.array(selected))
    plain = pa.schema([(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in rows.schema])
    return rows.cast(plain)  # so that no dictionary holds words that no row uses
