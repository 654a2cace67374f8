"""Scores of candidate cuts from sums over the samples on either side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy

import numpy as np

from lpbench.partitions.groups import SampleGroups

CRITERIA = ("variance", "gini", "entropy")
SCORES = ("weighted", "algorithm1")


class SplitStatistics(ABC):
    """Collects sufficient statistics of a cut's two sides and turns them into scores (larger is better)."""

    #: What each group of samples adds to its side, (n_groups,) each: count and sum (and sum of squares) of the labels,
    #: or the count of each class.
    columns: list[np.ndarray]
    #: Scores closer than this are ties: sums of the same samples in another order differ by less.
    tolerance: float

    @staticmethod
    def of(
        y: np.ndarray,
        criterion: str,
        n_classes: int | None = None,
        score: str = "weighted",
        groups: SampleGroups | None = None,
    ) -> SplitStatistics:
        """Build the statistics for labels ``y`` of shape (n,); see :func:`grow_max_edge` for the options.

        ``groups`` groups samples that no split separates; None: every sample by itself.
        """
        groups = SampleGroups.singletons(np.size(y)) if groups is None else groups
        if criterion not in CRITERIA:
            raise ValueError(f"criterion={criterion!r} must be one of {CRITERIA}")
        if score not in SCORES:
            raise ValueError(f"score={score!r} must be one of {SCORES}")
        if criterion == "variance":
            return _Moments(y, score, groups)
        return _ClassCounts(y, criterion, n_classes, score, groups)

    @staticmethod
    def join(parts: Sequence[SplitStatistics]) -> SplitStatistics:
        """Put the groups of several samples one after the other; scores are those of the first part's criterion."""
        joined = copy(parts[0])
        joined.columns = [np.concatenate(column) for column in zip(*(p.columns for p in parts), strict=True)]
        return joined

    @property
    def width(self) -> int:
        """Number of sums kept for each side of a cut."""
        return len(self.columns)

    def add(self, total: np.ndarray, key: np.ndarray, select: slice | np.ndarray) -> None:
        """Add the sums of selected groups to columns ``key`` (n_selected, c) of ``total`` (width, n_cells)."""
        flat = key.reshape(-1)
        for sums, column in zip(total, self.columns, strict=True):
            sums += np.bincount(flat, weights=np.repeat(column[select], key.shape[1]), minlength=sums.size)

    @abstractmethod
    def score(self, stats: np.ndarray) -> np.ndarray:
        """Score cuts from their sums of shape (..., 2, width); -inf where no sample is available."""


class _Moments(SplitStatistics):
    """Count, sum and, for ``algorithm1``, sum of squares of numeric labels on the sides of a cut."""

    def __init__(self, y: np.ndarray, score: str, groups: SampleGroups):
        y = np.asarray(y, dtype=np.float64)
        y = y - y.mean() if y.size else y
        self.columns = [groups.counts, groups.sums(y)]
        if score == "algorithm1":
            self.columns.append(groups.sums(y * y))
        self.tolerance = 1e-10 * float(np.mean(y * y)) if y.size else 0.0

    def score(self, stats: np.ndarray) -> np.ndarray:
        """Return each cut's decrease of the variance, or (``algorithm1``) minus the sum of the children's variances.

        ``stats`` (..., 2 sides, width) are counts, sums and perhaps sums of squares.
        """
        return self._weighted(stats) if self.width == 2 else self._algorithm1(stats)

    @staticmethod
    def _weighted(stats: np.ndarray) -> np.ndarray:
        """Variance decrease of each cut per sample that shows the feature, from counts and sums; -inf without any."""
        count, label_sum = stats[..., 0], stats[..., 1]
        between = _ratio(label_sum**2, count).sum(axis=-1) - _ratio(label_sum.sum(axis=-1) ** 2, count.sum(axis=-1))
        return np.where(count.sum(axis=-1) > 0, _ratio(between, count.sum(axis=-1)), -np.inf)

    @staticmethod
    def _algorithm1(stats: np.ndarray) -> np.ndarray:
        count, label_sum, squares = np.moveaxis(stats, -1, 0)
        variance = np.maximum(_ratio(squares, count) - _ratio(label_sum, count) ** 2, 0.0)
        return np.where((count > 0).all(axis=-1), -variance.sum(axis=-1), -np.inf)


class _ClassCounts(SplitStatistics):
    """Class counts on the sides of a cut, for the Gini impurity and the entropy."""

    def __init__(self, y: np.ndarray, criterion: str, n_classes: int | None, score: str, groups: SampleGroups):
        y = np.asarray(y, dtype=np.intp)
        self.columns = [groups.sums((y == k).astype(np.float64)) for k in range(int(n_classes or y.max() + 1))]
        self.impurity = _gini if criterion == "gini" else _entropy
        self._kind = score
        self.tolerance = 1e-10

    def score(self, stats: np.ndarray) -> np.ndarray:
        """Return each cut's decrease of the impurity, or (``algorithm1``) minus the sum of the children's impurities.

        ``stats`` are class counts on the two sides.
        """
        return self._weighted(stats) if self._kind == "weighted" else self._algorithm1(stats)

    def _weighted(self, stats: np.ndarray) -> np.ndarray:
        count = stats.sum(axis=-1)
        size = count.sum(axis=-1)
        children = _ratio((count * self.impurity(stats, count)).sum(axis=-1), size)
        return np.where(size > 0, self.impurity(stats.sum(axis=-2), size) - children, -np.inf)

    def _algorithm1(self, stats: np.ndarray) -> np.ndarray:
        count = stats.sum(axis=-1)
        return np.where((count > 0).all(axis=-1), -self.impurity(stats, count).sum(axis=-1), -np.inf)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Divide, 0/0 = 0 (numerators vanish wherever denominators do)."""
    return numerator / np.where(denominator > 0, denominator, 1.0)


def _gini(stats: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.where(count > 0, 1.0 - np.sum(_ratio(stats, count[..., None]) ** 2, axis=-1), 0.0)


def _entropy(stats: np.ndarray, count: np.ndarray) -> np.ndarray:
    p = _ratio(stats, count[..., None])
    return -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1)


def choose(scores: np.ndarray, candidates: np.ndarray, tolerance: float | np.ndarray) -> np.ndarray:
    """Return, row by row, the smallest candidate column whose score is within ``tolerance`` of the best.

    ``tolerance`` is a number or a column of one number per row.
    """
    scores = np.where(candidates, scores, -np.inf)
    best = scores.max(axis=1, keepdims=True)
    return (candidates & (scores >= best - tolerance)).argmax(axis=1)
