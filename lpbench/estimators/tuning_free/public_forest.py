"""Public learners alone, for classes and for numbers: no private user is asked."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lpbench.estimators.base import LocalClassifier
from lpbench.estimators.public_only import PublicOnlyRegressor
from lpbench.estimators.tuning_free.public_mean import PublicMean
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.privacy import PublicSample, Users


@dataclass(eq=False, repr=False)
class PublicForest(LocalClassifier):
    """Forests on the public sample, weighted by their out-of-bag likelihood; see :class:`PublicScore`.

    The score from which :class:`lpbench.estimators.ResidualScore` starts, and the baseline that asking private users
    has to beat.

    Parameters
    ----------
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`.

    Attributes
    ----------
    guarantee_ : Guarantee
        ``ldp`` with epsilon = 0: private users are not asked.

    Notes
    -----
    Without a public sample nothing is known, and all classes are equally probable.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PublicForest
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PublicForest(classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    0.0
    >>> model.predict(X).shape
    (300,)
    """

    uses_epsilon = False
    uses_public = True

    def learn(self, users: Users) -> Self:
        """Fit on the public sample; nobody is asked."""
        nothing = PublicSample(np.empty((0, users.n_features)), np.empty(0, dtype=np.int64))
        X, codes = nothing if users.public is None else users.public
        self._score = PublicScore(X, codes, self.classes_.size, self._streams().integer("tree"))
        users.note("reads the public sample alone")
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities by the public forests alone.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Complete rows, in the units of the training rows.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Probabilities in the order of ``classes_``; rows sum to 1.
        """
        X = self._check_predict(X)  # fails before fit
        return self._score.predict_proba(X)


@dataclass(eq=False, repr=False)
class PublicForestRegressor(PublicOnlyRegressor):
    """Forests and Gaussian processes on the public sample, weighted on rows left out; see :class:`PublicMean`.

    The predictions from which :class:`lpbench.estimators.ResidualGP` starts where there is a public sample, and the
    baseline that asking private users has to beat.

    Parameters
    ----------
    y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`; without a range nothing is clipped, and no private label
        is read for one.

    Attributes
    ----------
    guarantee_ : Guarantee
        ``ldp`` with epsilon = 0: private users are not asked.

    Notes
    -----
    Without a public sample the middle of the range is predicted.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PublicForestRegressor
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PublicForestRegressor(y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    0.0
    >>> model.predict(X).shape
    (300,)
    """

    def learn(self, users: Users) -> Self:
        """Fit on the public sample; nobody is asked."""
        self.model_ = PublicMean.of(users, self._streams())
        users.note("reads the public sample alone")
        return self
