"""Randomizers written as docs/privacy.md says: its code is run, and audited exactly and by sampling."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from lpbench.audit import Channel, Message, asked_once, exact_loss, lower_bound, randomizer_of
from lpbench.audit.losses import channel_losses
from lpbench.audit.world import real_message
from lpbench.deployment.costs import randomizer_cost
from lpbench.estimators import PrivateMean
from lpbench.privacy import GRR, Laplace, grr_reports
from lpbench.privacy.payload import Integers
from lpbench.seeds import Streams

PAGE = Path(__file__).parents[2] / "docs" / "privacy.md"
FAILURE = 1e-7


class MyVotes(PrivateMean):
    """Stands for a new method."""


class MyInterview(PrivateMean):
    """Stands for a new sequentially interactive method."""


def my_client_code(residuals, levels, epsilon, streams):
    rng = streams.generator("report")
    place = (residuals + 1) / 2 * (levels - 1)
    below = np.minimum(np.floor(place), levels - 2)
    level = (below + (rng.random(residuals.size) < place - below)).astype(int)
    return grr_reports(level, levels, epsilon, rng.random(residuals.size), rng.random(residuals.size))


@pytest.fixture(scope="module")
def page():
    """What the page's code defines."""
    names = {
        "MyVotes": MyVotes, "MyInterview": MyInterview, "my_client_code": my_client_code, "N_CELLS": 4, "N_CLASSES": 3,
    }  # fmt: skip
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)
    for block in blocks:
        exec(block, names)
    return names


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("model", [MyVotes, MyInterview])
def test_the_examples_spend_exactly_their_budget(page, model, epsilon):
    randomizer = randomizer_of(model(epsilon))
    exact = exact_loss(randomizer).epsilon
    assert exact == pytest.approx(epsilon, abs=1e-9)
    assert 0.5 * epsilon < lower_bound(randomizer, 20_000, Streams(3), FAILURE).epsilon <= exact


@pytest.mark.parametrize("model", [MyVotes, MyInterview])
def test_the_examples_survive_the_wire(page, model):
    randomizer = randomizer_of(model(1.0))
    assert randomizer.rounds == 1 and randomizer_cost(randomizer, 0).user_bytes == 28 + math.ceil(
        randomizer.bits_up / 8
    )


def test_the_worst_group_counts_and_values_of_two_groups_are_not_compared():
    def part(mechanism, labels):
        labels = np.array(labels)
        return real_message(
            mechanism, labels, lambda v, n, s: mechanism.randomize(np.full(n, labels[v]), s.generator("r"))
        )

    quiet, loud = part(Laplace(2.0), [0.0, 1.0]), part(Laplace(0.5), [100.0, 100.5, 101.0])
    randomizer = asked_once("label_ldp", 2.0, [quiet, loud])
    assert randomizer.n_values == 5 and exact_loss(randomizer).epsilon == pytest.approx(2.0)
    bound = lower_bound(randomizer, 20_000, Streams(0), FAILURE)
    assert set(bound.pair) == {2, 4} and 1.5 < bound.epsilon <= 2.0
    assert not randomizer.neighbours[:2, 2:].any()


def test_an_interview_that_overspends_in_one_group_is_caught():
    def part(levels, spent):
        def send(value, n, streams):
            return my_client_code(np.full(n, [-1.0, 1.0][value]), levels, spent, streams)

        return Message(GRR(spent, levels), np.array([0, levels - 1]), send, (Integers(levels),))

    randomizer = asked_once("label_ldp", 1.0, [part(2, 1.0), part(8, 1.6)])
    assert exact_loss(randomizer).epsilon == pytest.approx(1.6)
    assert 1.2 < lower_bound(randomizer, 20_000, Streams(0), FAILURE).epsilon <= 1.6


def test_a_table_is_a_mechanism():
    table = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.1, 0.1, 0.8]])
    channel = Channel(table)
    assert channel.epsilon == pytest.approx(math.log(5)) == channel_losses(np.log(table)).max()
    reports = channel.randomize(np.repeat([0, 2], 40_000), np.random.default_rng(0)).reshape(2, -1)
    shares = np.array([np.bincount(r, minlength=3) / 40_000 for r in reports])
    np.testing.assert_allclose(shares, table[[0, 2]], atol=5.5 * 0.5 / math.sqrt(40_000))
    assert Channel([[1.0, 0.0], [0.5, 0.5]]).epsilon == math.inf
    with pytest.raises(ValueError, match="must be a table"):
        Channel([[0.5, 0.4]])
