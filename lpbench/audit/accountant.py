"""Accountant: what every user was asked in a fit or sweep, added up and held to the guarantee."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from lpbench.audit.leaks import Tape

#: Rounding error allowed to a sum of budgets, relative.
_ROUNDING = 1e-6
#: Probability that the noise of an honest call is called wrong.
FALSE_ALARM = 1e-9


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
    times = {e.source.path: e.source.times for e in tape if e.source.times is not None}
    for path, count in book.asked.items():
        due = times[path](fitted)
        wrong = Counter(count[count != due].tolist())
        if wrong:
            return f"{sum(wrong.values())} users are asked {sorted(wrong)} times instead of {due} at {path}"
    return ""


def wrong_noise(tape: Tape) -> str:
    """Say which labels' noise does not have the law that its question implies; empty if all of them do.

    Two tests of a call's noise: its mean absolute value (n absolute Laplace variables add up to a Gamma variable) and
    its distribution (Kolmogorov-Smirnov).
    """
    for exchange in tape:
        noise = exchange.asked.noise
        if noise is None or not np.any(noise):
            continue
        size = float(np.abs(noise).sum())
        tails = stats.gamma(noise.size).cdf(size), stats.gamma(noise.size).sf(size)
        p = min(1.0, 4.0 * min(tails), 2.0 * stats.kstest(noise, "laplace").pvalue)
        if p < FALSE_ALARM:
            mean = size / noise.size
            return f"the noise is {mean:.3g} times as large as asked for at {exchange.source.path} (p < {p:.0e})"
    return ""
