"""Runs under several seeds: what is drawn outside the recorded calls is found; honest runs pass."""

import numpy as np
import pytest

from lpbench.audit.drawn_laws import Law
from lpbench.audit.leaks import Exchange
from lpbench.audit.reruns import SEEDS, broken_runs
from lpbench.audit.sources import Asked, ReportSource

N = 240


def exchange(path, law, users=None):
    source = ReportSource(path, lambda result: Asked(()), law=lambda result: law)
    return Exchange(source, Asked((), users=users), None, (law,))


def told(uniforms, chance=0.6):
    chances = np.full(uniforms.size, chance)
    return Law(told=(((uniforms < chance).astype(float), chances, chances * (1 - chances)),))


def runs(make):
    return [make(np.random.default_rng(seed)) for seed in SEEDS]


def label_and_cell(rng, cell):
    """A label of everybody and a cell of every other user, by the uniforms ``cell(uniforms of the label's noise)``."""
    uniforms, users = rng.random(N), np.arange(0, N, 2)
    noise = np.sign(uniforms - 0.5) * -np.log1p(-2 * np.abs(uniforms - 0.5))
    return [exchange("label", Law(noise=noise)), exchange("cell", told(cell(uniforms, rng)[users]), users)]


def test_honest_runs_are_not_accused():
    assert broken_runs(runs(lambda rng: label_and_cell(rng, lambda uniforms, rng: rng.random(N))), N) == ""


@pytest.mark.parametrize("cell", [lambda uniforms, rng: uniforms, lambda uniforms, rng: 1 - uniforms])
def test_two_reports_of_a_user_by_the_same_uniforms_are_found(cell):
    found = broken_runs(runs(lambda rng: label_and_cell(rng, cell)), N)
    assert found.startswith("the same user's reports go together") and found.endswith("at label and cell")


def test_noise_that_is_a_little_too_small_in_every_run_is_found():
    tapes = runs(lambda rng: [exchange("label", Law(noise=0.8 * rng.laplace(size=N)))])
    assert "the noise is" in broken_runs(tapes, N)
    assert broken_runs(tapes[:1], N) == "", "a single run has too little of it"


def test_calls_are_pooled_by_their_place():
    """Groups are asked at one source, the first in one way and the second in another."""
    tapes = runs(
        lambda rng: [
            exchange("ask", told(rng.random(60)), np.arange(60)),
            exchange("ask", told(rng.random(60) / 1.4), np.arange(60, 120)),
        ]
    )
    assert broken_runs([tape[:1] for tape in tapes], N) == ""
    assert "reports tell the truth at rate" in broken_runs(tapes, N)
