"""Exponential mechanism with its exact privacy map (McSherry & Talwar 2007; label-DP eqs. (19), (33)).

A candidate j is drawn with probability proportional to exp(c s_j). If the scores of two neighbouring data sets differ
by D = s' - s, the log-ratio of the probabilities of j is c D_j - log E exp(c D) with the mean between c min D and
c max D; so the exact loss over all scores s is c (max D - min D). The *range* of D, not its largest entry, decides:
moving one label (one count up, another down) costs 2c, removing a sample (one count down) only c. Changing a whole
sample is two such removals in two cubes and costs 2c as well, hence half of what label-DP eq. (33) accounts for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from lpbench.checks import check_number
from lpbench.errors import ConfigurationError, DataError
from lpbench.privacy.mechanism import Mechanism, check_epsilon, check_sensitivity, check_spread


def exponential_choices(scores: np.ndarray, coefficient: float, gumbels: np.ndarray) -> np.ndarray:
    """Draw candidates with probability proportional to exp(coefficient * score) (Gumbel-max).

    Parameters
    ----------
    scores : ndarray of shape (..., K)
    coefficient : float
        >= 0; inf takes the best candidate, ties at random.
    gumbels : ndarray of shape (..., K)
        Standard Gumbel draws, which budgets may share.

    Returns
    -------
    integer ndarray of shape (...)
    """
    scores = np.asarray(scores, dtype=np.float64)
    # Differences to the best score: 0 stays 0 whatever the coefficient.
    gap = scores - scores.max(axis=-1, keepdims=True)
    tilt = np.where(gap < 0, coefficient * np.minimum(gap, -np.finfo(float).tiny), 0.0)
    return np.argmax(tilt + gumbels, axis=-1)


@dataclass(frozen=True)
class Exponential(Mechanism):
    """Release the index of a candidate, drawn with probability proportional to exp(coefficient * score).

    Parameters
    ----------
    coefficient : float
        Factor c of the scores, >= 0 (inf: the best candidate).
    range_sensitivity : float
        Largest range (maximum minus minimum over the candidates) of the change of the scores between neighbours:
        2 if one label may change (counts as scores), 1 if one sample may be removed.
    """

    coefficient: float
    range_sensitivity: float = 2.0

    def __post_init__(self) -> None:
        check_number("coefficient", self.coefficient, least=0, infinite=True)
        check_sensitivity(self.range_sensitivity, "range_sensitivity")

    @classmethod
    def for_budget(cls, epsilon: float, range_sensitivity: float = 2.0) -> Exponential:
        """Return the mechanism that spends exactly ``epsilon``; by default label-DP eq. (19), exp(epsilon n_j / 2)."""
        return cls(check_epsilon(epsilon) / check_sensitivity(range_sensitivity), range_sensitivity)

    def privacy_map(self, score_range: float) -> float:
        """Exact epsilon for a change of the scores with this range: coefficient * range (a supremum)."""
        return self.coefficient * score_range if score_range > 0 else 0.0

    @property
    def epsilon(self) -> float:
        """Exact epsilon between any two neighbouring data sets."""
        return self.privacy_map(self.range_sensitivity)

    def check_inputs(self, inputs: np.ndarray) -> None:
        """The change of the scores between two users may have the range."""
        if np.ndim(inputs) != 2:
            raise DataError(f"inputs of {self} have shape {np.shape(inputs)}; a user has a score for each candidate")
        check_spread(inputs, self.range_sensitivity, self, lambda rows: np.ptp(rows, axis=1))

    def randomize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the drawn indices, shape (...), for scores of shape (..., K)."""
        return exponential_choices(values, self.coefficient, rng.gumbel(size=np.shape(values)))

    def log_channel(self, scores: np.ndarray) -> np.ndarray:
        """Log-probabilities of the candidates, shape (n, K), for score vectors of shape (n, K) (finite coefficient)."""
        if math.isinf(self.coefficient):
            raise ConfigurationError("coefficient=inf has no finite log-probabilities")
        return log_softmax(self.coefficient * np.asarray(scores, dtype=np.float64), axis=-1)

    def channel(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of the candidates, shape (n, K), for score vectors of shape (n, K)."""
        return np.exp(self.log_channel(scores))
