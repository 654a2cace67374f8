"""From stored blocks to the tidy scores of an experiment."""

import json
import math
from collections.abc import Iterable
from itertools import groupby

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lpbench.analysis.scores import SCORE_COLUMNS
from lpbench.digest import canonical_json
from lpbench.experiments.compute import words
from lpbench.experiments.plan import Entry
from lpbench.experiments.store import BLOCK_SCHEMA, Store

#: What an entry says of all its rows.
_OF_ENTRY = ["experiment", "panel", "dataset", "mask", "method"]
#: Tables that are kept in pieces.
_MANY = 500


def assemble(entries: Iterable[Entry], store: Store) -> pd.DataFrame:
    """Collect the rows of the given entries, in the order of :func:`lpbench.analysis.scores.normalize`.

    (Nothing relies on the order. Sorting the rows of a block is a tenth of the work of sorting them all.)

    An entry without data gives one row per budget with status ``skipped`` and the way to get the data, one that its
    experiment leaves out with status ``left_out``; an entry whose block failed or ran over its time gives one row a
    budget with that status and the reason. Such rows have ``replication`` -1 and no value.
    """
    tables, done, names = list[pa.Table](), list[pa.Table](), list[tuple[list[str], int]]()
    for _, alike in groupby(sorted(entries, key=_place), key=_place):
        parts, pieces, fresh = list[tuple[tuple[float, float], Entry, int]](), list[pa.Table](), list[pa.Table]()
        for entry in alike:
            for position, table in _by_budget(entry, _entry_table(entry, store)):
                parts.append((position, entry, len(table)))
                fresh.append(table)
            if len(fresh) >= _MANY:
                pieces, fresh = [*pieces, _compact(fresh)], []
        order = sorted(range(len(parts)), key=lambda k: parts[k][0])
        names += [([getattr(parts[k][1], name) for name in _OF_ENTRY], parts[k][2]) for k in order]
        if pieces:
            rows = np.split(np.arange(sum(run[2] for run in parts)), np.cumsum([run[2] for run in parts])[:-1])
            tables.append(_compact([*pieces, *fresh]).take(np.concatenate([rows[k] for k in order])))
        else:
            tables += [fresh[k] for k in order]
        if len(tables) >= _MANY:
            done, tables = [*done, _compact(tables)], []
    if not names:
        return pd.DataFrame(columns=SCORE_COLUMNS)
    joined = _compact([*done, *tables])
    columns = {name: _in_pandas(joined.column(name)) for name in joined.column_names}
    each, counts = zip(*names, strict=True)
    for name, texts in zip(_OF_ENTRY, zip(*each, strict=True), strict=True):
        distinct, codes = np.unique(np.array(texts, dtype=object), return_inverse=True)
        columns[name] = _categories(codes, distinct.tolist()).repeat(counts)
    return pd.DataFrame({name: columns[name] for name in SCORE_COLUMNS}, copy=False)


def _place(entry: Entry) -> tuple[str, ...]:
    return entry.panel, entry.dataset, entry.mask, entry.method


def _compact(tables: list[pa.Table]) -> pa.Table:
    """Combine tables into one contiguous table, since many small pieces take a hundred times the memory."""
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _entry_table(entry: Entry, store: Store) -> pa.Table:
    """Rows of an entry: its stored block's, else one a budget without a value, with the reason."""
    if entry.left_out:
        return _placeholder(entry, "left_out", entry.left_out)
    if entry.block is None:
        return _placeholder(entry, "skipped", f"data not at hand: {entry.missing}")
    if store.has(entry.block.key):
        return _shown(store.read(entry.block.key)[0], entry)
    failure = store.read_failure(entry.block.key) or {"status": "failed", "reason": "not run"}
    return _placeholder(entry, failure["status"], failure["reason"])


def _by_budget(entry: Entry, table: pa.Table) -> list[tuple[tuple[float, float], pa.Table]]:
    """Sort an entry's rows by budget, grid point and replication, and return pairs (place, table), one a budget.

    A place is (epsilon, x value of the entry or -inf without one), by which tables of entries are ordered; each table
    has the column ``x`` in addition.
    """
    epsilon = table.column("epsilon").to_numpy()
    table = table.take(pa.array(_order(epsilon, table)))
    table = table.append_column("x", _x(table, entry))
    x = -math.inf if entry.x_value is None else float(entry.x_value)
    parts, start = [], 0
    for value, rows in zip(*np.unique(epsilon, return_counts=True), strict=True):
        parts.append(((float(value), x), table.slice(start, rows)))
        start += int(rows)
    return parts


def _order(epsilon: np.ndarray, table: pa.Table) -> np.ndarray:
    """Indices that sort a table's rows by budget, grid point and replication; ``epsilon`` (n,) is the budget."""
    replication = table.column("replication").to_numpy()
    params = table.column("params").unify_dictionaries().combine_chunks()
    rank = pc.rank(params.dictionary, tiebreaker="dense").to_numpy()
    point = np.unique(epsilon, return_inverse=True)[1] * (rank.max(initial=0) + 1) + rank.take(params.indices)
    # nearly always each replication has the same points in the same order
    n = int(np.count_nonzero(replication == replication[0])) if len(table) else 1
    shape = (len(table) // n, n)
    if len(table) % n or (point.reshape(shape) != point[:n]).any() or (np.diff(replication[::n]) <= 0).any():
        return np.lexsort((replication, point))
    return (np.argsort(point[:n], kind="stable")[:, None] + n * np.arange(shape[0])).ravel()


def _shown(table: pa.Table, entry: Entry) -> pa.Table:
    """Rows of a block for an entry's budgets: one stored for all budgets is repeated at each, others are selected."""
    if entry.block is None or entry.block.budgets == entry.epsilons:
        return table
    if entry.block.budgets == (math.inf,):
        column = table.column_names.index("epsilon")
        each = [np.full(len(table), epsilon, dtype=float) for epsilon in entry.epsilons]
        return pa.concat_tables([table.set_column(column, "epsilon", pa.array(e)) for e in each])
    return table.filter(pc.is_in(table.column("epsilon"), pa.array(entry.epsilons, pa.float64())))


def _placeholder(entry: Entry, status: str, reason: str) -> pa.Table:
    """Return rows without a value, one a budget, for an entry that has no stored block, with status and reason."""
    rows = len(entry.epsilons)
    texts = {"params": canonical_json({}), "metric": "", "status": status, "reason": reason}
    return pa.table(
        {
            "epsilon": pa.array(entry.epsilons, pa.float64()),
            "replication": np.full(rows, -1, dtype=np.int32),
            "value": pa.nulls(rows, pa.float64()),
            "seconds": pa.nulls(rows, pa.float64()),
            **{name: words(rows, text) for name, text in texts.items()},
        }
    ).select(BLOCK_SCHEMA.names)


def _x(table: pa.Table, entry: Entry) -> pa.Array:
    """Return the horizontal coordinate of each row of a block: its epsilon, a swept parameter, or NaN in a table.

    The entry's ``x_axis`` says which; a swept parameter of a method is read from the grid point.
    """
    if entry.x_axis == "epsilon":
        return table.column("epsilon")
    kind, _, parameter = (entry.x_axis or "").partition(".")
    if kind != "method":
        x = math.nan if entry.x_value is None else float(entry.x_value)
        return pa.array(np.full(len(table), x))
    places = []
    for chunk in table.column("params").chunks:
        values = [json.loads(text).get(parameter, math.nan) for text in chunk.dictionary.to_pylist()]
        places.append(np.array(values, dtype=float)[chunk.indices])
    return pa.array(np.concatenate(places) if places else [], pa.float64())


def _in_pandas(column: pa.ChunkedArray) -> np.ndarray | pd.Categorical:
    """The column for a data frame; texts have their categories in alphabetical order, and none that no row has."""
    if not pa.types.is_dictionary(column.type):
        return column.to_numpy()
    names = column.chunk(0).dictionary.to_pylist()
    return _categories(np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks]), names)


def _categories(codes: np.ndarray, names: list[str]) -> pd.Categorical:
    used = sorted(names[k] for k in np.flatnonzero(np.bincount(codes, minlength=len(names))))
    code_of = {name: k for k, name in enumerate(used)}
    number = np.array([code_of.get(name, -1) for name in names], dtype=np.min_scalar_type(-len(used) - 1))
    return pd.Categorical.from_codes(number.take(codes), used, validate=False)
