"""PrivateSelectionClassifier: a classifier whose setting is chosen by privatised reports alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from lpbench.checks import check_number
from lpbench.estimators.base import LocalClassifier, LocalEstimator, Rows, check_epsilon, check_mask
from lpbench.estimators.private_selection.candidates import candidates_of
from lpbench.estimators.private_selection.selection import (
    Sample,
    check_public,
    compare_by_differences,
    divide,
    fit_candidates,
    guarantee_of,
)
from lpbench.seeds import Seed, Streams


class PrivateSelectionClassifier(LocalClassifier):
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
    domain : (float, float) or None
        Public range of every feature; None: as they are.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    random_state : int, Generator, RandomState, Streams or None

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

    uses_public = True

    def __init__(
        self,
        epsilon: float = 1.0,
        estimator: str | LocalEstimator = "lpct_max_edge",
        candidates: Sequence[Mapping[str, Any]] | None = None,
        shared: Sequence[str] = (),
        validation_share: float = 0.2,
        domain: tuple[float, float] | None = None,
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.estimator = estimator
        self.candidates = candidates
        self.shared = shared
        self.validation_share = validation_share
        self.domain = domain
        self.classes = classes
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Train the candidates, validate them and keep the best.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Class labels.
        mask : boolean ndarray of shape (n, d), optional
            Handed to the estimator; None: all private.
        X_public, y_public : ndarrays, optional
            Public sample, handed to the estimator.

        Returns
        -------
        self
        """
        epsilon = check_epsilon(self.epsilon)
        share = check_number("validation_share", self.validation_share, least=0, below=1)
        candidates = candidates_of(self.estimator, self.candidates, self.shared)  # type: ignore[arg-type]
        X, codes, X_public, public_codes = self._check_fit(X, y, mask, X_public, y_public)
        sample, streams = Sample(X, codes, check_mask(mask, X.shape), X_public, public_codes), self._streams()
        check_public(candidates, self.estimator, sample)
        division = divide(codes.size, len(candidates.groups()), share, streams)
        known = {"epsilon": epsilon, "domain": None, "classes": np.arange(self.classes_.size)}
        fitted = fit_candidates(candidates, sample, division, known, streams)
        self.differences_ = compare_by_differences(
            lambda model, X, y: (model.predict(X) != y).astype(float),
            lambda model, first: 1.0,
            *(fitted, sample, division.validating, epsilon, streams),
        )
        best = int(np.argmin(self.differences_))
        self.estimator_, self.point_ = fitted[best], dict(candidates.points[best])
        self.guarantee_ = guarantee_of(fitted, division, epsilon, 0.0, self._noted())
        return self

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
