"""ResidualScore: private classification with masks, a public sample, both or neither."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from lpbench.estimators.base import check_epsilon
from lpbench.estimators.private_classes import (
    CLASS,
    ClassQuestion,
    indicator_mechanism,
    indicator_variance,
    indicators,
)
from lpbench.estimators.result_cache import Shared
from lpbench.estimators.tuning_free.calibration import Calibration, Design
from lpbench.estimators.tuning_free.class_posterior import SCALES, fit_classes
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Moments, Spreads
from lpbench.estimators.tuning_free.indicators import IndicatorClassifier
from lpbench.estimators.tuning_free.mixture import Fitted
from lpbench.estimators.tuning_free.public_score import NOTE, PublicScore
from lpbench.estimators.tuning_free.rare_class import RareClass, rare_share
from lpbench.estimators.tuning_free.rounds import BLOCK, Enrolled
from lpbench.estimators.tuning_free.score_trust import slope_agreement
from lpbench.privacy import Users

#: Public rows that stand in for what a user protects, the most among which they are sought, and how near ties are.
_NEAREST, _MOST_ROWS, _TIE = 4, 1024, 1e-9
#: Columns among which a tree of the rows saves time.
_FEW = 8
#: One over the standard deviation of an indicator whose mean lies between a tenth and nine tenths.
_INDICATOR = Spreads(np.array([2.0, 2.2, 2.6, 3.4]), np.full(4, 0.25))
#: The same of what a public score leaves of an indicator.
_REMAINDER = Spreads(np.array([2.0, 2.3, 2.8, 3.5, 4.5]), np.full(5, 0.2))
#: Public scores expected of users, whatever the budget.
_EXPECTED = Shared(1)


@dataclass(eq=False, repr=False)
class ResidualScore(IndicatorClassifier):
    """Private classification with masks, a public sample, both or neither, without a parameter to tune.

    Where users show features, each sends its class, by randomized response or, of four and more classes where that has
    less noise, hidden in a subset. Gaussian processes and a forest on what is
    shown are fitted to unbiased indicators, less the part of a public score that follows from what is shown; the
    prediction adds the score of the complete record. It is a mixture with the private constant or, beside a score, with
    that as it is and the model without it, weighted by reports that the parts have not seen (:func:`.fit_indicators`).
    Where reports fall with the score, the model without it is what is left (:func:`.score_trust`).
    Where one of two classes is rare and there is no score, :class:`.RareClass` turns them into probabilities.

    Where users show nothing, each sends its cell of the public score and its class, hidden in a subset of pairs, and
    the posterior of the drift from the score is predicted (:mod:`.calibration`); without a public sample, the estimated
    class shares.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`.

    Attributes
    ----------
    public_ : PublicScore or None
        None without a public sample.
    agreement_ : Agreement, SlopeAgreement or None
        Diagnosis of the public sample, with an interval; None without a sample. Where users show nothing, it is the
        share of users to whose class the score gives more than the public class shares do, read from the reports on
        score and class. Where they show features, they send their class alone, and it is the slope of classes on what
        the score expects of a user, given what she shows.
    models_ : list of Fitted or RareClass, or Calibration
        Models of the second of two classes (a RareClass where one is rare), else of each; where nothing is shown, a
        calibration of the score.
    guarantee_ : Guarantee
        ``semi_feature_ldp``, or ``ldp`` where nothing is shown: epsilon of the one report that a user sends. Public
        rows are not protected.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import ResidualScore
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = ResidualScore(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    rounding = "linear algebra of the BLAS"

    epsilon: float = 1.0
    domain: Any = field(default=(0.0, 1.0), kw_only=True)

    #: Ablations change these.
    _design: ClassVar[Design] = Design()

    def learn(self, users: Users) -> Self:
        """Learn from the public sample and ask the users."""
        check_epsilon(self.epsilon)
        streams, n_classes, self.public_, expected = self._streams(), self.classes_.size, None, None
        self.agreement_ = None
        rows, seed = users.public if self.uses_public else None, streams.integer("tree")
        if rows is not None:
            self.public_ = PublicScore(*rows, n_classes, seed, self._design.leaf_sizes)
            users.note(NOTE)
        if self.protects == "record" or users.mask.all():
            self.models_ = Calibration.of(users, self.public_, self.epsilon, n_classes, seed, self._design)
            self.agreement_ = self.models_.agreement
            return self
        enrolled = Enrolled.of(users, streams, SCALES if n_classes > 2 else (1.0,))
        if rows is not None and self.public_ is not None:
            inputs = enrolled, users.public_features, rows.X, self.public_
            expected = _EXPECTED(inputs, lambda: _expected_of_shown(*inputs))
        self.models_ = fit_indicators(users, n_classes, self.epsilon, enrolled, expected)
        if rows is not None and expected is not None:
            fitted = [model.scores[0] if isinstance(model, RareClass) else model for model in self.models_]
            without = [model.apart.model for model in fitted if model.apart is not None]
            beside = [model.model for model in fitted]
            self.agreement_ = slope_agreement(without, beside, enrolled.persons, rows.y.size)
        return self

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        if isinstance(self.models_, Calibration):
            return self.models_.probabilities(X)
        return super()._probabilities(X)

    def _estimate(self, k: int, X: np.ndarray, model: Fitted) -> np.ndarray:
        return model.at(X, None if self.public_ is None else self.public_.predict_proba(X)[:, k])


def fit_indicators(
    users: Users,
    n_classes: int,
    epsilon: float,
    enrolled: Enrolled,
    expected: tuple[np.ndarray, np.ndarray, int] | None,
) -> list[Any]:
    """Regress indicators of classes on what users show; every user sends its class at the whole budget.

    Of two classes the second is regressed, else each, under one posterior (:func:`.fit_classes`). The report is that
    whose indicators have least noise (:func:`.indicator_mechanism`), and the variance of an indicator follows from its
    mean, so that the prior variances are those of indicators. Of a public score the part that follows from what users
    show is subtracted and what is left is regressed, too: that prediction is to be added to the score of the complete
    record. ``expected``: the mean of the score given what users show, (classes, n), its variance, and the rows of its
    sample.
    """
    if n_classes == 1:
        return []
    mechanism = indicator_mechanism(float(epsilon), n_classes)
    reports = users.ask(CLASS, ClassQuestion(mechanism))
    # The noise of an indicator that is one in a class's share of the users, here one over the number of classes.
    targets, variance = indicators(mechanism, reports), indicator_variance(mechanism)
    if n_classes > 2:
        return fit_classes(enrolled, targets, variance, expected)
    target, noise, seen = targets[1], np.full(users.n, variance), np.arange(users.n)
    prior, remainder = ((0.0, 1.0), _INDICATOR), ((-0.5, 0.5), _REMAINDER)
    if expected is None:
        share = rare_share(target, variance)
        if share is not None:
            return [RareClass.fit(partial(_fitted, enrolled, target, noise), target, variance, share)]
        return [_fitted(enrolled, target, noise, prior)]
    mean, hidden, public_rows = expected[0][-1], expected[1][-1], expected[2]
    moments, rest = _moments(enrolled, [target, target - mean], noise, [prior, remainder])
    apart = Fitted.to(enrolled, GaussianAverage(moments), target, noise, seen, {})
    score = {"expected": mean, "hidden": hidden, "apart": apart, "public_rows": public_rows}
    return [Fitted.to(enrolled, GaussianAverage(rest), target - mean, noise, seen, {}, **score)]


def _fitted(
    enrolled: Enrolled, target: np.ndarray, noise: np.ndarray, prior: tuple[Any, Spreads], kernel: int | None = None
) -> Fitted:
    """Fit a mixture to ``target`` (n,), unbiased indicators with noise variances ``noise`` (n,).

    ``prior`` has the arguments of :class:`.Moments`: range of the label and prior of its spread. ``kernel`` is the only
    one to use, without a forest (None: all).
    """
    [moments], seen = _moments(enrolled, [target], noise, [prior]), np.arange(noise.size)
    if kernel is not None:
        return Fitted.to(enrolled, GaussianAverage(moments.only(kernel)), target, noise, seen, {}, ("gp",))
    return Fitted.to(enrolled, GaussianAverage(moments), target, noise, seen, {})


def _moments(
    enrolled: Enrolled, targets: Sequence[np.ndarray], noise: np.ndarray, priors: Sequence[tuple[Any, Spreads]]
) -> list[Moments]:
    """Sum reports ``targets`` (k, n), unbiased with noise variances ``noise`` (n,), and the users' kernel features.

    ``priors`` has the arguments of each row's :class:`.Moments`: range of the label and prior of its spread.
    """
    moments = [Moments(*prior) for prior in priors]
    for block, features in enrolled.blocks(np.arange(noise.size)):  # most of the work: once for all rows
        for sums, target in zip(moments, targets, strict=True):
            sums.add(features, target[block], noise[block])
    return moments


def _expected_of_shown(
    enrolled: Enrolled, visible: np.ndarray, X_public: np.ndarray, score: PublicScore
) -> tuple[np.ndarray, np.ndarray, int]:
    """Mean of the public score given what users show, (classes, n), its variance, (classes,), and rows of its sample.

    ``visible`` (n, d) is NaN where a user protects a feature, which the nearest rows of ``X_public`` fill in. Classes
    are those that are regressed: the second of two, else each.
    """
    rng = enrolled.streams.generator("nearest")
    rows = rng.permutation(np.tile(X_public, (-(-_NEAREST // len(X_public)), 1)))[:_MOST_ROWS]
    near = _nearest_rows(enrolled.Z, enrolled.shown.transform(rows), rng)
    scores = score.filled(visible, rows, near, first=int(score.n_classes == 2))
    # summed one after the other
    variance = np.cumsum(np.var(scores, axis=1, ddof=1), axis=1)[:, -1] / len(visible)
    return np.mean(scores, axis=1), variance, len(X_public)


def _nearest_rows(Z: np.ndarray, places: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers of the rows ``places`` (q, k) nearest to each user's Z (n, k), in increasing order: (_NEAREST, n).

    Distances to which up to ``_TIE`` is added at random are compared. Of a few columns a tree finds the nearest, and
    draws are made where they may matter: where the next row is hardly farther.
    """
    near, q = np.empty((_NEAREST, len(Z)), dtype=np.intp), len(places)
    draws: Any = rng.bit_generator
    few = 0 < Z.shape[1] <= _FEW and q > _NEAREST
    tree = cKDTree(places) if few else None
    for start in range(0, len(Z), BLOCK):
        block = Z[start : start + BLOCK]
        if tree is not None:
            distances, found = tree.query(block, _NEAREST + 1)
            near[:, start : start + BLOCK] = np.sort(found[:, :_NEAREST], axis=1).T
            if (distances[:, -1] - distances[:, -2] > 2.0 * _TIE * (1.0 + distances[:, -1])).all():
                draws.advance(len(block) * q)
                continue
        distances = cdist(block, places)
        distances += _TIE * rng.random(distances.shape)
        near[:, start : start + BLOCK] = np.sort(np.argpartition(distances, _NEAREST - 1, axis=1)[:, :_NEAREST]).T
    return near
