"""CT-W and CT-Q: a classification tree without protection, and one on public data alone (LPCT sec. 7.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import LocalClassifier, Task, grouped
from lpbench.estimators.baselines.tree_growth import CutTree, cut_class_trees, values_of_all
from lpbench.privacy import Users

SAMPLES = ("whole", "public")


@dataclass(eq=False, repr=False)
class CT(LocalClassifier):
    """Classification tree on private and public rows together (CT-W), or on the public rows alone (CT-Q).

    Parameters
    ----------
    sample : {"whole", "public"}
        ``whole``: no protection, an upper bound. ``public``: nothing is asked of the private users.
    max_depth : int or None
        As in scikit-learn; its other settings stay at their defaults.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes of the private and the public sample.
    tree_ : CutTree
        scikit-learn's tree on class numbers, indices into ``classes_``.
    guarantee_ : Guarantee
        ``none``, or ``ldp`` with epsilon = 0 for the public tree.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import CT
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = CT(classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    inf
    >>> model.predict(X).shape
    (300,)
    """

    uses_epsilon = False
    uses_public = True

    sample: str = "whole"
    max_depth: int | None = None

    def learn(self, users: Users) -> Self:
        """Grow scikit-learn's tree on the true labels and the features, without privacy."""
        (self.tree_,) = self._grow(users, [self.max_depth])
        return self

    def _rows(self, users: Users) -> tuple[np.ndarray, np.ndarray]:
        """Return features X (n, d), float32 as in scikit-learn, and class codes (n,) of the rows the tree may see.

        They are the public rows, or (``sample="whole"``) private and public rows without protection. ConfigurationError
        if ``sample="public"`` and there is no public sample.
        """
        check_choice("sample", self.sample, SAMPLES)
        if self.sample == "public":
            if users.public is None:
                raise ConfigurationError("sample='public' needs a public sample: pass X_public and y_public")
            users.note("trained on the public sample alone")
            X, codes = users.public
        else:
            records = users.reveal()
            X, codes = records.X, records.y
            if users.public is not None:
                X = np.concatenate([X, users.public.X], dtype=np.float32)
                codes = np.concatenate([codes, users.public.y])
        return np.ascontiguousarray(X, dtype=np.float32), codes

    def _grow(self, users: Users, depths: Sequence[int | None]) -> list[CutTree]:
        return cut_class_trees(*self._rows(users), depths, self._streams().integer("tree"))

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the class shares of each row's leaf.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Complete rows, in the units of the training rows.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Probabilities in the order of ``classes_``; rows sum to 1.
        """
        X = np.ascontiguousarray(self._check_predict(X), dtype=np.float32)
        probability = np.zeros((X.shape[0], self.classes_.size))
        probability[:, self.tree_.grown.classes] = self.tree_.values(X)
        return probability

    def _scores(self, task: Task, budgets: Sequence[float], points: Sequence[dict]) -> np.ndarray:
        """Score all grid points on one replication, shape (n_budgets, n_points) with equal rows: no budget is spent.

        Points that differ in ``max_depth`` alone read their depths from few trees.
        """
        scores = np.full(len(points), np.nan)
        for shared, members in grouped(points, ["max_depth"]):
            model = clone(self).set_params(random_state=task.streams, **shared)
            model._meet(task.users)
            test = np.ascontiguousarray(model._to_unit_cube(task.X_test), dtype=np.float32)
            depths = [points[g].get("max_depth", self.max_depth) for g in members]
            trees = model._grow(task.users.fresh(), depths)
            # ties go to the smaller class
            codes = trees[0].grown.classes[values_of_all(trees, test).argmax(axis=-1)]
            scores[members] = task.score(model.classes_[codes])
        return np.tile(scores, (len(budgets), 1))
