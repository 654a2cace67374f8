"""Exact audit: the loss of everything that a device sends, and randomizers given as tables of probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from lpbench.audit.randomizers import Randomizer
from lpbench.privacy import FiniteMechanism, exact_epsilon


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

    def __post_init__(self) -> None:
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
