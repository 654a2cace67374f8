"""PSGD: locally private stochastic gradient descent with a public warm start (Lowy et al. 2023; LPCT sec. 7.2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice, check_number
from lpbench.estimators.base import Grid, SweepResult, Task, check_epsilon, expand_grid, grouped
from lpbench.estimators.binary import BinaryClassifier, with_constant
from lpbench.estimators.psgd.device import GRADIENT, GradientFamily, GradientQuestion
from lpbench.estimators.psgd.neural import Layers
from lpbench.estimators.psgd.passes import Linear
from lpbench.estimators.psgd.warm_start import curvature_rate, initial_layers, linear_start, neural_start
from lpbench.privacy import SignedPrivUnitG, Users
from lpbench.problem import Problem

WARM_RATES = ("curvature", "learning_rate")
BUDGET_UNITS = ("user", "tensor")

#: Bytes that the weights of all runs and replications of one batch may take, so that a step stays in the cache.
_BATCH_BYTES = 1 << 24


@dataclass(eq=False, repr=False)
class PSGD(BinaryClassifier):
    """Logistic regression (PSGD-L) or a network with one hidden ReLU layer (PSGD-N), trained under LDP: a simulation.

    PrivUnitG sends doubles, whose low-order bits exclude a direction from 6 % of single reports at epsilon 1: its
    epsilon is that of real arithmetic, and no device may send it.

    From a warm start on the public sample, one pass over the private users in random order. Each user gets the
    current weights, clips the *whole* gradient to length 1 and sends it as one vector with the whole epsilon: a clipped
    gradient g becomes ``+-g/|g|`` with probability ``(1 +- |g|)/2``, which is unbiased and of length 1, and that goes
    through PrivUnitG. The interaction is sequential, one message per user.

    The authors of LPCT spend epsilon once per parameter tensor (``budget="tensor"``), leave short gradients short, for
    which PrivUnitG proves nothing, and take public gradient steps in between; the rest of it is not followed here.

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
    budget : {"user", "tensor"}
        ``tensor``: epsilon for each tensor of weights (the linear model has two, a network four), as in the authors'
        code: 2 epsilon or 4 epsilon, which ``guarantee_`` states.

    Attributes
    ----------
    model_ : Linear or Layers
        Final weights; the last input is the constant.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PSGD
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PSGD(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    uses_public = True

    epsilon: float = 1.0
    hidden_ratio: float = 0
    learning_rate: float = 0.01
    warm_rate: str = "curvature"
    budget: str = "user"

    @property
    def exceeds_budget(self) -> bool:  # type: ignore[override]
        """``tensor`` spends epsilon for every tensor of weights."""
        return self.budget == "tensor"

    def learn(self, users: Users) -> Self:
        """Start from the public sample and ask one user after the other."""
        if self.budget == "tensor":
            users.note("epsilon is spent for each tensor of weights; the sum is stated")
        mechanism = self._mechanism(self.epsilon, users.n_features)
        (start,) = self._starts(users, [self.learning_rate])
        question = GradientQuestion(start, mechanism, self.learning_rate, self._order(users))
        self.model_ = users.chain(GRADIENT, question).model
        return self

    def _n_hidden(self, n_features: int) -> int:
        return max(1, math.floor(self.hidden_ratio * n_features)) if self.hidden_ratio > 0 else 0

    def _mechanism(self, epsilon: float, n_features: int) -> SignedPrivUnitG:
        check_number("hidden_ratio", self.hidden_ratio, least=0)
        h, n_inputs = self._n_hidden(n_features), n_features + 1
        if check_choice("budget", self.budget, BUDGET_UNITS) == "tensor":
            epsilon = (4 if h else 2) * epsilon
        return SignedPrivUnitG(check_epsilon(epsilon), h * n_inputs + h + 1 if h else n_inputs)

    def _order(self, users: Users) -> np.ndarray:
        return self._streams().generator("order").permutation(users.n)

    def _starts(self, users: Users, rates: Sequence[float]) -> list[Linear] | list[Layers]:
        """Models after the warm start on the public sample: a list of one for all ``rates``, or of one a learning rate.

        Without a public sample they are the initial weights (zeros, or random hidden layers).
        """
        check_choice("warm_rate", self.warm_rate, WARM_RATES)
        for rate in rates:
            check_number("learning_rate", rate, least=0)
        hidden, public = self._n_hidden(users.n_features), users.public
        steps = np.asarray(rates, dtype=np.float64)
        if self.warm_rate == "curvature":
            steps = np.array([0.0 if public is None else curvature_rate(with_constant(public.X))])
        if hidden == 0:
            if public is None:
                return [Linear(np.zeros(users.n_features + 1))] * steps.size
            return [Linear(weights) for weights in linear_start(with_constant(public.X), public.y, steps)]
        layers = initial_layers(users.n_features + 1, hidden, self._streams().generator("weights", hidden=hidden))
        if public is None:
            return [layers] * steps.size
        return [neural_start(with_constant(public.X), public.y, step, layers) for step in steps]

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return logits of X of shape (m, d): ndarray of shape (m,), positive for the second class."""
        X = self._check_predict(X)
        return self.model_.scores(with_constant(X))

    def replications_per_batch(self, problem: Problem) -> int:
        """Return the number of replications, 1 to 20, that keep some twenty runs' weights in the cache."""
        d = problem.X_train.shape[1]
        width = d + 1 if self.hidden_ratio == 0 else 2 * d * (d + 1)
        return int(np.clip(_BATCH_BYTES // (20 * 8 * width), 1, 20))

    def learn_grid(self, tasks: Sequence[Task], budgets: Sequence[float], grid: Grid) -> list[SweepResult]:
        """Score the grid; budgets and learning rates are runs of one recursion.

        Replications are stacked where their training samples have one shape.
        """
        points = expand_grid(grid)
        values = np.full((len(tasks), len(budgets), len(points)), np.nan)
        batches: dict[tuple, list[int]] = {}
        for r, task in enumerate(tasks):
            batches.setdefault((task.users.n, task.users.n_features), []).append(r)
        for setting, members in grouped(points, ["learning_rate"]):
            model = clone(self).set_params(**setting)
            rates = [points[g].get("learning_rate", self.learning_rate) for g in members]
            for batch in batches.values():
                scores = model._stacked([tasks[r] for r in batch], budgets, rates)
                values[np.ix_(batch, range(len(budgets)), members)] = scores
        return [SweepResult(v) for v in values]

    def _stacked(self, tasks: Sequence[Task], budgets: Sequence[float], rates: Sequence[float]) -> np.ndarray:
        """Test scores of shape (replications, budgets, rates), all from one pass over the stacked replications.

        ``tasks`` are the replications, of equal shape.
        """
        mechanisms = [self._mechanism(epsilon, tasks[0].users.n_features) for epsilon in budgets]
        classes, orders, starts, rows = [], [], [], []
        before = None
        for task in tasks:
            self.set_params(random_state=task.streams)
            self._meet(task.users)
            classes.append(self.classes_)
            orders.append(self._order(task.users))
            public = task.users.public
            # a linear model starts from zero, so that a public sample that replications share trains it once
            again = self.hidden_ratio <= 0 and before and public and all(map(np.array_equal, before, public))
            starts.append(starts[-1] if again else self._starts(task.users, rates))
            before = public
            rows.append(with_constant(self._to_unit_cube(task.X_test)))
        family = GradientFamily(mechanisms, np.asarray(rates, dtype=np.float64), orders, starts, rows)
        together = tasks[0].simulate.together([task.simulate for task in tasks[1:]], GRADIENT, family)
        result = np.empty((len(tasks), len(budgets) * len(rates)))
        for r, (task, listed, scores) in enumerate(zip(tasks, classes, together, strict=True)):
            result[r] = task.score(listed[(scores > 0).astype(int)])
        return result.reshape(len(tasks), len(budgets), len(rates))
