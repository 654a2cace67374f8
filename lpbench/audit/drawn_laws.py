"""What the result of a recorded call must be distributed like, from the mechanism that its question implies.

A law compares a result with the true values that went in. It is computed from :mod:`lpbench.privacy` alone, so that a
mistake in an estimator's code, or in how a mechanism is called, cannot hide in the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.estimators.any_learner.classes import CODE
from lpbench.estimators.histoftree.user_cells import ReportDraws
from lpbench.privacy import GRR, BitVector, Channel, Laplace, RandomizedResponse, Records, grr_weights
from lpbench.seeds import Streams

#: Entries of sums that are compared.
_ENTRIES = 12
#: Sums of fewer users are not normal enough to be compared.
_FEWEST = 5.0


@dataclass(frozen=True, eq=False)
class Law:
    """A result beside its law; at least one of the attributes is there.

    Attributes
    ----------
    noise : ndarray of shape (n,), optional
        Standard Laplace variables if the device is honest.
    told : tuple of (values, means, variances), each of shape (n,)
        Statistics in [0, 1] of the users' reports, such as whether a report is the truth, with their exact moments.
    normal : ndarray of shape (k,), optional
        Nearly independent standard normal variables: noise of sums over its standard deviation.
    moments : ndarray of shape (m,), optional
        Averages over the users.
    honest : callable (Generator) -> ndarray of shape (m,), optional
        The same averages, of reports that the mechanism itself draws.
    """

    noise: np.ndarray | None = None
    told: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...] = ()
    normal: np.ndarray | None = None
    moments: np.ndarray | None = None
    honest: Callable[[np.random.Generator], np.ndarray] | None = None


def _kept(hits: np.ndarray, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    chance = np.broadcast_to(chance, hits.shape)
    return hits.astype(float), chance, chance * (1.0 - chance)


def _scored(table: np.ndarray, channel: np.ndarray, reports: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score of each user's report, given scores (n, K) in [0, 1] and the probabilities (n, K) of the reports."""
    mean = (channel * table).sum(axis=1)
    return table[np.arange(len(table)), reports], mean, (channel * table**2).sum(axis=1) - mean**2


# Reports of users.


def label_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Laplace noise on labels; discrete noise follows the continuous one by less than a step."""
    scale = np.broadcast_to(question.scale, len(records))
    added = result - np.clip(records.y - question.centre, *question.y_range)
    return Law(noise=np.divide(added, scale, out=np.zeros(len(records)), where=scale > 0))


def number_law(result: np.ndarray, y: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> Law:
    """Averages of numbers, beside those of the stated mechanism."""
    unit = question.unit(y[users])
    return _averages(result, question.mechanism, unit, unit)


def code_law(result: np.ndarray, codes: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> Law:
    """Averages of classes, beside those of the stated mechanism, unless every user has a prior of its own."""
    records = Records(np.empty((users.size, 0)), codes[users])
    if question.prior is not None:
        return Law()
    return _averages(result, *CODE.law(question, records), records.y.astype(float))


def _averages(result: np.ndarray, mechanism: Any, inputs: np.ndarray, truth: np.ndarray) -> Law:
    weight = truth - truth.mean()

    def averages(reports: np.ndarray) -> np.ndarray:
        columns = np.asarray(reports, dtype=float).reshape(len(truth), -1)[:, :_ENTRIES]
        parts = [columns, columns**2, np.abs(columns - truth[:, None]), columns * weight[:, None]]
        return np.concatenate([part.mean(axis=0) for part in parts])

    return Law(moments=averages(result), honest=lambda rng: averages(mechanism.randomize(inputs, rng)))


def feature_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Bins of KRR that are reported as they are."""
    budgets = question.epsilon / np.broadcast_to(question.split, len(records))
    slope, offset = grr_weights(question.bins, budgets)
    truth = np.clip(np.floor(records.X[:, question.column] * question.bins), 0, question.bins - 1)
    return Law(told=(_kept(result == truth, (1.0 + offset) / slope),))


def class_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Classes that are reported as they are, or bits that are kept."""
    mechanism, truth = question.mechanism, np.asarray(records.y)
    if isinstance(mechanism, BitVector):
        own = np.eye(mechanism.n_categories, dtype=bool)[truth]
        return Law(told=(_kept((result == own).ravel(), np.array(mechanism.response.keep)),))
    return Law(told=(_kept(result == truth, mechanism.channel()[0, 0]),))


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
        )
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
    mechanism = question.mechanism
    if mechanism.n_categories == 1:
        return Law()
    return Law(told=(_kept((result == categories[:, None]).any(axis=1), np.array(mechanism.probabilities[0])),))


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


# Sums of reports.


def votes_law(result: np.ndarray, votes: np.ndarray, n: int, mechanism: Any, streams: Any, axes: Any = None) -> Law:
    """Noise of LPCT's estimated votes."""
    return _noise_of_votes(result - votes, n, mechanism)


def added_up_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Noise of the votes that users' reports add up to."""
    _, tables = self.law(question, records)
    return _noise_of_votes(
        self.estimate(result, question, len(records)) - tables.sum(axis=0), len(records), question.mechanism
    )


def swept_law(result: np.ndarray, forest: Any, n: int, mechanisms: Any, streams: Any) -> Law:
    """Noise of the votes in the last partition of a sweep, at its last budget."""
    _, part = forest.parts[-1]
    return _noise_of_votes(result[-1][:, part] - forest.private[:, part], n, mechanisms[-1])


def _noise_of_votes(noise: np.ndarray, n: int, mechanism: Any) -> Law:
    variance = n * mechanism.noise_variance
    return Law(normal=np.ravel(noise)[:_ENTRIES] / np.sqrt(variance) if variance > 0 else None)


def cube_law(result: np.ndarray, self: Any, counts: np.ndarray, question: Any, streams: Any) -> Law:
    """Sums of the bits of label-DP votes, or of the reports of a single class."""
    mechanism, users = question.mechanism, counts.sum(axis=1, keepdims=True)
    if mechanism.n_categories == 1:
        return Law()
    keep, flip = (
        (mechanism.channel()[0, 0], mechanism.channel()[0, 1])
        if isinstance(mechanism, GRR)
        else (mechanism.response.keep, mechanism.response.flip)
    )
    # The indicators of the classes in one report of GRR depend on one another.
    columns = slice(0, 1 if isinstance(mechanism, GRR) else None)
    mean = counts * keep + (users - counts) * flip
    variance = counts * keep * (1 - keep) + (users - counts) * flip * (1 - flip)
    many = variance[:, columns] > _FEWEST
    return Law(normal=((result - mean)[:, columns] / np.sqrt(variance[:, columns]))[many][:_ENTRIES])


def grid_law(result: Any, self: Any, X: np.ndarray, mechanisms: Any = ()) -> Law:
    """Unit noise of histograms, in distinct cells."""
    _, noise = result
    # The order of the cells' keys has nothing to do with their noise.
    distinct = np.unique(self._cells(X)[2], return_index=True)[1][:_ENTRIES]
    return Law(normal=(noise[:, distinct] / np.sqrt(2.0 * self.n)).ravel())


def moments_law(result: Any, X: np.ndarray, signs: np.ndarray, streams: Any) -> Law:
    """Unit noise of the cross products of PGLM."""
    return Law(normal=result.noise_cross)


# Randomness of calls that are executed again.

Arguments = Mapping[str, Any]


def fresh_streams(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Other streams."""
    return {"streams": streams}


def fresh_draws(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Other draws of a device."""
    device, records, question = (arguments[name] for name in ("self", "records", "question"))
    return {"draws": device.draws(streams, len(records), question)}


def fresh_subset(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Other draws of users whose categories are known."""
    device, categories, question = (arguments[name] for name in ("self", "categories", "question"))
    return {"draws": device.draws(streams, categories.size, question)}


def fresh_keep(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Other draws of users whose cells, and blind cells, are known."""
    return {"draws": ReportDraws(streams, arguments["places"].choices.size)}


def fresh_seed(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Another seed of a hash."""
    return {"seed": streams.seed}


def fresh_grid(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """The same true sums with another seed of the noise."""
    twin = copy(arguments["self"])
    twin._seed = streams.seed
    return {"self": twin}
