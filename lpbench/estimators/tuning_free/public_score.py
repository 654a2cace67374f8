"""Class probabilities from the public sample: forests of several leaf sizes, weighted by out-of-bag likelihood."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.tree._splitter import BestSplitter, RandomSplitter
from sklearn.utils import check_array

from lpbench.estimators.result_cache import Shared
from lpbench.estimators.tuning_free.half_forest import grown
from lpbench.estimators.tuning_free.leaf_sets import Halves, LeafTable
from lpbench.privacy.users import content_hash

#: What every guarantee says where a public sample was read.
NOTE = "rows of the public sample are not protected"
_SPLITTERS = (BestSplitter, RandomSplitter)
#: Least leaf sizes of the forests: small ones follow a strong signal, large ones average noisy labels.
LEAF_SIZES = (2, 8, 32, 128)
#: Trees of each forest, and the most rows that one tree is grown from.
_N_TREES, _MOST_ROWS = 50, 5_000
#: Fewer public rows than this make no forest; a leaf size needs this many times its rows.
_FEWEST_ROWS, _ROWS_PER_LEAF = 10, 4
#: Features and rows alike in what they lack from and to which leaves are found by sets.
_FEW_FEATURES, _MANY_USERS = 16, 500
#: Other users whose rows are filled in at a time.
_AT_ONCE = 8192
#: Weights and predictions of scores: methods have public rows, forests and the rows that are predicted in common.
_SHARED = Shared(256)
#: Steps of the weights' fixed point, and the least probability that a learner is taken to give.
_FIXED_POINT_STEPS, _LEAST = 100, 0.005


class PublicScore:
    """A mixture of forests and of the plain class shares.

    For each leaf size there is a random forest and one of extremely randomized trees. The weights maximize the
    likelihood of the public labels under the probabilities of the trees that have not seen them, so that nothing has
    to be tuned, and where forests are no better than the class shares, the shares are predicted. Without public rows
    all classes are equally probable.
    """

    weights: np.ndarray  # (1 + n_forests,), of the class shares and of the forests; they sum to one
    out_of_bag: np.ndarray  # (q, n_classes), probabilities of each public row from the trees that have not seen it

    def __init__(
        self, X: np.ndarray, codes: np.ndarray, n_classes: int, seed: int, leaf_sizes: Sequence[int] = LEAF_SIZES
    ) -> None:
        self.n_classes, self.n_features, self._sample = n_classes, X.shape[1], (X, codes, seed, leaf_sizes)
        self._key = content_hash((self._sample, n_classes))
        # One imaginary row in all keeps the share of an unseen class above zero.
        self._shares = (np.bincount(codes, minlength=n_classes) + 1.0 / n_classes) / (codes.size + 1.0)
        self.weights, self.out_of_bag, self._cuts = _SHARED((self._key,), self._weighted)

    def _weighted(self) -> tuple[np.ndarray, ...]:
        """Weights of the parts, class probabilities (q, n_classes) of each public row left out, and cuts by tree."""
        _, codes, *_ = self._sample
        learners = np.array([np.tile(self._shares, (codes.size, 1)), *(unseen for _, unseen in self._forests)])
        weights = likelihood_weights(learners[:, np.arange(codes.size), codes])
        cuts = np.array([tree.node_count // 2 for trees, _ in self._forests for tree in trees])
        return weights, np.tensordot(weights, learners, axes=1), cuts

    @cached_property  # questions about a score are told apart by its sample, not by hundreds of trees
    def _forests(self) -> list[tuple[list[Any], np.ndarray]]:
        """One entry per forest: its trees, and class probabilities (q, n_classes) by trees that left a row out.

        Empty where there are too few public rows or one class.
        """
        X, codes, seed, leaf_sizes = self._sample
        if codes.size < _FEWEST_ROWS or np.ptp(codes) == 0:
            return []
        sizes = [s for s in leaf_sizes if s == leaf_sizes[0] or s * _ROWS_PER_LEAF <= codes.size]
        rows, bags = check_array(X, dtype=np.float32), _bags(codes.size, seed)
        return [_forest(kind, size, rows, codes, self.n_classes, bags) for size in sizes for kind in _SPLITTERS]

    def __getstate__(self) -> dict[str, Any]:
        """Without forests, which are grown where shared results do not serve: a pickle tells nothing of that."""
        return {name: value for name, value in vars(self).items() if name not in {"_forests", "_tables"}}

    @property
    def codes(self) -> np.ndarray:
        """Class codes of the public rows: shape (q,)."""
        codes: np.ndarray = self._sample[1]
        return codes

    @property
    def shares(self) -> np.ndarray:
        """Shares of the classes among the public rows, none of them zero: shape (n_classes,)."""
        return self._shares

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities of rows X (m, d): ndarray of shape (m, n_classes)."""
        return _SHARED((self._key, X), lambda: self._predicted(X)).copy()

    def _predicted(self, X: np.ndarray) -> np.ndarray:
        result = np.tile(self.weights[0] * self._shares, (len(X), 1))
        X = check_array(X, dtype=np.float32) if self._forests else X
        for weight, (trees, _) in zip(self.weights[1:], self._forests, strict=True):
            result += weight * (sum(tree.predict(X) for tree in trees) / _N_TREES)
        return result

    def filled(self, X: np.ndarray, rows: np.ndarray, near: np.ndarray, first: int = 0) -> np.ndarray:
        """Class probabilities of rows X (n, d) whose missing entries (NaN) are those of ``rows`` (q, d).

        Returned is an array (classes from number ``first`` on, k, n) for ``near`` (k, n): row ``near[i, j]`` fills in
        row j of X. It holds what :meth:`predict_proba` says, where few features are missing in few ways several times
        faster.
        """
        result = np.empty((self.n_classes - first, *near.shape))
        missing, rest = np.isnan(X), np.arange(len(X))
        while rest.size:
            hidden = missing[rest[0]]
            alike = (missing[rest] == hidden).all(axis=1)
            if self.n_features > _FEW_FEATURES or np.count_nonzero(alike) < _MANY_USERS or not self._forests:
                break
            users = rest[alike]
            result[:, :, users] = self._filled(X[users], rows, near[:, users], hidden, first)
            rest = rest[~alike]
        for start in range(0, rest.size, _AT_ONCE):
            users = rest[start : start + _AT_ONCE]
            for scores, k in zip(result.swapaxes(0, 1), near[:, users], strict=True):
                scores[:, users] = self._predicted(np.where(missing[users], rows[k], X[users]))[:, first:].T
        return result

    def _filled(self, X: np.ndarray, rows: np.ndarray, near: np.ndarray, hidden: np.ndarray, first: int) -> np.ndarray:
        halves = Halves([table for forest in self._tables for table in forest], X, rows, hidden)
        result = np.empty((self.n_classes - first, *near.shape))
        result[:] = (self.weights[0] * self._shares)[first:, None, None]
        for weight, tables in zip(self.weights[1:], self._tables, strict=True):
            result += weight * (halves.sums(tables, near, first) / _N_TREES)
        return result

    @cached_property
    def _tables(self) -> list[list[LeafTable]]:
        return [[LeafTable.of(tree) for tree in trees] for trees, _ in self._forests]

    @property
    def broadcast_bits(self) -> float:
        """Bits of the forests: feature and threshold of each cut, class shares of each leaf."""
        cuts = int(self._cuts.sum())
        return 64.0 * (2 * cuts + (cuts + self._cuts.size) * (self.n_classes - 1)) + 64.0


def _bags(n: int, seed: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Bootstrap samples of ``n`` rows, one a tree: (seed of the tree, distinct rows, how often each was drawn).

    All forests share them.
    """
    rng, bags = np.random.RandomState(seed), []
    for tree_seed in [int(rng.randint(np.iinfo(np.int32).max)) for _ in range(_N_TREES)]:
        rng.seed(tree_seed)
        drawn = rng.randint(0, n, min(n, _MOST_ROWS), dtype=np.int32)
        bags.append((tree_seed, *np.unique(drawn, return_counts=True)))
    return bags


def _forest(
    splitter: type, leaf_size: int, X: np.ndarray, codes: np.ndarray, n_classes: int, bags: Sequence
) -> tuple[list[Any], np.ndarray]:
    """Grow scikit-learn's forest on bootstrap samples ``bags``, see :func:`_bags`.

    Returned are its trees and the mean class probabilities (q, n_classes) of each row by trees that have not seen it (0
    if there is none). ``splitter`` is the class of cut search, ``codes`` (q,) class codes of X (q, d).
    """
    trees, state = [], np.random.RandomState(0)
    total, count = np.zeros((codes.size, n_classes)), np.full((codes.size, 1), len(bags))
    for seed, bag, copies in bags:
        state.seed(seed)
        tried, weight = max(1, math.isqrt(X.shape[1])), copies.astype(np.float64)
        trees.append(grown(X[bag], codes[bag], weight, leaf_size, tried, state, n_classes, splitter))
        unseen = trees[-1].predict(X)
        unseen[bag] = 0.0
        total += unseen
        count[bag] -= 1
    return trees, total / np.maximum(count, 1)


def likelihood_weights(probabilities: np.ndarray) -> np.ndarray:
    """Weights that maximize the likelihood of probabilities (n_learners, q), by expectation and maximization."""
    weights = np.full(len(probabilities), 1.0 / len(probabilities))
    if probabilities.shape[1] == 0:
        return weights
    bounded = np.maximum(probabilities, _LEAST)
    for _ in range(_FIXED_POINT_STEPS):
        weights = weights * (bounded @ (1.0 / (weights @ bounded))) / bounded.shape[1]
    return weights / weights.sum()
