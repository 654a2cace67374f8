import math
from dataclasses import replace

import numpy as np
import pytest

from lpbench.estimators import LPCT
from lpbench.estimators.base import expand_grid
from lpbench.estimators.lpct import partition as lpct_partition
from lpbench.estimators.lpct.partition import PublicTree, rate_depth
from lpbench.estimators.lpct.votes import VoteMechanism
from lpbench.partitions.candidates import CandidateCuts
from lpbench.problem import Problem
from lpbench.seeds import Streams
from tests.estimators.loops import drift, fitted, learned, loop_of_fits

BUDGETS = [0.5, 4.0, math.inf]


def three_classes(seed=0, outside=False):
    rng = np.random.default_rng(seed)
    spread = 1.3 if outside else 1.0
    X = rng.random((500, 3)) * spread
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0.5).astype(int) + (rng.random(500) < 0.3 + 0.4 * (X[:, 1] > 0.5))]
    return Problem(X[:300], y[:300], X[300:440], y[300:440], X_public=X[440:], y_public=y[440:], metric="accuracy")


def test_two_leaves_by_hand():
    """One feature cut at 1/2. Left: 2 of 3 private and 0 of 1 public rows are 1; right: 1 of 2 and 2 of 2."""
    X, y = np.array([[0.1], [0.2], [0.3], [0.7], [0.8]]), np.array([1, 1, 0, 1, 0])
    X_public, y_public = np.array([[0.4], [0.6], [0.9]]), np.array([0, 1, 1])
    shown = {0.5: (2 / 3.5, 2 / 3), 1.0: (2 / 4, 3 / 4), 2.0: (2 / 5, 5 / 6)}
    for weight, (left, right) in shown.items():
        model = LPCT(epsilon=math.inf, depth=1, public_weight=weight).fit(X, y, X_public=X_public, y_public=y_public)
        assert model.predict_proba([[0.0], [1.0]])[:, 1] == pytest.approx([left, right], abs=1e-15)
        assert model.predict([[0.49], [0.5]]).tolist() == [int(left > 0.5), 1]
    alone = LPCT(epsilon=math.inf, depth=1, source="private").fit(X, y, X_public=X_public, y_public=y_public)
    assert alone.predict_proba([[0.0], [1.0]])[:, 1] == pytest.approx([2 / 3, 1 / 2], abs=1e-15)
    assert alone.predict([[1.0]]) == [0]  # 1/2 is not above 1/2
    public = LPCT(epsilon=0.1, depth=1, source="public").fit(X, y, X_public=X_public, y_public=y_public)
    assert public.predict_proba([[0.0], [1.0]])[:, 1].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("mechanism", ["laplace", "rr"])
@pytest.mark.parametrize("rule", ["max_edge", "cart", "random"])
def test_without_noise_it_is_the_weighted_partition_estimate(rule, mechanism):
    """Eq. (9), cell by cell, for three classes."""
    problem = three_classes()
    model = fitted(
        LPCT(epsilon=math.inf, depth=3, public_weight=2.5, rule=rule, mechanism=mechanism, random_state=1), problem
    )
    cells, public = model.tree_.apply(problem.X_train), model.tree_.apply(problem.X_public)
    found = model.predict_proba(problem.X_test)
    for i, cell in enumerate(model.tree_.apply(problem.X_test)):
        votes = [
            np.sum(problem.y_train[cells == cell] == k) + 2.5 * np.sum(problem.y_public[public == cell] == k)
            for k in model.classes_
        ]
        assert found[i] == pytest.approx(np.array(votes) / np.sum(votes), abs=1e-12)


@pytest.mark.parametrize("rule", ["max_edge", "cart"])
def test_without_public_data_cuts_are_midpoints_of_the_smallest_index(rule):
    problem = drift()
    model = LPCT(depth=3, rule=rule).fit(problem.X_train, problem.y_train)
    assert model.tree_.n_leaves() == 8
    assert model.tree_.feature[:7].tolist() == [0, 1, 1, 0, 0, 0, 0]
    assert model.tree_.threshold[:3].tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("rule", ["max_edge", "random"])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_one_tree_holds_all_smaller_ones(rule, criterion):
    problem = drift(n_public=120)

    def grow(depth, size):
        shape = {"n_features": 2, "n_classes": 2, "rule": rule, "criterion": criterion}
        sample = (problem.X_public, problem.y_public)
        return PublicTree.grow([sample], [Streams(4)], depth=depth, min_samples_leaf=size, **shape)[0]

    trunk = grow(7, 0)
    for depth in range(8):
        for size in (0, 1, 5, 20, 130):
            ours, own = trunk.leaves(depth, size), grow(depth, size)
            cells = [np.concatenate(trunk.tree.bounds(v)) for v in ours]
            expected = [np.concatenate(own.tree.bounds(v)) for v in own.leaves(depth)]
            assert np.array_equal(cells, expected)


def test_sum_upwards_and_ancestors():
    problem = drift()
    shape = {"n_features": 2, "n_classes": 2, "rule": "max_edge", "criterion": "gini"}
    sample = (problem.X_public, problem.y_public)
    (tree,) = PublicTree.grow([sample], [Streams(0)], depth=4, min_samples_leaf=1, **shape)
    values = np.zeros(tree.tree.n_nodes)
    leaves = tree.leaves(4)
    values[leaves] = np.arange(1, leaves.size + 1)
    total = tree.sum_upwards(values.copy())
    above = tree.ancestors(leaves, 5)
    assert total[0] == values.sum()
    for node in range(tree.tree.n_nodes):
        below = (above == node).any(axis=0)
        assert total[node] == values[leaves[below]].sum()
    assert (above[5] == -1).all()


GRID = {"depth": [1, 3, 6, None], "public_weight": [0, 0.5, 20, None], "min_samples_leaf": [1, 5]}


@pytest.mark.parametrize(
    "model, grid",
    [
        (LPCT(criterion="entropy"), GRID),
        (LPCT(rule="random"), GRID),
        (LPCT(rule="cart"), {"depth": [1, 4], "public_weight": [0.5, 20], "min_samples_leaf": [1, 5]}),
        (LPCT(search="released"), {"depth": [1, 4], "min_samples_leaf": [1, 5], "rule": ["cart", "max_edge"]}),
        (LPCT(mechanism="rr"), {"depth": [2, 4], "public_weight": [1, None]}),
        (LPCT(source="private"), {"depth": [1, 3, None], "min_samples_leaf": [1, 10]}),
        (LPCT(source="public"), {"depth": [1, 3, None], "min_samples_leaf": [1, 10]}),
        (LPCT(depth=2), {"source": ["both", "private"], "mechanism": ["laplace", "rr"], "rule": ["max_edge", "cart"]}),
        (LPCT(depth=2), {"noise": ["sum", "per_user"]}),
        (LPCT(noise="discrete"), {"depth": [1, 3], "public_weight": [0.0, 1.0], "min_samples_leaf": [1, 5]}),
        (LPCT(outside="zero"), {"domain": [None, [0, 0.5], (0.0, 2.0)], "depth": [2, 4], "public_weight": [1.0]}),
        (LPCT(), [{"depth": 2, "public_weight": 3.0}, {"depth": None, "public_weight": None}, {"min_samples_leaf": 4}]),
    ],
)
def test_sweep_is_the_loop_over_fits(model, grid):
    problem, streams = drift(), Streams(9)
    swept = model.sweep(problem, BUDGETS, grid, streams).values
    assert swept.shape == (len(BUDGETS), len(expand_grid(grid)))
    np.testing.assert_array_equal(swept, loop_of_fits(model, problem, BUDGETS, grid, streams))


def test_sweep_with_three_classes_points_outside_and_a_label_seen_in_no_sample():
    problem = three_classes(outside=True)
    problem.y_test[:5] = "unseen"
    grid = {"depth": [2, 5], "public_weight": [0.1, 10.0], "outside": ["route", "zero"]}
    swept = LPCT().sweep(problem, BUDGETS, grid, Streams(2)).values
    np.testing.assert_array_equal(swept, loop_of_fits(LPCT(), problem, BUDGETS, grid, Streams(2)))


def test_sweep_of_another_metric():
    problem = drift()
    other = Problem(**{**vars(problem), "metric": "excess_risk"})
    swept = LPCT().sweep(other, [1.0, math.inf], {"depth": [2, 4]}, Streams(1)).values
    assert (swept >= 0).all() and (swept[1] <= 0.4).all()


def test_outside_points():
    problem = drift()
    far = np.array([[-0.2, 0.9], [0.9, 1.2]])
    kept = {"epsilon": math.inf, "depth": 2, "random_state": 0}
    route = fitted(LPCT(outside="route", **kept), problem)
    zero = fitted(LPCT(outside="zero", **kept), problem)
    assert np.array_equal(route.predict(far), route.predict(np.clip(far, 0, 1)))
    assert np.array_equal(zero.predict(far), [0, 0])
    assert np.array_equal(zero.predict_proba(far), [[1, 0], [1, 0]])
    assert np.array_equal(zero.predict(problem.X_test), route.predict(problem.X_test))


def test_domain_is_mapped_to_the_unit_cube_without_clipping():
    problem = drift()
    wide = Problem(**{**vars(problem), "X_train": 4 * problem.X_train - 1, "X_public": 4 * problem.X_public - 1})
    unit = fitted(LPCT(depth=4, random_state=2), problem)
    mapped = fitted(LPCT(depth=4, random_state=2, domain=(-1, 3)), wide)
    assert np.array_equal(unit.predict(problem.X_test), mapped.predict(4 * problem.X_test - 1))
    assert fitted(LPCT(depth=1, outside="zero", domain=(-1, 3)), wide).predict([[3.5, 0.0]]) == [0]


def test_guarantee():
    problem = drift()
    model = fitted(LPCT(epsilon=1.5, depth=2), problem)
    leaves = model.tree_.n_leaves()
    assert model.guarantee_.model == "ldp"
    assert model.guarantee_.epsilon == pytest.approx(1.5, rel=1e-12)
    assert (model.guarantee_.rounds, model.guarantee_.delta) == (1, 0.0)
    assert model.guarantee_.bits_up == 64 * 2 * leaves
    assert fitted(LPCT(depth=2, mechanism="rr"), problem).guarantee_.bits_up == 2 * leaves
    assert fitted(LPCT(epsilon=math.inf, depth=2), problem).guarantee_.epsilon == math.inf
    # one cell: U says nothing, V moves in one entry of scale 4 / epsilon
    assert fitted(LPCT(epsilon=1.0, depth=0), problem).guarantee_.epsilon == 0.25
    unasked = fitted(LPCT(epsilon=1.0, depth=2, source="public"), problem).guarantee_
    assert (unasked.epsilon, unasked.rounds, unasked.bits_up) == (0.0, 0, 0.0)


def test_settings_from_sizes_and_budget():
    problem = drift()
    model = fitted(LPCT(epsilon=2.0, random_state=0), problem)
    depth = rate_depth(400, 60, 2, 2.0)
    weight = 1 + 160 * model.tree_.n_leaves() / 2.0**2  # 5 v n_cells with v = 32 / epsilon^2
    same = fitted(LPCT(epsilon=2.0, depth=depth, public_weight=weight, random_state=0), problem)
    assert model.tree_.n_leaves() == same.tree_.n_leaves()
    np.testing.assert_allclose(model.leaf_probability_, same.leaf_probability_, rtol=1e-12)
    assert LPCT.balanced_weight(8, VoteMechanism(2.0)) == 1 + 160 * 8 / 4
    # n_P eps^2 / log = 10^4 / log(10050), (n_Q / log)^1.5: 2^p is the third root of their sum
    log = math.log(10050)
    assert rate_depth(10000, 50, 2, 1.0) == math.floor(math.log2(10000 / log + (50 / log) ** 1.5) / 3)
    assert rate_depth(10000, 50, 2, 1000.0) == rate_depth(10000, 50, 2, math.inf) == rate_depth(10000, 50, 2, 10.0)
    assert rate_depth(5, 0, 2, 0.01) == 1


def test_bad_data():
    problem = drift()
    with pytest.raises(ValueError, match="source='public' needs a public sample"):
        LPCT(source="public").fit(problem.X_train, problem.y_train)
    with pytest.raises(ValueError, match="rule='random' draws them: leave search='all'"):
        fitted(LPCT(search="released", rule="random"), problem)
    with pytest.raises(ValueError, match="noise='discrete' is Laplace"):
        LPCT(noise="discrete", mechanism="rr", depth=1).fit(problem.X_train, problem.y_train)
    with pytest.raises(ValueError, match="no parameter 'lamda'"):
        LPCT().sweep(problem, [1.0], {"lamda": [1.0]}, Streams(0))


def test_what_follows_from_a_public_sample_that_replications_share_is_made_once(monkeypatch):
    grown, searched = [], []
    growth, search = lpct_partition.grow_max_edge_forest, CandidateCuts.__init__

    def counted_growth(samples, *arguments, **options):
        grown.append(len(samples))
        return growth(samples, *arguments, **options)

    def counted_search(self, *arguments, **options):
        searched.append(self)
        search(self, *arguments, **options)

    monkeypatch.setattr(lpct_partition, "grow_max_edge_forest", counted_growth)
    monkeypatch.setattr(CandidateCuts, "__init__", counted_search)
    first, second, other = drift(seed=0), drift(seed=1), drift(seed=2)
    second = replace(second, X_public=first.X_public.copy(), y_public=first.y_public.copy())
    for options in ({}, {"rule": "random"}, {"search": "released"}):
        streams = [Streams(k) for k in range(3)]
        LPCT(**options).sweep_many([first, second, other], [1.0], {"depth": [3]}, streams)
    assert grown == [2, 3] and len(searched) == 2


def test_without_public_rows_the_released_search_has_nothing_to_look_at():
    problem = drift()
    trees = [
        learned(LPCT(2.0, 3, search=s, random_state=0), problem.X_train, problem.y_train) for s in ("all", "released")
    ]
    assert (trees[0].predict(problem.X_test) == trees[1].predict(problem.X_test)).all()


def test_points_that_seal_users_differently_keep_their_places():
    """As a mapping and as a list of points, in any order; a parameter without a value is named."""
    problem, streams, grid = three_classes(outside=True), Streams(3), {"depth": [3, 1], "domain": [(0.0, 2.0), None]}
    points = expand_grid(grid)
    mapped = LPCT().sweep(problem, BUDGETS, grid, streams).values
    np.testing.assert_array_equal(mapped, loop_of_fits(LPCT(), problem, BUDGETS, grid, streams))
    listed = LPCT().sweep(problem, BUDGETS, points[::-1], streams).values
    np.testing.assert_array_equal(listed[:, ::-1], mapped)
    with pytest.raises(ValueError, match="'domain' has no value"):
        LPCT().sweep(problem, BUDGETS, {**grid, "domain": []}, streams)
