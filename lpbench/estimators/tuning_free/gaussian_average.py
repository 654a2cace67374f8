"""Gaussian-process regression on reports with known noise, averaged over kernels and variances (empirical Bayes).

The reports are modeled as label + noise: y~_i = mu + f(x_i) + e_i + eta_i with Var f = V h, Var e = V (1 - h), V the
variance of the label and Var eta_i known, because the mechanism is. Given a kernel, V and h, everything is closed form
in the eigenbasis of the weighted features. Kernels and (V, h) on a grid are averaged with their marginal likelihoods
as weights (Bayesian model averaging; Hoeting et al. 1999). mu is normal about the middle of the public range, which
counts where reports are few and noisy. The constant model f = 0 has prior probability 1/2, so that
predictions fall back to the mean of the reports where there is no signal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

#: Shares of the label's variance that the features may explain.
SHARES = np.array([0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9])
#: Prior standard deviation of the label's mean, in widths of the range.
LEVEL = 0.25
#: Models with less posterior weight than this are dropped from sums.
_NEGLIGIBLE = 1e-5


@dataclass(frozen=True, eq=False)
class Spreads:
    """Prior of the ratio "public range over standard deviation of the label": values and their weights.

    It states before any report how spread out labels may be within their range.
    """

    ratios: np.ndarray  # range over standard deviation of the label
    weights: np.ndarray  # prior weights of the ratios; they sum to one


#: For Gaussian labels the ratio is 4 to 7 for 50 to 4000 rows.
USUAL = Spreads(
    np.array([2.5, 3.5, 4.5, 5.5, 7.0, 9.0, 12.0, 18.0]), np.array([0.05, 0.1, 0.18, 0.24, 0.22, 0.12, 0.06, 0.03])
)


def typical_variance(width: float, spreads: Spreads = USUAL) -> float:
    """Prior mean of the label's variance given the width of its public range."""
    return float((width / spreads.ratios) ** 2 @ spreads.weights)


class Moments:
    """Weighted sums of reports and features, all that a GaussianAverage reads: reports are added group by group.

    A report weighs the inverse of its noise variance plus a typical variance of the label.
    """

    def __init__(self, y_range: tuple[float, float], spreads: Spreads = USUAL) -> None:
        self.y_range, self.spreads, self.n = y_range, spreads, 0
        #: Prior standard deviation of the label's mean.
        self.level = LEVEL * (y_range[1] - y_range[0])
        # Label variance at which weights are fixed, so that one eigenbasis serves all V and h.
        self.typical = 0.7 * typical_variance(y_range[1] - y_range[0], spreads)
        self.middle = (y_range[0] + y_range[1]) / 2.0
        self.weight = self.first = self.second = 0.0
        self.kernels: list[list[np.ndarray]] = []

    def weights(self, noise: np.ndarray) -> np.ndarray:
        """Precision of reports about a prediction, at the typical label variance."""
        return 1.0 / (self.typical + noise)

    def add(self, features: Sequence[np.ndarray], reports: np.ndarray, noise: np.ndarray) -> None:
        """Add reports of shape (m,), their known noise variances, and features (m, m_k) under each kernel."""
        weight, z = self.weights(noise), reports - self.middle
        self.n += reports.size
        self.weight += float(weight.sum())
        self.first += float(weight @ z)
        self.second += float(weight @ z**2)
        parts = [[weight @ F, (F * weight[:, None]).T @ F, (weight * z) @ F] for F in features]
        if self.kernels:
            parts = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(self.kernels, parts, strict=True)]
        self.kernels = parts

    def only(self, kernel: int) -> Moments:
        """Return the same sums with one kernel."""
        alone = self.without(Moments(self.y_range, self.spreads))
        alone.kernels = [self.kernels[kernel]]
        return alone

    def without(self, fold: Moments) -> Moments:
        """Return the sums over all reports but those of a fold, by subtraction."""
        remaining = Moments(self.y_range, self.spreads)
        remaining.level = self.level
        for name in ("n", "weight", "first", "second"):
            setattr(remaining, name, getattr(self, name) - getattr(fold, name))
        pairs = zip(self.kernels, fold.kernels or self.kernels, strict=True)
        remaining.kernels = [[a - b * bool(fold.kernels) for a, b in zip(*pair, strict=True)] for pair in pairs]
        return remaining


@dataclass(frozen=True)
class _Models:
    """Gaussian processes that share a kernel: its eigenbasis and each of M models' shrinkage of every direction.

    ``basis`` (k, k) are eigenvectors of the features' second moments, ``center`` (k,) the mean feature, ``response``
    (k,) the reports along each direction, ``shrinkage`` (k, M) the posterior coefficient per unit of response, and
    ``variance`` and ``noise`` (M,) the variances of signal and report.
    """

    basis: np.ndarray
    center: np.ndarray
    shrinkage: np.ndarray
    response: np.ndarray
    variance: np.ndarray
    noise: np.ndarray


class GaussianAverage:
    """Bayesian average of Gaussian-process regressions of noisy reports on features, by marginal likelihood.

    Averaged are a constant and processes of every kernel, label variance and share of signal in it, so that nothing has
    to be tuned. It is fitted to a :class:`Moments`, the weighted sums of reports (unbiased labels of known noise
    variance) and kernel features. Predictions, ``mean`` and the variances are in units of the label (squared).
    """

    mean: float  # posterior mean of mu: the mean of the reports, shrunk to the middle of the range by its known noise
    weights: np.ndarray  # posterior weights of the models, of which the first are constant
    label_variance: float  # posterior means of V and of V (1 - h)
    residual_variance: float
    report_variance: float  # noise variance of an average report (harmonic, in the weights of the fit)

    def __init__(self, moments: Moments) -> None:
        """Weigh all models by their evidence: the constant, and each kernel by label variance and signal share."""
        self._moments, spreads = moments, moments.spreads
        width = moments.y_range[1] - moments.y_range[0]
        #: Variance of a report of weight one.
        self._unit = moments.n / moments.weight
        self.report_variance = self._unit - moments.typical
        # The level mu is normal about the middle of the range: worth so many reports there.
        self._total = self._unit * moments.weight + self._unit / moments.level**2
        shift = self._unit * moments.first / self._total
        self.mean = moments.middle + shift
        square = self._unit * (moments.second - 2.0 * shift * moments.first + shift**2 * moments.weight)
        variances, self._n_constant = (width / spreads.ratios) ** 2, spreads.ratios.size
        log_prior = np.log(spreads.weights)
        self._constant = variances + self.report_variance
        evidence = [
            np.log(0.5) + log_prior - 0.5 * (moments.n - 1) * np.log(self._constant) - 0.5 * square / self._constant
        ]
        self._models: list[_Models] = []
        V, h = (grid.ravel() for grid in np.meshgrid(variances, SHARES, indexing="ij"))
        prior = np.repeat(log_prior, SHARES.size) - np.log(2.0 * SHARES.size * len(moments.kernels))
        for sums in moments.kernels:
            models, likelihood = self._fit_kernel(sums, square, V, h)
            self._models.append(models)
            evidence.append(likelihood + prior)
        kernels = len(moments.kernels)
        self._log_prior = np.concatenate([np.log(0.5) + log_prior, np.tile(prior, kernels)])
        self._log_evidence = np.concatenate(evidence)
        self._label_variances = np.concatenate([variances, np.tile(V, kernels)])
        self._residual_variances = np.concatenate([variances, np.tile(V * (1.0 - h), kernels)])
        self._weigh(self._log_evidence)

    def _weigh(self, log_weights: np.ndarray) -> None:
        """Set the models' weights from their logarithms, up to a constant, and the variances that follow from them."""
        self.weights = np.exp(log_weights - logsumexp(log_weights))
        self.label_variance = float(self.weights @ self._label_variances)
        self.residual_variance = float(self.weights @ self._residual_variances)

    def linear_part(self) -> tuple[np.ndarray, np.ndarray]:
        """Weighted covariances of the features of the first kernel, (k, k), and those with the reports, (k,)."""
        sums = self._moments
        first, gram, cross = sums.kernels[0]
        center = first / sums.weight
        return (gram - np.outer(center, first)) / sums.weight, (cross - center * sums.first) / sums.weight

    @staticmethod
    def weigh_together(averages: Sequence[GaussianAverage], constant: float = 0.5) -> None:
        """Give fits to the indicators of all classes, under one prior, one posterior of the models.

        Indicators sum to one, so that those of K classes say as much as K - 1 that are independent. ``constant`` is the
        prior probability that features tell nothing.
        """
        prior, share = averages[0]._log_prior, 1.0 - 1.0 / len(averages)
        total = prior + share * sum(average._log_evidence - prior for average in averages)
        total[: averages[0]._n_constant] += np.log(constant / (1.0 - constant))
        for average in averages:
            average._weigh(total)

    def _fit_kernel(
        self, sums: Sequence[np.ndarray], square: float, V: np.ndarray, h: np.ndarray
    ) -> tuple[_Models, np.ndarray]:
        """Fit Gaussian processes of one kernel for all label variances V (M,) and shares h (M,) of signal in them.

        ``sums`` are the kernel features' weighted sum, second moments and products with the reports, ``square`` is the
        reports' weighted sum of squares. Returned are the models and their log likelihoods (M,). One eigendecomposition
        serves all of them.
        """
        first, gram, cross = sums
        center = first / self._moments.weight
        values, vectors = np.linalg.eigh(self._unit * (gram - np.outer(center, first)))
        values = np.maximum(values, 0.0)
        response = vectors.T @ (self._unit * (cross - center * self._moments.first))
        noise, signal = V * (1.0 - h) + self.report_variance, V * h
        shrinkage = signal / (noise + np.outer(values, signal))
        explained = (response[:, None] ** 2 * shrinkage).sum(axis=0)
        log_likelihood = -0.5 * (
            np.log1p(np.outer(values, signal / noise)).sum(axis=0)
            + (self._moments.n - 1) * np.log(noise)
            + (square - explained) / noise
        )
        return _Models(vectors, center, shrinkage, response, signal, noise), log_likelihood

    def _kept(self) -> Any:
        """Yield kernels with models of more than negligible weight: (kernel, its models, their weights and indices).

        The kernel is given by its number.
        """
        size = self._n_constant * SHARES.size
        for k, models in enumerate(self._models):
            weights = self.weights[self._n_constant + k * size :][:size]
            indices = np.flatnonzero(weights > _NEGLIGIBLE)
            if indices.size:
                yield k, models, weights[indices], indices

    def predict(self, features: Sequence[np.ndarray]) -> np.ndarray:
        """Posterior mean of mu + f at rows with the given features, shape (m,)."""
        result = np.full(len(features[0]), self.mean)
        for k, models, weights, indices in self._kept():
            coefficients = models.basis @ (models.response * (models.shrinkage[:, indices] @ weights))
            result = result + (features[k] - models.center) @ coefficients
        return result

    def variance(self, features: Sequence[np.ndarray]) -> np.ndarray:
        """Posterior variance of mu + f at rows with the given features, doubt about the model included, shape (m,)."""
        constant = self.weights[: self._n_constant]
        mean = self.predict(features) - self.mean
        second = np.full(mean.shape, constant @ self._constant / self._total)
        for k, models, weights, indices in self._kept():
            G = (features[k] - models.center) @ models.basis
            shrinkage, noise = models.shrinkage[:, indices], models.noise[indices]
            second += (G**2) @ (shrinkage @ (weights * noise)) + weights @ noise / self._total
            second += ((G @ (shrinkage * models.response[:, None])) ** 2) @ weights
        return np.maximum(second - mean**2, 0.0)

    def leave_fold_out(
        self,
        blocks: Callable[[], Iterable[tuple[np.ndarray, Sequence[np.ndarray]]]],
        reports: np.ndarray,
        noise: np.ndarray,
        fold: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predict each report from other folds, by mean and by all models; ``blocks``: (numbers, features)."""
        parts = [Moments(self._moments.y_range, self._moments.spreads) for _ in range(fold.max() + 1)]
        for users, features in blocks():
            for k in np.unique(fold[users]):
                in_fold = fold[users] == k
                parts[k].add([F[in_fold] for F in features], reports[users[in_fold]], noise[users[in_fold]])
        fits, predictions = (
            [GaussianAverage(self._moments.without(fold_sums)) for fold_sums in parts],
            np.empty(fold.size),
        )
        for users, features in blocks():
            for k in np.unique(fold[users]):
                in_fold = fold[users] == k
                predictions[users[in_fold]] = fits[k].predict([F[in_fold] for F in features])
        return np.array([fit.mean for fit in fits])[fold], predictions

    def leave_one_out(
        self, features: Sequence[np.ndarray], reports: np.ndarray, noise: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predict each report from the others, in closed form: by their mean, and by all models (weights are kept)."""
        omega, deviation = self._unit * self._moments.weights(noise), reports - self.mean
        share = omega / self._total
        constant = -share * deviation / (1.0 - share)
        result = self.weights[: self._n_constant].sum() * constant
        for k, models, weights, indices in self._kept():
            G = (features[k] - models.center) @ models.basis
            shrinkage = models.shrinkage[:, indices]
            fitted = G @ (shrinkage * models.response[:, None])
            leverage = share[:, None] + omega[:, None] * (G**2 @ shrinkage)
            leverage = np.minimum(leverage, 0.999)
            result = result + ((fitted - leverage * deviation[:, None]) / (1.0 - leverage)) @ weights
        return self.mean + constant, self.mean + result
