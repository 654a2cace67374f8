"""Sweep of HistOfTree's grid in one pass: points share labels, trees and cells."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np

from lpbench.estimators.base import Task
from lpbench.estimators.histoftree.cell_device import TREE_CELL
from lpbench.estimators.histoftree.cell_reports import predict_cells
from lpbench.estimators.histoftree.cell_shortcut import CellFamily
from lpbench.estimators.histoftree.rounds import Split, public_features
from lpbench.estimators.histoftree.setting import PublicMask, TreeSetting
from lpbench.estimators.histoftree.user_cells import CellQuery, UserGrid
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.partitions import Forest, TreePartition, grow_personalized_carts
from lpbench.privacy.users import Simulation

#: Users whom trees meet at once at most: more of them leave the processor's cache, and gain nothing from it.
_TOGETHER = 1 << 14

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class GridPoint(NamedTuple):
    """One grid point to be run: indices of its budget and point, and its setting."""

    budget: int
    point: int
    setting: TreeSetting


def sweep_cells(
    task: Task,
    mask: PublicMask,
    X_test: np.ndarray,
    budgets: Sequence[float],
    jobs: Sequence[GridPoint],
    ask_label: Callable[[float], LabelQuestion],
) -> Iterator[tuple[list[list[GridPoint]], np.ndarray]]:
    """Jobs of each prediction of the test rows, and the predictions (k, m); one tree serves many jobs."""
    if not jobs:
        return
    X = public_features(task.users)
    shares = {(j.budget, j.setting.label_share): j.setting.budgets(budgets[j.budget]) for j in jobs}
    privatized = task.simulate(LABEL, [ask_label(label_budget) for label_budget, _ in shares.values()])
    labels, second = dict(zip(shares, privatized, strict=True)), task.simulate.after()

    carts = _personalized_carts(X, mask, jobs, labels)
    for n_grid_features, in_split in _group(jobs, lambda j: j.setting.n_grid_features):
        split = Split(X, mask.array, mask.order, n_grid_features, task.streams)
        second_rounds = _SecondRounds(second, split, X_test)
        for (rule, score, least), in_forest in _group(
            in_split, lambda j: (j.setting.rule, j.setting.split_score, j.setting.min_samples_leaf)
        ):
            sources, depths = _sources(in_forest), sorted({j.setting.depth for j in in_forest})
            if rule == "cart" and (n_grid_features, least) in carts:
                forests = [[(tree, depths)] for tree in carts[n_grid_features, least]]
            else:
                forests = split.forests(rule, score, [labels[source] for source, _ in sources], depths, least)
            rounds: dict[tuple, list[_Round]] = {}
            for (source, same), trees in zip(sources, forests, strict=True):
                for tree, served in trees:
                    if cells := second_rounds.cells(same, served):
                        round_of = _Round(tree, cells, labels[source], shares[source][1])
                        rounds.setdefault((*cells, round_of.budget > 0), []).append(round_of)
            for alike in rounds.values():
                bits = any(mechanism == "rr" for *_, mechanism in alike[0].cells)
                most = 1 if bits else max(1, _TOGETHER // len(X))
                for first in range(0, len(alike), most):
                    yield from second_rounds.predict(alike[first : first + most], rule)


def _personalized_carts(
    X: np.ndarray, mask: PublicMask, jobs: Sequence[GridPoint], labels: Mapping[tuple[int, float], np.ndarray]
) -> dict[tuple[int, int], list[TreePartition]]:
    """CART trees where some users protect what is cut, grown together: one list for each (grid features s, leaf size).

    ``X`` (n, d) are features, ``labels[budget index, label share]`` (n,) privatized labels; a list has a tree for each
    of these pairs that jobs of its key use.
    """
    in_cart = [j for j in jobs if j.setting.rule == "cart"]
    forests = [
        (s, least, max(j.setting.depth for j in same), [source for source, _ in _sources(same)])
        for (s, least), same in _group(in_cart, lambda j: (j.setting.n_grid_features, j.setting.min_samples_leaf))
        if mask.array[:, mask.order[s:]].any()
    ]
    carts = {}
    for (least, deepest, sources), alike in _group(forests, lambda f: (f[1], f[2], tuple(f[3]))):
        sizes = sorted(s for s, *_ in alike)
        features = np.array([np.isin(np.arange(X.shape[1]), mask.order[s:]) for s in sizes])
        grown = grow_personalized_carts(
            X, [labels[source] for source in sources], deepest, mask.array, features, min_samples_leaf=least
        )
        carts.update({(s, least): trees for s, trees in zip(sizes, grown, strict=True)})
    return carts


class _Round(NamedTuple):
    """Round-2 questions (for the users' cells) that share one tree and one set of privatized labels.

    ``cells`` maps (depth, bins, mechanism) to the grid points that ask it, ``labels`` (n,) are the reports of round 1,
    and ``budget`` is what is left for the cell.
    """

    tree: TreePartition
    cells: dict[tuple[int, int, str], list[GridPoint]]  # jobs by depth, which increases, bins and mechanism
    labels: np.ndarray
    budget: float  # of the cell reports


class _SecondRounds:
    """Runs of round 2 (users report their cells) and predictions, for one division of features into grid and tree."""

    def __init__(self, simulate: Simulation, split: Split, X_test: np.ndarray) -> None:
        """Keep the split; grids and the cells of test rows are computed once for each number of bins."""
        self._simulate, self._split = simulate, split
        self._X_tree = X_test[:, split.tree_columns]

        # a function that calls itself would keep its arrays until they are collected
        @cache
        def single(bins: int) -> tuple[UserGrid, CellQuery]:
            cells = split.grid(bins)
            return cells, cells.locate(X_test[:, split.grid_columns])

        @cache
        def grid(bins: int, times: int) -> tuple[UserGrid, CellQuery]:
            cells, query = single(bins)
            return (cells, query) if times == 1 else (cells.repeated(times), query.repeated(times))

        self._grid = grid

    def cells(self, jobs: Sequence[GridPoint], depths: Sequence[int]) -> dict[tuple[int, int, str], list[GridPoint]]:
        """Group the jobs whose depth is among ``depths`` by (depth, bins, mechanism), depths increasing."""
        # a grid on no feature is one cell, whatever the number of bins
        one_cell = not self._split.grid_columns.size
        served = sorted((job for job in jobs if job.setting.depth in depths), key=lambda job: job.setting.depth)
        return dict(_group(served, lambda j: (j.setting.depth, 1 if one_cell else j.setting.bins, j.setting.mechanism)))

    def predict(self, rounds: Sequence[_Round], rule: str) -> Iterator[tuple[list[list[GridPoint]], np.ndarray]]:
        """Run round 2 and predict the test rows, for rounds whose jobs have the same depths, bins and mechanisms.

        Yielded are, for each depth, bins and mechanism, the jobs of each of the k rounds, and predictions (k, m).
        ``rule`` is how the trees are grown.
        """
        trees, jobs, several_labels, budgets = zip(*rounds, strict=True)
        times, labels = len(trees), np.concatenate(several_labels)
        at_depth = _group(list(jobs[0]), lambda cell: cell[0])
        depths = [depth for depth, _ in at_depth]
        nodes = Forest(trees).apply_levels(self._X_tree, depths[-1])
        columns = self._split.grid_columns, self._split.tree_columns
        for (depth, cells), leaves in zip(at_depth, self._split.leaves(trees, depths, rule), strict=True):
            grids = [(*self._grid(bins, times), mechanism) for _, bins, mechanism in cells]
            test_leaves, means = leaves.index.take(nodes[depth]), leaves.means(labels)
            levels = depth, depths[-1], rule != "cart"
            family = CellFamily(trees, *levels, *columns, budgets, labels, leaves, test_leaves, grids)
            for cell, sums in zip(cells, self._simulate(TREE_CELL, family), strict=True):
                predictions = predict_cells(sums, test_leaves, means).reshape(times, -1)
                yield [by_cell[cell] for by_cell in jobs], predictions


def _sources(jobs: Sequence[GridPoint]) -> list[tuple[tuple[int, float], list[GridPoint]]]:
    """Group jobs by the noisy labels that they use: pairs ((budget index, label share), jobs)."""
    return _group(jobs, lambda j: (j.budget, j.setting.label_share))


def _group(items: Sequence[V], key: Callable[[V], K]) -> list[tuple[K, list[V]]]:
    groups: dict[K, list[V]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.items())
