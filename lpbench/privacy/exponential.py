"""Exponential mechanism with its exact privacy map (McSherry & Talwar 2007; label-DP eqs. (19), (33)).

A candidate j is drawn with probability proportional to exp(c s_j). If the scores of two neighboring data sets differ
by D = s' - s, the log-ratio of the probabilities of j is c D_j - log E exp(c D) with the mean between c min D and
c max D; so the exact loss over all scores s is c (max D - min D). The *range* of D, not its largest entry, decides:
moving one label (one count up, another down) costs 2c, removing a sample (one count down) only c. Changing a whole
sample is two such removals in two cubes and costs 2c as well, hence half of what label-DP eq. (33) accounts for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import log_softmax

from lpbench.checks import check_number
from lpbench.errors import ConfigurationError
from lpbench.privacy.domain import Scores
from lpbench.privacy.exact import bits_of_64, rounded_up
from lpbench.privacy.mechanism import Mechanism, channel_losses, check_epsilon, check_sensitivity, registered

#: What stands for minus infinity beside Gumbel variables.
_NEVER = -1e300


def _choices(tilts: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of the largest of tilts + Gumbel noise, (..., K) -> (...), and True where 64 random bits decide it.

    ``tilts`` are the scores times the coefficient, at most 0, and ``drawn`` uint64 numbers of the same shape.
    """
    # exponential variables -log(1 - drawn / 2^64), exact to the last digits at either end
    low, high = -np.log1p((np.minimum(drawn, 2**63) + 0.5) * -(2.0**-64)), -np.log((~drawn + 0.5) * 2.0**-64)
    size = np.where(drawn < 2**63, low, high)
    gumbel = -np.log(size)
    blur = 2.0**-63 / (np.exp(-size) * size) + 2.0**-49 * (1.0 + np.abs(gumbel) - tilts)
    blur[(drawn == 0) | (drawn == 2**64 - 1)] = np.inf
    best = np.argmax(tilts + gumbel, axis=-1)
    chosen = np.arange(tilts.shape[-1]) == best[..., None]
    least, most = np.where(chosen, tilts + gumbel - blur, -np.inf), np.where(chosen, -np.inf, tilts + gumbel + blur)
    return best, least.max(axis=-1) > most.max(axis=-1)


def _choice(coefficient: float, gaps: list[Fraction], numbers: list[int], rng: np.random.Generator) -> int:
    """Decide one choice exactly, drawing further bits as needed; return the index of the chosen candidate.

    ``gaps`` are the exact scores minus the best, ``numbers`` the first 64 bits of each candidate's noise.
    """
    from mpmath import workprec

    bits, listed = 64, [j for j, gap in enumerate(gaps) if gap == 0 or coefficient < math.inf]
    while True:
        with workprec(2 * bits + 100):
            least = {j: _total(coefficient, gaps[j], numbers[j] + 1, bits) for j in listed}
            most = {j: _total(coefficient, gaps[j], numbers[j], bits) for j in listed}
        best = max(listed, key=least.__getitem__)
        if all(least[best] > most[j] for j in listed if j != best):
            return best
        numbers = [(number << 64) + int(word) for number, word in zip(numbers, bits_of_64(rng, len(gaps)), strict=True)]
        bits += 64


def _total(coefficient: float, gap: Fraction, number: int, bits: int) -> Any:
    """Tilt plus the Gumbel variable of the uniform number / 2^bits, in high precision; falls in ``number``.

    The tilt is ``coefficient`` times ``gap``, a score minus the best.
    """
    from mpmath import inf, ldexp, log, mpf

    if number in (0, 1 << bits):
        return -inf if number else inf
    return (mpf(coefficient) * gap if gap else 0) - log(-log(1 - ldexp(number, -bits)))


@registered(lambda epsilon: Exponential.for_budget(epsilon))
@dataclass(frozen=True)
class Exponential(Mechanism):
    """Release the index of a candidate, drawn with probability proportional to exp(coefficient * score).

    Parameters
    ----------
    coefficient : float
        Factor c of the scores, >= 0 (inf: the best candidate).
    range_sensitivity : float
        Largest range (maximum minus minimum over the candidates) of the change of the scores between neighbors:
        2 if one label may change (counts as scores), 1 if one sample may be removed.

    Examples
    --------
    >>> import numpy as np
    >>> from lpbench.privacy import Exponential
    >>> mechanism = Exponential.for_budget(1.0)
    >>> mechanism.epsilon
    1.0
    >>> mechanism.channel(np.array([[3.0, 1.0, 0.0]])).round(3).tolist()
    [[0.629, 0.231, 0.14]]
    """

    coefficient: float
    range_sensitivity: float = 2.0

    def __post_init__(self) -> None:
        check_number("coefficient", self.coefficient, least=0, infinite=True)
        check_sensitivity(self.range_sensitivity, "range_sensitivity")

    @classmethod
    def for_budget(cls, epsilon: float, range_sensitivity: float = 2.0) -> Exponential:
        """Return the mechanism that spends exactly ``epsilon``; by default label-DP eq. (19), exp(epsilon n_j / 2).

        Parameters
        ----------
        epsilon : float
            Budget, > 0; inf: no privacy.
        range_sensitivity : float
            Largest range of the scores' change between neighbors.

        Returns
        -------
        Exponential
            Coefficient epsilon / range_sensitivity, rounded down.

        References
        ----------
        .. [1] Label-DP paper, eq. (19).
        """
        coefficient = check_epsilon(epsilon) / check_sensitivity(range_sensitivity)
        if coefficient < math.inf and Fraction(coefficient) * Fraction(range_sensitivity) > Fraction(epsilon):
            coefficient = math.nextafter(coefficient, 0.0)
        return cls(coefficient, range_sensitivity)

    def privacy_map(self, score_range: float) -> float:
        """Exact epsilon for a change of the scores with this range: coefficient * range (a supremum), rounded up.

        Parameters
        ----------
        score_range : float
            Maximum minus minimum over the candidates of the change.

        Returns
        -------
        float
            Epsilon.
        """
        if not 0 < self.coefficient * score_range < math.inf:
            return self.coefficient * score_range if score_range > 0 else 0.0
        return rounded_up(*(Fraction(self.coefficient) * Fraction(score_range)).as_integer_ratio())

    @property
    def epsilon(self) -> float:
        """Exact epsilon between any two neighboring data sets."""
        return self.privacy_map(self.range_sensitivity)

    @property
    def domain(self) -> Scores:
        """Domain of score rows: two users' may differ by as much as the sensitivity allows."""
        return Scores(self.range_sensitivity)

    def _draw(self, scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The drawn indices, shape (...), for scores of shape (..., K)."""
        drawn = bits_of_64(rng, scores.shape)
        # Differences to the best score: 0 stays 0 whatever the coefficient.
        gaps = scores - scores.max(axis=-1, keepdims=True)
        tilts = np.where(gaps < 0, self.coefficient * np.minimum(gaps, -np.finfo(float).tiny), 0.0)
        choices, sure = _choices(np.maximum(tilts, _NEVER), drawn)
        for index in np.argwhere(~sure).tolist():
            cell = tuple(index)
            exact = [Fraction(score) - Fraction(max(scores[cell])) for score in scores[cell].tolist()]
            choices[cell] = _choice(self.coefficient, exact, drawn[cell].tolist(), rng)
        return choices

    def log_channel(self, scores: np.ndarray) -> np.ndarray:
        """Log-probabilities of the candidates, shape (n, K), for score vectors of shape (n, K) (finite coefficient).

        Parameters
        ----------
        scores : ndarray of shape (n, K)
            Scores of K candidates, a vector a row.

        Returns
        -------
        ndarray of shape (n, K)
            Log-probability of each candidate.

        Raises
        ------
        ConfigurationError
            If the coefficient is inf.
        """
        if math.isinf(self.coefficient):
            raise ConfigurationError("coefficient=inf has no finite log-probabilities")
        return log_softmax(self.coefficient * np.asarray(scores, dtype=np.float64), axis=-1)

    def channel(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of the candidates, shape (n, K), for score vectors of shape (n, K).

        Parameters
        ----------
        scores : ndarray of shape (n, K)
            Scores of K candidates, a vector a row.

        Returns
        -------
        ndarray of shape (n, K)
            Probability of each candidate; rows sum to 1.

        Raises
        ------
        ConfigurationError
            If the coefficient is inf.
        """
        return np.exp(self.log_channel(scores))

    def _losses(self, values: np.ndarray) -> np.ndarray:
        """Exact losses of all pairs of score tables, (k, k): the sum over cells, whose choices are independent.

        ``values`` (k, cells..., K) are the tables.
        """
        cells = np.moveaxis(self.log_channel(values).reshape(len(values), -1, values.shape[-1]), 1, 0)
        return np.sum([channel_losses(cell) for cell in cells], axis=0)

    def distance(self, reports: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Minus the score of each reported candidate."""
        return -np.take_along_axis(inputs, np.asarray(reports, dtype=int)[:, None], axis=1)[:, 0]
