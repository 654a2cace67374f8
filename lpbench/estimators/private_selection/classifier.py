"""PrivateSelectionClassifier: a classifier whose setting is chosen by privatised reports alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.estimators.base import LocalClassifier
from lpbench.estimators.private_selection.selection import PrivateSelection, compare_by_differences
from lpbench.privacy import Users


@dataclass(eq=False, repr=False)
class PrivateSelectionClassifier(PrivateSelection, LocalClassifier):
    """Fit the candidate settings of a classifier on some users and choose among them by the reports of others.

    No user is asked twice: training users are divided among the settings that need reports of their own, and a
    validating user sends one report at the whole budget: whether one candidate is wrong on the own record minus whether
    the first is. A method that reads the public sample alone trains no private user, and all of them validate.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    estimator : str or LocalClassifier
        A name of :data:`lpbench.estimators.private_selection.candidates.CANDIDATES`, or an estimator, which is cloned.
    candidates : sequence of dict or None
        Settings to choose from, the stated one first. None: those listed for the name.
    shared : sequence of str
        Parameters of the estimator that act on reports which users have sent; candidates that differ in them alone are
        trained on the same users.
    validation_share : float
        Share of the users who validate, in [0, 1).
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : LocalClassifier
        The chosen one, fitted to class numbers.
    point_ : dict
        Its setting.
    differences_ : ndarray of shape (n_candidates,)
        Estimated error rate of each candidate minus that of the first; the smallest is chosen, of equal ones the first.
    guarantee_ : Guarantee
        Of the user who spends most; the note counts users.
    """

    costs = (0, 0.2, 50000)

    estimator: Any = "lpct_max_edge"

    def _known(self) -> dict[str, Any]:
        return {"domain": None, "classes": np.arange(self.classes_.size)}

    def _differences(self, fitted: Sequence[Any], users: Users, validating: np.ndarray, epsilon: float) -> np.ndarray:
        return compare_by_differences(fitted, users, validating, epsilon, "wrong", lambda model, first: 1.0)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for X of shape (m, d): ndarray of shape (m, n_classes)."""
        X = self._check_predict(X)
        probability = np.zeros((X.shape[0], self.classes_.size))
        probability[:, self.estimator_.classes_] = self.estimator_.predict_proba(X)
        return probability

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict class labels for X of shape (m, d), as the chosen candidate does."""
        X = self._check_predict(X)
        return self.classes_[self.estimator_.predict(X)]
