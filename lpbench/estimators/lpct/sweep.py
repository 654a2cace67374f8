"""Sweep of LPCT: all depths, leaf sizes, weights and budgets on one problem in one pass.

The leaves of all partitions are laid side by side in flat arrays, so that a handful of array operations scores the
whole grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.estimators.lpct.tables import ScoredRows, Tables, hits_of
from lpbench.estimators.lpct.votes import (
    VoteMechanism,
    VoteQuestion,
    count_votes,
    decide,
    noisy_votes,
    regression_function,
    unit_noise,
)
from lpbench.privacy import Laplace, Records
from lpbench.problem import Problem
from lpbench.seeds import Streams

_ABSENT = object()


@dataclass(frozen=True, eq=False)
class Forest:
    """Leaves of several partitions side by side.

    Attributes
    ----------
    depth : list of int
        Depth asked of each partition.
    start : int ndarray of shape (n_trees + 1,)
        Partition t owns the leaves start[t], ..., start[t + 1] - 1.
    private, public, hits : ndarrays of shape (n_classes, n_leaves)
        True votes of the private users, public votes, test rows of each class.
    """

    depth: list[int]
    start: np.ndarray
    private: np.ndarray
    public: np.ndarray
    hits: np.ndarray

    @property
    def parts(self) -> list[tuple[int, slice]]:
        """Depth and leaves of each partition."""
        return [(p, slice(self.start[t], self.start[t + 1])) for t, p in enumerate(self.depth)]

    def total(self, per_leaf: np.ndarray) -> np.ndarray:
        """Sum over the leaves of each partition: (..., n_leaves) -> (..., n_trees)."""
        return np.add.reduceat(per_leaf, self.start[:-1], axis=-1)


class GridAxes:
    """The points of a grid that share everything but depth, weight and leaf size.

    Parameters
    ----------
    points : sequence of mappings
    model : LPCT
        Gives the parameters that a point leaves out.

    Attributes
    ----------
    weights, settings : list
        Distinct weights, and pairs (depth, min_samples_leaf).
    weight_index, setting_index : int ndarrays of shape (n_points,)
        Which of them each point has.
    """

    #: Parameters over which one growth of the partition is shared.
    CHEAP = ("depth", "public_weight", "min_samples_leaf")

    def __init__(self, points: Sequence[Mapping], model: Any) -> None:
        depths, weights, sizes = (column(points, name, getattr(model, name)) for name in self.CHEAP)
        self.weights, self.weight_index = distinct(weights)
        self.settings, self.setting_index = distinct(list(zip(depths, sizes, strict=True)))


class Sweep:
    """The points of such a grid on one problem.

    Parameters
    ----------
    model : LPCT
        A copy that carries the shared parameters; ``random_state`` is a Streams.
    problem : Problem
    budgets : sequence of float
    axes : GridAxes
    """

    def __init__(self, model: Any, problem: Problem, budgets: Sequence[float], axes: GridAxes) -> None:
        self.model, self.problem, self.budgets = model, problem, list(budgets)
        self.weights, self.weight_index = axes.weights, axes.weight_index
        model._check_fixed()
        model._check_swept(self.budgets, *map(set, zip(*axes.settings, strict=True)), self.weights)
        self.samples = model._check_samples(problem.X_train, problem.y_train, **problem.fit_arguments)
        asked = [
            [(model._resolved_depth(depth, self.samples, epsilon), size) for depth, size in axes.settings]
            for epsilon in self.budgets
        ]
        self.trees = sorted(set().union(*asked))
        position = {tree: t for t, tree in enumerate(self.trees)}
        self.tree_index = np.array([[position[tree] for tree in row] for row in asked])[:, axes.setting_index]
        deepest, smallest = max(p for p, _ in self.trees), min(m for _, m in self.trees)
        self.tables = Tables(model, self.samples, model._streams(), deepest, smallest)

    def scores(self) -> np.ndarray:
        """Accuracies of shape (n_budgets, n_points)."""
        rows = ScoredRows(self.model, self.problem)
        forest = self._forest(rows)
        correct = forest.total(hits_of(self._decisions(forest), forest.hits)) + rows.outside_hits
        return correct[np.arange(len(self.budgets))[:, None], self.weight_index, self.tree_index] / rows.n

    def _forest(self, rows: ScoredRows) -> Forest:
        """Grow the partitions, where that was not done before, and count."""
        self.tables.rows = rows
        parts, sizes = [], []
        for table, settings in self.tables.of_all(self.trees):
            of, node = np.nonzero(table.tree.is_leaf(*zip(*settings, strict=True)))
            sizes.append(np.bincount(of, minlength=len(settings)))
            parts.append([votes[:, node] for votes in (table.private, table.public, table.hits)])
        start = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
        stacked = [np.concatenate(part, axis=1) for part in zip(*parts, strict=True)]
        return Forest([p for p, _ in self.trees], start, *stacked)

    def _decisions(self, forest: Forest) -> np.ndarray:
        """Classes of shape (n_budgets, n_weights, n_leaves)."""
        mechanisms = [self.model._mechanism(epsilon) for epsilon in self.budgets]
        sizes = np.diff(forest.start)
        weights = np.empty((len(self.budgets), len(self.weights), 1, sizes.size))
        for b, mechanism in enumerate(mechanisms):
            for w, weight in enumerate(self.weights):
                weights[b, w] = self.model._weight(weight, sizes, mechanism)
        private = self._noisy(forest, mechanisms)[:, None]
        return decide(regression_function(private, forest.public, np.repeat(weights, sizes, axis=-1)))

    def _noisy(self, forest: Forest, mechanisms: Sequence[VoteMechanism]) -> np.ndarray:
        """Estimated private votes of shape (n_budgets, n_classes, n_leaves), drawn as ``fit`` draws them."""
        if self.model.source == "public":
            return np.zeros((len(mechanisms), *forest.private.shape))
        return forest_votes(forest, self.samples.n_private, mechanisms, self.model._streams())


def forest_votes(forest: Forest, n: int, mechanisms: Sequence[VoteMechanism], streams: Streams) -> np.ndarray:
    """Draw the estimated votes of ``n`` users by the law of their sums: (n_mechanisms, n_classes, n_leaves)."""
    halves = [m.half for m in mechanisms]
    scale = np.array([half.scale for half in halves if isinstance(half, Laplace)])
    if scale.size:
        return forest.private + scale[:, None, None] * _unit_noise(forest, n, streams)
    result = np.empty((len(mechanisms), *forest.private.shape))
    for b, mechanism in enumerate(mechanisms):
        for depth, part in forest.parts:
            result[b, :, part] = noisy_votes(forest.private[:, part], n, mechanism, streams, depth=depth)
    return result


def _unit_noise(forest: Forest, n: int, streams: Streams) -> np.ndarray:
    """Unit noise of every leaf: one draw a depth, of which each partition takes the first cells."""
    unit = np.empty_like(forest.private)
    widest: dict[int, int] = {}
    for depth, part in forest.parts:
        widest[depth] = max(widest.get(depth, 0), part.stop - part.start)
    drawn = {
        depth: unit_noise(n, cells, unit.shape[0], streams.generator("counts", depth=depth))
        for depth, cells in widest.items()
    }
    for depth, part in forest.parts:
        unit[:, part] = drawn[depth][:, : part.stop - part.start]
    return unit


def swept_votes(records: Records, question: VoteQuestion, streams: Streams) -> np.ndarray:
    """What a sweep draws in the place of one question's reports: estimates of shape (n_classes * n_cells,)."""
    cells = question.cells
    votes = count_votes(cells.locate(records.X), records.y, cells.size, question.n_classes)
    forest = Forest([question.axes["depth"]], np.array([0, cells.size]), votes, votes, votes)
    return forest_votes(forest, len(records), [question.mechanism], streams)[0].ravel()


def by_shared_parameters(points: Sequence[Mapping], cheap: Sequence[str]) -> Iterator[tuple[np.ndarray, dict]]:
    """Group grid points that differ in the ``cheap`` parameters only: (indices, the other parameters)."""
    others = sorted({name for point in points for name in point}.difference(cheap))
    # Most grids fix the others: comparing a column with its first entry is much faster than a key for each point.
    columns = [column(points, name, _ABSENT) for name in others]
    groups: dict[tuple, list[int]] = {}
    if all(entries.count(entries[0]) == len(entries) for entries in columns):
        groups = {(): list(range(len(points)))}
    else:
        for index, key in enumerate(zip(*[map(repr, entries) for entries in columns], strict=True)):
            groups.setdefault(key, []).append(index)
    for members in groups.values():
        first = points[members[0]]
        yield np.array(members), {k: first[k] for k in others if k in first}


def column(points: Sequence[Mapping], name: str, default: Any) -> list:
    """Values of one parameter over the points."""
    return [point.get(name, default) for point in points]


def distinct(values: Sequence) -> tuple[list, np.ndarray]:
    """Return the distinct values in order of appearance and the position of each entry among them."""
    position = {value: k for k, value in enumerate(dict.fromkeys(values))}
    return list(position), np.array(list(map(position.__getitem__, values)))
