"""Tuning-free private regression: randomised residuals, Gaussian processes with known noise, and a forest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice
from lpbench.estimators.base import Grid, LocalRegressor, Rows, SweepResult, check_epsilon, expand_grid
from lpbench.estimators.private_labels import REAL_BITS
from lpbench.estimators.stable import settled
from lpbench.estimators.tuning_free.half_forest import HalfForest
from lpbench.estimators.tuning_free.interview import READINGS, REPORTS, RESIDUAL, Answers, Curator, Question, effects_at
from lpbench.estimators.tuning_free.kernel_features import KernelFeatures, ShownFeatures
from lpbench.privacy import Records
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams

LEARNERS = ("both", "gp", "forest")
#: Parameters beside the budget that may change without the sample being prepared anew.
_SETTINGS = ("report", "adaptive", "ask_hidden", "learner", "reading", "clip")
#: Smallest share of the label's variance that the forest is built to find.
_LEAST_SIGNAL = 0.03
#: Fewer users than this make no forest.
_FEWEST_FOR_FOREST = 20


@dataclass(frozen=True, eq=False)
class Sample:
    """Everything that does not depend on the budget: validated records, their public part, the users' randomness."""

    X: np.ndarray
    y: np.ndarray
    shown: ShownFeatures
    Z: np.ndarray
    kernels: KernelFeatures
    features: list[np.ndarray]
    order: np.ndarray
    draws: np.ndarray
    streams: Streams
    public_bits: float


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
    y_range : (float, float)
        Public range of the label.
    clip : bool
        Clip predictions to ``y_range``.
    domain : (float, float)
        Public range of every feature.
    random_state : int, Generator, RandomState, Streams or None

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

    uses_mask = True

    def __init__(
        self,
        epsilon: float = 1.0,
        report: str = "levels",
        adaptive: bool = True,
        ask_hidden: bool = True,
        learner: str = "both",
        reading: str = "symmetric",
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.report = report
        self.adaptive = adaptive
        self.ask_hidden = ask_hidden
        self.learner = learner
        self.reading = reading
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Ask the users and fit.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Labels within ``y_range``.
        mask : boolean ndarray of shape (n, d), optional
            True where a user protects a feature. None: all features are protected.
        X_public, y_public : ignored

        Returns
        -------
        self
        """
        return self._fit(self._sample(X, y, mask))

    def _sample(self, X: np.ndarray, y: np.ndarray, mask: np.ndarray | None) -> Sample:
        X, y, mask = self._check_fit(X, y, mask)
        streams = self._streams()
        public = np.where(mask, np.nan, X)
        shown = ShownFeatures(public)
        Z = shown.transform(public)
        kernels = KernelFeatures(Z, streams.generator("landmarks"))
        draws = RESIDUAL.draws(streams, y.size)
        order = streams.generator("order").permutation(y.size)
        public_bits = REAL_BITS * float((~mask).sum(axis=1).mean())
        return Sample(X, y, shown, Z, kernels, kernels.transform(Z), order, draws, streams, public_bits)

    def _fit(self, sample: Sample) -> Self:
        check_epsilon(self.epsilon)
        check_choice("report", self.report, REPORTS)
        check_choice("learner", self.learner, LEARNERS)
        check_choice("reading", self.reading, READINGS)
        curator, asked = self._curator(sample), []
        for question in curator.questions():
            users = question.users
            records = Records(sample.X[users], sample.y[users])
            curator.learn(question, RESIDUAL.report(records, question, sample.draws[:, users]))
            asked.append(question)
        return self._learned(sample, curator, asked)

    def _learned(self, sample: Sample, curator: Answers, asked: Sequence[Question]) -> Self:
        """Keep what the curator has learned from the answers, and add the forest."""
        bits_up, bits_down = sample.public_bits, 0.0
        for question in asked:
            bits_up += question.bits_up * question.users.size / sample.y.size
            bits_down += question.bits_down * question.users.size / sample.y.size
        self._shown, self._kernels, self._model = sample.shown, sample.kernels, curator.result()
        self.effects_ = curator.effects
        self.label_variance_, self.report_variance_ = self._model.label_variance, self._model.report_variance
        self._fit_forest(sample, curator)
        self.guarantee_ = Guarantee(
            "semi_feature_ldp", float(self.epsilon), bits_up=bits_up, bits_down=bits_down, note=self._leak_note
        )
        return self

    def _curator(self, sample: Sample) -> Curator:
        return Curator(
            sample.features, sample.shown.hidden, sample.order, self._width_of_range(), self.epsilon,
            self.report, self.adaptive, self.ask_hidden, self.reading,
        )  # fmt: skip

    def _width_of_range(self) -> tuple[float, float]:
        """The public range; a range of a single value, taken from constant labels, is widened to have a width."""
        lo, hi = self.y_range_
        return (lo, hi) if hi > lo else (lo - 0.5, hi + 0.5)

    def _fit_forest(self, sample: Sample, curator: Answers) -> None:
        """Grow the forest on all reports and weigh it against the Gaussian processes."""
        self._forest, self.forest_weight_ = None, 0.0
        seen, model = curator.seen, self._model
        # A leaf is to average as many reports as bring the variance of its mean down to half of that of the signal.
        spread = model.residual_variance + model.report_variance
        signal = max(model.label_variance - model.residual_variance, _LEAST_SIGNAL * model.label_variance)
        leaf = math.ceil(settled(2.0 * spread / signal))
        if self.learner == "gp" or seen.size < max(2 * leaf, _FEWEST_FOR_FOREST) or sample.shown.columns.size == 0:
            return
        targets, noise = curator.targets[seen], curator.noise[seen]
        weight = 1.0 / (model.residual_variance + noise)
        weight /= weight.mean()
        leaf = min(leaf, seen.size // 8)
        self._forest = HalfForest(sample.Z[seen], targets, weight, leaf, sample.streams.generator("tree"))
        smooth = model.leave_one_out([F[seen] for F in sample.features])
        gain = self._forest.left_out - smooth
        self.forest_weight_ = _stacking_weight(weight, targets - smooth, gain, float(spread))
        if self.learner == "forest":
            self.forest_weight_ = 1.0

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete rows X of shape (m, d): ndarray of shape (m,)."""
        return self._predict(*self._features(X))

    def _features(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Checked rows, their standardised columns that are shown, and the kernels' features of these."""
        X = self._check_predict(X)
        Z = self._shown.transform(X)
        return X, Z, self._kernels.transform(Z)

    def _predict(self, X: np.ndarray, Z: np.ndarray, features: list[np.ndarray]) -> np.ndarray:
        result = self._model.predict(features)
        if self._forest is not None:
            result = result + self.forest_weight_ * (self._forest.predict(Z) - result)
        return self._finish(result + effects_at(X, self.effects_))

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score all budgets and points; kernels and the users' randomness are shared."""
        points = expand_grid(grid)
        settings = {name: getattr(self, name) for name in _SETTINGS}
        if set().union(*points) - settings.keys():
            return super().sweep(problem, budgets, grid, streams)
        values, rows = np.empty((len(budgets), len(points))), None
        shared = clone(self).set_params(random_state=streams)
        sample = shared._sample(problem.X_train, problem.y_train, problem.mask)
        for b, epsilon in enumerate(budgets):
            for g, point in enumerate(points):
                shared.set_params(epsilon=epsilon, **{**settings, **point})
                shared._fit(sample)
                # The kernels are those of the sample, so that the test rows' features are the same for all.
                rows = rows or shared._features(problem.X_test)
                values[b, g] = problem.score(shared._predict(*rows))
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
