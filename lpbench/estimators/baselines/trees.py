"""Tree baselines of HistOfTree, with scikit-learn's law: on privatized labels (ParDT, LabelDT) and raw ones (DT)."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from lpbench.estimators.base import LocalRegressor, Task, grouped
from lpbench.estimators.baselines.tree_growth import TREE_PARAMETERS, cut_trees, grown_size, tree_depth, values_of_all
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.privacy import Users

#: Features of messages that are kept at once.
_AT_ONCE = 1 << 22


@dataclass(eq=False, repr=False)
class TreeRegressor(LocalRegressor):
    """Base of the tree baselines: one tree on the messages that a subclass asks for, and a sweep that shares trees."""

    @abstractmethod
    def _messages(self, users: Users) -> tuple[np.ndarray, np.ndarray]:
        """Return features (n, d), NaN where missing, and labels (n,) as the curator sees them."""

    def learn(self, users: Users) -> Self:
        """Ask for the messages, grow one tree on them and cut it to the size that the parameters name."""
        [[self.tree_]] = cut_trees([self._sample(users)], [self._size({})], self._streams().integer("tree"))
        return self

    def _size(self, point: Mapping[str, Any]) -> dict[str, Any]:
        return {name: point.get(name, getattr(self, name)) for name in TREE_PARAMETERS}

    def resized(self, point: Mapping[str, Any]) -> Self | None:
        """Return the fit at other parameters, if they read the same tree at a smaller depth; else None."""
        changed, size = [n for n, value in point.items() if value != getattr(self, n)], self._size(point)
        grown_alike = grown_size(size) == grown_size(self._size({})) and tree_depth(size) <= self.tree_.depth
        if not set(changed) <= {"max_depth"} or not grown_alike:
            return None
        model = copy(self).set_params(**point)
        model.tree_ = self.tree_.cut(size)
        return model

    def _sample(self, users: Users) -> tuple[np.ndarray, np.ndarray]:
        inputs, labels = self._messages(users)
        return _single(inputs), labels

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict the mean message of each row's leaf.

        The tree reads the features in single precision, as scikit-learn does.
        """
        X = self._check_predict(X)
        return self._finish(self.tree_.values(_single(self._visible(X)))[:, 0])

    def _visible(self, X: np.ndarray) -> np.ndarray:
        return X

    def _scores(self, task: Task, budgets: Sequence[float], points: Sequence[dict[str, Any]]) -> np.ndarray:
        """Score all budgets and grid points on one replication, shape (n_budgets, n_points).

        Points that differ in the size of the tree alone share the users' messages. Without a budget all rows are equal.
        """
        values = np.full((len(budgets), len(points)), np.nan)
        numbers = range(len(budgets) if self.uses_epsilon else 1)
        alike: dict[str, tuple[list[dict], list[tuple[dict, list[int], int]]]] = {}
        for shared, members in grouped(points, TREE_PARAMETERS):
            sizes = [self._size(points[g]) for g in members]
            alike.setdefault(repr(sizes), (sizes, []))[1].extend((shared, members, b) for b in numbers)
        step = max(1, _AT_ONCE // (task.users.n * task.users.n_features))
        for sizes, cases in alike.values():
            for batch in (cases[first : first + step] for first in range(0, len(cases), step)):
                models, samples = [], []
                for shared, _, b in batch:
                    budget = {"epsilon": budgets[b]} if self.uses_epsilon else {}
                    models.append(clone(self).set_params(random_state=task.streams, **budget, **shared))
                    users = task.users.fresh()
                    models[-1]._meet(users)
                    samples.append(models[-1]._sample(users))
                forests = cut_trees(samples, sizes, models[0]._streams().integer("tree"))
                for model, trees, (_, members, b) in zip(models, forests, batch, strict=True):
                    test = _single(model._visible(model._to_unit_cube(task.X_test)))
                    values[b, members] = task.score(model._finish(values_of_all(trees, test)[..., 0]))
        return values if self.uses_epsilon else np.tile(values[0], (len(budgets), 1))


def _single(X: np.ndarray) -> np.ndarray:
    """Convert features to float32, as scikit-learn's trees read them."""
    return np.ascontiguousarray(X, dtype=np.float32)


@dataclass(eq=False, repr=False)
class LabelDT(TreeRegressor):
    """Decision tree on Laplace-privatized labels and all features in the clear: label-LDP.

    Parameters
    ----------
    epsilon : float
        Budget of one label, whose noise has scale (hi - lo) / epsilon (HistOfTree App. C.1); inf: no noise.
    max_depth : int or None
        Greatest depth of the tree, as in scikit-learn; None: no limit.
    min_samples_leaf : int or float
        Fewest users in a leaf, or their share, as in scikit-learn.

    Attributes
    ----------
    tree_ : CutTree

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import LabelDT
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = LabelDT(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0
    max_depth: int | None = None
    min_samples_leaf: float = 1

    protects = "label"

    def _messages(self, users: Users) -> tuple[np.ndarray, np.ndarray]:
        return users.public_features, users.ask(LABEL, LabelQuestion(self.y_range_, self.epsilon))


@dataclass(eq=False, repr=False)
class ParDT(LabelDT):
    """Decision tree on privatized labels and the unprotected features alone: semi-feature LDP.

    A feature that everybody protects is dropped. One that some protect is missing for them, and scikit-learn's tree
    sends the missing to the side that reduces the variance most; test rows are complete (the paper is silent on both).
    Without any unprotected feature the tree is a single leaf.

    Attributes
    ----------
    features_ : int ndarray
        Columns that at least one user shows.
    tree_ : CutTree

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import ParDT
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = ParDT(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    uses_mask = True
    protects = "mask"

    def _messages(self, users: Users) -> tuple[np.ndarray, np.ndarray]:
        self.features_ = np.flatnonzero(~users.mask.all(axis=0))
        return self._visible(users.public_features), users.ask(LABEL, LabelQuestion(self.y_range_, self.epsilon))

    def _visible(self, X: np.ndarray) -> np.ndarray:
        return X[:, self.features_] if self.features_.size else np.zeros((X.shape[0], 1))


@dataclass(eq=False, repr=False)
class DT(TreeRegressor):
    """Decision tree without any protection: the denominator of HistOfTree's printed errors.

    Parameters
    ----------
    max_depth, min_samples_leaf, y_range, clip, domain, random_state
        See :class:`LabelDT`. ``y_range`` changes nothing: a leaf's mean lies within the range of the labels.

    Attributes
    ----------
    tree_ : CutTree

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import DT
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = DT(y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    inf
    >>> model.predict(X).shape
    (300,)
    """

    max_depth: int | None = None
    min_samples_leaf: float = 1

    uses_epsilon = False

    def _messages(self, users: Users) -> tuple[np.ndarray, np.ndarray]:
        records = users.reveal()
        return records.X, records.y
