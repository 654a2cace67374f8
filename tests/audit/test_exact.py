import math
from functools import reduce

import numpy as np
import pytest

from lpbench import privacy
from lpbench.audit.randomizers import Message, Randomizer, exact_loss
from lpbench.errors import ConfigurationError
from lpbench.privacy.domain import Interval
from lpbench.privacy.mechanism import channel_losses


def test_both_directions_of_an_asymmetric_channel_also_where_a_report_is_impossible():
    losses = channel_losses(np.log([[0.5, 0.4, 0.1], [0.25, 0.25, 0.5]]))
    assert losses[0, 1] == pytest.approx(math.log(2)) and losses[1, 0] == pytest.approx(math.log(5))
    assert np.diag(losses).tolist() == [0, 0]
    with np.errstate(divide="ignore"):
        losses = channel_losses(np.log([[1.0, 0.0], [0.5, 0.5]]))
    assert losses[0, 1] == pytest.approx(math.log(2)) and losses[1, 0] == math.inf


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(
    ("make", "inputs", "factor"),
    [
        (lambda e: privacy.GRR(e, 5), np.arange(5), 1),
        (lambda e: privacy.BitVector(e, 4), np.arange(4), 1),
        (lambda e: privacy.BitVector(e, 20), np.arange(20), 1),
        (lambda e: privacy.RandomizedResponse.for_budget(e, 2), np.eye(4, dtype=bool), 1),
        (lambda e: privacy.RandomizedResponse.for_budget(e, 2), np.eye(30, dtype=bool), 1),
        (lambda e: privacy.RandomizedResponse(e), np.eye(4, dtype=bool), 2),
        (lambda e: privacy.Laplace.for_budget(e, 2.0), np.array([0.0, 0.5, 2.0]), 1),
        (lambda e: privacy.Laplace.for_budget(e, 2.0), np.eye(3), 1),
        (lambda e: privacy.DiscreteLaplace.for_budget(e, 0.25, 2.0), np.eye(3), 1),
        (lambda e: privacy.PrivUnitG(e, 3), np.eye(3), 1),
        (lambda e: privacy.Exponential.for_budget(e), np.array([[3000.0, 0.0], [2999.0, 1.0]]), 1),
    ],
    ids="grr bits many_bits one_hot long_one_hot per_bit laplace vector discrete unit exp".split(),
)
def test_mechanisms_spend_what_they_say(make, inputs, factor, epsilon):
    losses = make(epsilon).losses(inputs)
    assert losses.max() == pytest.approx(factor * epsilon, abs=1e-9)
    np.testing.assert_allclose(np.diag(losses), 0, atol=1e-12)


def test_gaussian_is_exact_at_its_delta():
    mechanism = privacy.Gaussian(2.0, 1e-5, 1.0)
    losses = mechanism.losses(np.array([[0.0, 0.0], [0.6, 0.8], [3.0, 4.0]]))
    assert losses[0, 1] == pytest.approx(privacy.gaussian_epsilon(1e-5, 2.0, 1.0))
    assert losses[0, 2] == pytest.approx(privacy.gaussian_epsilon(1e-5, 2.0, 5.0))


def bits_of_channel(response, bits):
    """Channel of whole bit vectors (n_inputs, k), over all 2^k reports."""
    k = bits.shape[1]
    shown = ((np.arange(2**k)[:, None] >> np.arange(k)) & 1).astype(bool)
    kept, flipped = response.log_channel()[0]
    return np.where(bits[:, None, :] == shown, kept, flipped).sum(axis=2)


def test_composition_adds_up_to_the_product_channel():
    """The loss of independent messages is the sum of their losses, for every pair of values."""
    cells, labels = np.divmod(np.arange(6), 2)
    bits = np.eye(3, dtype=bool)[cells]
    parts = [(privacy.GRR(0.7, 3), cells), (privacy.GRR(0.4, 2), labels), (privacy.RandomizedResponse(0.3, 2), bits)]
    channels = (
        privacy.GRR(0.7, 3).log_channel()[cells],
        privacy.GRR(0.4, 2).log_channel()[labels],
        bits_of_channel(parts[2][0], bits),
    )
    joint = reduce(lambda one, two: (one[:, :, None] + two[:, None, :]).reshape(len(one), -1), channels)
    np.testing.assert_allclose(np.exp(joint).sum(axis=1), 1.0)
    np.testing.assert_allclose(channel_losses(joint), sum(part.losses(inputs) for part, inputs in parts), atol=1e-12)


def test_only_neighbors_count():
    chain = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) == 1
    message = Message(privacy.Laplace(1.0), np.arange(4.0), lambda v, n, streams: np.zeros(n))
    everybody = Randomizer("ldp", 3.0, [message], 4)
    neighbors = Randomizer("cdp", 1.0, [message], 4, neighbors=chain)
    assert exact_loss(everybody).epsilon == 3 and set(exact_loss(everybody).pair) == {0, 3}
    assert exact_loss(neighbors).epsilon == 1
    assert exact_loss(Randomizer("ldp", 0.0, [], 2)).epsilon == 0


def test_what_cannot_be_audited_says_so():
    class Odd(privacy.Mechanism):
        epsilon, domain = 1.0, Interval()

        def _draw(self, values, rng):
            return values

    with pytest.raises(ConfigurationError, match="Odd has no exact loss"):
        Odd().losses([0.0, 1.0])
    with pytest.raises(ValueError, match="model="):
        Randomizer("hope", 1.0, [], 2)


def test_choices_in_several_cells_add_their_losses():
    mechanism = privacy.Exponential(1.0)
    one, two = (
        np.array([[[30.0, 0.0]], [[29.0, 1.0]]]),
        np.array([[[30.0, 0.0], [5.0, 5.0]], [[29.0, 1.0], [5.0, 4.0]]]),
    )
    alone = mechanism.losses(one)[0, 1]
    assert mechanism.losses(two)[0, 1] == pytest.approx(alone + mechanism.exact_loss([5.0, 5.0], [5.0, 4.0]))
