"""Error as a function of users and budget: a sum of decreasing laws with weights >= 0, and its interval.

The excess error of a method depends on how much its reports tell: s = n v(epsilon) with 1/v the variance of one report
in variances of the label. The error is modelled as

    e + sum_k a_k / (1 + (s / s_k)^p) + sum_j b_j / (1 + (n / n_j)^p),   e, a_k, b_j >= 0,

which is monotone in n and epsilon, level where reports tell nothing, and a power law where they tell much.

References
----------
.. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtri, stdtrit

from lpbench.estimators.tuning_free.level_reports import RANGE_WIDTH, total_variance
from lpbench.seeds import Streams

#: Exponents p among which every draw of the interval chooses.
EXPONENTS = (0.5, 0.75, 1.0)
#: Scales s_k a factor of ten, and how far beyond the pilot's s the largest one of a draw may lie (powers of ten).
_PER_DECADE, _BEYOND = 2, (-1.0, 1.5)
#: Relative standard deviation that a cell has at least: the law is no exact one.
_FLOOR = 0.01
DRAWS, COVERAGE = 200, 0.9


def information(epsilon: float) -> float:
    """v(epsilon): what one report tells of a label of a typical spread, in labels."""
    return 1.0 / total_variance(float(epsilon), RANGE_WIDTH)


@dataclass(frozen=True, eq=False)
class _Law:
    """One fit: scales, exponent and weights."""

    scales: np.ndarray
    sizes: np.ndarray
    exponent: float
    weights: np.ndarray

    def at(self, s: np.ndarray, n: np.ndarray) -> np.ndarray:
        return _basis(s, n, self.scales, self.sizes, self.exponent) @ self.weights


def _basis(s: np.ndarray, n: np.ndarray, scales: np.ndarray, sizes: np.ndarray, exponent: float) -> np.ndarray:
    """Columns of the law, shape (cells, 1 + scales + sizes)."""
    by_s = 1.0 / (1.0 + (s[:, None] / scales) ** exponent)
    by_n = 1.0 / (1.0 + (n[:, None] / sizes) ** exponent)
    return np.hstack([np.ones((s.size, 1)), by_s, by_n])


class Surface:
    """The law fitted to the errors of pilot runs."""

    def __init__(
        self,
        users: np.ndarray,  # (a,)
        budgets: np.ndarray,  # (b,)
        losses: np.ndarray,  # (splits, a, b)
        test_share: float,  # of the pilot's rows: how far splits understate the error about the population
        streams: Streams,
    ) -> None:
        n, epsilon = (grid.ravel() for grid in np.meshgrid(users, budgets, indexing="ij"))
        self._n, self._s = n.astype(float), n * np.array([information(e) for e in epsilon])
        cells, rng = losses.reshape(len(losses), -1), streams.generator("draws")
        scale = np.maximum(cells.mean(axis=0), 1e-12 + 1e-6 * cells.mean())
        spread = cells.std(axis=0, ddof=1) / scale
        self._deviation = scale * np.hypot(spread / np.sqrt(len(cells)), _FLOOR)
        # Splits share the pilot's rows: its own error about the population is common to all cells, with a variance of
        # n_test / n_train times that of a split, which is estimated: Student's t in the place of the normal law [1]_.
        # Reports are randomised anew in every split, so that it is read from the largest budget.
        alone = spread.reshape(losses.shape[1:])[:, np.argmax(budgets)]
        whole = np.sqrt(test_share / (1.0 - test_share)) * float(np.median(alone))
        fits = [self._fit(cells.mean(axis=0), p, 0.0) for p in EXPONENTS]
        misfit = min(float(np.sqrt(np.mean((law.at(self._s, self._n) / scale - 1.0) ** 2))) for law in fits)
        top = 0.5 + COVERAGE / 2
        wider = stdtrit(len(cells) - 1, top) / ndtri(top)
        self._central, self._draws = fits, []
        self._factors = np.exp(np.hypot(whole, misfit) * wider * rng.normal(size=DRAWS))
        for _ in range(DRAWS):
            again = cells[rng.integers(len(cells), size=len(cells))].mean(axis=0)
            self._draws.append(self._fit(again, rng.choice(EXPONENTS), rng.uniform(*_BEYOND)))

    def _fit(self, errors: np.ndarray, exponent: float, beyond: float) -> _Law:
        """Weights >= 0 by least squares; ``beyond``: how far beyond the pilot the error goes on falling."""
        low, high = np.log10(self._s.min()) - 0.5, np.log10(self._s.max()) + beyond
        scales = 10.0 ** np.linspace(low, high, max(2, round(_PER_DECADE * (high - low)) + 1))
        sizes = self._n.max() * 10.0 ** np.array([-1.0, -0.5, 0.0, beyond])
        columns = _basis(self._s, self._n, scales, sizes, exponent)
        weights, _ = nnls(columns / self._deviation[:, None], errors / self._deviation)
        return _Law(scales, sizes, float(exponent), weights)

    def at(self, users: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
        """Error and its interval at pairs of users and budgets: ndarray of shape (3, m), error, low, high.

        All three decrease in users and budget. The upper end counts on half of what the error falls beyond the
        pilot's users and information, in logarithms: no pilot shows that it goes on falling.
        """
        n = np.asarray(users, dtype=float).ravel()
        s = n * np.array([information(e) for e in np.asarray(epsilon, dtype=float).ravel()])
        error, low, high = self._within(n, s)
        edge = self._within(np.minimum(n, self._n.max()), np.minimum(s, self._s.max()))[2]
        return np.array([error, low, np.maximum(high, np.sqrt(high * edge))])

    def _within(self, n: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Error, low and high as draws of the law have them."""
        draws = np.array([law.at(s, n) for law in self._draws]) * self._factors[:, None]
        low, high = np.quantile(draws, [0.5 - COVERAGE / 2, 0.5 + COVERAGE / 2], axis=0)
        error = np.mean([law.at(s, n) for law in self._central], axis=0)
        return np.array([error, np.minimum(low, error), np.maximum(high, error)])
