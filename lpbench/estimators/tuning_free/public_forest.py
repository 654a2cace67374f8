"""PublicForest: the public learner alone, without any private user."""

from __future__ import annotations

from typing import Self

import numpy as np

from lpbench.estimators.base import LocalClassifier, Rows
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.privacy.guarantee import Guarantee
from lpbench.seeds import Seed, Streams


class PublicForest(LocalClassifier):
    """Forests on the public sample, weighted by their out-of-bag likelihood; see :class:`PublicScore`.

    The score from which :class:`lpbench.estimators.CalibratedScore` starts, and the floor that asking private users
    has to beat.

    Parameters
    ----------
    domain : (float, float) or None
        Public range of the features, clipped and mapped to [0, 1]. None: features are used as they are.
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public.
    guarantee_ : Guarantee
        ``ldp`` with epsilon = 0: private users are not asked.

    Notes
    -----
    Without a public sample nothing is known, and all classes are equally probable.
    """

    uses_epsilon = False
    uses_public = True

    def __init__(self, domain: tuple[float, float] | None = None, random_state: Seed | Streams = None) -> None:
        self.domain = domain
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Fit on the public sample.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Not read.
        y : ndarray of shape (n,)
            Its classes alone are read, which are public.
        mask : ignored
        X_public : ndarray of shape (q, d), optional
        y_public : ndarray of shape (q,), optional

        Returns
        -------
        self
        """
        X, codes, X_public, public_codes = self._check_fit(X, y, mask, X_public, y_public)
        rows = (X[:0], codes[:0]) if X_public is None else (X_public, public_codes)
        self._score = PublicScore(*rows, self.classes_.size, self._streams().integer("tree"))
        self.guarantee_ = Guarantee("ldp", 0.0, rounds=0, bits_up=0.0, note="reads the public sample alone")
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return class probabilities for X of shape (m, d): ndarray of shape (m, n_classes)."""
        X = self._check_predict(X)
        return self._score.predict_proba(X)
