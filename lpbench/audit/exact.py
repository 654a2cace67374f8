"""Exact audit: the loss of everything that a device sends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpbench.audit.randomizers import Randomizer


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


def exact_loss(randomizer: Randomizer) -> ExactLoss:
    """Return the exact epsilon of a randomizer, both directions of every pair of neighbouring values included."""
    losses = randomizer.losses
    if losses.size == 0 or not randomizer.neighbours.any():
        return ExactLoss(0.0, (0, 0), 0.0)
    pair = np.unravel_index(np.argmax(losses), losses.shape)
    attained = float(losses[pair])
    epsilon = attained if randomizer.supremum is None else randomizer.supremum
    return ExactLoss(float(epsilon), (int(pair[0]), int(pair[1])), attained)
