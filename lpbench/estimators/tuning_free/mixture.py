"""Mixture of constants, Gaussian processes and a forest, weighted by reports that they have not seen."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Self

import numpy as np

from lpbench.estimators.result_cache import Shared
from lpbench.estimators.rounding import settled
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage
from lpbench.estimators.tuning_free.half_forest import SharedForest
from lpbench.estimators.tuning_free.kernel_features import KernelFeatures, ShownFeatures
from lpbench.estimators.tuning_free.rounds import BLOCK, Effect, Enrolled, effects_at
from lpbench.estimators.tuning_free.score_trust import slope_agreement

#: Steps of a weight on [0, 1].
_WEIGHT_STEPS = 20
#: Prior probability that parts which are favored suffice.
_FAVOR = 0.9
#: Parts of the persons that are predicted by the others, where persons have several rows.
_FOLDS = 8
#: Smallest share of the label's variance that the forest is built to find.
_LEAST_SIGNAL = 0.03
#: Fewer users than this make no forest.
_FEWEST_FOR_FOREST = 20
#: Most reports that the weights of the mixture are read from.
MOST_COMPARED = 20_000
#: Kernel features of rows that are predicted.
_AT_ROWS = Shared(1)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A private model: a mixture of constants, Gaussian processes and a forest, and effects of protected features.

    ``weights`` are those of constant, processes, forest, the public score as it is, and ``apart``, the model without
    it. ``effects`` maps a protected feature to (binning, effect of each bin); ``left_out`` are predictions of reports
    that the parts have not seen.
    """

    shown: ShownFeatures
    kernels: KernelFeatures
    model: GaussianAverage
    forest: Any  # a forest with left_out and predict, or None
    weights: np.ndarray  # of constant, processes, forest, the public score as it is, and the model without it
    effects: Mapping[int, Effect]
    left_out: np.ndarray  # predictions of reports that the parts have not seen
    apart: Self | None = None  # the model without the public score

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
        expected: np.ndarray | None = None,  # the mean of a public score given what users show, which the targets lack
        hidden: float = 0.0,  # its variance given that, of which reports say nothing
        apart: Self | None = None,  # the model of the targets that do not lack it
        public_rows: int = 0,  # those of its sample
    ) -> Self:
        """Fit forest and mixture to the targets of the users who were seen, and their noise variances."""
        spread, forest = model.residual_variance + model.report_variance, None
        weight = 1.0 / (model.residual_variance + noise[seen])
        weight /= weight.mean()
        rows = compared_rows(seen.size)
        units = None if enrolled.units is None else enrolled.units[seen]
        leaf = leaf_of_forest(enrolled, model, seen.size) if "forest" in parts else 0
        if leaf:
            seed = enrolled.streams.integer("tree")
            sample = enrolled.Z[seen], targets[seen], weight, leaf, rows, units
            forest = SharedForest(*sample, seed=seed)
        reports, weight = targets[seen[rows]], weight[rows]
        units = None if units is None else units[rows]
        constant, process = left_out(enrolled, model, targets, noise, seen, rows)
        columns = {0: constant} | ({1: process} if "gp" in parts else {})
        if forest is not None:
            columns[2] = forest.left_out
        # Few persons, or users whom a score describes already, show little that is not theirs alone.
        favored, blind = [] if units is None else [[0]], 0.0
        if expected is not None and apart is not None:
            favored = [[*range(len(columns) + 1)], [len(columns)]]
            columns |= {3: np.zeros(rows.size), 4: apart.left_out - expected[seen[rows]]}
            blind = hidden * (np.array(list(columns)) == 4)
        compared, weights = np.column_stack(list(columns.values())), np.zeros(5)
        shares = mixture_weights(compared, reports, weight, float(spread), units, favored, blind)
        if expected is not None and apart is not None:
            shares = believed(shares, slope_agreement([apart.model], [model], enrolled.persons, public_rows).weight)
        weights[list(columns)] = shares
        return cls(enrolled.shown, enrolled.kernels, model, forest, weights, effects, compared @ shares, apart)

    def at(self, X: np.ndarray, public: np.ndarray | float | None = None) -> np.ndarray:
        """Predict rows X (m, d) in the unit cube, of which the public model predicts ``public``, shape (m,)."""
        Z, result = self.shown.transform(X), np.empty(len(X))
        constant, process, forest, _, apart = self.weights
        for start in range(0, len(X), BLOCK):
            rows = slice(start, start + BLOCK)
            features = _AT_ROWS((self.kernels, Z[rows]), partial(self.kernels.transform, Z[rows]))
            result[rows] = process * self.model.predict(features)
        result += constant * self.model.mean
        if self.forest is not None:
            result += forest * self.forest.predict(Z)
        if public is not None:
            result += (1.0 - apart) * public
        if self.apart is not None:
            result += apart * self.apart.at(X)
        return result + effects_at(X, self.effects)

    def deviation(self, X: np.ndarray) -> np.ndarray:
        """Standard deviation of a label about its prediction, as the processes state it, shape (m,)."""
        features = self.kernels.transform(self.shown.transform(X))
        return np.sqrt(self.model.variance(features) + self.model.residual_variance)


def leaf_of_forest(enrolled: Enrolled, model: GaussianAverage, n: int) -> int:
    """Fewest rows of a leaf of the forest on ``n`` reports; 0: they are too few for one, or users show nothing.

    A leaf is to average as many reports as bring the variance of its mean down to half of that of the signal.
    """
    signal = max(model.label_variance - model.residual_variance, _LEAST_SIGNAL * model.label_variance)
    leaf = math.ceil(settled(2.0 * (model.residual_variance + model.report_variance) / signal))
    if n < max(2 * leaf, _FEWEST_FOR_FOREST) or enrolled.shown.columns.size == 0:
        return 0
    return min(leaf, n // 8)


def compared_rows(n: int) -> np.ndarray:
    """Numbers of the reports, of ``n``, that the weights of a mixture are read from."""
    return np.arange(0, n, -(-n // MOST_COMPARED))


def left_out(
    enrolled: Enrolled,
    model: GaussianAverage,
    targets: np.ndarray,
    noise: np.ndarray,
    seen: np.ndarray,
    rows: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Predict reports ``seen[rows]`` without those of their own person: by the mean and by the model, (k,) each.

    ``targets`` and ``noise`` (n,) are reports and their noise variances, ``seen`` the users who reported. A person is a
    user, or all rows of one unit, left out in folds.
    """
    if enrolled.units is None:
        blocks = enrolled.compared(seen[rows])
        predicted = [model.leave_one_out(features, targets[users], noise[users]) for users, features in blocks]
        return np.concatenate([pair[0] for pair in predicted]), np.concatenate([pair[1] for pair in predicted])
    fold = enrolled.units % min(_FOLDS, enrolled.units.max() + 1)
    constant, process = model.leave_fold_out(lambda: enrolled.blocks(seen), targets, noise, fold)
    return constant[seen[rows]], process[seen[rows]]


def believed(shares: np.ndarray, trust: float) -> np.ndarray:
    """Weights of parts of which the last alone does without a public score, which counts for ``trust`` in [0, 1]."""
    shares = trust * shares
    shares[-1] += 1.0 - trust
    return shares


@cache
def _simplex(parts: int) -> np.ndarray:
    """Nonnegative weights of ``parts`` parts that sum to one, on a grid: shape (n_points, parts)."""
    bars = itertools.combinations(range(_WEIGHT_STEPS + parts - 1), parts - 1)
    edges = np.array([(-1, *places, _WEIGHT_STEPS + parts - 1) for places in bars])
    return (np.diff(edges, axis=1) - 1) / _WEIGHT_STEPS


def mixture_weights(
    predictions: np.ndarray,
    reports: np.ndarray,
    weight: np.ndarray,
    spread: float,
    units: np.ndarray | None = None,
    favored: Sequence[Sequence[int]] = (),
    blind: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Posterior mean of the weights of a mixture, under a uniform prior on the simplex.

    The reports' expected squared error is that of the labels plus the known noise, so that predictions of *reports*
    that a part has not seen compare the parts on the labels without bias. Where reports of one of the ``units`` err
    alike they count for fewer. Of the ``favored`` sets of parts each contains the next, which suffices with prior
    probability ``_FAVOR`` if it does. ``blind``, shape (parts,): squared error that a part has and no report shows.
    """
    residuals = reports[:, None] - predictions
    if units is not None:
        losses = residuals**2 * weight[:, None]
        # A model leaves less of the persons that it was fitted to than of others.
        spread = max(spread, float(losses.mean(axis=0).min() / weight.mean()))
        losses -= losses.mean(axis=1, keepdims=True)
        losses -= losses.mean(axis=0)
        sums = np.zeros((units.max() + 1, losses.shape[1]))
        np.add.at(sums, units, losses)
        spread *= max(1.0, float((sums**2).sum() / max((losses**2).sum(), 1e-300)))
    gram = (residuals * weight[:, None]).T @ residuals
    gram[np.diag_indices_from(gram)] += weight.sum() * blind
    grid = _simplex(predictions.shape[1])
    density = -0.5 * ((grid @ gram) * grid).sum(axis=1) / spread
    density = np.exp(density - density.max())
    prior = np.zeros(len(grid))
    for k, parts in enumerate([range(grid.shape[1]), *favored]):
        suffice = np.isclose(grid[:, list(parts)].sum(axis=1), 1.0)
        prior += _FAVOR**k * (1.0 - _FAVOR if k < len(favored) else 1.0) * suffice / suffice.mean()
    density *= prior
    return density @ grid / density.sum()
