"""Device of private SGD: one randomised gradient at the weights that were broadcast.

``fit`` and ``sweep`` run the recursions of :mod:`.passes` and :mod:`.neural`, which form no report; a pass over one
user at step length 1 moves the weights by the report of that user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from lpbench.estimators.binary import with_constant
from lpbench.estimators.psgd.neural import Layers, NeuralPass
from lpbench.estimators.psgd.passes import Linear, LinearPass, Runs, Users
from lpbench.privacy import Device, Records, SignedPrivUnitG
from lpbench.privacy.payload import Field, Reals
from lpbench.seeds import Streams

#: Step length at which a pass over many users adds up their reports at the weights that it starts from.
TINY = 2.0**-14


@dataclass(frozen=True, eq=False)
class GradientQuestion:
    """What the curator broadcasts to one user.

    Attributes
    ----------
    model : Linear or Layers
        The current weights; the last input is the constant.
    mechanism : SignedPrivUnitG
        On the whole gradient.
    """

    model: Linear | Layers
    mechanism: SignedPrivUnitG

    def gradients(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Gradients of the logistic loss at rows X (n, D): hidden weights, output weights, constant."""
        if isinstance(self.model, Linear):
            return (expit(self.model.scores(X)) - y)[:, None] * X
        hidden = np.maximum(X @ self.model.hidden.T, 0.0)
        back = np.where(hidden > 0, self.model.output[:-1], 0.0)
        slope = expit(self.model.scores(X)) - y
        outer = (back[:, :, None] * X[:, None, :]).reshape(len(X), -1)
        return slope[:, None] * np.hstack([outer, hidden, np.ones((len(X), 1))])

    def start(self, users: Users, rate: float) -> LinearPass | NeuralPass:
        """A pass of one run that starts from the weights, for each of the replications of ``users``."""
        runs = Runs(np.array([rate]), np.array([self.mechanism.spread]), np.zeros(1, dtype=int))
        parts = (self.model.weights,) if isinstance(self.model, Linear) else (self.model.hidden, self.model.output)
        copies = [np.repeat(part[None, None], len(users.X), axis=0) for part in parts]
        return LinearPass(users, runs, *copies) if len(parts) == 1 else NeuralPass(users, runs, Layers(*copies))

    def moved(self, done: LinearPass | NeuralPass, rate: float) -> np.ndarray:
        """Sums of the reports that a pass has seen, one row a replication."""
        if isinstance(done, LinearPass):
            return (self.model.weights - done.weights[:, 0]) / rate  # type: ignore[union-attr]
        n_inputs = done.users.X.shape[2]
        every = np.repeat(np.eye(n_inputs, dtype=done.users.X.dtype)[None], len(done.users.X), axis=0)
        signal = done.signal.times(every)[:, :, 0].swapaxes(1, 2)
        outer = signal + self.mechanism.spread * done.noise.total
        return np.hstack([outer.reshape(len(outer), -1), (done.layers.output[:, 0] - done.output[:, 0]) / rate])


class _OneGenerator(Users):
    """Users of as many independent replications as there are users, who draw from one generator."""

    def fill(self, room: np.ndarray) -> np.ndarray:
        """Write standard Gaussians to ``room`` and return it."""
        room[...] = self.normals[0].standard_normal(room.shape)
        return room


class GradientDevice(Device[GradientQuestion]):
    """Clip the own gradient to length 1, turn it into a unit vector with the right mean, and send it by PrivUnitG."""

    def draws(
        self, streams: Streams, n: int, question: GradientQuestion
    ) -> tuple[np.ndarray, Sequence[np.random.Generator]]:
        """Uniforms of shape (3, n) for sign, side and tail, and the generator of the Gaussians."""
        return streams.generator("report").random((3, n)), [streams.generator("normals")]

    def report(
        self,
        records: Records,
        question: GradientQuestion,
        draws: tuple[np.ndarray, Sequence[np.random.Generator]],
    ) -> np.ndarray:
        """Randomised gradients of shape (n, D): steps of length 1 of the recursion, one user in each replication."""
        uniforms, normals = draws
        users = _OneGenerator(
            X=with_constant(records.X)[:, None],
            y=records.y[:, None].astype(float),
            u_sign=uniforms[0][:, None],
            along=question.mechanism.along(uniforms[1], uniforms[2])[:, None, None],
            normals=normals,
        )
        return question.moved(question.start(users, 1.0).run(), 1.0)

    def law(self, question: GradientQuestion, records: Records) -> tuple[SignedPrivUnitG, np.ndarray]:
        """Signed PrivUnitG on the gradients."""
        return question.mechanism, question.gradients(with_constant(records.X), records.y)

    def fields(self, question: GradientQuestion) -> tuple[Field, ...]:
        """One number for each weight."""
        return (Reals(question.mechanism.dimension),)

    def budget(self, question: GradientQuestion) -> float:
        """Exact epsilon of the report."""
        return question.mechanism.epsilon


GRADIENT = GradientDevice()
