"""What reports of a recorded call must be distributed like, from the mechanism that its question implies.

A law compares a result with the true values that went in. It is computed from :mod:`lpbench.privacy` alone, so that a
mistake in an estimator's code, or in how a mechanism is called, cannot hide in the reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.estimators.any_learner.classes import CODE
from lpbench.privacy import (
    GRR,
    BitVector,
    Channel,
    Laplace,
    Mechanism,
    NumberChannel,
    PriorResponse,
    RandomizedResponse,
    Records,
    SubsetSelection,
    grr_weights,
)

#: Reports of the mechanism among which a user's report is ranked, and the power to which ranks are raised.
_RANKED, _POWER = 39, 4

#: Values, means and variances of a statistic in [0, 1], each of shape (n,).
Told = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Law:
    """A result beside its law; empty where there is nothing to compare.

    Attributes
    ----------
    noise : ndarray of shape (n,), optional
        Standard Laplace variables if the device is honest.
    told : tuple of (values, means, variances), each of shape (n,)
        Statistics in [0, 1] of the users' reports, such as whether a report is the truth, with their exact moments.
    normal : ndarray of shape (k,), optional
        Nearly independent standard normal variables: noise of sums over its standard deviation.
    users : int ndarray of shape (n,), optional
        Whose ``noise`` or ``told`` these are; None: of all users who were asked, one entry each, or of no user alone.
    """

    noise: np.ndarray | None = None
    told: tuple[Told, ...] = ()
    normal: np.ndarray | None = None
    users: np.ndarray | None = None


def _kept(hits: np.ndarray, chance: np.ndarray) -> Told:
    chance = np.broadcast_to(chance, hits.shape)
    return hits.astype(float), chance, chance * (1.0 - chance)


def _scored(table: np.ndarray, channel: np.ndarray, reports: np.ndarray) -> Told:
    """Score of each user's report, given scores (n, K) in [0, 1] and the probabilities (n, K) of the reports."""
    mean = (channel * table).sum(axis=1)
    return table[np.arange(len(table)), reports], mean, (channel * table**2).sum(axis=1) - mean**2


def _ranked(gaps: np.ndarray, honest: np.ndarray, rng: np.random.Generator) -> Told:
    """How near each user's report is to the truth, ranked among honest ones: distances (n,) and (_RANKED, n).

    Of an honest report the rank is even, so that the moments are exact.
    """
    rank = (honest < gaps).sum(axis=0) + rng.random(gaps.size) * ((honest == gaps).sum(axis=0) + 1.0)
    near = (1.0 - rank / (len(honest) + 1.0)) ** _POWER
    mean = 1.0 / (_POWER + 1.0)
    return near, np.full(gaps.size, mean), np.full(gaps.size, 1.0 / (2.0 * _POWER + 1.0) - mean**2)


def label_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Laplace noise on labels; discrete noise follows the continuous one by less than a step."""
    scale = np.broadcast_to(question.scale, len(records))
    added = result - np.clip(records.y - question.centre, *question.y_range)
    return Law(noise=np.divide(added, scale, out=np.zeros(len(records)), where=scale > 0))


def number_law(result: np.ndarray, y: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> Law:
    """Laplace noise on numbers, levels near the truth, or reports nearer to it than those of the stated mechanism."""
    mechanism, unit = question.mechanism, question.unit(y[users])
    if isinstance(mechanism, Laplace):
        return Law(noise=(result - unit) / mechanism.scale if mechanism.scale > 0 else None)
    if isinstance(mechanism, NumberChannel):
        gaps = np.abs(np.array(mechanism.outputs) - unit[:, None])
        near = 1.0 - gaps / np.maximum(gaps.max(axis=1, keepdims=True), 1e-300)
        return Law(told=(_scored(near, mechanism.at(unit).channel(), result),))
    rng = streams.generator("honest reports")
    honest = mechanism.randomize(np.tile(unit, _RANKED), rng).reshape(_RANKED, unit.size)
    return Law(told=(_ranked(np.abs(result - unit), np.abs(honest - unit), rng),))


def code_law(result: np.ndarray, codes: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> Law:
    """Classes that are reported as they are, also by users with a prior of their own, or noise on one-hot vectors."""
    truth = codes[users]
    if question.prior is not None:
        priors, which = np.unique(question.prior, axis=0, return_inverse=True)
        tables = np.array([PriorResponse.for_prior(question.budget, prior).channel() for prior in priors])
        return Law(told=(_kept(result == truth, tables[which.ravel(), truth, truth]),))
    if isinstance(question.mechanism, Laplace):
        vectors = np.eye(question.n_classes)[truth]
        scale = question.mechanism.scale
        return Law(noise=((result - vectors) / scale).ravel() if scale > 0 else None)
    return _class_reports(*CODE.law(question, Records(np.empty((users.size, 0)), truth)), result)


def _class_reports(mechanism: Mechanism, truth: np.ndarray, result: np.ndarray) -> Law:
    """Categories that are reported as they are, bits that are kept, or subsets that hold the truth."""
    if isinstance(mechanism, BitVector):
        own = np.eye(mechanism.n_categories, dtype=bool)[truth]
        return Law(told=(_kept((result == own).ravel(), np.array(mechanism.response.keep)),))
    if isinstance(mechanism, SubsetSelection):
        if mechanism.n_categories == 1:
            return Law()
        return Law(told=(_kept((result == truth[:, None]).any(axis=1), np.array(mechanism.probabilities[0])),))
    assert isinstance(mechanism, GRR)
    return Law(told=(_kept(result == truth, mechanism.channel()[0, 0]),))


def feature_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Bins of KRR that are reported as they are."""
    budgets = question.epsilon / np.broadcast_to(question.split, len(records))
    slope, offset = grr_weights(question.bins, budgets)
    truth = np.clip(np.floor(records.X[:, question.column] * question.bins), 0, question.bins - 1)
    return Law(told=(_kept(result == truth, (1.0 + offset) / slope),))


def class_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Classes that are reported as they are, or bits that are kept."""
    return _class_reports(question.mechanism, np.asarray(records.y), result)


def category_law(result: Any, self: Any, places: Any, budget: float, draws: Any) -> Law:
    """Cells that are reported as they are; and blind ones, which are drawn evenly from V."""
    choices, (codes, leaf) = places.choices, result
    hidden = choices > 1
    if budget == 0 or not hidden.any():
        return Law()
    slope, _ = grr_weights(choices, budget)
    blind = (places.grid.blind == places.grid.truth) & (places.leaves.blind == places.leaves.truth)
    told = (codes == places.grid.truth) & (leaf == places.leaves.truth)
    return Law(
        told=(
            _kept(told[hidden], np.where(blind, 1.0, 1.0 / slope)[hidden]),
            _kept(blind[hidden], 1.0 / choices[hidden]),
        ),
        users=np.flatnonzero(hidden),
    )


def bit_law(result: np.ndarray, truth: np.ndarray, budget: float, seed: int, users: Any, cells: Any) -> Law:
    """Bits of HistOfTree that are kept, each at half the budget."""
    return Law(told=(_kept(result == truth, np.array(RandomizedResponse(budget / 2, 2).keep)),))


def residual_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Levels at which residuals lie before they are randomised, or Laplace noise."""
    mechanism, inputs = self.law(question, records)
    if isinstance(mechanism, Laplace):
        return Law(noise=(result - inputs) / mechanism.scale if mechanism.scale > 0 else None)
    own = question.report.rounding(self._residuals(records, question), self._bins(records, question))
    return Law(told=(_scored(own, Channel(own @ question.report.mechanism.channel()).probabilities, result),))


def subset_law(result: np.ndarray, self: Any, categories: np.ndarray, question: Any, draws: Any) -> Law:
    """Subsets that hold the truth."""
    return _class_reports(question.mechanism, categories, result)


def choice_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Cubes whose most frequent class is released."""
    channel = question.mechanism.channel(records.X)
    best = np.argmax(records.X, axis=1)
    return Law(told=(_kept(result == best, channel[np.arange(len(best)), best]),))


def mean_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Laplace noise on the means of cubes that hold anybody."""
    sums, counts = records.X.T
    if question.least is None:
        scale = 2.0 * question.bound / (np.maximum(counts, 1) * question.epsilon)
        some = counts > 0
        return Law(noise=((result - sums / np.maximum(counts, 1)) / scale)[some])
    scale = question.bound * question.unit_scale / question.epsilon
    return Law(noise=(result - sums / np.maximum(counts, question.least)) / scale)
