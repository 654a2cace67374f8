"""Device that sends its class, randomised among the public list of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from lpbench.privacy import GRR, BitVector, Device, Records
from lpbench.privacy.payload import Field, Integers
from lpbench.seeds import Streams


@dataclass(frozen=True)
class ClassQuestion:
    """What the curator asks of a class.

    Attributes
    ----------
    mechanism : GRR or BitVector
        One category, or one bit for each class.
    purpose : str
        Stream of the users' randomness.
    axes : mapping of str to int
        Its axes.
    """

    mechanism: GRR | BitVector
    purpose: str
    axes: Mapping[str, int] = field(default_factory=dict)


class ClassDevice(Device[ClassQuestion]):
    """Randomise the own class code; features are not read."""

    def draws(self, streams: Streams, n: int, question: ClassQuestion) -> np.random.Generator:
        """The generator of the users' uniforms."""
        return streams.generator(question.purpose, **question.axes)

    def report(self, records: Records, question: ClassQuestion, draws: np.random.Generator) -> np.ndarray:
        """Categories of shape (n,), or bits of shape (n, n_classes)."""
        return question.mechanism.randomize(records.y, draws)

    def law(self, question: ClassQuestion, records: Records) -> tuple[GRR | BitVector, np.ndarray]:
        """The mechanism on the class codes."""
        return question.mechanism, np.asarray(records.y)

    def fields(self, question: ClassQuestion) -> tuple[Field, ...]:
        """One category, or bits."""
        n_classes = question.mechanism.n_categories
        return (Integers(2, n_classes),) if isinstance(question.mechanism, BitVector) else (Integers(n_classes),)

    def budget(self, question: ClassQuestion) -> float:
        """Exact epsilon of the report."""
        return question.mechanism.epsilon

    def addends(self, reports: np.ndarray, question: ClassQuestion) -> np.ndarray:
        """Indicators of the reported categories, or the bits: shape (n, n_classes)."""
        if isinstance(question.mechanism, GRR):
            return np.eye(question.mechanism.n_categories)[reports]
        return super().addends(reports, question)

    def estimate(self, sums: np.ndarray, question: ClassQuestion, n: int) -> np.ndarray:
        """Unbiased counts of the classes among ``n`` users."""
        return question.mechanism.estimate(sums, n)

    def sums(self, records: Records, question: ClassQuestion, streams: Streams) -> np.ndarray:
        """Draw the estimate from all users' reports by the law of their sums: shape (n_classes,)."""
        counts = np.bincount(records.y, minlength=question.mechanism.n_categories)
        return self.estimate(self.sum_of_reports(counts, question, streams), question, len(records))

    def sum_of_reports(self, counts: np.ndarray, question: ClassQuestion, streams: Streams) -> np.ndarray:
        """Draw the sums of the reports of groups of users, given the true counts (..., n_classes) of each group."""
        return question.mechanism.sum_of_reports(counts, self.draws(streams, 0, question))


CLASS = ClassDevice()
