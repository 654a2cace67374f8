"""Finite features of the kernels that the Gaussian processes use, from features some of which are not shown."""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

#: Landmarks of the Nystroem approximation, rows from which the scale of the distances is read, and those from which
#: the features' means and norms are.
N_LANDMARKS, _N_PAIRS, _N_ROWS = 128, 300, 4096


class ShownFeatures:
    """Standardization and imputation of the columns that at least ``least`` of the users show, and two of them.

    X (n, d) is NaN where a user protects the feature. Everything else is public. Constant columns are not used.
    """

    def __init__(self, X: np.ndarray, least: float = 0.1) -> None:
        visible = ~np.isnan(X)
        enough = visible.sum(axis=0) >= np.maximum(2, least * len(X))
        #: Columns that too few users show.
        self.hidden = np.flatnonzero(~enough)
        columns = np.flatnonzero(enough)
        mean, deviation = np.nanmean(X[:, columns], axis=0), np.nanstd(X[:, columns], axis=0)
        varies = deviation > 1e-9
        self.columns, self._mean, self._deviation = columns[varies], mean[varies], deviation[varies]

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Standardize the columns in use, missing entries at their mean; without any, one column of zeros."""
        if self.columns.size == 0:
            return np.zeros((len(X), 1))
        Z = (X[:, self.columns] - self._mean) / self._deviation
        return np.where(np.isnan(Z), 0.0, Z)


class KernelFeatures:
    """Features whose inner products approximate kernels: linear, Gaussian, and Laplacian plus linear.

    Each has mean zero and mean squared norm one over training rows (at most 4096 of them), so that the variance of a
    Gaussian process is on the scale of the label. The Gaussian kernel is exp(-r^2 / m) and the Laplacian one
    exp(-r / sqrt(m)), where m is the median squared distance. The two are approximated from landmarks drawn among the
    standardized training rows Z (n, k) (Nystroem; Williams & Seeger 2001), and so is the linear one where the columns
    are more numerous than the landmarks.
    """

    def __init__(self, Z: np.ndarray, rng: np.random.Generator, scales: Sequence[float] = (1.0,)) -> None:
        """Draw landmarks and scale each kernel's features: centered, with a mean squared norm of one.

        There is a Gaussian kernel exp(-r^2 / (s m)) for each s of ``scales``.
        """
        self._scales = tuple(scales)
        order = rng.permutation(len(Z))
        self._landmarks = Z[order[:N_LANDMARKS]]
        sample = Z[order[:_N_PAIRS]]
        squared = cdist(sample, sample, "sqeuclidean")[np.triu_indices(len(sample), 1)]
        self._scale = max(float(np.median(squared)) if squared.size else 1.0, 1e-12)
        self._maps = []  # A with A A^T = gram^-1 on the directions that carry weight
        for gram in self._grams(self._landmarks):
            values, vectors = np.linalg.eigh(gram)
            is_positive = values > 1e-9 * max(values[-1], 1e-300)
            self._maps.append(vectors[:, is_positive] / np.sqrt(values[is_positive]))
        self._centers, self._norms = [], []
        for F in self._raw(Z[order[:_N_ROWS]]):
            center = F.mean(axis=0)
            self._centers.append(center)
            norm = np.sqrt(((F - center) ** 2).sum(axis=1).mean())
            self._norms.append(norm if norm > 1e-9 else 1.0)

    def _grams(self, Z: np.ndarray) -> list[np.ndarray]:
        """Kernel matrices (n_rows, n_landmarks) between rows Z (n_rows, k) and landmarks: Gaussian ones and Laplacian.

        A linear one is the last where the columns are more numerous than ``N_LANDMARKS``.
        """
        marks, squared = self._landmarks, cdist(Z, self._landmarks, "sqeuclidean")
        squared /= self._scale
        grams = [squared / -scale for scale in self._scales]
        np.sqrt(squared, out=squared)
        grams.append(np.negative(squared, out=squared))
        for gram in grams:  # in place: the arrays are many times as large as Z
            np.exp(gram, out=gram)
        return [*grams, Z @ marks.T] if marks.shape[1] > N_LANDMARKS else grams

    def _raw(self, Z: np.ndarray) -> list[np.ndarray]:
        approximated = [gram @ root for gram, root in zip(self._grams(Z), self._maps, strict=True)]
        linear = approximated.pop() if len(approximated) > len(self._scales) + 1 else Z
        return [linear, *approximated]

    def transform(self, Z: np.ndarray) -> list[np.ndarray]:
        """Features of rows Z (m, k) under each kernel: list of ndarrays of shape (m, number of features)."""
        linear, *others = self._raw(Z)
        features = [linear - self._centers[0], *others]  # the first may be the rows themselves
        for F, center in zip(others, self._centers[1:], strict=True):
            F -= center
        for F, norm in zip(features[:-1], self._norms, strict=False):
            F /= norm
        linear, laplacian = features[0], features.pop()
        both = np.empty((len(Z), laplacian.shape[1] + linear.shape[1]))
        np.divide(laplacian, self._norms[-1], out=both[:, : laplacian.shape[1]])
        both[:, laplacian.shape[1] :] = linear
        both /= np.sqrt(2.0)
        return [*features, both]
