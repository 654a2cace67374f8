"""The device of private SGD: one randomised gradient at the weights that were broadcast."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import Randomizer
from lpbench.audit.world import N_FEATURES, PUBLIC, real_message, repeat
from lpbench.estimators.binary import with_constant
from lpbench.estimators.psgd.neural import Layers, NeuralPass
from lpbench.estimators.psgd.passes import LinearPass, Runs, Users
from lpbench.estimators.psgd.warm_start import initial_layers
from lpbench.privacy import PrivUnitG
from lpbench.seeds import Streams

#: The broadcast weights of the network are random ones times this, so that some gradients are longer than 1.
_WEIGHT_SCALE = 4.0


@dataclass(frozen=True)
class SignedPrivUnitG(PrivUnitG):
    """PrivUnitG of a clipped gradient g: of +-g/|g| with probability (1 +- |g|)/2.

    Inputs are gradients, not zero, of any length.
    """

    def log_density_ratio_sup(self, value, other) -> float:
        """Largest log-ratio of the two mixtures over the regions that the thresholds of both cut out.

        The density (relative to a Gaussian) takes one value where g z is above |gamma|, one below -|gamma|, one
        between. All nine pairs of regions exist unless the gradients are parallel; then there are three.
        """
        first, second = self._levels(value), self._levels(other)
        cosine = float(np.dot(value, other) / (np.linalg.norm(value) * np.linalg.norm(other)))
        if math.isclose(abs(cosine), 1.0, rel_tol=1e-12):
            second = second if cosine > 0 else second[::-1]
            return max(a - b for a, b in zip(first, second, strict=True))
        return max(first) - min(second)

    def _levels(self, gradient) -> list[float]:
        """Log-densities where g z is above, between and below the thresholds +-|gamma|."""
        along = (1.0 + min(float(np.linalg.norm(gradient)), 1.0)) / 2.0
        unit = np.zeros((1, self.dimension))
        unit[0, 0] = 1.0
        # Ends and middle of the first axis stand for the three regions.
        far = 2.0 * abs(self.threshold) * self.spread + 1.0
        points = np.array([[far], [0.0], [-far]]) * unit
        with np.errstate(divide="ignore"):
            weights = np.log([[along], [1.0 - along]])
        return list(np.logaddexp(*(weights + np.array([self.log_density(points, sign * unit) for sign in (1, -1)]))))


class _Independent(Users):
    """Users of as many independent worlds as there are replications, from one generator."""

    def fill(self, room: np.ndarray) -> np.ndarray:
        """Write standard Gaussians to ``room`` and return it."""
        room[...] = self.normals[0].standard_normal(room.shape)
        return room


@builds(models.PSGD)
def gradient(model: models.PSGD) -> Randomizer:
    """One step of the pass, by the recursion that ``fit`` runs; the report is what it moves the weights by."""
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * N_FEATURES, indexing="ij")).reshape(N_FEATURES, -1).T
    rows = np.repeat(with_constant(corners[[0, 1, 7]]), 2, axis=0)
    labels = np.tile([0.0, 1.0], 3)
    mechanism = SignedPrivUnitG(model.epsilon, model._n_parameters(rows.shape[1]))
    hidden = model._n_hidden(rows.shape[1])
    weights = _Network(rows.shape[1], hidden) if hidden else _Linear(rows.shape[1])
    runs = Runs(rates=np.ones(1), spread=np.array([mechanism.spread]), start=np.zeros(1, dtype=int))

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        u = streams.generator("report").random((3, n))
        users = _Independent(
            X=repeat(rows[value], n)[:, None],
            y=np.full((n, 1), labels[value]),
            u_sign=u[0][:, None],
            along=mechanism.along(u[1], u[2])[:, None, None],
            normals=[streams.generator("normals")],
        )
        return weights.report(users, runs)

    gradients = np.array([weights.gradient(x, y) for x, y in zip(rows, labels, strict=True)])
    message = real_message(mechanism, gradients, send, client="NeuralPass" if hidden else "LinearPass")
    # Each report moves the weights and is forgotten.
    return Randomizer("", "ldp", model.epsilon, [message], labels.size, bits_down=mechanism.bits, keep="sums")


class _Linear:
    """Weights 0 of a linear model."""

    def __init__(self, n_inputs: int):
        self.weights = np.zeros(n_inputs)

    def gradient(self, x, y) -> np.ndarray:
        """Gradient of the logistic loss, shape (D,)."""
        return (expit(self.weights @ x) - y) * x

    def report(self, users: Users, runs: Runs) -> np.ndarray:
        """What a step of length 1 subtracts from the weights, for one user in each replication."""
        return self.weights - LinearPass(users, runs, repeat(self.weights[None], len(users.X))).run().weights[:, 0]


class _Network:
    """Random weights of a network."""

    def __init__(self, n_inputs: int, n_hidden: int):
        rng = PUBLIC.generator("weights")
        self.layers = initial_layers(n_inputs, n_hidden, rng)
        self.layers = Layers(_WEIGHT_SCALE * self.layers.hidden, _WEIGHT_SCALE * self.layers.output)

    def gradient(self, x, y) -> np.ndarray:
        """Gradient of the logistic loss: hidden weights, output weights, constant."""
        hidden = np.maximum(self.layers.hidden @ x, 0.0)
        back = np.where(hidden > 0, self.layers.output[:-1], 0.0)
        slope = expit(hidden @ self.layers.output[:-1] + self.layers.output[-1]) - y
        return slope * np.concatenate([np.outer(back, x).ravel(), hidden, [1.0]])

    def report(self, users: Users, runs: Runs) -> np.ndarray:
        """As that of :class:`_Linear`."""
        n, n_inputs = len(users.X), users.X.shape[2]
        start = Layers(*(repeat(part[None], n) for part in (self.layers.hidden, self.layers.output)))
        done = NeuralPass(users, runs, start).run()
        signal = done.signal.times(repeat(np.eye(n_inputs), n))[:, :, 0].swapaxes(1, 2)
        outer = signal + runs.spread[0] * done.noise.total
        return np.hstack([outer.reshape(n, -1), self.layers.output - done.output[:, 0]])
