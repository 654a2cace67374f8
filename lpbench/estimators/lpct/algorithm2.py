"""Algorithm 2 on one sample: query, judge every ancestor of every leaf, choose (LPCT section 5)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.estimators.lpct.family import VoteFamily
from lpbench.estimators.lpct.partition import PublicTree
from lpbench.estimators.lpct.statistics import Judgment, NodeVotes, Query, judge
from lpbench.estimators.lpct.tables import NodeTable, Tables, n_rows
from lpbench.estimators.lpct.votes import VOTE, VoteMechanism, VoteQuestion, regression_function
from lpbench.partitions import TreeCells
from lpbench.privacy import Users
from lpbench.privacy.users import Simulation


def private_depth(n_private: int, n_features: int, epsilon: float) -> int:
    """Depth floor(d/(2+2d) log2(n_P epsilon^2)) at which Algorithm 2 gives P the whole tree; at least 0."""
    return _depth(n_private * epsilon**2, n_features, n_private)


def query_depth(n_private: int, n_public: int, n_features: int, epsilon: float) -> int:
    """Depth p0 = floor(d/(2+2d) log2(n_P epsilon^2 + n_Q^((2+2d)/d))) of Algorithm 2's query; at least 1.

    2^p0 is kept below n_P + d n_Q, which LPCT section 5.1 supposes; only budgets beyond the figures' 1000 feel it.
    """
    d = n_features
    effective = n_private * epsilon**2 + float(n_public) ** ((2 + 2 * d) / d)
    return max(1, _depth(effective, d, n_private + d * n_public))


def _depth(effective: float, d: int, most: int) -> int:
    exponent = d / (2 + 2 * d) * math.log2(max(effective, 1.0))
    return math.floor(min(exponent, math.log2(most)))


@dataclass(frozen=True, eq=False)
class Answer:
    """Prediction of one run of Algorithm 2.

    ``leaves`` are the nodes of the tree ``table`` cut at ``depth`` that are its cells; ``eta`` is each leaf's estimated
    share of class 1, ``climbed`` the levels up to the ancestor that answers for it, and ``flagged`` is True if the
    second query was made.
    """

    table: NodeTable  # the partition that predicts, cut off at ``depth``
    depth: int
    leaves: np.ndarray  # its cells (n_leaves,)
    eta: np.ndarray
    climbed: np.ndarray  # levels between a cell and the ancestor that answers for it (n_leaves,)
    flagged: bool  # whether there was a second query


def select(judgment: Judgment, exists: np.ndarray, raises: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, bool]:
    """Walk up from every leaf: the first node with statistic >= 1, else the best one (Algorithm 2, section 5.1).

    Arrays have shape (n_climbs, n_leaves), from the leaf upwards; ``exists`` is False beyond the last node to climb to.
    ``raises`` says which nodes raise the flag (None: no node does). Returned are eta, the levels climbed and the flag.
    """
    statistic = np.where(exists, judgment.statistic, -np.inf)
    good = statistic >= 1
    chosen = np.where(good.any(axis=0), good.argmax(axis=0), statistic.argmax(axis=0))
    eta = np.take_along_axis(judgment.eta, chosen[None], axis=0)[0]
    if raises is None:
        return eta, chosen, False
    climbed = np.arange(statistic.shape[0])[:, None]
    # A leaf stops at its first good node, unless the same node raises the flag, which Algorithm 2 looks at first.
    first_good = np.where(good.any(axis=0), good.argmax(axis=0), statistic.shape[0])
    return eta, chosen, bool((raises & (climbed <= first_good)).any())


class Pruning:
    """Algorithm 2 (LPCT-prune) on one sample for any setting; judged nodes are kept for settings that share a tree."""

    def __init__(self, tables: Tables, users: Users, simulate: Simulation | None = None) -> None:
        # Of a sweep, where several settings meet the same users; otherwise the tables are of a single leaf size.
        self.tables, self.users, self.simulate = tables, users, simulate
        self._judged: dict[tuple, tuple] = {}

    def answer(self, model: Any) -> Answer:
        """Run Algorithm 2 with the parameters of an :class:`LPCTPrune`."""
        depth, handover = model._query_depth(self.users), model._private_depth(self.users)
        least = max(1, min(depth - 1, handover if model.min_depth is None else model.min_depth))
        # with the flag, either of two queries spends half of the budget
        mechanism = VoteMechanism(model.epsilon / 2 if model.terminate else model.epsilon)
        table, leaves, judgment, levels = self._judge(model, mechanism, depth)
        # the authors' code climbs from a leaf of depth 1 to the root, where the printed loop ends
        exists = levels <= max(depth - least, model.constants == "tight")
        raises = judgment.private_wins & exists & (levels >= depth - handover) if model.terminate else None
        eta, climbed, flag = select(judgment, exists, raises)
        if not flag:
            return Answer(table, depth, leaves, eta, climbed, flag)
        table = self.tables.at(handover, model.min_samples_leaf)
        leaves = table.tree.leaves(handover, model.min_samples_leaf)
        noisy = self._noisy(table.tree, leaves, mechanism, handover, 2)
        eta = regression_function(noisy, np.zeros_like(noisy), 0.0)[0]
        return Answer(table, handover, leaves, eta, np.zeros_like(leaves), flag)

    def _noisy(
        self, tree: PublicTree, leaves: np.ndarray, mechanism: VoteMechanism, depth: int, query: int = 1
    ) -> np.ndarray:
        """Estimated numbers of private users (row 0) and of those of class 1 (row 1) in leaves, shape (2, n_leaves).

        ``leaves`` are node numbers of the tree cut at ``depth``. ``query`` counts the questions at a depth, so that a
        second one draws noise of its own.
        """
        axes = {"depth": depth, "query": query}  # a second query at the first one's depth is no replay
        if self.simulate is not None:
            family = VoteFamily([(tree, leaves)], np.array([0, leaves.size]), [axes], [mechanism], 2)
            return np.asarray(self.simulate.after(query - 1)(VOTE, family)[0])
        question = VoteQuestion(TreeCells(tree.tree, depth), 2, mechanism, axes)
        return self.users.sums(VOTE, question).reshape(2, leaves.size)

    def _judge(
        self, model: Any, mechanism: VoteMechanism, depth: int
    ) -> tuple[NodeTable, np.ndarray, Judgment, np.ndarray]:
        """Judge the ancestors of all leaves, from depth 1 (of a tree of depth 1 from the root), with one noisy query.

        Returned are the tree's table, its leaves (n_leaves,), the judgment of each ancestor, arrays (n_climbs,
        n_leaves), and the levels p0 - k of each, inf beyond the root. Algorithm 2's k is the depth of the ancestor; the
        authors' code counts from the leaf, also where the tree stopped above p0.
        """
        key = (mechanism.budget, depth, model.min_samples_leaf, model.constants)
        if key not in self._judged:
            table = self.tables.at(depth, model.min_samples_leaf)
            leaves = table.tree.leaves(depth, model.min_samples_leaf)
            sums = np.zeros((5, table.tree.tree.n_nodes))
            sums[:2, leaves] = self._noisy(table.tree, leaves, mechanism, depth)
            sums[2:4, leaves] = table.public[:, leaves]
            sums[4, leaves] = 1
            above = table.tree.ancestors(leaves, max(1, depth - 1))
            users, ones, public, public_ones, below = table.tree.sum_upwards(sums)[:, above]
            climbed = np.broadcast_to(np.arange(len(above))[:, None], above.shape)
            levels = depth - table.tree.tree.depth[above] if model.constants == "paper" else climbed
            votes = NodeVotes(users, ones, public, public_ones, levels, below)
            query = Query(mechanism.budget, depth, self.users.n, n_rows(self.users.public))
            judgment = judge(votes, query, model.constants)
            self._judged[key] = (table, leaves, judgment, np.where(above >= 0, levels, np.inf))
        return self._judged[key]
