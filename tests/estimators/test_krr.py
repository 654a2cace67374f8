import math

import numpy as np
import pytest

from lpbench.estimators import KRR
from lpbench.estimators.baselines import krr
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.privacy import GRR, Records, SimulatedUsers
from lpbench.seeds import Streams

RNG = np.random.default_rng(1)
N = 4000
X = RNG.random((N, 3))
Y = X[:, 0] - X[:, 2]
MASK = RNG.random((N, 3)) < [1.0, 0.5, 0.0]


def messages(epsilon=2.0, mask=MASK, **params):
    users = SimulatedUsers(Records(X, Y, mask), Streams(7), y_range=(-1.0, 1.0))
    model = KRR(epsilon=epsilon, **params)
    model._meet(users)
    return *model._messages(users), users.spent


def noisy_labels(y, question, streams):
    return SimulatedUsers(Records(X, y), streams).ask(LABEL, question)


def test_without_noise_protected_entries_are_bin_centers():
    shown, labels, _ = messages(math.inf, bins=4)
    np.testing.assert_array_equal(shown[~MASK], X[~MASK])
    np.testing.assert_allclose(shown[MASK], (np.floor(4 * X[MASK]) + 0.5) / 4)
    np.testing.assert_array_equal(labels, Y)


def assert_kept(shown, bins, epsilon):
    """Bins are kept as often as GRR at each user's epsilon a feature says; 6 standard deviations, fixed seed."""
    for budget in np.unique(epsilon[MASK.any(axis=1)]):
        protected = MASK & (epsilon == budget)[:, None]
        kept = np.mean(np.floor(bins * shown[protected]) == np.floor(bins * X[protected]))
        expected = GRR(budget, bins).channel()[0, 0]
        assert abs(kept - expected) < 6 * np.sqrt(expected * (1 - expected) / protected.sum())


#: Reports are points of a grid that is this fine.
GRID = 2.0**-24


def unit_noise_of_labels():
    return noisy_labels(Y, LabelQuestion((-1.0, 1.0), 2.0), Streams(7)) - Y


@pytest.mark.parametrize("bins", [2, 3, 5])
def test_every_message_gets_an_equal_share(bins):
    shown, labels, _ = messages(bins=bins)
    messages_per_user = 1 + MASK.sum(axis=1)
    np.testing.assert_allclose(labels - Y, unit_noise_of_labels() * messages_per_user, rtol=1e-9, atol=GRID)
    assert_kept(shown, bins, 2.0 / messages_per_user)


def test_halves_give_the_label_the_same_noise_under_every_mask():
    """Half of the budget for the label, whoever protects how much; the protected features share the other half."""
    shown, labels, guarantee = messages(bins=2, budget="halves")
    np.testing.assert_allclose(labels - Y, 2 * unit_noise_of_labels(), rtol=1e-9, atol=GRID)
    assert guarantee.epsilon == 2.0
    assert_kept(shown, 2, 2.0 / (2 * MASK.sum(axis=1)))
    assert messages(mask=np.zeros_like(MASK), budget="halves")[2].epsilon == 1.0


def test_nothing_protected_leaves_the_features():
    shown, _, _ = messages(mask=np.zeros_like(MASK))
    np.testing.assert_array_equal(shown, X)


@pytest.mark.parametrize("mask", [MASK, np.tile([True, False, True], (N, 1))])
@pytest.mark.parametrize("budget", ["composed", "halves", "mostly_label"])
def test_messages_do_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch, mask, budget):
    shown, labels, spent = messages(mask=mask, budget=budget)
    monkeypatch.setattr(krr, "_AT_ONCE", 700)
    again = messages(mask=mask, budget=budget)
    np.testing.assert_array_equal(again[0], shown)
    np.testing.assert_array_equal(again[1], labels)
    assert str(again[2]) == str(spent)


def test_bins_and_budgets_share_their_uniforms():
    coarse, fine = messages(1.0, bins=2)[0], messages(3.0, bins=2)[0]
    truth = (np.floor(2 * X) + 0.5) / 2
    assert (fine[MASK] == truth[MASK])[coarse[MASK] == truth[MASK]].all()


@pytest.mark.parametrize("budget", ["composed", "halves", "per_attribute"])
def test_every_user_pays_for_the_features_that_she_protects(budget):
    users = SimulatedUsers(Records(X, Y, MASK), Streams(7), y_range=(-1.0, 1.0))
    model = KRR(epsilon=2.0, budget=budget)
    model._meet(users)
    model._messages(users)
    protected = MASK.sum(axis=1)
    expected = {"composed": 2.0, "halves": np.where(protected > 0, 2.0, 1.0), "per_attribute": 2.0 * (1 + protected)}
    np.testing.assert_allclose(users.spent_by_user, np.broadcast_to(expected[budget], N))
    assert users.spent.rounds == 2 and ("each attribute" in users.spent.note) == (budget == "per_attribute")


def test_mostly_label_spends_seven_tenths_on_the_label_and_the_budget_in_all():
    _, labels, spent = messages(budget="mostly_label")
    np.testing.assert_allclose(labels - Y, unit_noise_of_labels() / 0.7, rtol=1e-9, atol=GRID)
    response = GRR(0.3 * 2.0 / MASK.sum(axis=1).max(), 2).epsilon * MASK.sum(axis=1).max()
    assert spent.epsilon == pytest.approx(0.7 * 2.0 + response) and spent.epsilon <= 2.0 + 1e-12
