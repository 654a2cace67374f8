"""PSGD: locally private stochastic gradient descent with a public warm start (Lowy et al. 2023; LPCT sec. 7.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from lpbench.checks import check_choice, check_number
from lpbench.estimators.base import Grid, Rows, SweepResult, check_epsilon, expand_grid
from lpbench.estimators.binary import BinaryClassifier, with_constant
from lpbench.estimators.private_labels import REAL_BITS
from lpbench.estimators.psgd.neural import Layers, NeuralPass
from lpbench.estimators.psgd.passes import LinearPass, Runs, Sample, Users
from lpbench.estimators.psgd.warm_start import curvature_rate, initial_layers, linear_start, neural_start
from lpbench.privacy import PrivUnitG
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams

WARM_RATES = ("curvature", "learning_rate")

#: Bytes that the weights of all runs and replications of one batch may take, so that a step stays in the cache.
_BATCH_BYTES = 1 << 24


class PSGD(BinaryClassifier):
    """Logistic regression (PSGD-L) or a network with one hidden ReLU layer (PSGD-N), trained under LDP.

    From a warm start on the public sample, one pass over the private users in random order. Each user gets the
    current weights, clips the *whole* gradient to length 1 and sends it as one vector with the whole epsilon: a clipped
    gradient g becomes ``+-g/|g|`` with probability ``(1 +- |g|)/2``, which is unbiased and of length 1, and that goes
    through PrivUnitG. The interaction is sequential, one message per user.

    The authors of LPCT spend epsilon once per parameter tensor, leave short gradients short, for which PrivUnitG proves
    nothing, and take public gradient steps in between; none of it is followed here.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: exact unit-length steps.
    hidden_ratio : float
        Hidden units per feature, h = max(1, floor(ratio d)); 0: no hidden layer (PSGD-L).
    learning_rate : float
        Step length of the private pass.
    warm_rate : {"curvature", "learning_rate"}
        Step length of the 100 full-batch steps on the public sample. ``curvature``: 4 / lambda_max(X^T X / q), under
        which the loss of the linear model cannot increase, because the paper's text starts from a minimizer.
        ``learning_rate``: that of the pass, as in the authors' code; small rates then hardly move.
    domain : (float, float) or None
        Public range of the features, clipped and mapped to [0, 1]. None: features are used as they are.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    model_ : Linear or Layers
        Final weights; the last input is the constant.
    guarantee_ : Guarantee
    """

    uses_public = True

    def __init__(
        self,
        epsilon: float = 1.0,
        hidden_ratio: float = 0,
        learning_rate: float = 0.01,
        warm_rate: str = "curvature",
        domain: tuple[float, float] | None = None,
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.hidden_ratio = hidden_ratio
        self.learning_rate = learning_rate
        self.warm_rate = warm_rate
        self.domain = domain
        self.classes = classes
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Labels of two classes.
        mask : ignored
            Every feature is protected.
        X_public : ndarray of shape (q, d), optional
            Without it the pass starts from zero weights (PSGD-L) or random ones (PSGD-N).
        y_public : ndarray of shape (q,), optional

        Returns
        -------
        self
        """
        sample = self._sample(X, y, mask, X_public, y_public)
        self.model_ = self._train([sample], [self.epsilon], [self.learning_rate]).final(0, 0)
        bits = REAL_BITS * self._n_parameters(sample.X.shape[1])
        self.guarantee_ = Guarantee("ldp", float(self.epsilon), bits_up=bits, bits_down=bits, note=self._noted())
        return self

    def _sample(self, X: np.ndarray, y: np.ndarray, mask: Rows, X_public: Rows, y_public: Rows) -> Sample:
        check_choice("warm_rate", self.warm_rate, WARM_RATES)
        check_number("hidden_ratio", self.hidden_ratio, least=0)
        X, y, X_public, y_public = self._check_fit(X, y, mask, X_public, y_public)
        X_public = None if X_public is None else with_constant(X_public)
        return Sample(with_constant(X), y, X_public, y_public, self.classes_, self._streams())

    def _n_hidden(self, n_inputs: int) -> int:
        return max(1, math.floor(self.hidden_ratio * (n_inputs - 1))) if self.hidden_ratio > 0 else 0

    def _n_parameters(self, n_inputs: int) -> int:
        h = self._n_hidden(n_inputs)
        return h * n_inputs + h + 1 if h else n_inputs

    def _train(
        self, samples: Sequence[Sample], budgets: Sequence[float], rates: Sequence[float]
    ) -> LinearPass | NeuralPass:
        """Run all replications (of equal shapes), budgets and learning rates at once.

        Number of a run: budget * len(rates) + rate.
        """
        for rate in rates:
            check_number("learning_rate", rate, least=0)
        n_inputs = samples[0].X.shape[1]
        mechanisms = [PrivUnitG(check_epsilon(e), self._n_parameters(n_inputs)) for e in budgets]
        users = self._users(samples, np.repeat(np.arange(len(budgets)), len(rates)), mechanisms)
        coupled = self.warm_rate == "learning_rate"
        runs = Runs(
            rates=np.tile(np.asarray(rates, dtype=np.float64), len(budgets)),
            spread=np.repeat([m.spread for m in mechanisms], len(rates)),
            start=np.tile(np.arange(len(rates)) if coupled else np.zeros(len(rates), dtype=int), len(budgets)),
        )
        start_rates = [self._start_rates(s, np.asarray(rates, dtype=np.float64)) for s in samples]
        parts = list(zip(samples, start_rates, strict=True))
        if self.hidden_ratio == 0:
            return LinearPass(users, runs, np.stack([self._linear_start(s, r) for s, r in parts])).run()
        starts = [self._neural_start(s, r) for s, r in parts]
        layers = Layers(*(np.stack([[getattr(x, f) for x in s] for s in starts]) for f in ("hidden", "output")))
        return NeuralPass(users, runs, layers).run()

    def _users(self, samples: Sequence[Sample], budget_of_run: np.ndarray, mechanisms: Sequence[PrivUnitG]) -> Users:
        """Put the users in order and draw what does not depend on the recursion."""
        orders = [s.streams.generator("order").permutation(s.y.size) for s in samples]
        uniforms = [s.streams.generator("report").random((3, s.y.size)) for s in samples]
        along = np.stack([[m.along(u[1], u[2]) for m in mechanisms] for u in uniforms])
        hidden = self._n_hidden(samples[0].X.shape[1])
        return Users(
            X=np.stack([s.X[order] for s, order in zip(samples, orders, strict=True)]),
            y=np.stack([s.y[order] for s, order in zip(samples, orders, strict=True)]),
            u_sign=np.stack([u[0] for u in uniforms]),
            along=along[:, budget_of_run],
            normals=[s.streams.generator("normals", hidden=hidden) for s in samples],
        )

    def _start_rates(self, sample: Sample, rates: np.ndarray) -> np.ndarray:
        """Step lengths of the warm starts of one replication: a single one, or one per learning rate."""
        if self.warm_rate == "learning_rate":
            return rates
        return np.array([0.0 if sample.X_public is None else curvature_rate(sample.X_public)])

    def _linear_start(self, sample: Sample, rates: np.ndarray) -> np.ndarray:
        if sample.X_public is None or sample.y_public is None:
            return np.zeros((rates.size, sample.X.shape[1]))
        return linear_start(sample.X_public, sample.y_public, rates)

    def _neural_start(self, sample: Sample, rates: np.ndarray) -> list[Layers]:
        n_inputs = sample.X.shape[1]
        hidden = self._n_hidden(n_inputs)
        layers = initial_layers(n_inputs, hidden, sample.streams.generator("weights", hidden=hidden))
        if sample.X_public is None or sample.y_public is None:
            return [layers] * rates.size
        return [neural_start(sample.X_public, sample.y_public, rate, layers) for rate in rates]

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return logits of X of shape (m, d): ndarray of shape (m,), positive for the second class."""
        X = self._check_predict(X)
        return self.model_.scores(with_constant(X))

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for X of shape (m, d): ndarray of shape (m, 2)."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict class labels for X of shape (m, d): the second class iff the logit is positive."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int)]

    def replications_per_batch(self, problem: Problem) -> int:
        """As many replications as keep the weights of some twenty runs in the cache."""
        d = problem.X_train.shape[1]
        width = d + 1 if self.hidden_ratio == 0 else 2 * d * (d + 1)
        return int(np.clip(_BATCH_BYTES // (20 * 8 * width), 1, 20))

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score the grid; budgets and learning rates are runs of one recursion."""
        return self.sweep_many([problem], budgets, grid, [streams])[0]

    def sweep_many(
        self, problems: Sequence[Problem], budgets: Sequence[float], grid: Grid, streams: Sequence[Streams]
    ) -> list[SweepResult]:
        """Score the grid on several replications, which are stacked where their training samples have one size."""
        points = expand_grid(grid)
        values = np.full((len(problems), len(budgets), len(points)), np.nan)
        settings: dict[tuple, list[int]] = {}
        for g, point in enumerate(points):
            settings.setdefault(tuple(sorted((k, v) for k, v in point.items() if k != "learning_rate")), []).append(g)
        batches: dict[tuple, list[int]] = {}
        for r, problem in enumerate(problems):
            batches.setdefault(problem.X_train.shape, []).append(r)
        for setting, members in settings.items():
            model = clone(self).set_params(**dict(setting))
            rates = [points[g].get("learning_rate", self.learning_rate) for g in members]
            for batch in batches.values():
                part = [(problems[r], streams[r]) for r in batch]
                values[np.ix_(batch, range(len(budgets)), members)] = model._scores(part, budgets, rates)
        return [SweepResult(v) for v in values]

    def _scores(
        self, part: Sequence[tuple[Problem, Streams]], budgets: Sequence[float], rates: Sequence[float]
    ) -> np.ndarray:
        """Test scores of shape (replications, budgets, rates)."""
        samples, tests = [], []
        for problem, streams in part:
            self.set_params(random_state=streams)
            samples.append(self._sample(problem.X_train, problem.y_train, **problem.fit_arguments))
            tests.append(with_constant(self._prepare(problem.X_test)))
        trained = self._train(samples, budgets, rates)
        result = np.empty((len(part), len(budgets) * len(rates)))
        for r, (problem, _) in enumerate(part):
            result[r] = problem.score(samples[r].classes[(trained.scores(r, tests[r]) > 0).astype(int)])
        return result.reshape(len(part), len(budgets), len(rates))
