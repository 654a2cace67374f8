"""Blocks that are part of another block of a run: the same fits at fewer settings, budgets or replications."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lpbench.experiments.fingerprint import canonical_json
from lpbench.experiments.method import import_object
from lpbench.experiments.plan import Block

#: What may differ between a block and one that contains it.
_SIZES = ("grid", "extra_point", "budgets", "replications")


def containing(blocks: Iterable[Block]) -> dict[str, Block]:
    """Key of each block that is part of another one -> the largest block that contains it, itself part of none."""
    alike: dict[str, list[Block]] = {}
    for block in {b.key: b for b in blocks}.values():
        same = {name: value for name, value in block.config.items() if name not in _SIZES}
        # a parameter at its default is the same whether it is written or not
        same["params"] = import_object(block.estimator)(**block.params).get_params()
        alike.setdefault(canonical_json(same), []).append(block)
    found = {}
    for group in alike.values():
        for block in group:
            larger = [b for b in group if b.fits > block.fits and _is_part(block, b)]
            if larger:
                found[block.key] = max(larger, key=lambda b: (b.fits, b.key))
    return found


def _is_part(block: Block, other: Block) -> bool:
    return (
        block.grid.keys() == other.grid.keys()
        and all(_is_selection(values, other.grid[name]) for name, values in block.grid.items())
        and block.extra_point == other.extra_point
        and _is_selection(block.budgets, other.budgets)
        and block.replications <= other.replications
    )


def _is_selection(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether values are some of others in the same order; a word may stand for several values, so words must agree."""
    chosen = [value for value in others if value in values]
    return list(values) == list(others) or (chosen == list(values) and not _has_words(others))


def _has_words(values: Sequence[Any]) -> bool:
    return any(isinstance(value, str) for value in values)


def part_of(table: pa.Table, block: Block) -> pa.Table:
    """Rows of a block among those of one that contains it, as if the block had been computed by itself."""
    points = table["params"].unify_dictionaries().combine_chunks()
    labels, index = points.dictionary.to_pylist(), points.indices.to_numpy()
    wanted = np.array([_has_point(block, json.loads(label)) for label in labels], dtype=bool)
    kept = (
        wanted[index]
        & np.isin(table["epsilon"].to_numpy(), block.budgets)
        & (table["replication"].to_numpy() < block.replications)
    )
    rows = table.filter(pa.array(kept))
    plain = pa.schema([(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in rows.schema])
    return rows.cast(plain)  # so that no dictionary holds words that no row uses


def _has_point(block: Block, point: dict[str, Any]) -> bool:
    if point == block.extra_point:
        return True
    return all(_has_words(values) or point[name] in values for name, values in block.grid.items())
