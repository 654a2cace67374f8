"""Samples on which whole methods are audited: pairs that agree in all that is public and differ in protected values.

Six features. Labels of the second sample are permuted, squashed nonlinearly, or constant, so that a leak through a
symmetric statistic (variance, Gini index, entropy, minority count, range) shows in at least one of the three.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from lpbench.audit.devices import audited_methods
from lpbench.estimators.base import expand_grid
from lpbench.experiments import catalogue as registry
from lpbench.problem import Problem

#: Users, features, public rows.
N, D, N_PUBLIC = 240, 6, 60
#: Public range of the label: neither centred nor of length 1.
Y_RANGE = (-1.0, 2.0)
#: Feature 0 is protected by everybody, 1 by a third, 2 by a fifth of the users, the others by nobody.
MASK = np.zeros((N, D), dtype=bool)
MASK[:, 0], MASK[::3, 1], MASK[::5, 2] = True, True, True
#: Test rows, which are public.
QUERIES = np.random.default_rng(99).random((300, D))
#: How the protected values of the second sample differ from the first's.
CHANGES = ("permuted", "nonlinear", "constant")

Sample = dict[str, Any]


def first_sample(model: BaseEstimator) -> Sample:
    """Keyword arguments of ``fit`` for a sample that suits the model."""
    rng = np.random.default_rng(20240601)
    X = rng.random((N, D))
    signal = 1.2 * X[:, 0] - X[:, 3] + 0.6 * X[:, 1] * X[:, 4]
    if hasattr(model, "predict_proba"):
        y = (signal + 0.2 * rng.standard_normal(N) > 0.15).astype(int)
    else:
        y = np.clip(2 * signal + 0.3 * rng.standard_normal(N), *Y_RANGE)
    sample = {"X": X, "y": y}
    if model.uses_mask:
        sample["mask"] = MASK
    if model.uses_public:
        sample["X_public"] = rng.random((N_PUBLIC, D))
        sample["y_public"] = (sample["X_public"][:, 0] > 0.4).astype(int)
    return sample


def other_sample(sample: Mapping[str, Any], protects: str, change: str) -> Sample:
    """Replace the protected values of a sample.

    Parameters
    ----------
    sample : mapping
    protects : str
        Privacy model, a key of :data:`lpbench.privacy.MODELS`: which part of a record is protected.
    change : {"permuted", "nonlinear", "constant"}
        ``constant`` labels of classes keep one user of each class, because the set of classes is public.
    """
    rng = np.random.default_rng(7)
    order = rng.permutation(N)
    X, y = np.asarray(sample["X"]), np.asarray(sample["y"])
    hidden = {"permuted": X[order], "nonlinear": X**2, "constant": 1.0 - X}[change]
    if "label" in protects:
        hidden = X
    elif protects == "semi_feature_ldp":
        hidden = np.where(sample["mask"], hidden, X)
    if y.dtype.kind == "i":
        labels = {"permuted": y[order], "nonlinear": (X[:, 2] > 0.8).astype(y.dtype), "constant": np.zeros_like(y)}
        changed = labels[change]
        for k, code in enumerate(np.unique(y)):
            changed[k] = code
    else:
        lo, hi = Y_RANGE
        squashed = lo + (hi - lo) * ((y - lo) / (hi - lo)) ** 3 / 2.0
        changed = {"permuted": y[order], "nonlinear": squashed, "constant": np.full(N, lo + 0.3 * (hi - lo))}[change]
    return {**sample, "X": hidden, "y": changed}


def settings(selector: str, budgets: tuple[float, ...] = (1.0, 8.0)) -> list[BaseEstimator]:
    """Estimators of a registered method at which fit and sweep are checked.

    The tuning-free setting at each budget; at the first one also the class's defaults, and 2 bins where a rule would
    settle for a single cell of so few users.
    """
    spec = registry.method(selector)
    tuning_free = spec.build().set_params(**(spec.tuning_free or {}))
    found = [_public(clone(tuning_free), epsilon) for epsilon in budgets]
    if not selector.count("["):
        found.append(_public(spec.estimator_class(), budgets[0]))
    if tuning_free.get_params().get("bins", 0) is None:
        found.append(_public(clone(tuning_free).set_params(bins=2), budgets[0]))
    known = [str(model.get_params()) for model in found]
    return [model for k, model in enumerate(found) if known[k] not in known[:k]]


def grid_ends(selector: str, epsilon: float) -> list[BaseEstimator]:
    """Estimators at the first and the last point of a method's grid, where :func:`settings` has others."""
    spec = registry.method(selector)
    tuning_free = spec.build().set_params(**(spec.tuning_free or {}))
    return [_public(clone(tuning_free).set_params(**p), epsilon) for p in grid_points(selector, tuning_free)[1:]]


def _public(model: BaseEstimator, epsilon: float) -> BaseEstimator:
    """Set what is public in the samples, the budget and the seed."""
    public = {"random_state": 7, "epsilon": epsilon, "y_range": Y_RANGE}
    if hasattr(model, "predict_proba"):
        public["classes"] = [0, 1]
    known = model.get_params()
    return model.set_params(**{name: value for name, value in public.items() if name in known})


def grid_points(selector: str, model: BaseEstimator) -> list[dict[str, Any]]:
    """The tuning-free point of a method, and the first and the last point of its grid under a personalised mask."""
    points = _all_points(selector, model)
    wanted = [dict(registry.method(selector).tuning_free or {}), points[0], points[-1]]
    return [point for k, point in enumerate(wanted) if point not in wanted[:k]]


def spread_points(selector: str, model: BaseEstimator, most: int = 24) -> list[dict[str, Any]]:
    """At most ``most`` points of the grid under a personalised mask, evenly spread."""
    points = _all_points(selector, model)
    return [points[k] for k in np.unique(np.linspace(0, len(points) - 1, most).astype(int))]


def _all_points(selector: str, model: BaseEstimator) -> list[dict[str, Any]]:
    sample = first_sample(model)
    problem = Problem(sample["X"], sample["y"], QUERIES, np.zeros(len(QUERIES)), mask=sample.get("mask"))
    return expand_grid(model.resolve_grid(registry.method(selector).grid_for("personalized"), problem))


def checked_methods() -> list[str]:
    """Selectors of the methods that protect something."""
    from lpbench.audit.report_sources import UNPROTECTED

    return [name for name in audited_methods() if registry.method(name).estimator_class not in UNPROTECTED]
