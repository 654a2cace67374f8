"""Regression on the public sample: forests of several leaf sizes and Gaussian processes.

They are weighted by least squares on their predictions of rows left out. A forest follows steps and interactions, a
process what is smooth: a forest alone would leave users a rough residual of a smooth function.
"""

import math
from functools import cached_property
from typing import Self

import numpy as np
from scipy.optimize import nnls

from lpbench.estimators.result_cache import Shared
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Moments
from lpbench.estimators.tuning_free.half_forest import HalfForest
from lpbench.estimators.tuning_free.kernel_features import N_LANDMARKS, KernelFeatures, ShownFeatures
from lpbench.privacy import Users
from lpbench.privacy.users import REAL_BITS
from lpbench.seeds import Streams

#: Least leaf sizes of the forests: small ones follow a strong signal, large ones average noisy labels.
LEAF_SIZES = (2, 8, 32)
#: Fewer public rows than this make no forest; a leaf size needs this many times its rows.
_FEWEST_ROWS, _ROWS_PER_LEAF = 10, 8
#: Least half-width of residuals, relative to the range of the label.
_NARROWEST = 1e-3
#: Models, and predictions of rows.
_MEANS, _PREDICTED = Shared(1), Shared(2)


class SmoothMean:
    """Gaussian processes fitted to public rows, whose labels have no noise of a mechanism; averaged over kernels.

    ``left_out`` (q,) is the prediction for each row from the others.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> None:
        self._shown, none = ShownFeatures(X), np.zeros(y.size)
        Z = self._shown.transform(X)
        self._kernels = KernelFeatures(Z, rng)
        moments = Moments((float(y.min()), float(y.max())))
        features = self._kernels.transform(Z)
        moments.add(features, y, none)
        self._average, self._n_kernels = GaussianAverage(moments), len(features)
        self.left_out = self._average.leave_one_out(features, y, none)[1]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict complete rows X of shape (m, d): ndarray of shape (m,)."""
        return self._average.predict(self._kernels.transform(self._shown.transform(X)))

    @property
    def broadcast_numbers(self) -> int:
        """Numbers of the broadcast: landmarks, and coefficients on them and on the features, for every kernel."""
        features = max(self._shown.columns.size, 1)
        return N_LANDMARKS * features + self._n_kernels * (N_LANDMARKS + features)


class PublicMean:
    """The mean of public labels plus forests and processes about it, weighted by predictions of rows left out.

    ``left_out`` (q,) is the prediction for each public row without it.
    """

    left_out: np.ndarray  # (q,), predictions of the public rows by trees that have not seen them

    def __init__(self, X: np.ndarray, y: np.ndarray, streams: Streams) -> None:
        sizes = [leaf for leaf in LEAF_SIZES if leaf == LEAF_SIZES[0] or leaf * _ROWS_PER_LEAF <= y.size]
        if y.size < _FEWEST_ROWS or np.ptp(y) == 0:
            sizes = []
        self._sample = X, y, {leaf: streams.integer("public", leaf=leaf) for leaf in (*sizes, 0) if sizes}
        self.mean = float(y.mean())
        gains = np.array([part.left_out - self.mean for part in self._parts]).reshape(-1, y.size).T
        self.weights = nnls(gains, y - self.mean)[0] if sizes else np.zeros(0)
        self.left_out = self.mean + gains @ self.weights
        self._spread = float(np.abs(y - self.left_out).max())

    @cached_property  # questions about the mean are told apart by its sample, not by hundreds of trees
    def _parts(self) -> list[HalfForest | SmoothMean]:
        """Forests by leaf size, and the processes (leaf size 0); none if the sample is too small."""
        X, y, seeds = self._sample
        generators = {leaf: np.random.default_rng(seed) for leaf, seed in seeds.items()}
        return [
            HalfForest(X, y, np.ones(y.size), leaf, rng) if leaf else SmoothMean(X, y, rng)
            for leaf, rng in generators.items()
        ]

    @property
    def _weighted(self) -> list[tuple[float, HalfForest | SmoothMean]]:
        """Parts that have weight, and their weights."""
        return [(w, part) for w, part in zip(self.weights, self._parts, strict=True) if w > 0]

    @property
    def labels(self) -> np.ndarray:
        """Public labels, clipped to the range: shape (q,)."""
        return self._sample[1]

    @classmethod
    def of(cls, users: Users, streams: Streams) -> Self | None:
        """Grow the forests from the users' public sample, its labels clipped to the public range; None without one."""
        if users.public is None or users.y_range is None:
            return None
        given = users.public.X, np.clip(users.public.y, *users.y_range), streams
        return _MEANS(given, lambda: cls(*given))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict rows X of shape (m, d): ndarray of shape (m,)."""
        return _PREDICTED((self._sample, X), lambda: self._predicted(X)).copy()

    def _predicted(self, X: np.ndarray) -> np.ndarray:
        parts = [weight * (part.predict(X) - self.mean) for weight, part in self._weighted]
        return self.mean + sum(parts, np.zeros(len(X)))

    def half_width(self, y_range: tuple[float, float]) -> float:
        """Half-width to which residuals are clipped: the largest of a public row left out, at most the range."""
        width = (y_range[1] - y_range[0]) or 1.0
        return min(max(self._spread, _NARROWEST * width), width)

    @property
    def broadcast_bits(self) -> float:
        """Bits of the broadcast: feature and threshold of each cut, the mean of each leaf, and the processes."""
        parts = [part for _, part in self._weighted]
        trees = [tree for part in parts if isinstance(part, HalfForest) for tree in part.trees]
        cuts = sum(tree.node_count // 2 for tree in trees)
        feature = math.ceil(math.log2(max(trees[0].n_features, 2))) if trees else 0
        smooth = sum(part.broadcast_numbers for part in parts if isinstance(part, SmoothMean))
        return REAL_BITS + cuts * (REAL_BITS + feature) + (cuts + len(trees) + smooth) * REAL_BITS
