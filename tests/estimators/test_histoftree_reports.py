import itertools
import math

import numpy as np
import pytest

from lpbench.errors import ConfigurationError
from lpbench.estimators.histoftree import cell_device, cell_shortcut
from lpbench.estimators.histoftree.cell_device import TREE_CELL, CellQuestion, ReportDraws
from lpbench.estimators.histoftree.cell_reports import bit_reports
from lpbench.estimators.histoftree.cell_shortcut import CellFamily
from lpbench.estimators.histoftree.rounds import ask_cells
from lpbench.estimators.histoftree.user_cells import UserGrid
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.partitions import cell_keys, grid_digits, grow_max_edge
from lpbench.privacy import GRR, Records, SimulatedUsers, exact_epsilon
from lpbench.privacy.exact import UNITS
from lpbench.privacy.users import Simulation, answer_streams
from lpbench.seeds import Streams

N, S, BINS, DEPTH = 60, 2, 3, 3


@pytest.fixture(scope="module")
def users():
    """Users of a grid on features 0, 1 and a tree on features 2, 3, 4, with all sorts of masks."""
    rng = np.random.default_rng(0)
    X, mask = rng.random((N, 5)), rng.random((N, 5)) < 0.4
    mask[0], mask[1] = False, True
    tree = grow_max_edge(X[:, 2:], rng.normal(size=N), DEPTH, mask=mask[:, 2:])
    return X, mask, tree


def question_of(tree, budget=1.0, mechanism="grr"):
    return CellQuestion(tree, DEPTH, np.arange(S), np.arange(S, 5), BINS, mechanism, budget)


def records_of(X, mask):
    return Records(X, np.zeros(len(X)), mask)


def cells_of(X, mask, tree):
    """What public features tell; protected entries are not numbers."""
    return question_of(tree).compatible(np.where(mask, 0.0, X), mask)


def numbers(rows, tree):
    """Numbers of cells that are given by their bins and leaves."""
    return cell_keys(rows[:, :S], BINS) * tree.n_leaves(DEPTH) + rows[:, S]


def all_cells(grid, tree):
    """Every cell of grid x tree as a query: digits of shape (t^s L, s) and leaves."""
    digits = np.array(list(itertools.product(range(BINS), repeat=S)))
    n_leaves = tree.n_leaves(DEPTH)
    query = grid.locate((np.repeat(digits, n_leaves, axis=0) + 0.5) / BINS)
    return query, np.tile(np.arange(n_leaves), len(digits))


def compatible_cells(X, mask, tree, query, leaves):
    """V from its definition, one user and one cell at a time: boolean ndarray (n, cells)."""
    digits, leaf_ok = grid_digits(X[:, :S], BINS), tree.compatible(X[:, S:], mask[:, S:], DEPTH)
    result = np.zeros((len(X), leaves.size), dtype=bool)
    for i in range(len(X)):
        for j in range(leaves.size):
            bins_ok = all(mask[i, l] or digits[i, l] == query.digits[j, l] for l in range(S))
            result[i, j] = bins_ok and leaf_ok[i, leaves[j]]
    return result


def test_compatible_cells_are_those_of_the_definition(users):
    X, mask, tree = users
    cells = cells_of(X, mask, tree)
    expected = compatible_cells(X, mask, tree, *all_cells(cells.grid, tree))
    np.testing.assert_array_equal(cells.possible(), expected)
    np.testing.assert_array_equal(cells.possible(slice(7, 31)), expected[7:31])
    assert (cells.choices == expected.sum(axis=1)).all()
    assert expected.sum(axis=1).min() == 1 and expected.sum(axis=1).max() > 20


def channel(X, mask, tree, i, budget):
    """Probability of every report of user i given every truth in V: ndarray (|V|, |V|), by enumeration of the draws."""
    hidden_bins = [l for l in range(S) if mask[i, l]]
    leaves = cells_of(X[[i]], mask[[i]], tree).leaves.leaves
    draws = list(itertools.product(*([range(BINS)] * len(hidden_bins)), range(leaves.size)))
    truths = []
    for *bins, leaf in draws:  # move the user to each compatible cell in turn
        x = X[i].copy()
        x[hidden_bins] = (np.array(bins) + 0.5) / BINS
        lower, upper = tree.bounds(tree.leaves(DEPTH)[leaves[leaf]])
        x[S:] = np.where(mask[i, S:], (lower + upper) / 2, x[S:])
        truths.append(x)
    k = len(draws)
    bin_words = np.zeros((k * k, S), dtype=np.int64)
    for l, column in enumerate(hidden_bins):
        bin_words[:, column] = np.tile((2 * np.array([d[l] for d in draws]) + 1) * (UNITS // (2 * BINS)), k)
    leaf_words = np.tile((2 * np.array([d[-1] for d in draws]) + 1) * (UNITS // (2 * leaves.size)), k)
    records = records_of(np.repeat(np.array(truths), k, axis=0), np.repeat(mask[[i]], k * k, axis=0))
    question = question_of(tree, budget)
    truth = numbers(TREE_CELL.inputs(records, question), tree)

    def report(word):
        given = ReportDraws(np.full(k * k, word), leaf_words, bin_words, 0, np.arange(k * k))
        return numbers(TREE_CELL.report(records, question, given), tree)

    low, high = 0, UNITS
    while low < high:  # the report is the truth iff the word is below one threshold
        middle = (low + high) // 2
        low, high = (middle + 1, high) if (report(middle) == truth).all() else (low, middle)
    law = (report(UNITS - 1).reshape(k, k)[:, :, None] == truth.reshape(k, k)[:, 0]).mean(axis=1)
    return low / UNITS * np.eye(k) + (UNITS - low) / UNITS * law


@pytest.mark.parametrize("budget", [0.1, 1.0, 4.0])
def test_a_category_report_spends_exactly_its_budget_whatever_the_mask(users, budget):
    X, mask, tree = users
    sizes = cells_of(X, mask, tree).choices.astype(int)
    for size in np.unique(sizes):
        law = channel(X, mask, tree, np.flatnonzero(sizes == size)[0], budget)
        np.testing.assert_allclose(law, GRR(budget, int(size)).channel(), atol=1e-9)
        assert exact_epsilon(np.log(law)) == pytest.approx(budget if size > 1 else 0.0, abs=1e-9)


def sealed(X, mask, seed=1):
    """Users who have answered for their label, which is public here."""
    users = SimulatedUsers(records_of(X, mask), Streams(seed))
    users.ask(LABEL, LabelQuestion((0.0, 0.0), 1.0))
    return users


def simulation(X, mask):
    """The same users, who have answered for their label as well."""
    return Simulation(records_of(X, mask), Streams(1)).after()


@pytest.mark.parametrize("budget", [0.5, 3.0, 1000.0, math.inf])
def test_category_sums_equal_the_definition(users, budget):
    X, mask, tree = users
    labels, cells, question = (
        np.random.default_rng(1).normal(size=N),
        cells_of(X, mask, tree),
        question_of(tree, budget),
    )
    reports = sealed(X, mask).ask(TREE_CELL, question)
    query, query_leaves = all_cells(cells.grid, tree)
    possible = compatible_cells(X, mask, tree, query, query_leaves)
    m = possible.sum(axis=1)[:, None]
    shown = numbers(reports, tree)[:, None] == np.arange(query_leaves.size)
    assert (shown.sum(axis=1) == 1).all() and not (shown & ~possible).any()
    grown = math.exp(min(budget, 700.0))
    p, q = grown / (grown + m - 1), 1 / (grown + m - 1)
    indicators = np.where(m == 1, shown, (shown - q) / (p - q)) * possible
    count, total = ask_cells(sealed(X, mask), question, cells, labels).estimate(query, query_leaves)
    assert np.allclose(count, indicators.sum(axis=0), atol=1e-10)
    assert np.allclose(total, labels @ indicators, atol=1e-10)


@pytest.mark.parametrize("budget", [0.5, 3.0, math.inf])
def test_bit_sums_equal_the_definition(users, budget):
    X, mask, tree = users
    labels, cells = np.random.default_rng(1).normal(size=N), cells_of(X, mask, tree)
    query, query_leaves = all_cells(cells.grid, tree)
    possible = compatible_cells(X, mask, tree, query, query_leaves)
    question = question_of(tree, budget, "rr")
    truth = numbers(TREE_CELL.inputs(records_of(X, mask), question), tree)[:, None] == np.arange(query_leaves.size)
    names = np.column_stack([query_leaves, query.digits])
    seed = answer_streams(Streams(1), "ask", 1).child("report", draw="bits").seed
    bits = np.array([bit_reports(t, budget, seed, np.full(len(t), i), names) for i, t in enumerate(truth)])
    alone = possible.sum(axis=1)[:, None] == 1
    bits = np.where(alone, truth, bits & possible)
    np.testing.assert_array_equal(sealed(X, mask).ask(TREE_CELL, question), bits)
    p = 1 / (1 + math.exp(-budget / 2))
    indicators = np.where(alone, truth, (bits - (1 - p)) / (2 * p - 1)) * possible
    sums = ask_cells(sealed(X, mask), question, cells, labels)
    count, total = sums.estimate(query, query_leaves)
    assert np.allclose(count, indicators.sum(axis=0), atol=1e-10)
    assert np.allclose(total, labels @ indicators, atol=1e-10)

    pick = np.random.default_rng(2).integers(0, query_leaves.size, 40)  # some cells, repeated and out of order
    again = sums.estimate(cells.grid.locate((query.digits[pick] + 0.5) / BINS), query_leaves[pick])
    assert np.allclose(again[0], count[pick]) and np.allclose(again[1], total[pick])


def family_of(cells, tree, budget, labels, query, leaves, *mechanisms):
    columns, grids = (np.arange(S), np.arange(S, 5)), [(cells.grid, query, name) for name in mechanisms]
    return CellFamily([tree], DEPTH, DEPTH, True, *columns, [budget], labels, cells.leaves, leaves, grids)


@pytest.mark.parametrize("budget", [0.5, 3.0, math.inf])
def test_the_shortcut_of_sweeps_counts_what_users_report(users, budget):
    X, mask, tree = users
    labels, cells = np.random.default_rng(1).normal(size=N), cells_of(X, mask, tree)
    query, leaves = all_cells(cells.grid, tree)
    swept = simulation(X, mask)(TREE_CELL, family_of(cells, tree, budget, labels, query, leaves, "grr", "rr"))
    for mechanism, sums in zip(("grr", "rr"), swept, strict=True):
        asked = ask_cells(sealed(X, mask), question_of(tree, budget, mechanism), cells, labels)
        assert np.allclose(sums, asked.estimate(query, leaves), rtol=1e-12, atol=1e-12)


def test_bits_are_summed_in_chunks_without_seams(users, monkeypatch):
    X, mask, tree = users
    cells, labels, question = cells_of(X, mask, tree), np.arange(N) / N, question_of(tree, 1.0, "rr")
    query, leaves = all_cells(cells.grid, tree)
    family = family_of(cells, tree, 1.0, labels, query, leaves, "rr")
    for at_once in (1 << 22, 10 * question.n_cells, 7 * question.n_cells):
        monkeypatch.setattr(cell_shortcut, "_ASKED", at_once)
        asked = sealed(X, mask)
        sums = ask_cells(asked, question, cells, labels).estimate(query, leaves)
        assert asked.spent.epsilon == 1.0, "every user answers once"
        for simulated in (1 << 21, 40):
            monkeypatch.setattr(cell_shortcut, "_BITS_AT_ONCE", simulated)
            assert np.allclose(simulation(X, mask)(TREE_CELL, family)[0], sums, atol=1e-12)


def test_only_users_whose_cell_is_randomized_spend(users):
    X, mask, tree = users
    possible = cells_of(X, mask, tree).possible().sum(axis=1)
    budgets = TREE_CELL.budgets(records_of(X, mask), question_of(tree, 0.75))
    np.testing.assert_array_equal(budgets, np.where(possible > 1, 0.75, 0.0))


@pytest.mark.parametrize("at_once", [1, 7, N - 1])
def test_reports_and_budgets_do_not_depend_on_how_many_users_are_found_together(users, monkeypatch, at_once):
    X, mask, tree = users
    question = question_of(tree, 0.75)

    def answers(X, mask):
        asked = sealed(X, mask)
        return asked.ask(TREE_CELL, question), asked.spent_by_user

    samples = (X, mask), (X, np.ones_like(mask))  # users spend differently, or alike
    expected = [answers(*sample) for sample in samples]
    monkeypatch.setattr(cell_device, "_TOGETHER", at_once)
    for sample, (reports, spent) in zip(samples, expected, strict=True):
        for got, wanted in zip(answers(*sample), (reports, spent), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_without_a_budget_nothing_is_asked(users):
    X, mask, tree = users
    asked = sealed(X, mask)
    with pytest.raises(ConfigurationError, match="label_share=1"):
        ask_cells(asked, question_of(tree, 0.0), cells_of(X, mask, tree), np.zeros(N))
    with pytest.raises(ConfigurationError, match="label_share=1"):
        asked.ask(TREE_CELL, question_of(tree, 0.0))


@pytest.mark.parametrize("budget", [0.5, 2.0])
def test_each_bit_is_flipped_with_the_probability_of_half_the_budget(budget):
    # 200 000 bits: the rate deviates from q by 6 standard errors with probability < 1e-8. Two cells differ in two bits.
    n = 200_000
    users, cells = np.arange(n) // 4, np.arange(n)[:, None] % 4
    truth = np.arange(n) % 3 == 0
    flipped = bit_reports(truth, budget, 5, users, cells) != truth
    q = 1 / (1 + math.exp(budget / 2))
    assert abs(flipped.mean() - q) < 6 * math.sqrt(q * (1 - q) / n)
    assert 2 * math.log((1 - q) / q) == pytest.approx(budget)
    assert (bit_reports(truth[::-1], budget, 5, users[::-1], cells[::-1])[::-1] == (truth ^ flipped)).all()


def test_leaf_means_share_each_label_among_the_compatible_leaves(users):
    X, mask, tree = users
    labels = np.random.default_rng(0).normal(size=N)
    leaves = cells_of(X, mask, tree).leaves
    weight = tree.compatible(X[:, S:], mask[:, S:], DEPTH).astype(float)
    weight /= weight.sum(axis=1, keepdims=True)
    assert np.allclose(leaves.means(labels), labels @ weight / weight.sum(axis=0))


def test_a_grid_of_astronomically_many_cells_is_never_enumerated():
    rng = np.random.default_rng(0)
    X, s = rng.random((50, 90)), 90
    grid = UserGrid(X, np.ones((50, s), dtype=bool), 3)
    assert grid.choices[0] == pytest.approx(3.0**90)
    query = grid.locate(np.vstack([X, rng.random((5, s))]))
    assert (query.codes[:50] == cell_keys(grid_digits(X, 3), 3)).all() and np.unique(query.codes).size == 55
    assert (query.shown[0] == grid.shown[0]).all()
