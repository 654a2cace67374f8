"""Randomizers of the estimators, by class, at the setting in which a method is audited.

An estimator without an entry cannot be audited, and a test fails for it. Builders live in the modules ``*_devices`` of
this package; another package that adds methods registers its own with :func:`builds` where it defines the estimator.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator

from lpbench import audit
from lpbench.audit.randomizers import Randomizer
from lpbench.errors import ConfigurationError
from lpbench.estimators.any_learner.classes import MECHANISMS
from lpbench.estimators.any_learner.numbers import NUMBER_RANDOMIZERS
from lpbench.experiments import catalogue as registry

Builder = Callable[[Any], Randomizer]

_BUILDERS: dict[type, Builder] = {}

#: Settings audited beside the methods themselves: other mechanisms, other divisions of the budget, and slack.
EXTRA = (
    "histoftree_max_edge[mechanism=rr]",
    "histoftree_max_edge[rule=random]",
    "histoftree_max_edge[noise=discrete]",
    "histoftree_max_edge[bins=1]",
    "histoftree_max_edge[bins=1,constants=tight]",
    "adhistoftree_max_edge[bins_offset=-9]",
    "adhistoftree_max_edge[bins_offset=-9,constants=tight]",
    "krr[budget=halves]",
    "krr[variant=per_attribute]",
    "lpct_max_edge[mechanism=rr]",
    "lpct_max_edge[noise=discrete]",
    "lpct_prune_max_edge[terminate=true]",
    "phist[noise=discrete]",
    "hist[noise=discrete]",
    "label_ldp_vote[mechanism=krr]",
    "cdp_vote[constants=tight]",
    "cdp_mean[constants=tight]",
    "label_ldp_knn[moment=3]",
    "residual_gp[report=laplace]",
    "residual_gp[variant=second]",
    "residual_score[variant=second]",
    *(f"private_labels_regressor[randomizer={name}]" for name in NUMBER_RANDOMIZERS if name != "laplace"),
    "private_labels_regressor[randomizer=optimal_unbiased,prior_share=0.3]",
    *(f"private_labels_classifier[randomizer={name}]" for name in MECHANISMS if name != "rr"),
    "calibrated_score[report=grr]",
    *(f"private_selection_regressor[estimator={name}]" for name in ("histoftree_max_edge", "krr", "hist")),
    *(f"private_selection_classifier[estimator={name}]" for name in ("phist", "ct_q")),
)


def builds(*estimators: type) -> Callable[[Builder], Builder]:
    """Register a function (estimator -> Randomizer) for the given estimator classes."""

    def register(builder: Builder) -> Builder:
        _BUILDERS.update(dict.fromkeys(estimators, builder))
        return builder

    return register


def randomizer_of(estimator: BaseEstimator, name: str = "") -> Randomizer:
    """Return what leaves one device under an estimator's parameters, in a small world made for the audit.

    Raises
    ------
    ConfigurationError
        If no builder is registered for the class of the estimator.
    """
    _load()
    kind = type(estimator)
    if kind not in _BUILDERS:
        raise ConfigurationError(
            f"{kind.__name__} has no randomizer, so that its privacy cannot be audited; write one and register it with "
            "lpbench.audit.devices.builds"
        )
    return replace(_BUILDERS[kind](estimator), name=name or kind.__name__)


def method_randomizer(selector: str, epsilon: float) -> Randomizer:
    """Return the randomizer of a method ``name[param=value,...]`` at its tuning-free setting."""
    spec = registry.method(selector)
    estimator = spec.build().set_params(**(spec.tuning_free or {}))
    if estimator.uses_epsilon:
        estimator.set_params(epsilon=epsilon)
    return randomizer_of(estimator, selector)


def audited_methods() -> list[str]:
    """Selectors of everything that ``make audit`` looks at: every registered method, then :data:`EXTRA`."""
    known = registry.methods()
    return [*known, *(selector for selector in EXTRA if selector.partition("[")[0] in known)]


@cache
def _load() -> None:
    """Import the modules that register builders: all modules of this package called ``..._devices``."""
    for module in pkgutil.iter_modules(audit.__path__):
        if module.name.endswith("_devices"):
            importlib.import_module(f"lpbench.audit.{module.name}")
