"""Accountant: what every user was asked in a fit or sweep, added up and held to the guarantee."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.audit.leaks import Tape
from lpbench.audit.repeats import broken_law

#: Rounding error allowed to a sum of budgets, relative.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Ledger:
    """What the questions of a tape cost.

    Attributes
    ----------
    spent : ndarray of shape (n,)
        Epsilon of each user over all questions.
    asked : dict of str to ndarray of shape (n,)
        Report source -> how often each user was asked there.
    """

    spent: np.ndarray
    asked: dict[str, np.ndarray]


def ledger(tape: Tape, fitted: Any, n: int) -> Ledger:
    """Add up the questions of a tape that n users answered; ``fitted`` is an estimator fitted at the same setting."""
    spent, asked = np.zeros(n), dict[str, np.ndarray]()
    for exchange in tape:
        cost, users = exchange.asked.epsilon, exchange.asked.users
        users = np.arange(n) if users is None else users
        np.add.at(spent, users, cost(fitted) if callable(cost) else cost)
        if exchange.source.times is not None:
            counts = asked.setdefault(exchange.source.path, np.zeros(n, dtype=int))
            np.add.at(counts, users, 1)
    return Ledger(spent, asked)


def overdraft(tape: Tape, fitted: Any, n: int) -> str:
    """Say what exceeds the guarantee; empty if nothing does.

    A guarantee above ``epsilon`` needs a note that says why. Every user must be asked at every report source exactly as
    often as the source says.
    """
    book, guarantee = ledger(tape, fitted, n), fitted.guarantee_
    most = float(book.spent.max(initial=0.0))
    if most > guarantee.epsilon * (1 + _ROUNDING):
        return f"a user spends {most:.6g}, the guarantee says {guarantee.epsilon:.6g}"
    if guarantee.epsilon > fitted.epsilon * (1 + _ROUNDING) and not guarantee.note:
        return f"the guarantee says {guarantee.epsilon:.6g}, promised are {fitted.epsilon:.6g}"
    for exchange in tape:
        if exchange.asked.summed not in (None, n):
            return f"reports of {exchange.asked.summed} users are added up instead of {n} at {exchange.source.path}"
    times = {e.source.path: e.source.times for e in tape if e.source.times is not None}
    for path, count in book.asked.items():
        due = times[path](fitted)
        wrong = Counter(count[count != due].tolist())
        if wrong:
            return f"{sum(wrong.values())} users are asked {sorted(wrong)} times instead of {due} at {path}"
    return ""


def wrong_law(tape: Tape) -> str:
    """Say which calls' results do not have the law that their questions imply; empty if all of them do."""
    rng = np.random.default_rng(20260302)
    for exchange in tape:
        found = broken_law(exchange.laws[0], exchange.laws[1:], rng) if exchange.laws else ""
        if found:
            return f"{found} at {exchange.source.path}"
    return ""
