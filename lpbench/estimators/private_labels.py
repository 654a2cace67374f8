"""Laplace noise on regression labels: the first message of every regression method (HistOfTree eq. (4))."""

from __future__ import annotations

import math

import numpy as np

from lpbench.privacy import DiscreteLaplace, Laplace, check_epsilon
from lpbench.seeds import Streams

#: Bits of one real number in a report.
REAL_BITS = 64.0
#: The grid of discrete labels has at least 2^LABEL_BITS steps in the public range.
LABEL_BITS = 10
#: Noise of labels.
NOISES = ("laplace", "discrete")


def noisy_labels(
    y: np.ndarray, y_range: tuple[float, float], epsilon: float, streams: Streams, split: int | np.ndarray = 1
) -> np.ndarray:
    """Privatise the label of every user, each with the budget ``epsilon / split`` and noise of its own.

    The unit noise comes from the stream "label" and depends on neither budget nor method, so that methods and budgets
    are compared on the same draws.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels within ``y_range``.
    y_range : (float, float)
        Public range (lo, hi); the sensitivity is hi - lo. With lo = hi the label is public and stays as it is.
    epsilon : float
        Budget of a user; inf adds no noise.
    streams : Streams
    split : int or ndarray of shape (n,)
        Number of messages among which each user divides the budget (public).

    Returns
    -------
    ndarray of shape (n,)
    """
    lo, hi = y_range
    if lo == hi:
        check_epsilon(epsilon)
        return np.array(y, dtype=np.float64)
    scale = split * Laplace.for_budget(epsilon, sensitivity=hi - lo).scale
    return y + scale * streams.generator("label").laplace(size=y.size)


def discrete_labels(label_range: float, budget: float) -> DiscreteLaplace:
    """Return the randomizer that rounds a label to a grid and adds discrete Laplace noise on it.

    The rounding is paid for: the scale grows until the exact epsilon is the budget.

    Parameters
    ----------
    label_range : float
        Width of the public range, > 0. The step is the power of two between 1/2048 and 1/1024 of it.
    budget : float
    """
    step = 2.0 ** (math.floor(math.log2(label_range)) - LABEL_BITS)
    return DiscreteLaplace.for_budget(budget, step, sensitivity=label_range)


def public_message_bits(mask: np.ndarray) -> float:
    """Return the bits of a private label and of the unprotected features, averaged over the users of ``mask``."""
    return REAL_BITS * (1.0 + float((~mask).sum(axis=1).mean()))
