"""Repeated calls: honest results pass, and noise or answers that are not those of the mechanism are found."""

import numpy as np
import pytest

from lpbench.audit.drawn_laws import Law, number_law
from lpbench.audit.repeats import broken_law
from lpbench.estimators.any_learner.numbers import NumberQuestion
from lpbench.privacy import Staircase
from lpbench.seeds import Streams

N, AGAIN = 240, 100


def verdict(make, seed=1):
    rng = np.random.default_rng(seed)
    laws = [make(rng) for _ in range(1 + AGAIN)]
    return broken_law(laws[0], laws[1:], rng)


def noise(spoil=lambda unit: unit):
    return lambda rng: Law(noise=spoil(rng.laplace(size=N)))


def one_user(factor):
    scale = np.ones(N)
    scale[17] = factor
    return scale


def told(rate, stated=0.6):
    chance = np.full(N, stated)
    return lambda rng: Law(told=(((rng.random(N) < rate).astype(float), chance, chance * (1 - chance)),))


def sums(spoil=lambda normal: normal):
    return lambda rng: Law(normal=spoil(rng.standard_normal(12)))


def cancelling(noise):
    noise[N // 2 :] = -noise[: N // 2]
    return noise


def told_together(change):
    """Users of the second half tell the truth by the uniforms of the first, or by what is left to 1."""
    chance = np.full(N, 0.6)

    def make(rng):
        uniforms = rng.random(N)
        uniforms[N // 2 :] = change(uniforms[: N // 2])
        return Law(told=(((uniforms < 0.6).astype(float), chance, chance * (1 - chance)),))

    return make


def staircase(users=0):
    """Reports of numbers; the first ``users`` send theirs as they are."""
    question = NumberQuestion((-1.0, 1.0), Staircase.for_budget(1.0, 2.0))
    y = np.linspace(-1.0, 1.0, N)

    def make(rng):
        reports = question.mechanism.randomize(y, rng)
        reports[:users] = y[:users]
        return number_law(reports, y, np.arange(N), question, Streams(int(rng.integers(2**60))))

    return make


@pytest.mark.parametrize("make", [noise(), told(0.6), sums(), staircase()], ids=["noise", "told", "sums", "numbers"])
def test_honest_results_are_not_accused(make):
    assert [verdict(make, seed) for seed in range(5)] == [""] * 5


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (noise(lambda unit: unit / 2), "times as large as asked for"),
        (noise(lambda unit: np.full(N, unit[0])), "noise"),
        (noise(lambda unit: unit * one_user(0.1)), "noise is 0."),
        (noise(lambda unit: np.copysign(np.abs(unit), 1.0)), "not Laplace"),
        (noise(lambda unit: np.clip(unit, -6.5, 6.5)), "the noise ends at 6.5 times its scale"),
        (noise(lambda unit: np.minimum(unit, 6.0)), "the noise ends at 6 times its scale"),
        (noise(lambda unit: np.maximum(unit, -6.0)), "the noise ends at 6 times its scale"),
        (told(0.63), "instead of 0.6"),
        (sums(lambda normal: normal / np.sqrt(2)), "noise of sums"),
        (sums(lambda normal: np.full(12, normal[0])), "noise of sums"),
        (sums(lambda normal: normal + 1.0), "sums"),
        (noise(cancelling), "the noise of two users goes together"),
        (told_together(lambda uniforms: uniforms), "goes together"),
        (told_together(lambda uniforms: 1 - uniforms), "goes together"),
        (staircase(1), "instead of 0.2"),
        (staircase(N // 10), "instead of 0.2"),
    ],
)
def test_other_results_are_found(make, named):
    assert named in verdict(make)


def test_what_is_cut_at_eight_scales_stays_unseen():
    """The limit that docs/privacy.md states."""
    assert verdict(noise(lambda unit: np.clip(unit, -8.0, 8.0))) == ""
