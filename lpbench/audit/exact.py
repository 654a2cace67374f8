"""Exact losses: channel matrices where reports are finite, analytic suprema where they are not, and composition."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lpbench.privacy import (
    BitVector,
    ContinuousMechanism,
    Exponential,
    FiniteMechanism,
    Gaussian,
    Mechanism,
    RandomizedResponse,
    exact_epsilon,
)

if TYPE_CHECKING:
    from lpbench.audit.randomizers import Randomizer

#: Bit vectors up to this length are enumerated; longer ones use that their bits are independent.
MOST_BITS = 12


@dataclass(frozen=True)
class ExactLoss:
    """Result of an exact audit.

    Attributes
    ----------
    epsilon : float
        Exact epsilon over all protected values.
    pair : (int, int)
        Listed values that attain it, or come closest: the one that makes the report more likely, and the other.
    attained : float
        Loss of that pair.
    """

    epsilon: float
    pair: tuple[int, int]
    attained: float


@dataclass(frozen=True, eq=False)
class Channel(FiniteMechanism):
    """Any randomizer with finitely many reports, written out as a table.

    For reports that no mechanism of :mod:`lpbench.privacy` describes alone, such as stochastic rounding followed by
    randomised response, ``Channel(rounding @ response.channel())``, or a report whose law depends on the public part.

    Parameters
    ----------
    probabilities : ndarray of shape (n_values, n_reports)
        Of reports 0, ..., n_reports - 1 given every protected value; rows sum to 1.
    """

    probabilities: np.ndarray = field(repr=False)

    def __post_init__(self):
        table = np.asarray(self.probabilities, dtype=np.float64)
        if table.ndim != 2 or not (table >= 0).all() or not np.allclose(table.sum(axis=1), 1.0, rtol=0, atol=1e-9):
            raise ValueError(f"probabilities={self.probabilities!r} must be a table with rows >= 0 that sum to 1")
        object.__setattr__(self, "probabilities", table)

    @property
    def epsilon(self) -> float:
        """Exact epsilon of one report."""
        return exact_epsilon(self.log_channel())

    @property
    def bits(self) -> float:
        """Bits of one report."""
        return math.log2(self.probabilities.shape[1])

    def randomize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the users' reports, int ndarray of the shape of ``values`` (rows of the table)."""
        cumulative = np.cumsum(self.probabilities, axis=1)[np.asarray(values)]
        cumulative /= cumulative[..., -1:]
        return (rng.random(np.shape(values))[..., None] >= cumulative).sum(axis=-1)

    def log_channel(self) -> np.ndarray:
        """Log-probabilities of shape (n_values, n_reports), -inf where impossible."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities)


def exact_loss(randomizer: Randomizer) -> ExactLoss:
    """Return the exact epsilon of a randomizer, both directions of every pair of neighbouring values included."""
    losses = randomizer.losses
    if losses.size == 0 or not randomizer.neighbours.any():
        return ExactLoss(0.0, (0, 0), 0.0)
    pair = np.unravel_index(np.argmax(losses), losses.shape)
    attained = float(losses[pair])
    epsilon = attained if randomizer.supremum is None else randomizer.supremum
    return ExactLoss(float(epsilon), (int(pair[0]), int(pair[1])), attained)


def channel_losses(log_channel: np.ndarray) -> np.ndarray:
    """Largest log-ratio of the probabilities of a report for all pairs of inputs.

    Parameters
    ----------
    log_channel : ndarray of shape (n_inputs, n_reports)
        Log-probabilities, -inf where impossible.

    Returns
    -------
    ndarray of shape (n_inputs, n_inputs)
        Entry (v, w) is max log P(report | v) / P(report | w): inf where w excludes a report of v.
    """
    log_channel = np.asarray(log_channel, dtype=np.float64)
    result = np.zeros((len(log_channel),) * 2)
    for v, row in enumerate(log_channel):
        possible = np.isfinite(row)
        result[v] = (row[possible] - log_channel[:, possible]).max(axis=1)
    return result


def product_channel(*log_channels: np.ndarray) -> np.ndarray:
    """Channel of several independent messages about the same input: (n_inputs, product of the numbers of reports)."""
    joint = log_channels[0]
    for log_channel in log_channels[1:]:
        joint = (joint[:, :, None] + log_channel[:, None, :]).reshape(len(joint), -1)
    return joint


def bit_channel(response: RandomizedResponse, bits: np.ndarray) -> np.ndarray:
    """Channel of whole bit vectors of shape (n_inputs, k), over all 2^k reports."""
    k = bits.shape[1]
    shown = ((np.arange(2**k)[:, None] >> np.arange(k)) & 1).astype(bool)
    kept, flipped = response.log_channel()[0]
    return np.where(bits[:, None, :] == shown, kept, flipped).sum(axis=2)


def message_losses(mechanism: Mechanism, inputs: np.ndarray) -> np.ndarray:
    """Losses of one mechanism for all pairs of inputs: ndarray of shape (n_values, n_values).

    Parameters
    ----------
    mechanism : Mechanism
    inputs : ndarray of shape (n_values, ...)
        Categories, bit vectors, score vectors, numbers or vectors, as the mechanism takes them.
    """
    inputs = np.asarray(inputs)
    if isinstance(mechanism, RandomizedResponse):
        bits = inputs.reshape(len(inputs), -1).astype(bool)
        if bits.shape[1] <= MOST_BITS:
            return channel_losses(bit_channel(mechanism, bits))
        return mechanism.bit_epsilon * (bits[:, None] != bits).sum(axis=2)
    if isinstance(mechanism, BitVector):
        return message_losses(mechanism.response, np.eye(mechanism.n_categories, dtype=bool)[inputs])
    if isinstance(mechanism, FiniteMechanism):
        return channel_losses(mechanism.log_channel()[inputs])
    if isinstance(mechanism, Exponential):
        return channel_losses(mechanism.log_channel(inputs))
    if isinstance(mechanism, Gaussian):
        return _pairwise(lambda v, w: mechanism.privacy_map(float(np.linalg.norm(np.ravel(v - w)))), inputs)
    if isinstance(mechanism, ContinuousMechanism):
        return _pairwise(mechanism.log_density_ratio_sup, inputs)
    raise TypeError(f"no exact audit for {type(mechanism).__name__}")


def _pairwise(loss, inputs: np.ndarray) -> np.ndarray:
    return np.array([[0.0 if i == j else loss(v, w) for j, w in enumerate(inputs)] for i, v in enumerate(inputs)])
