"""Black-box lower bounds on epsilon from samples, with a stated failure probability.

For every event A an (epsilon, delta)-private randomizer has P(A | v) <= e^epsilon P(A | w) + delta. The event is chosen
on one half of the samples and its two probabilities are bounded on the other half by Clopper and Pearson's exact
intervals, so that the bound holds whatever way the event was found. Both directions of the ratio are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from sklearn.tree import DecisionTreeClassifier

from lpbench.audit.randomizers import Randomizer
from lpbench.seeds import Streams

#: Sets of reports that the search may combine into an event, and the fewest samples (of both values) that make one up.
_MOST_CELLS, _FEWEST_SAMPLES = 48, 40
#: Samples that the cells are cut from; the rest of the half only counts.
_SEARCH_SAMPLES = 40_000
#: Search for the worst pair of values in two rounds: pairs that go on, samples of each value as a share of those of the
#: audit itself, and the fewest of them.
_ROUNDS = ((3, 0.01, 3_000), (1, 0.05, 6_000))
#: Entries of a long report that are looked at one by one.
_MOST_ENTRIES = 16
#: Bins of the histograms in which entries of a report are compared.
_QUANTILES = np.linspace(0.05, 0.95, 19)


@dataclass(frozen=True)
class LowerBound:
    """What a sample proves about a randomizer."""

    epsilon: float  # lower bound, >= 0
    failure_probability: float  # probability that ``epsilon`` exceeds the true loss
    pair: tuple[int, int]  # protected values: the one under which the event is more likely, and the other
    hits: tuple[int, int]  # how often the event occurred under each of them
    n: int  # samples of each value in the half that was tested

    @property
    def confidence(self) -> float:
        """1 - failure probability."""
        return 1.0 - self.failure_probability


def clopper_pearson(hits: ArrayLike, n: int, failure: float) -> tuple[np.ndarray, np.ndarray]:
    """One-sided exact confidence limits of a probability, lower and upper; each fails with probability ``failure``."""
    hits = np.asarray(hits, dtype=np.float64)
    lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1.0), n - hits + 1.0, failure), 0.0)
    upper = np.where(hits < n, betaincinv(hits + 1.0, np.maximum(n - hits, 1.0), 1.0 - failure), 1.0)
    return lower, upper


def epsilon_from_counts(hits: ArrayLike, other_hits: ArrayLike, n: int, delta: float, failure: float) -> np.ndarray:
    """Lower bound log((p - delta) / q) from the counts of an event under two values.

    It is wrong with probability ``failure``, of which each of the two limits gets half.
    """
    lower, _ = clopper_pearson(hits, n, failure / 2.0)
    _, upper = clopper_pearson(other_hits, n, failure / 2.0)
    return np.maximum(np.log(np.maximum(lower - delta, 1e-300)) - np.log(upper), 0.0)


def detectable(n: int, failure: float) -> float:
    """Largest bound that ``n`` samples of each value can give: an event that always occurs against one that never does.

    Half of the samples choose the event, and each direction gets half of the failure probability.
    """
    return float(epsilon_from_counts(n // 2, 0, n // 2, 0.0, failure / 2.0))


def lower_bound(
    randomizer: Randomizer, n: int, streams: Streams, failure: float, pair: tuple[int, int] | None = None
) -> LowerBound:
    """Bound the loss of a randomizer from below by sampling it; without a pair the worst is searched for first."""
    v, w = search_pair(randomizer, n, streams.child("search"), failure) if pair is None else pair
    first = randomizer.sample(v, n, streams.child("audit", value=v))
    second = randomizer.sample(w, n, streams.child("audit", value=w))
    half = n // 2
    counts = _event_counts(first, second, half, randomizer.delta, failure / 2.0)
    bounds = [float(epsilon_from_counts(a, b, n - half, randomizer.delta, failure / 2.0)) for a, b in counts]
    best = int(np.argmax(bounds))
    return LowerBound(bounds[best], failure, (v, w) if best == 0 else (w, v), counts[best], n - half)


def search_pair(randomizer: Randomizer, n: int, streams: Streams, failure: float) -> tuple[int, int]:
    """Return the pair of neighbouring protected values that pilot samples tell apart best.

    ``n`` is the number of samples of the audit, of which the pilots take a part more (theirs are not used again).
    """
    pairs = [p for p in combinations(range(randomizer.n_values), 2) if randomizer.neighbours[p]]
    for number, (survivors, share, fewest) in enumerate(_ROUNDS):
        if len(pairs) <= survivors:
            continue
        size = max(fewest, int(share * n))
        values = set(sum(pairs, ()))
        pilot = {v: randomizer.sample(v, size, streams.child("pilot", heat=number, value=v)) for v in values}
        scores = [_pilot_score(pilot[v], pilot[w], randomizer.delta, failure) for v, w in pairs]
        pairs = [pairs[i] for i in np.argsort(scores)[::-1][:survivors]]
    return pairs[0]


def _pilot_score(first: np.ndarray, second: np.ndarray, delta: float, failure: float) -> float:
    """Bound from a pilot sample; comparing needs no guarantee, and a generous failure probability makes it sharper."""
    half = len(first) // 2
    counts = _event_counts(first, second, half, delta, failure)
    return max(float(epsilon_from_counts(a, b, len(first) - half, delta, 0.3)) for a, b in counts)


def _event_counts(first: np.ndarray, second: np.ndarray, half: int, delta: float, failure: float):
    """Choose an event for each direction on the first ``half`` of the samples and count both events on the rest.

    The reports are cut into cells by a decision tree that tells the two samples apart; the event is a union of the
    cells with the largest ratios, as many as maximise the bound before the test.
    """
    features = features_of(first[:half], second[:half])
    first, second = features(first), features(second)
    m = min(half // 2, _SEARCH_SAMPLES)
    tree = DecisionTreeClassifier(
        criterion="entropy", max_leaf_nodes=_MOST_CELLS, min_samples_leaf=_FEWEST_SAMPLES, random_state=0
    )
    tree.fit(np.concatenate([first[:m], second[:m]]), np.repeat([1, 0], m))
    cells = tree.apply(first), tree.apply(second)
    # Cells are ranked on samples they were not cut from, or the rarest would look the most telling.
    parts = slice(m, half), slice(half, None)
    searched, tested = ([np.bincount(c[part], minlength=tree.tree_.node_count) for c in cells] for part in parts)
    result = []
    for likely, other in ((0, 1), (1, 0)):
        event, _ = likeliest_cells(
            searched[likely], searched[other], lambda a, b: epsilon_from_counts(a, b, half - m, delta, failure)
        )
        result.append((int(tested[likely][event].sum()), int(tested[other][event].sum())))
    return tuple(result)


def likeliest_cells(
    seen: np.ndarray, seen_other: np.ndarray, bound: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> tuple[np.ndarray, float]:
    """Choose the union of cells with the largest ratios that maximises ``bound``; returns cells and bound."""
    order = np.argsort(-(seen + 0.5) / (seen_other + 0.5), kind="stable")
    bounds = bound(np.cumsum(seen[order]), np.cumsum(seen_other[order]))
    best = int(np.argmax(bounds))
    return order[: best + 1], float(bounds[best])


def features_of(first: np.ndarray, second: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a map of reports to features: the entries that differ most and, for vectors, three numbers that sum up.

    These are Fisher's discriminant, which also finds noise that two entries share; the direction between the means,
    along which high-dimensional reports differ; and the log-ratio of histograms summed over the entries, which is the
    best statistic if entries are independent.
    """
    k = first.shape[1]
    if k == 1:
        return single_precision
    difference = first.mean(axis=0) - second.mean(axis=0)
    own, other = np.cov(first, rowvar=False), np.cov(second, rowvar=False)
    covariance = (own + other) / 2.0
    variances = np.diag(covariance) + 1e-300
    scores = np.maximum(np.abs(difference) / np.sqrt(variances), np.abs(np.diag(own - other)) / variances)
    telling = np.sort(np.argsort(-scores, kind="stable")[:_MOST_ENTRIES])
    ridge = 1e-9 * (np.trace(covariance) / k + difference @ difference) + 1e-300
    discriminant = np.linalg.solve(covariance + ridge * np.eye(k), difference)
    directions = np.column_stack([_unit(discriminant), _unit(difference)])
    ratio = _histogram_ratio(first[:, telling], second[:, telling])
    return lambda reports: single_precision(
        np.hstack([reports[:, telling], reports @ directions, ratio(reports[:, telling])])
    )


def _histogram_ratio(first: np.ndarray, second: np.ndarray):
    """Return a map of reports to the summed log-ratios of the two samples' histograms, shape (n, 1)."""
    edges = [np.unique(np.quantile(column, _QUANTILES)) for column in np.concatenate([first, second]).T]

    def bins(reports):
        return [np.searchsorted(e, column, side="right") for e, column in zip(edges, reports.T, strict=True)]

    logs = [
        np.log(np.bincount(a, minlength=e.size + 1) + 1.0) - np.log(np.bincount(b, minlength=e.size + 1) + 1.0)
        for e, a, b in zip(edges, bins(first), bins(second), strict=True)
    ]
    return lambda reports: sum(log[b] for log, b in zip(logs, bins(reports), strict=True))[:, None]


def single_precision(features: np.ndarray) -> np.ndarray:
    """Features as scikit-learn's trees take them."""
    return np.clip(features, -1e30, 1e30).astype(np.float32)


def _unit(vector: np.ndarray) -> np.ndarray:
    length = math.sqrt(float(vector @ vector))
    return vector / length if length > 0 else vector
