"""Statistics that checks of claims are made of: functions of the scores of some cells, by name.

A statistic maps means of shape (..., k) to shape (...); those in :data:`WITHIN` map replications (R, k) to one value
each. What it needs besides stands in plain numbers, so that a reader of ``claims_instances.csv`` can compute it again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from lpbench.analysis.ranks import ranks

#: Scores enter a check with this many significant digits: those of the files that show them.
DIGITS = 6
#: Means that agree to so many digits are equal in rank.
EQUAL = 10
_POWERS = 10.0 ** np.arange(23)

Statistic = Callable[..., np.ndarray]
STATISTICS: dict[str, Statistic] = {}
#: Statistics with one value per replication, which have Student's interval; those of means are bootstrapped.
WITHIN = ("linear", "dip", "stated")


def _named(function: Statistic) -> Statistic:
    STATISTICS[function.__name__] = function
    return function


def significant(values: np.ndarray, digits: int = DIGITS) -> np.ndarray:
    """Round to significant digits, by default to those of the files, which therefore give the same outcomes."""
    values = np.asarray(values, dtype=float)
    size = np.where(np.isfinite(values) & (values != 0), np.abs(values), 1.0)
    # draws of a cell lie close together: where the ends of each have the same power of ten, all have
    ends = np.floor(np.log10([size.min(axis=0), size.max(axis=0)])) if values.ndim > 2 else np.arange(2)
    power = ends[0] if (ends[0] == ends[1]).all() else np.floor(np.log10(size))
    scale = _POWERS[np.clip(digits - 1 - power, 0, 22).astype(int)]
    return np.round(values * scale) / scale


@_named
def linear(y: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """Weighted sum of scores, such as a difference or a slope along the axis.

    Scores y (..., k) are summed with the ``weights`` (k,) on the last axis.
    """
    return y @ np.asarray(weights, dtype=float)


@_named
def stated(y: np.ndarray, unit: str) -> np.ndarray:
    """Counted or computed number without sampling error."""
    return y[..., 0]


@_named
def log_linear(y: np.ndarray, weights: Sequence[float], floor: float = 0.0) -> np.ndarray:
    """Weighted sum of logarithms of scores, such as the logarithm of a ratio, or an exponent.

    The natural logarithms of scores y (..., k) above ``floor`` are summed with the ``weights`` (k,).
    """
    return np.log(np.maximum(y - floor, 1e-300)) @ np.asarray(weights, dtype=float)


@_named
def trend(y: np.ndarray, x: Sequence[float]) -> np.ndarray:
    """Spearman's rank correlation between axis and score (0 for a constant curve)."""
    rank_of_x = scipy.stats.rankdata(x) - (len(x) + 1) / 2
    rank = scipy.stats.rankdata(np.round(y, 12), axis=-1) - (len(x) + 1) / 2
    size = np.sqrt((rank_of_x @ rank_of_x) * (rank**2).sum(axis=-1))
    return (rank @ rank_of_x) / np.where(size > 0, size, 1.0)


@_named
def dip(y: np.ndarray, sign: float = 1) -> np.ndarray:
    """Depth of a U: the score at the better end of the axis minus the best score between the ends.

    With ``sign=-1`` the curve is turned upside down.
    The location of the minimum is chosen on one half of the replications and tested on the other, because the minimum
    of noisy means always looks like a U.
    """
    y, depth = sign * y, np.empty(len(y))
    for half in (0, 1):
        end, inside = dip_places(y[1 - half :: 2] if len(y) > 1 else y)
        depth[half::2] = y[half::2, end] - y[half::2, inside]
    return depth


def dip_places(y: np.ndarray) -> tuple[int, int]:
    """Indices of the lower of a curve's two ends and of its smallest point inside, for scores (R, k)."""
    mean = y.mean(axis=0)
    return (0 if mean[0] <= mean[-1] else len(mean) - 1), 1 + int(mean[1:-1].argmin())


@_named
def spread(y: np.ndarray) -> np.ndarray:
    """Largest score minus smallest score."""
    return np.ptp(y, axis=-1)


@_named
def ratio_of_spreads(y: np.ndarray) -> np.ndarray:
    """Range (largest minus smallest score) of one curve divided by the range of the other curve.

    The last axis of y has the curve that is compared with first.
    """
    first, second = np.split(y, 2, axis=-1)
    return spread(second) / np.maximum(spread(first), 1e-300)


@_named
def gap_of_best(y: np.ndarray) -> np.ndarray:
    """Smallest score of a competing curve minus the smallest score of the curve that the claim calls better.

    The first half of the last axis of y is the first curve. It is above 0 where the first curve is better.
    """
    first, second = np.split(y, 2, axis=-1)
    return second.min(axis=-1) - first.min(axis=-1)


@_named
def trend_of_best(y: np.ndarray, x: Sequence[float], curves: int, sign: float = 1) -> np.ndarray:
    """Change, from curve to curve, of the axis value with the best score (least-squares slope).

    The last axis of y has ``curves`` curves one after the other, each at the places ``x``; best is least, or with
    ``sign=-1`` largest. The slope is in units of x a curve.
    """
    places = np.asarray(x, dtype=float)[(sign * y.reshape(*y.shape[:-1], curves, -1)).argmin(axis=-1)]
    centered = np.arange(curves) - (curves - 1) / 2
    # places that stay have slope 0, not a rounding error
    return np.round(places @ centered / (centered @ centered), 9)


@_named
def excess_over_best(y: np.ndarray, floor: float) -> np.ndarray:
    """Relative excess of a method's score over the best score of the others, in some rules after subtracting noise.

    The method is first on the last axis of y; the noise is ``floor``.
    """
    return (y[..., 0] - floor) / (y[..., 1:].min(axis=-1) - floor) - 1


@_named
def loss_of_any_single(y: np.ndarray, curves: int, floor: float) -> np.ndarray:
    """Smallest, over the curves, of a curve's largest relative excess over the best curve."""
    above = y.reshape(*y.shape[:-1], curves, -1) - floor
    return (above / above.min(axis=-2, keepdims=True) - 1).max(axis=-1).min(axis=-1)


@_named
def rank_sum_gap(
    y: np.ndarray, columns: int, proposed: int, ties: str, sign: float = 1, all_proposed: bool = True
) -> np.ndarray:
    """Rank sum of the columns that are expected to lose minus rank sum of the columns that are expected to win.

    Cells are a table row by row, the proposed columns first, which are expected to win; a missing cell ranks last. Of
    the other columns the best counts. Of the proposed ones the worst counts, or the best unless ``all_proposed``.
    """
    cost = sign * significant(y.reshape(*y.shape[:-1], -1, columns), EQUAL)
    sums = ranks(cost, larger_is_better=False, ties=ties).sum(axis=-2)
    ours, others = sums[..., :proposed], sums[..., proposed:]
    return others.min(axis=-1) - (ours.max(axis=-1) if all_proposed else ours.min(axis=-1))


@_named
def wins_gap(y: np.ndarray, columns: int, proposed: int, sign: float = 1) -> np.ndarray:
    """Data sets won by a proposed method minus data sets won by a competitor. A tie counts for both."""
    cost = np.nan_to_num(sign * significant(y.reshape(*y.shape[:-1], -1, columns), EQUAL), nan=np.inf)
    best = cost == cost.min(axis=-1, keepdims=True)
    return best[..., :proposed].any(axis=-1).sum(axis=-1) - best[..., proposed:].any(axis=-1).sum(axis=-1)


@_named
def median_ratio(y: np.ndarray) -> np.ndarray:
    """Median, over the cells of the tables, of (score of one method) / (score of the other method).

    The last axis of y has the scores of the one, then those of the other.
    """
    first, second = np.split(y, 2, axis=-1)
    return np.median(first / second, axis=-1)


@_named
def log_gap(y: np.ndarray, first: int) -> np.ndarray:
    """Decimal logarithm of (smallest score of one group of methods) / (largest score of the other group).

    The ``first`` scores are the one group.
    """
    return np.log10(np.nanmin(y[..., :first], axis=-1) / np.nanmax(y[..., first:], axis=-1))


@_named
def gained_or_vanished(y: np.ndarray, weights: Sequence[float], vanished: float) -> np.ndarray:
    """The larger of two numbers: a difference of exponents, and log(allowed ratio of risks / ratio at the largest n).

    Cells are a curve and then its reference, at the same places; the ratio that is allowed is ``vanished``.
    """
    first, second = np.split(y, 2, axis=-1)
    return np.maximum(log_linear(y, weights), np.log(vanished * second[..., -1] / first[..., -1]))


def meaning(name: str) -> str:
    """Return the first line of a statistic's docstring; empty without such a statistic."""
    return (getattr(STATISTICS.get(name), "__doc__", "") or "").partition("\n")[0].replace("``", "")


#: Units of statistics; those of the others are the scores'.
UNITS = {
    "log_linear": "natural logarithms",
    "gained_or_vanished": "natural logarithms",
    "log_gap": "decimal logarithms",
    "trend": "none (a correlation)",
    "trend_of_best": "units of the axis per curve",
    "ratio_of_spreads": "none (a ratio)",
    "median_ratio": "none (a ratio)",
    "excess_over_best": "share of the best error",
    "loss_of_any_single": "share of the best error",
    "rank_sum_gap": "ranks, summed over data sets",
    "wins_gap": "data sets",
}


def unit(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the unit of a statistic in words."""
    return arguments.get("unit") or UNITS.get(name, "that of the scores in this table or figure")


def statistic(name: str, y: np.ndarray, arguments: dict[str, Any]) -> np.ndarray:
    """Compute a named statistic of the scores of some cells, y (..., k cells), with its arguments: shape (...)."""
    return np.asarray(STATISTICS[name](np.asarray(y, dtype=float), **arguments), dtype=float)
