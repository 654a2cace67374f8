"""Classification trees of every depth in a grid, read off a few scikit-learn trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_matrix
from sklearn.tree import DecisionTreeClassifier

from lpbench.checks import check_whole
from lpbench.estimators.baselines.tree_growth import GrownTree, grow_trees
from lpbench.partitions.cart import GROWN_DEPTH

#: Share of entries other than 0 below which scikit-learn is faster on sparse columns.
_SPARSE = 0.1


class GrownClasses(GrownTree):
    """A scikit-learn classification tree that is read at several depths."""

    def __init__(self, model: DecisionTreeClassifier) -> None:
        self.tree, self.classes = model.tree_, model.classes_

    def shares(self, inputs: np.ndarray, depth: float) -> np.ndarray:
        """Class shares of the node at ``depth``, or the leaf above it, for float32 inputs (m, d): (m, n_classes)."""
        node = self.tree.apply(inputs)
        if depth < self.tree.max_depth:
            node = self._ancestors[int(depth)][node]
        return self.tree.value[node, 0]


@dataclass(frozen=True)
class CutClasses:
    """A fitted classification tree read at a smaller depth: every node predicts by the classes of its samples.

    It has the law of a tree grown with ``max_depth=depth``, for the reason given at ``GROWN_DEPTH``. ``fit`` reads its
    tree in the same way, so that a sweep and a fit agree bit for bit.
    """

    grown: GrownClasses
    depth: float

    def shares(self, inputs: np.ndarray) -> np.ndarray:
        """Class shares for float32 inputs of shape (m, d): ndarray of shape (m, n_classes), a column per code grown."""
        return self.grown.shares(inputs, self.depth)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Predict the code for float32 inputs of shape (m, d); ties go to the smaller one."""
        return self.grown.classes[self.shares(inputs).argmax(axis=1)]


def cut_class_trees(inputs: np.ndarray, codes: np.ndarray, depths: Sequence[int | None], seed: int) -> list[CutClasses]:
    """Grow trees to multiples of ``GROWN_DEPTH`` and read them at every depth (see :class:`CutClasses`).

    Not all to the deepest: one shallow tree should cost what one shallow tree costs.
    """
    settings = [{"max_depth": _grown_depth(depth)} for depth in depths]
    models = grow_trees(DecisionTreeClassifier(random_state=seed), _compact(inputs), codes, settings)
    grown = {id(model): GrownClasses(model) for model in models}
    return [
        CutClasses(grown[id(model)], math.inf if depth is None else depth)
        for model, depth in zip(models, depths, strict=True)
    ]


def _grown_depth(depth: int | None) -> int | None:
    limit = check_whole("max_depth", depth, least=1, none="no limit")
    return None if limit is None else GROWN_DEPTH * math.ceil(limit / GROWN_DEPTH)


def _compact(inputs: np.ndarray) -> np.ndarray | csc_matrix:
    """Store sparse columns where few entries differ from 0: the same trees grow from them several times faster."""
    return csc_matrix(inputs) if np.count_nonzero(inputs) < _SPARSE * inputs.size else inputs
