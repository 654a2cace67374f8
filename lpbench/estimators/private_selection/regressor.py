"""PrivateSelectionRegressor: a regressor whose setting is chosen by privatised reports alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lpbench.estimators.base import LocalRegressor
from lpbench.estimators.private_selection.selection import (
    PrivateSelection,
    compare_by_differences,
    compare_by_labels,
    reads_what_is_shown,
    squared_reach,
)
from lpbench.privacy import Users


@dataclass(eq=False, repr=False)
class PrivateSelectionRegressor(PrivateSelection, LocalRegressor):
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
    y_range, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`; predictions are those of the chosen candidate.

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

    costs = (0, 10, 80000)
    rounding = "sums as wide as the processor's vectors"
    uses_mask = True

    estimator: Any = "par_dt"

    def _known(self) -> dict[str, Any]:
        return {"y_range": self.y_range_, "domain": (0.0, 1.0)}

    def _differences(self, fitted: Sequence[Any], users: Users, validating: np.ndarray, epsilon: float) -> np.ndarray:
        if reads_what_is_shown(fitted, users.mask[validating]):
            return compare_by_labels(fitted, users, validating, self.y_range_, epsilon)
        reach = partial(squared_reach, y_range=self.y_range_, n_features=users.n_features)
        return compare_by_differences(fitted, users, validating, epsilon, "squared", reach)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete X of shape (m, d): ndarray of shape (m,)."""
        X = self._check_predict(X)
        predictions: np.ndarray = self.estimator_.predict(X)
        return predictions
