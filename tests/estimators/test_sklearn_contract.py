"""What every estimator of the library and every registered method promises, whatever it does.

A new estimator is tested by being exported in ``lpbench.estimators``, a new method by its YAML.
"""

import inspect
import math

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid

import lpbench.estimators
from lpbench.audit.contract import check_with_scikit_learn, problem_for
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import LocalEstimator, expand_grid
from lpbench.experiments import catalog as registry
from lpbench.seeds import Streams
from lpbench.testing import METHOD_CHECKS

#: Estimators beside their defaults whose other half is another method.
PRESETS = {"PSGD": [{"hidden_ratio": 1.0}], "LPCT": [{"mechanism": "rr"}], "HistOfTree": [{"rule": "cart"}]}

CLASSES = {name: getattr(lpbench.estimators, name) for name in lpbench.estimators.__all__}
MODELS = [(name, preset) for name in CLASSES for preset in [{}, *PRESETS.get(name, [])]]
METHODS = registry.methods()
SELECTORS = [s for name, m in METHODS.items() for s in [name, *(f"{name}[variant={v}]" for v in m.variants)]]
#: One selector for every estimator class and set of searched parameters: batches, order and processes are the class's.
KINDS = list({(m.estimator_class, frozenset(m.grid)): name for name, m in reversed(METHODS.items())}.values())
ONCE_A_KIND = ("sweep", "batches", "determinism", "workers")
#: One of them for every package of estimators; the slow suite starts worker processes for all.
PACKAGES = list({METHODS[k].estimator_class.__module__.rpartition(".")[0]: k for k in reversed(KINDS)}.values())


def without_warnings(test):
    """The checks of a method say nothing about their own data."""
    for category in ("ClippingWarning", "NoMaskWarning"):
        test = pytest.mark.filterwarnings(f"error::lpbench.errors.{category}")(test)
    return test


def build(name: str, preset: dict, **params) -> LocalEstimator:
    known = inspect.signature(CLASSES[name]).parameters
    return CLASSES[name](**preset, **{k: v for k, v in params.items() if k in known})


def test_every_name_is_in_the_module_that_is_imported_for_it():
    for name, cls in CLASSES.items():
        module = cls.__module__.removeprefix("lpbench.estimators.")
        assert name in lpbench.estimators._MODULES[module].split()


def test_a_grid_is_expanded_in_scikit_learns_order():
    grid = {"depth": [2, 1], "bins": np.array([3, 5, 4]), "at": ("b", "a")}
    assert expand_grid(grid) == list(ParameterGrid(grid))
    assert expand_grid({}) == [{}]
    with pytest.raises(ConfigurationError, match="'bins' has no value"):
        expand_grid({"bins": []})


@pytest.mark.parametrize(("name", "preset"), MODELS)
def test_scikit_learn_checks(name, preset):
    check_with_scikit_learn(build(name, preset))


@pytest.mark.slow
@pytest.mark.parametrize("selector", [s for s in SELECTORS if s not in KINDS])
def test_sweeps_of_methods_of_the_same_kind(selector):
    METHOD_CHECKS["sweep"](selector)


@without_warnings
@pytest.mark.parametrize("selector", SELECTORS)
def test_contract_of_registered_methods(selector):
    """What depends on the parameters; scikit-learn's checks run on the classes (above), the audit in tests/audit."""
    for name, check in METHOD_CHECKS.items():
        if name not in (*ONCE_A_KIND, "scikit-learn", "audit"):
            check(selector)


@without_warnings
@pytest.mark.parametrize(
    ("selector", "check"),
    [pytest.param(kind, check, marks=[pytest.mark.slow] * (check == "workers" and kind not in PACKAGES))
     for kind in KINDS for check in ONCE_A_KIND],
)  # fmt: skip
def test_contract_of_estimators(selector, check):
    METHOD_CHECKS[check](selector)


def test_every_estimator_class_is_a_kind():
    classes = {m.estimator_class for m in METHODS.values()}
    assert {METHODS[name].estimator_class for name in KINDS} == classes >= set(CLASSES.values())


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


#: Class -> its own parameters -> values that no fit and no sweep accepts.
WRONG = {
    "AdHistOfTree": {"constant": (0.0, math.inf), "bins_offset": (0.5,), "min_depth": (-1,)},
    "CT": {"max_depth": (2.5,)},
    "Hist": {"bins": (0, 1.5), "threshold": (2.0,), "noise": ("cubic",)},
    "HistOfTree": {"bins": (0, 2.5), "depth": (-1,), "label_share": (0.0, 1.5), "n_grid_features": (6, "two")}
    | {
        "rule": ("cut",),
        "mechanism": ("oue",),
        "split_score": ("best",),
        "constants": ("loose",),
        "noise": ("normal",),
    },
    "KRR": {"bins": (1, 2.5), "budget": ("all",)},
    "LPCT": {"depth": (1.5, -1), "public_weight": (-1, math.inf), "min_samples_leaf": (0.5,), "domain": ((1, 0),)}
    | {"rule": ("best",), "criterion": ("variance",), "search": ("some",), "source": ("all",)}
    | {"mechanism": ("gauss",), "noise": ("none",), "outside": ("nan",)},
    "LPCTPrune": {"depth": (0,), "min_depth": (0,), "constants": ("loose",), "min_samples_leaf": (-1,)}
    | {"terminate": ("yes",)},
    "PHIST": {"noise": ("cubic",)},
    "LabelLDPVote": {"mechanism": ("laplace",), "bins": (0,)},
    "CDPVote": {"constants": ("loose",)},
    "LabelLDPKNN": {"beta": (2.0,), "holder": (0.0,), "k": (0,), "moment": (1.0,)},
    "CDPMean": {"constants": ("loose",), "density": (2.0,)},
    "PrivateLabelsRegressor": {"randomizer": ("gauss",), "learner": ("tree",)},
    "PrivateLabelsClassifier": {"randomizer": ("coin",)},
    "PSGD": {"learning_rate": (-1.0,), "hidden_ratio": (math.nan,), "warm_rate": ("none",)},
}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [(kind, name, value) for kind, wrong in WRONG.items() for name, values in wrong.items() for value in values],
)
def test_wrong_values_are_named(kind, name, value):
    problem = problem_for(build(kind, {}))
    model = build(kind, {name: value}).for_problem(problem)
    with pytest.raises(ValueError, match=f"{name}=.* must be"):
        model.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
    with pytest.raises(ValueError, match=f"{name}=.* must be"):
        build(kind, {}).for_problem(problem).sweep(problem, [1.0], {name: [value]}, Streams(0))


@pytest.mark.parametrize(
    "name", [name for name, kind in CLASSES.items() if "clip" in inspect.signature(kind).parameters]
)
def test_predictions_are_clipped_to_the_public_range_and_otherwise_the_same(name):
    found = []
    for clip in (False, True):
        model = build(name, {}, epsilon=0.05, clip=clip)
        problem = problem_for(model)
        model = model.for_problem(problem).learn_problem(problem, Streams(0))
        found.append(model.predict(problem.X_test))
    np.testing.assert_array_equal(found[1], np.clip(found[0], *problem.y_range))
    assert np.abs(found[0]).max() > 1 or name not in ("HistOfTree", "LabelDT", "Hist", "PrivateMean", "KRR")
