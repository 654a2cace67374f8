"""Cells in which private users are counted: bins of a public score, cut further by a public tree."""

import math

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from lpbench.estimators.rounding import grid_step, on_grid, settled
from lpbench.privacy import SubsetSelection

#: Most bins of the score for two classes.
_MOST_BINS = 4
#: Largest standard error that randomization may give the share of a class among all users.
_MAX_SHARE_NOISE = 0.1
#: Leaves of the tree that cuts the score's cells further.
LEAVES = (2, 4, 8, 16, 32)
#: Largest standard error that randomization may give the class share of an average cell, and fewest users in one.
_MAX_NOISE, _FEWEST_USERS = 0.05, 20
#: Weight of the features' spread beside that of the labels in the tree, and principal axes that stand for them.
SPREAD, _AXES = 0.5, 8
#: Bits of the targets of that tree: their sums over any public sample are without error.
_TARGET_BITS = 24


class ScoreCells:
    """Cells made of the bins of the score and, where the budget allows, of the leaves of a regression tree.

    The tree is fitted to the public labels' deviations from the cross-fitted score, so that it cuts where the score
    is least to be trusted, and to the features themselves, so that it goes on cutting, as max-edge trees do, where the
    public labels say nothing. Bins of two classes lie between quantiles of the second one's probability; of more
    classes there is one bin, one a most probable class, or two (a less and a more confident half).
    """

    def __init__(
        self,
        probabilities: np.ndarray,  # (q, n_classes), cross-fitted scores of the public rows
        X: np.ndarray,
        codes: np.ndarray,
        n_bins: int,
        n_leaves: int,  # 1: no tree
        seed: int,
        spread: float = SPREAD,
    ) -> None:
        """Cut the public scores into bins, and public rows by a tree fitted to what the scores leave unexplained."""
        n_classes, probabilities = probabilities.shape[1], settled(probabilities)
        self._bins, self._top = n_bins, n_classes > 2
        top, confidence = probabilities.argmax(axis=1), probabilities.max(axis=1)
        if self._top:
            self._edges = np.array(
                [np.median(confidence[top == k]) if (top == k).any() else 1.0 for k in range(n_classes)]
            )
        else:
            self._edges = np.quantile(probabilities[:, -1], np.linspace(0.0, 1.0, n_bins + 1)[1:-1])
        self._tree, self._leaves = None, np.zeros(1)
        if n_leaves > 1:
            least = max(3, codes.size // (4 * n_leaves))
            self._tree = DecisionTreeRegressor(max_leaf_nodes=n_leaves, min_samples_leaf=least, random_state=seed)
            deviations = np.eye(n_classes)[codes] - probabilities
            targets = np.hstack([deviations, spread * deviations.std() * principal_axes(X)])
            # Features that cut the rows alike tie; errors of rounding, which processors do not share, must not choose.
            self._tree.fit(X, on_grid(targets, grid_step(targets, _TARGET_BITS)))
            self._leaves = np.unique(self._tree.apply(X))
        self.n_cells = n_bins * self._leaves.size

    @property
    def broadcast_bits(self) -> float:
        """Bits of the edges of the bins, and of feature and threshold of each cut of the tree."""
        return 64.0 * (self._edges.size + 2 * (self._leaves.size - 1))

    def locate(self, probabilities: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Cells of rows with the given scores (m, n_classes) and features (m, d), shape (m,)."""
        probabilities = settled(probabilities)
        if not self._top:
            bins = np.searchsorted(self._edges, probabilities[:, -1], side="right")
        else:
            top = probabilities.argmax(axis=1) if self._bins > 1 else np.zeros(len(X), dtype=np.int64)
            halves = max(1, self._bins // self._edges.size)
            bins = halves * top + (halves > 1) * (probabilities.max(axis=1) > self._edges[top])
        if self._tree is None:
            return bins
        return bins * self._leaves.size + np.searchsorted(self._leaves, self._tree.apply(X))


def principal_axes(X: np.ndarray) -> np.ndarray:
    """Rows of X (q, d) on the first principal axes of the standardized features, of total variance at most 1."""
    centered = X - X.mean(axis=0)
    deviation = centered.std(axis=0)
    standardized = centered / np.where(deviation > 0, deviation, 1.0) / math.sqrt(X.shape[1])
    left, lengths, _ = np.linalg.svd(standardized, full_matrices=False)
    return left[:, :_AXES] * lengths[:_AXES]


def affordable_cells(n: int, n_classes: int, epsilon: float) -> tuple[int, int]:
    """Number of bins of the score, and of leaves per bin, from sample size, classes and budget alone.

    With p and q the probabilities of the report (:class:`lpbench.privacy.SubsetSelection`), randomization gives the
    share of a class among all users a standard error of about 1 / (2 sqrt(n) (p - q)), which must not exceed 0.1: the
    more categories, the noisier. For leaves, the noise of an empty cell must not change the class share of a cell with
    n / n_cells users by more than 0.05, and n / n_cells must be at least 20. 1, 1: labels alone are affordable.
    """
    choices = range(1, _MOST_BINS + 1) if n_classes <= 2 else (1, n_classes, 2 * n_classes)

    def report(cells: int) -> SubsetSelection:
        return SubsetSelection.least_variance(epsilon, cells * n_classes)

    def share_noise(bins: int) -> float:
        keep, stray = report(bins).probabilities
        return 1.0 / (2.0 * math.sqrt(n) * (keep - stray))

    bins = max((b for b in choices if share_noise(b) <= _MAX_SHARE_NOISE), default=1)
    affordable = 1
    for leaves in LEAVES if bins == choices[-1] else ():
        cells = bins * leaves
        noise = cells * math.sqrt(report(cells).noise_variance / n)
        if noise <= _MAX_NOISE and n >= _FEWEST_USERS * cells:
            affordable = leaves
    return bins, affordable
