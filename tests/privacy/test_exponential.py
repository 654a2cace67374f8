"""Exponential mechanism: the exact loss by enumeration of counts, and the Gumbel draws against the channel."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbench.privacy import Exponential, exponential_choices
from tests.privacy.laws import assert_frequencies


def worst_loss(mechanism, changes, largest=40, n_candidates=3):
    """Largest log-ratio over all counts up to ``largest`` and all given changes of them (staying >= 0)."""
    counts = np.array(list(product(range(0, largest + 1, 4), repeat=n_candidates)))
    losses = []
    for change in changes:
        after = counts + np.array(change)
        valid = (after >= 0).all(axis=1)
        losses.append(np.abs(mechanism.log_channel(counts[valid]) - mechanism.log_channel(after[valid])).max())
    return max(losses)


MOVES = [(-1, 1, 0), (1, -1, 0), (0, 1, -1), (1, 0, -1)]
REMOVALS = [(-1, 0, 0), (0, -1, 0), (0, 0, 1)]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_changing_one_label_costs_epsilon(epsilon):
    mechanism = Exponential.for_budget(epsilon)  # label-DP eq. (19)
    assert mechanism.coefficient == epsilon / 2
    loss = worst_loss(mechanism, MOVES)
    assert epsilon * (1 - 1e-3) < loss <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_removing_one_sample_costs_the_coefficient(epsilon):
    mechanism = Exponential.for_budget(epsilon, range_sensitivity=1.0)
    loss = worst_loss(mechanism, REMOVALS)
    assert epsilon * (1 - 1e-3) < loss <= epsilon * (1 + 1e-12)


def test_changing_one_whole_sample_costs_half_of_what_the_paper_accounts_for():
    """label-DP eq. (33) draws with exp(eps n/4): two cubes lose or gain one sample each, and each costs eps/4."""
    epsilon = 2.0
    mechanism = Exponential(epsilon / 4)
    across = worst_loss(mechanism, REMOVALS[:2]) + worst_loss(mechanism, REMOVALS[2:])
    within = worst_loss(mechanism, MOVES)
    assert across == pytest.approx(epsilon / 2, rel=1e-3) and within == pytest.approx(epsilon / 2, rel=1e-3)
    assert mechanism.epsilon == epsilon / 2


@given(st.floats(0.01, 20), st.lists(st.floats(-50, 50), min_size=2, max_size=5), st.data())
def test_privacy_map_bounds_any_change(coefficient, scores, data):
    change = data.draw(st.lists(st.floats(-3, 3), min_size=len(scores), max_size=len(scores)))
    mechanism = Exponential(coefficient)
    loss = np.abs(mechanism.log_channel([scores]) - mechanism.log_channel([np.add(scores, change)])).max()
    assert loss <= mechanism.privacy_map(max(change) - min(change)) + 1e-9


@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_draws_follow_the_channel(epsilon):
    mechanism = Exponential.for_budget(epsilon)
    scores = np.array([3.0, 1.0, 0.0, 2.0])
    draws = mechanism.randomize(np.tile(scores, (50000, 1)), np.random.default_rng(0))
    assert_frequencies(draws, mechanism.channel(scores[None])[0])


def test_infinite_budget_breaks_ties_evenly():
    scores = np.tile([7.0, 7.0, 2.0], (20000, 1))
    assert_frequencies(Exponential(math.inf).randomize(scores, np.random.default_rng(0)), [0.5, 0.5, 0.0])


def test_no_budget_ignores_the_scores():
    scores = np.tile([7.0, -7.0, 2.0], (20000, 1))
    assert Exponential(0.0).epsilon == 0.0
    assert_frequencies(Exponential(0.0).randomize(scores, np.random.default_rng(0)), [1 / 3] * 3)


def test_budgets_share_draws():
    rng = np.random.default_rng(1)
    scores, gumbels = rng.integers(0, 30, (200, 4)), rng.gumbel(size=(200, 4))
    huge = exponential_choices(scores, 1e6, gumbels)
    assert np.array_equal(huge, exponential_choices(scores, math.inf, gumbels))
    assert (np.take_along_axis(scores, huge[:, None], 1)[:, 0] == scores.max(axis=1)).all()


@pytest.mark.parametrize("coefficient", [-1.0, math.nan])
def test_impossible_coefficient(coefficient):
    with pytest.raises(ValueError, match="coefficient="):
        Exponential(coefficient)


def test_no_log_probabilities_without_noise():
    with pytest.raises(ValueError, match="coefficient=inf"):
        Exponential(math.inf).log_channel([[1.0, 2.0]])
