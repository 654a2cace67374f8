"""Average ranks against Demšar's worked example, and properties that hold for any table."""

import numpy as np
import pytest
from scipy import stats

from lpbench.analysis.critical import critical_difference

#: Demšar (2006), table 6: AUC of four variants of C4.5 on fourteen data sets (one printed tie broken as ranked there).
AUC = np.array(
    [
        *([0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967]),
        *([0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931]),
        *([0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875]),
        *([1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669]),
        *([0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970]),
    ]
)


def test_demsars_example():
    found = critical_difference(AUC, larger_is_better=True)
    assert found.mean_ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    # 2.569 sqrt(4 * 5 / (6 * 14)) as printed there
    assert found.width == pytest.approx(2.569 * np.sqrt(20 / 84), abs=1e-3)
    assert found.groups == ((3, 1, 2, 0),) and found.n_datasets == 14


def test_friedman_agrees_with_scipy_where_no_two_tie():
    values = np.random.default_rng(0).normal(size=(9, 5)) + 0.4 * np.arange(5)
    chi2 = stats.friedmanchisquare(*values.T).statistic
    f = 8 * chi2 / (9 * 4 - chi2)
    found = critical_difference(values, larger_is_better=False)
    assert found.p_value == pytest.approx(stats.f.sf(f, 4, 32))


def test_equal_methods_and_a_clear_order():
    same = critical_difference(np.ones((6, 4)), larger_is_better=True)
    assert same.p_value == 1 and same.groups == ((0, 1, 2, 3),)
    clear = critical_difference(np.tile([1.0, 2, 3], (40, 1)), larger_is_better=False)
    assert clear.p_value == 0 and clear.groups == () and clear.mean_ranks.tolist() == [1, 2, 3]


def test_a_missing_value_ranks_last_and_an_empty_data_set_is_left_out():
    values = np.vstack([np.tile([3.0, 2, 1], (5, 1)), np.full((1, 3), np.nan)])
    values[:5, 2] = np.nan
    found = critical_difference(values, larger_is_better=False)
    assert found.n_datasets == 5 and found.mean_ranks.tolist() == [2, 1, 3]


def test_groups_are_the_largest_intervals():
    rng = np.random.default_rng(1)
    found = critical_difference(rng.normal(size=(12, 7)) + np.arange(7), larger_is_better=False)
    order = np.argsort(found.mean_ranks, kind="stable")
    for group in found.groups:
        places = [int(np.flatnonzero(order == c)[0]) for c in group]
        assert places == list(range(places[0], places[-1] + 1))
        spread = found.mean_ranks[list(group)]
        assert np.ptp(spread) <= found.width
    assert not any(set(a) < set(b) for a in found.groups for b in found.groups)


def test_too_little_is_refused():
    with pytest.raises(ValueError, match="at least 5 data sets"):
        critical_difference(np.ones((4, 3)), larger_is_better=True)
