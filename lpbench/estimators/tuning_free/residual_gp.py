"""Tuning-free private regression: randomised residuals, Gaussian processes with known noise, and a forest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice
from lpbench.estimators.base import Grid, LocalRegressor, SweepResult, Task, check_epsilon, expand_grid
from lpbench.estimators.stable import settled
from lpbench.estimators.tuning_free.half_forest import HalfForest
from lpbench.estimators.tuning_free.interview import READINGS, REPORTS, RESIDUAL, Answers, Curator, effects_at
from lpbench.estimators.tuning_free.kernel_features import KernelFeatures, ShownFeatures
from lpbench.privacy import Users
from lpbench.seeds import Streams

LEARNERS = ("both", "gp", "forest")
#: Parameters beside the budget that may change without the sample being prepared anew.
_SETTINGS = ("report", "adaptive", "ask_hidden", "learner", "reading", "clip")
#: Smallest share of the label's variance that the forest is built to find.
_LEAST_SIGNAL = 0.03
#: Fewer users than this make no forest.
_FEWEST_FOR_FOREST = 20


@dataclass(frozen=True, eq=False)
class Enrolled:
    """What the curator makes of the features that users show, whatever the budget.

    Attributes
    ----------
    shown : ShownFeatures
    Z : ndarray of shape (n, k)
        Standardised features.
    kernels : KernelFeatures
    features : list of ndarrays of shape (n, m_k)
        Their kernels' features.
    order : int ndarray of shape (n,)
        Random order of the users.
    streams : Streams
        The curator's randomness.
    """

    shown: ShownFeatures
    Z: np.ndarray
    kernels: KernelFeatures
    features: list[np.ndarray]
    order: np.ndarray
    streams: Streams

    @classmethod
    def of(cls, users: Users, streams: Streams) -> Enrolled:
        """Read what users show; landmarks and order are drawn from the curator's streams."""
        shown = ShownFeatures(users.shown)
        Z = shown.transform(users.shown)
        kernels = KernelFeatures(Z, streams.generator("landmarks"))
        order = streams.generator("order").permutation(users.n)
        return cls(shown, Z, kernels, kernels.transform(Z), order, streams)


@dataclass(eq=False, repr=False)
class ResidualGP(LocalRegressor):
    """Semi-feature LDP regression without a parameter to tune.

    Users are asked in groups (:mod:`.interview`). The first quarter reports the label over its whole
    range. Every later group reports the residual of the current model, clipped to an interval of public width and
    randomised at the whole budget (:mod:`.level_reports`), so that the noise is on the scale of
    the residual and not on that of the label's range. Where the budget is large enough that it costs little, the
    last groups send along the bin of one protected feature each, and the effects of the bins are estimated
    (:mod:`.bin_effects`). The reports give labels with known noise, to which Gaussian processes on
    the features that are shown are fitted and averaged (:mod:`.gaussian_average`), and beside them
    a forest is grown (:mod:`.half_forest`); its weight is the posterior mean under a uniform prior,
    from predictions of the reports by models that did not see them.

    Everything after the reports is post-processing, and every choice is a function of reports, the features that are
    shown, the mask, n and the budget.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no randomisation beyond rounding to 64 levels.
    report : {"levels", "laplace"}
        ``laplace``: Laplace noise on the clipped residual instead (for comparison).
    adaptive : bool
        False: everybody reports the label over its whole range (for comparison).
    ask_hidden : bool
        False: protected features are never asked for (for comparison).
    learner : {"both", "gp", "forest"}
        Model fitted to the reports in the end (single learners: for comparison).
    reading : {"symmetric", "placed"}
        ``placed``: reports of an interval that was moved into the range are read with regard to where in it the label
        is expected (:mod:`.placed_readings`). The second build: labels near an end of their range are no longer biased.
    y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`.

    Attributes
    ----------
    guarantee_ : Guarantee
        ``semi_feature_ldp``: epsilon of the one report that a user sends.
    effects_ : dict of int to ndarray
        Estimated effect of each bin of the protected features that were asked for.
    forest_weight_ : float
        Share of the forest in the prediction.
    label_variance_, report_variance_ : float
        Estimated variance of the label, and noise variance of an average report.

    Notes
    -----
    Public are: the features that are shown, the mask, n, ``y_range``, ``domain``.
    """

    costs = (0, 18, 60000)
    rounding = "linear algebra of the BLAS"
    uses_mask = True

    epsilon: float = 1.0
    report: str = "levels"
    adaptive: bool = True
    ask_hidden: bool = True
    learner: str = "both"
    reading: str = "symmetric"

    def learn(self, users: Users) -> Self:
        """Ask the users in groups, and fit their reports."""
        return self._interviewed(users, Enrolled.of(users, self._streams()))

    def _interviewed(self, users: Users, enrolled: Enrolled) -> Self:
        check_epsilon(self.epsilon)
        check_choice("report", self.report, REPORTS)
        check_choice("learner", self.learner, LEARNERS)
        check_choice("reading", self.reading, READINGS)
        curator = Curator(
            enrolled.features, enrolled.shown.hidden, enrolled.order, self._width_of_range(), self.epsilon,
            self.report, self.adaptive, self.ask_hidden, self.reading,
        )  # fmt: skip
        for question in curator.questions():
            here, reports = users.ask_present(RESIDUAL, question, question.users)
            if here.size:
                curator.learn(question if here.size == question.users.size else question.take(here), reports)
        return self._learned(enrolled, curator)

    def _learned(self, enrolled: Enrolled, curator: Answers) -> Self:
        """Keep what the curator has learned from the answers, and add the forest."""
        self._shown, self._kernels, self._model = enrolled.shown, enrolled.kernels, curator.result()
        self.effects_ = curator.effects
        self.label_variance_, self.report_variance_ = self._model.label_variance, self._model.report_variance
        self._fit_forest(enrolled, curator)
        return self

    def _width_of_range(self) -> tuple[float, float]:
        """The public range; a range of a single value, taken from constant labels, is widened to have a width."""
        lo, hi = self.y_range_
        return (lo, hi) if hi > lo else (lo - 0.5, hi + 0.5)

    def _fit_forest(self, enrolled: Enrolled, curator: Answers) -> None:
        """Grow the forest on all reports and weigh it against the Gaussian processes."""
        self._forest, self.forest_weight_ = None, 0.0
        seen, model = curator.seen, self._model
        # A leaf is to average as many reports as bring the variance of its mean down to half of that of the signal.
        spread = model.residual_variance + model.report_variance
        signal = max(model.label_variance - model.residual_variance, _LEAST_SIGNAL * model.label_variance)
        leaf = math.ceil(settled(2.0 * spread / signal))
        if self.learner == "gp" or seen.size < max(2 * leaf, _FEWEST_FOR_FOREST) or enrolled.shown.columns.size == 0:
            return
        targets, noise = curator.targets[seen], curator.noise[seen]
        weight = 1.0 / (model.residual_variance + noise)
        weight /= weight.mean()
        leaf = min(leaf, seen.size // 8)
        self._forest = HalfForest(enrolled.Z[seen], targets, weight, leaf, enrolled.streams.generator("tree"))
        smooth = model.leave_one_out([F[seen] for F in enrolled.features])
        gain = self._forest.left_out - smooth
        self.forest_weight_ = _stacking_weight(weight, targets - smooth, gain, float(spread))
        if self.learner == "forest":
            self.forest_weight_ = 1.0

    def predict(self, X: np.ndarray, return_std: bool = False) -> Any:
        """Predict labels for complete rows X of shape (m, d): ndarray of shape (m,).

        With ``return_std`` also the standard deviation of a label about its prediction, shape (m,), as the Gaussian
        processes state it: doubt about the mean, and the label's own spread. It is no calibrated interval:
        :class:`lpbench.estimators.PrivateIntervals` makes one.
        """
        rows = self._located(self._check_predict(X))
        mean = self._predict(*rows)
        if not return_std:
            return mean
        return mean, np.sqrt(self._model.variance(rows[2]) + self._model.residual_variance)

    def _located(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Rows in the unit cube, their standardised columns that are shown, and the kernels' features of these."""
        Z = self._shown.transform(X)
        return X, Z, self._kernels.transform(Z)

    def _predict(self, X: np.ndarray, Z: np.ndarray, features: list[np.ndarray]) -> np.ndarray:
        result = self._model.predict(features)
        if self._forest is not None:
            result = result + self.forest_weight_ * (self._forest.predict(Z) - result)
        return self._finish(result + effects_at(X, self.effects_))

    def learn_grid(self, tasks: Sequence[Task], budgets: Sequence[float], grid: Grid) -> list[SweepResult]:
        """Score all budgets and points; kernels and the users' randomness are shared."""
        points = expand_grid(grid)
        if set().union(*points) - set(_SETTINGS):
            return super().learn_grid(tasks, budgets, points)
        return [self._scored(task, budgets, points) for task in tasks]

    def _scored(self, task: Task, budgets: Sequence[float], points: Sequence[dict]) -> SweepResult:
        settings = {name: getattr(self, name) for name in _SETTINGS}
        model, rows = clone(self).set_params(random_state=task.streams), None
        model._meet(task.users)
        enrolled, values = Enrolled.of(task.users, task.streams), np.empty((len(budgets), len(points)))
        for b, epsilon in enumerate(budgets):
            for g, point in enumerate(points):
                model.set_params(epsilon=epsilon, **{**settings, **point})
                model._interviewed(task.users.fresh(), enrolled)
                # The kernels are those of the sample, so that the test rows' features are the same for all.
                rows = rows or model._located(model._to_unit_cube(task.X_test))
                values[b, g] = task.score(model._predict(*rows))
        return SweepResult(values)


def _stacking_weight(weight: np.ndarray, residual: np.ndarray, gain: np.ndarray, spread: float) -> float:
    """Posterior mean of the weight w in [0, 1] of the second learner, under a uniform prior.

    The reports' expected squared error is that of the labels plus the known noise, so that the least-squares estimate
    from out-of-sample predictions of the *reports* is unbiased for the best weight on the labels.

    Parameters
    ----------
    weight : ndarray of shape (n,)
        Weights of the reports, mean one.
    residual, gain : ndarrays of shape (n,)
        Report minus first prediction, second minus first prediction.
    spread : float
        Variance of a residual of weight one.
    """
    information = float(weight @ gain**2) / spread
    if information <= 0.0:
        return 0.5
    estimate = float(weight @ (gain * residual)) / spread / information
    grid = np.linspace(0.0, 1.0, 201)
    density = -0.5 * information * (grid - estimate) ** 2
    density = np.exp(density - density.max())
    return float(density @ grid / density.sum())
