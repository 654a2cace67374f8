"""Findings of an audit as data: what pages and files show of methods, known mechanisms and costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lpbench.audit.empirical import detectable
from lpbench.audit.known_bad import KNOWN_BAD, KNOWN_GOOD
from lpbench.audit.table import EPSILON, FALSE_ALARM, AuditRow, failure_per_row


def findings(rows: Sequence[tuple[str, AuditRow]], samples: int, seed: int) -> dict:
    """Collect what an audit found."""
    failure = failure_per_row()
    return {
        "epsilon": EPSILON,
        "samples": samples,
        "seed": seed,
        "failure": failure,
        "false_alarm": FALSE_ALARM,
        "detectable": detectable(samples, failure),
        "methods": _methods([row for kind, row in rows if kind == "method"]),
        "bad": _mechanisms([row for kind, row in rows if kind == "bad"], KNOWN_BAD, "what is wrong", "caught"),
        "good": _mechanisms([row for kind, row in rows if kind == "good"], KNOWN_GOOD, "what it spends", "accused"),
    }


def _methods(rows: Sequence[AuditRow]) -> dict:
    heads = ["method", "model", "promised", "exact", "slack", "sampled"]
    heads += ["rounds", "bits up", "bits down", "devices", "note"]
    body = []
    for row in rows:
        losses = map(_number, (row.claimed_epsilon, row.exact_epsilon, row.slack, row.lower_bound))
        sizes = row.rounds, _number(row.bits_up), _number(row.bits_down), row.devices
        body.append([row.method, _model(row), *losses, *sizes, row.note])
    return _table(heads, body)


def _mechanisms(rows: Sequence[AuditRow], notes: Mapping[str, tuple], what: str, verdict: str) -> dict:
    body = []
    for row in rows:
        losses = map(_number, (row.claimed_epsilon, row.exact_epsilon, row.lower_bound))
        body.append([row.method, notes[row.method][0], *losses, "yes" if row.accused else "no"])
    return _table(["mechanism", what, "claimed", "exact", "sampled", verdict], body)


def _table(heads: Sequence[str], rows: Sequence[Sequence]) -> dict:
    return {"heads": list(heads), "rows": [[str(cell) for cell in row] for row in rows]}


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞"
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _model(row: AuditRow) -> str:
    return row.model if row.delta == 0 else f"{row.model}, δ = {row.delta:.1g}"
