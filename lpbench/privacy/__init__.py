"""Local randomizers with exact privacy maps: what leaves a user's device, and how the curator reads it."""

from lpbench.privacy.counter import hashed_uniforms
from lpbench.privacy.guarantee import MODELS, Guarantee
from lpbench.privacy.laplace import DiscreteLaplace, Laplace, cell_noise, sum_of_laplace
from lpbench.privacy.mechanism import AdditiveMechanism, FiniteMechanism, Mechanism, check_epsilon, exact_epsilon
from lpbench.privacy.randomized_response import (
    GRR,
    BitVector,
    RandomizedResponse,
    grr_probabilities,
    grr_reports,
    grr_weights,
    rr_reports,
)

__all__ = [
    "GRR",
    "MODELS",
    "AdditiveMechanism",
    "BitVector",
    "DiscreteLaplace",
    "FiniteMechanism",
    "Guarantee",
    "Laplace",
    "Mechanism",
    "RandomizedResponse",
    "cell_noise",
    "check_epsilon",
    "exact_epsilon",
    "grr_probabilities",
    "grr_reports",
    "grr_weights",
    "hashed_uniforms",
    "rr_reports",
    "sum_of_laplace",
]
