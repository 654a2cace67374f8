"""Error as a function of users and budget: a sum of decreasing laws with weights >= 0, and its interval.

The excess error of a method depends on the information of all reports, s = n v(epsilon), where 1/v is the variance of
one report in variances of the label. The model of the error is

    e + sum_k a_k / (1 + (s / s_k)^p) + sum_j b_j / (1 + (n / n_j)^p),   e, a_k, b_j >= 0,

which is monotone in n and epsilon, constant where s is small, and a power law where s is large.

References
----------
.. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtri, stdtrit

from lpbench.estimators.tuning_free.level_reports import RANGE_WIDTH, total_variance
from lpbench.seeds import Streams

#: Exponents p; each draw of the interval takes one of them.
EXPONENTS = (0.5, 0.75, 1.0)
#: Number of scales s_k per factor of ten; distance of a draw's largest scale from the pilot's s, in powers of ten.
_PER_DECADE, _BEYOND = 2, (-1.0, 1.5)
#: Smallest relative standard deviation of a cell, because the law is not exact.
_FLOOR = 0.01
FITS_DRAWN, COVERAGE = 200, 0.9


def information(epsilon: float) -> float:
    """Return v(epsilon), the information of one report: 1 / its variance, in variances of a label of typical spread."""
    return 1.0 / total_variance(float(epsilon), RANGE_WIDTH)


@dataclass(frozen=True, eq=False)
class _Law:
    """One fitted law of the error: sum of power functions of information and users, with weights >= 0.

    ``scales`` and ``sizes`` are where the terms bend; ``weights`` begin with the constant's.
    """

    scales: np.ndarray
    sizes: np.ndarray
    exponent: float
    weights: np.ndarray

    def at(self, s: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Return the law's error at scaled budgets s and numbers of users n, which broadcast."""
        return _basis(s, n, self.scales, self.sizes, self.exponent) @ self.weights


def _basis(s: np.ndarray, n: np.ndarray, scales: np.ndarray, sizes: np.ndarray, exponent: float) -> np.ndarray:
    """Columns of the law's design matrix at information s and users n, shape (cells, 1 + scales + sizes)."""
    by_s = 1.0 / (1.0 + (s[:, None] / scales) ** exponent)
    by_n = 1.0 / (1.0 + (n[:, None] / sizes) ** exponent)
    return np.hstack([np.ones((s.size, 1)), by_s, by_n])


class Surface:
    """Law fitted to the errors of pilot runs, which predicts the error at any number of users and budget."""

    def __init__(
        self,
        users: np.ndarray,  # (a,)
        budgets: np.ndarray,  # (b,)
        losses: np.ndarray,  # (splits, a, b)
        test_share: float,  # of the pilot's rows: how far splits understate the error about the population
        streams: Streams,
    ) -> None:
        """Fit the law to the mean losses, and again to resampled splits, whose spread gives the intervals.

        ``losses`` is (splits, users, budgets); ``test_share`` is the share of the pilot that is kept for testing.
        """
        n, epsilon = (grid.ravel() for grid in np.meshgrid(users, budgets, indexing="ij"))
        self._n, self._s = n.astype(float), _told(n, epsilon)
        cells, rng = losses.reshape(len(losses), -1), streams.generator("draws")
        scale, spread = _relative(cells)
        self._deviation = scale * np.hypot(spread / np.sqrt(len(cells)), _FLOOR)
        # All splits come from the same pilot, which itself is a sample of the population. Its error is common to all
        # cells and has n_test / n_train times the variance of a split. That variance is estimated, hence Student's t
        # [1]_, and estimated at the largest budget, because noise of reports is drawn anew in every split.
        sampling = _of_the_pilot(spread.reshape(losses.shape[1:]), budgets, test_share)
        fits = [self._fit(cells.mean(axis=0), p, 0.0) for p in EXPONENTS]
        misfit = min(float(np.sqrt(np.mean((law.at(self._s, self._n) / scale - 1.0) ** 2))) for law in fits)
        self._central, self._draws = fits, []
        self._factors = np.exp(np.hypot(sampling, misfit) * _wider(len(cells)) * rng.normal(size=FITS_DRAWN))
        for _ in range(FITS_DRAWN):
            again = cells[rng.integers(len(cells), size=len(cells))].mean(axis=0)
            self._draws.append(self._fit(again, rng.choice(EXPONENTS), rng.uniform(*_BEYOND)))

    def _fit(self, errors: np.ndarray, exponent: float, beyond: float) -> _Law:
        """Fit the law to mean errors (cells,) by least squares with weights >= 0.

        Its terms reach ``beyond`` powers of ten above the pilot's users and information.
        """
        low, high = np.log10(self._s.min()) - 0.5, np.log10(self._s.max()) + beyond
        scales = 10.0 ** np.linspace(low, high, max(2, round(_PER_DECADE * (high - low)) + 1))
        sizes = self._n.max() * 10.0 ** np.array([-1.0, -0.5, 0.0, beyond])
        columns = _basis(self._s, self._n, scales, sizes, exponent)
        weights, _ = nnls(columns / self._deviation[:, None], errors / self._deviation)
        return _Law(scales, sizes, float(exponent), weights)

    def at(self, users: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
        """Return the error and its interval at pairs of users and budgets: ndarray of shape (3, m), error, low, high.

        All three decrease in users and budget. Beyond the pilot's users and information the upper end assumes only
        half of the extrapolated (log) improvement, because the pilot cannot show it.
        """
        n = np.asarray(users, dtype=float).ravel()
        s = _told(n, epsilon)
        error, low, high = self._within(n, s)
        edge = self._within(*self.inside(n, s))[2]
        return np.array([error, low, np.maximum(high, np.sqrt(high * edge))])

    def inside(self, n: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Clip users n and information s to the largest values that the pilot covers."""
        return np.minimum(n, self._n.max()), np.minimum(s, self._s.max())

    def central(self, n: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return the error of the mean law at users and information."""
        return np.asarray(np.mean([law.at(s, n) for law in self._central], axis=0))

    def drawn(self, n: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return the errors of all drawn laws, shape (draws, m)."""
        return np.array([law.at(s, n) for law in self._draws])

    def _within(self, n: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return error, low and high, (3, m), by the drawn laws at users n (m,) and information s (m,)."""
        return _interval(self.central(n, s), self.drawn(n, s) * self._factors[:, None])


class Advantage:
    """Quotient of a method's error and that of the best other method, with an interval.

    A hard split is hard for all methods, so the quotient varies less between splits than the two errors. Each draw of
    the interval takes the same splits for all methods, and the spread is that of the quotient of each split.
    """

    def __init__(
        self,
        users: np.ndarray,  # (a,)
        budgets: np.ndarray,  # (b,)
        method: np.ndarray,  # losses of the method, (splits, a, b)
        others: Sequence[np.ndarray],  # and of each other method
        test_share: float,
        streams: Streams,
    ) -> None:
        """Fit a surface to each method, and estimate the error of the ratio of two surfaces.

        ``method`` and each of ``others`` are losses (splits, users, budgets).
        """
        self._method, *self._others = (
            Surface(users, budgets, losses, test_share, streams) for losses in (method, *others)
        )
        n, epsilon = (grid.ravel() for grid in np.meshgrid(users, budgets, indexing="ij"))
        better = np.min([losses.mean(axis=0) for losses in others], axis=0)
        scale, _ = _relative((method.mean(axis=0) / better).reshape(1, -1))
        spread = (method / np.min(others, axis=0)).std(axis=0, ddof=1) / scale.reshape(method.shape[1:])
        # Standard deviation by the median, because the fit is worst at few users and small budgets, which matter least.
        off = np.abs(self._quotient("central", n, _told(n, epsilon)) / scale - 1.0)
        self._misfit = float(np.median(off) / ndtri(0.75))
        self._whole = _of_the_pilot(spread, budgets, test_share)
        self._most = max(1.0 - float(np.median(scale.reshape(method.shape[1:])[:, np.argmax(budgets)])), 1e-9)
        self._normal = _wider(len(method)) * streams.generator("advantage").normal(size=(FITS_DRAWN, 1))

    def at(self, users: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
        """Return the method's error over that of the best other method, low and high, (3, m), at m users and budgets.

        Below 1 the method is better. Beyond what the pilot covers ``high`` is widened.
        """
        n = np.asarray(users, dtype=float).ravel()
        s = _told(n, epsilon)
        (quotient, low, high), edge = self._within(n, s), self._within(*self._method.inside(n, s))[2]
        return np.array([quotient, low, np.maximum(high, np.sqrt(high * edge))])

    def _within(self, n: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return quotient, low and high, (3, m), at users n (m,) and information s (m,).

        The pilot's own error, from the largest budget, is relative to the gain.
        """
        quotient = self._quotient("central", n, s)
        width = np.hypot(self._whole * np.clip((1.0 - quotient) / self._most, 0.0, 1.0), self._misfit)
        return _interval(quotient, self._quotient("drawn", n, s) * np.exp(width * self._normal))

    def _quotient(self, laws: str, n: np.ndarray, s: np.ndarray) -> np.ndarray:
        method, *others = (getattr(surface, laws)(n, s) for surface in (self._method, *self._others))
        return np.asarray(method / np.min(others, axis=0))


def _told(n: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Return the information of all reports, s = n v(epsilon), for users n (m,) and budgets (m,)."""
    return np.asarray(n * np.array([information(e) for e in np.asarray(epsilon, dtype=float).ravel()]))


def _relative(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of cells (splits, m), kept above zero, and their relative standard deviation."""
    scale = np.maximum(cells.mean(axis=0), 1e-12 + 1e-6 * cells.mean())
    return scale, cells.std(axis=0, ddof=min(1, len(cells) - 1)) / scale


def _of_the_pilot(spread: np.ndarray, budgets: np.ndarray, test_share: float) -> float:
    """Return the relative standard deviation due to the choice of the pilot, from the ``spread`` of its splits.

    ``spread`` is (numbers of users, budgets); the largest budget counts.
    """
    return float(np.sqrt(test_share / (1.0 - test_share)) * np.median(spread[:, np.argmax(budgets)]))


def _wider(splits: int) -> float:
    """Return the factor by which Student's quantile for so many splits exceeds the normal one."""
    top = 0.5 + COVERAGE / 2
    return float(stdtrit(splits - 1, top) / ndtri(top))


def _interval(central: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the central value (m,) and quantiles of the draws (draws, m), widened to contain it: (3, m)."""
    low, high = np.quantile(draws, [0.5 - COVERAGE / 2, 0.5 + COVERAGE / 2], axis=0)
    return np.array([central, np.minimum(low, central), np.maximum(high, central)])
