"""PrivateMean: the mean of privatised labels, a feature-free baseline."""

from __future__ import annotations

from typing import Self

import numpy as np

from lpbench.estimators.base import LocalRegressor, Rows
from lpbench.estimators.private_labels import REAL_BITS, LabelQuestion, noisy_labels
from lpbench.privacy.guarantee import Guarantee
from lpbench.seeds import Seed, Streams


class PrivateMean(LocalRegressor):
    """Predict the mean of Laplace-privatised labels everywhere.

    A method that does not beat it has learned nothing from the features. It is the corner p = 0, t = 1, rho = 1 of
    HistOfTree's grid, which the paper's grid leaves out.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    y_range : (float, float)
        Public range of the label.
    clip : bool
        Clip predictions to ``y_range``.
    domain : (float, float)
        Public range of every feature; no feature is used.
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    mean_ : float
        Unbiased estimate of the mean label, before clipping; its variance is 2 (hi - lo)^2 / (n epsilon^2) above that
        of the sample mean.
    guarantee_ : Guarantee
        ``ldp``: features never leave the device.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Average the privatised labels.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Labels within ``y_range``.
        mask, X_public, y_public : ignored

        Returns
        -------
        self
        """
        _, y, _ = self._check_fit(X, y, mask)
        self.mean_ = float(noisy_labels(y, self._label_question(), self._streams()).mean())
        self.guarantee_ = Guarantee("ldp", float(self.epsilon), bits_up=REAL_BITS, note=self._leak_note)
        return self

    def _label_question(self) -> LabelQuestion:
        """What every user is asked."""
        return LabelQuestion(self.y_range_, self.epsilon)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for X of shape (m, d): a constant vector of shape (m,)."""
        return self._finish(np.full(self._check_predict(X).shape[0], self.mean_))
