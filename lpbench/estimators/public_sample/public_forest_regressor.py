"""PublicForestRegressor: the public learner alone, without any private user."""

from __future__ import annotations

from typing import Self

import numpy as np

from lpbench.estimators.base import LocalRegressor, Rows
from lpbench.estimators.public_sample.public_mean import PublicMean
from lpbench.estimators.public_sample.public_rows import public_rows
from lpbench.privacy.guarantee import Guarantee
from lpbench.seeds import Seed, Streams


class PublicForestRegressor(LocalRegressor):
    """Forests on the public sample; see :class:`PublicMean`.

    The predictions from which :class:`lpbench.estimators.PublicResidualGP` starts, and the floor that asking private
    users has to beat.

    Parameters
    ----------
    y_range : (float, float), optional
        Public range of the label; without it, that of the public labels.
    clip : bool
        Clip predictions to ``y_range``.
    domain : (float, float)
        Public range of every feature.
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    guarantee_ : Guarantee
        ``ldp`` with epsilon = 0: private users are not asked.

    Notes
    -----
    Without a public sample the middle of the range is predicted.
    """

    uses_epsilon = False
    uses_public = True

    def __init__(
        self,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Fit on the public sample.

        Parameters
        ----------
        X, y : ndarrays of shapes (n, d), (n,)
            Not read.
        mask : ignored
        X_public : ndarray of shape (q, d), optional
        y_public : ndarray of shape (q,), optional

        Returns
        -------
        self
        """
        self._check_fit(X, y, mask)
        public = public_rows(self, X_public, y_public)
        self.model_ = None if public is None else PublicMean(*public, self._streams())
        self.guarantee_ = Guarantee("ldp", 0.0, rounds=0, bits_up=0.0, note="reads the public sample alone")
        return self

    def _public_range(self, y: np.ndarray) -> tuple[tuple[float, float], str]:
        # Private labels are not read: without a public range nothing is clipped.
        return ((-np.inf, np.inf), "") if self.y_range is None else super()._public_range(y)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for X of shape (m, d): ndarray of shape (m,)."""
        X = self._check_predict(X)
        if self.model_ is not None:
            return self._finish(self.model_.predict(X))
        lo, hi = self.y_range_
        return np.full(len(X), (lo + hi) / 2.0 if np.isfinite(lo) else 0.0)
