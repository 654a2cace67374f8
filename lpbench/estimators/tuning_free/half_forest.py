"""A small forest for weighted regression, whose trees leave out half of the rows, so that all rows are predicted.

scikit-learn's bootstrap draws rows in proportion to their weights, so that a heavy row may never be out of the bag.
Here every row is left out by at least half of the trees (subagging; Bühlmann & Yu 2002), whatever its weight.
"""

from __future__ import annotations

import numpy as np
from sklearn import config_context
from sklearn.tree import DecisionTreeRegressor

from lpbench.estimators.stable import bits_of_exact_sums, grid_step, on_grid

N_TREES = 50
#: Most rows of a tree: more of them cost time and change little, since the reports are noisy and trees are many.
MOST_ROWS = 4096


class HalfForest:
    """Grow the forest on rows X (n, k) with weights in every mean and cut; ``leaf``: fewest rows in a leaf."""

    left_out: np.ndarray  # mean prediction of each row, or of those that are ``read``, by trees that did not see it

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        leaf: int,
        rng: np.random.Generator,
        read: np.ndarray | slice = slice(None),
        units: np.ndarray | None = None,  # person of each row: all rows of one are left out together
    ) -> None:
        X = X.astype(np.float32)
        n = y.size
        # Impurities of labels far from zero would lose digits.
        centre = np.average(y, weights=weight)
        # Features that cut the rows alike tie; errors of rounding, which differ between processors, must not choose.
        bits = bits_of_exact_sums(n, factors=2)
        step = grid_step(y - centre, bits)
        self._centre = on_grid(centre, step)
        y, weight = on_grid(y, step) - self._centre, on_grid(weight, grid_step(weight, bits))
        self.trees: list = []
        total, count = np.zeros(n), np.zeros(n)
        order, is_read = np.arange(n) if units is None else np.unique(units), np.zeros(n, dtype=bool)
        is_read[read] = True
        # For a small sample scikit-learn's checks of every tree would take as long as its growth.
        with config_context(skip_parameter_validation=True):
            for _ in range(N_TREES // 2):
                rng.shuffle(order)
                # Both halves of a split, so that every row is left out equally often.
                for half in (order[: order.size // 2], order[order.size // 2 :]):
                    rows = half if units is None else rng.permutation(np.flatnonzero(np.isin(units, half)))
                    seen = rows[:MOST_ROWS]
                    unseen = is_read.copy()
                    unseen[seen] = False
                    other = np.flatnonzero(unseen)
                    tree = DecisionTreeRegressor(
                        min_samples_leaf=leaf, max_features=0.5, random_state=int(rng.integers(2**31 - 1))
                    )
                    tree = tree.fit(X[seen], y[seen], weight[seen], check_input=False).tree_
                    self.trees.append(tree)
                    total[other] += tree.predict(X[other])[:, 0]
                    count[other] += 1
        self.left_out = self._centre + total[read] / count[read]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Mean prediction of the trees at rows X (m, k), shape (m,)."""
        X = X.astype(np.float32)
        return self._centre + sum(tree.predict(X)[:, 0] for tree in self.trees) / len(self.trees)
