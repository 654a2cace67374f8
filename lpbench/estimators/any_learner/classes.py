"""Reports of a class under the randomizers of the literature, and what a learner makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.estimators.any_learner.numbers import on_simplex
from lpbench.privacy import (
    GRR,
    BitVector,
    Device,
    Laplace,
    Mechanism,
    PriorResponse,
    Records,
    SubsetSelection,
    prior_reports,
    ranked_classes,
)
from lpbench.privacy.payload import Field, Integers, Reals
from lpbench.seeds import Streams

#: Name -> mechanism for a budget and a number of classes. The two that take a prior start with plain responses.
MECHANISMS: Mapping[str, Callable[[float, int], Mechanism]] = {
    "rr": GRR,
    "subset_selection": SubsetSelection.least_variance,
    "vector_approximation": BitVector,
    "alibi": lambda epsilon, n_classes: Laplace.for_budget(epsilon, 2.0),
    "rr_with_prior": GRR,
    "two_stages": GRR,
}


@dataclass(frozen=True)
class CodeQuestion:
    """What the curator asks of a class.

    Attributes
    ----------
    mechanism : Mechanism
        Randomizer of the class code; Laplace noise goes to the one-hot vector.
    n_classes : int
    prior : ndarray of shape (n, n_classes) or None
        Public prior of each asked user: the answer is among the user's most probable classes, and the budget is that
        of the mechanism.
    purpose : str
        Stream of the users' randomness.
    """

    mechanism: Mechanism
    n_classes: int
    prior: np.ndarray | None = None
    purpose: str = "class report"

    @property
    def budget(self) -> float:
        """Epsilon of an answer at most."""
        return self.mechanism.epsilon


class CodeDevice(Device[CodeQuestion]):
    """Randomise the own class code; features are not read."""

    def draws(self, streams: Streams, n: int, question: CodeQuestion) -> np.random.Generator:
        """The generator of the users' randomness."""
        return streams.generator(question.purpose)

    def report(self, records: Records, question: CodeQuestion, draws: np.random.Generator) -> np.ndarray:
        """Classes (n,), members of subsets (n, w), bits or noisy numbers (n, n_classes)."""
        codes = np.asarray(records.y)
        if question.prior is not None:
            order, size = ranked_classes(question.prior, question.budget)
            return prior_reports(codes, order, size, question.budget, draws)
        if isinstance(question.mechanism, Laplace):
            return question.mechanism.randomize(np.eye(question.n_classes)[codes], draws)
        return question.mechanism.randomize(codes, draws)

    def law(self, question: CodeQuestion, records: Records) -> tuple[Mechanism, np.ndarray]:
        """The mechanism on class codes, or on one-hot vectors; of users with a prior, who share it, its own."""
        codes = np.asarray(records.y)
        if question.prior is not None:
            return PriorResponse.for_prior(question.budget, question.prior[0]), codes
        if isinstance(question.mechanism, Laplace):
            return question.mechanism, np.eye(question.n_classes)[codes]
        return question.mechanism, codes

    def fields(self, question: CodeQuestion) -> tuple[Field, ...]:
        """Categories, bits, or real numbers."""
        mechanism = question.mechanism
        if isinstance(mechanism, Laplace):
            return (Reals(question.n_classes),)
        if isinstance(mechanism, BitVector):
            return (Integers(2, question.n_classes),)
        if isinstance(mechanism, SubsetSelection):
            return (Integers(question.n_classes, mechanism.size),)
        return (Integers(question.n_classes),)

    def budget(self, question: CodeQuestion) -> float:
        """Epsilon of the report at most."""
        return question.budget


CODE = CodeDevice()


def ask_classes(codes: np.ndarray, users: np.ndarray, question: CodeQuestion, streams: Streams) -> np.ndarray:
    """Ask some users: one row of a report each."""
    records = Records(np.empty((users.size, 0)), codes[users])
    return CODE.report(records, question, CODE.draws(streams, users.size, question))


def soft_labels(question: CodeQuestion, reports: np.ndarray) -> np.ndarray:
    """Weights of the classes that the curator gives each report, shape (n, n_classes); rows add up to 1.

    The reported class; the members of a subset evenly; of noisy one-hot vectors the posterior probabilities, for the
    prior that the vectors themselves give on average (Malek et al. 2021).
    """
    mechanism: Any = question.mechanism
    if isinstance(mechanism, Laplace):
        if mechanism.scale == 0:
            return reports
        prior = on_simplex(reports.mean(axis=0))
        # Distance of a report to each one-hot vector, up to what all of them share.
        nearer = (np.abs(reports) - np.abs(reports - 1.0)) / mechanism.scale
        with np.errstate(divide="ignore"):
            log_weight = nearer + np.log(prior)
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)
    if isinstance(mechanism, SubsetSelection):
        inside = np.zeros((len(reports), question.n_classes))
        np.put_along_axis(inside, reports, 1.0 / mechanism.size, axis=1)
        return inside
    return np.eye(question.n_classes)[reports]


def shown_given_true(question: CodeQuestion) -> np.ndarray | None:
    """Expected soft label (column) of each true class (row), by which learned probabilities are corrected; or None.

    None where the authors of a randomizer let the learner stand: soft labels that are posteriors already, and reports
    that follow a prior.
    """
    mechanism: Any = question.mechanism
    if question.prior is not None or isinstance(mechanism, (Laplace, BitVector)):
        return None
    if isinstance(mechanism, SubsetSelection):
        keep, other = mechanism.probabilities
        table = np.where(np.eye(question.n_classes, dtype=bool), keep, other)
        return table / mechanism.size
    return mechanism.channel()


def class_prior(reports: np.ndarray, mechanism: GRR) -> np.ndarray:
    """Estimate the shares of the classes from plain responses: the unbiased ones, projected on the simplex."""
    if reports.size == 0:
        return np.full(mechanism.n_categories, 1.0 / mechanism.n_categories)
    counts = np.bincount(reports, minlength=mechanism.n_categories)
    return on_simplex(mechanism.estimate(counts, reports.size) / reports.size)
