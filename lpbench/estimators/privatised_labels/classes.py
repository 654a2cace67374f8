"""Reports of a class under the randomizers of the literature, and what a learner makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lpbench.estimators.private_classes import ClassQuestion
from lpbench.estimators.privatised_labels.numbers import on_simplex
from lpbench.privacy import GRR, BitVector, Laplace, Mechanism, SubsetSelection

#: Name -> mechanism for a budget and a number of classes. The two that take a prior start with plain responses.
MECHANISMS: Mapping[str, Callable[[float, int], Mechanism]] = {
    "rr": GRR,
    "subset_selection": SubsetSelection.least_variance,
    "vector_approximation": BitVector,
    "alibi": lambda epsilon, n_classes: Laplace.for_budget(epsilon, 2.0),
    "rr_with_prior": GRR,
    "two_stages": GRR,
}


def soft_labels(question: ClassQuestion, reports: np.ndarray) -> np.ndarray:
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


def shown_given_true(question: ClassQuestion) -> np.ndarray | None:
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
