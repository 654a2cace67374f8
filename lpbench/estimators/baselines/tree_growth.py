"""Regression and classification trees of every size in a grid of settings, cut from a few scikit-learn trees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from lpbench.checks import check_number, check_whole
from lpbench.estimators.baselines.presorted import grow_presorted
from lpbench.estimators.result_cache import Shared
from lpbench.partitions.cart import GROWN_DEPTH, grown_depth

TREE_PARAMETERS = ("max_depth", "min_samples_leaf")

#: Share of entries other than 0 below which scikit-learn is faster on sparse columns.
_SPARSE = 0.1

#: Classification trees: budgets of private selection have them in common.
_GROWN = Shared(4)


class GrownTree:
    """A regression or classification tree, which is read at several depths."""

    def __init__(self, tree: Any, classes: np.ndarray | None = None) -> None:
        self.tree, self.classes = tree, classes

    @cached_property
    def _ancestors(self) -> np.ndarray:
        """Deepest ancestor of node j (or itself) at depth <= k: int ndarray [k, j] of shape (max_depth + 1, nodes)."""
        tree = self.tree
        parent, level = np.zeros(tree.node_count, dtype=np.intp), np.zeros(tree.node_count, dtype=np.intp)
        inner = np.flatnonzero(tree.children_left >= 0)
        parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
        for _ in range(tree.max_depth):
            level[1:] = level[parent[1:]] + 1
        by_depth = [np.arange(tree.node_count)]
        for depth in range(tree.max_depth - 1, -1, -1):
            by_depth.append(np.where(level[by_depth[-1]] > depth, parent[by_depth[-1]], by_depth[-1]))
        return np.array(by_depth[::-1])

    def values(self, leaves: np.ndarray, depth: float) -> np.ndarray:
        """Mean label (m, 1) or shares (m, n_classes) of nodes at ``depth`` above leaves, or of higher leaves."""
        node = leaves if depth >= self.tree.max_depth else self._ancestors[int(depth)][leaves]
        return self.tree.value[node, 0]


@dataclass(frozen=True)
class CutTree:
    """A fitted tree read at a smaller depth, with the law of one grown to it (see ``GROWN_DEPTH``)."""

    grown: GrownTree
    depth: float

    def cut(self, setting: Mapping) -> CutTree:
        """The grown tree read at a smaller depth, for another setting of its ``grown_size``."""
        return CutTree(self.grown, tree_depth(setting))

    def values(self, inputs: np.ndarray) -> np.ndarray:
        """Mean labels (m, 1) or class shares (m, n_classes) for float32 inputs of shape (m, d)."""
        return self.grown.values(self.grown.tree.apply(inputs), self.depth)


def values_of_all(trees: Sequence[CutTree], inputs: np.ndarray) -> np.ndarray:
    """Values of several trees of one kind, (trees, m, k), for inputs that pass once through each grown tree."""
    leaves = {grown: grown.tree.apply(inputs) for grown in {tree.grown for tree in trees}}
    return np.array([tree.grown.values(leaves[tree.grown], tree.depth) for tree in trees])


def cut_trees(
    samples: Sequence[tuple[np.ndarray, np.ndarray]], settings: Sequence[Mapping], seed: int
) -> list[list[CutTree]]:
    """Grow a regression tree per ``min_samples_leaf`` and sample, float32; it is read at every ``max_depth``."""
    limits, read = [grown_size(setting) for setting in settings], dict[tuple[float, float], float]()
    for limit, setting in zip(limits, settings, strict=True):
        read[limit] = max(tree_depth(setting), read.get(limit, 0))
    presorted = not any(np.isnan(inputs).any() for inputs, _ in samples)
    # presorted trees are the same to whatever depth they are grown: no deeper than they are read
    reached = [(depth, least) for (_, least), depth in read.items()] if presorted else list(read)
    trees = iter((grow_presorted if presorted else _one_by_one)(samples, reached, seed))
    forests = [{limit: GrownTree(next(trees)) for limit in read} for _ in samples]
    sized = list(zip(limits, settings, strict=True))
    return [[CutTree(grown[limit], tree_depth(setting)) for limit, setting in sized] for grown in forests]


def grown_size(setting: Mapping) -> tuple[float, float]:
    """Depth to which the tree of a setting is grown before it is cut, and fewest rows of its leaves."""
    least = setting["min_samples_leaf"]
    if isinstance(least, float):
        hint = "a share of the sample, or a whole number of rows"
        check_number("min_samples_leaf", least, above=0, below=1, hint=hint)
    else:
        check_whole("min_samples_leaf", least, least=1)
    return max(GROWN_DEPTH, tree_depth(setting)), least


def tree_depth(setting: Mapping) -> float:
    """Depth at which the tree of a setting is read."""
    check_whole("max_depth", setting["max_depth"], least=1, none="no limit")
    return math.inf if setting["max_depth"] is None else setting["max_depth"]


def _one_by_one(
    samples: Sequence[tuple[np.ndarray, np.ndarray]], limits: Sequence[tuple[float, float]], seed: int
) -> list[Any]:
    """Grow scikit-learn's regression trees one after the other, also where entries are missing (NaN).

    ``samples`` are pairs (X, y) and ``limits`` pairs (greatest depth, fewest rows of a leaf); the trees are in the
    order of sample, then limit. Every tree starts from ``seed``.
    """
    state = np.random.RandomState(seed)  # made anew for a tree it would ask the system for entropy each time
    trees = []
    for inputs, labels in samples:
        # For a small sample scikit-learn's checks take as long as the growth. Ours are made by the caller; without
        # theirs a tree does not look for missing entries either.
        missing = bool(np.isnan(inputs).any())
        for depth, least in limits:
            with config_context(skip_parameter_validation=True):
                state.seed(seed)
                size = {"max_depth": None if depth == math.inf else int(depth), "min_samples_leaf": least}
                model = DecisionTreeRegressor(random_state=state, **size).fit(inputs, labels, check_input=missing)
                trees.append(model.tree_)
    return trees


def cut_class_trees(inputs: np.ndarray, codes: np.ndarray, depths: Sequence[int | None], seed: int) -> list[CutTree]:
    """Grow class trees to multiples of ``GROWN_DEPTH``, so that a shallow one is cheap, and read them."""
    # the same trees grow several times faster from sparse columns where few entries differ from 0
    columns = csc_matrix(inputs) if np.count_nonzero(inputs) < _SPARSE * inputs.size else inputs
    grown: dict[int | None, GrownTree] = {}
    cut = []
    for depth in depths:
        check_whole("max_depth", depth, least=1, none="no limit")
        limit = None if depth is None else grown_depth(depth)
        if limit not in grown:
            model = DecisionTreeClassifier(random_state=seed, max_depth=limit)
            fitted = _GROWN((inputs, codes, seed, limit), partial(model.fit, columns, codes))
            grown[limit] = GrownTree(fitted.tree_, fitted.classes_)
        cut.append(CutTree(grown[limit], math.inf if depth is None else depth))
    return cut
