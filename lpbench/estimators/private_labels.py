"""Device of a regression label with Laplace noise, the first message of most methods (HistOfTree eq. (4))."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from lpbench.checks import check_choice
from lpbench.errors import ConfigurationError
from lpbench.privacy import Device, DiscreteLaplace, Laplace, Records, check_epsilon
from lpbench.privacy.device import Answers, proven
from lpbench.privacy.payload import Field, Reals
from lpbench.privacy.rounded import LAPLACE, LONGER, rounded_sum
from lpbench.seeds import Streams

#: The grid of discrete labels has at least 2^LABEL_BITS steps in the public range.
LABEL_BITS = 10
#: Noise of labels.
NOISES = ("laplace", "discrete")


@dataclass(frozen=True)
class LabelQuestion:
    """Ask for the label minus ``center``, clipped to a public range, with Laplace noise at epsilon / ``split``.

    ``split`` is a number, or one for each user (n,); ``noise`` is "laplace", or "discrete" for noise on a public grid.
    """

    y_range: tuple[float, float]  # public, to which the device clips; with lo = hi the label is public
    epsilon: float
    split: int | np.ndarray = 1  # number of messages, (n,), among which each user divides the budget (public)
    center: float = 0.0  # subtracted from the label before it is clipped
    noise: str = "laplace"  # "discrete": on the grid of discrete_labels; the budget is not divided

    def __post_init__(self) -> None:
        check_choice("noise", self.noise, NOISES)

    def take(self, users: Any) -> Self:
        """Return the question for some of the users asked, by position: ``split`` may differ between users."""
        return self if np.ndim(self.split) == 0 else replace(self, split=np.asarray(self.split)[users])

    @cached_property
    def scale(self) -> float | np.ndarray:
        """Return the scale of the Laplace noise in units of the label, () or (n,); 0 if nothing needs to be hidden."""
        lo, hi = self.y_range
        if lo == hi or math.isinf(check_epsilon(self.epsilon)):
            return 0.0
        return self.split * Laplace.for_budget(self.epsilon, sensitivity=hi - lo).scale * LONGER

    @property
    def sensitivity(self) -> float:
        """Width of the label's range, which scales the noise; 1 where the range is infinite or has equal ends.

        An infinite range is allowed only without a limit to the budget; a label whose range has equal ends is public.
        """
        width = self.y_range[1] - self.y_range[0]
        return width if 0 < width < math.inf else 1.0

    @property
    def on_grid(self) -> DiscreteLaplace | None:
        """The randomizer of discrete noise; None: continuous noise, or a label that is public."""
        lo, hi = self.y_range
        return discrete_labels(hi - lo, self.epsilon) if self.noise == "discrete" and hi > lo else None


@proven
class LabelDevice(Device[LabelQuestion]):
    """Clip the label to the public range and add Laplace noise, whose unit draws are those of every budget."""

    def draws(self, streams: Streams, n: int, question: LabelQuestion) -> np.random.Generator:
        """Return the generator of the unit-scale noise, which all budgets share."""
        return streams.generator("label")

    def mechanism(self, question: LabelQuestion) -> Laplace | DiscreteLaplace:
        """Laplace noise on the clipped label, at the budget of the user who divides it most often."""
        return question.on_grid or Laplace(float(np.max(question.scale)), question.sensitivity)

    def inputs(self, records: Records, question: LabelQuestion) -> np.ndarray:
        """The labels (n,), clipped to the public range, minus its middle."""
        return np.clip(records.y - question.center, *question.y_range)

    def report(self, records: Records, question: LabelQuestion, draws: Any) -> np.ndarray:
        """Noisy labels of shape (n,), in units of the label, about the center."""
        labels = self.inputs(records, question)
        if question.on_grid is not None:
            return question.on_grid.randomize(labels, draws)
        return rounded_sum(labels, question.scale, question.sensitivity, LAPLACE, draws)

    def fields(self, question: LabelQuestion) -> tuple[Field, ...]:
        """One real number, or a point of the grid."""
        grid = question.on_grid
        if grid is None:
            return (Reals(1),)
        return grid.fields(largest=max(map(abs, question.y_range)) + grid.step)

    def budget(self, question: LabelQuestion) -> float:
        """Return epsilon / split of the user who divides least; 0 where the label is public."""
        return float(np.max(self._budgets(question)))

    def budgets(self, records: Records, question: LabelQuestion) -> float | np.ndarray:
        """Return the epsilon that each user spends on the label, () or (n,): less where the budget is split."""
        return self._budgets(question)

    def delta(self, question: LabelQuestion) -> float:
        """Return 0: Laplace noise is pure."""
        return 0.0

    def check(self, question: LabelQuestion) -> None:
        """The budget must be a number > 0, also where the label is public, and be divided among 1 message or more."""
        check_epsilon(question.epsilon)
        if not np.all(np.asarray(question.split) >= 1):
            raise ConfigurationError(f"split={question.split!r} must be numbers of messages >= 1 of each user")

    def draw_many(self, records: Records, family: Sequence[LabelQuestion], answers: Answers) -> list[np.ndarray]:
        """Noisy labels by several questions, one of each fit, all with the same randomness."""
        n = len(records)
        return [self.report(records, question, self.draws(answers("ask"), n, question)) for question in family]

    @staticmethod
    def _budgets(question: LabelQuestion) -> float | np.ndarray:
        lo, hi = question.y_range
        return question.epsilon / question.split if hi > lo else 0.0


LABEL = LabelDevice()


def discrete_labels(label_range: float, budget: float) -> DiscreteLaplace:
    """Randomizer that rounds a label to a grid, 1/2048 to 1/1024 of its range, and pays for it by its scale."""
    step = 2.0 ** (math.floor(math.log2(label_range)) - LABEL_BITS)
    return DiscreteLaplace.for_budget(budget, step, sensitivity=label_range)
