"""What every estimator of the library and every registered method promises, whatever it does.

A new estimator is tested by being exported in ``lpbench.estimators``, a new method by its YAML.
"""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import check_estimator

import lpbench.estimators
from lpbench import registry
from lpbench.estimators.base import LocalEstimator, expand_grid
from lpbench.privacy import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Streams

#: Estimators beside their defaults whose other half is another method.
PRESETS = {"PSGD": [{"hidden_ratio": 1.0}], "LPCT": [{"mechanism": "rr"}], "HistOfTree": [{"rule": "cart"}]}
#: Estimator -> {check: reason} for the checks of scikit-learn that it cannot pass.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}

CLASSES = {name: getattr(lpbench.estimators, name) for name in lpbench.estimators.__all__}
MODELS = [(name, preset) for name in CLASSES for preset in [{}, *PRESETS.get(name, [])]]
SELECTORS = [s for name, m in registry.methods().items() for s in [name, *(f"{name}[variant={v}]" for v in m.variants)]]
BUDGETS = [0.7, 4.0, math.inf]


def build(name: str, preset: dict, **params) -> LocalEstimator:
    known = inspect.signature(CLASSES[name]).parameters
    return CLASSES[name](**preset, **{k: v for k, v in params.items() if k in known})


def regression_problem(n: int = 90, m: int = 40, d: int = 4) -> Problem:
    rng = np.random.default_rng(5)
    X = rng.random((n + m, d))
    y = np.clip(X[:, 0] - X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n + m), -1.0, 1.0)
    mask = rng.random((n, d)) < np.array([0.95, 0.4, 0.1, 0.0])
    return Problem(X[:n], y[:n], X[n:], y[n:], mask=mask, y_range=(-1.0, 1.0), metric="mse")


def classification_problem(n: int = 90, m: int = 40, q: int = 30, d: int = 3) -> Problem:
    rng = np.random.default_rng(6)
    X = rng.random((n + m + q, d))
    y = (rng.random(n + m + q) < np.where(X[:, 0] + X[:, 1] > 1, 0.85, 0.15)).astype(int)
    rows = np.split(np.arange(n + m + q), [n, n + m])
    parts = dict(zip(("train", "test", "public"), rows, strict=True))
    return Problem(
        **{f"X_{part}": X[rows] for part, rows in parts.items()},
        **{f"y_{part}": y[rows] for part, rows in parts.items()},
        mask=np.ones((n, d), dtype=bool),
        metric="accuracy",
        classes=np.array([0, 1]),
    )


def problem_for(estimator: LocalEstimator) -> Problem:
    return classification_problem() if is_classifier(estimator) else regression_problem()


def few_points(grid, limit: int = 18) -> list[dict]:
    """At most ``limit`` points of a grid, evenly spread and with both ends."""
    points = expand_grid(grid)
    return [points[i] for i in np.unique(np.linspace(0, len(points) - 1, limit).round().astype(int))]


@pytest.mark.parametrize(("name", "preset"), MODELS)
def test_scikit_learn_checks(name, preset):
    model = build(name, preset)
    results = check_estimator(model, expected_failed_checks=EXPECTED_FAILURES.get(name, {}), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert all(EXPECTED_FAILURES.get(name, {}).values())


@pytest.mark.parametrize("selector", SELECTORS)
def test_sweep_equals_the_loop_of_fits(selector):
    method = registry.method(selector)
    problem = problem_for(method.build())
    model = method.build().for_problem(problem)
    points = few_points(model.resolve_grid(method.grid_for("personalized"), problem))
    if method.tuning_free is not None:
        points.append(method.tuning_free)
    streams = Streams(11)
    swept = model.sweep(problem, BUDGETS, points, streams)
    assert swept.values.shape == (len(BUDGETS), len(points))
    for g, point in enumerate(points):
        reasons = [swept.reasons.get((b, g)) for b in range(len(BUDGETS))]
        if any(reasons):
            assert all(np.isnan(swept.values[b, g]) for b in range(len(BUDGETS)) if reasons[b])
            continue
        refitted = LocalEstimator.sweep(model, problem, BUDGETS, [point], streams).values[:, 0]
        np.testing.assert_allclose(swept.values[:, g], refitted, rtol=1e-9, atol=1e-12, err_msg=str(point))


@pytest.mark.parametrize("selector", SELECTORS)
def test_batched_replications_equal_single_ones(selector):
    method = registry.method(selector)
    model = method.build()
    problem = problem_for(model)
    points, streams = few_points(model.resolve_grid(method.grid, problem), 2), [Streams(1), Streams(2)]
    together = model.sweep_many([problem, problem], [2.0], points, streams)
    for result, own in zip(together, streams, strict=True):
        alone = model.for_problem(problem).sweep(problem, [2.0], points, own)
        np.testing.assert_allclose(result.values, alone.values, rtol=1e-9)


@pytest.mark.parametrize("selector", SELECTORS)
def test_registered_grids_are_parameters(selector):
    method = registry.method(selector)
    known = set(method.build().get_params())
    grids = [method.grid, *method.grid_by_mask.values(), method.tuning_free or {}]
    assert set().union(*grids) <= known
    for values in method.grid.values():
        assert len(values) == len(set(map(str, values)))


@pytest.mark.parametrize(("name", "preset"), MODELS)
def test_equal_seeds_give_equal_models(name, preset):
    model = build(name, preset, random_state=3)
    problem = problem_for(model)

    model = model.for_problem(problem)
    first, second = (
        clone(model).fit(problem.X_train, problem.y_train, **problem.fit_arguments).predict(problem.X_test)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("name", "preset"), MODELS)
def test_guarantee_states_what_is_spent(name, preset):
    epsilon = 1.7
    model = build(name, preset, epsilon=epsilon)
    problem = problem_for(model)
    fitted = model.for_problem(problem).fit(problem.X_train, problem.y_train, **problem.fit_arguments)
    assert isinstance(fitted.guarantee_, Guarantee)
    if model.uses_epsilon:
        assert 0 < fitted.guarantee_.epsilon <= epsilon * (1 + 1e-9)
        assert fitted.guarantee_.model != "none"


@pytest.mark.parametrize(("name", "preset"), MODELS)
def test_probabilities_agree_with_the_classes(name, preset):
    model = build(name, preset, random_state=1)
    if not is_classifier(model):
        pytest.skip("a regressor")
    problem = problem_for(model)
    model.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
    probability = model.predict_proba(problem.X_test)
    assert (probability >= 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(problem.X_test))


@pytest.mark.parametrize(("name", "preset"), MODELS)
def test_bad_input_is_named(name, preset):
    model = build(name, preset)
    problem = problem_for(model)
    model = model.for_problem(problem)
    X, y, arguments = problem.X_train, problem.y_train, problem.fit_arguments
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X == X[3, 1], np.nan, X), y, **arguments)
    with pytest.raises(ValueError, match=r"mask has shape"):
        model.fit(X, y, **{**arguments, "mask": arguments["mask"][:, :-1]})
    with pytest.raises(ValueError, match=r"mask has values"):
        model.fit(X, y, **{**arguments, "mask": 2 * arguments["mask"].astype(int)})
    if "y_range" in model.get_params():
        with pytest.raises(ValueError, match="y_range"):
            model.fit(X, np.where(np.arange(y.size) == 4, 9.0, y), **arguments)
        with pytest.raises(ValueError, match="y_range"):
            clone(model).set_params(y_range=(1.0, 1.0)).fit(X, y, **arguments)
    if model.uses_epsilon:
        for epsilon in (0.0, -1.0, math.nan, "1"):
            with pytest.raises(ValueError, match=r"epsilon|budget"):
                clone(model).set_params(epsilon=epsilon).fit(X, y, **arguments)
