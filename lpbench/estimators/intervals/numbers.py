"""PrivateIntervals: prediction intervals of a regressor that hold under local privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lpbench.estimators.base import LocalRegressor
from lpbench.estimators.intervals.calibrated import Calibrated
from lpbench.estimators.tuning_free import ResidualGP
from lpbench.privacy import Users


@dataclass(eq=False, repr=False)
class PrivateIntervals(Calibrated, LocalRegressor):
    """Wrap a regressor so that it says how far labels lie from its predictions: split conformal, one bit a user.

    A random share of the users does not train. Each of them answers, by randomised response at the whole budget,
    whether her residual exceeds a broadcast threshold (:mod:`.coverage`); nobody is asked twice. The interval is the
    prediction plus and minus the least threshold that covers enough, with a correction for the finite number of users
    and for the noise of the reports: where these tell little the interval is the whole range.

    Parameters
    ----------
    estimator : LocalRegressor, optional
        Cloned; None: :class:`~lpbench.estimators.ResidualGP`.
    share : float
        Share of the users who calibrate, in (0, 1).
    epsilon : float, optional
        Budget of one user; None: the estimator's.
    coverage : float
        Share of labels inside, about which the calibrating users are asked; others can be read off afterwards, from
        fewer answers near them.
    y_range, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`; they take the place of the estimator's.

    Attributes
    ----------
    estimator_ : LocalRegressor
        Fitted to the users who train.
    curve_ : CoverageCurve
        What the calibrating users answered.
    calibrating_ : int ndarray
        Who calibrated, in rows of the sample.
    guarantee_ : Guarantee
        Of the user who spends most; the note counts calibrating users.

    Notes
    -----
    The coverage is marginal: on average over new users from the same law as those who calibrate, whose complete
    features are at hand for the prediction, and over the randomness of the reports. It does not hold for each value of
    the features, nor for rows in which features are missing.
    """

    costs = (0, 22, 70000)
    _default = ResidualGP

    def learn(self, users: Users) -> Self:
        """Train the estimator and calibrate it."""
        lo, hi = self.y_range_
        known = {"y_range": self.y_range_, "domain": (0.0, 1.0)}
        self.estimator_ = self._calibrated(users, known, "residual", max(hi - lo, 1e-12))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete X of shape (m, d), as the estimator does: ndarray of shape (m,)."""
        X = self._check_predict(X)
        predictions: np.ndarray = self.estimator_.predict(X)
        return predictions

    def within(self, X: np.ndarray, threshold: float) -> np.ndarray:
        """Return the ends of the intervals of labels whose residual is at most a threshold.

        Returns
        -------
        ndarray of shape (m, 2)
            Lower and upper ends, within the public range.
        """
        centre = self.predict(X)
        return np.clip(np.column_stack([centre - threshold, centre + threshold]), *self.y_range_)
