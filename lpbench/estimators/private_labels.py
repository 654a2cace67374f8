"""Device of a regression label with Laplace noise, the first message of most methods (HistOfTree eq. (4))."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lpbench.checks import check_choice
from lpbench.privacy import Device, DiscreteLaplace, Laplace, Records, check_epsilon
from lpbench.privacy.payload import Field, GridPoints, Reals, grid_reach
from lpbench.seeds import Streams

#: Bits of one real number in a report.
REAL_BITS = 64.0
#: The grid of discrete labels has at least 2^LABEL_BITS steps in the public range.
LABEL_BITS = 10
#: Noise of labels.
NOISES = ("laplace", "discrete")


@dataclass(frozen=True)
class LabelQuestion:
    """What the curator asks of a label.

    Attributes
    ----------
    y_range : (float, float)
        Public range (lo, hi), to which the device clips; the sensitivity is hi - lo. With lo = hi the label is public.
    epsilon : float
        Budget of a user; inf adds no noise.
    split : int or ndarray of shape (n,)
        Number of messages among which each user divides the budget (public).
    centre : float
        Subtracted from the label before it is clipped.
    noise : {"laplace", "discrete"}
        ``discrete``: on a grid, see :func:`discrete_labels`; the budget is not divided.
    """

    y_range: tuple[float, float]
    epsilon: float
    split: int | np.ndarray = 1
    centre: float = 0.0
    noise: str = "laplace"

    def __post_init__(self) -> None:
        check_choice("noise", self.noise, NOISES)

    @property
    def scale(self) -> float | np.ndarray:
        """Scale of each user's noise."""
        lo, hi = self.y_range
        if lo == hi or math.isinf(check_epsilon(self.epsilon)):
            return 0.0
        return self.split * Laplace.for_budget(self.epsilon, sensitivity=hi - lo).scale

    @property
    def on_grid(self) -> DiscreteLaplace | None:
        """The randomizer of discrete noise; None: continuous noise, or a label that is public."""
        lo, hi = self.y_range
        return discrete_labels(hi - lo, self.epsilon) if self.noise == "discrete" and hi > lo else None


class LabelDevice(Device[LabelQuestion]):
    """Clip the label to the public range and add Laplace noise.

    The unit noise comes from the stream "label" and depends on neither budget nor method, so that methods and budgets
    are compared on the same draws.
    """

    def draws(self, streams: Streams, n: int, question: LabelQuestion) -> np.ndarray:
        """Standard Laplace noise of the users, shape (n,)."""
        return streams.generator("label").laplace(size=n)

    def report(self, records: Records, question: LabelQuestion, draws: np.ndarray) -> np.ndarray:
        """Noisy labels of shape (n,), in units of the label, about the centre."""
        labels = self._clipped(records, question)
        if question.on_grid is not None:
            return question.on_grid.randomize_by(labels, draws)
        return labels + question.scale * draws

    def law(self, question: LabelQuestion, records: Records) -> tuple[Laplace | DiscreteLaplace, np.ndarray]:
        """Laplace noise on the clipped label; ``split`` is the same for all records."""
        lo, hi = question.y_range
        mechanism = question.on_grid or Laplace(float(np.max(question.scale)), hi - lo or 1.0)
        return mechanism, self._clipped(records, question)

    def fields(self, question: LabelQuestion) -> tuple[Field, ...]:
        """One real number, or a point of the grid."""
        grid = question.on_grid
        if grid is None:
            return (Reals(1),)
        return (GridPoints(grid.step, grid_reach(max(map(abs, question.y_range)) + grid.step, grid.scale, grid.step)),)

    def budget(self, question: LabelQuestion) -> float:
        """epsilon / split of the user who divides least; 0 where the label is public."""
        lo, hi = question.y_range
        return float(question.epsilon / np.min(question.split)) if hi > lo else 0.0

    @staticmethod
    def _clipped(records: Records, question: LabelQuestion) -> np.ndarray:
        return np.clip(records.y - question.centre, *question.y_range)


LABEL = LabelDevice()


def noisy_labels(y: np.ndarray, question: LabelQuestion, streams: Streams) -> np.ndarray:
    """Ask all users for their labels.

    Parameters
    ----------
    y : ndarray of shape (n,)
    question : LabelQuestion
    streams : Streams

    Returns
    -------
    ndarray of shape (n,)
    """
    # The label is all that this device reads of a record.
    records = Records(np.empty((y.size, 0)), y)
    return LABEL.report(records, question, LABEL.draws(streams, y.size, question))


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
