"""Slopes of curves: convergence rates on double logarithmic axes, trends, and their bootstrap intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lpbench.seeds import Streams

BOOTSTRAP = 2000
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate with its percentile bootstrap interval.

    Parameters
    ----------
    estimate : float
        Value of the statistic on all replications.
    low, high : float
        Ends of the interval, in the estimate's unit.
    """

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.3g} [{self.low:.3g}, {self.high:.3g}]"


def slope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least-squares slope of y against x along the last axis; y of shape (..., k), x of shape (k,).

    Parameters
    ----------
    x : array_like of shape (k,)
        Places on the axis, at least two different ones.
    y : array_like of shape (..., k)
        Values at these places, a curve along the last axis.

    Returns
    -------
    ndarray of shape (...)
        Slope of each curve, in units of y for one of x.

    Raises
    ------
    ValueError
        If x has fewer than two different places.
    """
    x = np.asarray(x, dtype=float)
    if x.size < 2 or np.ptp(x) == 0:
        raise ValueError(f"a slope needs two different places on the axis, got x={x.tolist()}")
    centered, y = x - x.mean(), np.asarray(y, dtype=float)
    # differences to the first: a constant has slope 0, not a rounding error
    return (y - y[..., :1]) @ centered / (centered @ centered)


def loglog_slope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Slope of log y against log x: ``-e`` for a risk that falls like ``x**-e``. Shapes as :func:`slope`.

    Parameters
    ----------
    x : array_like of shape (k,)
        Places on the axis, > 0.
    y : array_like of shape (..., k)
        Values at these places, > 0.

    Returns
    -------
    ndarray of shape (...)
        Exponent of each curve, without unit.
    """
    return slope(np.log(x), np.log(y))


def local_slopes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Slopes of log y against log x between neighbors, shape (..., k - 1): they show where a rate sets in.

    Parameters
    ----------
    x : array_like of shape (k,)
        Places on the axis, > 0 and increasing.
    y : array_like of shape (..., k)
        Values at these places, > 0.

    Returns
    -------
    ndarray of shape (..., k - 1)
        One exponent for each pair of neighbors.
    """
    return np.diff(np.log(y), axis=-1) / np.diff(np.log(x))


def bootstrap_means(samples: np.ndarray, *, draws: int = BOOTSTRAP) -> np.ndarray:
    """Mean curves of resampled replications.

    A replication is drawn with its whole curve, so the pairing of the places on the axis is kept.

    Parameters
    ----------
    samples : ndarray of shape (R, ...)
        One curve per replication.
    draws : int
        Number of resamples.

    Returns
    -------
    ndarray of shape (draws, ...)
        The mean curve of each resample.
    """
    samples = np.asarray(samples, dtype=float)
    return np.tensordot(_weights(len(samples), draws), samples, axes=1)


@lru_cache(maxsize=4)
def _weights(count: int, draws: int) -> np.ndarray:
    draw = Streams(0).generator("bootstrap", replications=count, draws=draws)
    return draw.multinomial(count, np.full(count, 1 / count), size=draws) / count


def bootstrap(
    samples: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray], *, draws: int = BOOTSTRAP
) -> Interval:
    """Percentile bootstrap interval, over replications, of a statistic of the mean curve, at :data:`LEVEL`.

    Parameters
    ----------
    samples : ndarray of shape (R, k)
        One curve per replication.
    statistic : callable
        Maps mean curves of shape (..., k) to shape (...).
    draws : int
        Number of resamples.

    Returns
    -------
    Interval
        The statistic of the mean curve, with quantiles of its resampled values.
    """
    values = statistic(bootstrap_means(samples, draws=draws))
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(statistic(np.mean(samples, axis=0))), float(low), float(high))


def ratio_of_means(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Ratio of two paired means and its standard error by the delta method; shapes (R,) each.

    Parameters
    ----------
    a, b : array_like of shape (R,)
        Scores of two methods, paired by replication.

    Returns
    -------
    ratio : float
        Mean of a over the mean of b.
    se : float
        Its standard error; NaN of a single replication.
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    ratio = a.mean() / b.mean()
    if a.size < 2:
        return float(ratio), float("nan")
    return float(ratio), float(np.std(a - ratio * b, ddof=1) / np.sqrt(a.size) / abs(b.mean()))
