"""A small forest for weighted regression, whose trees leave out half of the rows, so that all rows are predicted.

scikit-learn's bootstrap draws rows in proportion to their weights, so that a heavy row may never be out of the bag.
Here every row is left out by at least half of the trees (subagging; Bühlmann & Yu 2002), whatever its weight.
"""

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.tree._criterion import MSE, Gini
from sklearn.tree._splitter import BestSplitter
from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

from lpbench.estimators.result_cache import Shared
from lpbench.estimators.rounding import bits_of_exact_sums, grid_step, on_grid
from lpbench.privacy.users import content_hash

N_TREES = 50
#: Most rows of a tree: more of them cost time and change little, since the reports are noisy and trees are many.
MOST_ROWS = 4096
#: Predictions of rows, left out or others, by the content of the forest.
_SHARED = Shared(512)


def grown(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    leaf: int,
    tried: int,
    state: np.random.RandomState,
    classes: int = 0,
    splitter: type = BestSplitter,
) -> Any:
    """Tree of scikit-learn, without its checks, which take longer than a small tree; ``tried``: features of a cut.

    ``y`` is (n,), or (n, outputs) for several labels of a row.
    """
    outputs = 1 if y.ndim == 1 else y.shape[1]
    values = np.full(outputs, max(classes, 1))  # numbers in a leaf
    criterion = Gini(1, values) if classes else MSE(outputs, len(y))
    cuts = splitter(criterion, tried, leaf, 0.0, state, None)
    tree = Tree(X.shape[1], values, outputs)
    builder = DepthFirstTreeBuilder(cuts, 2 * leaf, leaf, 0.0, np.iinfo(np.int32).max, 0.0)
    builder.build(tree, X, np.ascontiguousarray(y.reshape(-1, outputs), dtype=np.float64), weight)
    return tree


class HalfForest:
    """Forest of trees grown on random halves of weighted rows X (n, k), with out-of-half predictions of each row.

    Several labels of a row, (n, outputs), are predicted together, by the same cuts.
    """

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
        """Grow trees on random halves of the rows; average each row's predictions over trees that left it out.

        X (n, k), y (n,) or (n, outputs) and ``weight`` (n,) are the rows, ``leaf`` the least leaf size, ``read`` the
        rows to be predicted, and ``units`` the person of each row, who is left out with all of hers.
        """
        X = X.astype(np.float32)
        n = len(y)
        # Impurities of labels far from zero would lose digits.
        center = np.average(y, axis=0, weights=weight)
        # Features that cut the rows alike tie; errors of rounding, which differ between processors, must not choose.
        bits = bits_of_exact_sums(n, factors=2)
        step = grid_step(y - center, bits)
        self._center = on_grid(center, step)
        y, weight = on_grid(y, step) - self._center, on_grid(weight, grid_step(weight, bits))
        # made anew for a tree it would ask the system for entropy each time
        self.trees, state = list[Any](), np.random.RandomState(0)
        total, count = np.zeros(y.shape), np.zeros(n)
        order, is_read = np.arange(n) if units is None else np.unique(units), np.zeros(n, dtype=bool)
        is_read[read] = True
        for _ in range(N_TREES // 2):
            rng.shuffle(order)
            # Both halves of a split, so that every row is left out equally often.
            for half in (order[: order.size // 2], order[order.size // 2 :]):
                rows = half if units is None else rng.permutation(np.flatnonzero(np.isin(units, half)))
                seen = rows[:MOST_ROWS]
                unseen = is_read.copy()
                unseen[seen] = False
                unseen_rows = np.flatnonzero(unseen)
                state.seed(int(rng.integers(2**31 - 1)))
                tree = grown(X[seen], y[seen], weight[seen], leaf, max(1, X.shape[1] // 2), state)
                self.trees.append(tree)
                total[unseen_rows] += _labels(tree, X[unseen_rows])
                count[unseen_rows] += 1
        self.left_out = self._center + (total[read].T / count[read]).T

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Mean prediction of the trees at rows X (m, k), shape (m,) or (m, outputs)."""
        X = X.astype(np.float32)
        return self._center + sum(_labels(tree, X) for tree in self.trees) / len(self.trees)


def _labels(tree: Any, X: np.ndarray) -> np.ndarray:
    """Prediction of one tree at rows X (m, k), shape (m,) or (m, outputs)."""
    return tree.predict(X)[..., 0]


class SharedForest:
    """HalfForest that is grown only when its predictions are not in the cache that methods share.

    The sample is HalfForest's arguments with a whole number, ``seed``, in place of the generator: a pickle of the
    forest would hold the generator's state.
    """

    def __init__(self, *sample: Any, seed: int) -> None:
        self._sample, self._seed = sample, seed
        self._key = content_hash((sample, seed))
        self.left_out: np.ndarray = _SHARED((self._key,), lambda: self._forest.left_out)

    @cached_property
    def _forest(self) -> HalfForest:
        X, y, weight, leaf, *others = self._sample
        return HalfForest(X, y, weight, leaf, np.random.default_rng(self._seed), *others)

    def __getstate__(self) -> dict[str, Any]:  # whether it was grown is told by nothing
        return {name: value for name, value in vars(self).items() if name != "_forest"}

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Mean prediction of the trees at rows X (m, k), shape (m,)."""
        return _SHARED((self._key, X), lambda: self._forest.predict(X)).copy()
