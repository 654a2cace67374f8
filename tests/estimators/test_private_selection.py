import re

import numpy as np
import pytest

from lpbench.audit.contract import classification_problem, regression_problem
from lpbench.audit.methods import recorded_users
from lpbench.audit.recording import Recording
from lpbench.audit.samples import Y_RANGE, audit_sample
from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators import DT, LabelDT, PrivateSelectionClassifier, PrivateSelectionRegressor
from lpbench.estimators.private_selection.candidates import CANDIDATES
from lpbench.estimators.private_selection.selection import compare_by_differences, compare_by_labels, divide
from lpbench.experiments import catalog
from lpbench.privacy import Records, SimulatedUsers
from lpbench.seeds import Streams
from tests.estimators.loops import learned

TEXT = ("lpct_max_edge",)
SIZES = [{"max_depth": 4}, {"max_depth": 1}, {"max_depth": None}]


def selection(name, epsilon=2.0, **others):
    kind = PrivateSelectionRegressor if catalog.method(name).task == "regression" else PrivateSelectionClassifier
    return kind(epsilon, name, random_state=1, **others)


def fitted(model, problem):
    return model.for_problem(problem).fit(problem.X_train, problem.y_train, **problem.fit_arguments)


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidates_are_of_the_registered_method_and_its_stated_setting_comes_first(name):
    spec = catalog.method(f"{name}[variant=text]" if name in TEXT else name)
    stated = spec.tuning_free or {}
    first = CANDIDATES[name].build().set_params(**CANDIDATES[name].points[0])
    assert first.get_params() == spec.build().set_params(**stated).get_params()
    texts = [repr(sorted(point.items())) for point in CANDIDATES[name].points]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", [n for n, c in CANDIDATES.items() if c.shared])
def test_candidates_that_share_users_share_their_reports(name):
    """All candidates of a group ask the same users the same questions, and get the same answers."""
    candidates = CANDIDATES[name]
    for members in candidates.groups():
        runs = []
        for k in members:
            model = candidates.build().set_params(random_state=5, **candidates.points[k])
            if "y_range" in model.get_params():
                model.set_params(y_range=Y_RANGE)
            runs.append(Recording())
            model.learn_from(recorded_users(audit_sample(model), 5, runs[-1]))
        assert runs[0].asked
        for run in runs[1:]:
            assert run.questions() == runs[0].questions()
            for one, other in zip(run.asked, runs[0].asked, strict=True):
                np.testing.assert_array_equal(one.users, other.users)
                np.testing.assert_array_equal(one.answer, other.answer)


@pytest.mark.parametrize(("groups", "n_validating"), [(1, 21), (3, 21), (0, 103)])
def test_every_user_trains_one_group_or_validates_what_none_of_them_trains(groups, n_validating):
    division = divide(103, groups, 0.2, Streams(1))
    everybody = np.concatenate([*division.training, division.validating])
    assert sorted(everybody) == list(range(103)) and len(division.training) == groups
    assert len(division.validating) == n_validating
    assert groups == 0 or np.ptp([len(users) for users in division.training]) <= 1
    with pytest.raises(DataError, match="n_samples = 3: 3 groups"):
        divide(3, 3, 0.2, Streams(1))


class Constant:
    def __init__(self, value):
        self.value = value

    def predict(self, X):
        return np.full(len(X), self.value)


LABELS = np.random.default_rng(3).uniform(-1, 1, 200)


def shown(seed, n=200, d=2):
    X = np.random.default_rng(4).random((n, d))
    records = Records(X, LABELS[:n], np.zeros((n, d), dtype=bool))
    return SimulatedUsers(records, Streams(seed), y_range=(-1.0, 1.0))


def test_reports_of_labels_compare_squared_errors_without_bias():
    """Mean over 400 comparisons within six standard errors (error probability below 1e-8)."""
    models, users = [Constant(0.5), Constant(-0.3), Constant(0.5)], np.arange(200)
    draws = np.array([compare_by_labels(models, shown(seed), users, (-1.0, 1.0), 1.0) for seed in range(400)])
    true = ((LABELS + 0.3) ** 2).mean() - ((LABELS - 0.5) ** 2).mean()
    assert abs(draws[:, 1].mean() - true) < 6 * draws[:, 1].std() / 20
    assert (draws[:, [0, 2]] == 0).all()


def test_reports_of_differences_compare_without_bias():
    """As above; one candidate and half of the users each."""
    models, users = [Constant(0.5), Constant(-0.3), Constant(0.1)], np.arange(200)
    asked = (users, 1.0, "squared", lambda model, first: 2.25)
    draws = np.array([compare_by_differences(models, shown(seed), *asked) for seed in range(400)])
    for k in (1, 2):
        labels = LABELS[k - 1 :: 2]
        true = ((labels - models[k].value) ** 2).mean() - ((labels - 0.5) ** 2).mean()
        assert abs(draws[:, k].mean() - true) < 6 * draws[:, k].std() / 20
    assert (draws[:, 0] == 0).all()


def test_differences_are_clipped_to_their_stated_range():
    """Without noise, a difference beyond the range is read as its end."""
    models = [Constant(0.0), Constant(9.0)]
    found = compare_by_differences(models, shown(1, 50), np.arange(50), np.inf, "squared", lambda model, first: 1.0)
    assert found[1] == pytest.approx(1.0, abs=1e-12)


def test_without_noise_the_best_on_the_validating_users_is_chosen():
    problem = regression_problem(400)

    def chosen(candidates):
        model = PrivateSelectionRegressor(np.inf, LabelDT(), candidates, ["max_depth"], y_range=(-1.0, 1.0))
        return learned(model.set_params(random_state=2), problem.X_train, problem.y_train, mask=np.zeros(4, dtype=bool))

    model, trees = chosen(SIZES), [chosen([size]) for size in SIZES]
    users = divide(400, 1, 0.2, Streams(2).party("curator")).validating
    errors = [((t.predict(problem.X_train[users]) - problem.y_train[users]) ** 2).mean() for t in trees]
    np.testing.assert_allclose(model.differences_, np.subtract(errors, errors[0]), rtol=0, atol=1e-12)
    assert model.point_ == SIZES[int(np.argmin(errors))]


@pytest.mark.parametrize(
    ("name", "counts"),
    [("par_dt", [240, 1, 60, 9]), ("histoftree_cart", [80, 3, 60, 2]), ("lpdt", [80, 3, 60, 2]), ("ct_q", [300, 3])],
)
def test_the_guarantee_is_exact_and_counts_users(name, counts):
    """Users who train each group and groups; users who validate and settings beside the first."""
    problem_of = regression_problem if catalog.method(name).task == "regression" else classification_problem
    spent = fitted(selection(name), problem_of(300)).guarantee_
    assert 2.0 - 1e-9 < spent.epsilon <= 2.0 and [int(n) for n in re.findall(r"\d+", spent.note)] == counts
    assert ("public sample" in spent.note) == (name in ("lpdt", "ct_q"))


def test_unknown_names_and_a_missing_public_sample_are_refused():
    problem = classification_problem()
    for model, named in (
        (PrivateSelectionRegressor(1.0, "par_td", y_range=(-1, 1)), "'par_td': did you mean par_dt"),
        (PrivateSelectionClassifier(1.0, "ct_q", classes=[0, 1]), "estimator='ct_q'.*X_public and y_public"),
        (PrivateSelectionRegressor(1.0, DT(max_depth=2), y_range=(-1, 1)), "estimator=DT.*X_public and y_public"),
    ):
        with pytest.raises(ConfigurationError, match=named):
            model.fit(problem.X_train, problem.y_train)
