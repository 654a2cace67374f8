"""Contract checks for methods and data sets, registered or your own.

The project's tests run them on everything that is registered, ``lpbench check`` on what is named, and a user's tests on
her own: ``lpbench.testing.check_method("my_method")``.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np

from lpbench.audit.apart import found_in_place
from lpbench.audit.black_box.decide import lower_bound
from lpbench.audit.contract import CHECKS, method_of
from lpbench.audit.randomizers import Randomizer, message, repeat
from lpbench.datasets import load_manifest, load_table, make_problem
from lpbench.datasets.real import sensitivity_order
from lpbench.errors import ConfigurationError, DataError, LpbenchError, check_known
from lpbench.experiments import catalog as registry
from lpbench.experiments.method import APART, Method, import_object
from lpbench.paths import OWN_VARIABLE
from lpbench.privacy import Mechanism
from lpbench.privacy.mechanism import REGISTERED
from lpbench.seeds import Streams


def check_method(selector: str) -> None:
    """Run every check of :data:`METHOD_CHECKS` on one method.

    Parameters
    ----------
    selector : str
        Registered name, possibly with ``[variant=...]``, or ``FILE:Class``.

    Raises
    ------
    AssertionError
        A promise is broken; the message says which and how.
    """
    for check in METHOD_CHECKS.values():
        check(selector)


def named(selector: str) -> Method:
    """Method of a selector or of ``FILE:Class``; a registered one of somebody's own runs apart from this process."""
    return method_of(selector) if ":" in selector else registry.guarded_method(selector)


def check_promise(check: str, selector: str) -> None:
    """Make one of :data:`METHOD_CHECKS`; of somebody's own method where its code runs, as the audit does by itself."""
    method = named(selector)
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


def check_audit(selector: str) -> None:
    """With sealed users nothing but reports decides what is learned, and they cost what is stated."""
    from lpbench.audit.table import complaints_about

    if ":" in selector:
        return CHECKS["audit"](named(selector))
    complaints = complaints_about(named(selector))
    assert not complaints, "; ".join(complaints)


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
        mechanism: Mechanism = REGISTERED[name](epsilon)
    except TypeError as error:  # a member is missing, or the example has other arguments than the class
        raise ConfigurationError(f"the example of {name} cannot be built: {error}") from error
    return mechanism


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
        influence = mechanism_of(name, epsilon).influence
        assert math.isnan(influence) or influence >= 1, f"influence={influence!r}"


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


def check_table(name: str) -> None:
    """The file is the one the manifest was written for, and its sensitivity order names features."""
    manifest = load_manifest(name)
    if not manifest.synthetic:
        table = load_table(name, sealed=True)
        missing = [key for key in ("rows", "features", "values") if manifest.fingerprint.get(key) is None]
        assert not missing, f"the manifest's fingerprint lacks {', '.join(missing)}: the file may change unnoticed"
        sensitivity_order(manifest, table, "manifest", Streams(0))


def check_scale(name: str) -> None:
    """Check features in [0, 1], labels within the public range or list of classes, and more than one label."""
    manifest, problem = load_manifest(name), make_problem(name, None, "personalized", None, 0, 1)
    y = np.concatenate([problem.y_train, problem.y_test])
    if manifest.bounds:
        manifest.feature_bounds(load_table(name, sealed=True).columns)
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
    second = make_problem(name, None, "aligned", None, 1, 1)
    for array in ("X_train", "y_train", "X_test", "y_test"):
        np.testing.assert_array_equal(
            getattr(first, array), getattr(again, array), err_msg=f"{array} depends on the mask"
        )
    assert not np.array_equal(first.X_train, second.X_train), "replications 0 and 1 have the same training rows"


def _of_selector(check: Callable[[Method], None]) -> Callable[[str], None]:
    """Make a check of a method one of its selector, or of ``FILE:Class``."""

    @wraps(check)
    def checked(selector: str) -> None:
        check(method_of(selector) if ":" in selector else registry.method(selector))

    return checked


#: Name -> check of a method's selector.
METHOD_CHECKS: Mapping[str, Callable[[str], None]] = {
    **{name: _of_selector(check) for name, check in CHECKS.items()},
    "audit": check_audit,
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
