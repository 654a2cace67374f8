"""Device of private SGD: one randomized gradient at the weights that were broadcast, and its exact shortcuts.

A fit asks a sequence of users, a sweep simulates many runs of it: both go through the recursions of :mod:`.passes` and
:mod:`.neural`, which have the law of the reports one after the other and form none of them. (A gradient that is exactly
zero becomes a vector of length 1 and mean 0 in either, of another law; rounding aside there is none.)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import expit

from lpbench.estimators.binary import with_constant
from lpbench.estimators.psgd.neural import Layers, NeuralPass
from lpbench.estimators.psgd.passes import Linear, LinearPass, Runs, Visits
from lpbench.privacy import Device, Records, SignedPrivUnitG
from lpbench.privacy.device import Answers, proven
from lpbench.seeds import Streams

Model = Linear | Layers


@dataclass(frozen=True, eq=False)
class GradientQuestion:
    """Weights broadcast to one user after the other, each asked for a gradient at the current ones."""

    model: Model  # the current weights; the last input is the constant
    mechanism: SignedPrivUnitG  # on the whole gradient
    rate: float  # step length of the curator
    order: np.ndarray  # the users in the order in which they are asked

    @property
    def broadcast_bits(self) -> float:
        """Bits of the broadcast: those of the weights."""
        return 64.0 * self.mechanism.dimension

    def gradients(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Gradients of the logistic loss at rows X (n, D): hidden weights, output weights, constant."""
        slope = expit(self.model.scores(X)) - y
        if isinstance(self.model, Linear):
            return slope[:, None] * X
        hidden = np.maximum(X @ self.model.hidden.T, 0.0)
        back = np.where(hidden > 0, self.model.output[:-1], 0.0)
        outer = (back[:, :, None] * X[:, None, :]).reshape(len(X), -1)
        return slope[:, None] * np.hstack([outer, hidden, np.ones((len(X), 1))])

    def after(self, report: np.ndarray) -> Self:
        """Return the question to the next user: weights after a step against a report."""
        move = self.rate * report
        if isinstance(self.model, Linear):
            model: Model = Linear(self.model.weights - move)
        else:
            hidden = self.model.hidden
            steps = move[: hidden.size].reshape(hidden.shape), move[hidden.size :]
            model = Layers(hidden - steps[0], self.model.output - steps[1])
        return replace(self, model=model)


@dataclass(frozen=True, eq=False)
class GradientFamily:
    """Runs (budget times learning rate) of several replications, computed in one pass over the users.

    ``mechanisms`` has one entry per budget, ``rates`` one per learning rate; ``orders``, ``starts`` (initial models,
    one or one per rate) and ``rows`` (test rows to be scored) have one per replication.
    """

    mechanisms: Sequence[SignedPrivUnitG]  # one for each budget
    rates: np.ndarray  # step lengths (L,); number of a run: budget * L + rate
    orders: Sequence[np.ndarray]  # for each replication
    starts: Sequence[Sequence[Model]]  # for each replication one model for all runs, or one for each rate
    #: For each replication the rows (m, D), constant included, at which the last models are read: their scores are
    #: cheaper than their weights.
    rows: Sequence[np.ndarray] = ()

    def run(self, several: Sequence[Records], streams: Sequence[Streams]) -> LinearPass | NeuralPass:
        """Visit all users of all replications (of equal shapes)."""
        budgets = np.repeat(np.arange(len(self.mechanisms)), len(self.rates))
        uniforms = [
            stream.generator("report").random((3, order.size))
            for stream, order in zip(streams, self.orders, strict=True)
        ]
        along = np.stack([[m.along(u[1], u[2]) for m in self.mechanisms] for u in uniforms])
        example, n_starts = self.starts[0][0], len(self.starts[0])
        hidden = 0 if isinstance(example, Linear) else len(example.hidden)
        X = np.ones((len(several), self.orders[0].size, several[0].X.shape[1] + 1))
        for room, records, order in zip(X, several, self.orders, strict=True):
            room[:, :-1] = records.X[order]
        users = Visits(
            X=X,
            y=np.stack([records.y[order] for records, order in zip(several, self.orders, strict=True)]),
            u_sign=np.stack([u[0] for u in uniforms]),
            along=along[:, budgets],
            normals=[stream.generator("normals", hidden=hidden) for stream in streams],
        )
        own_start = np.arange(len(self.rates)) if n_starts > 1 else np.zeros(len(self.rates), dtype=int)
        runs = Runs(
            rates=np.tile(self.rates, len(self.mechanisms)),
            spread=np.repeat([m.spread for m in self.mechanisms], len(self.rates)),
            start=np.tile(own_start, len(self.mechanisms)),
        )
        if isinstance(example, Linear):
            return LinearPass(users, runs, self._stacked("weights")).run()
        return NeuralPass(users, runs, Layers(self._stacked("hidden"), self._stacked("output"))).run()

    def _stacked(self, weights: str) -> np.ndarray:
        return np.stack([[getattr(model, weights) for model in models] for models in self.starts])


@proven
class GradientDevice(Device[GradientQuestion]):
    """Clip the own gradient to length 1, turn it into a unit vector with the right mean, and send it by PrivUnitG."""

    def inputs(self, records: Records, question: GradientQuestion) -> np.ndarray:
        """Gradients at the broadcast weights, shape (n, D)."""
        return question.gradients(with_constant(records.X), records.y)

    def columns(self, question: GradientQuestion) -> int:
        """Return the number of weights, each of which has an entry in the report."""
        return question.mechanism.dimension

    def draw_chain(self, records: Records, question: GradientQuestion, streams: Streams) -> GradientQuestion:
        """The question after one pass, of a single run."""
        rates = np.array([question.rate], dtype=np.float64)
        family = GradientFamily([question.mechanism], rates, [question.order], [[question.model]])
        last = family.run([records], [streams]).final(0, 0)
        return replace(question, model=last)

    def draw_together(
        self, several: Sequence[Records], family: GradientFamily, answers: Sequence[Answers]
    ) -> list[np.ndarray]:
        """Scores of all last models at the rows of the family, shape (n_runs, m) for each replication."""
        done = family.run(several, [replies("chain") for replies in answers])
        return [done.scores(r, rows) for r, rows in enumerate(family.rows)]


GRADIENT = GradientDevice()
