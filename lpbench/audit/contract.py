"""Contract of methods: checks of a method's class, whether it is registered or named ``FILE:Class``."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib.executor import get_memmapping_executor
from sklearn.base import clone, is_classifier
from threadpoolctl import threadpool_limits

from lpbench.audit.black_box.sources import load_function
from lpbench.audit.methods import complaints
from lpbench.errors import ClippingWarning, NoMaskWarning, PrivacyLeakWarning
from lpbench.estimators.base import LocalEstimator, expand_grid
from lpbench.experiments.method import Method, checked
from lpbench.privacy import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Streams

CONTRACT_BUDGETS = (0.7, 4.0, math.inf)


def method_of(name: str) -> Method:
    """Method of a class ``FILE:Class`` or ``MODULE:Class``, which needs no registry; it has no grid.

    Raises
    ------
    ConfigurationError
        There is no such class, or the harness could not call it.
    """
    module, _, kind = name.rpartition(":")
    path = f"{Path(module).resolve() if module.endswith('.py') else module}:{kind}"
    checked(load_function(path))
    return Method(name=name, estimator=path)


def check_scikit_learn(method: Method) -> None:
    """Raise an error if the method's estimator fails scikit-learn's own checks."""
    check_with_scikit_learn(method.build())


def check_with_scikit_learn(model: LocalEstimator) -> None:
    """Run scikit-learn's estimator checks; the first failure is raised."""
    from sklearn.utils.estimator_checks import check_estimator  # brings pytest with it

    with warnings.catch_warnings():
        # scikit-learn cannot know the public range
        for category in (PrivacyLeakWarning, ClippingWarning, NoMaskWarning):
            warnings.simplefilter("ignore", category)
        results = check_estimator(model, on_skip=None, on_fail=None)
    failed = [f"{r['check_name']}: {' '.join(str(r['exception']).split())}" for r in results if r["status"] == "failed"]
    assert not failed, "\n    ".join(text[:300] for text in failed)


def check_grid(method: Method) -> None:
    """Check that grid and tuning-free setting are constructor parameters, and no value is searched twice."""
    grids = [method.grid, *method.grid_by_mask.values(), method.tuning_free or {}]
    unknown = set().union(*grids) - set(method.build().get_params())
    assert not unknown, f"the grid names {', '.join(sorted(unknown))}: no parameters of {method.estimator}"
    for key, values in method.grid.items():
        assert len(values) == len(set(map(str, values))), f"the grid repeats a value of {key}: {values}"


def check_sweep(method: Method) -> None:
    """Check that a sweep gives the scores of the loop of `learn_from` on the same streams, for every budget."""
    problem = problem_for(method.build())
    model = method.build().for_problem(problem)
    points = few_points(model.resolve_grid(method.grid_for("personalized"), problem))
    if method.tuning_free is not None:
        points.append(method.tuning_free)
    streams = Streams(11)
    swept = model.sweep(problem, CONTRACT_BUDGETS, points, streams)
    expected = (len(CONTRACT_BUDGETS), len(points))
    assert swept.values.shape == expected, f"sweep returned shape {swept.values.shape}, expected {expected}"
    for g, point in enumerate(points):
        reasons = [swept.reasons.get((b, g)) for b in range(len(CONTRACT_BUDGETS))]
        if any(reasons):
            assert all(np.isnan(swept.values[b, g]) for b in range(len(CONTRACT_BUDGETS)) if reasons[b])
            continue
        refitted = model.refitted(model.task(problem, streams), CONTRACT_BUDGETS, [point]).values[:, 0]
        np.testing.assert_allclose(swept.values[:, g], refitted, rtol=1e-9, atol=1e-12, err_msg=str(point))


def check_batches(method: Method) -> None:
    """Check that sweeping several replications at once gives the scores of each by itself."""
    model = method.build()
    full = problem_for(model)
    mask = None if full.mask is None else full.mask[:60]
    problems = [full, replace(full, X_train=full.X_train[:60], y_train=full.y_train[:60], mask=mask)]
    points, streams = few_points(model.resolve_grid(method.grid, full), 2), [Streams(1), Streams(2)]
    together = model.sweep_many(problems, [2.0], points, streams)
    for problem, result, stream in zip(problems, together, streams, strict=True):
        alone = model.for_problem(problem).sweep(problem, [2.0], points, stream)
        np.testing.assert_allclose(result.values, alone.values, rtol=1e-9)


def check_determinism(method: Method) -> None:
    """Check that equal seeds give equal predictions, and that a second fit changes nothing.

    Numpy's global state must not matter.
    """
    model = method.build()
    problem = problem_for(model)
    model = model.for_problem(problem).set_params(random_state=3)

    def predictions(fitted: LocalEstimator) -> np.ndarray:
        predicted = fitted.fit(problem.X_train, problem.y_train, **problem.fit_arguments).predict(problem.X_test)
        assert predicted is not None, "predict returned None: end it with `return predictions`"
        missing = np.sum(predicted != predicted)  # NaN alone is not equal to itself
        assert not missing, (
            f"predict returned NaN in {missing} of {len(predicted)} rows: a method answers for every row"
        )
        return predicted

    once = clone(model)
    first, again, of_clone = predictions(once), predictions(once), predictions(clone(model))
    way_out = "draw by self._streams().generator('purpose'), a device by its mechanism, and nothing by numpy.random"
    assert np.array_equal(first, of_clone), f"equal seeds give unequal predictions: {way_out}"
    assert np.array_equal(first, again), (
        f"a second fit of the same object gives other predictions: learn begins anew at every call; {way_out}"
    )


def check_workers(method: Method) -> None:
    """Check that a worker process gives the bits of this one, in any order of the work."""
    seeds = (1, 2)
    in_process = [_swept(method, seed) for seed in seeds]
    # joblib's Parallel would take this process, without a word, where an own method's code is shut in
    submit = get_memmapping_executor(2).submit
    in_worker = [future.result() for future in [submit(_swept, method, seed) for seed in reversed(seeds)]]
    for seed, ours, theirs in zip(seeds, in_process, reversed(in_worker), strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=f"seed {seed}: a worker process gives other scores")


def _swept(method: Method, seed: int) -> np.ndarray:
    problem = problem_for(method.build())
    model = method.build().for_problem(problem)
    points = few_points(model.resolve_grid(method.grid, problem), 2)
    with threadpool_limits(1):
        return model.sweep(problem, (1.0,), points, Streams(seed)).values


def check_guarantee(method: Method, epsilon: float = 1.7) -> None:
    """Check that a fit states what it spent: its budget at most, or more for a stated reason."""
    model = method.build()
    if model.uses_epsilon:
        model.set_params(epsilon=epsilon)
    problem = problem_for(model)
    fitted = model.for_problem(problem).fit(problem.X_train, problem.y_train, **problem.fit_arguments)
    spent = getattr(fitted, "guarantee_", None)
    assert isinstance(spent, Guarantee), "fit must set guarantee_, an lpbench.privacy.Guarantee"
    if model.uses_epsilon:
        assert spent.model != "none" or model.exceeds_budget, (
            "guarantee_ claims no privacy model, but the method takes a budget"
        )
        within_budget = 0 <= spent.epsilon <= epsilon * (1 + 1e-9)
        assert within_budget or model.exceeds_budget, (
            f"guarantee_ says that {spent.epsilon:g} of a budget of {epsilon} was spent"
        )
        assert not model.exceeds_budget or spent.note, "a method that exceeds its budget says why in a note"
        assert spent.rounds or spent.note, (
            "no user was asked for anything: learn from users.ask(device, question) or users.sums(...), or state "
            "`uses_epsilon = False` on the class"
        )


def check_audit(method: Method) -> None:
    """Audit the method: nothing but reports decides what is learned, and they cost what is stated."""
    broken = dict.fromkeys(map(str, complaints(method.build())))
    assert not broken, "; ".join(broken)


def problem_for(estimator: LocalEstimator) -> Problem:
    """Return a small random problem of an estimator's task, with a public sample if a regressor reads one."""
    if is_classifier(estimator):
        return classification_problem()
    return regression_problem(q=30 if estimator.uses_public else 0)


def regression_problem(n: int = 90, m: int = 40, d: int = 4, q: int = 0) -> Problem:
    """Draw n training and m test rows in d dimensions, variously protected, labels in [-1, 1]; ``q`` public rows."""
    rng = np.random.default_rng(5)
    X = rng.random((n + m, d))
    y = np.clip(X[:, 0] - X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n + m), -1.0, 1.0)
    mask = rng.random((n, d)) < np.array([0.95, 0.4, 0.1, 0.0])
    problem = Problem(X[:n], y[:n], X[n:], y[n:], mask=mask, y_range=(-1.0, 1.0), metric="mse")
    X_public = rng.random((q, d))
    y_public = X_public[:, 0] - X_public[:, 1] * X_public[:, 2]
    return replace(problem, X_public=X_public, y_public=y_public) if q else problem


def classification_problem(n: int = 90, m: int = 40, q: int = 30, d: int = 3) -> Problem:
    """Return n private, m test and q public rows of two classes."""
    rng = np.random.default_rng(6)
    X = rng.random((n + m + q, d))
    y = (rng.random(n + m + q) < np.where(X[:, 0] + X[:, 1] > 1, 0.85, 0.15)).astype(int)
    train, test, public = np.split(np.arange(n + m + q), [n, n + m])
    return Problem(
        X[train],
        y[train],
        X[test],
        y[test],
        X_public=X[public],
        y_public=y[public],
        mask=np.ones((n, d), dtype=bool),
        metric="accuracy",
        classes=np.array([0, 1]),
    )


def few_points(grid: Mapping[str, Sequence[Any]], limit: int = 18) -> list[dict[str, Any]]:
    """At most ``limit`` points of a grid, evenly spread and with both ends."""
    points = expand_grid(grid)
    return [points[i] for i in np.unique(np.linspace(0, len(points) - 1, limit).round().astype(int))]


#: Name -> check of a method.
CHECKS: Mapping[str, Callable[[Method], None]] = {
    "grid": check_grid,
    "sweep": check_sweep,
    "batches": check_batches,
    "determinism": check_determinism,
    "workers": check_workers,
    "guarantee": check_guarantee,
    "audit": check_audit,
    "scikit-learn": check_scikit_learn,
}
