"""Scores in git: of each method at its selected setting, one row per replication; all report pages come from them.

``<folder>/scores/`` holds of each paper

- ``<paper>.parquet``: columns :data:`COMMITTED_COLUMNS`, one row group an experiment;
- ``<paper>_seconds.parquet``: the same of the experiments that measure seconds, which differ from run to run;
- ``<paper>_spent.parquet``: what the scores of each cell cost its users, columns :data:`SPENT_COLUMNS`;
- ``<paper>.json``: what each experiment was run with: configuration, seed, environment, and the keys of its blocks
  (each a hash of configuration, data, code and library versions).

They are derivations whose inputs are not at hand: a later change of code does not invalidate them, and ``lpbench
verify`` says if they still hold. Summaries are derivations of them, kept beside their artifacts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lpbench.analysis import Summary, selected_of, summary_of
from lpbench.analysis.scores import CELL
from lpbench.analysis.summary import CELL_KEYS, COSTS
from lpbench.derivation import RECORDS, TABLES, Derivation, record_in
from lpbench.digest import file_hash
from lpbench.disk import atomic_write, write_text
from lpbench.errors import StoreError
from lpbench.experiments.schema import ALTERNATIVES
from lpbench.experiments.summaries import keep_summary, read_summary

#: Folder of the committed scores in a results folder.
SCORES = "scores"
#: ``selections``: under which selections the setting was chosen, separated by spaces. A cell without a number has a row
#: a selection with ``replication`` -1 and the ``reason``; its ``status`` is empty unless the whole cell did not run.
COMMITTED_COLUMNS = [*CELL, "params", "metric", "selections", "replication", "value", "status", "reason"]
SPENT_COLUMNS = ["experiment", *CELL_KEYS, *COSTS]
_POINT = [*CELL, "metric", "params"]
_NUMBERS = {"epsilon": pa.float64(), "x": pa.float64(), "replication": pa.int16(), "value": pa.float64()}
_SCHEMA = pa.schema([(c, _NUMBERS.get(c, pa.string())) for c in COMMITTED_COLUMNS])
_NUMBERS_SPENT = dict.fromkeys(("epsilon", "spent", "spent_delta"), pa.float64())
_SPENT_SCHEMA = pa.schema([(c, _NUMBERS_SPENT.get(c, pa.string())) for c in SPENT_COLUMNS])
#: Relative difference of scores that processors with other vector units find; tables have seven digits.
_ROUNDING = 1e-7
#: What is kept of ``run.json``.
_RECORD_KEYS = (
    *("config", "config_hash", "deviations", "environment", "workers", "datasets", "missing", "block_times"),
    *("name", "fits"),
)


def commit(artifacts: Sequence[Any], folder: Path, paper: str, rule: str) -> bool:
    """Write the scores of a paper's registered experiments if they differ from the committed ones; True if written."""
    spent = _commit_spent({a.name: a.full.table for a in artifacts if a.full is not None}, folder, paper)
    records = {a.name: {k: a.record[k] for k in _RECORD_KEYS if k in a.record} | {"rule": rule} for a in artifacts}
    scored = {a.name: _rows(_read_later(a), a.reasons()) for a in artifacts if a.full is not None}
    stored, committed = _records(folder, paper), {name: _table(folder, name) for name in scored}
    scored = {name: _but_for_rounding(committed[name], table) for name, table in scored.items()}

    def is_current(name: str) -> bool:
        if name not in stored or stored[name]["config_hash"] != records[name]["config_hash"]:
            return False
        if name in scored and _is_measured(scored[name]):
            # seconds stay where they are of the same blocks, which code, data and plan determine
            return bool(stored[name]["block_times"].keys() == records[name]["block_times"].keys())
        return name not in scored or scored[name] is committed[name]

    current = {name for name in records if is_current(name)}
    if current == records.keys():
        return spent
    # the same scores keep the record of the run that they come from, so that pages name its commit
    records = {name: stored[name] if name in current else record for name, record in records.items()}
    scored = {name: committed[name] if name in current else table for name, table in scored.items()}
    others = {name: (record, _table(folder, name)) for name, record in stored.items() if name not in records}
    records = dict(sorted((records | {name: record for name, (record, _) in others.items()}).items()))
    scored = dict(sorted((scored | {n: table for n, (_, table) in others.items() if table is not None}).items()))
    for measured, suffix in ((False, ""), (True, "_seconds")):
        tables = [table for table in scored.values() if _is_measured(table) == measured]
        if tables:
            _write(tables, folder / SCORES / f"{paper}{suffix}.parquet")
    lines = (f"{json.dumps(n)}: {json.dumps(r, sort_keys=True, separators=(',', ':'))}" for n, r in records.items())
    write_text("{\n" + ",\n".join(lines) + "\n}\n", folder / SCORES / f"{paper}.json")
    return True


def _read_later(artifact: Any) -> Summary:
    """Return the part of an artifact's summary that reports read: of alternatives the best grid points alone."""
    full: Summary = artifact.full
    if artifact.experiment.kind != ALTERNATIVES:
        return full
    parts = {key: getattr(full, key) for key in ("table", "chosen", "reasons")}
    return replace(full, **{key: table[table["selection"] == "oracle"] for key, table in parts.items()})


def record(folder: Path, name: str) -> dict[str, Any]:
    """Return the settings an experiment was run with; empty if a results folder has no committed scores of it."""
    return _records(folder, name.partition("/")[0]).get(name, {})


def summary(folder: Path, name: str) -> Summary | None:
    """The summary at full precision with the chosen scores, as a derivation of the committed ones; None without any."""
    scores = digest(folder, name)
    return _summary(folder, name, scores, record(folder, name)["rule"]) if scores else None


@lru_cache(maxsize=256)
def _summary(folder: Path, name: str, scores: str, rule: Any) -> Summary:
    """Summary of an experiment's scores, from the folder of records or computed and kept there.

    ``scores`` is their hash and ``rule`` the paper's rule of marking, by which the result is cached.
    """
    stored = None
    with suppress(OSError):  # where nothing can be written or locked, what is kept may be of other scores
        derived_summary(folder, name).make()
        stored = read_summary(folder / name / RECORDS)
    return _computed(folder, name, rule) if stored is None else stored


def derived_summary(folder: Path, name: str) -> Derivation:
    """The summary of an experiment as what follows from its committed scores and the rule for marks."""
    rule, code = record(folder, name)["rule"], (summary_of.__module__, selected_of.__module__)
    inputs = {"scores": digest(folder, name), "rule": rule}
    write = lambda: keep_summary(_computed(folder, name, rule), folder / name / RECORDS)  # noqa: E731
    return Derivation(f"summary {name}", inputs, code, TABLES, record_in(folder / name, "summary"), write)


def _computed(folder: Path, name: str, rule: Any) -> Summary:
    table = _table(folder, name)
    assert table is not None
    costs = _costs(folder, name)
    return summary_of(selected_of(table.to_pandas()), rule, costs if len(costs) else None)


def _costs(folder: Path, name: str) -> pd.DataFrame:
    """Committed rows on what users spent for an experiment's scores; empty without any."""
    spent = _spent(folder, name.partition("/")[0])
    return spent[spent["experiment"] == name]


def _spent(folder: Path, paper: str) -> pd.DataFrame:
    path = _spent_file(folder, paper)
    return pd.read_parquet(path) if path.is_file() else pd.DataFrame(columns=SPENT_COLUMNS)


def _spent_file(folder: Path, paper: str) -> Path:
    return folder / SCORES / f"{paper}_spent.parquet"


def _commit_spent(tables: Mapping[str, pd.DataFrame], folder: Path, paper: str) -> bool:
    """Write what the scores of some experiments cost users, beside that of the others; True if the file changed.

    ``tables`` are summaries by experiment. One is left as it is where a fit does not state its cost.
    """
    before = _spent(folder, paper)
    silent = {n for n, t in tables.items() if (t["spent"].isna() & (t["audit"] != "") & t["mean"].notna()).any()}
    stated = {n: t for n, t in tables.items() if n not in silent and (t["audit"] != "").any()}
    keys = SPENT_COLUMNS[: len(CELL_KEYS) + 1]
    rows = [table[SPENT_COLUMNS].drop_duplicates(keys) for table in stated.values()]
    rows.append(before[~before["experiment"].isin(stated)])
    after = pd.concat([table for table in rows if len(table)] or rows, ignore_index=True)
    after = after.sort_values(keys, kind="stable", ignore_index=True)
    after = pa.Table.from_pandas(after, schema=_SPENT_SCHEMA, preserve_index=False)
    if after.equals(pa.Table.from_pandas(before, schema=_SPENT_SCHEMA, preserve_index=False)):
        return False
    with atomic_write(_spent_file(folder, paper)) as file:
        pq.write_table(after, file, compression="zstd")
    return True


def digest(folder: Path, name: str) -> str:
    """Hash of an experiment's committed scores and of what they cost; empty if there are none."""
    return _digest(folder, name, _contents(folder, name))


def _contents(folder: Path, name: str) -> tuple[str, ...]:
    files = [*_files(folder, name), _spent_file(folder, name.partition("/")[0])]
    return tuple(file_hash(path) for path in files if path.is_file())


@lru_cache(maxsize=1024)
def _digest(folder: Path, name: str, contents: tuple[str, ...]) -> str:
    """Hash of an experiment's committed scores and costs; empty without scores. ``contents`` keys the cache."""
    table = _table(folder, name) if contents else None
    if table is None:
        return ""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    costs = _costs(folder, name)
    if len(costs):
        sink.write(costs.to_csv(index=False).encode())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def reasons(folder: Path, name: str) -> pd.DataFrame | None:
    """Cells that did not run: columns dataset, method, status, reason."""
    table = _table(folder, name)
    if table is None:
        return None
    rows = table.filter(pc.less(table["replication"], 0)).to_pandas()
    rows = rows.loc[rows["status"] != "", ["dataset", "method", "status", "reason"]]
    texts = [reason.removeprefix(f"{status}: ") for status, reason in rows[["status", "reason"]].to_numpy()]
    return rows.assign(reason=texts).drop_duplicates()


def _but_for_rounding(committed: pa.Table | None, computed: pa.Table) -> pa.Table:
    """Return committed scores in place of new ones that differ by rounding alone, as processors' last digits do."""
    others = [column for column in COMMITTED_COLUMNS if column != "value"]
    if committed is None or not committed.select(others).equals(computed.select(others)):
        return computed
    same = np.allclose(computed["value"], committed["value"], rtol=_ROUNDING, atol=0.0, equal_nan=True)
    return committed if same else computed


def _is_measured(table: pa.Table) -> bool:
    return "seconds" in table.column("metric").unique().to_pylist()


def _rows(summary: Summary, reasons: pd.DataFrame) -> pa.Table:
    """Rows of one experiment's committed file, from its summary at full precision and the cells that did not run.

    ``reasons`` has the status ("skipped", "failed" ...) of these cells.
    """
    selections = summary.table[summary.table["n"] > 0].groupby(_POINT, dropna=False, sort=False)["selection"]
    rows = summary.chosen.drop(columns="selection").drop_duplicates([*_POINT, "replication"])
    rows = rows.merge(selections.agg(" ".join).rename("selections").reset_index(), on=_POINT)
    empty = summary.reasons.merge(summary.table[[*CELL, "selection", "metric"]], on=[*CELL, "selection"])
    status_of = {(r.dataset, r.method, f"{r.status}: {r.reason}"): r.status for r in reasons.itertuples()}
    status = [status_of.get((r.dataset, r.method, r.reason), "") for r in empty.itertuples()]
    empty = empty.rename(columns={"selection": "selections"}).assign(params="", replication=-1, status=status)
    table = pd.concat([rows.assign(status="ok"), empty], ignore_index=True).reindex(columns=COMMITTED_COLUMNS)
    table = table.sort_values([*CELL, "params", "selections", "replication"], kind="stable")
    return pa.Table.from_pandas(table.fillna({"reason": ""}), schema=_SCHEMA, preserve_index=False)


def _write(tables: Sequence[pa.Table], path: Path) -> None:
    """Write tables of scores as one compressed parquet file, in the encoding that suits the values."""
    values = pa.chunked_array([chunk for table in tables for chunk in table.column("value").chunks])
    # accuracies are few numbers, errors are not: their bytes are stored place by place
    options: dict[str, Any] = {"use_dictionary": True}
    if 2 * pc.count_distinct(values).as_py() > len(values):
        others = [column for column in COMMITTED_COLUMNS if column != "value"]
        options = {"use_dictionary": others, "column_encoding": {"value": "BYTE_STREAM_SPLIT"}}
    with (
        atomic_write(path) as file,
        pq.ParquetWriter(file, _SCHEMA, compression="zstd", compression_level=19, **options) as writer,
    ):
        for table in tables:
            writer.write_table(table)


def _records(folder: Path, paper: str) -> dict[str, dict[str, Any]]:
    path = folder / SCORES / f"{paper}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise StoreError(f"{path} is damaged ({error}); take it from the repository again") from error


def _files(folder: Path, name: str) -> list[Path]:
    return [folder / SCORES / f"{name.partition('/')[0]}{suffix}.parquet" for suffix in ("", "_seconds")]


def _table(folder: Path, name: str) -> pa.Table | None:
    for path in _files(folder, name):
        if path.is_file():
            try:
                table = pq.read_table(path, filters=[("experiment", "==", name)], schema=_SCHEMA)
            except (pa.ArrowException, OSError) as error:
                raise StoreError(f"{path} is damaged ({error}); take it from the repository again") from error
            if len(table):
                return table
    return None
