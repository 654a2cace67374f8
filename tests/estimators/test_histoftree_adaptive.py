import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbench.datasets.masks import make_mask
from lpbench.errors import ConfigurationError
from lpbench.estimators import AdHistOfTree, HistOfTree
from lpbench.estimators.histoftree.adhistoftree import choose_partition, mean_inflation
from lpbench.problem import Problem
from lpbench.seeds import Streams
from tests.estimators.loops import learned


def brute_force(mask, epsilon, constant):
    """Equations (12) and (15), literally."""
    n, d = mask.shape
    order = sorted(range(d), key=lambda l: (-mask[:, l].sum(), l))
    best = (math.inf, None, None)
    for s in range(d):
        for p in range(1, max(1, math.ceil(math.log2(n))) + 1):
            delta = sum(2 ** (sum(mask[i, l] for l in order[s:]) * p / (d - s)) for i in range(n)) / n
            noise = 2 ** (p * (d + s) / (d - s)) * math.log(n) / (n * epsilon**2) * delta
            best = min(best, (noise + constant * 2 ** (-2 * p / (d - s)), s, p))
    return best


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 30), st.integers(1, 6), st.sampled_from([0.5, 2.0, 30.0]), st.sampled_from([0.01, 1.0]),
       st.integers(0, 2**32))  # fmt: skip
def test_the_choice_minimizes_the_bound(n, d, epsilon, constant, seed):
    rng = np.random.default_rng(seed)
    mask = rng.random((n, d)) < rng.random(d)
    value, s, p = brute_force(mask, epsilon, constant)
    chosen_s, chosen_p, bins = choose_partition(mask, epsilon, constant)
    if (s, p) != (chosen_s, chosen_p):  # only as a tie up to rounding
        delta = mean_inflation(mask, np.array([chosen_p]))[chosen_s, 0]
        exponent = chosen_p * (d + chosen_s) / (d - chosen_s)
        noise = 2**exponent * math.log(n) / (n * epsilon**2) * delta
        assert noise + constant * 2 ** (-2 * chosen_p / (d - chosen_s)) == pytest.approx(value, rel=1e-12)
    assert bins == max(1, round(2 ** (chosen_p / (d - chosen_s))))


def test_inflation_by_hand():
    # Feature 1 is protected by both users, feature 0 by the first.
    mask = np.array([[True, True], [False, True]])
    expected = [[(2 + 2**0.5) / 2, (4 + 2) / 2], [(2 + 1) / 2, (4 + 1) / 2]]
    assert np.allclose(mean_inflation(mask, np.array([1, 2])), expected)


def test_corner_cases_of_section_4_3():
    rng = np.random.default_rng(0)
    everyone = make_mask("all_private", 500, 4, rng)
    assert choose_partition(everyone, 1.0)[0] == 0  # equal rates: the smallest s
    nobody = make_mask("label_only", 500, 4, rng)
    assert choose_partition(nobody, 1.0)[0] == 0
    # Private users and a public sample (H: "s = 0 is the optimal choice").
    assert choose_partition(np.repeat(np.arange(500) < 400, 4).reshape(500, 4), 1.0)[0] == 0
    aligned = make_mask("aligned", 10_000, 5, rng, {"n_protected": 2})
    assert choose_partition(aligned, 4.0)[0] <= 2
    assert choose_partition(aligned, 16.0)[1] > choose_partition(aligned, 0.5)[1]


@pytest.mark.parametrize("epsilon", [1e-3, 1e6, math.inf])
def test_extreme_budgets_choose_something(epsilon):
    mask = make_mask("power_law", 300, 100, np.random.default_rng(0), {"gamma": 1.0})
    n_grid_features, depth, bins = choose_partition(mask, epsilon)
    assert 0 <= n_grid_features < 100 and 1 <= depth <= 9 and bins >= 1
    assert choose_partition(mask[:1], epsilon)[1] == 1


def test_with_depth_zero_allowed_the_rule_may_leave_a_depth_0_tree():
    """At p = 0 the bound is log n / (n epsilon^2) + C for every s; the noise of any cut exceeds what C = 0.01 gains."""
    mask = make_mask("aligned", 500, 8, np.random.default_rng(0), {"n_protected": 2})
    assert choose_partition(mask, 1.0, 0.01, min_depth=0) == (0, 0, 1)
    assert choose_partition(mask, 1.0, 0.01)[1] >= 1
    # where a cut pays, allowing none changes nothing
    assert choose_partition(mask, 64.0, 1.0, min_depth=0) == choose_partition(mask, 64.0, 1.0)
    X, y = np.random.default_rng(1).random((500, 8)), np.linspace(0, 1, 500)
    model = AdHistOfTree(1.0, constant=0.01, min_depth=0, y_range=(0, 1), random_state=0).fit(X, y, mask=mask)
    assert np.ptp(model.predict(X)) == 0


def test_it_is_histoftree_at_the_chosen_setting():
    rng = np.random.default_rng(0)
    X, mask = rng.random((400, 5)), make_mask("power_law", 400, 5, rng, {"gamma": 2.0})
    y = np.clip(X.sum(axis=1), 0, 5)
    n_grid_features, depth, bins = choose_partition(mask, 8.0, 0.1)
    for offset in (-1, 0, 1):
        adaptive = AdHistOfTree(8.0, constant=0.1, bins_offset=offset, y_range=(0, 5), random_state=0)
        fixed = HistOfTree(
            8.0, n_grid_features=n_grid_features, depth=depth, bins=max(1, bins + offset), label_share=0.5,
            y_range=(0, 5), random_state=0,
        )  # fmt: skip
        assert (learned(adaptive, X, y, mask=mask).predict(X) == learned(fixed, X, y, mask=mask).predict(X)).all()
        assert (adaptive.n_grid_features_, adaptive.depth_) == (n_grid_features, depth)
        assert adaptive.guarantee_ == fixed.guarantee_


def test_a_choice_of_too_many_cells_is_refused_with_the_reason():
    """Without noise the rule cuts d - 1 features into 2^p bins each, here 2^(119 * 10 + 10) cells."""
    rng = np.random.default_rng(0)
    X, y = rng.random((600, 120)), rng.random(600)
    with pytest.raises(ConfigurationError, match=r"more than 2\^1000"):
        AdHistOfTree(math.inf, y_range=(0, 1)).fit(X, y)
    scenario = Problem(X, y, X[:50], y[:50], y_range=(0, 1))
    swept = AdHistOfTree(y_range=(0, 1)).sweep(scenario, [1.0, math.inf], {"label_share": [0.5, 0.7]}, Streams(0))
    assert np.isfinite(swept.values[0]).all() and np.isnan(swept.values[1]).all()
    assert swept.reasons.keys() == {(1, 0), (1, 1)}
    status, reason = swept.reasons[1, 0]
    assert status == "skipped" and "more than 2^1000" in reason
