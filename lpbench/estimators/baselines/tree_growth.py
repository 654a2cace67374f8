"""Regression trees of every size in a grid, read off a few scikit-learn trees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from lpbench.checks import check_number, check_whole
from lpbench.partitions.cart import GROWN_DEPTH

TREE_PARAMETERS = ("max_depth", "min_samples_leaf")


def grow_trees(tree: Any, inputs: np.ndarray, labels: np.ndarray, settings: Sequence[Mapping]) -> list:
    """Fit one scikit-learn tree per setting; settings that provably give the same tree share it.

    A tree that stayed shallower than its ``max_depth`` was never stopped by it, so every larger ``max_depth`` runs the
    same steps with the same random numbers. (A deep tree cut short is *not* the shallow tree: scikit-learn breaks ties
    by a random state that advances from node to node, depth first.)
    """
    grown = [None] * len(settings)
    deepest: dict[tuple, tuple] = {}
    for i in sorted(range(len(settings)), key=lambda i: _depth(settings[i])):
        others = tuple(sorted((k, v) for k, v in settings[i].items() if k != "max_depth"))
        shallower, limit = deepest.get(others, (None, 0.0))
        if shallower is None or (shallower.get_depth() >= limit and _depth(settings[i]) > limit):
            shallower = clone(tree).set_params(**settings[i]).fit(inputs, labels)
        deepest[others] = shallower, _depth(settings[i])
        grown[i] = shallower
    return grown


def _depth(setting: Mapping) -> float:
    depth = setting.get("max_depth")
    return math.inf if depth is None else depth


class GrownTree:
    """A tree of scikit-learn's ``DecisionTreeRegressor``, which is read at several depths."""

    def __init__(
        self, inputs: np.ndarray, labels: np.ndarray, seed: int, max_depth: int | None, min_samples_leaf: float
    ) -> None:
        missing = bool(np.isnan(inputs).any())
        # For a small sample scikit-learn's checks take as long as the growth. Ours are made by the caller; without
        # theirs a tree does not look for missing entries either.
        with config_context(skip_parameter_validation=True):
            model = DecisionTreeRegressor(random_state=seed, max_depth=max_depth, min_samples_leaf=min_samples_leaf)
            self.tree = model.fit(inputs, labels, check_input=missing).tree_

    @cached_property
    def _ancestors(self) -> np.ndarray:
        """Deepest ancestor of node j (or itself) at depth <= k: int ndarray [k, j] of shape (max_depth + 1, nodes)."""
        tree = self.tree
        parent, level = np.zeros(tree.node_count, dtype=np.intp), np.zeros(tree.node_count, dtype=np.intp)
        inner = np.flatnonzero(tree.children_left >= 0)
        parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
        for _ in range(tree.max_depth):
            level[1:] = level[parent[1:]] + 1
        kept = [np.arange(tree.node_count)]
        for depth in range(tree.max_depth - 1, -1, -1):
            kept.append(np.where(level[kept[-1]] > depth, parent[kept[-1]], kept[-1]))
        return np.array(kept[::-1])

    def predict(self, leaves: np.ndarray, depth: float) -> np.ndarray:
        """Mean label of the node at ``depth`` above each of the leaves (m,), or of the leaf where that is higher."""
        node = leaves
        if depth < self.tree.max_depth:
            node = self._ancestors[int(depth)][node]
        return self.tree.value[node, 0, 0]


@dataclass(frozen=True)
class CutTree:
    """A fitted regression tree read at a smaller depth: every node predicts the mean of its labels.

    It has the law of a tree grown with ``max_depth=depth``, for the reason given at ``GROWN_DEPTH``. ``fit`` reads its
    tree in the same way, so that a sweep and a fit agree bit for bit.
    """

    grown: GrownTree
    depth: float

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Predict for float32 inputs of shape (m, d)."""
        return self.grown.predict(self.grown.tree.apply(inputs), self.depth)


def predict_all(trees: Sequence[CutTree], inputs: np.ndarray) -> np.ndarray:
    """Predict by several trees for float32 inputs of shape (m, d), which pass once through each grown tree."""
    grown = {id(tree.grown): tree.grown for tree in trees}
    leaves = {key: tree.tree.apply(inputs) for key, tree in grown.items()}
    return np.array([tree.grown.predict(leaves[id(tree.grown)], tree.depth) for tree in trees])


def cut_trees(inputs: np.ndarray, labels: np.ndarray, settings: Sequence[Mapping], seed: int) -> list[CutTree]:
    """Grow one tree per ``min_samples_leaf`` and read it at every ``max_depth`` (see :class:`CutTree`)."""
    grown: dict[tuple, GrownTree] = {}
    cut = []
    for setting in settings:
        for name in TREE_PARAMETERS:
            _check_size(name, setting[name])
        depth, least = _depth(setting), setting["min_samples_leaf"]
        limit = None if math.isinf(depth) else max(GROWN_DEPTH, int(depth))
        if (least, limit) not in grown:
            grown[least, limit] = GrownTree(inputs, labels, seed, limit, least)
        cut.append(CutTree(grown[least, limit], depth))
    return cut


def _check_size(name: str, value: Any) -> None:
    """Both sizes are whole numbers; ``max_depth`` may be None, ``min_samples_leaf`` a share of the sample."""
    if name == "min_samples_leaf" and isinstance(value, float):
        check_number(name, value, above=0, below=1, hint="a share of the sample, or a whole number of rows")
    else:
        check_whole(name, value, least=1, none="no limit" if name == "max_depth" else None)
