"""LPCT-prune's statistic |eta - 1/2| / r of a node, its estimate and weight (LPCT Algorithm 2, Proposition 6, A.2).

Everything works on arrays of votes summed over the leaves below a node and broadcasts over nodes. A node of depth k in
the full tree of depth p0 has ``levels`` a = p0 - k, and 2^a leaves below it. Where the tree stopped early, the printed
constants go by the node's own depth k; the authors' code counts a from the leaf that is being pruned.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

RADIUS_CONSTANTS = ("paper", "tight", "exact")


@dataclass(frozen=True, eq=False)
class NodeVotes:
    """Votes of nodes, as arrays that broadcast against one another.

    ``users`` and ``ones`` are noisy numbers of private users and of those of class 1 (U_P, V_P); ``public`` and
    ``public_ones`` the public ones (U_Q, V_Q); ``levels`` the distance p0 - k from the query's depth, and ``n_leaves``
    the leaves below.
    """

    users: np.ndarray  # noisy sum U_P of the private users
    ones: np.ndarray  # V_P
    public: np.ndarray  # U_Q
    public_ones: np.ndarray  # V_Q
    levels: np.ndarray  # a = p0 - k
    n_leaves: np.ndarray  # below the node; each carries its own noise


@dataclass(frozen=True)
class Query:
    """Sample sizes, depth p0 and epsilon of one query of a tree, from which the constants of the radius r follow."""

    epsilon: float  # of this query
    depth: int  # p0
    n_private: int
    n_public: int

    @property
    def log_n(self) -> float:
        """Return ln(n_P + n_Q), the logarithm of all private and public samples."""
        return math.log(self.n_private + self.n_public)


@dataclass(frozen=True, eq=False)
class Judgment:
    """Estimates of nodes and how certain their classes are; arrays of one shape, an entry a node.

    ``eta`` is the estimated share of class 1, ``statistic`` its distance from 1/2 over the radius r (1 or more: clear),
    and ``private_wins`` is True where private votes alone decide although they are noisy, which raises Algorithm 2's
    flag.
    """

    eta: np.ndarray  # estimate of P(Y = 1) that the node would predict
    statistic: np.ndarray  # |eta - 1/2| / r; a node with 1 or more is good enough (15)
    private_wins: np.ndarray  # the noise switch is on and P beats Q (what raises Algorithm 2's flag)


def judge(votes: NodeVotes, query: Query, constants: str) -> Judgment:
    """Judge nodes by constants of Algorithm 2 (``paper``), of the code (``tight``) or ``exact``; without Q by P."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"paper": _paper, "tight": _tight, "exact": _exact}[constants](votes, query)


def _ratio(numerator: np.ndarray, denominator: np.ndarray, empty: float = 0.0) -> np.ndarray:
    return np.where(denominator != 0, numerator / np.where(denominator != 0, denominator, 1.0), empty)


def _paper(votes: NodeVotes, query: Query) -> Judgment:
    """Algorithm 2 as printed; r uses the budget of the query.

    With u = 8 U_P the lambda that maximizes the algorithm's own statistic is 8 (eta_Q - 1/2) / (eta_P - 1/2); the
    closed form of A.2 belongs to the r of (14).
    """
    noise = 2.0 ** (votes.levels + 3) * query.n_private / query.epsilon**2
    eta_p, eta_q = _ratio(votes.ones, votes.users), _ratio(votes.public_ones, votes.public)
    excess_p, excess_q = votes.ones - votes.users / 2, votes.public_ones - votes.public / 2
    statistic_q = _ratio(np.abs(excess_q), np.sqrt(4 * query.log_n * votes.public))
    noisy = noise >= votes.users
    alone_p = _ratio(np.abs(excess_p), np.sqrt(4 * query.log_n * noise))
    eta_c, statistic_c = _combine(votes, 8 * np.maximum(votes.users, 0.0), 4 * query.log_n, 4 * query.log_n)
    p_wins = statistic_q <= alone_p
    return Judgment(
        np.where(noisy, np.where(p_wins, eta_p, eta_q), eta_c),
        np.where(noisy, np.where(p_wins, alone_p, statistic_q), statistic_c),
        noisy & p_wins,
    )


def _combine(votes: NodeVotes, spread: np.ndarray, factor_p: Any, factor_q: Any) -> tuple[np.ndarray, np.ndarray]:
    """Eta and statistic of the best weighted average of the private votes P and the public votes Q, entry by entry.

    The weight lambda of Q maximizes |eta - 1/2| / r with r^2 = factor_p (spread + lambda^2 U_Q) / (U_P + lambda U_Q)^2:
    for excesses of equal sign that of Cauchy's inequality (A.2), otherwise lambda = 0 or infinity. ``factor_q`` takes
    factor_p's place for Q alone.
    """
    excess_p, excess_q = votes.ones - votes.users / 2, votes.public_ones - votes.public / 2
    square_p, square_q = _ratio(excess_p**2, spread), _ratio(excess_q**2, votes.public)
    q_alone = np.sqrt(square_q / factor_q)
    p_alone = np.sqrt(square_p / factor_p)
    weight = _ratio(spread * _ratio(excess_q, votes.public), excess_p)
    combined = np.sqrt((square_p + square_q) / factor_p)
    agree = excess_p * excess_q > 0
    take_q = np.where(agree, combined < q_alone, p_alone < q_alone)
    eta_p, eta_q = _ratio(votes.ones, votes.users), _ratio(votes.public_ones, votes.public)
    eta_both = _ratio(votes.ones + weight * votes.public_ones, votes.users + weight * votes.public)
    return (
        np.where(take_q, eta_q, np.where(agree, eta_both, eta_p)),
        np.where(take_q, q_alone, np.where(agree, combined, p_alone)),
    )


def _tight(votes: NodeVotes, query: Query) -> Judgment:
    """The constants of the authors' code ("we use constants that yield a tighter bound", LPCT section 6.1).

    P counts only where its noise term u is below U_P (or V_P exceeds U_P, which is then cut back to U_P). A node
    without public rows has statistic 0 and class 1.
    """
    if query.n_public == 0:
        return _exact(votes, query)
    k = query.depth - votes.levels
    c2 = query.log_n + k + 1
    c2_q = math.log(query.n_public) + k + 1
    root = 2 * math.log(2 * query.n_private) / query.epsilon + 2.0 ** (-k / 2) * np.sqrt(c2)
    noise = 2.0 ** (votes.levels + 1) * root**2 * query.n_private / c2
    eta_q = _ratio(votes.public_ones, votes.public, empty=np.nextafter(0.5, 1.0))
    statistic_q = np.abs(eta_q - 0.5) * np.sqrt(votes.public / c2_q)

    overflow = votes.ones > votes.users
    votes = replace(votes, ones=np.minimum(votes.ones, votes.users))
    usable = (votes.public > 0) & (votes.users > 0) & (votes.ones > 0) & (overflow | (noise <= votes.users))
    eta, statistic = _combine(votes, np.where(overflow, noise, votes.users), c2, c2_q)
    return Judgment(
        np.where(usable, eta, eta_q), np.where(usable, statistic, statistic_q), np.zeros(np.shape(usable), dtype=bool)
    )


def _exact(votes: NodeVotes, query: Query) -> Judgment:
    """Variances by their actual law, in place of bounds (ours).

    V_P - U_P/2 has variance U_P/4 at most by the labels, and by the Laplace noise 2 (4/epsilon)^2 (1 + 1/4) =
    40/epsilon^2 for each user and leaf; V_Q - U_Q/2 has U_Q/4 at most. r is sqrt(2 log(n_P + n_Q)) standard deviations,
    so that no switch between regimes is needed. P is left out where U_P <= 0 and there is a public row.
    """
    noise = 40.0 * votes.n_leaves * query.n_private / query.epsilon**2
    eta, statistic = _combine(votes, np.maximum(votes.users, 0.0) + 4 * noise, query.log_n / 2, query.log_n / 2)
    q_only = (votes.users <= 0) & (votes.public > 0)
    eta_q = _ratio(votes.public_ones, votes.public)
    statistic_q = np.abs(eta_q - 0.5) * np.sqrt(2 * votes.public / query.log_n)
    return Judgment(
        np.where(q_only, eta_q, eta), np.where(q_only, statistic_q, statistic), np.zeros(np.shape(eta), dtype=bool)
    )
