"""Mixture of constants, Gaussian processes and a forest, weighted by reports that they have not seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from lpbench.estimators.stable import settled
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Moments
from lpbench.estimators.tuning_free.half_forest import HalfForest
from lpbench.estimators.tuning_free.kernel_features import KernelFeatures, ShownFeatures
from lpbench.estimators.tuning_free.rounds import BLOCK, Effect, Enrolled, effects_at

#: Steps of a weight on [0, 1].
_STEPS = 20
#: Logarithm of the prior odds of the first part to others, which few persons with many rows may seem to support.
_CAUTION = 4.0
#: Parts of the persons that are predicted by the others, where persons have several rows.
_FOLDS = 8
#: Variance of a public prediction about what follows from what users show, as it is taken to be, in squared ranges.
_ROUGH = 1e-3
#: Smallest share of the label's variance that the forest is built to find.
_LEAST_SIGNAL = 0.03
#: Fewer users than this make no forest.
_FEWEST_FOR_FOREST = 20
#: Most reports that the weights of the mixture are read from.
_MOST_COMPARED = 20_000


class ShownPart:
    """The part of a public model that follows from what users show, as a process on public rows expects it."""

    def __init__(self, enrolled: Enrolled, X: np.ndarray, predicted: np.ndarray, y_range: tuple[float, float]) -> None:
        moments, self._range = Moments(y_range), y_range
        noise = np.full(predicted.size, _ROUGH * (y_range[1] - y_range[0]) ** 2)
        moments.add(enrolled.kernels.transform(enrolled.shown.transform(X)), predicted, noise)
        self._model = GaussianAverage(moments)

    def at(self, features: Sequence[np.ndarray]) -> np.ndarray:
        """The part that is expected of users with the given features, shape (m,)."""
        return np.clip(self._model.predict(features), *self._range)


@dataclass(frozen=True, eq=False)
class Apart:
    """What is known beside a public model: its part in every label, and a model of labels without it."""

    known: np.ndarray  # (n,), of :class:`ShownPart`
    model: GaussianAverage


@dataclass(frozen=True, eq=False)
class Fitted:
    """A private model: a mixture of constants, Gaussian processes and a forest, and effects of protected features.

    Where there is a public model, constant and processes are there with it and without.
    """

    shown: ShownFeatures
    kernels: KernelFeatures
    model: GaussianAverage
    forest: HalfForest | None
    weights: np.ndarray  # of constant, processes, forest, constant and processes without public model; they sum to one
    effects: Mapping[int, Effect]
    apart: Apart | None = None

    @classmethod
    def to(
        cls,
        enrolled: Enrolled,
        model: GaussianAverage,
        targets: np.ndarray,
        noise: np.ndarray,
        seen: np.ndarray,
        effects: Mapping[int, Effect],
        parts: Sequence[str] = ("gp", "forest"),
        apart: Apart | None = None,
    ) -> Fitted:
        """Fit forest and mixture to the targets of the users who were seen, and their noise variances."""
        # A leaf is to average as many reports as bring the variance of its mean down to half of that of the signal.
        spread = model.residual_variance + model.report_variance
        signal = max(model.label_variance - model.residual_variance, _LEAST_SIGNAL * model.label_variance)
        leaf, forest = math.ceil(settled(2.0 * spread / signal)), None
        weight = 1.0 / (model.residual_variance + noise[seen])
        weight /= weight.mean()
        enough = seen.size >= max(2 * leaf, _FEWEST_FOR_FOREST) and enrolled.shown.columns.size > 0
        some = np.arange(0, seen.size, -(-seen.size // _MOST_COMPARED))
        units = None if enrolled.units is None else enrolled.units[seen]
        if "forest" in parts and enough:
            leaf, rng = min(leaf, seen.size // 8), enrolled.streams.generator("tree")
            forest = HalfForest(enrolled.Z[seen], targets[seen], weight, leaf, rng, some, units)
        reports, weight = targets[seen[some]], weight[some]
        constant, process = _left_out(enrolled, model, targets, noise, seen, some)
        columns = {0: constant} | ({1: process} if "gp" in parts else {})
        if forest is not None:
            columns[2] = forest.left_out
        compared = weight, float(spread), None if units is None else units[some]
        inner = np.zeros(2)
        if apart is not None:
            # First what is best without the public model, then whether it is better than with it.
            labels = targets + apart.known
            found = _left_out(enrolled, apart.model, labels, noise, seen, some)
            without = np.column_stack(found) - apart.known[seen[some], None]
            inner = mixture_weights(without, reports, *compared)
            columns[3] = without @ inner
        outer = np.zeros(4)
        outer[list(columns)] = mixture_weights(np.column_stack(list(columns.values())), reports, *compared)
        weights = np.concatenate([outer[:3], outer[3] * inner])
        return cls(enrolled.shown, enrolled.kernels, model, forest, weights, effects, apart)

    def at(self, X: np.ndarray, public: np.ndarray | float | None = None) -> np.ndarray:
        """Predict rows X (m, d) in the unit cube, of which the public model predicts ``public``, shape (m,)."""
        Z, result = self.shown.transform(X), np.empty(len(X))
        constant, process, forest, *without = self.weights
        for start in range(0, len(X), BLOCK):
            rows = slice(start, start + BLOCK)
            features = self.kernels.transform(Z[rows])
            result[rows] = process * self.model.predict(features)
            if self.apart is not None:
                result[rows] += without[0] * self.apart.model.mean + without[1] * self.apart.model.predict(features)
        result += constant * self.model.mean
        if self.forest is not None:
            result += forest * self.forest.predict(Z)
        if public is not None:
            result += (1.0 - sum(without)) * public
        return result + effects_at(X, self.effects)

    def deviation(self, X: np.ndarray) -> np.ndarray:
        """Standard deviation of a label about its prediction, as the processes state it, shape (m,)."""
        features = self.kernels.transform(self.shown.transform(X))
        return np.sqrt(self.model.variance(features) + self.model.residual_variance)


def _left_out(
    enrolled: Enrolled,
    model: GaussianAverage,
    targets: np.ndarray,
    noise: np.ndarray,
    seen: np.ndarray,
    some: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Predictions of some of the reports that were seen, by the mean and by the model of those of other persons."""
    if enrolled.units is None:
        blocks = enrolled.blocks(seen[some])
        found = [model.leave_one_out(features, targets[users], noise[users]) for users, features in blocks]
        return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])
    fold = enrolled.units % min(_FOLDS, enrolled.units.max() + 1)

    def blocks_of_all() -> Iterator[tuple[Any, ...]]:
        for users, features in enrolled.blocks(seen):
            yield features, targets[users], noise[users], fold[users]

    constant, process = model.leave_fold_out(blocks_of_all, int(fold.max()) + 1)
    return constant[some], process[some]


@cache
def _simplex(parts: int) -> np.ndarray:
    """Weights of so many parts that sum to one, on a grid."""
    bars = itertools.combinations(range(_STEPS + parts - 1), parts - 1)
    edges = np.array([(-1, *places, _STEPS + parts - 1) for places in bars])
    return (np.diff(edges, axis=1) - 1) / _STEPS


def mixture_weights(
    predictions: np.ndarray,
    reports: np.ndarray,
    weight: np.ndarray,
    spread: float,
    units: np.ndarray | None = None,
) -> np.ndarray:
    """Posterior mean of the weights of a mixture, under a uniform prior on the simplex.

    The reports' expected squared error is that of the labels plus the known noise, so that predictions of *reports*
    that a part has not seen compare the parts on the labels without bias. Where reports of one of the ``units`` err
    alike they count for fewer, and the first part is preferred.
    """
    residuals = reports[:, None] - predictions
    if units is not None:
        losses = residuals**2 * weight[:, None]
        losses -= losses.mean(axis=1, keepdims=True)
        losses -= losses.mean(axis=0)
        sums = np.zeros((units.max() + 1, losses.shape[1]))
        np.add.at(sums, units, losses)
        spread *= max(1.0, float((sums**2).sum() / max((losses**2).sum(), 1e-300)))
    gram = (residuals * weight[:, None]).T @ residuals
    grid = _simplex(predictions.shape[1])
    density = -0.5 * ((grid @ gram) * grid).sum(axis=1) / spread
    if units is not None:
        density -= _CAUTION * (1.0 - grid[:, 0])
    density = np.exp(density - density.max())
    return density @ grid / density.sum()
