"""LPCT with noise="discrete": the same exact epsilon, the law of the per-user protocol, sweep equal to fit."""

import numpy as np
import pytest

from lpbench.estimators import LPCT
from lpbench.estimators.lpct.votes import DISCRETE_STEP, VOTE, VoteMechanism, VoteQuestion, noisy_votes
from lpbench.partitions import GridCells
from lpbench.privacy import Records
from lpbench.seeds import Streams
from tests.privacy.laws import assert_same_law


def sample(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X, X_public = rng.random((n, 2)), rng.random((40, 2))
    return X, (X[:, 0] > 0.5).astype(int), X_public, (X_public[:, 0] > 0.5).astype(int)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 1000.0])
def test_epsilon_is_exact_because_votes_lie_on_the_grid(epsilon):
    discrete, plain = VoteMechanism(epsilon, "discrete"), VoteMechanism(epsilon)
    for n_cells, n_classes in ((1, 1), (1, 2), (4, 2), (4, 3)):
        assert discrete.spent(n_cells, n_classes) == pytest.approx(plain.spent(n_cells, n_classes), rel=1e-12)
    assert discrete.half.scale == plain.half.scale


def users_votes(cells, codes, mechanism, seed):
    """Estimated votes of the users' own reports in two cells of a line."""
    question, records = VoteQuestion(GridCells(2, 1), 2, mechanism), Records(cells[:, None] / 2 + 0.1, codes)
    sums = VOTE.added_up(records, question, np.random.default_rng(seed))
    return VOTE.estimate(sums, question, len(records)).reshape(2, 2)


def test_noise_adds_up_as_if_drawn_by_each_user():
    mechanism = VoteMechanism(2.0, "discrete")
    cells, codes = np.array([0, 1, 1, 1, 0]), np.array([0, 1, 1, 0, 1])
    votes = np.array([[2.0, 3.0], [1.0, 2.0]])
    drawn = np.array([noisy_votes(votes, 5, mechanism, Streams(s)) for s in range(1500)])
    users = np.array([users_votes(cells, codes, mechanism, s) for s in range(1500)])
    for entry in np.ndindex(2, 2):
        assert_same_law(drawn[(slice(None), *entry)], users[(slice(None), *entry)])
    np.testing.assert_array_equal(drawn, np.rint(drawn / DISCRETE_STEP) * DISCRETE_STEP)


def test_randomised_response_has_no_such_noise():
    X, y, _, _ = sample(20)
    with pytest.raises(ValueError, match="noise='discrete' is Laplace"):
        LPCT(noise="discrete", mechanism="rr", depth=1).fit(X, y)
