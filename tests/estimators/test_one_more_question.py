"""Sweeps count the users' questions as accounts do: one more question of a fit moves the sweep's draws with it."""

import numpy as np
import pytest

from lpbench.audit.contract import few_points, problem_for
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.experiments import catalog
from lpbench.privacy import GRR, Device, Records, SimulatedUsers
from lpbench.privacy.users import Simulation
from lpbench.seeds import Streams

#: Methods that ask somebody and have a shortcut for grids.
METHODS = [
    name
    for name in catalog.method_names()
    if (model := catalog.method(name).build()).uses_epsilon and model._has_shortcut()
]


class AgeGroup(Device):
    """One more question, which no sweep of the library knows."""

    def mechanism(self, question):
        return GRR(question, 3)

    def inputs(self, records, question):
        return np.zeros(len(records), dtype=int)


def with_one_more_question(kind):
    """Return a subclass that asks everybody for something else before it learns."""

    def learn(self, users):
        users.ask(AgeGroup(), 0.25)
        return super(asks_first, self).learn(users)

    asks_first = type(f"{kind.__name__}AsksFirst", (kind,), {"learn": learn})
    return asks_first


@pytest.mark.parametrize("selector", METHODS)
def test_a_sweep_has_the_scores_and_the_account_of_fits_that_ask_one_more_question(selector):
    method = catalog.method(selector)
    model = method.build()
    model.__class__ = with_one_more_question(type(model))
    problem = problem_for(method.build())
    model, streams = model.for_problem(problem), Streams(5)
    points = few_points(model.resolve_grid(method.grid_for("personalized"), problem), 3)
    swept = model.sweep(problem, (0.7, 4.0), points, streams)
    fitted = model.refitted(model.task(problem, streams), (0.7, 4.0), points)
    np.testing.assert_allclose(swept.values, fitted.values, rtol=1e-9, atol=1e-12)
    assert swept.reasons.keys() == fitted.reasons.keys()


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_family_is_drawn_as_by_users_who_have_answered_as_many_questions(before):
    rng = np.random.default_rng(0)
    records = Records(rng.random((50, 2)), rng.random(50))
    users, simulate = SimulatedUsers(records, Streams(3)), Simulation(records, Streams(3))
    for number in range(before):
        users.ask(AgeGroup(), 0.25 + number)
        simulate = simulate.after()
    question = LabelQuestion((0.0, 1.0), 2.0)
    [labels] = simulate(LABEL, [question])
    np.testing.assert_array_equal(labels, users.ask(LABEL, question))


def test_the_shortcut_of_a_class_stays_with_what_it_inherits():
    method = catalog.method("histoftree_max_edge")
    kind = type(method.build())
    assert kind._has_shortcut()
    assert type("Renamed", (kind,), {})._has_shortcut()
    assert not with_one_more_question(kind)._has_shortcut()
    assert type("Both", (with_one_more_question(kind),), {"_scores": kind._scores})._has_shortcut()
