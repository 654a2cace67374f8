"""Privacy cost of each score, and the verdict beside it, from the fits of its block and the audit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from lpbench.analysis.summary import (
    AUDITED,
    CELL_KEYS,
    COSTS,
    KEPT,
    NO_AUDIT,
    NO_PRIVACY,
    OVER,
    OVER_AS_PUBLISHED,
    STATED_OTHERWISE,
)
from lpbench.experiments.job import Job
from lpbench.experiments.method import MOST_DELTA, Method, facts_of, is_own
from lpbench.experiments.plan import by_name
from lpbench.experiments.schema import PRIVACY
from lpbench.experiments.store import Store

#: Relative rounding error of a budget that is spent in parts.
ROUNDING = 1e-9
#: Stronger privacy models for each one, which trust the same people; whoever states none promises nothing.
_STRONGER = {
    "label_ldp": ("semi_feature_ldp", "ldp"),
    "semi_feature_ldp": ("ldp",),
    "label_cdp": ("cdp",),
    "none": PRIVACY,
}


def costs_of(job: Job, store: Store) -> pd.DataFrame:
    """Tabulate the cost of a job's scores: one row per cell, columns :data:`PLACE` and :data:`COSTS`."""
    rows, read, methods = [], dict[str, dict[float, list[Any]]](), by_name(job.methods)
    for entry in job.plan.entries:
        method = methods[entry.method]
        audit = job.audits.get(method.name, f"{NO_AUDIT}: the run made none")
        if entry.block is not None and entry.block.key not in read:
            accounts = store.footer(entry.block.key)[0].get("spent", []) if store.has(entry.block.key) else []
            read[entry.block.key] = {row[0]: row[1:] for row in accounts}
        of_block = read[entry.block.key] if entry.block is not None else {}
        for budget in entry.epsilons:
            spent = of_block.get(budget, of_block.get(math.inf, (math.nan, math.nan, "", 1)))
            rows.append(
                (
                    *(getattr(entry, name) for name in CELL_KEYS[:-1]),
                    budget,
                    *spent[:3],
                    said_of(method, budget, spent, audit),
                )
            )
    table = pd.DataFrame(rows, columns=[*CELL_KEYS, *COSTS])
    # of places on an axis, which share a cell, the one that costs most
    worst = table.assign(_kept=table["audit"].isin(KEPT)).sort_values(["_kept", "spent"], ascending=[True, False])
    return worst.drop_duplicates(CELL_KEYS).drop(columns="_kept").sort_index(ignore_index=True)


def said_of(method: Method, budget: float, spent: Sequence[Any], audit: str) -> str:
    """Return the sentence about a promise that a score's fits broke, or the audit's verdict; empty without privacy."""
    (epsilon, delta, model, rows), is_users = spent, is_own(method.estimator)
    if model == method.privacy == "none":
        return f"{NO_PRIVACY}: {method.name} reads the records" if is_users else ""
    if epsilon > rows * budget * (1 + ROUNDING):
        over = OVER_AS_PUBLISHED if not is_users and method.build().exceeds_budget else OVER
        each = f" for each of {rows} rows" if rows > 1 else ""
        return f"{over}: {method.name} spent {epsilon:.6g} of a budget of {budget:g}{each}"
    if delta > MOST_DELTA:
        return f"{OVER}: {method.name} spent delta = {delta:.3g}, and a guarantee that fails so often is none"
    if not is_users:
        return AUDITED if facts_of(method.estimator).uses_epsilon else ""
    if audit == AUDITED and model and not keeps_model(method.privacy, model, method.estimator_class.protects):
        return f"{STATED_OTHERWISE}: {method.name} states privacy: {method.privacy}, and its users have {model}"
    if audit == AUDITED and not model:
        return f"{NO_AUDIT}: {method.name} has no fit that says what was spent"
    return audit


def keeps_model(stated: str, measured: str, protects: str) -> bool:
    """Return True if users have the stated privacy model, or a stronger one that trusts the same people.

    A model bounds the ratio of what is sent for two records: ``ldp`` for any two, ``semi_feature_ldp`` for those that
    show the same features, ``label_ldp`` for those with the same features, and ``cdp`` and ``label_cdp`` alike for what
    a curator releases. The pairs of a weaker model are pairs of a stronger one, so that the same bound holds for them.
    Audit, runs apart, verification and scores ask here.

    Parameters
    ----------
    stated : str
        Model that a method states for all its settings; empty where it states none.
    measured : str
        Model of what was asked, from ``users.spent``.
    protects : str
        What the method's users protect, as its class says. Under a mask that hides no feature, ``label_ldp`` is what
        ``semi_feature_ldp`` says of a method whose users protect what the mask names.
    """
    if stated == "semi_feature_ldp" and measured == "label_ldp":  # which no mask that hides a feature leads to
        return protects == "mask"
    return stated in ("", measured) or measured in _STRONGER.get(stated, ())
