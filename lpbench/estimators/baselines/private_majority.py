"""PrivateMajority: the majority class of randomised labels, a feature-free baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from lpbench.estimators.base import LocalClassifier, Rows, check_epsilon
from lpbench.estimators.private_classes import CLASS, ClassQuestion
from lpbench.privacy import GRR, Records
from lpbench.privacy.guarantee import Guarantee
from lpbench.seeds import Seed, Streams


class PrivateMajority(LocalClassifier):
    """Predict the most frequent class of labels privatised by randomised response.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    domain : (float, float) or None
        Public range of the features; no feature is used.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public.
    shares_ : ndarray of shape (n_classes,)
        Unbiased estimates of the class shares; they sum to 1 and may be negative.
    guarantee_ : Guarantee
        ``ldp``: features never leave the device. Of a single class nothing is spent.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        domain: tuple[float, float] | None = None,
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.domain = domain
        self.classes = classes
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Count the randomised labels.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Class labels; the set of classes is public.
        mask, X_public : ignored
        y_public : ndarray, optional
            Only its classes are read.

        Returns
        -------
        self
        """
        check_epsilon(self.epsilon)
        X, codes, _, _ = self._check_fit(X, y, mask, X_public, y_public)
        question = self._question()
        mechanism = question.mechanism
        reports = CLASS.report(Records(X, codes), question, CLASS.draws(self._streams(), codes.size, question))
        counts = np.bincount(reports, minlength=self.classes_.size)
        self.shares_ = mechanism.estimate(counts, codes.size) / codes.size
        self.guarantee_ = Guarantee("ldp", mechanism.epsilon, bits_up=mechanism.bits, note=self._noted())
        return self

    def _question(self) -> ClassQuestion:
        """What every user is asked."""
        return ClassQuestion(GRR(self.epsilon, self.classes_.size), "report")

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the estimated class shares, clipped at 0 and normalised, for each row of X: (m, n_classes)."""
        X = self._check_predict(X)
        shares = np.maximum(self.shares_, 0.0)
        return np.tile(shares / shares.sum(), (X.shape[0], 1))
