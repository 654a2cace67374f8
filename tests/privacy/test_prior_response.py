import itertools
import math

import numpy as np
import pytest

from lpbench.errors import ConfigurationError
from lpbench.privacy import GRR, PriorResponse, exact_epsilon, prior_reports, ranked_classes
from lpbench.privacy.exact import BITS
from tests.privacy.laws import assert_frequencies

PRIORS = [np.array([0.7, 0.2, 0.05, 0.05]), np.ones(4) / 4, np.array([0.1, 0.4, 0.4, 0.1])]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("prior", PRIORS)
def test_no_set_of_classes_tells_the_truth_more_often(epsilon, prior):
    chosen = prior @ np.diag(PriorResponse.for_prior(epsilon, prior).channel())
    every = [
        prior @ np.diag(PriorResponse(epsilon, 4, shown).channel())
        for k in range(1, 5)
        for shown in itertools.combinations(range(4), k)
    ]
    assert chosen == pytest.approx(max(every))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 1000.0])
@pytest.mark.parametrize("shown", [(2,), (1, 3), (0, 1, 2), (3, 1, 0, 2)])
def test_loss_is_the_budget_unless_nothing_is_told(epsilon, shown):
    mechanism = PriorResponse(epsilon, 4, shown)
    np.testing.assert_allclose(mechanism.channel().sum(axis=1), 1.0)
    assert mechanism.epsilon == (epsilon if len(shown) > 1 else 0.0)
    loss = exact_epsilon(mechanism.log_channel())
    assert loss <= mechanism.epsilon * (1 + 1e-12)  # the smallest probability is 2^-62
    assert loss == pytest.approx(mechanism.epsilon) or loss > BITS * math.log(2.0) - 1e-9


def test_all_classes_is_plain_randomized_response():
    np.testing.assert_allclose(PriorResponse(1.3, 5, tuple(range(5))).log_channel(), GRR(1.3, 5).log_channel())


def test_users_with_priors_of_their_own_answer_among_their_own_classes():
    priors = np.array([[0.98, 0.01, 0.01], [0.01, 0.5, 0.49]])
    order, size = ranked_classes(priors, 2.0)
    assert size.tolist() == [1, 2] and order[1].tolist() == [1, 2, 0]
    users = np.repeat([0, 1], 20_000)
    reports = prior_reports(np.full(users.size, 2), order[users], size[users], 2.0, np.random.default_rng(1))
    for user in (0, 1):
        shown = tuple(order[user, : size[user]].tolist())
        assert_frequencies(reports[users == user], PriorResponse(2.0, 3, shown).channel()[2])


@pytest.mark.parametrize("shown", [(), (1, 1), (0, 4), (-1,)])
def test_impossible_lists_are_refused(shown):
    with pytest.raises(ConfigurationError, match="listed="):
        PriorResponse(1.0, 4, shown)


def test_the_former_name_of_the_listed_categories_warns():
    with pytest.warns(DeprecationWarning, match="shown is now listed"):
        assert PriorResponse(1.0, 4, (1, 3)).shown == (1, 3)
