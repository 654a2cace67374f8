"""From stored blocks to the tidy scores of an experiment."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lpbench.experiments.fingerprint import canonical_json
from lpbench.experiments.plan import Entry
from lpbench.experiments.store import Store

COLUMNS = [
    "experiment",
    "panel",
    "dataset",
    "mask",
    "method",
    "epsilon",
    "x",
    "params",
    "replication",
    "metric",
    "value",
    "status",
    "reason",
    "seconds",
]
#: What an entry says of all its rows.
_OF_ENTRY = ["experiment", "panel", "dataset", "mask", "method"]
_CATEGORIES = [*_OF_ENTRY, "params", "metric", "status", "reason"]


def assemble(entries: Iterable[Entry], store: Store) -> pd.DataFrame:
    """Collect the rows of the given entries, in plan order.

    An entry without data gives one row a budget with status ``skipped`` and the way to get the data; an entry whose
    block failed or ran over its time gives one row a budget with that status and the reason. Such rows have
    ``replication`` -1 and no value.
    """
    tables = [_entry_table(entry, store) for entry in entries]
    if not tables:
        return pd.DataFrame(columns=COLUMNS)
    scores = pa.concat_tables(tables).unify_dictionaries().to_pandas()
    return scores.assign(**{column: _in_order(scores[column]) for column in _CATEGORIES})


def _entry_table(entry: Entry, store: Store) -> pa.Table:
    if entry.block is None:
        table = _placeholder(entry, "skipped", f"data not at hand: {entry.missing}")
    elif store.has(entry.block.key):
        table = _shown(store.read(entry.block.key)[0], entry)
    else:
        failure = store.read_failure(entry.block.key) or {"status": "failed", "reason": "not run"}
        table = _placeholder(entry, failure["status"], failure["reason"])
    columns = {name: table.column(name) for name in table.column_names}
    columns |= {name: _constant(getattr(entry, name), len(table)) for name in _OF_ENTRY}
    return pa.table({**columns, "x": _x(table, entry)}).select(COLUMNS)


def _shown(table: pa.Table, entry: Entry) -> pa.Table:
    """Show a method that ignores the budget, stored once, at every budget; of others those of the entry."""
    if entry.block is None or entry.block.budgets == entry.epsilons:
        return table
    if entry.block.budgets == (math.inf,):
        place = table.column_names.index("epsilon")
        each = [np.full(len(table), epsilon, dtype=float) for epsilon in entry.epsilons]
        return pa.concat_tables([table.set_column(place, "epsilon", pa.array(e)) for e in each])
    return table.filter(pc.is_in(table.column("epsilon"), pa.array(entry.epsilons, pa.float64())))


def _placeholder(entry: Entry, status: str, reason: str) -> pa.Table:
    rows = len(entry.epsilons)
    texts = {"params": canonical_json({}), "metric": "", "status": status, "reason": reason}
    return pa.table(
        {
            "epsilon": pa.array(entry.epsilons, pa.float64()),
            "replication": np.full(rows, -1, dtype=np.int32),
            "value": pa.nulls(rows, pa.float64()),
            "seconds": pa.nulls(rows, pa.float64()),
            **{name: _constant(text, rows) for name, text in texts.items()},
        }
    )


def _constant(text: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), pa.array([text], pa.string()))


def _x(table: pa.Table, entry: Entry) -> pa.Array:
    if entry.x_axis == "epsilon":
        return table.column("epsilon")
    kind, _, parameter = (entry.x_axis or "").partition(".")
    if kind != "method":
        place = math.nan if entry.x_value is None else float(entry.x_value)
        return pa.array(np.full(len(table), place))
    places = []
    for chunk in table.column("params").chunks:
        known = [json.loads(text).get(parameter, math.nan) for text in chunk.dictionary.to_pylist()]
        places.append(np.array(known, dtype=float)[chunk.indices])
    return pa.array(np.concatenate(places) if places else [], pa.float64())


def _in_order(column: pd.Series) -> pd.Categorical:
    """The same texts with categories in alphabetical order, and none that no row has."""
    codes, names = column.cat.codes.to_numpy(), column.cat.categories
    found = names.take(np.flatnonzero(np.bincount(codes, minlength=len(names)))).sort_values()
    return pd.Categorical.from_codes(found.get_indexer(names)[codes], found)
