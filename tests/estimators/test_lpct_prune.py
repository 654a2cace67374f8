"""LPCT-prune against a transcription of Algorithm 2, leaf by leaf and level by level; budgets; one-pass sweeps."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from lpbench.estimators import LPCTPrune
from lpbench.estimators.lpct.algorithm2 import Pruning, private_depth, query_depth
from lpbench.estimators.lpct.statistics import NodeVotes, Query, judge
from lpbench.estimators.lpct.tables import Tables
from lpbench.estimators.lpct.votes import VoteMechanism, noisy_votes
from lpbench.privacy.users import answer_streams
from lpbench.seeds import Streams
from tests.estimators.loops import drift, fitted, loop_of_fits


def answered(model, problem, streams, deepest, size):
    """Tables of the public sample, and the answer of users who are asked through their interface."""
    users = model.task(problem, streams).users
    model._meet(users)
    tables = Tables(model, users.public, streams, deepest, size)
    return tables, Pruning(tables, users).answer(model)


def answer(streams, number=0):
    return answer_streams(streams.party("users"), "sums", number)


def votes_of(problem, tree, leaves):
    """True votes of the private users in some nodes."""
    return tree.votes(problem.X_train, problem.y_train, 2)[:, leaves]


class Sums:
    """Votes below one node, added up by walking the tree."""

    def __init__(self, tree, node, table):
        below, stack = [], [node]
        while stack:
            v = stack.pop()
            below += [v] if v in table else []
            stack += [tree.left[v], tree.right[v]] if tree.feature[v] >= 0 and v not in table else []
        self.UP, self.VP, self.UQ, self.VQ = np.sum([table[v] for v in below], axis=0)


def paper_node(s, a, n_p, n_q, epsilon):
    """The inner if of Algorithm 2, with k = p0 - a: estimate, statistic, and whether P wins under noise."""
    log = math.log(n_p + n_q)
    eta_p = s.VP / s.UP if s.UP else 0.0
    eta_q = s.VQ / s.UQ if s.UQ else 0.0
    if 2 ** (a + 3) * epsilon**-2 * n_p >= s.UP:
        v_q = abs(eta_q - 0.5) / math.sqrt(4 * log / s.UQ) if s.UQ else 0.0
        v_p = abs(eta_p - 0.5) / math.sqrt(2 ** (a + 5) * epsilon**-2 * n_p * log / s.UP**2)
        return (eta_p, v_p, True) if v_q <= v_p else (eta_q, v_q, False)

    def at(weight):
        if math.isinf(weight):
            return eta_q, abs(eta_q - 0.5) / math.sqrt(4 * log / s.UQ)
        eta = (s.VP + weight * s.VQ) / (s.UP + weight * s.UQ)
        r = math.sqrt((32 * s.UP + 4 * weight**2 * s.UQ) * log) / (s.UP + weight * s.UQ)
        return eta, abs(eta - 0.5) / r

    # max over lambda: the stationary point of the statistic and both ends of [0, infinity]
    candidates = [0.0]
    if s.UQ and (eta_p - 0.5) * (eta_q - 0.5) > 0:
        candidates.append(8 * (eta_q - 0.5) / (eta_p - 0.5))
    if s.UQ:
        candidates.append(math.inf)
    best = max(candidates, key=lambda w: at(w)[1])
    return (*at(best), False)


def tight_node(s, a, p0, n_p, n_q, epsilon):
    """The authors' constants, case by case."""
    k = p0 - a
    c2, c2_q = math.log(n_p + n_q) + k + 1, math.log(n_q) + k + 1
    c1 = 2 ** (a + 1) * (2 * math.log(2 * n_p) + epsilon * 2 ** (-k / 2) * math.sqrt(c2)) ** 2
    u = c1 * n_p / (c2 * epsilon**2)
    if s.UQ == 0:
        return 0.5 + 1e-12, 0.0
    eta_q = s.VQ / s.UQ
    only_q = (eta_q, abs(eta_q - 0.5) / math.sqrt(c2_q / s.UQ))
    if s.UP <= 0 or s.VP <= 0:
        return only_q
    VP = s.VP
    if VP > s.UP:
        VP, spread = s.UP, u
    elif u > s.UP:
        return only_q
    else:
        spread = s.UP
    eta_p = VP / s.UP
    if (eta_p - 0.5) * (eta_q - 0.5) > 0:
        weight = spread / s.UP * (eta_q - 0.5) / (eta_p - 0.5)
        eta = (VP + weight * s.VQ) / (s.UP + weight * s.UQ)
        r = math.sqrt(c2 * (spread + weight**2 * s.UQ)) / (s.UP + weight * s.UQ)
        both = (eta, abs(eta - 0.5) / r)
        return only_q if only_q[1] > both[1] else both
    only_p = (eta_p, abs(eta_p - 0.5) / math.sqrt(c2 * spread) * s.UP)
    return only_q if only_p[1] < only_q[1] else only_p


def algorithm_2(tree, table, p0, least, constants, n_p, n_q, epsilon, flag_at=None):
    """Loop over leaves and k = p0, ..., least; returns the estimate of each leaf and the flag.

    In print k is the depth of a leaf's ancestor; in the authors' code it falls from p0 by one with each level climbed.
    """
    flag, answers = False, {}
    for leaf in table:
        node, best = leaf, (None, -1.0)
        first = tree.depth[leaf] if constants == "paper" else p0
        if first < least:  # no ancestor is deep enough: the leaf answers for itself
            best = (paper_node(Sums(tree, leaf, table), p0 - first, n_p, n_q, epsilon)[0], 0.0)
        for k in range(first, least - 1, -1):
            if node < 0:
                break
            s = Sums(tree, node, table)
            if constants == "paper":
                eta, v, wins = paper_node(s, p0 - k, n_p, n_q, epsilon)
            else:
                eta, v = tight_node(s, p0 - k, p0, n_p, n_q, epsilon)
                wins = False
            if v > best[1]:
                best = (eta, v)
            if wins and flag_at is not None and k <= flag_at:
                flag, best = True, (eta, v)
                break
            if v >= 1:
                best = (eta, v)
                break
            node = tree.parent[node]
        answers[leaf] = best[0]
    return answers, flag


@pytest.mark.parametrize(("constants", "least"), [("paper", 1), ("tight", 0)])
def test_from_depth_1_the_authors_code_climbs_to_the_root_and_the_printed_loop_does_not(constants, least):
    climbed = []
    for seed in range(20):
        problem, streams = drift(40, 3000, seed=seed), Streams(seed)
        model = LPCTPrune(2.0, 1, constants=constants, random_state=streams)
        _, found = answered(model, problem, streams, 1, 1)
        true = votes_of(problem, found.table.tree, found.leaves)
        noisy = noisy_votes(true, 3000, VoteMechanism(2.0), answer(streams), depth=1, query=1)
        public = found.table.public[:, found.leaves]
        votes = {v: (*noisy[:, i], *public[:, i]) for i, v in enumerate(found.leaves)}
        expected, _ = algorithm_2(found.table.tree.tree, votes, 1, least, constants, 3000, 40, 2.0)
        np.testing.assert_allclose(found.eta, [expected[v] for v in found.leaves], rtol=1e-9, atol=1e-9)
        climbed += list(found.climbed)
    assert set(climbed) == set(range(2 - least))


@pytest.mark.parametrize("constants", ["paper", "tight"])
@pytest.mark.parametrize("n_public, n_private", [(60, 3000), (2000, 3000), (7, 20000)])
@pytest.mark.parametrize("rule, size", [("max_edge", 0), ("max_edge", 5), ("cart", 1)])
def test_pruning_is_algorithm_2(constants, n_public, n_private, rule, size):
    problem, streams = drift(n_public, n_private), Streams(7)
    flags = set()
    for epsilon in (0.5, 3.0, 12.0, 300.0):
        for least, terminate in ((1, False), (3, False), (1, True)):
            settings = {"depth": 5, "min_depth": least, "min_samples_leaf": size, "terminate": terminate}
            model = LPCTPrune(epsilon, constants=constants, rule=rule, random_state=streams, **settings)
            deepest = max(5, private_depth(n_private, 2, epsilon))
            tables, found = answered(model, problem, streams, deepest, size)

            budget = epsilon / 2 if terminate else epsilon
            table = tables.at(5, size)
            leaves = table.tree.leaves(5, size)
            true = votes_of(problem, table.tree, leaves)
            noisy = noisy_votes(true, n_private, VoteMechanism(budget), answer(streams), depth=5, query=1)
            votes = {v: (*noisy[:, i], *table.public[:, v]) for i, v in enumerate(leaves)}
            flag_at = private_depth(n_private, 2, epsilon) if terminate else None
            expected, flag = algorithm_2(
                table.tree.tree, votes, 5, least, constants, n_private, n_public, budget, flag_at
            )
            assert found.flagged == flag
            flags.add(flag)
            if not flag:
                assert np.array_equal(found.leaves, leaves)
                np.testing.assert_allclose(found.eta, [expected[v] for v in leaves], rtol=1e-9, atol=1e-9)
    if constants == "paper" and rule == "max_edge" and n_public >= 2 * size:  # else the root alone, of depth 0 < k
        assert True in flags


@pytest.mark.parametrize("constants", ["paper", "tight", "exact"])
def test_closed_form_weight_maximizes_the_statistic(constants):
    """Against a numerical maximum of |eta - 1/2| / r over lambda, for excesses of equal sign."""
    query = Query(epsilon=50.0, depth=6, n_private=5000, n_public=80)
    users, ones, public, public_ones, a, leaves = 900.0, 520.0, 30.0, 18.0, 0, 1
    votes = NodeVotes(*map(np.array, (users, ones, public, public_ones, a, leaves)))
    log, k = query.log_n, query.depth - a
    factor, spread = {
        "paper": (4 * log, 8 * users),
        "tight": (log + k + 1, users),
        "exact": (log / 2, users + 160 * leaves * 5000 / 50.0**2),
    }[constants]

    def negative(logarithm):
        weight = math.exp(logarithm)
        return -abs(ones - users / 2 + weight * (public_ones - public / 2)) / math.sqrt(
            factor * (spread + weight**2 * public)
        )

    found = minimize_scalar(negative, bounds=(-5, 12), method="bounded", options={"xatol": 1e-9})
    result = judge(votes, query, constants)
    weight = math.exp(found.x)
    assert result.statistic == pytest.approx(-found.fun, rel=1e-9)
    assert result.eta == pytest.approx((ones + weight * public_ones) / (users + weight * public), rel=1e-5)


def test_printed_constants_go_by_a_nodes_depth_and_the_authors_by_the_levels_climbed():
    """A leaf of depth 1 in a query of depth 4: 2^(4 - 1 + 3) is in its noise term in print."""
    problem, streams = drift(12, 3000), Streams(3)
    early = {}
    for constants in ("paper", "tight"):
        model = LPCTPrune(2.0, 6, constants=constants, random_state=streams)
        model._meet(users := model.task(problem, streams).users)
        pruning = Pruning(Tables(model, users.public, streams, 6, 1), users)
        table, leaves, _, levels = pruning._judge(model, VoteMechanism(2.0), 6)
        early[constants] = levels[0] - (6 - table.tree.tree.depth[leaves])
    assert (early["paper"] == 0).all() and (early["tight"] < 0).any()


def test_depths():
    # floor(log2(10^4 + 50^3) / 3) = floor(5.68), floor(log2(10^4 4) / 3) = floor(5.10)
    assert query_depth(10000, 50, 2, 1.0) == 5
    assert private_depth(10000, 2, 2.0) == 5
    assert query_depth(10000, 50, 2, 1000.0) == 11
    # d = 1: exponent 1/4, n_Q^4
    assert query_depth(0 + 16, 8, 1, 1.0) == math.floor(math.log2(16 + 8**4) / 4)
    # never more cells than n_P + d n_Q
    assert 2 ** query_depth(100, 10, 2, math.inf) <= 120
    assert query_depth(1, 0, 2, 0.1) == 1


def test_guarantee_says_what_was_spent():
    problem = drift(n_private=3000)
    once = fitted(LPCTPrune(epsilon=2.0, random_state=0), problem)
    assert (once.guarantee_.epsilon, once.guarantee_.rounds) == (pytest.approx(2.0), 1)
    assert not once.flagged_
    twice = fitted(LPCTPrune(epsilon=2.0, constants="paper", terminate=True, random_state=0), problem)
    assert twice.flagged_
    assert (twice.guarantee_.epsilon, twice.guarantee_.rounds) == (pytest.approx(2.0), 2)
    assert twice.tree_.max_depth <= private_depth(3000, 2, 2.0) < twice.depth_
    # the tight constants never raise the flag: half of the budget is left, and the note says so
    half = fitted(LPCTPrune(epsilon=2.0, terminate=True, random_state=0), problem)
    assert (half.guarantee_.epsilon, half.guarantee_.rounds) == (pytest.approx(1.0), 1)
    assert "half of epsilon=2 is left" in half.guarantee_.note
    assert twice.guarantee_.bits_up > 0 and twice.guarantee_.bits_down > 0


def test_second_query_is_a_plain_private_tree():
    """Flagged, without noise: every cell of depth private_depth predicts the private majority."""
    problem = drift(n_public=2000, n_private=500)
    model = LPCTPrune(epsilon=1.0, constants="paper", terminate=True, random_state=1)
    streams = Streams(1)
    _, found = answered(model, problem, streams, 9, 1)
    assert found.flagged
    depth = private_depth(500, 2, 1.0)
    leaves = found.table.tree.leaves(depth, 1)
    true = votes_of(problem, found.table.tree, leaves)
    noisy = noisy_votes(true, 500, VoteMechanism(0.5), answer(streams, 1), depth=depth, query=2)
    np.testing.assert_allclose(found.eta, noisy[1] / noisy[0])
    first = noisy_votes(true, 500, VoteMechanism(0.5), answer(streams), depth=depth, query=1)
    assert not np.allclose(noisy, first)


@pytest.mark.parametrize(
    "model, grid",
    [
        (LPCTPrune(criterion="entropy"), {"min_depth": [None, 1, 4], "min_samples_leaf": [1, 5]}),
        (LPCTPrune(), {"depth": [1, 4, None], "constants": ["paper", "tight", "exact"], "min_depth": [1, 2]}),
        (LPCTPrune(constants="paper"), {"terminate": [False, True], "depth": [None, 3]}),
        (LPCTPrune(rule="cart"), {"min_samples_leaf": [1, 10], "terminate": [True, False]}),
        (LPCTPrune(search="released", depth=4), {"min_samples_leaf": [1, 5], "rule": ["cart", "max_edge"]}),
        (LPCTPrune(outside="zero"), {"domain": [None, (0.0, 0.5)], "rule": ["max_edge", "random"]}),
    ],
)
def test_sweep_is_the_loop_over_fits(model, grid):
    problem, streams, budgets = drift(n_private=3000), Streams(9), [0.5, 8.0, math.inf]
    swept = model.sweep(problem, budgets, grid, streams).values
    np.testing.assert_array_equal(swept, loop_of_fits(model, problem, budgets, grid, streams))


@pytest.mark.parametrize("constants", ["paper", "tight", "exact"])
def test_without_public_data_it_is_a_private_tree_that_prunes(constants):
    problem = drift(n_private=20000)
    model = LPCTPrune(epsilon=math.inf, constants=constants, random_state=0).fit(problem.X_train, problem.y_train)
    assert np.mean(model.predict(problem.X_test) == problem.y_test) > 0.6


def test_two_classes_only():
    X = np.random.default_rng(0).random((30, 2))
    with pytest.raises(ValueError, match="Only binary classification is supported by LPCT-prune, got 3 classes"):
        LPCTPrune().fit(X, np.arange(30) % 3)
    with pytest.raises(ValueError, match="got 1 class;"):
        LPCTPrune().fit(X, np.zeros(30))
