"""What a fitted model keeps, and what it takes from the data: pickles, lists of classes, ranges of the features."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree._tree import Tree

import lpbench.estimators
from lpbench import estimators as models
from lpbench.cli.contract import problem_for
from lpbench.errors import ClippingWarning, ConfigurationError, DataError, PrivacyLeakWarning
from lpbench.estimators.public_scaler import PublicScaler

PRIVATE = [
    model()
    for name in lpbench.estimators.__all__
    for model in [getattr(models, name)]
    if model.uses_epsilon and name not in ("LDPMean", "LDPVote")
] + [
    models.LDPMean(bins=2),
    models.LDPVote(bins=2),
    models.HistOfTree(mechanism="rr"),
    models.HistOfTree(n_grid_features=3, bins=200, depth=1),
    models.PSGD(hidden_ratio=1.0),
]
CLASSIFIERS = [model for model in PRIVATE if hasattr(model, "classes")]


def arrays(value, seen):
    """All arrays inside an object, wherever they are."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from arrays(part, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from arrays(part, seen)
    elif hasattr(value, "__dict__"):
        yield from arrays(vars(value), seen)
    elif isinstance(value, Tree):
        yield from arrays(value.__getstate__(), seen)


def private_columns(problem, model):
    """What no model may keep of a sample: protected features, column by column, and labels that are numbers."""
    if model in ("ldp", "semi_feature_ldp", "cdp"):
        hidden = problem.mask if model == "semi_feature_ldp" else np.ones_like(problem.X_train, dtype=bool)
        yield from (column[mask] for column, mask in zip(problem.X_train.T, hidden.T, strict=True) if mask.sum() > 20)
    if np.unique(problem.y_train).size > 20:
        yield problem.y_train


@pytest.mark.parametrize("model", PRIVATE, ids=repr)
def test_a_pickle_predicts_alike_and_holds_no_protected_column(model):
    problem = problem_for(model)
    fitted = model.for_problem(problem).set_params(random_state=3)
    fitted.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.predict(problem.X_test), fitted.predict(problem.X_test))
    kept = [np.ravel(a).astype(float) for a in arrays(restored, {}) if a.dtype.kind in "fiub"]
    for column in private_columns(problem, fitted.guarantee_.model):
        assert np.isin(column, np.concatenate([*kept, [np.nan]])).mean() < 0.1


def test_a_table_that_is_too_large_to_be_written_out_is_not_pickled():
    X = np.random.default_rng(0).random((50, 21))
    fitted = models.PHIST(random_state=0).fit(X, (X[:, 0] > 0.5).astype(int))
    with pytest.raises(pickle.PicklingError, match="simulated"):
        pickle.dumps(fitted)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_one_private_label_does_not_change_a_given_list_of_classes(model):
    problem = problem_for(model)
    arguments = (problem.X_train, problem.y_train)
    named = clone(model).set_params(random_state=0, classes=np.unique(problem.y_train))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        named.fit(*arguments, **problem.fit_arguments)
    assert "classes" not in named.guarantee_.note
    with pytest.warns(PrivacyLeakWarning, match="classes"):
        open_list = clone(model).set_params(random_state=0, classes=None).fit(*arguments, **problem.fit_arguments)
    assert "list of classes taken from protected labels" in open_list.guarantee_.note
    np.testing.assert_array_equal(named.predict(problem.X_test), open_list.predict(problem.X_test))
    with pytest.raises(DataError, match="not in `classes`"):
        named.fit(problem.X_train, np.where(np.arange(len(arguments[1])) == 0, 99, arguments[1]))


def test_clipping_to_the_domain_is_told_and_ranges_may_differ_by_feature():
    rng = np.random.default_rng(0)
    unit = rng.random((60, 2))
    X, domain = unit * [10.0, 2.0] - [0.0, 1.0], [(0.0, 10.0), (-1.0, 1.0)]
    y = unit[:, 0]
    with pytest.warns(ClippingWarning, match="domain"):
        models.Hist(y_range=(0, 1), random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClippingWarning)
        told = models.Hist(y_range=(0, 1), domain=domain, random_state=0).fit(X, y)
        scaled = models.Hist(y_range=(0, 1), random_state=0).fit(PublicScaler(domain).fit_transform(X), y)
    np.testing.assert_array_equal(told.predict(X), scaled.predict(PublicScaler(domain).fit(X).transform(X)))
    with pytest.raises(ConfigurationError, match="2 features"):
        models.Hist(domain=[(0, 1)] * 3, y_range=(0, 1)).fit(X, y)
