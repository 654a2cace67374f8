"""Last bits, in which processors differ, decide nothing."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lpbench.estimators import KNNMean
from lpbench.estimators.rounding import bits_of_exact_sums, grid_step, on_grid, settled
from lpbench.estimators.tuning_free.half_forest import HalfForest
from lpbench.estimators.tuning_free.score_cells import ScoreCells


def shaken(values, seed, size=1e-15):
    """Values that another order of summation could have given."""
    rng = np.random.default_rng(seed)
    return values * (1.0 + size * rng.choice([-1.0, 0.0, 1.0], values.shape))


@pytest.mark.parametrize("count", [1, 2, 5, 1000, 4177])
@pytest.mark.parametrize("factors", [1, 2])
def test_sums_on_the_grid_are_the_same_in_any_order(count, factors):
    rng = np.random.default_rng(count)
    bits = bits_of_exact_sums(count, factors)
    drawn = [scale * rng.standard_normal(count) for scale in (1e-3, 7.0)[:factors]]
    parts = [on_grid(values, grid_step(values, bits)) for values in drawn]
    products = np.prod(parts, axis=0)
    sums = {float(np.cumsum(rng.permutation(products))[-1]) for _ in range(20)}
    assert len(sums) == 1


def test_the_grid_is_as_fine_as_it_says():
    values = np.random.default_rng(0).uniform(-3.0, 5.0, 1000)
    step = grid_step(values, 20)
    rounded = on_grid(values, step)
    assert np.abs(rounded - values).max() <= step / 2 <= 5.0 * 2.0**-20
    assert np.array_equal(on_grid(rounded, step), rounded)
    assert grid_step(np.zeros(3), 20) == 1.0 == grid_step(np.empty(0), 20)


def test_scores_that_differ_in_the_last_bits_tie():
    score = np.array([0.1 + 0.2, 0.3, 0.25])
    assert settled(score).argmax() == 0 == settled(score[[1, 0, 2]]).argmax()


@pytest.mark.parametrize("seed", range(3))
def test_a_forest_on_tied_cuts_does_not_depend_on_the_last_bits(seed):
    """Integer features that repeat each other cut the users alike; rounding errors would choose among the cuts."""
    rng = np.random.default_rng(seed)
    n = 300
    base = rng.integers(0, 6, (n, 3)).astype(float)
    X = np.hstack([base, base[:, :2] * 2.0 + 1.0, rng.integers(0, 3, (n, 2))])
    y, weight = base[:, 0] + rng.normal(0.0, 2.0, n), rng.uniform(0.5, 1.5, n)
    test = rng.integers(0, 6, (50, X.shape[1])).astype(float)

    def grown(targets, weights):
        forest = HalfForest(X, targets, weights, 3, np.random.default_rng(1))
        return np.concatenate([forest.left_out, forest.predict(test)])

    expected = grown(y, weight)
    for shake in range(5):
        np.testing.assert_allclose(grown(shaken(y, shake), shaken(weight, shake + 50)), expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_cells_of_a_score_do_not_depend_on_the_last_bits(seed):
    """Neither the tree's cuts among tied features nor the bins of users whose score lies on an edge."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 5, (200, 4)).astype(float)
    X = np.hstack([base, 3.0 - base])
    codes = (base[:, 0] + rng.normal(0, 1, 200) > 2.0).astype(int)
    second = rng.integers(1, 6, 200) / 6.0
    score = np.column_stack([1.0 - second, second])
    expected = ScoreCells(score, X, codes, 4, 8, 0).locate(score, X)
    for shake in range(5):
        cells = ScoreCells(shaken(score, shake), X, codes, 4, 8, 0)
        assert np.array_equal(cells.locate(shaken(score, shake + 50), X), expected)


def test_nearest_neighbors_are_the_nearest_to_the_last_bit():
    """Many features and neighbors: distances are not expanded into products, whose errors would choose among ties."""
    rng = np.random.default_rng(0)
    X, queries = rng.integers(0, 4, (200, 24)) / 3.0, rng.integers(0, 4, (30, 24)) / 3.0
    distances = cdist(queries, X, "sqeuclidean")
    model = KNNMean(k=120, y_range=(0.0, 1.0)).fit(X, np.zeros(200))
    for own, found in zip(distances, model._nearest(queries), strict=True):
        assert np.array_equal(np.sort(own)[:120], np.sort(own[found]))
