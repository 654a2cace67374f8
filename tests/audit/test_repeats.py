"""Repeated calls: honest results pass, and noise or answers that are not those of the mechanism are found."""

import numpy as np
import pytest

from lpbench.audit.drawn_laws import Law
from lpbench.audit.repeats import broken_law

N, AGAIN = 240, 60


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


def averages(scale):
    return lambda rng: Law(
        moments=np.abs(scale * rng.laplace(size=(3, N))).mean(axis=1),
        honest=lambda other: np.abs(other.laplace(size=(3, N))).mean(axis=1),
    )


@pytest.mark.parametrize("make", [noise(), told(0.6), sums(), averages(1.0)], ids=["noise", "told", "sums", "averages"])
def test_honest_results_are_not_accused(make):
    assert [verdict(make, seed) for seed in range(5)] == [""] * 5


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (noise(lambda unit: unit / 2), "times as large as asked for"),
        (noise(lambda unit: np.full(N, unit[0])), "noise"),
        (noise(lambda unit: unit * one_user(0.1)), "noise is 0."),
        (noise(lambda unit: np.copysign(np.abs(unit), 1.0)), "not Laplace"),
        (told(0.63), "instead of 0.6"),
        (sums(lambda normal: normal / np.sqrt(2)), "noise of sums"),
        (sums(lambda normal: np.full(12, normal[0])), "noise of sums"),
        (sums(lambda normal: normal + 1.0), "sums"),
        (averages(0.7), "averages"),
    ],
)
def test_other_results_are_found(make, named):
    assert named in verdict(make)
