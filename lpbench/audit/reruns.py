"""Whole fits and sweeps under other seeds: what is drawn outside the recorded calls is sampled as well.

The results of one call in all runs are pooled and held to their law, and the results of any two calls are compared
user by user: the noise of one report must tell nothing of that of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lpbench.audit.drawn_laws import Law
from lpbench.audit.leaks import Exchange, Tape
from lpbench.audit.repeats import FALSE_ALARM, bernstein, broken_law, normal_scores

#: Seeds of the runs.
SEEDS = range(201, 207)

#: Place of a call in a run: report source, and how often that was called before.
Place = tuple[str, int]


def broken_runs(tapes: Sequence[Tape], n: int) -> str:
    """Say which results of several runs, of n users each, do not have the law of their questions.

    Parameters
    ----------
    tapes : sequence of Tape
        Of the same run under different seeds.
    n : int

    Returns
    -------
    str
        Empty if all of them do.
    """
    runs = [_by_place(tape) for tape in tapes]
    rng = np.random.default_rng(20260304)
    places = list(dict.fromkeys(place for run in runs for place in run))
    for place in places:
        pooled = _pooled([run[place].laws[0] for run in runs if place in run])
        found = broken_law(pooled, (), rng)
        if found:
            return f"{found} at {place[0]}"
    for one, other in combinations(places, 2):
        p = _together([(run[one], run[other]) for run in runs if one in run and other in run], n)
        if p < FALSE_ALARM:
            return f"the same user's reports go together (p < {max(p, 1e-99):.0e}) at {one[0]} and {other[0]}"
    return ""


def _by_place(tape: Tape) -> dict[Place, Exchange]:
    found: dict[Place, Exchange] = {}
    calls: dict[str, int] = {}
    for exchange in tape:
        path = exchange.source.path
        if exchange.laws:
            found[path, calls.get(path, 0)] = exchange
        calls[path] = calls.get(path, 0) + 1
    return found


def _pooled(laws: Sequence[Law]) -> Law:
    """One law of the results of several runs."""

    def joined(parts: list[np.ndarray]) -> np.ndarray | None:
        return np.concatenate(parts) if parts else None

    # Statistics beyond the first are of what a call draws beforehand.
    told = [law.told[0] for law in laws if law.told]
    return Law(
        noise=joined([law.noise for law in laws if law.noise is not None]),
        told=(tuple(np.concatenate(part) for part in zip(*told, strict=True)),) if told else (),  # type: ignore[arg-type]
        normal=joined([law.normal for law in laws if law.normal is not None]),
    )


def _together(pairs: Sequence[tuple[Exchange, Exchange]], n: int) -> float:
    """Bound the probability that the reports of two calls go together as much as they do."""
    products = []
    for one, other in pairs:
        scores = [_scores(exchange, n) for exchange in (one, other)]
        products.append(scores[0] * scores[1])
    both = np.concatenate(products) if products else np.empty(0)
    both = both[both != 0]
    return bernstein(np.array(both.sum()), np.array(both.size), float(np.abs(both).max())) if both.size else 1.0


def _scores(exchange: Exchange, n: int) -> np.ndarray:
    """What every user's report tells beside the truth, with mean 0 and variance 1; 0 of users who were not asked."""
    law, scores = exchange.laws[0], np.zeros(n)
    if law.noise is not None:
        values = normal_scores(law.noise)
    elif law.told:
        told, mean, variance = law.told[0]
        values = np.divide(told - mean, np.sqrt(variance), out=np.zeros(told.size), where=variance > 0)
    else:
        return scores
    users = law.users if law.users is not None else exchange.asked.users
    if users is None and exchange.source.times is not None:
        users = np.arange(n)
    if users is not None and len(users) == values.size:
        scores[users] = values
    return scores
