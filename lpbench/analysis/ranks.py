"""Ranks of methods on data sets, under the tie rules that the papers mix."""

import numpy as np
import scipy

#: Rule -> how those before a value are counted.
TIES = {"min": (np.less,), "average": (np.less, np.less_equal), "max": (np.less_equal,)}


def ranks(values: np.ndarray, *, larger_is_better: bool, ties: str = "average") -> np.ndarray:
    """Rank each row, 1 being the best; missing values come last and tie with each other.

    Parameters
    ----------
    values : ndarray of shape (..., m)
        Scores of m methods along the last axis; NaN is missing.
    larger_is_better : bool
        True for accuracy, False for errors.
    ties : {"min", "average", "max"}
        Rank of equal values: their first, mean or last place.

    Returns
    -------
    ndarray of shape (..., m)
        Ranks from 1; halves occur with average ties alone.

    Raises
    ------
    ValueError
        If ``ties`` is none of the three words.
    """
    if ties not in TIES:
        raise ValueError(f"ties={ties!r} must be one of {', '.join(TIES)}")
    cost = np.asarray(values, dtype=float) * (-1 if larger_is_better else 1)
    columns = np.ascontiguousarray(np.moveaxis(np.where(np.isnan(cost), np.inf, cost), -1, 0))
    # columns are few: to count those before each takes a quarter of the time of sorting every row
    doubled = np.full(columns.shape, ties != "max", dtype=np.int16)
    for column in columns:
        for before in TIES[ties]:
            doubled += before(column, columns)
    return np.ascontiguousarray(np.moveaxis(doubled / 2 if ties == "average" else doubled, 0, -1))


def rank_sums(values: np.ndarray, *, larger_is_better: bool, ties: str = "average") -> np.ndarray:
    """Sum over data sets of the ranks of the methods.

    Parameters
    ----------
    values : ndarray of shape (datasets, methods)
        A data set without any value is left out; a single missing value is ranked last, as in LPCT's tables with ``-``.
    larger_is_better : bool
        True for accuracy, False for errors.
    ties : {"min", "average", "max"}
        Rank of equal values, see :func:`ranks`.

    Returns
    -------
    ndarray of shape (methods,)
        Rank sum of each method; smaller is better.
    """
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values).all(axis=1)]
    return ranks(values, larger_is_better=larger_is_better, ties=ties).sum(axis=0)


def rank_intervals(values: np.ndarray, *, larger_is_better: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Average ranks of methods (columns) over data sets, and ends of Student's 95 % intervals; NaN from one set."""
    ranked = ranks(values, larger_is_better=larger_is_better)
    count, mean = len(ranked), ranked.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = scipy.stats.t.ppf(0.975, count - 1) * ranked.std(axis=0, ddof=min(1, count - 1)) / np.sqrt(count)
    return mean, np.maximum(mean - half, 1), np.minimum(mean + half, values.shape[1])


def wins(values: np.ndarray, *, larger_is_better: bool) -> np.ndarray:
    """Count for each method the data sets where it is best; every one of several equals counts.

    Parameters
    ----------
    values : ndarray of shape (datasets, methods)
        Scores; NaN is missing.
    larger_is_better : bool
        True for accuracy, False for errors.

    Returns
    -------
    int ndarray of shape (methods,)
        Number of data sets.
    """
    return (ranks(values, larger_is_better=larger_is_better, ties="min") == 1).sum(axis=0)
