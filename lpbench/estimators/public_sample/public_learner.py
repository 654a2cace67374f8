"""Learners on public rows and on the features that users show; no private user is asked.

Every feature is replaced by its rank among the public rows and what users show of it, so that a few labeled rows are
seen on the scale of all users. Ranks need no label and no hidden value.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from lpbench.estimators.base import LocalClassifier
from lpbench.estimators.privatized_labels.learners import CLASSIFIERS, REGRESSORS, build_learner
from lpbench.estimators.public_only import PublicOnlyRegressor
from lpbench.privacy import Users


class Ranks:
    """Ranks of features, in [0, 1], among the public rows and the values that users show."""

    def __init__(self, users: Users, with_private: bool) -> None:
        assert users.public is not None
        pool = [users.public.X, *([users.public_features] if with_private else [])]
        columns = np.concatenate(pool).T
        self._values = [np.sort(column[~np.isnan(column)]) for column in columns]

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return the ranks of complete rows X (m, d), shape (m, d): the middle rank of equal values."""
        columns = [
            (np.searchsorted(values, column, "left") + np.searchsorted(values, column, "right")) / (2 * values.size)
            for values, column in zip(self._values, X.T, strict=True)
        ]
        return np.column_stack(columns)


def on_ranks(users: Users, with_private: bool, learner: BaseEstimator) -> Pipeline:
    """Return a pipeline that replaces features by their :class:`Ranks` before the learner."""
    return make_pipeline(FunctionTransformer(Ranks(users, with_private).of), learner)


@dataclass(eq=False, repr=False)
class PublicLearnerClassifier(LocalClassifier):
    """Classifier on the public sample, whose features are ranks among all that is public; nobody is asked.

    Parameters
    ----------
    learner : str or estimator
        ``"ridge"`` (logistic regression with a ridge penalty), ``"gaussian_process"``, ``"extra_trees"``,
        ``"hist_gradient_boosting"``, or any classifier with ``predict_proba``, which is cloned.
    shown : bool
        Rank features among what users show, too, and not among the public rows alone.
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`.

    Attributes
    ----------
    guarantee_ : Guarantee
        epsilon = 0: private users are not asked.

    Notes
    -----
    Without a public sample nothing is known, and all classes are equally probable.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators.public_sample.public_learner import PublicLearnerClassifier
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = PublicLearnerClassifier(classes=(0, 1), random_state=0)
    >>> model = model.fit(X[50:], y[50:], mask=[0], X_public=X[:50], y_public=y[:50])
    >>> model.guarantee_.epsilon
    0.0
    >>> model.predict(X).shape
    (300,)
    """

    uses_epsilon = False
    uses_mask = True
    uses_public = True

    learner: Any = "ridge"
    shown: bool = True

    def learn(self, users: Users) -> Self:
        """Fit on the public sample; nobody is asked."""
        self._model = None
        self._probabilities = np.full(self.classes_.size, 1.0 / self.classes_.size)
        if users.public is not None:
            users.note("reads the public sample and shown features alone")
            X, codes = users.public
            self._present = np.unique(codes)
            self._probabilities = np.bincount(codes, minlength=self.classes_.size) / codes.size
            if self._present.size > 1:
                learner = build_learner(self.learner, CLASSIFIERS, self._streams(), len(X))
                self._model = on_ranks(users, self.shown, learner).fit(X, codes)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities by the learner.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Complete rows, in the units of the training rows.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Probabilities in the order of ``classes_``; rows sum to 1.
        """
        X = self._check_predict(X)
        probabilities = np.tile(self._probabilities, (len(X), 1))
        if self._model is not None:
            probabilities[:, self._present] = self._model.predict_proba(X)
        return probabilities


@dataclass(eq=False, repr=False)
class PublicLearnerRegressor(PublicOnlyRegressor):
    """Regressor on the public sample, whose features are ranks among all that is public; nobody is asked.

    Parameters
    ----------
    learner : str or estimator
        ``"ridge"``, ``"gaussian_process"``, ``"extra_trees"``, ``"hist_gradient_boosting"``, or any regressor, which is
        cloned.
    shown : bool
        Rank features among what users show, too, and not among the public rows alone.
    y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`; labels of the public sample are clipped to ``y_range``.

    Attributes
    ----------
    guarantee_ : Guarantee
        epsilon = 0: private users are not asked.

    Notes
    -----
    Without a public sample the middle of the range is predicted.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators.public_sample.public_learner import PublicLearnerRegressor
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PublicLearnerRegressor(y_range=(0, 1), random_state=0)
    >>> model = model.fit(X[50:], X[50:, 0], mask=[0], X_public=X[:50], y_public=X[:50, 0])
    >>> model.guarantee_.epsilon
    0.0
    >>> model.predict(X).shape
    (300,)
    """

    uses_mask = True

    learner: Any = "ridge"
    shown: bool = True

    def learn(self, users: Users) -> Self:
        """Fit on the public sample; nobody is asked."""
        self.model_ = None
        if users.public is not None:
            users.note("reads the public sample and shown features alone")
            X, y = users.public.X, np.clip(users.public.y, *self.y_range_)
            learner = build_learner(self.learner, REGRESSORS, self._streams(), len(X))
            self.model_ = on_ranks(users, self.shown, learner).fit(X, y)
        return self
