"""PrivateSets: sets of classes of a classifier that hold under local privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from lpbench.estimators.base import LocalClassifier
from lpbench.estimators.intervals.calibrated import Calibrated
from lpbench.estimators.tuning_free import ResidualScore
from lpbench.privacy import Users


@dataclass(eq=False, repr=False)
class PrivateSets(Calibrated, LocalClassifier):
    """Wrap a classifier so that it names the classes that are possible: the counterpart of :class:`PrivateIntervals`.

    A calibrating user answers whether one minus the probability that the classifier gives to her class exceeds a
    broadcast threshold. A set holds all classes within the least threshold that covers enough.

    Parameters
    ----------
    estimator : LocalClassifier, optional
        Cloned; None: :class:`~lpbench.estimators.ResidualScore`.
    share, epsilon, coverage
        See :class:`PrivateIntervals`.
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`; they take the place of the estimator's.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : LocalClassifier
        Fitted to class numbers.
    curve_, calibrating_
        See :class:`PrivateIntervals`.
    guarantee_ : Guarantee

    Notes
    -----
    The coverage is marginal, as that of :class:`PrivateIntervals`. Sets may be empty where no class is probable enough.
    """

    costs = (150000, 28, 70000)
    _default = ResidualScore
    domain: Any = field(default=(0.0, 1.0), kw_only=True)

    def learn(self, users: Users) -> Self:
        """Train the estimator and calibrate it."""
        # The domain is applied before anybody is asked; the inner classifier takes features as they are.
        known = {"classes": np.arange(self.classes_.size), "domain": None}
        self.estimator_ = self._calibrated(users, known, "class", 1.0)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for X of shape (m, d), as the estimator does: (m, n_classes)."""
        X = self._check_predict(X)
        probabilities: np.ndarray = self.estimator_.predict_proba(X)
        return probabilities

    def within(self, X: np.ndarray, threshold: float) -> np.ndarray:
        """Return the sets of classes whose probability is at least one minus a threshold.

        Returns
        -------
        boolean ndarray of shape (m, n_classes)
            True where the class is in the set, in the order of ``classes_``.
        """
        return 1.0 - self.predict_proba(X) <= threshold
