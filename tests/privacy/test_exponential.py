import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbench.privacy import Exponential
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


@pytest.mark.parametrize(("sensitivity", "changes"), [(2.0, MOVES), (1.0, REMOVALS)], ids=["one label", "one sample"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_a_change_costs_epsilon_and_no_less(epsilon, sensitivity, changes):
    mechanism = Exponential.for_budget(epsilon, range_sensitivity=sensitivity)  # 2: label-DP eq. (19)
    assert mechanism.coefficient == epsilon / sensitivity
    assert epsilon * (1 - 1e-3) < worst_loss(mechanism, changes) <= epsilon * (1 + 1e-12)


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


@pytest.mark.parametrize(
    ("coefficient", "scores", "law"),
    [(math.inf, [7.0, 7.0, 2.0], [0.5, 0.5, 0.0]), (0.0, [7.0, -7.0, 2.0], [1 / 3] * 3)],
    ids=["ties are broken evenly", "scores are ignored"],
)
def test_draws_at_the_ends_of_the_budget(coefficient, scores, law):
    mechanism = Exponential(coefficient)
    assert mechanism.epsilon == coefficient
    assert_frequencies(mechanism.randomize(np.tile(scores, (20000, 1)), np.random.default_rng(0)), law)


def test_budgets_share_draws():
    scores = np.random.default_rng(1).integers(0, 30, (200, 4))
    huge, ordinary, best = (Exponential(c).randomize(scores, np.random.default_rng(2)) for c in (1e6, 1.3, math.inf))
    assert np.array_equal(huge, best)
    assert np.array_equal(ordinary, np.argmax(1.3 * scores + np.random.default_rng(2).gumbel(size=(200, 4)), axis=1))
    assert (np.take_along_axis(scores, huge[:, None], 1)[:, 0] == scores.max(axis=1)).all()


def test_impossible_coefficients():
    for coefficient in (-1.0, math.nan):
        with pytest.raises(ValueError, match="coefficient="):
            Exponential(coefficient)
    with pytest.raises(ValueError, match="coefficient=inf"):  # no log-probabilities without noise
        Exponential(math.inf).log_channel([[1.0, 2.0]])
