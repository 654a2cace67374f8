"""LPCT-prune: a deep LPCT pruned back leaf by leaf, without tuning parameters (L section 5, Algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbench.estimators.base import Grid, SweepResult, check_epsilon, expand_grid
from lpbench.estimators.lpct import LPCTBase, check_choice, check_whole, with_parameters
from lpbench.estimators.lpct_statistics import CONSTANTS, Judgement, NodeVotes, Query, judge
from lpbench.estimators.lpct_sweep import by_shared_parameters
from lpbench.estimators.lpct_tables import NodeTable, Samples, ScoredRows, Tables, hits_of
from lpbench.estimators.lpct_votes import VoteMechanism, decide, noisy_votes, regression_function
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Streams


def private_depth(n_private: int, n_features: int, epsilon: float) -> int:
    """Depth floor(d/(2+2d) log2(n_P epsilon^2)) at which Algorithm 2 gives P the whole tree; at least 0."""
    return _depth(n_private * epsilon**2, n_features, n_private)


def query_depth(n_private: int, n_public: int, n_features: int, epsilon: float) -> int:
    """Depth p0 = floor(d/(2+2d) log2(n_P epsilon^2 + n_Q^((2+2d)/d))) of Algorithm 2's query; at least 1.

    2^p0 is kept below n_P + d n_Q, which L section 5.1 supposes; only budgets beyond the figures' 1000 feel it.
    """
    d = n_features
    effective = n_private * epsilon**2 + float(n_public) ** ((2 + 2 * d) / d)
    return max(1, _depth(effective, d, n_private + d * n_public))


def _depth(effective: float, d: int, most: int) -> int:
    exponent = d / (2 + 2 * d) * math.log2(max(effective, 1.0))
    return math.floor(min(exponent, math.log2(most)))


@dataclass(frozen=True, eq=False)
class Answer:
    """What one run of Algorithm 2 predicts.

    Attributes
    ----------
    table : NodeTable
        Partition that predicts, cut off at ``depth``.
    depth : int
    leaves : int ndarray of shape (n_leaves,)
        Its cells.
    eta : ndarray of shape (n_leaves,)
    asked : tuple of (float, int)
        Budget and number of cells of each query.
    """

    table: NodeTable
    depth: int
    leaves: np.ndarray
    eta: np.ndarray
    asked: tuple[tuple[float, int], ...]


def select(judgement: Judgement, exists: np.ndarray, flag_from: int | None) -> tuple[np.ndarray, bool]:
    """Walk up from every leaf: the first node with statistic >= 1, else the best one (Algorithm 2, section 5.1).

    Parameters
    ----------
    judgement : Judgement
        Arrays of shape (n_climbs, n_leaves), from the leaf upwards.
    exists : boolean ndarray of shape (n_climbs, n_leaves)
        False beyond the root.
    flag_from : int or None
        Number of levels climbed from which a noisy node where P wins raises the flag; None: never.

    Returns
    -------
    eta : ndarray of shape (n_leaves,)
    flag : bool
    """
    statistic = np.where(exists, judgement.statistic, -np.inf)
    good = statistic >= 1
    chosen = np.where(good.any(axis=0), good.argmax(axis=0), statistic.argmax(axis=0))
    eta = np.take_along_axis(judgement.eta, chosen[None], axis=0)[0]
    if flag_from is None:
        return eta, False
    climbed = np.arange(statistic.shape[0])[:, None]
    raises = judgement.private_wins & exists & (climbed >= flag_from)
    # A leaf stops at its first good node, unless the same node raises the flag, which Algorithm 2 looks at first.
    first_good = np.where(good.any(axis=0), good.argmax(axis=0), statistic.shape[0])
    return eta, bool((raises & (climbed <= first_good)).any())


class LPCTPrune(LPCTBase):
    """Pruned locally private classification tree (LPCT-prune) for two classes.

    One query of a deep tree; then each leaf is answered by the first of its ancestors whose estimate is clearly on one
    side of 1/2, public and private votes weighted node by node (Lepski's method).

    Parameters
    ----------
    epsilon : float
        Budget of one private user.
    depth : int or None
        Depth p0 of the query. None: Algorithm 2's formula (:func:`query_depth`), with the total epsilon.
    min_depth : int or None
        Least depth k that a leaf climbs to; 1 in Algorithm 2. None: the depth at which Algorithm 2 would hand over to
        P (:func:`private_depth`), as in the script behind L's figures. One level is always climbed (a least depth
        beyond ``depth - 1`` counts as that), as in the authors' code.
    constants : {"tight", "paper", "exact"}
        See :mod:`lpbench.estimators.lpct_statistics`.
    terminate : bool
        Algorithm 2's flag and second query. False, the default, asks once with the whole epsilon: L's figures are
        drawn that way. True spends epsilon / 2 on the first query; if some leaf raises the flag, a tree of depth
        :func:`private_depth` is fitted to P alone with the other half.
    rule, criterion, min_samples_leaf, outside, domain, random_state
        As in :class:`~lpbench.estimators.LPCT`.

    Attributes
    ----------
    guarantee_ : Guarantee
        What this run spent; with ``terminate=True`` an unflagged run spends half of epsilon.
    flagged_ : bool
        Whether the second query was made.
    depth_ : int
        p0.
    classes_, tree_, leaf_probability_, leaf_class_
        As in :class:`~lpbench.estimators.LPCT`.
    """

    def __init__(
        self,
        epsilon=1.0,
        depth=None,
        min_depth=1,
        constants="tight",
        terminate=False,
        rule="max_edge",
        criterion="gini",
        min_samples_leaf=1,
        outside="route",
        domain=None,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.depth = depth
        self.min_depth = min_depth
        self.constants = constants
        self.terminate = terminate
        self.rule = rule
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.outside = outside
        self.domain = domain
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_partition()
        check_epsilon(self.epsilon)
        check_whole("min_samples_leaf", self.min_samples_leaf)
        check_whole("depth", self.depth, least=1, none="the formula of Algorithm 2")
        check_whole("min_depth", self.min_depth, least=1, none="the depth of P's own tree")
        check_choice("constants", self.constants, CONSTANTS)
        if not isinstance(self.terminate, (bool, np.bool_)):
            raise ValueError(f"terminate={self.terminate!r} must be True or False")

    def fit(self, X, y, *, mask=None, X_public=None, y_public=None):
        """Fit on the private sample and, if given, the public one; parameters as in ``LPCT.fit``.

        Raises
        ------
        ValueError
            Not exactly two classes.
        """
        self._check_parameters()
        samples = self._check_samples(X, y, mask=mask, X_public=X_public, y_public=y_public)
        streams = self._streams()
        tables = Tables(self, samples, streams, self._deepest(samples), self.min_samples_leaf)
        answer = _Pruning(tables, streams).answer(self)
        self.depth_, self.flagged_ = self._query_depth(samples), len(answer.asked) > 1
        self._store_leaves(answer.table.tree.truncated(answer.depth), answer.eta[None])
        self.guarantee_ = self._guarantee(answer)
        return self

    def _check_samples(self, X, y, **others) -> Samples:
        samples = super()._check_samples(X, y, **others)
        if self.classes_.size != 2:
            few = f"got {self.classes_.size} class{'es' if self.classes_.size > 1 else ''}"
            raise ValueError(f"Only binary classification is supported by LPCT-prune, {few}; LPCT takes any number")
        return samples

    def _query_depth(self, samples: Samples) -> int:
        if self.depth is not None:
            return int(self.depth)
        return query_depth(samples.n_private, samples.n_public, samples.X.shape[1], self.epsilon)

    def _private_depth(self, samples: Samples) -> int:
        return private_depth(samples.n_private, samples.X.shape[1], self.epsilon)

    def _deepest(self, samples: Samples) -> int:
        return max(self._query_depth(samples), self._private_depth(samples) if self.terminate else 0)

    def _guarantee(self, answer: Answer) -> Guarantee:
        spent = sum(VoteMechanism(budget).spent(cells, 2) for budget, cells in answer.asked)
        note = "rows of the public sample are not protected"
        if self.terminate and len(answer.asked) == 1:
            note += f"; no second query was needed: half of epsilon={self.epsilon:g} is left"
        return Guarantee(
            "ldp",
            spent,
            rounds=len(answer.asked),
            bits_up=sum(VoteMechanism(budget).bits(cells, 2) for budget, cells in answer.asked),
            bits_down=sum(self._bits_down(cells) for _, cells in answer.asked),
            note=note,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score a grid with one growth and one count; leaves are pruned anew for each budget and point.

        Falls back to the loop over fits for metrics other than accuracy.
        """
        points = expand_grid(grid)
        if problem.metric != "accuracy":
            return super().sweep(problem, budgets, points, streams)
        values = np.empty((len(budgets), len(points)))
        for members, shared in by_shared_parameters(points, ("depth", "min_depth", "min_samples_leaf")):
            settings = [
                [
                    with_parameters(self, random_state=streams, **{**shared, **points[g], "epsilon": epsilon})
                    for g in members
                ]
                for epsilon in budgets
            ]
            values[:, members] = _score(settings, problem, streams)
        return SweepResult(values)


def _score(settings: list[list[LPCTPrune]], problem: Problem, streams: Streams) -> np.ndarray:
    """Accuracies of estimators that share rule, criterion and domain."""
    everyone = [model for row in settings for model in row]
    for model in everyone:
        model._check_parameters()
    first = everyone[0]
    samples = first._check_samples(problem.X_train, problem.y_train, **problem.fit_arguments)
    rows = ScoredRows(first, problem)
    deepest = max(model._deepest(samples) for model in everyone)
    tables = Tables(first, samples, streams, deepest, min(model.min_samples_leaf for model in everyone), rows)
    pruning = _Pruning(tables, streams)

    def accuracy(model) -> float:
        answer = pruning.answer(model)
        right = hits_of(decide(answer.eta[None]), answer.table.hits[:, answer.leaves]).sum()
        return (right + rows.outside_hits) / rows.n

    return np.array([[accuracy(model) for model in row] for row in settings])


class _Pruning:
    """Runs Algorithm 2 for any setting on one sample; nodes judged once serve all least depths."""

    def __init__(self, tables: Tables, streams: Streams):
        self.tables, self.samples, self.streams = tables, tables.samples, streams
        self._judged: dict[tuple, tuple] = {}

    def answer(self, model: LPCTPrune) -> Answer:
        depth, handover = model._query_depth(self.samples), model._private_depth(self.samples)
        least = max(1, min(depth - 1, handover if model.min_depth is None else model.min_depth))
        budget = model.epsilon / 2 if model.terminate else model.epsilon
        table, leaves, judgement, exists = self._judge(model, budget, depth)
        climbs = slice(0, depth - least + 1)
        part = Judgement(judgement.eta[climbs], judgement.statistic[climbs], judgement.private_wins[climbs])
        eta, flag = select(part, exists[climbs], depth - handover if model.terminate else None)
        if not flag:
            return Answer(table, depth, leaves, eta, ((budget, leaves.size),))
        first = (budget, leaves.size)
        table = self.tables.at(handover, model.min_samples_leaf)
        leaves = table.tree.leaves(handover, model.min_samples_leaf)
        noisy = self._noisy(table, leaves, budget, depth=handover, query=2)
        eta = regression_function(noisy, np.zeros_like(noisy), 0.0)[0]
        return Answer(table, handover, leaves, eta, (first, (budget, leaves.size)))

    def _noisy(self, table: NodeTable, leaves: np.ndarray, budget: float, **axes) -> np.ndarray:
        votes = table.private[:, leaves]
        return noisy_votes(votes, self.samples.n_private, VoteMechanism(budget), self.streams, **axes)

    def _judge(self, model: LPCTPrune, budget: float, depth: int):
        """Judge all ancestors of all leaves down to depth 1: arrays of shape (depth, n_leaves)."""
        key = (budget, depth, model.min_samples_leaf, model.constants)
        if key not in self._judged:
            table = self.tables.at(depth, model.min_samples_leaf)
            leaves = table.tree.leaves(depth, model.min_samples_leaf)
            sums = np.zeros((5, table.tree.tree.n_nodes))
            sums[:2, leaves] = self._noisy(table, leaves, budget, depth=depth)
            sums[2:4, leaves] = table.public[:, leaves]
            sums[4, leaves] = 1
            above = table.tree.ancestors(leaves, depth - 1)
            users, ones, public, public_ones, below = table.tree.sum_upwards(sums)[:, above]
            votes = NodeVotes(users, ones, public, public_ones, np.arange(depth)[:, None], below)
            query = Query(budget, depth, self.samples.n_private, self.samples.n_public)
            self._judged[key] = (table, leaves, judge(votes, query, model.constants), above >= 0)
        return self._judged[key]
