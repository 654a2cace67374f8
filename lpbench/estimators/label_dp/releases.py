"""Releases of trusted curators: a class or a noisy mean label of each cube."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lpbench.errors import ConfigurationError
from lpbench.estimators.label_dp.cubes import Cubes
from lpbench.estimators.label_dp.rules import mean_sensitivity
from lpbench.privacy import Exponential, Laplace, Records, Release
from lpbench.privacy.device import proven
from lpbench.privacy.rounded import LAPLACE, LONGER, rounded_sum
from lpbench.seeds import Streams


@dataclass(frozen=True, eq=False)
class CubeQuestion:
    """Base of the questions to a trusted curator about cubes of equal width.

    ``cells`` (n,) is the cube of each user, where features are public; None: the curator locates the private records.
    """

    cubes: Cubes  # their number per axis is an axis of the stream of the noise
    #: Cube of each record (n,), where features are public; None: the records' own features say, and are protected.
    cells: np.ndarray | None

    def of(self, records: Records) -> np.ndarray:
        """Cube of each record; noise is drawn for the cubes that there are."""
        if self.cells is None:
            return self.cubes.locate(records.X)
        most = self.cells.astype(np.uint64).max(initial=0)  # what is negative is huge
        is_numbered = self.cells.shape == (len(records),) and self.cells.dtype.kind in "iu"
        if not is_numbered or most >= self.cubes.size:
            raise ConfigurationError(f"cells must be one of {self.cubes.size} cubes for each of {len(records)} records")
        return self.cells


@dataclass(frozen=True, eq=False)
class CubeClassQuestion(CubeQuestion):
    """Ask a trusted curator for one class of each cube, drawn by the exponential mechanism."""

    n_classes: int
    mechanism: Exponential  # of one cube


@proven
class ClassRelease(Release[CubeClassQuestion]):
    """Draw the class of each cube by the exponential mechanism on the class counts."""

    def mechanism(self, question: CubeClassQuestion) -> Exponential:
        """Return the exponential mechanism of one cube; a changed label moves the counts of its own cube alone."""
        return question.mechanism

    def statistic(self, records: Records, question: CubeClassQuestion) -> np.ndarray:
        """Number of records of each class in each cube: shape (cubes, K)."""
        return class_counts(question.of(records), records.y, question.cubes.size, question.n_classes)

    def draws(self, streams: Streams, n: int, question: CubeClassQuestion) -> np.random.Generator:
        """The generator of the curator's Gumbel variables, one for each cube and class."""
        return streams.generator("counts", bins=int(question.cubes.bins))

    def budget(self, question: CubeClassQuestion) -> float:
        """Exact epsilon of a label, or of a record, which can change the counts of two cubes."""
        if question.n_classes == 1:
            return 0.0
        return (1 if question.cells is not None else 2) * question.mechanism.epsilon


@dataclass(frozen=True, eq=False)
class MeanQuestion(CubeQuestion):
    """Ask a trusted curator for the noisy mean of the clipped labels of each cube."""

    center: float  # labels are clipped to [-bound, bound] about it
    bound: float
    epsilon: float = math.inf
    least: float = 1.0  # n_0: sums are divided by at least this; 1 where features are public
    #: Scale of the noise for T = epsilon = 1, of a cube with one label where features are public.
    unit_scale: float = 2.0

    @cached_property
    def mechanism(self) -> Laplace:
        """Laplace noise; of a cube whose label count m is public, scale and sensitivity are both those over m."""
        if math.isinf(self.epsilon):
            return Laplace(0.0)
        scale = self.bound * self.unit_scale / self.epsilon * LONGER
        return Laplace(scale, self.bound * self.sensitivity)

    @cached_property
    def sensitivity(self) -> float:
        """Return the largest change of the released means by one neighbor, in units of ``bound``."""
        return 2.0 if self.cells is not None else mean_sensitivity(self.least)


@proven
class MeanRelease(Release[MeanQuestion]):
    """Add Laplace noise to the mean label of each cube; a cube that is known to be empty says 0."""

    def mechanism(self, question: MeanQuestion) -> Laplace:
        """Return Laplace noise at the question's exact epsilon and sensitivity."""
        return question.mechanism

    def statistic(self, records: Records, question: MeanQuestion) -> np.ndarray:
        """Mean clipped labels about the center, shape (cubes,); 0 of an empty cube."""
        sums, counts = self._sums(records, question)
        return sums / np.maximum(counts, question.least)

    def draws(self, streams: Streams, n: int, question: MeanQuestion) -> np.random.Generator:
        """The generator of the curator's Laplace noise, one number per cube."""
        return streams.generator("counts", bins=int(question.cubes.bins))

    def release(self, records: Records, question: MeanQuestion, draws: np.random.Generator) -> np.ndarray:
        """Mean clipped labels of the cubes plus Laplace noise: shape (cubes,)."""
        sums, counts = self._sums(records, question)
        sizes, noise = np.maximum(counts, question.least), self.mechanism(question)
        if question.cells is None:
            return noise.randomize(sums / sizes, draws)
        scales = np.where(counts > 0, noise.scale / sizes, 0.0)  # 0 of a cube that is known to be empty
        return rounded_sum(sums / sizes, scales, noise.sensitivity, LAPLACE, draws)

    def law(self, question: MeanQuestion, records: Records) -> tuple[Laplace, np.ndarray]:
        """Return noise and exact statistic.

        Where counts are public the noise is on the label sums of the occupied cubes.

        """
        if question.cells is None:
            return self.mechanism(question), self.statistic(records, question)
        sums, counts = self._sums(records, question)
        return self.mechanism(question), sums[counts > 0]

    def to_law(self, released: np.ndarray, question: MeanQuestion, records: Records) -> np.ndarray:
        """Means of cubes with public counts, times these."""
        if question.cells is None:
            return released
        _, counts = self._sums(records, question)
        return released[counts > 0] * counts[counts > 0]

    @staticmethod
    def _sums(records: Records, question: MeanQuestion) -> tuple[np.ndarray, np.ndarray]:
        """Sums of the clipped, centered labels and numbers of records of each cube, two arrays of shape (cubes,)."""
        cells, size = question.of(records), question.cubes.size
        labels = (records.y - question.center).clip(-question.bound, question.bound)
        return np.bincount(cells, labels, size), np.bincount(cells, minlength=size)

    def budget(self, question: MeanQuestion) -> float:
        """Return the exact epsilon: the question's, times the true sensitivity over the one that scaled the noise."""
        return question.epsilon * question.sensitivity / question.unit_scale


CLASS_RELEASE, MEAN_RELEASE = ClassRelease(), MeanRelease()


def class_counts(cells: np.ndarray, codes: np.ndarray, n_cells: int, n_classes: int) -> np.ndarray:
    """Number n_lj of samples of class j in cube l, shape (cubes, K)."""
    return np.bincount(cells * n_classes + codes, minlength=n_cells * n_classes).reshape(n_cells, n_classes)
