"""Partitions cut at few candidates: the search of LPCT's released code, for CART and for max-edge cuts."""

import numpy as np

from lpbench.partitions.tree import TreePartition

#: Candidate thresholds of a feature: quantiles 1/20, 3/20, ..., 19/20 of its distinct values in the cell.
THRESHOLDS = 10

#: Rows of a cell, and its lower and upper corner.
_Cell = tuple[np.ndarray, np.ndarray, np.ndarray]

#: Decimals of a gain that count: sums of the same rows in another order differ by less.
_DECIMALS = 12


class CandidateCuts:
    """Grow trees of several depths and leaf sizes from one sample; a cell is searched once.

    Every feature has a candidate: the best of ten quantiles of its distinct values in the cell (CART), or the midpoint
    of its edge if that is a longest one (max-edge). The features are put in the order of their gains, smaller indices
    first where gains are equal, and the cell is cut by the first one in the best tenth of them that leaves both
    children enough rows. If none does, the cell is a leaf, even if a cut with a smaller gain would.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, *, midpoints: bool, criterion: str) -> None:
        # at least one row; ``midpoints``: max-edge cuts, which halve the unit cube, instead of CART
        self.X, self.midpoints, self.criterion = np.asarray(X, dtype=np.float64), midpoints, criterion
        self.of_class = np.eye(int(np.max(codes)) + 1)[np.asarray(codes)]
        self.bounds = np.minimum(self.X.min(axis=0), 0.0), np.maximum(self.X.max(axis=0), 1.0)
        self._known: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def grow(self, depth: int, min_samples_leaf: int) -> TreePartition:
        """Grow the tree of a depth and a leaf size of at least 1."""
        n, d = self.X.shape
        cells = [(np.arange(n), np.zeros(d), np.ones(d))]
        features, thresholds, sizes = [], [], []
        for level in range(depth + 1):
            cuts = [self._cut(*cell, min_samples_leaf) if level < depth else None for cell in cells]
            features.append([-1 if cut is None else cut[0] for cut in cuts])
            thresholds.append([0.0 if cut is None else cut[1] for cut in cuts])
            sizes.append([rows.size for rows, _, _ in cells])
            cells = [child for cell, cut in zip(cells, cuts, strict=True) if cut for child in self._halves(cell, *cut)]
            if not cells:
                break
        return TreePartition.from_levels(features, thresholds, sizes, self.bounds)

    def _halves(self, cell: _Cell, feature: int, at: float) -> list[_Cell]:
        """The two children of a cell (rows, lower corner, upper corner), cut at ``at`` of a feature: x < at first."""
        rows, lower, upper = cell
        right = self.X[rows, feature] >= at
        below, above = upper.copy(), lower.copy()
        below[feature] = above[feature] = at
        return [(rows[~right], lower, below), (rows[right], above, upper)]

    def _cut(
        self, rows: np.ndarray, lower: np.ndarray, upper: np.ndarray, min_samples_leaf: int
    ) -> tuple[int, float] | None:
        """Feature and threshold that cut a cell (rows and its box); None: it is a leaf."""
        if rows.size < 2 * min_samples_leaf:
            return None
        key = rows.tobytes() + (np.concatenate([lower, upper]).tobytes() if self.midpoints else b"")
        if key not in self._known:
            self._known[key] = self._ranked(rows, lower, upper)
        features, at, smaller = self._known[key]
        enough = np.flatnonzero(smaller >= min_samples_leaf)
        return (int(features[enough[0]]), float(at[enough[0]])) if enough.size else None

    def _ranked(
        self, rows: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The best tenth of the features by gain, best first: features, thresholds, rows of the smaller child.

        A feature without a gain has 0 rows there, so that it cuts nothing.
        """
        X, of_class = self.X[rows], self.of_class[rows]
        features = np.arange(X.shape[1])
        if self.midpoints:
            edge = upper - lower
            features = np.flatnonzero(edge == edge.max())
            at = ((lower + upper) / 2.0)[None, features]
        else:
            at = _quantiles(X)
        gain, left = self._gains(X[:, features], of_class, at)
        best = gain.argmax(axis=0)
        gain, left, at = (np.take_along_axis(a, best[None], axis=0)[0] for a in (gain, left, at))
        order = np.argsort(-gain, kind="stable")[: max(1, (features.size + 5) // 10)]
        # a quantile without a gain is no cut; a midpoint is one
        smaller = np.where(self.midpoints | (gain > 0), np.minimum(left, rows.size - left), 0)
        return features[order], at[order], smaller[order]

    def _gains(self, X: np.ndarray, of_class: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Decrease of the impurity and rows on the left of cuts, both of shape (n_candidates, n_features).

        ``X`` (n, n_features) are a cell's rows, ``of_class`` (n, n_classes) their one-hot classes, ``at`` the
        thresholds.
        """
        total = of_class.sum(axis=0)
        left = np.stack([of_class.T @ (X < threshold) for threshold in at])
        n_left = left.sum(axis=1)
        children = self._impurities(left) + self._impurities(total[:, None] - left)
        return np.round((self._impurities(total[:, None]) - children) / len(X), _DECIMALS), n_left

    def _impurities(self, counts: np.ndarray) -> np.ndarray:
        """Impurity times rows, from counts of shape (..., n_classes, n)."""
        n = counts.sum(axis=-2, keepdims=True)
        share = counts / np.maximum(n, 1.0)
        if self.criterion == "gini":
            return (counts * (1.0 - share)).sum(axis=-2)
        return -(counts * np.log2(np.where(share > 0, share, 1.0))).sum(axis=-2)


def _quantiles(X: np.ndarray) -> np.ndarray:
    """Quantiles of the distinct values of every feature, between neighbors by interpolation: (THRESHOLDS, d)."""
    values = np.sort(X, axis=0)
    rank = np.cumsum(np.diff(values, axis=0, prepend=values[:1]) > 0, axis=0, dtype=np.intp)
    distinct = np.empty_like(values)
    np.put_along_axis(distinct, rank, values, axis=0)
    last = rank[-1]
    position = (np.arange(THRESHOLDS)[:, None] + 0.5) / THRESHOLDS * last
    low = position.astype(np.intp)
    share, below = position - low, np.take_along_axis(distinct, low, axis=0)
    return below + share * (np.take_along_axis(distinct, np.minimum(low + 1, last), axis=0) - below)
