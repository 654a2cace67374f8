"""Contract checks for methods and data sets, registered or your own.

The project's tests run them on everything that is registered, ``lpbench check`` on what is named, and a user's tests on
her own: ``lpbench.testing.check_method("my_method")``.
"""

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from threadpoolctl import threadpool_limits

from lpbench.audit.apart import found_in_place
from lpbench.audit.black_box.decide import lower_bound
from lpbench.audit.randomizers import Randomizer, message, repeat
from lpbench.datasets import load_manifest, load_table, make_problem
from lpbench.datasets.real import sensitivity_order
from lpbench.errors import (
    ClippingWarning,
    ConfigurationError,
    DataError,
    LpbenchError,
    NoMaskWarning,
    PrivacyLeakWarning,
    check_known,
)
from lpbench.estimators.base import LocalEstimator, expand_grid
from lpbench.experiments import catalogue as registry
from lpbench.experiments.engines import in_order
from lpbench.experiments.method import APART, import_object
from lpbench.paths import OWN_VARIABLE
from lpbench.privacy import Guarantee, Mechanism
from lpbench.privacy.mechanism import REGISTERED
from lpbench.problem import Problem
from lpbench.seeds import Streams

BUDGETS = (0.7, 4.0, math.inf)


def check_method(selector: str) -> None:
    """Run every check of :data:`METHOD_CHECKS` on one method.

    Parameters
    ----------
    selector : str
        Registered name, possibly with ``[variant=...]``.

    Raises
    ------
    AssertionError
        A promise is broken; the message says which and how.
    """
    for check in METHOD_CHECKS.values():
        check(selector)


def check_promise(check: str, selector: str) -> None:
    """Make one of :data:`METHOD_CHECKS`; of somebody's own method where its code runs, as the audit does by itself."""
    method = registry.guarded_method(selector)
    if check == "audit" or not method.estimator.startswith(APART):
        METHOD_CHECKS[check](selector)
    else:
        [wrong] = found_in_place(method, f"{__name__}.broken", name=selector, checks=[check])
        assert not wrong, wrong


def broken(name: str, checks: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each of some checks that a method in a folder of plug-ins fails, and "" for the others.

    It is made where the method's code may run, which may raise anything.
    """
    os.environ[OWN_VARIABLE] = os.pathsep.join(folders)
    for check in checks:
        try:
            METHOD_CHECKS[check](name)
            yield ""
        except (AssertionError, LpbenchError) as error:
            yield " ".join(str(error).split()) or type(error).__name__
        except (Exception, SystemExit) as error:
            yield f"{type(error).__name__}: {error}"


def check_dataset(name: str) -> None:
    """Run every check of :data:`DATASET_CHECKS` on one data set.

    Parameters
    ----------
    name : str
        Name of its manifest.

    Raises
    ------
    AssertionError or LpbenchError
        If a promise is broken; the message says which.
    """
    for check in DATASET_CHECKS.values():
        check(name)


def check_scikit_learn(selector: str) -> None:
    """scikit-learn's own checks of an estimator."""
    check_with_scikit_learn(registry.method(selector).build())


def check_with_scikit_learn(model: LocalEstimator) -> None:
    """Run scikit-learn's checks on an estimator."""
    from sklearn.utils.estimator_checks import check_estimator  # brings pytest with it

    with warnings.catch_warnings():
        # scikit-learn cannot know the public range
        for category in (PrivacyLeakWarning, ClippingWarning, NoMaskWarning):
            warnings.simplefilter("ignore", category)
        results = check_estimator(model, on_skip=None, on_fail=None)
    failed = [f"{r['check_name']}: {' '.join(str(r['exception']).split())}" for r in results if r["status"] == "failed"]
    assert not failed, "\n    ".join(text[:300] for text in failed)


def check_grid(selector: str) -> None:
    """Grid and tuning-free setting are constructor parameters, and no value is searched twice."""
    method = registry.method(selector)
    grids = [method.grid, *method.grid_by_mask.values(), method.tuning_free or {}]
    unknown = set().union(*grids) - set(method.build().get_params())
    assert not unknown, f"the grid names {', '.join(sorted(unknown))}: no parameters of {method.estimator}"
    for key, values in method.grid.items():
        assert len(values) == len(set(map(str, values))), f"the grid repeats a value of {key}: {values}"


def check_sweep(selector: str) -> None:
    """A sweep gives the scores of the loop of `learn_from` on the same streams, for every budget."""
    method = registry.method(selector)
    problem = problem_for(method.build())
    model = method.build().for_problem(problem)
    points = few_points(model.resolve_grid(method.grid_for("personalized"), problem))
    if method.tuning_free is not None:
        points.append(method.tuning_free)
    streams = Streams(11)
    swept = model.sweep(problem, BUDGETS, points, streams)
    expected = (len(BUDGETS), len(points))
    assert swept.values.shape == expected, f"sweep returned shape {swept.values.shape}, expected {expected}"
    for g, point in enumerate(points):
        reasons = [swept.reasons.get((b, g)) for b in range(len(BUDGETS))]
        if any(reasons):
            assert all(np.isnan(swept.values[b, g]) for b in range(len(BUDGETS)) if reasons[b])
            continue
        refitted = model.refitted(model.task(problem, streams), BUDGETS, [point]).values[:, 0]
        np.testing.assert_allclose(swept.values[:, g], refitted, rtol=1e-9, atol=1e-12, err_msg=str(point))


def check_batches(selector: str) -> None:
    """Several replications at once, of samples that differ, give what each gives alone."""
    method = registry.method(selector)
    model = method.build()
    whole = problem_for(model)
    mask = None if whole.mask is None else whole.mask[:60]
    problems = [whole, replace(whole, X_train=whole.X_train[:60], y_train=whole.y_train[:60], mask=mask)]
    points, streams = few_points(model.resolve_grid(method.grid, whole), 2), [Streams(1), Streams(2)]
    together = model.sweep_many(problems, [2.0], points, streams)
    for problem, result, own in zip(problems, together, streams, strict=True):
        alone = model.for_problem(problem).sweep(problem, [2.0], points, own)
        np.testing.assert_allclose(result.values, alone.values, rtol=1e-9)


def check_determinism(selector: str) -> None:
    """Equal seeds give equal predictions, whatever numpy's global state; fitting twice changes nothing."""
    model = registry.method(selector).build()
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
    first, again, other = predictions(once), predictions(once), predictions(clone(model))
    way_out = "draw by self._streams().generator('purpose'), a device by its mechanism, and nothing by numpy.random"
    assert np.array_equal(first, other), f"equal seeds give unequal predictions: {way_out}"
    assert np.array_equal(first, again), (
        f"a second fit of the same object gives other predictions: learn begins anew at every call; {way_out}"
    )


def check_workers(selector: str) -> None:
    """A worker process gives the bits of this one, in any order (linear algebra on one thread, as in all runs)."""
    seeds = (1, 2)
    here = [_swept(selector, seed) for seed in seeds]
    there = in_order(_swept, [(selector, seed) for seed in reversed(seeds)], 2)
    for seed, mine, theirs in zip(seeds, here, reversed(there), strict=True):
        np.testing.assert_array_equal(mine, theirs, err_msg=f"seed {seed}: a worker process gives other scores")


def _swept(selector: str, seed: int) -> np.ndarray:
    method = registry.method(selector)
    problem = problem_for(method.build())
    model = method.build().for_problem(problem)
    points = few_points(model.resolve_grid(method.grid, problem), 2)
    with threadpool_limits(1):
        return model.sweep(problem, (1.0,), points, Streams(seed)).values


def check_guarantee(selector: str, epsilon: float = 1.7) -> None:
    """A fitted method says what it spent: no more than its budget, or, where it is known to exceed it, why."""
    model = registry.method(selector).build()
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
        kept = 0 <= spent.epsilon <= epsilon * (1 + 1e-9)
        assert kept or model.exceeds_budget, (
            f"guarantee_ says that {spent.epsilon:g} of a budget of {epsilon} was spent"
        )
        assert not model.exceeds_budget or spent.note, "a method that exceeds its budget says why in a note"
        assert spent.rounds or spent.note, (
            "no user was asked for anything: learn from users.ask(device, question) or users.sums(...), or state "
            "`uses_epsilon = False` on the class"
        )


def check_audit(selector: str) -> None:
    """With sealed users nothing but reports decides what is learned, and they cost what is stated."""
    from lpbench.audit.table import method_complaints

    found = method_complaints(selector)
    assert not found, "; ".join(found)


def check_mechanism(name: str) -> None:
    """Run every check of :data:`MECHANISM_CHECKS` on a registered mechanism; one of your own is ``module.Class``."""
    for check in MECHANISM_CHECKS.values():
        check(name)


def mechanism_of(name: str, epsilon: float = 1.0) -> Mechanism:
    """Return the example of a registered mechanism that spends a budget."""
    if "." in name:
        import_object(name)
    check_known("unknown mechanism", [name], REGISTERED)
    try:
        found: Mechanism = REGISTERED[name](epsilon)
    except TypeError as error:  # a member is missing, or the example has other arguments than the class
        raise ConfigurationError(f"the example of {name} cannot be built: {error}") from error
    return found


def check_domain(name: str) -> None:
    """Inputs outside the domain are refused before draw and loss; all others have reports that fit the payload."""
    mechanism = mechanism_of(name)
    examples, refused = mechanism.domain.examples, []
    mechanism.check_inputs(examples)
    assert len(mechanism.losses(examples)) == len(mechanism.randomize(examples, np.random.default_rng(0)))
    for title, inputs in {"examples": examples, "beyond": examples + examples.max() + 1, **HOSTILE}.items():
        try:
            reports = mechanism.randomize(inputs, np.random.default_rng(0))
            fits = all(field.holds(reports) for field in mechanism.fields())
            assert fits, f"a report does not fit the payload ({title})"
            losses = mechanism.losses(inputs)
            assert not np.isnan(losses).any(), f"a loss is not known ({title})"
        except DataError:
            refused.append(title)
    assert "not a number" in refused, "a report is drawn for what is not a number"


def check_loss(name: str) -> None:
    """The exact loss of no two examples exceeds the stated epsilon, and that of some two attains it."""
    for epsilon in (0.5, 1.0, 4.0):
        mechanism = mechanism_of(name, epsilon)
        losses = mechanism.losses(mechanism.domain.examples)
        assert mechanism.epsilon <= epsilon * (1 + 1e-9), f"epsilon={mechanism.epsilon:.9g} of a budget of {epsilon:g}"
        assert (np.diag(losses) == 0).all() and (losses >= 0).all(), f"losses are {losses}"
        close = abs(losses.max() - mechanism.epsilon) <= 1e-9 * epsilon
        assert close, f"two inputs lose {losses.max():.9g}, and epsilon={mechanism.epsilon:.9g} is stated"


def check_influence(name: str) -> None:
    """One report moves the estimate at least as far as one record; NaN says that no estimate is stated."""
    for epsilon in (0.5, 4.0):
        found = mechanism_of(name, epsilon).influence
        assert math.isnan(found) or found >= 1, f"influence={found!r}"


def check_sampled(name: str) -> None:
    """A sample of reports proves no larger loss than the exact one, and gives likelier inputs a smaller distance."""
    mechanism = mechanism_of(name)
    examples = mechanism.domain.examples
    sent = message(mechanism, examples)
    audited = Randomizer("ldp", mechanism.epsilon, [sent], len(examples), mechanism.delta)
    proven = lower_bound(audited, 20_000, Streams(1), 1e-6).bound
    assert proven <= mechanism.epsilon + 1e-9, (
        f"reports lose {proven:.4g}, and epsilon={mechanism.epsilon:.9g} is stated"
    )
    reports = sent.send(0, 2000, Streams(2))
    near, far = (mechanism.distance(reports, repeat(examples[k], 2000)).mean() for k in (0, -1))
    assert near < far, "reports are nearer to another input than to their own"
    np.testing.assert_array_equal(reports, sent.send(0, 2000, Streams(2)), err_msg="equal generators, unequal reports")


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


def check_table(name: str) -> None:
    """The file is the one the manifest was written for, and its sensitivity order names features."""
    manifest = load_manifest(name)
    if not manifest.synthetic:
        table = load_table(name)
        missing = [key for key in ("rows", "features", "values") if manifest.fingerprint.get(key) is None]
        assert not missing, f"the manifest's fingerprint lacks {', '.join(missing)}: the file may change unnoticed"
        sensitivity_order(manifest, table, "manifest", Streams(0))


def check_scale(name: str) -> None:
    """Features in [0, 1], labels within the public range or the two classes, and more than one label to learn."""
    manifest, problem = load_manifest(name), make_problem(name, None, "personalized", None, 0, 1)
    y = np.concatenate([problem.y_train, problem.y_test])
    if manifest.bounds:
        manifest.feature_bounds(load_table(name).columns)
    assert np.isfinite(problem.X_train).all() and np.isfinite(problem.X_test).all(), "a feature is not finite"
    assert np.unique(problem.y_train).size > 1, "the training rows of replication 0 have one label only"
    if manifest.task == "classification":
        assert problem.classes is not None, "the problem has no classes"
        assert set(np.unique(y)) <= {0, 1, *np.unique(problem.classes)}, (
            f"labels {np.unique(y)[:5]} are not the classes"
        )
    elif problem.y_range is not None:
        low, high = problem.y_range
        assert low <= y.min() and y.max() <= high, f"labels in [{y.min():g}, {y.max():g}], y_range [{low:g}, {high:g}]"


def check_draws(name: str) -> None:
    """A replication is drawn from seed and number alone, whatever the mask; another one is another draw."""
    first, again = (make_problem(name, None, mask, None, 0, 1) for mask in ("aligned", "personalized"))
    other = make_problem(name, None, "aligned", None, 1, 1)
    for part in ("X_train", "y_train", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(first, part), getattr(again, part), err_msg=f"{part} depends on the mask")
    assert not np.array_equal(first.X_train, other.X_train), "replications 0 and 1 have the same training rows"


#: Name -> check of a method's selector.
METHOD_CHECKS: Mapping[str, Callable[[str], None]] = {
    "grid": check_grid,
    "sweep": check_sweep,
    "batches": check_batches,
    "determinism": check_determinism,
    "workers": check_workers,
    "guarantee": check_guarantee,
    "audit": check_audit,
    "scikit-learn": check_scikit_learn,
}
#: Inputs that belong to few domains, or to none.
HOSTILE: Mapping[str, Any] = {
    "negative": [-1, -1],
    "too large": [2**60, 2**60],
    "between": [0.5, 0.5],
    "not a number": [math.nan, 0.0],
    "infinite": [math.inf, 0.0],
    "truth values": [True, False],
    "two axes": np.zeros((2, 3), dtype=int),
    "three axes": np.zeros((2, 3, 2)),
    "huge": [1e300, -1e300],
    "empty": [],
    "no axis": 1,
    "words": ["a", "b"],
}
#: Name -> check of a registered mechanism.
MECHANISM_CHECKS: Mapping[str, Callable[[str], None]] = {
    "domain": check_domain,
    "loss": check_loss,
    "influence": check_influence,
    "sampled": check_sampled,
}
#: Name -> check of a data set's name.
DATASET_CHECKS: Mapping[str, Callable[[str], None]] = {"table": check_table, "scale": check_scale, "draws": check_draws}
