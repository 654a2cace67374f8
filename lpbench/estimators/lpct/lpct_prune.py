"""LPCT-prune: a deep LPCT pruned back leaf by leaf, without tuning parameters (LPCT section 5, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from lpbench.checks import check_choice, check_flag, check_whole
from lpbench.errors import DataError
from lpbench.estimators.base import Task, check_epsilon, grouped
from lpbench.estimators.lpct.algorithm2 import Pruning, private_depth, query_depth
from lpbench.estimators.lpct.base import LPCTBase, with_parameters
from lpbench.estimators.lpct.statistics import RADIUS_CONSTANTS
from lpbench.estimators.lpct.tables import ScoredRows, Tables, hits_of, n_rows
from lpbench.estimators.lpct.votes import decide
from lpbench.privacy import Users


@dataclass(eq=False, repr=False)
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

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import LPCTPrune
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = LPCTPrune(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0
    depth: int | None = None
    min_depth: int | None = 1
    constants: str = "tight"
    terminate: bool = False
    rule: str = "max_edge"
    criterion: str = "gini"
    min_samples_leaf: int = 1
    search: str = "all"
    outside: str = "route"

    def _check_parameters(self) -> None:
        """Check all parameters but those of the base's domain and classes; ConfigurationError names a wrong one."""
        self._check_partition()
        check_epsilon(self.epsilon)
        check_whole("min_samples_leaf", self.min_samples_leaf)
        check_whole("depth", self.depth, least=1, none="the formula of Algorithm 2")
        check_whole("min_depth", self.min_depth, least=1, none="the depth of P's own tree")
        check_choice("constants", self.constants, RADIUS_CONSTANTS)
        check_flag("terminate", self.terminate)

    def learn(self, users: Users) -> Self:
        """Ask for votes in the deep tree, prune it, and ask once more where the flag says so."""
        self._check_parameters()
        tables = Tables(self, users.public, self._streams(), self._deepest(users), self.min_samples_leaf)
        answer = Pruning(tables, users).answer(self)
        self.depth_, self.flagged_ = self._query_depth(users), answer.flagged
        self._store_leaves(answer.table.tree.tree.truncate(answer.depth), answer.eta[None])
        self.leaves_, self.climbed_ = answer.leaves, answer.climbed
        users.note("rows of the public sample are not protected")
        if self.terminate and not self.flagged_:
            users.note(f"no second query was needed: half of epsilon={self.epsilon:g} is left")
        return self

    def _meet(self, users: Users) -> None:
        super()._meet(users)
        if self.classes_.size != 2:
            few = f"got {self.classes_.size} class{'es' if self.classes_.size > 1 else ''}"
            raise DataError(f"Only binary classification is supported by LPCT-prune, {few}; LPCT takes any number")

    def _query_depth(self, users: Users) -> int:
        if self.depth is not None:
            return int(self.depth)
        return query_depth(users.n, n_rows(users.public), users.n_features, self.epsilon)

    def _private_depth(self, users: Users) -> int:
        return private_depth(users.n, users.n_features, self.epsilon)

    def _deepest(self, users: Users) -> int:
        return max(self._query_depth(users), self._private_depth(users) if self.terminate else 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _sweeps(
        self, points: Sequence[dict], budgets: Sequence[float]
    ) -> Iterator[tuple[Sequence[int], Callable[[Task], _Sweep]]]:
        """Group grid points by all but depth, least depth and leaf size: yield pairs (indices of points, sweep).

        The points of a group share public trees; each budget and point prunes anew.
        """
        for _, members in grouped(points, ("depth", "min_depth", "min_samples_leaf")):
            chosen = [points[g] for g in members]
            settings = [[with_parameters(self, **{**point, "epsilon": e}) for point in chosen] for e in budgets]
            for model in (model for row in settings for model in row):
                model._check_parameters()
            yield members, partial(_Sweep, settings)


class _Sweep:
    """Estimators that share rule, criterion and search, on one replication: ``settings[budget][point]``."""

    def __init__(self, settings: list[list[LPCTPrune]], task: Task) -> None:
        self.settings, self.task = settings, task
        everyone = [model for row in settings for model in row]
        self.model = with_parameters(everyone[0], random_state=task.streams)
        self.model._meet(task.users)
        deepest = max(model._deepest(task.users) for model in everyone)
        smallest = min(model.min_samples_leaf for model in everyone)
        self.tables = Tables(self.model, task.users.public, task.streams, deepest, smallest)

    def scores(self) -> np.ndarray:
        """Test scores of all budgets and grid points, shape (n_budgets, n_points)."""
        rows = self.tables.rows = ScoredRows(self.model, self.task)
        pruning = Pruning(self.tables, self.task.users, self.task.simulate)

        def score(model: LPCTPrune) -> Any:
            answer = pruning.answer(model)
            decision = decide(answer.eta[None])
            if not rows.are_counted:
                return rows.scores(answer.table.tree, answer.leaves, decision)
            return (hits_of(decision, answer.table.hits[:, answer.leaves]).sum() + rows.outside_hits) / rows.n

        return np.array([[score(model) for model in row] for row in self.settings])
