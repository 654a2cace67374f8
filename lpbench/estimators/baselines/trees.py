"""Tree baselines of HistOfTree: scikit-learn trees on privatised labels (ParDT, LabelDT) and without privacy (DT)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from lpbench.estimators.base import Grid, LocalRegressor, Rows, SweepResult, expand_grid
from lpbench.estimators.baselines.tree_growth import TREE_PARAMETERS, cut_trees, predict_all
from lpbench.estimators.private_labels import LabelQuestion, noisy_labels, public_message_bits
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams


class TreeRegressor(LocalRegressor):
    """What tree baselines share: users' messages, one tree on them, and the sweep over tree sizes.

    Subclasses say in :meth:`_messages` what leaves the devices.
    """

    def _messages(self, X: np.ndarray, y: np.ndarray, mask: np.ndarray, streams: Streams) -> Any:
        """Return features (n, d), labels (n,) as the curator sees them, and the guarantee."""
        raise NotImplementedError

    def _label_question(self, split: int | np.ndarray = 1) -> LabelQuestion:
        """What every user is asked about the label."""
        return LabelQuestion(self.y_range_, self.epsilon, split)

    def _collect(self, X: np.ndarray, y: np.ndarray, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, Streams]:
        X, y, mask = self._check_fit(X, y, mask)
        streams = self._streams()
        inputs, labels, self.guarantee_ = self._messages(X, y, mask, streams)
        return np.ascontiguousarray(inputs, dtype=np.float32), labels, streams

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
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
        (self.tree_,) = cut_trees(inputs, labels, [setting], streams.integer("tree"))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
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
                trees = cut_trees(inputs, labels, sizes, streams.integer("tree"))
                values[b, members] = problem.score(model._finish(predict_all(trees, test)))
        return SweepResult(values)


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
        Public range of the label; noise has scale (hi - lo) / epsilon (HistOfTree App. C.1).
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
        epsilon: float = 1.0,
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def _messages(self, X: np.ndarray, y: np.ndarray, mask: np.ndarray, streams: Streams) -> Any:
        labels = noisy_labels(y, self._label_question(), streams)
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

    def _messages(self, X: np.ndarray, y: np.ndarray, mask: np.ndarray, streams: Streams) -> Any:
        self.features_ = np.flatnonzero(~mask.all(axis=0))
        shown = self._visible(np.where(mask, np.nan, X))
        labels = noisy_labels(y, self._label_question(), streams)
        bits = public_message_bits(mask)
        return shown, labels, Guarantee("semi_feature_ldp", float(self.epsilon), bits_up=bits, note=self._leak_note)

    def _visible(self, X: np.ndarray) -> np.ndarray:
        return X[:, self.features_] if self.features_.size else np.zeros((X.shape[0], 1))


class DT(TreeRegressor):
    """Decision tree without any protection: the denominator of HistOfTree's printed errors.

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
        self,
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def _public_range(self, y: np.ndarray) -> tuple[tuple[float, float], str]:
        # Nothing is protected, so taking the range from the labels leaks nothing.
        return ((float(y.min()), float(y.max())), "") if self.y_range is None else super()._public_range(y)

    def _messages(self, X: np.ndarray, y: np.ndarray, mask: np.ndarray, streams: Streams) -> Any:
        return X, y, Guarantee("none", math.inf, bits_up=public_message_bits(np.zeros_like(mask)))
