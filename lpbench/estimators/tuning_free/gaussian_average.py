"""Gaussian-process regression on reports with known noise, averaged over kernels and variances (empirical Bayes).

The reports are modelled as label + noise: y~_i = mu + f(x_i) + e_i + eta_i with Var f = V h, Var e = V (1 - h), V the
variance of the label and Var eta_i known, because the mechanism is. Given a kernel, V and h, everything is closed form
in the eigenbasis of the weighted features. Kernels and (V, h) on a grid are averaged with their marginal likelihoods
as weights (Bayesian model averaging; Hoeting et al. 1999). mu is normal about the middle of the public range, which
counts where reports are few and noisy. The constant model f = 0 has prior probability 1/2, so that
predictions fall back to the mean of the reports where there is no signal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

#: Shares of the label's variance that the features may explain.
SHARES = np.array([0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9])
#: Prior standard deviation of the label's mean, in widths of the range.
_LEVEL = 0.25
#: Models with less posterior weight than this are dropped from sums.
_NEGLIGIBLE = 1e-5


@dataclass(frozen=True, eq=False)
class Spreads:
    """Prior of the label's variance.

    Attributes
    ----------
    ratios : ndarray of shape (k,)
        Range over standard deviation of the label.
    weights : ndarray of shape (k,)
        Prior weights; they sum to one.
    """

    ratios: np.ndarray
    weights: np.ndarray


#: For Gaussian labels the ratio is 4 to 7 for 50 to 4000 rows.
USUAL = Spreads(
    np.array([2.5, 3.5, 4.5, 5.5, 7.0, 9.0, 12.0, 18.0]), np.array([0.05, 0.1, 0.18, 0.24, 0.22, 0.12, 0.06, 0.03])
)


def typical_variance(width: float, spreads: Spreads = USUAL) -> float:
    """Prior mean of the label's variance given the width of its public range."""
    return float((width / spreads.ratios) ** 2 @ spreads.weights)


@dataclass(frozen=True)
class _Models:
    """Models that share a kernel: their basis and, for each model, the shrinkage of every direction."""

    basis: np.ndarray
    centre: np.ndarray
    shrinkage: np.ndarray
    response: np.ndarray
    variance: np.ndarray
    noise: np.ndarray


class GaussianAverage:
    """Fit the average.

    Parameters
    ----------
    features : sequence of ndarrays of shape (n, m_k)
        Features under each kernel.
    reports : ndarray of shape (n,)
        Unbiased for the labels.
    noise : ndarray of shape (n,)
        Known variances of the reports about the labels.
    y_range : (float, float)
        Public range of the label.
    spreads : Spreads
        Prior of the label's variance.

    Attributes
    ----------
    weights : ndarray of shape (n_models,)
        Posterior weights; the first models are the constant ones.
    label_variance, residual_variance : float
        Posterior means of V and of V (1 - h).
    report_variance : float
        Noise variance of an average report (harmonic, in the weights of the fit).
    """

    def __init__(
        self,
        features: Sequence[np.ndarray],
        reports: np.ndarray,
        noise: np.ndarray,
        y_range: tuple[float, float],
        spreads: Spreads = USUAL,
    ) -> None:
        lo, hi = y_range
        width = hi - lo
        self._reports, typical = reports, 0.7 * typical_variance(width, spreads)
        # Weights are fixed at a typical label variance, so that one eigenbasis serves all V and h.
        self.report_variance = 1.0 / np.mean(1.0 / (typical + noise)) - typical
        self._omega = (typical + self.report_variance) / (typical + noise)
        # The level mu is normal about the middle of the range: worth so many reports there.
        middle = (typical + self.report_variance) / (_LEVEL * width) ** 2
        self._total = self._omega.sum() + middle
        self._mean = (self._omega @ reports + middle * (lo + hi) / 2.0) / self._total
        self._root = np.sqrt(self._omega)
        self._b = self._root * (reports - self._mean)
        variances, self._n_constant = (width / spreads.ratios) ** 2, spreads.ratios.size
        log_prior = np.log(spreads.weights)
        self._constant = variances + self.report_variance
        n = reports.size
        evidence = [
            np.log(0.5) + log_prior - 0.5 * (n - 1) * np.log(self._constant) - 0.5 * self._b @ self._b / self._constant
        ]
        self._models: list[_Models] = []
        V, h = (grid.ravel() for grid in np.meshgrid(variances, SHARES, indexing="ij"))
        prior = np.repeat(log_prior, SHARES.size) - np.log(2.0 * SHARES.size * len(features))
        for F in features:
            models, likelihood = self._fit_kernel(F, V, h)
            self._models.append(models)
            evidence.append(likelihood + prior)
        log_weights = np.concatenate(evidence)
        self.weights = np.exp(log_weights - logsumexp(log_weights))
        self.label_variance = float(self.weights @ np.concatenate([variances, np.tile(V, len(features))]))
        self.residual_variance = float(
            self.weights @ np.concatenate([variances, np.tile(V * (1.0 - h), len(features))])
        )

    def _fit_kernel(self, F: np.ndarray, V: np.ndarray, h: np.ndarray) -> tuple[_Models, np.ndarray]:
        centre = np.average(F, axis=0, weights=self._omega)
        A = (F - centre) * self._root[:, None]
        values, vectors = np.linalg.eigh(A.T @ A)
        values = np.maximum(values, 0.0)
        response = vectors.T @ (A.T @ self._b)
        noise, signal = V * (1.0 - h) + self.report_variance, V * h
        shrinkage = signal / (noise + np.outer(values, signal))
        explained = (response[:, None] ** 2 * shrinkage).sum(axis=0)
        log_likelihood = -0.5 * (
            np.log1p(np.outer(values, signal / noise)).sum(axis=0)
            + (self._reports.size - 1) * np.log(noise)
            + (self._b @ self._b - explained) / noise
        )
        return _Models(vectors, centre, shrinkage, response, signal, noise), log_likelihood

    def _kept(self) -> Any:
        """Kernels with the models that matter: (index of the kernel, its models, weights, positions)."""
        size = self._n_constant * SHARES.size
        for k, models in enumerate(self._models):
            weights = self.weights[self._n_constant + k * size :][:size]
            kept = np.flatnonzero(weights > _NEGLIGIBLE)
            if kept.size:
                yield k, models, weights[kept], kept

    def predict(self, features: Sequence[np.ndarray]) -> np.ndarray:
        """Posterior mean of mu + f at rows with the given features, shape (m,)."""
        result = np.full(len(features[0]), self._mean)
        for k, models, weights, kept in self._kept():
            coefficients = models.basis @ (models.response * (models.shrinkage[:, kept] @ weights))
            result = result + (features[k] - models.centre) @ coefficients
        return result

    def variance(self, features: Sequence[np.ndarray]) -> np.ndarray:
        """Posterior variance of mu + f at rows with the given features, doubt about the model included, shape (m,)."""
        constant = self.weights[: self._n_constant]
        mean = self.predict(features) - self._mean
        second = np.full(mean.shape, constant @ self._constant / self._total)
        for k, models, weights, kept in self._kept():
            G = (features[k] - models.centre) @ models.basis
            shrinkage, noise = models.shrinkage[:, kept], models.noise[kept]
            second += (G**2) @ (shrinkage @ (weights * noise)) + weights @ noise / self._total
            second += ((G @ (shrinkage * models.response[:, None])) ** 2) @ weights
        return np.maximum(second - mean**2, 0.0)

    def leave_one_out(self, features: Sequence[np.ndarray]) -> np.ndarray:
        """Predictions of every training report from the others, in closed form; the models' weights are kept.

        Parameters
        ----------
        features : sequence of ndarrays of shape (n, m_k)
            Those of the fit.

        Returns
        -------
        ndarray of shape (n,)
        """
        share = self._omega / self._total
        deviation = self._reports - self._mean
        result = self.weights[: self._n_constant].sum() * (-share * deviation / (1.0 - share))
        for k, models, weights, kept in self._kept():
            G = (features[k] - models.centre) @ models.basis
            shrinkage = models.shrinkage[:, kept]
            fitted = G @ (shrinkage * models.response[:, None])
            leverage = share[:, None] + self._omega[:, None] * (G**2 @ shrinkage)
            leverage = np.minimum(leverage, 0.999)
            result = result + ((fitted - leverage * deviation[:, None]) / (1.0 - leverage)) @ weights
        return self._mean + result
