"""PrivateLabelsRegressor: any regressor on labels that any randomizer of the literature has privatized."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lpbench.checks import check_choice, check_number
from lpbench.estimators.base import LocalRegressor, check_epsilon
from lpbench.estimators.privatized_labels.learners import REGRESSORS, build_learner, fit_learner, shown_features
from lpbench.estimators.privatized_labels.numbers import (
    NUMBER,
    NUMBER_RANDOMIZERS,
    UNBIASED,
    WITH_PRIOR,
    NumberQuestion,
    bell,
    estimated_prior,
    on_points,
    posterior_readings,
    prior_question,
    report_variance,
)
from lpbench.privacy import Users

#: Share of the users who report for the prior, where a randomizer needs one and the user says nothing.
PRIOR_SHARE = 0.1


@dataclass(eq=False, repr=False)
class PrivateLabelsRegressor(LocalRegressor):
    """Fit a regressor to privatized labels and the features that users show.

    Every user reports once, at the whole budget. A randomizer with a prior asks a random share of the users for it
    first (levels under randomized response), and the others with the channel that is optimal for the estimated prior.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    randomizer : {"laplace", "staircase", "piecewise", "hybrid", "levels", "optimal_unbiased", "rr_on_bins"}
        How a label is privatized (:mod:`lpbench.privacy`; ``levels`` are those of ResidualGP). Reports of all but
        ``rr_on_bins`` are unbiased.
    learner : str or estimator
        ``"ridge"``, ``"extra_trees"``, ``"hist_gradient_boosting"``, ``"gaussian_process"``, or any regressor or
        pipeline of scikit-learn's kind, which is cloned.
    prior_share : float or None
        Share of the users who report for the prior, in [0, 1). None: 0.1 for ``rr_on_bins``, and 0, a prior that is
        a bell over the public range, for ``optimal_unbiased``; the others take none.

    Attributes
    ----------
    learner_ : estimator
        Fitted; None where no feature is shown, and the mean of the readings is predicted.
    features_ : int ndarray
        Columns that at least one user shows; entries that the others protect are replaced by the column's mean.
    mean_ : float
        Mean reading.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PrivateLabelsRegressor
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PrivateLabelsRegressor(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    rounding = "linear algebra of the BLAS"
    uses_mask = True

    epsilon: float = 1.0
    randomizer: str = "laplace"
    learner: Any = "ridge"
    prior_share: float | None = None

    def learn(self, users: Users) -> Self:
        """Ask every user for a randomized label, and fit the learner to the unbiased estimates."""
        check_choice("randomizer", self.randomizer, NUMBER_RANDOMIZERS)
        labels, weights = self._ask(users)
        self.features_, visible = shown_features(users.public_features)
        self.mean_ = float(np.average(labels, weights=weights))
        self.learner_ = None
        if self.features_.size:
            learner = build_learner(self.learner, REGRESSORS, self._streams(), users.n)
            self.learner_ = fit_learner(learner, visible, labels, weights)
        return self

    def _ask(self, users: Users) -> tuple[np.ndarray, np.ndarray | None]:
        """Ask every user once: unbiased labels (n,), and their inverse variances (n,), or None where all are alike.

        With a prior, a share of the users is asked for it first and the others by the channel that is optimal for it.
        """
        share = self._share()
        if share == 0:
            question = self._question()
            return question.readings(users.ask(NUMBER, question)), None
        order = self._streams().generator("prior users").permutation(users.n)
        first, second = np.split(order, [min(users.n, round(share * users.n))])
        for_prior = prior_question(self.y_range_, float(self.epsilon))
        early = users.ask(NUMBER, for_prior, first)
        prior = estimated_prior(early, for_prior)
        question = self._question(prior)
        late = users.ask(NUMBER, question, second)
        labels = np.empty(users.n)
        labels[second] = question.readings(late)
        if self.randomizer == "rr_on_bins":
            labels[first] = posterior_readings(early, prior, for_prior)
            return labels, None
        labels[first] = for_prior.readings(early)
        weights = np.empty(users.n)
        weights[first] = 1.0 / report_variance(for_prior.mechanism, prior)
        weights[second] = 1.0 / report_variance(question.mechanism, prior)
        return labels, weights

    def _share(self) -> float:
        """Share of the users, in [0, 1), who report for the prior; 0 for randomizers that take none."""
        if self.randomizer not in WITH_PRIOR:
            return 0.0
        if self.prior_share is None:
            return 0.0 if self.randomizer in UNBIASED else PRIOR_SHARE
        return check_number("prior_share", self.prior_share, least=0, below=1)

    def _question(self, prior: np.ndarray | None = None) -> NumberQuestion:
        """Return the question to the users who do not report for the prior.

        ``prior`` is None if nobody was asked for one.
        """
        epsilon = check_epsilon(self.epsilon)
        if prior is None and self.randomizer in UNBIASED:
            return NumberQuestion(self.y_range_, UNBIASED[self.randomizer](epsilon))
        points, channel = WITH_PRIOR[self.randomizer]
        assumed = bell() if prior is None else prior
        return NumberQuestion(self.y_range_, channel(epsilon, on_points(assumed, points)))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict by the fitted learner on the features that somebody shows, or the mean report if there is none."""
        X = self._check_predict(X)
        if self.learner_ is None:
            return self._finish(np.full(X.shape[0], self.mean_))
        return self._finish(np.asarray(self.learner_.predict(X[:, self.features_]), dtype=np.float64))
