"""Constant baselines: the mean, the shrunk mean and the majority class of one report per user."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lpbench.estimators.base import LocalClassifier, LocalRegressor, check_epsilon
from lpbench.estimators.private_classes import CLASS, ClassQuestion, indicator_mechanism
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.estimators.privatized_labels.numbers import NUMBER, NumberQuestion, best_unbiased
from lpbench.estimators.tuning_free.gaussian_average import LEVEL, typical_variance
from lpbench.estimators.tuning_free.working_range import RangeCheck
from lpbench.privacy import Users


@dataclass(eq=False, repr=False)
class PrivateMean(LocalRegressor):
    """Predict the mean of Laplace-privatized labels everywhere.

    A method that does not beat it has learned nothing from the features. It is the corner p = 0, t = 1, rho = 1 of
    HistOfTree's grid, which the paper's grid leaves out.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.

    Attributes
    ----------
    mean_ : float
        Unbiased estimate of the mean label, before clipping; its variance is 2 (hi - lo)^2 / (n epsilon^2) above that
        of the sample mean.
    guarantee_ : Guarantee
        ``ldp``: features never leave the device.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PrivateMean
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PrivateMean(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0

    def learn(self, users: Users) -> Self:
        """Ask for noisy labels and keep their average as ``mean_``."""
        self.mean_ = float(users.ask(LABEL, LabelQuestion(self.y_range_, self.epsilon)).mean())
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict ``mean_``, clipped to ``y_range`` if ``clip`` is set, for each row of X."""
        return self._finish(np.full(self._check_predict(X).shape[0], self.mean_))


@dataclass(eq=False, repr=False)
class PrivateConstant(PrivateMean):
    """Predict the mean of unbiased reports, shrunk to the middle of the range by its known noise.

    Reports are those of the unbiased randomizer of least variance for a typical label; PrivateMean's Laplace noise has
    up to several times their variance. The mean label is taken for normal about the middle of the range with a
    standard deviation of a quarter of its width, so that n users with reports of variance v are worth
    n / (n + v / (width / 4)^2) of the prediction. The range is narrowed first to the part whose expected
    error is least, by the reports of some users (:mod:`lpbench.estimators.tuning_free.working_range`).

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`.

    Attributes
    ----------
    mean_ : float
        Estimate of the mean label, before clipping.
    guarantee_ : Guarantee
        ``ldp``: features never leave the device.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PrivateConstant
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PrivateConstant(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    1.9999999500000212
    >>> model.predict(X).shape
    (300,)
    """

    def learn(self, users: Users) -> Self:
        """Average the noisy labels and shrink the average towards the middle of the range."""
        mechanism = best_unbiased(check_epsilon(self.epsilon))
        order = self._streams().generator("order").permutation(users.n)
        check = RangeCheck(users, self.y_range_, self.epsilon, order).run()
        question = NumberQuestion(check.y_range, mechanism)
        reports = question.readings(users.ask(NUMBER, question, np.sort(check.rest)))
        middle, width = sum(check.y_range) / 2.0, 2.0 * question.half
        typical = typical_variance(width)
        noise = question.half**2 * float(mechanism.noise_variance(np.zeros(1))[0])
        prior_variance = (LEVEL * width) ** 2
        share = prior_variance / (prior_variance + (typical + noise) / reports.size) if width > 0 else 1.0
        self.mean_ = middle + share * (float(reports.mean()) - middle)
        return self


@dataclass(eq=False, repr=False)
class PrivateMajority(LocalClassifier):
    """Predict the most frequent class of labels privatized by randomized response.

    Of four and more classes a random subset is sent where its noise is less (:func:`.indicator_mechanism`).

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.

    Attributes
    ----------
    shares_ : ndarray of shape (n_classes,)
        Unbiased estimates of the class shares; they sum to 1 and may be negative.
    guarantee_ : Guarantee
        ``ldp``: features never leave the device. Of a single class nothing is spent.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PrivateMajority
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PrivateMajority(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0

    def learn(self, users: Users) -> Self:
        """Ask for randomized classes and keep their unbiased shares, of which the largest is predicted."""
        mechanism = indicator_mechanism(check_epsilon(self.epsilon), self.classes_.size)
        reports = users.ask(CLASS, ClassQuestion(mechanism))
        counts = np.bincount(reports.ravel(), minlength=self.classes_.size)
        self.shares_ = mechanism.estimate(counts, users.n) / users.n
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the estimated class shares, clipped at 0 and normalized: the same for each row.

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
        shares = np.maximum(self.shares_, 0.0)
        return np.tile(shares / shares.sum(), (X.shape[0], 1))
