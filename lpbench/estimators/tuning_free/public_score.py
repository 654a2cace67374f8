"""Class probabilities from the public sample: forests of several leaf sizes, weighted by out-of-bag likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

#: What every guarantee says where a public sample was read.
NOTE = "rows of the public sample are not protected"
_KINDS = (RandomForestClassifier, ExtraTreesClassifier)
#: Least leaf sizes of the forests: small ones follow a strong signal, large ones average noisy labels.
LEAF_SIZES = (2, 8, 32, 128)
#: Trees of each forest, and the most rows that one tree is grown from.
_N_TREES, _MOST_ROWS = 50, 5_000
#: Fewer public rows than this make no forest; a leaf size needs this many times its rows.
_FEWEST_ROWS, _ROWS_PER_LEAF = 10, 4
#: Steps of the weights' fixed point, and the least probability that a learner is taken to give.
_STEPS, _LEAST = 100, 0.005


class PublicScore:
    """A mixture of forests and of the plain class shares.

    For each leaf size there is a random forest and one of extremely randomised trees. The weights maximise the
    likelihood of the public labels under the probabilities of the trees that have not seen them, so that nothing has
    to be tuned, and where forests are no better than the class shares, the shares are predicted. Without public rows
    all classes are equally probable.
    """

    weights: np.ndarray  # (1 + n_forests,), of the class shares and of the forests; they sum to one
    out_of_bag: np.ndarray  # (q, n_classes), probabilities of each public row from the trees that have not seen it

    def __init__(
        self, X: np.ndarray, codes: np.ndarray, n_classes: int, seed: int, leaf_sizes: Sequence[int] = LEAF_SIZES
    ) -> None:
        self.n_classes, self.n_features = n_classes, X.shape[1]
        self._present, compact = np.unique(codes, return_inverse=True)
        counts = np.bincount(codes, minlength=n_classes)
        # One imaginary row in all keeps the share of an unseen class above zero.
        self._shares = (counts + 1.0 / n_classes) / (codes.size + 1.0)
        self._forests = []
        if codes.size >= _FEWEST_ROWS and self._present.size > 1:
            sizes = [s for s in leaf_sizes if s == leaf_sizes[0] or s * _ROWS_PER_LEAF <= codes.size]
            bags = {"max_samples": min(codes.size, _MOST_ROWS), "bootstrap": True, "oob_score": True}
            self._forests = [
                kind(_N_TREES, min_samples_leaf=size, random_state=seed, **bags).fit(X, compact)
                for size in sizes
                for kind in _KINDS
            ]
        unseen = [self._spread(forest.oob_decision_function_) for forest in self._forests]
        learners = np.array([np.tile(self._shares, (codes.size, 1)), *unseen])
        self.weights = likelihood_weights(learners[:, np.arange(codes.size), codes])
        self.out_of_bag = np.tensordot(self.weights, learners, axes=1)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities of rows X (m, d): ndarray of shape (m, n_classes)."""
        result = np.tile(self.weights[0] * self._shares, (len(X), 1))
        for weight, forest in zip(self.weights[1:], self._forests, strict=True):
            result += weight * self._spread(forest.predict_proba(X))
        return result

    @property
    def broadcast_bits(self) -> float:
        """Bits of the forests: feature and threshold of each cut, class shares of each leaf."""
        trees = [tree.tree_ for forest in self._forests for tree in forest.estimators_]
        cuts = sum(tree.node_count // 2 for tree in trees)
        return 64.0 * (2 * cuts + (cuts + len(trees)) * (self.n_classes - 1)) + 64.0

    def _spread(self, compact: np.ndarray) -> np.ndarray:
        result = np.zeros((len(compact), self.n_classes))
        result[:, self._present] = compact
        return result


def likelihood_weights(probabilities: np.ndarray) -> np.ndarray:
    """Weights that maximise the likelihood of probabilities (n_learners, q), by expectation and maximisation."""
    weights = np.full(len(probabilities), 1.0 / len(probabilities))
    if probabilities.shape[1] == 0:
        return weights
    bounded = np.maximum(probabilities, _LEAST)
    for _ in range(_STEPS):
        weights = weights * (bounded @ (1.0 / (weights @ bounded))) / bounded.shape[1]
    return weights / weights.sum()
