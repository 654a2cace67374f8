"""Split conformal prediction: intervals of a regressor and sets of classes of a classifier under local privacy."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_number
from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators.base import LocalClassifier, LocalEstimator, LocalRegressor, check_epsilon
from lpbench.estimators.intervals.coverage import CoverageCurve, ThresholdQuestion, calibrate, calibrate_levels
from lpbench.estimators.intervals.scale import ScaledRegressor
from lpbench.estimators.tuning_free.residual_gp import ResidualGP
from lpbench.estimators.tuning_free.residual_score import ResidualScore
from lpbench.privacy import RandomizedResponse, Users
from lpbench.privacy.users import Broadcast

#: Share of the users who do not calibrate whose reports give the scale of normalized intervals.
_SCALING = 0.25


@dataclass(eq=False, repr=False)
class Calibrated(LocalEstimator):
    """Base of PrivateIntervals and PrivateSets: conformal calibration of another estimator.

    Some users train the estimator. The others answer whether their own score (residual, or one minus the probability of
    their class) is below thresholds, from which the quantile of a coverage is estimated.
    """

    rounding = "linear algebra of the BLAS"
    uses_mask = True
    uses_public = True

    estimator: Any = None
    share: float = 0.2
    epsilon: float | None = None
    coverage: float | Sequence[float] = 0.9

    #: Makes the estimator where none is given.
    _default: ClassVar[type[LocalEstimator]]

    @property
    def _scaling(self) -> float:
        """Share of the users who do not calibrate whose reports give a scale of the score."""
        return 0.0

    def _inner(self) -> Any:
        return clone(self._default() if self.estimator is None else self.estimator)

    @property
    def fit_epsilon(self) -> float:
        """Return ``epsilon``, or the wrapped estimator's where it is None.

        Each user either trains or calibrates, never both.

        """
        return check_epsilon(self._inner().epsilon if self.epsilon is None else self.epsilon)

    def _calibrated(self, users: Users, parameters: Mapping[str, Any], score: str, reach: float) -> LocalEstimator:
        """Train the estimator on a random part of the users, and estimate the score's quantiles from the others' bits.

        ``parameters`` are set on the estimator, ``score`` names the score ("residual" or one minus a probability),
        which never exceeds ``reach``. Returned is the fitted estimator; ``curves_`` gets a curve for each level of
        coverage. Calibrating users are divided among the levels, so that nobody is asked twice, and serve all.
        """
        estimator = self._inner()
        unit = (None, (0.0, 1.0), self.__dict__["domain"])
        if estimator.get_params().get("domain") not in unit:
            raise ConfigurationError(
                f"the estimator's domain={estimator.domain!r} is not used: pass it as domain= to {type(self).__name__}"
            )
        epsilon, streams = self.fit_epsilon, self._streams()
        share = check_number("share", self.share, above=0, below=1)
        levels = [check_number("coverage", level, above=0, below=1) for level in np.unique(np.asarray(self.coverage))]
        if not levels:
            raise ConfigurationError("coverage=[] is empty: ask about one or more levels, such as [0.8, 0.95]")
        order = streams.generator("calibrating users").permutation(users.n)
        n_calibrating = max(1, round(share * users.n))
        if users.n <= n_calibrating:
            raise DataError(f"n_samples = {users.n}: a training and a calibrating user need more; pass more users")
        n_scaling = round(self._scaling * (users.n - n_calibrating))
        scaling, training = np.split(order[n_calibrating:], [n_scaling])
        estimator.taught(users.take(np.sort(training)), streams.child("estimator"), epsilon=epsilon, **parameters)
        scored: Any = estimator
        self.scaled_: ScaledRegressor | None = None
        if n_scaling:
            asked = users.take(np.sort(scaling)), reach, epsilon, streams.child("scale")
            scored = self.scaled_ = ScaledRegressor.to(estimator, *asked)
            score = "scaled residual"
            users.note(f"{n_scaling} users tell how far labels lie from predictions")
        mechanism = RandomizedResponse.for_budget(epsilon)
        self.curves_ = {level: CoverageCurve(reach, mechanism, level) for level in levels}
        question = ThresholdQuestion(Broadcast(scored), score, 0.0, mechanism)
        self.calibrating_ = order[:n_calibrating]
        curves = list(self.curves_.values())
        if len(curves) == 1:
            calibrate(users, self.calibrating_, curves[0], question)
        else:
            calibrate_levels(users, self.calibrating_, curves, question)
        users.note(f"{n_calibrating} users calibrate")
        return estimator

    @abstractmethod
    def within(self, X: np.ndarray, threshold: float) -> np.ndarray:
        """Return the interval or set of all labels whose score is at most a threshold."""
        raise NotImplementedError

    def threshold(self, coverage: float | None = None) -> float:
        """Return the least threshold that reaches the coverage; it is no smaller than that of a lower level."""
        levels = list(self.curves_)
        wanted = levels[-1] if coverage is None else check_number("coverage", coverage, above=0, below=1)
        if wanted > levels[-1]:
            raise ConfigurationError(
                f"coverage={wanted:g} is above every level that users were asked about, "
                f"{', '.join(f'{level:g}' for level in levels)}: fit with it among coverage=[...]"
            )
        level_asked = min(level for level in levels if level >= wanted)
        return max(curve.threshold() for level, curve in self.curves_.items() if level <= level_asked)

    def predict_interval(self, X: np.ndarray, coverage: float | None = None) -> np.ndarray:
        """Return what :meth:`within` does at the threshold of a coverage.

        A level that was not asked about is answered by the nearest one above that was; None: the highest.
        """
        return self.within(X, self.threshold(coverage))


@dataclass(eq=False, repr=False)
class PrivateIntervals(Calibrated, LocalRegressor):
    """Wrap a regressor so that it says how far labels lie from its predictions: split conformal, one bit a user.

    A random share of the users does not train. Each of them answers, by randomized response at the whole budget,
    whether her residual exceeds a broadcast threshold (:mod:`.coverage`); nobody is asked twice. The interval is the
    prediction plus and minus the least threshold that reaches the coverage, corrected for the finite number of users
    and for the noise of the reports: where these tell little the interval is the whole range.

    Parameters
    ----------
    estimator : LocalRegressor, optional
        Cloned; None: :class:`~lpbench.estimators.ResidualGP`.
    share : float
        Share of the users who calibrate, in (0, 1).
    epsilon : float, optional
        Budget of one user; None: the estimator's.
    coverage : float or sequence of float
        Share of labels inside, or several: the calibrating users are divided evenly among them, each is asked about
        a threshold near one, and answers serve all. Another level is answered by the nearest one above among these, or
        refused.
    normalized : bool
        Whether widths follow a scale of the residual: a quarter of the users who would train report, at the whole
        budget, how far their label lies from its prediction, to which a :class:`~lpbench.estimators.ResidualGP` is
        fitted. Calibrated is then the residual over its scale.
    y_range, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`; they take the place of the estimator's.

    Attributes
    ----------
    estimator_ : LocalRegressor
        Fitted to the users who train.
    scaled_ : ScaledRegressor or None
        The estimator with the scale of its residuals; None unless ``normalized``.
    curves_ : dict of float to CoverageCurve
        What the users' answers say about each level, in increasing order.
    calibrating_ : int ndarray
        Who calibrated, in rows of the sample.
    guarantee_ : Guarantee
        Of the user who spends most; the note counts calibrating users.

    Notes
    -----
    The coverage is marginal: on average over new users from the same distribution as those who calibrate, all of whose
    features are known for the prediction, and over the randomness of the reports. It does not hold for each value of
    the features, nor for rows in which features are missing.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PrivateIntervals
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PrivateIntervals(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    _default = ResidualGP
    added: ClassVar[Mapping[str, Any]] = {"normalized": False}

    normalized: bool = False

    @property
    def _scaling(self) -> float:
        return _SCALING if self.normalized else 0.0

    def learn(self, users: Users) -> Self:
        """Train the estimator on some users, and estimate the residual's quantiles from the others."""
        lo, hi = self.y_range_
        parameters = {"y_range": self.y_range_, "domain": (0.0, 1.0)}
        self.estimator_ = self._calibrated(users, parameters, "residual", max(hi - lo, 1e-12))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete X of shape (m, d), as the estimator does: ndarray of shape (m,)."""
        X = self._check_predict(X)  # fails before fit
        return np.asarray(self.estimator_.predict(X))

    def within(self, X: np.ndarray, threshold: float) -> np.ndarray:
        """Return the ends of the intervals of labels whose residual, over its scale, is at most a threshold.

        Returns
        -------
        ndarray of shape (m, 2)
            Lower and upper ends, within the public range.
        """
        center, half = self.predict(X), np.asarray(threshold)
        if self.scaled_ is not None:
            # No score exceeds the reach, where all labels are covered.
            scale = self.scaled_.scale(self._check_predict(X)) if threshold < self.scaled_.reach else np.inf
            half = half * scale
        return np.clip(np.column_stack([center - half, center + half]), *self.y_range_)


@dataclass(eq=False, repr=False)
class PrivateSets(Calibrated, LocalClassifier):
    """Wrap a classifier so that it names the classes that are possible: the counterpart of :class:`PrivateIntervals`.

    A calibrating user answers whether one minus the probability that the classifier gives to her class exceeds a
    broadcast threshold. A set holds all classes within the least threshold that covers enough.

    Parameters
    ----------
    estimator : LocalClassifier, optional
        Cloned; None: :class:`~lpbench.estimators.ResidualScore`.
    share, epsilon, coverage
        See :class:`PrivateIntervals`.
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`; they take the place of the estimator's.

    Attributes
    ----------
    estimator_ : LocalClassifier
        Fitted to class numbers.
    curves_, calibrating_
        See :class:`PrivateIntervals`.

    Notes
    -----
    The coverage is marginal, as that of :class:`PrivateIntervals`. Sets may be empty where no class is probable enough.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PrivateSets
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PrivateSets(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    _default = ResidualScore
    domain: Any = field(default=(0.0, 1.0), kw_only=True)

    def learn(self, users: Users) -> Self:
        """Train the classifier on some users, and estimate the score's quantiles from the others."""
        # The domain is applied before anybody is asked; the inner classifier takes features as they are.
        parameters = {"classes": np.arange(self.classes_.size), "domain": None}
        self.estimator_ = self._calibrated(users, parameters, "class", 1.0)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities by the wrapped classifier.

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
        return np.asarray(self.estimator_.predict_proba(X))

    def within(self, X: np.ndarray, threshold: float) -> np.ndarray:
        """Return the sets of classes whose probability is at least one minus a threshold.

        Returns
        -------
        boolean ndarray of shape (m, n_classes)
            True where the class is in the set, in the order of ``classes_``.
        """
        return 1.0 - self.predict_proba(X) <= threshold
