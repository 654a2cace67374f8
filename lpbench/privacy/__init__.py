"""Mechanisms with exact privacy maps: randomizers of a user's device, and the curator's unbiased estimates."""

from lpbench.privacy.counter import hashed_uniforms
from lpbench.privacy.device import Device, Release
from lpbench.privacy.exponential import Exponential
from lpbench.privacy.gaussian import Gaussian, gaussian_delta, gaussian_epsilon, gaussian_sigma
from lpbench.privacy.guarantee import MODELS, Guarantee
from lpbench.privacy.hadamard import HadamardResponse
from lpbench.privacy.laplace import DiscreteLaplace, Laplace, cell_noise, discrete_cell_noise
from lpbench.privacy.mechanism import (
    CategoryMechanism,
    Channel,
    FiniteMechanism,
    Mechanism,
    check_epsilon,
    exact_epsilon,
)
from lpbench.privacy.number_channel import NumberChannel, optimal_unbiased, rr_on_bins
from lpbench.privacy.piecewise import Hybrid, Piecewise
from lpbench.privacy.poisoned import Liars, PoisonedUsers
from lpbench.privacy.prior_response import PriorResponse, prior_reports, ranked_classes
from lpbench.privacy.privunit import PrivUnitG, SignedPrivUnitG, privunit_reports, report_coefficients, unit_vectors
from lpbench.privacy.randomized_response import (
    GRR,
    BitVector,
    RandomizedResponse,
    grr_probabilities,
    grr_reports,
    grr_weights,
    rr_reports,
)
from lpbench.privacy.records import Records
from lpbench.privacy.staircase import Staircase
from lpbench.privacy.subset_selection import SubsetSelection, subset_reports
from lpbench.privacy.users import PublicSample, SimulatedUsers, Users

__all__ = [
    "GRR",
    "MODELS",
    "BitVector",
    "CategoryMechanism",
    "Channel",
    "Device",
    "DiscreteLaplace",
    "Exponential",
    "FiniteMechanism",
    "Gaussian",
    "Guarantee",
    "HadamardResponse",
    "Hybrid",
    "Laplace",
    "Liars",
    "Mechanism",
    "NumberChannel",
    "Piecewise",
    "PoisonedUsers",
    "PriorResponse",
    "PrivUnitG",
    "PublicSample",
    "RandomizedResponse",
    "Records",
    "Release",
    "SignedPrivUnitG",
    "SimulatedUsers",
    "Staircase",
    "SubsetSelection",
    "Users",
    "cell_noise",
    "check_epsilon",
    "discrete_cell_noise",
    "exact_epsilon",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "grr_probabilities",
    "grr_reports",
    "grr_weights",
    "hashed_uniforms",
    "optimal_unbiased",
    "prior_reports",
    "privunit_reports",
    "ranked_classes",
    "report_coefficients",
    "rr_on_bins",
    "rr_reports",
    "subset_reports",
    "unit_vectors",
]
