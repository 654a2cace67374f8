import numpy as np
import pytest

from lpbench.analysis.ranks import rank_intervals, rank_sums, ranks, wins
from lpbench.analysis.rates import bootstrap, bootstrap_means, local_slopes, loglog_slope, ratio_of_means, slope

# three data sets x three methods, lower is better
TABLE = np.array([[1.0, 1.0, 2.0], [3.0, 2.0, 1.0], [1.0, 2.0, np.nan]])


@pytest.mark.parametrize(("ties", "expected"), [("min", [5, 5, 7]), ("average", [5.5, 5.5, 7]), ("max", [6, 6, 7])])
def test_rank_sums_by_hand(ties, expected):
    assert rank_sums(TABLE, larger_is_better=False, ties=ties).tolist() == expected


def test_wins_count_every_one_of_equals():
    assert wins(TABLE, larger_is_better=False).tolist() == [2, 1, 1]


def test_data_set_without_any_value_is_left_out():
    empty = np.vstack([TABLE, np.full(3, np.nan)])
    assert rank_sums(empty, larger_is_better=False).tolist() == rank_sums(TABLE, larger_is_better=False).tolist()


def test_larger_is_better_and_missing_is_last():
    assert ranks(np.array([1.0, 2.0, np.nan]), larger_is_better=True).tolist() == [2, 1, 3]


def test_slopes_of_exact_power_laws():
    x = np.array([1.0, 2, 4, 8])
    curves = np.stack([3 * x**-0.5, 7 * x**-1.0])
    np.testing.assert_allclose(loglog_slope(x, curves), [-0.5, -1.0])
    np.testing.assert_allclose(local_slopes(x, curves), np.array([[-0.5] * 3, [-1.0] * 3]))
    assert slope(np.array([0.0, 1, 2]), np.array([1.0, 3, 5])) == pytest.approx(2)
    assert slope(np.log2([1.0, 3.0, 7.0]), np.full((2, 3), 0.1)).tolist() == [0.0, 0.0]


def test_slope_of_a_single_place_is_an_error():
    with pytest.raises(ValueError, match="two different places"):
        slope(np.array([1.0, 1.0]), np.array([1.0, 2.0]))


def test_bootstrap_means_keep_the_mean_and_the_pairing():
    samples = np.random.default_rng(0).normal(size=(30, 1)) + np.array([0.0, 5.0])
    means = bootstrap_means(samples, draws=500)
    assert means.shape == (500, 2)
    np.testing.assert_allclose(means[:, 1] - means[:, 0], 5.0)
    np.testing.assert_array_equal(means, bootstrap_means(samples, draws=500))


def test_bootstrap_interval_has_the_width_of_the_standard_error():
    samples = np.random.default_rng(0).normal(size=(400, 1))
    interval = bootstrap(samples, lambda m: m[..., 0], draws=4000)
    se = samples.std(ddof=1) / 20
    assert interval.low < interval.estimate < interval.high
    assert (interval.high - interval.low) / (2 * 1.96 * se) == pytest.approx(1, abs=0.15)


def test_ratio_of_means_is_exact_for_proportional_scores():
    b = np.array([1.0, 2.0, 4.0])
    ratio, se = ratio_of_means(3 * b, b)
    assert ratio == pytest.approx(3) and se == pytest.approx(0, abs=1e-12)
    assert np.isnan(ratio_of_means([1.0], [2.0])[1])


@pytest.mark.parametrize("n_sets", [5, 9, 14])
def test_rank_intervals_cover_the_mean_rank_over_data_sets(n_sets):
    """Data sets are drawn with their splits; a bootstrap over five of them would cover 85 %."""
    rng = np.random.default_rng(n_sets)
    level = 0.3 * np.arange(6)

    def drawn(count):
        return level + rng.normal(size=(count, 1)) + 0.7 * rng.normal(size=(count, 6))

    truth = ranks(drawn(20_000), larger_is_better=True).mean(axis=0)
    inside = []
    for _ in range(400):
        _, low, high = rank_intervals(drawn(n_sets), larger_is_better=True)
        inside.append((low <= truth) & (truth <= high))
    assert 0.93 < np.mean(inside) < 0.98


def test_rank_intervals_by_hand():
    mean, low, high = rank_intervals(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]), larger_is_better=False)
    np.testing.assert_allclose(mean, [4 / 3, 5 / 3])
    np.testing.assert_allclose([low, high], [[1, 1], [2, 2]])
    assert np.isnan(rank_intervals(np.array([[1.0, 2.0]]), larger_is_better=False)[1]).all()
