"""Exact privacy loss of a mechanism between two inputs: enumerated where reports are finite, else analytic."""

import math
from collections.abc import Callable

import numpy as np

from lpbench.privacy import (
    BitVector,
    ContinuousMechanism,
    Exponential,
    FiniteMechanism,
    Gaussian,
    Mechanism,
    NumberChannel,
    RandomizedResponse,
    SubsetSelection,
)

#: Bit vectors up to this length are enumerated; longer ones use that their bits are independent.
MOST_BITS = 12
#: Subsets up to this number are enumerated.
MOST_SUBSETS = 10_000


def channel_losses(log_channel: np.ndarray) -> np.ndarray:
    """Entry (v, w) is max log P(report | v) / P(report | w): inf where w excludes a report of v."""
    log_channel = np.asarray(log_channel, dtype=np.float64)
    result = np.zeros((len(log_channel),) * 2)
    for v, row in enumerate(log_channel):
        possible = np.isfinite(row)
        result[v] = (row[possible] - log_channel[:, possible]).max(axis=1)
    return result


def bit_channel(response: RandomizedResponse, bits: np.ndarray) -> np.ndarray:
    """Channel of whole bit vectors of shape (n_inputs, k), over all 2^k reports."""
    k = bits.shape[1]
    shown = ((np.arange(2**k)[:, None] >> np.arange(k)) & 1).astype(bool)
    kept, flipped = response.log_channel()[0]
    return np.where(bits[:, None, :] == shown, kept, flipped).sum(axis=2)


def message_losses(mechanism: Mechanism, inputs: np.ndarray) -> np.ndarray:
    """Losses of one mechanism for all pairs of inputs: ndarray of shape (n_values, n_values)."""
    inputs = np.asarray(inputs)
    parts = getattr(mechanism, "parts", None)
    if parts is not None:  # independent responses, one a column
        columns = [(part, column) for part, column in zip(parts, inputs.T, strict=True) if part.n_categories > 1]
        none = np.zeros((len(inputs), len(inputs)))
        return sum((message_losses(part, column) for part, column in columns), none)
    if isinstance(mechanism, RandomizedResponse):
        bits = inputs.reshape(len(inputs), -1).astype(bool)
        if bits.shape[1] <= MOST_BITS:
            return channel_losses(bit_channel(mechanism, bits))
        return mechanism.bit_epsilon * (bits[:, None] != bits).sum(axis=2)
    if isinstance(mechanism, BitVector):
        return message_losses(mechanism.response, np.eye(mechanism.n_categories, dtype=bool)[inputs])
    if isinstance(mechanism, SubsetSelection) and math.comb(mechanism.n_categories, mechanism.size) > MOST_SUBSETS:
        # Some subset holds the one category and not the other, and none has a larger ratio.
        return np.where(inputs[:, None] == inputs, 0.0, mechanism.epsilon)
    if isinstance(mechanism, NumberChannel):
        return channel_losses(mechanism.at(np.ravel(inputs)).log_channel())
    if isinstance(mechanism, FiniteMechanism):
        return channel_losses(mechanism.log_channel()[inputs])
    if isinstance(mechanism, Exponential):
        return channel_losses(mechanism.log_channel(inputs))
    if isinstance(mechanism, Gaussian):
        return _pairwise(lambda v, w: mechanism.privacy_map(float(np.linalg.norm(np.ravel(v - w)))), inputs)
    if isinstance(mechanism, ContinuousMechanism):
        return _pairwise(mechanism.log_density_ratio_sup, inputs.astype(float))
    raise TypeError(f"no exact audit for {type(mechanism).__name__}")


def _pairwise(loss: Callable[[np.ndarray, np.ndarray], float], inputs: np.ndarray) -> np.ndarray:
    values, place = np.unique(inputs, axis=0, return_inverse=True)
    losses = np.array([[0.0 if i == j else loss(v, w) for j, w in enumerate(values)] for i, v in enumerate(values)])
    return losses[np.ix_(np.ravel(place), np.ravel(place))]
