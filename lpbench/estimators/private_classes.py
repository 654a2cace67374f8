"""Device that sends its class, randomized among the public list of classes by any mechanism."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from lpbench.errors import ConfigurationError
from lpbench.privacy import (
    GRR,
    Device,
    HadamardResponse,
    Laplace,
    Mechanism,
    PriorResponse,
    Records,
    SubsetSelection,
    prior_reports,
    ranked_classes,
)
from lpbench.privacy.device import proven
from lpbench.privacy.payload import Field
from lpbench.seeds import Streams


@dataclass(frozen=True)
class ClassQuestion:
    """Ask for the user's class code, randomized by any mechanism for categories.

    ``prior`` (n, n_classes) are public class probabilities of each user asked, for a mechanism with a prior; None:
    none.
    """

    mechanism: Mechanism  # of the class code; Laplace noise goes to the one-hot vector
    n_classes: int = 0  # where the mechanism does not say
    # Public prior of each asked user, (n, n_classes): the answer is among the user's most probable classes.
    prior: np.ndarray | None = None

    def __post_init__(self) -> None:
        listed = getattr(self.mechanism, "n_categories", None)
        if listed is not None:
            object.__setattr__(self, "n_classes", int(listed))

    def take(self, users: Any) -> Self:
        """Return the question for some of the users asked, by position: each may have a prior of its own."""
        return self if self.prior is None else replace(self, prior=self.prior[users])


@proven
class ClassDevice(Device[ClassQuestion]):
    """Randomize the own class code; features are not read."""

    def inputs(self, records: Records, question: ClassQuestion) -> np.ndarray:
        """The class codes, or their one-hot vectors."""
        codes = np.asarray(records.y)
        return np.eye(question.n_classes)[codes] if isinstance(question.mechanism, Laplace) else codes

    def columns(self, question: ClassQuestion) -> int:
        """Length of a report: one number per class for Laplace noise, else that of the mechanism's report."""
        return question.n_classes if isinstance(question.mechanism, Laplace) else 1

    def report(self, records: Records, question: ClassQuestion, draws: np.random.Generator) -> np.ndarray:
        """Draw the reports: classes (n,), subsets (n, w), bits or noisy numbers (n, n_classes), by the mechanism."""
        if question.prior is None:
            return super().report(records, question, draws)
        order, size = ranked_classes(question.prior, question.mechanism.epsilon)
        return prior_reports(np.asarray(records.y), order, size, question.mechanism.epsilon, draws)

    def law(self, question: ClassQuestion, records: Records) -> tuple[Mechanism, np.ndarray]:
        """The mechanism on the codes; of users with a prior, who share it, its own."""
        if question.prior is None:
            return super().law(question, records)
        if (question.prior != question.prior[0]).any():
            raise ConfigurationError("records must share their prior; ask about users one by one")
        return PriorResponse.for_prior(question.mechanism.epsilon, question.prior[0]), np.asarray(records.y)

    def fields(self, question: ClassQuestion) -> tuple[Field, ...]:
        """Payload of a report: categories, bits or real numbers, by the mechanism."""
        return question.mechanism.fields(self.columns(question))

    def addends(self, reports: np.ndarray, question: ClassQuestion) -> np.ndarray:
        """Indicators of what is reported, or the bits: shape (n, n_classes), or the number of reports for n_classes."""
        if isinstance(question.mechanism, (GRR, HadamardResponse)):
            return np.eye(getattr(question.mechanism, "n_reports", question.n_classes))[reports]
        return super().addends(reports, question)

    def estimate(self, sums: np.ndarray, question: ClassQuestion, n: Any) -> np.ndarray:
        """Unbiased counts of the classes among ``n`` users."""
        mechanism: Any = question.mechanism
        return np.asarray(mechanism.estimate(sums, n))

    def draw_sums(
        self, records: Records, question: ClassQuestion, streams: Streams, by: np.ndarray | None = None
    ) -> np.ndarray:
        """Draw the unbiased counts of the classes, or those of each group, by the law of the sums."""
        n_classes, draws = question.n_classes, self.draws(streams, 0, question)
        mechanism: Any = question.mechanism
        if by is None:
            counts = np.bincount(records.y, minlength=n_classes)
            return self.estimate(mechanism.sum_of_reports(counts, draws), question, len(records))
        size = (int(by.max(initial=-1)) + 1) * n_classes
        counts = np.bincount(by * n_classes + records.y, minlength=size).reshape(-1, n_classes)
        return self.estimate(mechanism.sum_of_reports(counts, draws), question, counts.sum(axis=1, keepdims=True))


CLASS = ClassDevice()


def indicator_mechanism(epsilon: float, n_classes: int) -> GRR | SubsetSelection:
    """Mechanism whose unbiased indicators have the least noise variance, on average over the classes.

    It is randomized response for two or three classes, and from four on where the budget is large beside their number;
    else each user hides its class in a subset.

    Parameters
    ----------
    epsilon : float
        Budget of the report; inf: no noise.
    n_classes : int
        Number of classes, at least 1.

    Returns
    -------
    GRR or SubsetSelection
        With exactly that epsilon.
    """
    mechanisms = [SubsetSelection(epsilon, n_classes, size) for size in range(1, max(n_classes // 2, 1) + 1)]
    best = mechanisms[0] if n_classes < 3 else min(mechanisms, key=indicator_variance)
    return GRR(epsilon, n_classes) if best.size == 1 else best


def indicator_variance(mechanism: GRR | SubsetSelection) -> float:
    """Noise variance of an unbiased indicator, on average over the classes of a user and those of the indicator."""
    m, (keep, stray) = mechanism.n_categories, report_probabilities(mechanism)
    return (keep * (1.0 - keep) + (m - 1) * stray * (1.0 - stray)) / m / (keep - stray) ** 2


def report_probabilities(mechanism: GRR | SubsetSelection) -> tuple[float, float]:
    """Probabilities that a report is, or contains, the own class and any other given one."""
    if isinstance(mechanism, SubsetSelection):
        return mechanism.probabilities
    keep, stray = mechanism.channel()[0, :2]
    return float(keep), float(stray)


def indicators(mechanism: GRR | SubsetSelection, reports: np.ndarray) -> np.ndarray:
    """Unbiased indicators (n_classes, n) from reports (n,), or subsets (n, size)."""
    keep, stray = report_probabilities(mechanism)
    is_inside = np.zeros((mechanism.n_categories, len(reports)), dtype=bool)
    for members in np.reshape(reports, (len(reports), -1)).T:
        is_inside[members, np.arange(len(reports))] = True
    return (is_inside - stray) / (keep - stray)
