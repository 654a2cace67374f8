"""``lpbench explain --why``: which results of an experiment or a data set are current, and which input changed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lpbench.datasets.manifest import list_datasets, load_manifest
from lpbench.datasets.sources import locate, prepared_table
from lpbench.derivation import Derivation, differences
from lpbench.experiments import catalog
from lpbench.experiments.committed import derived_summary
from lpbench.experiments.config import Runner
from lpbench.experiments.job import job_of
from lpbench.experiments.plan import Block
from lpbench.experiments.results import Results
from lpbench.experiments.store import CorruptBlockError, Store
from lpbench.paths import REPRODUCED, cache_folder
from lpbench.pipeline import artifact_of, audited
from lpbench.reporting.paper import paper_of
from lpbench.reporting.publish import drawn_from_scores, reports_of_run

#: Changes of a result that are printed.
_PRINTED_CHANGES = 8


def lines(name: str, results: Path) -> Iterator[str]:
    """Say of each result that goes by a name, of a data set or an experiment, if it is current, and what changed."""
    if name in list_datasets():
        yield from _of_table(name)
        return
    [job] = audited([job_of(catalog.experiment(name))])
    store = Store(results / "store", writable=False)
    blocks, stored = job.plan.blocks, _stored(store)
    outdated = [block for block in blocks if not store.has(block.key)]
    yield f"blocks: {len(blocks) - len(outdated)} of {len(blocks)} current"
    for block in outdated:
        yield from _shown(f"block {block.label}", _nearest(block, stored))
    yield from _of(f"artifact in {results}", artifact_of(job, paper_of(name), results, Runner()))
    committed = Results(results / REPRODUCED).artifact(name)
    if committed.is_finished and job.experiment.kind != "drawing":
        yield from _of("summary of the committed scores", derived_summary(committed.results, name))
        yield from _of(f"artifact in {committed.results}", drawn_from_scores(committed))
    for report in reports_of_run(Results(results), [name]):
        for derivation in (*report.tables(), report.laid_out()):
            yield from _of(f"{derivation.name} in {report.target}", derivation)


def _of(name: str, derivation: Derivation) -> Iterator[str]:
    return _shown(name, derivation.changes())


def _shown(name: str, changes: Sequence[str]) -> Iterator[str]:
    yield f"{name}: {'outdated' if changes else 'current'}"
    yield from (f"  {change}" for change in changes[:_PRINTED_CHANGES])
    if len(changes) > _PRINTED_CHANGES:
        yield f"  and {len(changes) - _PRINTED_CHANGES} more"


def _of_table(name: str) -> Iterator[str]:
    """Say if the prepared table of a data set is in the cache, and how those that are there differ."""
    manifest = load_manifest(name)
    location = locate(manifest)
    if location is None or not location.paths:
        yield f"data set {name}: {'not at hand' if location is None else 'it needs no prepared table'}"
        return
    derivation = prepared_table(manifest, location)
    before = []
    for path in (cache_folder() / "tables").glob(f"{name}-*.npz"):
        with np.load(path, allow_pickle=False) as file:
            before += [json.loads(str(file["derivation"]))] if "derivation" in file else []
    if any(one["key"] == derivation.key for one in before):
        yield from _shown(f"data set {name}", [])
    else:
        yield from _shown(f"data set {name}", _fewest([one["inputs"] for one in before], derivation))


def _stored(store: Store) -> list[dict[str, Any]]:
    """Configuration and inputs of all stored blocks."""
    footers = []
    for key in store.keys():
        try:
            footers.append(store.footer(key)[0])
        except (CorruptBlockError, FileNotFoundError):
            continue
    return footers


def _nearest(block: Block, stored: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines on how a block's inputs differ from those of the stored block that differs least.

    Only blocks of the same method and data set are looked at.
    """
    same = [
        one["inputs"] for one in stored if all(one["config"][k] == block.config[k] for k in ("dataset", "estimator"))
    ]
    return _fewest(same, block.derivation)


def _fewest(before: Sequence[Mapping[str, str]], derivation: Derivation) -> list[str]:
    return min((differences(one, derivation.parts) for one in before), key=len, default=["it was not made here"])
