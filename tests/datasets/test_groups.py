"""Groups of columns, roles of data sets, and metrics of unbalanced classes."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from lpbench.datasets import list_datasets, load_manifest, make_problem
from lpbench.datasets.parameters import resolve_params
from lpbench.datasets.real import group_names, group_numbers
from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators import PrivateMajority
from lpbench.experiments import catalog
from lpbench.problem import Problem
from lpbench.seeds import Streams

ROLES = {
    "development": {"student", "visits", "airfoil", "german", "titanic"},
    "held_out": {
        *("arrests", "bike", "chile", "health_insurance", "hmda", "magic", "males_wage", "participation"),
        *("resume_names", "returns_schooling", "vietnam", "vocabulary", "working_hours"),
    },
    "sealed": {"california", "ames", "bank", "spambase"},
}
FRESH = sorted(set().union(*ROLES.values()))


@pytest.mark.parametrize("role", ROLES)
def test_manifests_say_what_a_set_is_for(role):
    assert {name for name in list_datasets() if load_manifest(name).role == role} == ROLES[role]


def test_no_experiment_but_the_sealed_ones_names_a_sealed_set():
    for name, experiment in catalog.experiments().items():
        named = {selector.partition("[")[0] for group in experiment.groups for selector in group.dataset}
        assert not named & ROLES["sealed"] or name.startswith("comparison/sealed_"), name


@pytest.mark.parametrize("name", FRESH)
def test_levels_of_a_column_and_listed_columns_are_protected_together(name):
    """Whatever the mask: a user shows all columns of a group or none."""
    try:
        params = {"sealed": True} if name in ROLES["sealed"] else None
        problem = make_problem(name, params, "personalized", None, 0, 1)
    except DataError as error:
        pytest.skip(str(error))
    groups = problem.context["groups"]
    names = group_names(load_manifest(name), problem.context["columns"])
    np.testing.assert_array_equal(groups, group_numbers(names))
    for group in range(groups.max() + 1):
        assert (problem.mask[:, groups == group].any(axis=1) == problem.mask[:, groups == group].all(axis=1)).all()
    aligned = make_problem(name, params, "aligned", None, 0, 1).mask[0]
    n_groups = groups.max() + 1
    assert len(set(groups[aligned])) == max(1, int(np.ceil(np.log(np.sqrt(n_groups)))))
    assert set(groups[aligned]) == set(range(len(set(groups[aligned]))))


def test_groups_are_numbered_as_they_first_occur():
    assert group_numbers(["a", "b", "a", "c", "b"]).tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ({"size": ["length", "nothing"]}, "'nothing', which is not a feature"),
        ({"size": ["a"], "form": ["a"]}, "in the groups 'size' and 'form'"),
    ],
)
def test_wrong_groups_are_named(groups, said):
    manifest = replace(load_manifest("abalone"), features=("a", "length"), groups=groups)
    with pytest.raises(DataError, match=said):
        group_names(manifest, ("a", "length"))


def test_metrics_of_unbalanced_classes_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    y = (rng.random(300) < 0.1).astype(int)
    score = np.round(rng.random((2, 300)) + 0.3 * y, 1)  # with ties
    base = {"X_train": score.T, "y_train": y, "X_test": score.T, "y_test": y}
    auc = Problem(**base, metric="auc").score(score)
    np.testing.assert_allclose(auc, [roc_auc_score(y, row) for row in score])
    balanced = Problem(**base, metric="balanced_accuracy").score((score > 0.7).astype(int))
    np.testing.assert_allclose(balanced, [balanced_accuracy_score(y, row > 0.7) for row in score])


def test_probabilities_are_scored_where_the_metric_asks_for_them():
    X = np.linspace(0, 1, 40)[:, None]
    y = (X[:, 0] > 0.6).astype(int)
    problem = Problem(X, y, X, y, metric="auc", classes=np.array([0, 1]))

    class Slope(PrivateMajority):
        def predict_proba(self, X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

        def learn_grid(self, *args):
            raise AssertionError("a sweep knows no probabilities")

    [result] = Slope().sweep_many([problem], [1.0], {}, [Streams(0)])
    assert result.values.tolist() == [[1.0]]


def test_a_metric_is_a_parameter_of_classification_alone():
    assert resolve_params(load_manifest("hmda"), {"metric": "auc"})["metric"] == "auc"
    assert resolve_params(load_manifest("hmda"), {})["metric"] == "accuracy"
    assert resolve_params(load_manifest("bike"), {})["metric"] == "mse"
    with pytest.raises(ConfigurationError, match="metric='auc' must be one of 'mse'"):
        resolve_params(load_manifest("bike"), {"metric": "auc"})
