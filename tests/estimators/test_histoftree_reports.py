"""Cell reports: the law of what leaves the device, and sums that equal the definition user by user, cell by cell."""

import itertools
import math

import numpy as np
import pytest

from lpbench.estimators.histoftree.cell_reports import BitSums, CategorySums, bit_reports, category_reports
from lpbench.estimators.histoftree.user_cells import ReportDraws, UserGrid, UserLeaves
from lpbench.partitions import cell_keys, grid_digits, grow_max_edge
from lpbench.privacy import exact_epsilon
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


def sides(X, mask, tree, bin_uniforms, leaf_uniforms, bins=BINS):
    grid = UserGrid(X[:, :S], mask[:, :S], bins, bin_uniforms)
    [leaves] = UserLeaves.at_depths(tree, [DEPTH], X[:, S:], mask[:, S:], leaf_uniforms)
    return grid, leaves


def all_cells(grid, tree, bins=BINS):
    """Every cell of grid x tree as a query: digits of shape (t^s L, s) and leaves."""
    digits = np.array(list(itertools.product(range(bins), repeat=S)))
    n_leaves = tree.n_leaves(DEPTH)
    query = grid.locate((np.repeat(digits, n_leaves, axis=0) + 0.5) / bins)
    return query, np.tile(np.arange(n_leaves), len(digits))


def compatible_cells(X, mask, tree, query, leaves, bins=BINS):
    """V from its definition, one user and one cell at a time: boolean ndarray (n, cells)."""
    digits, leaf_ok = grid_digits(X[:, :S], bins), tree.compatible(X[:, S:], mask[:, S:], DEPTH)
    result = np.zeros((len(X), leaves.size), dtype=bool)
    for i in range(len(X)):
        for j in range(leaves.size):
            bins_ok = all(mask[i, l] or digits[i, l] == query.digits[j, l] for l in range(S))
            result[i, j] = bins_ok and leaf_ok[i, leaves[j]]
    return result


def test_numbers_of_choices_are_those_of_the_definition(users):
    X, mask, tree = users
    grid, leaves = sides(X, mask, tree, np.zeros((N, S)), np.zeros(N))
    possible = compatible_cells(X, mask, tree, *all_cells(grid, tree))
    assert (grid.choices * leaves.choices == possible.sum(axis=1)).all()
    assert possible.sum(axis=1).min() == 1 and possible.sum(axis=1).max() > 20


def channel(X, mask, tree, i, budget):
    """Probability of every report of user i given every truth in V: ndarray (|V|, |V|), by enumeration of the draws."""
    hidden_bins = [l for l in range(S) if mask[i, l]]
    [first] = UserLeaves.at_depths(tree, [DEPTH], X[[i], S:], mask[[i], S:], np.zeros(1))
    n_leaves = first.choices[0]
    draws = list(itertools.product(*([range(BINS)] * len(hidden_bins)), range(n_leaves)))
    truths = []
    for *bins, leaf in draws:  # move the user to each compatible cell in turn
        x = X[i].copy()
        x[hidden_bins] = (np.array(bins) + 0.5) / BINS
        lower, upper = tree.bounds(tree.leaves(DEPTH)[first.leaves[leaf]])
        x[S:] = np.where(mask[i, S:], (lower + upper) / 2, x[S:])
        truths.append(x)
    rows, k = np.array(truths), len(draws)
    uniforms = np.zeros((k * k, S))
    for l, column in enumerate(hidden_bins):
        uniforms[:, column] = np.tile((np.array([d[l] for d in draws]) + 0.5) / BINS, k)
    leaf_uniforms = np.tile((np.array([d[-1] for d in draws]) + 0.5) / n_leaves, k)
    grid, leaves = sides(np.repeat(rows, k, axis=0), np.repeat(mask[[i]], k * k, axis=0), tree, uniforms, leaf_uniforms)

    def honest(u):
        codes, leaf = category_reports(grid, leaves, budget, np.full(k * k, u))
        return bool(((codes == grid.truth) & (leaf == leaves.truth)).all())

    low, high = 0.0, 1.0
    while high - low > 1e-15:  # the report is the truth iff the uniform is below one threshold
        middle = (low + high) / 2
        low, high = (middle, high) if honest(middle) else (low, middle)
    codes, leaf = category_reports(grid, leaves, budget, np.full(k * k, 1.0))
    blind = (codes * 100 + leaf).reshape(k, k)
    cells = (grid.truth * 100 + leaves.truth).reshape(k, k)[:, 0]
    law = (blind[:, :, None] == cells).mean(axis=1)
    return low * np.eye(k) + (1 - low) * law


@pytest.mark.parametrize("budget", [0.1, 1.0, 4.0])
def test_a_category_report_spends_exactly_its_budget_whatever_the_mask(users, budget):
    X, mask, tree = users
    grid, leaves = sides(X, mask, tree, np.zeros((N, S)), np.zeros(N))
    sizes = (grid.choices * leaves.choices).astype(int)
    for size in np.unique(sizes):
        law = channel(X, mask, tree, np.flatnonzero(sizes == size)[0], budget)
        assert law.shape == (size, size)
        assert np.allclose(law.sum(axis=1), 1)
        assert exact_epsilon(np.log(law)) == pytest.approx(budget if size > 1 else 0.0, abs=1e-9)


@pytest.mark.parametrize("budget", [0.3, 2.0])
def test_category_reports_are_unbiased_for_the_true_cell(users, budget):
    X, mask, tree = users
    i = int(np.flatnonzero(mask[:, :S].all(axis=1) & mask[:, S:].any(axis=1))[0])
    law = channel(X, mask, tree, i, budget)
    one = slice(i, i + 1)
    grid, leaves = sides(X[one], mask[one], tree, np.zeros((1, S)), np.zeros(1))
    query, query_leaves = all_cells(grid, tree)
    possible = compatible_cells(X[one], mask[one], tree, query, query_leaves)[0]
    # Large enough a grid for nothing to be sparse: codes are the digits' keys.
    codes, truth = cell_keys(query.digits, BINS), np.zeros(possible.size)
    truth[(codes == grid.truth[0]) & (query_leaves == leaves.truth[0])] = 1
    row = law[np.argmax(law.diagonal())]
    probability = np.where(truth[possible] == 1, row.max(), row.min())
    expected_count, expected_total = np.zeros(possible.size), np.zeros(possible.size)
    for p, code, leaf in zip(probability, codes[possible], query_leaves[possible], strict=True):
        report = (np.array([code]), np.array([leaf]))
        count, total = CategorySums(report, grid, leaves, np.array([3.5]), budget).estimate(query, query_leaves)
        assert (count[~possible] == 0).all() and (total[~possible] == 0).all()
        expected_count += p * count
        expected_total += p * total
    assert np.allclose(expected_count, truth, atol=1e-12)
    assert np.allclose(expected_total, 3.5 * truth, atol=1e-12)


@pytest.mark.parametrize("budget", [0.5, 3.0, 1000.0, math.inf])
def test_category_sums_equal_the_definition(users, budget):
    X, mask, tree = users
    draws, labels = ReportDraws(Streams(1), N), np.random.default_rng(1).normal(size=N)
    grid, leaves = sides(X, mask, tree, draws.bins([0, 1]), draws.leaf)
    reports = category_reports(grid, leaves, budget, draws.keep)
    query, query_leaves = all_cells(grid, tree)
    possible = compatible_cells(X, mask, tree, query, query_leaves)
    m = possible.sum(axis=1)[:, None]
    shown = (reports[0][:, None] == cell_keys(query.digits, BINS)) & (reports[1][:, None] == query_leaves)
    assert (shown.sum(axis=1) == 1).all() and not (shown & ~possible).any()
    grown = math.exp(min(budget, 700.0))
    p, q = grown / (grown + m - 1), 1 / (grown + m - 1)
    indicators = np.where(m == 1, shown, (shown - q) / (p - q)) * possible
    count, total = CategorySums(reports, grid, leaves, labels, budget).estimate(query, query_leaves)
    assert np.allclose(count, indicators.sum(axis=0), atol=1e-10)
    assert np.allclose(total, labels @ indicators, atol=1e-10)


@pytest.mark.parametrize("budget", [0.5, 3.0, math.inf])
def test_bit_sums_equal_the_definition(users, budget):
    X, mask, tree = users
    labels = np.random.default_rng(1).normal(size=N)
    grid, leaves = sides(X, mask, tree, np.zeros((N, S)), np.zeros(N))
    query, query_leaves = all_cells(grid, tree)
    possible = compatible_cells(X, mask, tree, query, query_leaves)
    truth = (grid.truth[:, None] == query.codes) & (leaves.truth[:, None] == query_leaves)
    names = np.column_stack([query_leaves, query.digits])
    bits = np.array([bit_reports(t, budget, 9, np.full(len(t), i), names) for i, t in enumerate(truth)])
    p = 1 / (1 + math.exp(-budget / 2))
    indicators = np.where(possible.sum(axis=1)[:, None] == 1, truth, (bits - (1 - p)) / (2 * p - 1)) * possible
    sums = BitSums(9, grid, leaves, labels, budget)
    count, total = sums.estimate(query, query_leaves)
    assert np.allclose(count, indicators.sum(axis=0), atol=1e-10)
    assert np.allclose(total, labels @ indicators, atol=1e-10)

    pick = np.random.default_rng(2).integers(0, query_leaves.size, 40)  # some cells, repeated and out of order
    again = sums.estimate(grid.locate((query.digits[pick] + 0.5) / BINS), query_leaves[pick])
    assert np.allclose(again[0], count[pick]) and np.allclose(again[1], total[pick])


def test_bits_are_summed_in_chunks_without_seams(users, monkeypatch):
    X, mask, tree = users
    grid, leaves = sides(X, mask, tree, np.zeros((N, S)), np.zeros(N))
    query, query_leaves = all_cells(grid, tree)
    sums = BitSums(9, grid, leaves, np.arange(N) / N, 1.0)
    whole = sums.estimate(query, query_leaves)
    monkeypatch.setattr("lpbench.estimators.histoftree.cell_reports._CHUNK", 40)
    assert np.allclose(sums.estimate(query, query_leaves), whole, atol=1e-12)


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


def test_blind_reports_are_even_over_the_compatible_cells(users):
    # User 1 protects everything: 60 000 blind reports over about 50 cells, each count within 6 standard errors of even
    # except with probability < 1e-6 (union over the cells).
    X, mask, tree = users
    n = 60_000
    everywhere = np.repeat(X[[1]], n, axis=0)
    draws = ReportDraws(Streams(3), n)
    grid, leaves = sides(everywhere, np.repeat(mask[[1]], n, axis=0), tree, draws.bins([0, 1]), draws.leaf)
    counts = np.bincount(grid.blind * leaves.n_leaves + leaves.blind)
    m = int(grid.choices[0] * leaves.choices[0])
    assert counts.size == m
    assert (np.abs(counts - n / m) < 6 * math.sqrt(n / m)).all()


def test_a_public_cell_is_never_randomised(users):
    X, mask, tree = users
    draws = ReportDraws(Streams(0), N)
    grid, leaves = sides(X, mask, tree, draws.bins([0, 1]), draws.leaf)
    codes, leaf = category_reports(grid, leaves, 0.01, np.ones(N))
    public = grid.choices * leaves.choices == 1
    assert public.any()
    assert (codes[public] == grid.truth[public]).all() and (leaf[public] == leaves.truth[public]).all()


def test_the_order_of_the_reports_does_not_matter(users):
    X, mask, tree = users
    draws, labels, order = ReportDraws(Streams(0), N), np.arange(N) / N, np.random.default_rng(0).permutation(N)
    results = []
    for rows in (np.arange(N), order):
        grid, leaves = sides(X[rows], mask[rows], tree, draws.bins([0, 1])[rows], draws.leaf[rows])
        reports = category_reports(grid, leaves, 1.0, draws.keep[rows])
        sums = CategorySums(reports, grid, leaves, labels[rows], 1.0)
        results.append(np.concatenate([*sums.estimate(*all_cells(grid, tree)), leaves.means(labels[rows])]))
    assert np.allclose(*results, atol=1e-12)


def test_leaf_means_share_each_label_among_the_compatible_leaves(users):
    X, mask, tree = users
    labels = np.random.default_rng(0).normal(size=N)
    _, leaves = sides(X, mask, tree, np.zeros((N, S)), np.zeros(N))
    weight = tree.compatible(X[:, S:], mask[:, S:], DEPTH).astype(float)
    weight /= weight.sum(axis=1, keepdims=True)
    assert np.allclose(leaves.means(labels), labels @ weight / weight.sum(axis=0))


def test_a_grid_of_astronomically_many_cells_is_never_enumerated():
    rng = np.random.default_rng(0)
    X, s = rng.random((50, 90)), 90
    grid = UserGrid(X, np.ones((50, s), dtype=bool), 3, rng.random((50, s)))
    assert grid.choices[0] == pytest.approx(3.0**90)
    query = grid.locate(np.vstack([X, rng.random((5, s))]))
    assert (query.codes[:50] == grid.truth).all() and (query.codes[50:] == grid.n_codes).all()
    assert (query.shown[0] == grid.shown[0]).all()
