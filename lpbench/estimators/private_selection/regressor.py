"""PrivateSelectionRegressor: a regressor whose setting is chosen by privatised reports alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from lpbench.checks import check_number
from lpbench.estimators.base import LocalEstimator, LocalRegressor, Rows, check_epsilon
from lpbench.estimators.private_selection.candidates import candidates_of
from lpbench.estimators.private_selection.selection import (
    Sample,
    check_public,
    compare_by_differences,
    compare_by_labels,
    divide,
    fit_candidates,
    guarantee_of,
    label_question,
    reads_what_is_shown,
    squared_reach,
)
from lpbench.seeds import Seed, Streams


class PrivateSelectionRegressor(LocalRegressor):
    """Fit the candidate settings of a regressor on some users and choose among them by the reports of others.

    No user is asked twice: training users are divided among the settings that need reports of their own, and a
    validating user sends one report at the whole budget. Where no validating user protects a feature that the models
    read, it is the label, and every report compares all candidates; else it is the clipped difference of the squared
    errors of one candidate and the first.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    estimator : str or LocalRegressor
        A name of :data:`lpbench.estimators.private_selection.candidates.CANDIDATES`, or an estimator, which is cloned.
    candidates : sequence of dict or None
        Settings to choose from, the stated one first. None: those listed for the name.
    shared : sequence of str
        Parameters of the estimator that act on reports which users have sent; candidates that differ in them alone are
        trained on the same users.
    validation_share : float
        Share of the users who validate, in [0, 1).
    y_range : (float, float)
        Public range of the label.
    domain : (float, float)
        Public range of every feature.
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    estimator_ : LocalRegressor
        The chosen one, fitted.
    point_ : dict
        Its setting.
    differences_ : ndarray of shape (n_candidates,)
        Estimated risk of each candidate minus that of the first; the smallest is chosen, of equal ones the first.
    guarantee_ : Guarantee
        Of the user who spends most; the note counts users.
    """

    uses_mask = True

    def __init__(
        self,
        epsilon: float = 1.0,
        estimator: str | LocalEstimator = "par_dt",
        candidates: Sequence[Mapping[str, Any]] | None = None,
        shared: Sequence[str] = (),
        validation_share: float = 0.2,
        y_range: tuple[float, float] | None = None,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.estimator = estimator
        self.candidates = candidates
        self.shared = shared
        self.validation_share = validation_share
        self.y_range = y_range
        self.domain = domain
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Train the candidates, validate them and keep the best.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Labels within ``y_range``.
        mask : boolean ndarray of shape (n, d), optional
            True = private; None: all private.
        X_public, y_public : ndarrays, optional
            Handed to the estimator.

        Returns
        -------
        self
        """
        epsilon = check_epsilon(self.epsilon)
        share = check_number("validation_share", self.validation_share, least=0, below=1)
        candidates = candidates_of(self.estimator, self.candidates, self.shared)  # type: ignore[arg-type]
        X, y, mask = self._check_fit(X, y, mask)
        public = None if X_public is None else self._to_unit_cube(np.asarray(X_public, dtype=np.float64))
        sample, streams = Sample(X, y, mask, public, y_public), self._streams()
        check_public(candidates, self.estimator, sample)
        division = divide(y.size, len(candidates.groups()), share, streams)
        known = {"epsilon": epsilon, "y_range": self.y_range_, "domain": (0.0, 1.0)}
        fitted = fit_candidates(candidates, sample, division, known, streams)
        hidden, shown = mask[division.validating], 0.0
        if reads_what_is_shown(fitted, hidden):
            asked = label_question(self.y_range_, epsilon)
            shown = float((~hidden).sum(axis=1).max(initial=0))
            self.differences_ = compare_by_labels(fitted, sample, division.validating, asked, streams)
        else:
            self.differences_ = compare_by_differences(
                lambda model, X, y: (model.predict(X) - y) ** 2,
                lambda model, first: squared_reach(model, first, self.y_range_, X.shape[1]),
                *(fitted, sample, division.validating, epsilon, streams),
            )
        best = int(np.argmin(self.differences_))
        self.estimator_, self.point_ = fitted[best], dict(candidates.points[best])
        self.guarantee_ = guarantee_of(fitted, division, epsilon, shown, self._leak_note)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete X of shape (m, d): ndarray of shape (m,)."""
        X = self._check_predict(X)
        predictions: np.ndarray = self.estimator_.predict(X)
        return predictions
