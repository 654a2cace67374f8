"""Train/test splits, subsets and min-max scaling of real data."""

import math

import numpy as np

from lpbench.checks import check_number, check_whole
from lpbench.errors import ConfigurationError
from lpbench.seeds import Streams

SPLITS = ("random", "published", "openml")


def train_test_rows(
    n: int, test_size: float, split: str, streams: Streams, replication: int, units: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Divide rows 0..n-1 into training and test rows, each in random order; the number of test rows is rounded up.

    ``random`` draws from the named stream; ``published`` is scikit-learn's
    ``train_test_split(random_state=replication)``, the legacy seeds of the authors' scripts, for comparison with their
    logs. Rows of one of the ``units`` stand together, in random order, and are all for training or all for testing.
    """
    check_number("test_size", test_size, above=0, below=1)
    if units is not None and split != "random":
        raise ConfigurationError(f"split={split!r} divides the rows of one person; use split=random")
    if split == "published":
        from sklearn.model_selection import train_test_split  # a quarter second, and few splits need it

        return tuple(train_test_split(np.arange(n), test_size=test_size, random_state=replication))
    if split != "random":
        raise ConfigurationError(f"split={split!r} must be one of {', '.join(SPLITS)}")
    order = streams.generator("split").permutation(n)
    n_test = n_test_rows(n, test_size)
    if units is not None:
        rank = streams.generator("units").permutation(units.max() + 1)
        order = order[np.argsort(rank[units[order]], kind="stable")]
        n_test = whole_units(units[order], n_test)
    return order[n_test:], order[:n_test]


def whole_units(units: np.ndarray, size: int) -> int:
    """Least size >= ``size`` at which a list of rows can be cut without dividing a unit (person or household)."""
    ends = np.flatnonzero(np.diff(units, append=-1)) + 1
    return int(ends[np.searchsorted(ends, size)]) if size else 0


def first_of_units(units: np.ndarray, most: int) -> np.ndarray:
    """Positions of the first ``most`` rows of every unit, in a list in which a unit's rows stand together."""
    starts = np.flatnonzero(np.diff(units, prepend=-1))
    return np.flatnonzero(np.arange(units.size) - np.repeat(starts, np.diff(starts, append=units.size)) < most)


def n_test_rows(n: int, test_size: float) -> int:
    """Number of test rows, rounded up as scikit-learn does."""
    return math.ceil(test_size * n)


def n_train_rows(n: int, test_size: float, private_fraction: float) -> int:
    """Number of training rows kept: the fraction of what the test rows leave, to the nearest row, at least one."""
    check_number("private_fraction", private_fraction, above=0, most=1)
    return max(1, math.floor(private_fraction * (n - n_test_rows(n, test_size)) + 0.5))


def publish_rows(
    train: np.ndarray, public_share: float, units: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Divide training rows into private and public ones: two index arrays, the last share being public.

    A larger ``public_share``, in [0, 1), has the rows of a smaller one and more; rows of one person (``units``) stay
    together.
    """
    check_number("public_share", public_share, least=0, below=1)
    n_private = max(1, train.size - math.floor(public_share * train.size + 0.5))
    n_private = n_private if units is None else whole_units(units, n_private)
    return train[:n_private], train[n_private:]


def public_rows(n: int, n_public: int | None, streams: Streams) -> np.ndarray:
    """Choose ``n_public`` of n public rows (None: all, in file order); a smaller choice is part of a larger one."""
    if n_public is None:
        return np.arange(n)
    check_whole("n_public", n_public, least=1, most=n)
    return streams.generator("public").permutation(n)[:n_public]


def first_occurrences(X: np.ndarray, y: np.ndarray, public: np.ndarray | None = None) -> np.ndarray:
    """Rows to keep so that no (features, label) pair occurs twice; of a public and a private row the public."""
    order = np.arange(y.size) if public is None else np.argsort(~public, kind="stable")
    rows = np.ascontiguousarray(np.column_stack([X, y])[order] + 0.0)
    # One opaque value per row: sorting bytes is far quicker than sorting thousands of columns.
    _, first = np.unique(rows.view(np.dtype((np.void, rows.strides[0]))).ravel(), return_index=True)
    return np.sort(order[first])


def min_max_scale(X: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Map the range of each column of ``reference`` (rows, or two rows of bounds) to [0, 1]; a constant column to 0."""
    low, high = reference.min(axis=0), reference.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)
