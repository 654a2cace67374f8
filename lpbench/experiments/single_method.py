"""Run one method on the data sets, masks, budgets and seeds of a registered experiment."""

import math
import re
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import median

from lpbench.datasets import describe, make_problem
from lpbench.errors import ClippingWarning, ConfigurationError, PrivacyLeakWarning, foreign
from lpbench.estimators.base import LocalEstimator
from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.job import Job
from lpbench.experiments.method import Method, import_object
from lpbench.members import bare_name, member
from lpbench.problem import Problem


def method_named(word: str) -> Method:
    """A registered method's selector, or ``module:Class``, whose default parameters are its one setting."""
    if ":" not in word:
        return catalog.method(word)
    from sklearn.base import is_classifier

    path = word.replace(":", ".")
    kind = import_object(path)
    if not (isinstance(kind, type) and issubclass(kind, LocalEstimator)):
        raise ConfigurationError(f"{word} is no LocalRegressor or LocalClassifier (`lpbench new method` writes one)")
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()
    if name in catalog.method_names():
        raise ConfigurationError(
            f"{word} would be called {name}, which is registered: rank {name}, or rename the class"
        )
    privacy = {"mask": "semi_feature_ldp", "label": "label_ldp", "record": "ldp"}[kind.protects]
    with foreign(f"{word}() fails", ConfigurationError):
        task = "classification" if is_classifier(kind()) else "regression"
    return Method(name, kind.__name__, task, path, tuning_free={}, privacy=privacy)


def at_one_setting(method: Method) -> Method:
    """Return the method with its tuning-free setting fixed; ConfigurationError if it has a grid and states none."""
    if method.tuning_free is None and (method.grid or method.grid_by_mask):
        raise ConfigurationError(
            f"method {method.name} states no setting: add `tuning_free: {{...}}` to its YAML, let reports choose one "
            f"(private_selection_{'regressor' if method.task == 'regression' else 'classifier'}"
            f"[estimator={method.name}]), or see its best grid point by oracle selection (--selection oracle)"
        )
    params = {**method.params, **(method.tuning_free or {})}
    return replace(method, params=params, grid={}, grid_by_mask={}, tuning_free={})


def alone(
    method: Method, experiment: Experiment, name: str, budgets: Sequence[float] = (), *, fair: bool = True
) -> Job:
    """Job ``name`` of a method on an experiment's table; ``fair``: at its stated setting, else on its grid."""
    run = at_one_setting(method) if fair else method
    groups = []
    for group in experiment.groups:
        epsilon = tuple(e for e in group.epsilon if not budgets or e in budgets)
        one = Group(dataset=group.dataset, mask=group.mask, method=(method.name,), epsilon=epsilon)
        if not group.panel and epsilon and one not in groups:
            groups.append(one)
    if not groups:
        raise ConfigurationError(
            f"experiment {experiment.name} has no budget among {', '.join(f'{e:g}' for e in budgets)}"
        )
    dataset = member(groups[0].dataset[0])
    task = describe(dataset.name, dataset.params).task
    if task != method.task:
        raise ConfigurationError(f"method {method.name} is for {method.task}, experiment {experiment.name} for {task}")
    restricted = replace(experiment, name=name, paper=name.partition("/")[0], groups=tuple(groups), notes=())
    return Job(restricted, overridden={method.name: run})


def seconds_of_a_fit(method: Method, experiment: Experiment) -> float:
    """Median over an experiment's data sets of the processor seconds of one fit at one setting, measured here.

    Data sets that are not at hand or that the method refuses have no fit; NaN without any.
    """
    model, seconds = at_one_setting(replace(method, tuning_free=method.tuning_free or {})).build(), []
    for dataset in experiment.groups[0].dataset:
        parsed = experiment.data_set(dataset)
        if describe(parsed.name, parsed.params).available:
            problem = make_problem(parsed.name, parsed.params, bare_name(experiment.groups[0].mask[0]))
            with suppress(ConfigurationError):
                seconds.append(fit(model.for_problem(problem), problem))
    return median(seconds) if seconds else math.nan


def fit(model: LocalEstimator, problem: Problem) -> float:
    """Fit a model to a problem as runs do, and return the processor seconds.

    Features scaled by public rows may leave their range without a warning.
    """
    with warnings.catch_warnings():
        for category in (PrivacyLeakWarning, ClippingWarning):
            warnings.simplefilter("ignore", category)
        start = time.process_time()
        model.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
        return time.process_time() - start
