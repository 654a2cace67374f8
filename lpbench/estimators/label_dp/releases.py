"""Releases of trusted curators, which take the place of devices: a class or a mean of each cube.

The records of a release are data sets: one row for each cube (or, in the audit, for each data set that is compared).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lpbench.privacy import Device, Exponential, Laplace, Records, exponential_choices
from lpbench.privacy.payload import Field, Integers, Reals
from lpbench.seeds import Streams


@dataclass(frozen=True)
class ClassReleaseQuestion:
    """What is released of class counts.

    Attributes
    ----------
    mechanism : Exponential
    n_classes, bins : int
        Bins per axis, an axis of the stream.
    cubes_per_record : int
        Cubes whose counts a record can change: 1 if features are public, else 2.
    """

    mechanism: Exponential
    n_classes: int
    bins: int
    cubes_per_record: int = 1


class ClassRelease(Device[ClassReleaseQuestion]):
    """Draw a class by the exponential mechanism; ``X`` of the records holds the class counts (n, K)."""

    def draws(self, streams: Streams, n: int, question: ClassReleaseQuestion) -> np.ndarray:
        """Gumbel variables of shape (n, K)."""
        return streams.generator("counts", bins=question.bins).gumbel(size=(n, question.n_classes))

    def report(self, records: Records, question: ClassReleaseQuestion, draws: np.ndarray) -> np.ndarray:
        """Chosen classes, shape (n,)."""
        return exponential_choices(records.X, question.mechanism.coefficient, draws)

    def law(self, question: ClassReleaseQuestion, records: Records) -> tuple[Exponential, np.ndarray]:
        """The exponential mechanism on the counts."""
        return question.mechanism, records.X

    def fields(self, question: ClassReleaseQuestion) -> tuple[Field, ...]:
        """One class."""
        return (Integers(question.n_classes),)

    def budget(self, question: ClassReleaseQuestion) -> float:
        """Exact epsilon of a record, over all cubes that it can change."""
        return question.cubes_per_record * question.mechanism.epsilon


@dataclass(frozen=True)
class MeanReleaseQuestion:
    """What is released of label sums.

    Attributes
    ----------
    bound : float
        T: labels lie in [-T, T].
    epsilon : float
    bins : int
        Bins per axis, an axis of the stream.
    least : float, optional
        n_0: sums are divided by at least this, and counts are protected. None: counts are public.
    unit_scale : float
        Scale of the noise for T = epsilon = 1, where counts are protected.
    spent : float
        Exact epsilon of a record.
    """

    bound: float
    epsilon: float
    bins: int
    least: float | None
    unit_scale: float
    spent: float


class MeanRelease(Device[MeanReleaseQuestion]):
    """Add Laplace noise to the mean of a cube; columns of ``X`` are the sum of its labels and their number."""

    def draws(self, streams: Streams, n: int, question: MeanReleaseQuestion) -> np.ndarray:
        """Standard Laplace noise, shape (n,)."""
        return streams.generator("counts", bins=question.bins).laplace(size=n)

    def report(self, records: Records, question: MeanReleaseQuestion, draws: np.ndarray) -> np.ndarray:
        """Noisy means, shape (n,); 0 of a cube that is known to be empty."""
        noisy = self._means(records, question) + self._scale(records, question) * draws
        return noisy if question.least is not None else np.where(records.X[:, 1] > 0, noisy, 0.0)

    def law(self, question: MeanReleaseQuestion, records: Records) -> tuple[Laplace, np.ndarray]:
        """Laplace noise on the means of cubes that are not empty; where counts are public, all of one size."""
        return Laplace(float(np.max(self._scale(records, question)))), self._means(records, question)

    def fields(self, question: MeanReleaseQuestion) -> tuple[Field, ...]:
        """One real number."""
        return (Reals(1),)

    def budget(self, question: MeanReleaseQuestion) -> float:
        """Exact epsilon of a record."""
        return question.spent

    @staticmethod
    def _means(records: Records, question: MeanReleaseQuestion) -> np.ndarray:
        sums, counts = records.X.T
        return sums / np.maximum(counts, 1 if question.least is None else question.least)

    @staticmethod
    def _scale(records: Records, question: MeanReleaseQuestion) -> float | np.ndarray:
        if math.isinf(question.epsilon):
            return 0.0
        if question.least is not None:
            return question.bound * question.unit_scale / question.epsilon
        return 2.0 * question.bound / (np.maximum(records.X[:, 1], 1) * question.epsilon)


CLASS_RELEASE, MEAN_RELEASE = ClassRelease(), MeanRelease()
