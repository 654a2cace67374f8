"""Class probabilities from the public sample: forests of several leaf sizes, weighted by out-of-bag likelihood."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

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
    to be tuned, and where forests are no better than the class shares the shares are what is predicted.

    Parameters
    ----------
    X : ndarray of shape (q, d)
        q = 0: no public sample; all classes are equally probable.
    codes : int ndarray of shape (q,)
        Classes 0, ..., n_classes - 1; some may be missing.
    n_classes : int
    seed : int
    leaf_sizes : sequence of int

    Attributes
    ----------
    weights : ndarray of shape (1 + n_forests,)
        Of the class shares and of the forests; they sum to one.
    out_of_bag : ndarray of shape (q, n_classes)
        Probabilities of each public row from the trees that have not seen it.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, n_classes: int, seed: int, leaf_sizes=LEAF_SIZES):
        self.n_classes = n_classes
        self._present, compact = np.unique(codes, return_inverse=True)
        counts = np.bincount(codes, minlength=n_classes)
        # One imaginary row in all keeps the share of an unseen class above zero.
        self._shares = (counts + 1.0 / n_classes) / (codes.size + 1.0)
        self._forests = []
        if codes.size >= _FEWEST_ROWS and self._present.size > 1:
            sizes = [s for s in leaf_sizes if s == leaf_sizes[0] or s * _ROWS_PER_LEAF <= codes.size]
            self._forests = [_forest(kind, X, compact, s, seed) for s in sizes for kind in _KINDS]
        unseen = [self._spread(forest.oob_decision_function_) for forest in self._forests]
        learners = np.array([np.tile(self._shares, (codes.size, 1)), *unseen])
        self.weights = mixture_weights(learners[:, np.arange(codes.size), codes])
        self.out_of_bag = np.tensordot(self.weights, learners, axes=1)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities of rows X (m, d): ndarray of shape (m, n_classes)."""
        result = np.tile(self.weights[0] * self._shares, (len(X), 1))
        for weight, forest in zip(self.weights[1:], self._forests, strict=True):
            result += weight * self._spread(forest.predict_proba(X))
        return result

    def _spread(self, compact: np.ndarray) -> np.ndarray:
        result = np.zeros((len(compact), self.n_classes))
        result[:, self._present] = compact
        return result


def _forest(kind, X: np.ndarray, codes: np.ndarray, leaf_size: int, seed: int):
    rows = min(codes.size, _MOST_ROWS)
    forest = kind(
        _N_TREES, min_samples_leaf=leaf_size, bootstrap=True, oob_score=True, max_samples=rows, random_state=seed
    )
    return forest.fit(X, codes)


def mixture_weights(probabilities: np.ndarray) -> np.ndarray:
    """Weights of a mixture that maximise the likelihood, by expectation and maximisation from equal ones.

    Parameters
    ----------
    probabilities : ndarray of shape (n_learners, q)
        Of the observed class of each row.

    Returns
    -------
    ndarray of shape (n_learners,)
        They sum to one; equal if there are no rows.
    """
    weights = np.full(len(probabilities), 1.0 / len(probabilities))
    if probabilities.shape[1] == 0:
        return weights
    bounded = np.maximum(probabilities, _LEAST)
    for _ in range(_STEPS):
        weights = weights * np.mean(bounded / (weights @ bounded), axis=1)
    return weights / weights.sum()
