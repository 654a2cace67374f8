import itertools
import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

from lpbench.estimators.lpct.family import VoteFamily
from lpbench.estimators.lpct.partition import PublicTree
from lpbench.estimators.lpct.votes import (
    DISCRETE_STEP,
    VOTE,
    VoteMechanism,
    VoteQuestion,
    count_votes,
    decide,
    noisy_votes,
    one_hot_votes,
    probabilities,
    regression_function,
    unit_noise,
)
from lpbench.partitions import GridCells, TreeCells
from lpbench.privacy import Records, SimulatedUsers, exact_epsilon
from lpbench.privacy.users import Simulation
from lpbench.seeds import Streams

KINDS = ["laplace", "rr"]
TREE = {"n_features": 2, "n_classes": 3, "rule": "max_edge", "criterion": "gini", "depth": 5}
SHAPES = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 2), (2, 3)]


def tables(n_cells, n_classes):
    """All tables that a user may send before randomization, one row each."""
    cells, codes = np.array(list(itertools.product(range(n_cells), range(n_classes)))).T
    return one_hot_votes(cells, codes, n_cells, n_classes).reshape(len(cells), -1)


def exact(mechanism, n_cells, n_classes):
    """Largest log-ratio of the densities of one report under two users."""
    every = tables(n_cells, n_classes).astype(int)
    if mechanism.kind == "laplace":
        return max(mechanism.half.exact_loss(a, b) for a in every for b in every)
    reports = np.array(list(itertools.product([0, 1], repeat=n_cells * n_classes)))
    kept, flipped = mechanism.half.log_channel()[0]
    return exact_epsilon(np.where(every[:, None] == reports, kept, flipped).sum(axis=-1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_cells, n_classes", SHAPES)
def test_spent_is_exact_and_the_budget_where_there_are_cells_and_classes(kind, n_cells, n_classes):
    mechanism = VoteMechanism(1.3, kind)
    found = exact(mechanism, n_cells, n_classes)
    assert found == pytest.approx(mechanism.spent(n_cells, n_classes), abs=1e-12)
    if min(n_cells, n_classes) > 1:
        assert 1.3 * (1 - 1e-9) < found <= 1.3 * (1 + 1e-12)


def test_scale_is_that_of_the_paper():
    # eqs. (5), (6): U and V each with noise of scale 4 / epsilon
    assert VoteMechanism(0.5).half.scale == 8.0
    assert VoteMechanism(math.inf).half.scale == 0.0
    # HistOfTree eq. (5), LPCT section 3.3: epsilon / 4 per bit
    assert VoteMechanism(2.0, "rr").half.bit_epsilon == 0.5


def test_votes_are_the_sum_of_the_users_tables():
    rng = np.random.default_rng(0)
    cells, codes = rng.integers(0, 4, 50), rng.integers(0, 3, 50)
    table = one_hot_votes(cells, codes, 4, 3)
    assert np.array_equal(table.sum(axis=0), count_votes(cells, codes, 4, 3))
    assert np.array_equal(table[:, 0].sum(axis=1), np.ones(50))
    assert np.array_equal(table[:, 1:].sum(axis=(1, 2)), codes > 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.5, pytest.param(4.0, marks=pytest.mark.slow)])
def test_sums_have_the_law_of_the_protocol(kind, epsilon):
    """Kolmogorov-Smirnov per entry, 3000 draws each; rejects with probability 6e-7 in all if the laws agree."""
    cells, codes = np.array([0, 0, 1, 2, 2, 2, 2]), np.array([0, 1, 1, 0, 1, 1, 0])
    mechanism = VoteMechanism(epsilon, kind)
    votes = count_votes(cells, codes, 3, 2)
    rng = np.random.default_rng(3)
    question, records = (
        VoteQuestion(GridCells(3, 1), 2, mechanism, {"depth": 2}),
        Records(cells[:, None] / 3 + 0.1, codes),
    )
    by_user = np.array([VOTE.estimate(VOTE.added_up(records, question, rng), question, 7) for _ in range(3000)])
    by_user = by_user.reshape(3000, 2, 3)
    by_law = np.array([noisy_votes(votes, 7, mechanism, Streams(k), depth=2) for k in range(3000)])
    for entry in np.ndindex(2, 3):
        assert ks_2samp(by_user[(slice(None), *entry)], by_law[(slice(None), *entry)]).pvalue > 1e-7
    # entries are independent: correlations of 3000 draws exceed 0.1 with probability below 1e-7
    flat = by_law.reshape(3000, -1)
    assert np.abs(np.corrcoef(flat.T) - np.eye(6)).max() < 0.1
    # the stated variance, at 6 standard errors
    assert np.abs(by_law.var(axis=0) / (7 * mechanism.noise_variance) - 1).max() < 6 * math.sqrt(5 / 3000)


def test_infinite_budget_adds_nothing():
    votes = np.array([[3.0, 0.0], [1.0, 0.0]])
    for kind in KINDS:
        assert np.array_equal(noisy_votes(votes, 3, VoteMechanism(math.inf, kind), Streams(0)), votes)


def test_noise_is_shared_across_budgets_and_partitions():
    votes, streams = np.zeros((2, 5)), Streams(1)
    low = noisy_votes(votes, 100, VoteMechanism(1.0), streams, depth=3)
    high = noisy_votes(votes, 100, VoteMechanism(2.0), streams, depth=3)
    assert np.allclose(low, 2 * high, rtol=1e-14)
    few = noisy_votes(votes[:, :3], 100, VoteMechanism(1.0), streams, depth=3)
    assert np.array_equal(few, low[:, :3])
    assert not np.allclose(low, noisy_votes(votes, 100, VoteMechanism(1.0), streams, depth=4))
    assert unit_noise(10, 4, 3, np.random.default_rng(0)).shape == (3, 4)


@pytest.mark.parametrize("kind", [*KINDS, "discrete"])
def test_a_family_is_answered_as_its_questions_one_by_one(kind):
    """Two sizes of trees at three depths, three budgets: the bits of every single question."""
    rng = np.random.default_rng(5)
    records, public = (
        Records(rng.random((80, 2)), rng.integers(0, 3, 80)),
        (rng.random((40, 2)), rng.integers(0, 3, 40)),
    )
    trees = [PublicTree.grow([public], [Streams(0)], min_samples_leaf=size, **TREE)[0] for size in (1, 8)]
    mechanisms = [VoteMechanism(epsilon, kind) for epsilon in (0.5, 3.0, math.inf)]
    asked = [(tree, depth) for tree in trees for depth in (1, 2, 5)]
    leaves = [(tree, tree.leaves(depth)) for tree, depth in asked]
    start = np.cumsum([0, *(nodes.size for _, nodes in leaves)])
    family = VoteFamily(leaves, start, [{"depth": depth} for _, depth in asked], mechanisms, 3)
    together = Simulation(records, Streams(4))(VOTE, family)
    assert together.shape == (3, 3, start[-1])
    for b, mechanism in enumerate(mechanisms):
        for t, (tree, depth) in enumerate(asked):
            question = VoteQuestion(TreeCells(tree.tree, depth), 3, mechanism, {"depth": depth})
            alone = SimulatedUsers(records, Streams(4)).sums(VOTE, question)
            np.testing.assert_array_equal(together[b, :, start[t] : start[t + 1]].ravel(), alone)


def test_a_question_is_charged_exactly():
    records = Records(np.array([[0.1], [0.4], [0.9]]), np.array([0, 1, 1]))
    for n_cells, n_classes, differing in ((1, 2, 1), (3, 2, 4), (1, 1, 0)):
        for kind in (*KINDS, "discrete"):
            users = SimulatedUsers(records, Streams(0))
            question = VoteQuestion(GridCells(n_cells, 1), n_classes, VoteMechanism(1.0, kind))
            if n_classes == 2:
                users.sums(VOTE, question)
                assert users.spent.epsilon == pytest.approx(differing / 4, rel=1e-12)
                assert VOTE.mechanism(question).epsilon == users.spent.epsilon
            else:
                assert VOTE.budget(question) == 0.0


def test_equal_partitions_are_equal_questions_whatever_was_derived_from_them():
    """A curator who grows the tree anew asks the same question: its answer is a replay, and free."""
    rng = np.random.default_rng(0)
    public = rng.random((40, 2)), np.arange(40) % 3
    users = SimulatedUsers(Records(rng.random((3, 2)), np.array([0, 1, 2])), Streams(0))
    answers = []
    for _ in range(2):
        (tree,) = PublicTree.grow([public], [Streams(0)], min_samples_leaf=1, **TREE)
        question = VoteQuestion(TreeCells(tree.tree, 2), 3, VoteMechanism(1.0), {"depth": 2})
        answers.append(users.sums(VOTE, question))
        tree.tree.leaf_index(), tree.tree.parent
    np.testing.assert_array_equal(*answers)
    assert users.spent.epsilon == 1.0
    users.sums(VOTE, VoteQuestion(TreeCells(tree.tree, 1), 3, VoteMechanism(1.0), {"depth": 2}))
    assert users.spent.epsilon == 2.0


def test_ratio_and_decisions_by_hand():
    private = np.array([[4.0, 2.0, 0.0, -1.0], [1.0, 2.0, 0.0, -0.75]])
    public = np.array([[2.0, 2.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]])
    eta = regression_function(private, public, 1.0)
    assert np.array_equal(eta, [[0.5, 0.5, 0.0, 0.75]])
    # ties and 0/0 go to class 0
    assert np.array_equal(decide(eta), [0, 0, 0, 1])
    assert np.array_equal(regression_function(private, public, 2.0), [[5 / 8, 2 / 6, 0.0, 0.75]])
    three = np.array([[0.5, 0.3, -0.2, 0.25], [0.1, 0.45, 1.5, 0.25]])
    assert np.array_equal(decide(three), [1, 2, 2, 0])
    shown = probabilities(three)
    assert np.allclose(shown.sum(axis=1), 1) and (shown >= 0).all()
    assert np.array_equal(shown.argmax(axis=1), decide(three))
    assert np.array_equal(decide(np.zeros((0, 3))), [0, 0, 0])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 1000.0])
def test_discrete_noise_has_the_exact_epsilon_because_votes_lie_on_the_grid(epsilon):
    discrete, plain = VoteMechanism(epsilon, "discrete"), VoteMechanism(epsilon)
    for n_cells, n_classes in ((1, 1), (1, 2), (4, 2), (4, 3)):
        assert discrete.spent(n_cells, n_classes) == pytest.approx(plain.spent(n_cells, n_classes), rel=1e-12)
    # whole-number draws round the scale up, never down
    assert plain.half.scale <= discrete.half.scale <= plain.half.scale * (1 + 1e-11)
    drawn = noisy_votes(np.array([[2.0, 3.0], [1.0, 2.0]]), 5, discrete, Streams(0))
    np.testing.assert_array_equal(drawn, np.rint(drawn / DISCRETE_STEP) * DISCRETE_STEP)
