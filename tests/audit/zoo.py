"""Models with one planted fault each, and twins without it, written from scratch for the audit of models.

All claim epsilon (and delta, if they take one) for the replacement of one record.
"""

import math

import numpy as np
from scipy.special import ndtr


class Moments:
    """Means of the clipped columns of X and y by Laplace noise; predicts the mean of y. Private as it is."""

    epsilon_per_mean = staticmethod(lambda epsilon, d: epsilon / (d + 1))

    def __init__(self, epsilon=1.0, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0), random_state=None):
        self.epsilon, self.bounds_X, self.bounds_y, self.random_state = epsilon, bounds_X, bounds_y, random_state

    def ranges(self, X, y):
        return np.array([self.bounds_X] * X.shape[1] + [self.bounds_y], dtype=float)

    def noise(self, scales):
        return np.random.default_rng(self.random_state).laplace(scale=scales)

    def summary(self, table, low, high):
        return np.clip(table, low, high).mean(axis=0)

    def fit(self, X, y):
        table = np.column_stack([X, y])
        low, high = self.ranges(X, y).T
        epsilon = self.epsilon_per_mean(self.epsilon, X.shape[1])
        means = self.summary(table, low, high) + self.noise((high - low) / (len(X) * epsilon))
        self.means_, self.intercept_ = means[:-1], float(means[-1])
        return self

    def predict(self, X):
        return np.full(len(X), self.intercept_)


class EpsilonForEachColumn(Moments):
    epsilon_per_mean = staticmethod(lambda epsilon, d: epsilon)


class RangeFromData(Moments):
    def ranges(self, X, y):
        table = np.column_stack([X, y])
        return np.column_stack([table.min(axis=0), table.max(axis=0) + 1e-9])


class SeedInside(Moments):
    def noise(self, scales):
        return np.random.default_rng(0).laplace(scale=scales)


class ClipsAfterNoise(Moments):
    def summary(self, table, low, high):
        return table.mean(axis=0)

    def fit(self, X, y):
        super().fit(X, y)
        self.means_ = np.clip(self.means_, *self.bounds_X)
        self.intercept_ = float(np.clip(self.intercept_, *self.bounds_y))
        return self


class ClipsBeforeAndAfter(ClipsAfterNoise):
    summary = Moments.summary


class RawIntercept(Moments):
    """The noisy mean of the label is published nowhere: the intercept is that of the records."""

    def fit(self, X, y):
        super().fit(X, y)
        self.intercept_ = float(np.clip(y, *self.bounds_y).mean())
        return self


class NoiseOfTheClass(Moments):
    """Noise drawn once and cached by its shape."""

    cache = {}

    def noise(self, scales):
        if scales.size not in self.cache:
            self.cache[scales.size] = super().noise(np.ones_like(scales))
        return scales * self.cache[scales.size]


class NoiseOfTheObject(Moments):
    """Noise drawn at the first fit of an object and kept for the next."""

    def noise(self, scales):
        if not hasattr(self, "_kept"):
            self._kept = super().noise(np.ones_like(scales))
        return scales * self._kept


class OneNoiseForAll(Moments):
    """The same draw for every column: differences of means have none."""

    def noise(self, scales):
        return scales * super().noise(1.0)


class ScaleFromData(Moments):
    """Divides by the standard deviation of the records, and adds noise for records between -3 and 3."""

    def fit(self, X, y):
        table = np.column_stack([X, y])
        self.scale_ = table.std(axis=0) + 1e-9
        table = np.clip((table - table.mean(axis=0)) / self.scale_, -3, 3)
        means = table.mean(axis=0) + self.noise(np.full(table.shape[1], 6 * table.shape[1] / (len(X) * self.epsilon)))
        self.means_, self.intercept_ = means[:-1], float(means[-1])
        return self


class ScaleFromBounds(ScaleFromData):
    def fit(self, X, y):
        return Moments.fit(self, X, y)


class GaussianMean(Moments):
    """Mean of the label by Gaussian noise of the least standard deviation."""

    def __init__(self, epsilon=1.0, delta=1e-5, bounds_y=(0.0, 1.0), random_state=None):
        self.epsilon, self.delta, self.bounds_y, self.random_state = epsilon, delta, bounds_y, random_state

    def sigma(self):
        low, high = 1e-3, 1e3
        for _ in range(100):
            middle = math.sqrt(low * high)
            above = ndtr(0.5 / middle - self.epsilon * middle)
            delta = above - math.exp(self.epsilon) * ndtr(-0.5 / middle - self.epsilon * middle)
            low, high = (middle, high) if delta > self.delta else (low, middle)
        return high

    def fit(self, X, y):
        low, high = self.bounds_y
        noise = np.random.default_rng(self.random_state).normal(scale=self.sigma() * (high - low) / len(y))
        self.intercept_ = float(np.clip(y, low, high).mean() + noise)
        return self


class SigmaForAnotherDelta(GaussianMean):
    """The classical standard deviation, for delta = 0.2."""

    def sigma(self):
        return math.sqrt(2 * math.log(1.25 / 0.2)) / self.epsilon


class FunctionalRegression:
    """Least squares from noisy moments, the sensitivities of which follow from the bounds. Private as it is."""

    def __init__(
        self, epsilon=1.0, bounds_X=(0.0, 100.0), bounds_y=(0.0, 100.0), fit_intercept=True, random_state=None
    ):
        self.epsilon, self.bounds_X, self.bounds_y = epsilon, bounds_X, bounds_y
        self.fit_intercept, self.random_state = fit_intercept, random_state

    def square(self, low, high):
        """Largest square within bounds, the sensitivity of a sum of squares."""
        return max(abs(low), abs(high)) ** 2

    def fit(self, X, y):
        rng, (n, d) = np.random.default_rng(self.random_state), X.shape
        (low, high), (y_low, y_high) = self.bounds_X, self.bounds_y
        X, y = np.clip(X, low, high), np.clip(y, y_low, y_high)
        offset, y_offset, epsilon = np.zeros(d), 0.0, self.epsilon
        if self.fit_intercept:
            share, epsilon = epsilon / (2 * (d + 1)), epsilon / 2
            offset = X.mean(axis=0) + rng.laplace(scale=(high - low) / (n * share), size=d)
            y_offset = y.mean() + rng.laplace(scale=(y_high - y_low) / (n * share))
        X, y, lows, highs = X - offset, y - y_offset, low - offset, high - offset
        y_low, y_high = y_low - y_offset, y_high - y_offset
        share = epsilon / (d + d * (d + 1) / 2)
        corners = np.array([y_low * lows, y_low * highs, y_high * lows, y_high * highs])
        products = X.T @ y + rng.laplace(scale=np.ptp(corners, axis=0) / share)
        squares = X.T @ X
        for i in range(d):
            squares[i, i] = abs(squares[i, i] + self.square(lows[i], highs[i]) / share * rng.laplace())
            for j in range(i + 1, d):
                ends = [a * b for a in (lows[i], highs[i]) for b in (lows[j], highs[j])]
                squares[i, j] = squares[j, i] = squares[i, j] + rng.laplace(scale=np.ptp(ends) / share)
        self.coef_ = np.linalg.lstsq(squares, products, rcond=None)[0]
        self.intercept_ = float(y_offset - offset @ self.coef_)
        return self

    def predict(self, X):
        return X @ self.coef_ + self.intercept_


class LowerBoundTwice(FunctionalRegression):
    """As released: of the squares the lower bound is taken twice, which is a sensitivity of 0 for bounds (0, 100)."""

    def square(self, low, high):
        return max(abs(low), abs(low)) ** 2


class CellMeans:
    """Noisy counts of classes on two sides of a cut in the middle; a record is in one cell."""

    def __init__(self, epsilon=1.0, classes=(0, 1), random_state=None):
        self.epsilon, self.classes, self.random_state = epsilon, classes, random_state

    def cut(self, X, rng):
        return 0.5

    def counts(self, right, y, rng, epsilon):
        table = np.array([[np.sum((right == side) & (y == c)) for c in (0, 1)] for side in (0, 1)], dtype=float)
        return table + rng.laplace(scale=2 / epsilon, size=table.shape)

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        self.cut_ = self.cut(X, rng)
        self.classes_ = np.array([0, 1])
        self.table_ = self.counts(np.clip(X[:, 0], 0, 1) > self.cut_, y, rng, self.epsilon)
        return self

    def predict_proba(self, X):
        table = np.maximum(self.table_, 1e-9)
        shares = (table / table.sum(axis=1, keepdims=True))[(np.clip(X[:, 0], 0, 1) > self.cut_).astype(int)]
        return shares

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


class CutAtTheMedian(CellMeans):
    def cut(self, X, rng):
        return float(np.median(np.clip(X[:, 0], 0, 1)))


class CountsHalfTheNoise(CellMeans):
    """Noise for a record that is added, where one is replaced."""

    def counts(self, right, y, rng, epsilon):
        return super().counts(right, y, rng, 2 * epsilon)


#: Class -> what its audit is told beside epsilon = 1.
FAULTS = {
    EpsilonForEachColumn: {}, RangeFromData: {}, SeedInside: {}, ClipsAfterNoise: {}, RawIntercept: {},
    NoiseOfTheClass: {}, NoiseOfTheObject: {}, OneNoiseForAll: {}, ScaleFromData: {},
    SigmaForAnotherDelta: {"delta": 1e-5}, LowerBoundTwice: {}, CutAtTheMedian: {}, CountsHalfTheNoise: {},
}  # fmt: skip
TWINS = {
    Moments: {}, ClipsBeforeAndAfter: {}, ScaleFromBounds: {}, GaussianMean: {"delta": 1e-5}, FunctionalRegression: {},
    CellMeans: {},
}  # fmt: skip
