"""Tree baselines of H: scikit-learn trees on privatised labels (ParDT, LabelDT) and without privacy (DT)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from lpbench.estimators.base import Grid, LocalRegressor, SweepResult, expand_grid
from lpbench.estimators.private_labels import noisy_labels, public_message_bits
from lpbench.partitions.cart import GROWN_DEPTH
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Streams

TREE_PARAMETERS = ("max_depth", "min_samples_leaf")


def grow_trees(tree, inputs: np.ndarray, labels: np.ndarray, settings: Sequence[Mapping]) -> list:
    """Fit one scikit-learn tree per setting; settings that provably give the same tree share it.

    A tree that stayed shallower than its ``max_depth`` was never stopped by it, so every larger ``max_depth`` runs the
    same steps with the same random numbers. (A deep tree cut short is *not* the shallow tree: scikit-learn breaks ties
    by a random state that advances from node to node, depth first.)

    Parameters
    ----------
    tree : DecisionTreeRegressor or DecisionTreeClassifier
        Template with its ``random_state`` set.
    inputs : float32 ndarray of shape (n, d)
        Missing entries are NaN.
    labels : ndarray of shape (n,)
    settings : sequence of mappings
        Parameters of each tree.

    Returns
    -------
    list of fitted trees, in the order of ``settings``
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


@dataclass(frozen=True)
class CutTree:
    """A fitted regression tree read at a smaller depth: every node predicts the mean of its labels.

    It has the law of a tree grown with ``max_depth=depth``, for the reason given at ``GROWN_DEPTH``. ``fit`` reads its
    tree in the same way, so that a sweep and a fit agree bit for bit.
    """

    grown: DecisionTreeRegressor
    depth: float

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Predict for float32 inputs of shape (m, d)."""
        tree = self.grown.tree_
        return tree.value[self._kept()[tree.apply(inputs)], 0, 0]

    def _kept(self) -> np.ndarray:
        """For each node its deepest ancestor (or itself) at depth <= ``depth``."""
        tree = self.grown.tree_
        parent, level = np.zeros(tree.node_count, dtype=np.intp), np.zeros(tree.node_count, dtype=np.intp)
        inner = np.flatnonzero(tree.children_left >= 0)
        parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
        for _ in range(tree.max_depth):
            level[1:] = level[parent[1:]] + 1
        kept = np.arange(tree.node_count)
        while (deep := level[kept] > self.depth).any():
            kept[deep] = parent[kept[deep]]
        return kept


def cut_trees(
    tree: DecisionTreeRegressor, inputs: np.ndarray, labels: np.ndarray, settings: Sequence[Mapping]
) -> list[CutTree]:
    """Grow one tree per ``min_samples_leaf`` and read it at every ``max_depth`` (see :class:`CutTree`)."""
    grown: dict[tuple, DecisionTreeRegressor] = {}
    cut = []
    for setting in settings:
        depth = _depth(setting)
        limit = None if math.isinf(depth) else max(GROWN_DEPTH, depth)
        key = (setting["min_samples_leaf"], limit)
        if key not in grown:
            grown[key] = clone(tree).set_params(**{**setting, "max_depth": limit}).fit(inputs, labels)
        cut.append(CutTree(grown[key], depth))
    return cut


class TreeRegressor(LocalRegressor):
    """What tree baselines share: users' messages, one tree on them, and the sweep over tree sizes.

    Subclasses say in :meth:`_messages` what leaves the devices.
    """

    def _messages(self, X: np.ndarray, y: np.ndarray, mask: np.ndarray, streams: Streams):
        """Return features (n, d), labels (n,) as the curator sees them, and the guarantee."""
        raise NotImplementedError

    def _collect(self, X, y, mask) -> tuple[np.ndarray, np.ndarray, Streams]:
        X, y, mask = self._check_fit(X, y, mask)
        streams = self._streams()
        inputs, labels, self.guarantee_ = self._messages(X, y, mask, streams)
        return np.ascontiguousarray(inputs, dtype=np.float32), labels, streams

    def fit(self, X, y, *, mask=None, X_public=None, y_public=None):
        """Grow the tree on the users' messages.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Features, complete; entries that ``mask`` protects are read by the users' devices only.
        y : ndarray of shape (n,)
            Labels within ``y_range``.
        mask : boolean ndarray of shape (n, d), optional
            True = private; None: all private.
        X_public, y_public : ignored

        Returns
        -------
        self
        """
        inputs, labels, streams = self._collect(X, y, mask)
        setting = {name: getattr(self, name) for name in TREE_PARAMETERS}
        (self.tree_,) = cut_trees(_template(streams), inputs, labels, [setting])
        return self

    def predict(self, X) -> np.ndarray:
        """Predict labels for complete X of shape (m, d): ndarray of shape (m,)."""
        X = self._check_predict(X)
        return self._finish(self.tree_.predict(np.ascontiguousarray(self._visible(X), dtype=np.float32)))

    def _visible(self, X: np.ndarray) -> np.ndarray:
        """Columns that the tree was grown on."""
        return X

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score the grid; points that differ in the size of the tree alone share the users' messages."""
        points = expand_grid(grid)
        groups: dict[tuple, list[int]] = {}
        for g, point in enumerate(points):
            rest = tuple(sorted((k, v) for k, v in point.items() if k not in TREE_PARAMETERS))
            groups.setdefault(rest, []).append(g)
        values = np.full((len(budgets), len(points)), np.nan)
        for b, epsilon in enumerate(budgets):
            if b > 0 and not self.uses_epsilon:
                values[b] = values[0]
                continue
            budget = {"epsilon": epsilon} if self.uses_epsilon else {}
            for rest, members in groups.items():
                model = clone(self).set_params(random_state=streams, **budget, **dict(rest))
                inputs, labels, _ = model._collect(problem.X_train, problem.y_train, problem.mask)
                test = np.ascontiguousarray(model._visible(model._to_unit_cube(problem.X_test)), dtype=np.float32)
                sizes = [{n: points[g].get(n, getattr(model, n)) for n in TREE_PARAMETERS} for g in members]
                trees = cut_trees(_template(streams), inputs, labels, sizes)
                values[b, members] = [problem.score(model._finish(tree.predict(test))) for tree in trees]
        return SweepResult(values)


def _template(streams: Streams) -> DecisionTreeRegressor:
    return DecisionTreeRegressor(random_state=streams.integer("tree"))


class LabelDT(TreeRegressor):
    """Decision tree on Laplace-privatised labels and all features in the clear: label-LDP.

    Parameters
    ----------
    epsilon : float
        Budget of one label; inf: no noise.
    max_depth : int or None
    min_samples_leaf : int
        As in scikit-learn.
    y_range : (float, float)
        Public range of the label; noise has scale (hi - lo) / epsilon (H App. C.1).
    clip : bool
        Clip predictions to ``y_range``.
    domain : (float, float)
        Public range of every feature.
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    tree_ : CutTree
    guarantee_ : Guarantee
    """

    def __init__(
        self,
        epsilon=1.0,
        max_depth=None,
        min_samples_leaf=1,
        y_range=None,
        clip=True,
        domain=(0.0, 1.0),
        random_state=None,
    ):
        self.epsilon = epsilon
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def _messages(self, X, y, mask, streams):
        labels = noisy_labels(y, self.y_range_, self.epsilon, streams)
        bits = public_message_bits(np.zeros_like(mask))
        return X, labels, Guarantee("label_ldp", float(self.epsilon), bits_up=bits, note=self._leak_note)


class ParDT(LabelDT):
    """Decision tree on privatised labels and the unprotected features alone: semi-feature LDP.

    A feature that everybody protects is dropped. One that some protect is missing for them, and scikit-learn's tree
    sends the missing to the side that reduces the variance most; test rows are complete (the paper is silent on both).
    Without any unprotected feature the tree is a single leaf.

    Parameters
    ----------
    epsilon, max_depth, min_samples_leaf, y_range, clip, domain, random_state
        See :class:`LabelDT`.

    Attributes
    ----------
    features_ : int ndarray
        Columns that at least one user shows.
    tree_ : CutTree
    guarantee_ : Guarantee
    """

    uses_mask = True

    def _messages(self, X, y, mask, streams):
        self.features_ = np.flatnonzero(~mask.all(axis=0))
        shown = self._visible(np.where(mask, np.nan, X))
        labels = noisy_labels(y, self.y_range_, self.epsilon, streams)
        bits = public_message_bits(mask)
        return shown, labels, Guarantee("semi_feature_ldp", float(self.epsilon), bits_up=bits, note=self._leak_note)

    def _visible(self, X):
        return X[:, self.features_] if self.features_.size else np.zeros((X.shape[0], 1))


class DT(TreeRegressor):
    """Decision tree without any protection: what H divides every mean squared error by.

    Parameters
    ----------
    max_depth, min_samples_leaf, y_range, clip, domain, random_state
        See :class:`LabelDT`. ``y_range`` changes nothing: a leaf's mean lies within the range of the labels.

    Attributes
    ----------
    tree_ : CutTree
    guarantee_ : Guarantee
    """

    uses_epsilon = False

    def __init__(
        self, max_depth=None, min_samples_leaf=1, y_range=None, clip=True, domain=(0.0, 1.0), random_state=None
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def _public_range(self, y):
        # Nothing is protected, so taking the range from the labels leaks nothing.
        return ((float(y.min()), float(y.max())), "") if self.y_range is None else super()._public_range(y)

    def _messages(self, X, y, mask, streams):
        return X, y, Guarantee("none", math.inf, bits_up=public_message_bits(np.zeros_like(mask)))
