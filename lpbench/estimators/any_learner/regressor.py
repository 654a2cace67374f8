"""PrivateLabelsRegressor: any regressor on labels that any randomizer of the literature has privatised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from lpbench.checks import check_choice, check_number
from lpbench.estimators.any_learner.learners import REGRESSORS, build_learner, fit_learner, shown_features
from lpbench.estimators.any_learner.numbers import (
    NUMBER_RANDOMIZERS,
    UNBIASED,
    WITH_PRIOR,
    NumberQuestion,
    ask_numbers,
    bell,
    estimated_prior,
    on_points,
    posterior_readings,
    prior_question,
    report_variance,
)
from lpbench.estimators.base import LocalRegressor, Rows, check_epsilon
from lpbench.estimators.private_labels import REAL_BITS
from lpbench.privacy.guarantee import Guarantee
from lpbench.seeds import Seed, Streams

#: Share of the users who report for the prior, where a randomizer needs one and the user says nothing.
PRIOR_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Readings:
    """What the curator knows of the labels.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Reading of each user's report.
    weights : ndarray of shape (n,) or None
        Inverse variances where users answered different questions without bias.
    epsilon, bits_up, bits_down : float
    """

    labels: np.ndarray
    weights: np.ndarray | None
    epsilon: float
    bits_up: float
    bits_down: float = 0.0


class PrivateLabelsRegressor(LocalRegressor):
    """Fit a regressor to privatised labels and the features that users show.

    Every user reports once, at the whole budget. A randomizer with a prior asks a random share of the users for it
    first (levels under randomised response), and the others with the channel that is optimal for the estimated prior.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    randomizer : {"laplace", "staircase", "piecewise", "hybrid", "levels", "optimal_unbiased", "rr_on_bins"}
        How a label is privatised (:mod:`lpbench.privacy`; ``levels`` are those of ResidualGP). Reports of all but
        ``rr_on_bins`` are unbiased.
    learner : str or estimator
        ``"ridge"``, ``"extra_trees"``, ``"hist_gradient_boosting"``, ``"gaussian_process"``, or any regressor or
        pipeline of scikit-learn's kind, which is cloned.
    prior_share : float or None
        Share of the users who report for the prior, in [0, 1). None: 0.1 for ``rr_on_bins``, and 0, a prior that is
        a bell over the public range, for ``optimal_unbiased``; the others take none.
    y_range : (float, float)
        Public range of the label.
    clip : bool
        Clip predictions to ``y_range``.
    domain : (float, float)
        Public range of every feature.
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    learner_ : estimator
        Fitted; None where no feature is shown, and the mean of the readings is predicted.
    features_ : int ndarray
        Columns that at least one user shows; entries that the others protect are replaced by the column's mean.
    mean_ : float
        Mean reading.
    guarantee_ : Guarantee
    """

    uses_mask = True

    def __init__(
        self,
        epsilon: float = 1.0,
        randomizer: str = "laplace",
        learner: str | BaseEstimator = "ridge",
        prior_share: float | None = None,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.randomizer = randomizer
        self.learner = learner
        self.prior_share = prior_share
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Ask the users and fit the learner.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Labels within ``y_range``.
        mask : boolean ndarray of shape (n, d), optional
            True = private; None: all private.
        X_public, y_public : ignored

        Returns
        -------
        self
        """
        X, y, mask = self._check_fit(X, y, mask)
        streams = self._streams()
        readings = self._ask(y, streams)
        self.features_, shown = shown_features(X, mask)
        self.mean_ = float(np.average(readings.labels, weights=readings.weights))
        self.learner_ = None
        if self.features_.size:
            learner = build_learner(self.learner, REGRESSORS, streams, y.size)
            self.learner_ = fit_learner(learner, shown, readings.labels, readings.weights)
        public = REAL_BITS * float((~mask).sum(axis=1).mean())
        self.guarantee_ = Guarantee(
            "semi_feature_ldp",
            readings.epsilon,
            bits_up=public + readings.bits_up,
            bits_down=readings.bits_down,
            note=self._leak_note,
        )
        return self

    def _ask(self, y: np.ndarray, streams: Streams) -> Readings:
        """Ask every user once."""
        check_choice("randomizer", self.randomizer, NUMBER_RANDOMIZERS)
        share = self._share()
        if share == 0:
            question = self._question()
            reports = ask_numbers(y, np.arange(y.size), question, streams)
            mechanism = question.mechanism
            return Readings(question.readings(reports), None, mechanism.epsilon, mechanism.bits)
        order = streams.generator("prior users").permutation(y.size)
        first, rest = np.split(order, [min(y.size, round(share * y.size))])
        asked = prior_question(self.y_range_, float(self.epsilon))
        early = ask_numbers(y, first, asked, streams)
        prior = estimated_prior(early, asked)
        question = self._question(prior)
        late = ask_numbers(y, rest, question, streams)
        labels, weights = np.empty(y.size), None
        labels[rest] = question.readings(late)
        if self.randomizer == "rr_on_bins":
            labels[first] = posterior_readings(early, prior, asked)
        else:
            labels[first] = asked.readings(early)
            weights = np.empty(y.size)
            weights[first] = 1.0 / report_variance(asked.mechanism, prior)
            weights[rest] = 1.0 / report_variance(question.mechanism, prior)
        used = [q.mechanism for q, users in ((asked, first), (question, rest)) if users.size]
        spent, bits = max(m.epsilon for m in used), max(m.bits for m in used)
        return Readings(labels, weights, spent, bits, bits_down=REAL_BITS * prior.size)

    def _share(self) -> float:
        """Share of the users who report for the prior."""
        if self.randomizer not in WITH_PRIOR:
            return 0.0
        if self.prior_share is None:
            return 0.0 if self.randomizer in UNBIASED else PRIOR_SHARE
        return check_number("prior_share", self.prior_share, least=0, below=1)

    def _question(self, prior: np.ndarray | None = None) -> NumberQuestion:
        """What the users are asked who do not report for the prior; None: without asking for one."""
        epsilon = check_epsilon(self.epsilon)
        if prior is None and self.randomizer in UNBIASED:
            return NumberQuestion(self.y_range_, UNBIASED[self.randomizer](epsilon))
        points, channel = WITH_PRIOR[self.randomizer]
        known = bell() if prior is None else prior
        return NumberQuestion(self.y_range_, channel(epsilon, on_points(known, points)))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete X of shape (m, d): ndarray of shape (m,)."""
        X = self._check_predict(X)
        if self.learner_ is None:
            return self._finish(np.full(X.shape[0], self.mean_))
        return self._finish(np.asarray(self.learner_.predict(X[:, self.features_]), dtype=np.float64))
