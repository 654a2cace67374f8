import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from lpbench.datasets.masks import make_mask
from lpbench.errors import ConfigurationError, PrivacyLeakWarning
from lpbench.estimators import AdHistOfTree, HistOfTree
from lpbench.estimators.base import expand_grid
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.partitions import grid_digits
from lpbench.privacy import Records, SimulatedUsers
from lpbench.privacy.users import answer_streams
from lpbench.problem import Problem
from lpbench.seeds import Streams
from tests.estimators.loops import learned, loop_of_fits

RANGE = (-4.0, 8.0)


def sample(n=200, d=5, mask="personalized", seed=0, **mask_params):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.clip(np.sin(X[:, 0]) + np.sin(X[:, 1]) + 2 * X[:, -1] + rng.normal(size=n), *RANGE)
    return X, y, make_mask(mask, n, d, rng, mask_params)


def problem(mask="personalized", n=120, m=60, **mask_params):
    X, y, _ = sample(n + m, seed=1)
    return Problem(X[:n], y[:n], X[n:], y[n:], sample(n, mask=mask, **mask_params)[2], y_range=RANGE)


@pytest.mark.parametrize("rule", ["max_edge", "cart", "random"])
@pytest.mark.parametrize("mechanism", ["grr", "rr"])
@pytest.mark.parametrize(
    ("mask", "params"), [("aligned", {"n_protected": 2}), ("power_law", {"gamma": 1.0}), ("label_only", {})]
)
def test_without_noise_it_is_the_partition_estimate(rule, mechanism, mask, params):
    """HistOfTree eq. (3): the mean label of the training rows in the cell, whatever the mask hides."""
    X, y, mask = sample(mask=mask, **params)
    model = HistOfTree(math.inf, n_grid_features=2, bins=3, depth=3, rule=rule, mechanism=mechanism, y_range=RANGE)
    model.fit(X, y, mask=mask)
    points = np.vstack([X, np.random.default_rng(9).random((100, 5))])

    def cells(Z):
        grid = grid_digits(Z[:, model.grid_columns_], 3)
        return np.column_stack([grid, model.tree_.apply(Z[:, model.tree_columns_])])

    same = (cells(points)[:, None] == cells(X)).all(axis=2)
    filled = same.any(axis=1)
    assert (~filled).any()
    expected = (same[filled] @ y) / same[filled].sum(axis=1)
    assert np.allclose(model.predict(points)[filled], expected)
    if not mask.any():  # an empty cell predicts the mean of its leaf
        leaves = model.tree_.apply(X[:, model.tree_columns_]) == cells(points)[~filled][:, -1:]
        assert np.allclose(model.predict(points)[~filled], (leaves @ y) / leaves.sum(axis=1))


@pytest.mark.parametrize("rule", ["max_edge", "cart"])
def test_the_aligned_case_is_equation_6(rule):
    """Reports, sums and labels written down for an aligned mask alone, with the same draws."""
    X, y, mask = sample(mask="aligned", n_protected=2)
    epsilon, share, bins = 2.0, 0.6, 2
    model = HistOfTree(epsilon, bins=bins, depth=3, label_share=share, rule=rule, y_range=RANGE, random_state=4)
    learned(model, X, y, mask=mask)
    first, streams = (answer_streams(Streams(4).party("users"), "ask", number) for number in (0, 1))
    n, m = len(y), bins**2
    labels = y + (RANGE[1] - RANGE[0]) / (share * epsilon) * first.generator("label").laplace(size=n)
    grown = math.exp((1 - share) * epsilon)
    p, q = grown / (grown + m - 1), 1 / (grown + m - 1)
    digits = grid_digits(X[:, :2], bins)
    other = [streams.generator("report", draw="bin", feature=f).random(n) for f in (0, 1)]
    other = grid_digits(np.column_stack(other), bins)
    honest = streams.generator("report", draw="keep").random(n) < p - q
    reported = np.where(honest[:, None], digits, other) @ [bins, 1]
    indicator = ((reported[:, None] == np.arange(m)) - q) / (p - q)
    leaf = model.tree_.apply(X[:, 2:])
    points = np.random.default_rng(9).random((300, 5))
    cell, node = grid_digits(points[:, :2], bins) @ [bins, 1], model.tree_.apply(points[:, 2:])
    inside = leaf == node[:, None]
    count = (inside * indicator[:, cell].T).sum(axis=1)
    total = (inside * indicator[:, cell].T) @ labels
    leaf_mean = (inside @ labels) / inside.sum(axis=1)
    ratio = np.where(count > 1e-9, total / np.where(count > 1e-9, count, 1.0), leaf_mean)
    assert (count < 0).any()
    assert np.allclose(model.predict(points), np.clip(ratio, *RANGE))


@pytest.mark.parametrize("partly", [False, True])
@pytest.mark.parametrize("rule", ["max_edge", "cart"])
def test_a_sweep_shares_cells_that_are_equal(rule, partly):
    """Two features are protected by everybody, and perhaps a third by some."""
    scenario, model = problem("power_law"), HistOfTree(rule=rule, y_range=RANGE)
    mask = np.zeros_like(scenario.mask)
    mask[:, [1, 3]] = True
    mask[:70, 2] = partly
    scenario = replace(scenario, mask=mask)
    grid = {"depth": [0, 2, 4], "bins": [1, 2, 3], "n_grid_features": [0, 1, 2, 3]}
    arguments = (scenario, [0.7, 4.0], grid, Streams(3))
    expected = loop_of_fits(model, *arguments)
    assert np.allclose(model.sweep(*arguments).values, expected, rtol=1e-9, atol=1e-9)
    by_point = expected.reshape(2, 3, 3, 4)  # budget, bins, depth, n_grid_features
    assert (by_point[:, :, :, 0] == by_point[:, :1, :, 0]).all(), "without grid features there is one cell"


@pytest.mark.parametrize("mask", ["aligned", "power_law"])
@pytest.mark.parametrize("rule", ["max_edge", "cart"])
def test_a_cell_of_the_tree_holds_enough_users(rule, mask):
    scenario, model = problem(mask), HistOfTree(rule=rule, y_range=RANGE)
    grid = {"min_samples_leaf": [1, 20, 10_000], "depth": [0, 4], "bins": [1, 2]}
    arguments = (scenario, [2.0], grid, Streams(3))
    swept = model.sweep(*arguments).values
    assert np.allclose(swept, loop_of_fits(model, *arguments), rtol=1e-9, atol=1e-9)
    of = {tuple(point[name] for name in grid): value for point, value in zip(expand_grid(grid), swept[0], strict=True)}
    assert all(of[10_000, 4, bins] == of[10_000, 0, bins] for bins in (1, 2)), "more users than there are: no cut"
    for least in (1, 20):
        fitted = HistOfTree(2.0, rule=rule, depth=4, min_samples_leaf=least, y_range=RANGE, random_state=0)
        tree = fitted.fit(scenario.X_train, scenario.y_train, mask=scenario.mask).tree_
        assert (tree.n_samples[1:] >= least).all() and (tree.n_nodes > 1)


DISCRETE = {"depth": [0, 2], "bins": [1, 2], "label_share": [0.5, 0.9]}
OTHERS = [{"mechanism": "rr", "bins": 3}, {"rule": "cart"}, {"split_score": "algorithm1"}, {"clip": False}]
CONSTANTS = {"constants": ["paper", "tight"]}


@pytest.mark.parametrize(
    ("model", "mask", "grid"),
    [
        (HistOfTree(), "power_law", OTHERS),
        (HistOfTree(), "power_law", OTHERS[:3]),
        (HistOfTree(), "power_law", [{"noise": "laplace"}, {"noise": "discrete"}]),
        (HistOfTree(noise="discrete"), "power_law", DISCRETE),
        (HistOfTree(noise="discrete", rule="cart"), "power_law", DISCRETE),
        (HistOfTree(), "aligned", {"bins": [1, 2], "label_share": [0.5, 0.9], **CONSTANTS}),
        (AdHistOfTree(), "aligned", {"bins_offset": [-9, 0], **CONSTANTS}),
    ],
)
def test_grids_over_other_parameters_are_swept_too(model, mask, grid):
    arguments = problem(mask), [0.7, 4.0], grid, Streams(3)
    model = clone(model).set_params(y_range=RANGE)
    assert np.allclose(model.sweep(*arguments).values, loop_of_fits(model, *arguments), rtol=1e-9, atol=1e-9)


def test_discrete_labels_lie_on_the_grid():
    X, y, mask = sample()
    users = SimulatedUsers(Records(X, y, mask), Streams(1))
    labels = users.ask(LABEL, LabelQuestion(RANGE, 0.5, noise="discrete"))
    np.testing.assert_array_equal(labels % 2.0**-7, 0.0)
    np.testing.assert_array_equal(labels, users.fresh().ask(LABEL, LabelQuestion(RANGE, 0.5, noise="discrete")))
    constant = HistOfTree(noise="discrete", y_range=None, n_grid_features=0, depth=1, label_share=1.0)
    with pytest.warns(PrivacyLeakWarning):
        assert constant.fit(X, np.full(len(X), 0.3), mask=np.zeros_like(mask)).predict(X) == pytest.approx(0.3)


def test_a_sweep_leaves_the_estimator_untouched():
    model = HistOfTree(y_range=RANGE)
    model.sweep(problem(), [1.0], {"depth": [1, 2]}, Streams(0))
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_random_tree_depends_neither_on_the_data_nor_on_the_mask():
    trees = []
    for seed, name in enumerate(["power_law", "label_only"]):
        X, y, mask = sample(mask=name, seed=seed)
        model = HistOfTree(n_grid_features=1, depth=4, rule="random", y_range=RANGE, random_state=7)
        trees.append(model.fit(X, y, mask=mask).tree_)
    assert (trees[0].feature == trees[1].feature).all() and trees[0].n_leaves() == 16


@pytest.mark.parametrize(
    ("mask", "settings", "spent", "model_name"),
    [
        ("aligned", {"bins": 2}, 2.0, "semi_feature_ldp"),
        ("aligned", {"bins": 1, "label_share": 0.7}, 1.4, "semi_feature_ldp"),
        ("aligned", {"bins": 1, "label_share": 1.0}, 2.0, "semi_feature_ldp"),
        ("aligned", {"bins": 1, "label_share": 0.7, "n_grid_features": 0}, 1.4, "semi_feature_ldp"),
        ("power_law", {"bins": 1}, 2.0, "semi_feature_ldp"),
        ("label_only", {"label_share": 0.25}, 0.5, "label_ldp"),
        ("all_private", {"label_share": 0.25}, 2.0, "ldp"),
        ("all_private", {"label_share": 0.25, "bins": 1}, 0.5, "ldp"),
        ("aligned", {"bins": 1, "constants": "tight"}, 2.0, "semi_feature_ldp"),
        ("label_only", {"label_share": 0.25, "constants": "tight"}, 2.0, "label_ldp"),
        ("aligned", {"bins": 2, "constants": "tight"}, 2.0, "semi_feature_ldp"),
    ],
)
def test_the_guarantee_is_what_was_spent(mask, settings, spent, model_name):
    X, y, mask = sample(mask=mask)
    guarantee = HistOfTree(2.0, y_range=RANGE, **settings).fit(X, y, mask=mask).guarantee_
    assert guarantee.epsilon == pytest.approx(spent, rel=1e-12)
    assert (guarantee.model, guarantee.delta, guarantee.rounds, guarantee.note) == (model_name, 0.0, 2, "")


def test_bits_count_the_label_the_public_features_and_the_cell():
    X, y, mask = sample(mask="aligned", n_protected=2)
    fitted = HistOfTree(2.0, bins=4, depth=2, y_range=RANGE).fit(X, y, mask=mask)
    assert fitted.guarantee_.bits_up == 64 * (1 + 3) + 2 * 2 + 2  # two bins of four, and one of four leaves
    cuts = fitted.guarantee_.bits_down - clone(fitted).set_params(depth=0).fit(X, y, mask=mask).guarantee_.bits_down
    assert cuts == 3 * (64 + 2)
    assert fitted.set_params(mechanism="rr").fit(X, y, mask=mask).guarantee_.bits_up == 64 * 4 + 4**2 * 4


@pytest.mark.parametrize(("mask", "settings"), [("aligned", {"bins": 2}), ("power_law", {"bins": 1, "depth": 3})])
def test_the_whole_budget_for_the_label_is_refused_where_cells_are_randomized(mask, settings):
    X, y, mask = sample(mask=mask)
    with pytest.raises(ConfigurationError, match="label_share=1"):
        HistOfTree(2.0, label_share=1.0, y_range=RANGE, **settings).fit(X, y, mask=mask)
    with pytest.raises(ConfigurationError, match="label_share=1"):
        scenario = Problem(X, y, X, y, mask, y_range=RANGE)
        HistOfTree(y_range=RANGE).sweep(scenario, [1.0], [settings, settings | {"label_share": 1.0}], Streams(0))


@pytest.mark.parametrize("mask", ["aligned", "power_law", "label_only", "all_private"])
@pytest.mark.parametrize(
    "settings", [{"bins": 1}, {"bins": 2}, {"n_grid_features": 0, "depth": 5}, {"bins": 1, "depth": 0}]
)
@pytest.mark.parametrize("rule", ["max_edge", "cart", "random"])
def test_tight_constants_spend_on_the_label_what_no_cell_needs(mask, settings, rule):
    """They change nothing where some cell is randomized, and are ``label_share=1`` where none is."""
    X, y, mask = sample(mask=mask)
    options = {"y_range": RANGE, "random_state": 3, "rule": rule, **settings}
    tight = learned(HistOfTree(2.0, constants="tight", **options), X, y, mask=mask)
    try:
        other = learned(HistOfTree(2.0, label_share=1.0, **options), X, y, mask=mask)
    except ConfigurationError:
        other = learned(HistOfTree(2.0, **options), X, y, mask=mask)
    assert (tight.predict(X) == other.predict(X)).all() and tight.guarantee_ == other.guarantee_
    assert tight.guarantee_.epsilon == 2.0


def test_the_default_grid_holds_the_features_that_everybody_protects():
    X, y, mask = sample(mask="power_law")
    mask[:, 3] = True
    fitted = HistOfTree(y_range=RANGE).fit(X, y, mask=mask)
    assert fitted.grid_columns_.tolist() == [0, 3] and fitted.tree_columns_.tolist() == [1, 2, 4]
    assert HistOfTree(y_range=RANGE).fit(X, y).n_grid_features_ == 5
    assert HistOfTree(y_range=RANGE, n_grid_features="s*").fit(X, y, mask=mask).n_grid_features_ == 1
    assert HistOfTree(y_range=RANGE, n_grid_features=3).fit(X, y, mask=mask).grid_columns_.tolist() == [0, 3, 1]


@pytest.mark.parametrize(
    ("d", "expected"), [(1, [0]), (5, [0, 1, 2]), (6, [0, 1, 2]), (8, [0, 1, 2, 3, 4]), (2, [0, 1])]
)
def test_all_stands_for_the_values_of_the_personalised_tables(d, expected):
    scenario = Problem(np.zeros((3, d)), np.zeros(3), np.zeros((3, d)), np.zeros(3))
    resolved = HistOfTree().resolve_grid({"depth": [1], "n_grid_features": ["all"]}, scenario)
    assert resolved == {"depth": [1], "n_grid_features": expected}
    named = HistOfTree().resolve_grid({"n_grid_features": ["all", 40, "s*"]}, scenario)
    assert named["n_grid_features"] == [*expected, 40, "s*"]
    assert HistOfTree().resolve_grid([{"depth": 1}], scenario) == [{"depth": 1}]


def test_partitions_of_more_cells_than_memory_holds_work():
    rng = np.random.default_rng(0)
    X, y = rng.random((80, 90)), rng.random(80)
    fitted = HistOfTree(1024.0, bins=3, y_range=(0, 1), label_share=0.5).fit(X, y)  # 3^90 cells
    assert np.isfinite(fitted.predict(rng.random((10, 90)))).all()
    assert np.corrcoef(fitted.predict(X), y)[0, 1] > 0.8
    with pytest.raises(ConfigurationError, match=r"2\^1169 cells"):
        HistOfTree(bins=8_000, y_range=(0, 1)).fit(X, y)
    swept = HistOfTree(y_range=(0, 1)).sweep(
        Problem(X, y, X, y, None, y_range=(0, 1)), [1.0], {"bins": [2, 8_000]}, Streams(0)
    )
    assert np.isfinite(swept.values[0, 0]) and np.isnan(swept.values[0, 1])
    assert swept.reasons.keys() == {(0, 1)} and swept.reasons[0, 1][0] == "skipped"


def test_it_learns_from_public_and_protected_features():
    """At a large budget the error comes near the noise in the labels (variance 1); the mean's error is above 1.4."""
    rng = np.random.default_rng(0)
    X = rng.random((8000, 4))
    y = 4 * X[:, 0] + 3 * X[:, 2] + rng.uniform(-1.7, 1.7, size=8000)
    mask = make_mask("aligned", 6000, 4, rng, {"n_protected": 1})
    model = HistOfTree(20.0, bins=4, depth=4, label_share=0.5, y_range=(-2, 9), random_state=0)
    residual = model.fit(X[:6000], y[:6000], mask=mask).predict(X[6000:]) - y[6000:]
    assert np.mean(residual**2) < 1.3 < np.var(y) / 2
