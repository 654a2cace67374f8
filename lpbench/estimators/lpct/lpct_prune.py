"""LPCT-prune: a deep LPCT pruned back leaf by leaf, without tuning parameters (LPCT section 5, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from lpbench.checks import check_choice, check_flag, check_whole
from lpbench.errors import DataError
from lpbench.estimators.base import Grid, Rows, SweepResult, check_epsilon, expand_grid
from lpbench.estimators.lpct.algorithm2 import Answer, Pruning, private_depth, query_depth
from lpbench.estimators.lpct.base import LPCTBase, with_parameters
from lpbench.estimators.lpct.statistics import CONSTANTS
from lpbench.estimators.lpct.sweep import by_shared_parameters
from lpbench.estimators.lpct.tables import Samples, ScoredRows, Tables, hits_of
from lpbench.estimators.lpct.votes import VoteMechanism, decide
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams


class LPCTPrune(LPCTBase):
    """Pruned locally private classification tree (LPCT-prune) for two classes.

    One query of a deep tree; then each leaf is answered by the first of its ancestors whose estimate is clearly on one
    side of 1/2, public and private votes weighted node by node (Lepski's method).

    Parameters
    ----------
    epsilon : float
        Budget of one private user.
    depth : int or None
        Depth p0 of the query. None: Algorithm 2's formula with the total epsilon
        (:func:`~lpbench.estimators.lpct.algorithm2.query_depth`).
    min_depth : int or None
        Least depth k that a leaf climbs to; 1 in Algorithm 2. None: the depth at which Algorithm 2 would hand over to
        P (``private_depth`` there), as in the script behind LPCT's figures. One level is always climbed (a least depth
        beyond ``depth - 1`` counts as that), as in the authors' code; a leaf of depth 1 climbs to the root with its
        constants (``tight``), and nowhere with the others.
    constants : {"tight", "paper", "exact"}
        See :mod:`lpbench.estimators.lpct.statistics`.
    terminate : bool
        Algorithm 2's flag and second query. False, the default, asks once with the whole epsilon: the paper's
        figures are drawn that way. True spends epsilon / 2 on the first query; if some leaf raises the flag, a tree of
        depth ``private_depth`` is fitted to P alone with the other half.
    rule, criterion, min_samples_leaf, search, outside, domain, classes, random_state
        As in :class:`~lpbench.estimators.LPCT`.

    Attributes
    ----------
    guarantee_ : Guarantee
        What this run spent: with ``terminate=True`` half of epsilon where no flag was raised. The protocol as a whole
        is epsilon-LDP, because the noisy first query decides on the second.
    flagged_ : bool
        Whether the second query was made.
    depth_ : int
        p0.
    leaves_, climbed_ : int ndarrays of shape (n_leaves,)
        Nodes of ``tree_`` that are its cells, and the levels between each and the ancestor that answers for it.
    classes_, tree_, leaf_probability_, leaf_class_
        As in :class:`~lpbench.estimators.LPCT`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        depth: int | None = None,
        min_depth: int = 1,
        constants: str = "tight",
        terminate: bool = False,
        rule: str = "max_edge",
        criterion: str = "gini",
        min_samples_leaf: int = 1,
        search: str = "all",
        outside: str = "route",
        domain: tuple[float, float] | None = None,
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.depth = depth
        self.min_depth = min_depth
        self.constants = constants
        self.terminate = terminate
        self.rule = rule
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.search = search
        self.outside = outside
        self.domain = domain
        self.classes = classes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_partition()
        check_epsilon(self.epsilon)
        check_whole("min_samples_leaf", self.min_samples_leaf)
        check_whole("depth", self.depth, least=1, none="the formula of Algorithm 2")
        check_whole("min_depth", self.min_depth, least=1, none="the depth of P's own tree")
        check_choice("constants", self.constants, CONSTANTS)
        check_flag("terminate", self.terminate)

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
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
        answer = Pruning(tables, streams).answer(self)
        self.depth_, self.flagged_ = self._query_depth(samples), len(answer.asked) > 1
        self._store_leaves(answer.table.tree.truncated(answer.depth), answer.eta[None])
        self.leaves_, self.climbed_ = answer.leaves, answer.climbed
        self.guarantee_ = self._guarantee(answer)
        return self

    def _check_samples(self, X: np.ndarray, y: np.ndarray, **others: Any) -> Samples:
        samples = super()._check_samples(X, y, **others)
        if self.classes_.size != 2:
            few = f"got {self.classes_.size} class{'es' if self.classes_.size > 1 else ''}"
            raise DataError(f"Only binary classification is supported by LPCT-prune, {few}; LPCT takes any number")
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
            note=self._noted(note),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def sweep_many(
        self, problems: Sequence[Problem], budgets: Sequence[float], grid: Grid, streams: Sequence[Streams]
    ) -> list[SweepResult]:
        """Sweep several replications, whose partitions are grown together; each budget and point prunes anew.

        Falls back to the loop over fits for metrics other than accuracy.
        """
        points, pairs = expand_grid(grid), list(zip(problems, streams, strict=True))
        values = np.empty((len(pairs), len(budgets), len(points)))
        sweeps: list[tuple[int, np.ndarray, _Sweep]] = []
        for members, _ in by_shared_parameters(points, ("depth", "min_depth", "min_samples_leaf")):
            part = [points[g] for g in members]
            settings = [[with_parameters(self, **{**point, "epsilon": e}) for point in part] for e in budgets]
            for model in (model for row in settings for model in row):
                model._check_parameters()
            for r, (problem, own) in enumerate(pairs):
                if problem.metric == "accuracy":
                    sweeps.append((r, members, _Sweep(settings, problem, own)))
                else:
                    values[r][:, members] = self._refit(problem, budgets, part, own)
        Tables.grow_together([sweep.tables for _, _, sweep in sweeps])
        while sweeps:  # each is let go once it is scored
            r, members, sweep = sweeps.pop()
            values[r][:, members] = sweep.scores()
        return [SweepResult(of_one) for of_one in values]


class _Sweep:
    """Estimators that share rule, criterion and domain (one row for each budget), on one problem."""

    def __init__(self, settings: list[list[LPCTPrune]], problem: Problem, streams: Streams) -> None:
        self.settings, self.problem, self.streams = settings, problem, streams
        everyone = [model for row in settings for model in row]
        self.model = with_parameters(everyone[0], random_state=streams)
        samples = self.model._check_samples(problem.X_train, problem.y_train, **problem.fit_arguments)
        deepest = max(model._deepest(samples) for model in everyone)
        smallest = min(model.min_samples_leaf for model in everyone)
        self.tables = Tables(self.model, samples, streams, deepest, smallest)

    def scores(self) -> np.ndarray:
        """Accuracies of all estimators, shape (n_budgets, n_points)."""
        rows = self.tables.rows = ScoredRows(self.model, self.problem)
        pruning = Pruning(self.tables, self.streams)

        def accuracy(model: Any) -> float:
            answer = pruning.answer(model)
            right = hits_of(decide(answer.eta[None]), answer.table.hits[:, answer.leaves]).sum()
            return (right + rows.outside_hits) / rows.n

        return np.array([[accuracy(model) for model in row] for row in self.settings])
