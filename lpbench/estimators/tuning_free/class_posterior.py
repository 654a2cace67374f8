"""Regression of the indicators of three or more classes at once: one posterior of kernels, signal and weights for all.

The most probable class does not change where the estimates of all classes are shrunk alike, and does where each is
shrunk by what its own noisy reports say. Reports of one class seldom tell whether there is signal; those of all do.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Moments, Spreads
from lpbench.estimators.tuning_free.half_forest import SharedForest
from lpbench.estimators.tuning_free.mixture import (
    Fitted,
    believed,
    compared_rows,
    leaf_of_forest,
    left_out,
    mixture_weights,
)
from lpbench.estimators.tuning_free.rounds import Enrolled
from lpbench.estimators.tuning_free.score_trust import slope_agreement

#: Scales of the Gaussian kernels: classes that lie in several places each need shorter ones than numbers do.
SCALES = (0.3, 1.0, 3.0)
#: Standard deviation of what a public score leaves, over that of an indicator: values of equal weight.
_REMAINDER = np.array([2.0, 2.3, 2.8, 3.5, 4.5]) / 2.0
#: Variance of the classes' shares, over the largest that there can be: values of equal weight.
_UNEVEN = np.array([0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3])
#: Prior probability that no feature tells the class, without a public sample and with one row of each person.
_USELESS = 0.25


@dataclass(frozen=True)
class OfClass:
    """Predictions of one class by a forest that predicts all of them, moved by ``shift``."""

    forest: SharedForest
    k: int
    shift: float

    @property
    def left_out(self) -> np.ndarray:
        """Mean prediction of each row by trees that did not see it."""
        return self.forest.left_out[:, self.k] + self.shift

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Mean prediction of the trees at rows X (m, k), shape (m,)."""
        return self.forest.predict(X)[:, self.k] + self.shift


def fit_classes(
    enrolled: Enrolled, targets: np.ndarray, noise: float, expected: tuple[np.ndarray, np.ndarray, int] | None
) -> list[Fitted]:
    """Fit one mixture with common weights to the indicators of all classes.

    Parameters
    ----------
    enrolled : Enrolled
        What users show.
    targets : ndarray of shape (n_classes, n)
        Unbiased indicators of the classes, of which there are three or more.
    noise : float
        Their noise variance on average over the classes.
    expected : tuple of ndarray or None
        Mean of a public score given what users show, (n_classes, n), its variance, (n_classes,), and its public rows.

    Returns
    -------
    list of Fitted
        One a class; with a score each is to be added to the score of the complete record.
    """
    share = 1.0 / len(targets)
    ratio = 1.0 / math.sqrt(share * (1.0 - share))
    fitted = _together(enrolled, targets, noise, share, Spreads(np.array([ratio]), np.ones(1)))
    if expected is None:
        return fitted
    mean, hidden, rows = expected
    spreads = Spreads(ratio * _REMAINDER, np.full(_REMAINDER.size, 1.0 / _REMAINDER.size))
    return _together(enrolled, targets - mean, noise, 0.0, spreads, (mean, hidden, fitted, rows))


def _together(
    enrolled: Enrolled,
    targets: np.ndarray,
    noise: float,
    middle: float,
    spreads: Spreads,
    score: tuple[np.ndarray, np.ndarray, Sequence[Fitted], int] | None = None,
) -> list[Fitted]:
    """Fit Gaussian processes and a forest to ``targets`` (n_classes, n) about ``middle``, and weigh them together.

    ``score`` has the expected public scores (n_classes, n), their variances (n_classes,), the models without them, and
    the number of public rows.
    """
    n_classes, n = targets.shape
    seen, noises, units = np.arange(n), np.full(n, noise), enrolled.units
    rows, is_plain = compared_rows(n), score is None and units is None
    moments = class_moments(enrolled.blocks(seen), targets, noises, (middle - 0.5, middle + 0.5), spreads)
    share_level(moments)
    models = [GaussianAverage(sums) for sums in moments]
    GaussianAverage.weigh_together(models, _USELESS if is_plain else 0.5)
    grown = _forest(enrolled, models[0], targets, rows)
    # A forest has the noisy mean of the reports; all parts are to have the same.
    forests = [
        None if grown is None else OfClass(grown, k, model.mean - targets[k].mean()) for k, model in enumerate(models)
    ]
    columns, hidden = [], np.zeros(5)
    for k, model in enumerate(models):
        constant, process = left_out(enrolled, model, targets[k], noises, seen, rows)
        forest = forests[k]
        # The processes contain a constant; a second one would count the doubt about signal twice.
        parts = {1: process} if is_plain else {0: constant, 1: process}
        parts |= {} if forest is None else {2: forest.left_out}
        if score is not None:
            parts |= {3: np.zeros(rows.size), 4: score[2][k].left_out - score[0][k][rows]}
        columns.append(np.column_stack(list(parts.values())))
    used = list(parts)
    # Few persons, or users whom a score describes already, show little that is not theirs alone.
    favored = [] if units is None else [[0]]
    if score is not None:
        favored, hidden[4] = [[*range(len(used) - 1)], [len(used) - 2]], score[1].mean()
    # Indicators sum to one: those of K classes count for K - 1.
    weight = np.full(n_classes * rows.size, 1.0 - 1.0 / n_classes)
    everybody = None if units is None else np.tile(units[rows], n_classes)
    spread = float(models[0].residual_variance + models[0].report_variance)
    stacked, reports = np.concatenate(columns), targets[:, rows].ravel()
    shares = mixture_weights(stacked, reports, weight, spread, everybody, favored, hidden[used])
    if score is not None:
        apart = [fitted.model for fitted in score[2]]
        shares = believed(shares, slope_agreement(apart, models, enrolled.persons, score[3]).weight)
    weights = np.zeros(5)
    weights[used] = shares
    return [
        Fitted(
            enrolled.shown,
            enrolled.kernels,
            model,
            forests[k],
            weights,
            {},
            columns[k] @ shares,
            None if score is None else score[2][k],
        )
        for k, model in enumerate(models)
    ]


def _forest(enrolled: Enrolled, model: GaussianAverage, targets: np.ndarray, rows: np.ndarray) -> SharedForest | None:
    """Forest of all ``targets`` (n_classes, n) that predicts ``rows``; None where there are too few users."""
    n = targets.shape[1]
    leaf = leaf_of_forest(enrolled, model, n)
    if not leaf:
        return None
    seed = enrolled.streams.integer("tree")
    return SharedForest(enrolled.Z, targets.T, np.ones(n), leaf, rows, enrolled.units, seed=seed)


def share_level(moments: Sequence[Moments]) -> None:
    """Shrink the means of all classes alike: by how far apart their reports are, beside the reports' noise.

    Means that are shrunk too little decide the class where the signal is weak. The prior deviation becomes that under
    which each mean is shrunk by the posterior mean of the factor, given the sum of squares of all.
    """
    K, noise = len(moments), 1.0 / moments[0].weight
    square = sum((sums.first / sums.weight) ** 2 for sums in moments)
    variances = _UNEVEN * (1.0 - 1.0 / K) / K
    total = variances + noise
    log_density = -0.5 * (K - 1) * np.log(total) - 0.5 * square / total
    density = np.exp(log_density - log_density.max())
    factor = float(density @ (variances / total) / density.sum())
    for sums in moments:
        sums.level = math.sqrt(noise * factor / (1.0 - factor))


def class_moments(
    blocks: Iterator[tuple[np.ndarray, list[np.ndarray]]],
    targets: np.ndarray,
    noise: np.ndarray,
    y_range: tuple[float, float],
    spreads: Spreads,
) -> list[Moments]:
    """Sums of the features and of each row of ``targets`` (n_classes, n), all with noise variances ``noise`` (n,).

    Kernel features and their second moments, most of the work, are those of all classes.
    """
    moments = [Moments(y_range, spreads) for _ in targets]
    first, *others = moments
    crosses: list[Any] = []
    for users, features in blocks:
        first.add(features, targets[0, users], noise[users])
        weight, z = first.weights(noise[users]), targets[1:, users] - first.middle
        products = [(weight * z) @ F for F in features]
        crosses = [a + b for a, b in zip(crosses, products, strict=True)] if crosses else products
        for sums, values in zip(others, z, strict=True):
            sums.n, sums.weight = first.n, first.weight
            sums.first += float(weight @ values)
            sums.second += float(weight @ values**2)
    for k, sums in enumerate(others):
        sums.kernels = [[*kernel[:2], cross[k]] for kernel, cross in zip(first.kernels, crosses, strict=True)]
    return moments
