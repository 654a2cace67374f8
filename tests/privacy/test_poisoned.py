import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from lpbench import privacy
from lpbench.audit.contract import problem_for, regression_problem
from lpbench.errors import ConfigurationError
from lpbench.estimators.private_classes import CLASS, ClassQuestion
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.experiments import catalog
from lpbench.privacy.guarantee import Guarantee, believed
from lpbench.seeds import Streams

SLOW = {"private_sets", "calibrated_score", "residual_score", "public_forest", "private_intervals"}


def users_of(y, classes=None, y_range=(0.0, 1.0), n=None):
    y = np.asarray(y)
    records = privacy.Records(np.full((y.size, 1), 0.5), y, np.ones((y.size, 1), dtype=bool))
    known = {"classes": classes} if classes is not None else {"y_range": y_range}
    return privacy.SimulatedUsers(records, Streams(1), **known)


def poisoned(users, *liars, **more):
    return privacy.PoisonedUsers.of(users, privacy.Liars(*liars, **more), Streams(2))


@pytest.mark.parametrize("name", [n for n in catalog.method_names() if n not in SLOW])
def test_without_liars_no_bit_changes_and_with_them_every_method_learns(name):
    method = catalog.method(name)
    problem = problem_for(method.build())
    budget = {"epsilon": 1.0} if method.build().uses_epsilon else {}
    model = method.build().for_problem(problem).set_params(**(method.tuning_free or {}), **budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = model.task(problem, Streams(3)).users
        learned = [
            clone(model).set_params(random_state=Streams(4)).learn_from(users)
            for users in (plain.fresh(), poisoned(plain.fresh(), 0.0, "output"))
        ]
        first, second = (fitted.predict(problem.X_test) for fitted in learned)
        assert learned[0].guarantee_ == learned[1].guarantee_
        np.testing.assert_array_equal(first, second)
        lied = replace(problem, context={"liars": privacy.Liars(0.1, "output", "flip", "clip")})
        assert np.isfinite(model.sweep(lied, [1.0], {}, Streams(3)).values).all()


def test_the_liars_of_a_small_share_are_among_those_of_a_larger_one():
    users = users_of(np.linspace(0, 0.4, 20))
    few, many = (poisoned(users, share).records.y for share in (0.1, 0.5))
    assert (few == 1.0).sum() == 2 and (many == 1.0).sum() == 10
    assert (many[few == 1.0] == 1.0).all()


@pytest.mark.parametrize(
    "goal, y, classes, expected",
    [
        ("error", [0.2, 0.9, 0.4], None, [1.0, 0.0, 1.0]),
        ("error", [0, 1, 2], np.arange(3), [1, 2, 0]),
        ("flip", [0.2, 0.9, 0.4], None, [1.0, 1.0, 1.0]),
        ("flip", [0, 1, 1], np.arange(3), [2, 2, 2]),
    ],
)
def test_three_users_who_all_lie_claim_by_hand(goal, y, classes, expected):
    assert poisoned(users_of(y, classes), 1.0, goal=goal).records.y.tolist() == expected


def test_liars_about_a_point_claim_its_features_and_the_wrong_label():
    lie = poisoned(users_of([0.1, 0.2, 0.3]), 1.0, goal="point", point=(np.array([0.25]), 1.0)).records
    assert lie.X.ravel().tolist() == [0.25] * 3 and lie.y.tolist() == [1.0] * 3


def test_a_false_report_names_the_lie_and_a_false_number_is_as_large_as_fits():
    said = poisoned(users_of([0, 0, 0], np.arange(3)), 1.0, "output").ask(CLASS, ClassQuestion(privacy.GRR(0.5, 3)))
    assert said.tolist() == [1, 1, 1]  # an honest device at this budget would often say something else
    question = LabelQuestion((0.0, 1.0), 1.0)
    assert (poisoned(users_of([0.2, 0.3, 0.4]), 1.0, "output").ask(LABEL, question) > 1e8).all()
    cut = poisoned(users_of([0.2, 0.3, 0.4]), 1.0, "output", defense="clip").ask(LABEL, question)
    np.testing.assert_allclose(cut, 1.0 + math.log(0.5 / 1e-6))
    grid = LabelQuestion((0.0, 1.0), 1.0, noise="discrete")
    [field] = LABEL.fields(grid)
    most = poisoned(users_of([0.2, 0.3, 0.4]), 1.0, "output").ask(LABEL, grid)
    assert most.tolist() == [field.reach * field.step] * 3


def test_clipping_cuts_honest_reports_with_the_stated_probability():
    mechanism = privacy.Laplace(2.0)
    assert 0.5 * math.exp(-mechanism.tail(1e-6) / 2.0) == pytest.approx(1e-6)


def test_sums_are_the_honest_law_and_the_liars_reports():
    classes = np.arange(2)
    users = poisoned(users_of(np.zeros(1000, dtype=int), classes), 0.5, "output")
    question = ClassQuestion(privacy.GRR(30.0, 2))  # hardly any noise
    np.testing.assert_allclose(users.sums(CLASS, question), [500, 500], atol=1)
    by = np.repeat([0, 1], 500)
    counts = users.sums(CLASS, question, by=by)
    np.testing.assert_allclose(counts.sum(axis=1), [500, 500], atol=1)
    lying = users.records.y == 1
    np.testing.assert_allclose(counts[:, 1], [lying[by == g].sum() for g in (0, 1)], atol=1)


def test_of_groups_the_median_is_predicted():
    problem = replace(regression_problem(), context={"liars": privacy.Liars(0.0, defense="median")})
    model = catalog.method("private_mean").build().for_problem(problem)
    task = model.task(problem, Streams(3))
    assert task.parts == 9
    means = []
    for k in range(9):
        fitted = clone(model).set_params(epsilon=1.0, random_state=task.streams)
        users = task.users.fresh().take(np.arange(k, task.users.n, 9))
        means.append(fitted.learn_from(users).predict(problem.X_test))
    expected = problem.score(np.median(means, axis=0))
    assert model.sweep(problem, [1.0], {}, Streams(3)).values[0, 0] == pytest.approx(expected)


E = math.e


@pytest.mark.parametrize(
    "mechanism, influence",
    [
        (privacy.Laplace(1.0), math.inf),
        (privacy.RandomizedResponse.for_budget(1.0), (E + 1) / (E - 1)),
        (privacy.GRR(1.0, 3), (E + 2) / (E - 1)),
        (privacy.BitVector(2.0, 4), (E + 1) / (E - 1)),
        (privacy.SubsetSelection(1.0, 3, 1), (E + 2) / (E - 1)),
        (privacy.HadamardResponse(1.0, 3), 2 * (E + 1) / (E - 1)),
        (privacy.Hybrid(0.5), (E**0.5 + 1) / (E**0.5 - 1)),
        (privacy.GRR(math.inf, 3), 1.0),
    ],
)
def test_the_influence_of_one_report_by_hand(mechanism, influence):
    assert mechanism.influence == pytest.approx(influence, rel=1e-9)


def test_influence_on_a_grid_ends_with_the_payload_and_piecewise_with_its_list():
    mechanism = privacy.DiscreteLaplace.for_budget(1.0, 2.0**-10)
    [field] = mechanism.fields()
    assert mechanism.influence == 2 * field.reach * field.step
    assert privacy.Piecewise(1.0).influence == privacy.Piecewise(1.0).bound > 1
    assert privacy.GRR(0.5, 3).influence > privacy.GRR(1.0, 3).influence > privacy.GRR(4.0, 3).influence > 1


@pytest.mark.parametrize("wrong", [{"share": 1.5}, {"share": 0.1, "poison": "x"}, {"share": 0.1, "goal": "x"}])
def test_impossible_liars_are_refused(wrong):
    with pytest.raises(ConfigurationError):
        privacy.Liars(**wrong)


def test_a_budget_in_words_is_bayes_rule():
    assert believed(1.0) == (
        "whoever was believed to have a binary secret with 50 % is believed with at most 73% after one fit"
    )
    assert "at most 50%" in believed(0.0) and "at most 100%" in believed(math.inf) and "99.9%" in believed(7.0)
    assert believed(1.0, 1e-6).endswith("but for a chance of 1e-06")
    assert "at most 73% after one fit." in str(Guarantee("ldp", 1.0))


def test_a_method_that_reads_who_protects_what_says_so():
    problem = regression_problem()
    model = catalog.method("histoftree_max_edge").build().for_problem(problem).set_params(random_state=1)
    for mask, said in ((problem.mask, True), (np.ones_like(problem.mask) * [1, 0, 0, 0], False)):
        fitted = model.fit(problem.X_train, problem.y_train, mask=mask.astype(bool))
        assert ("who protects what" in str(fitted.guarantee_)) == said
