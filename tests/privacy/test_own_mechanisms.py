"""Mechanisms written after docs/privacy.md alone: they pass the contract, and a wrong one is told what to write."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from lpbench.errors import ConfigurationError
from lpbench.privacy import CategoryMechanism, FiniteMechanism, Mechanism, exact_epsilon
from lpbench.privacy.domain import Bits, Interval
from lpbench.privacy.mechanism import REGISTERED, AdditiveMechanism
from lpbench.privacy.rounded import NoiseLaw
from lpbench.testing import check_mechanism

LOGISTIC = NoiseLaw(lambda p: np.log(2.0 / p - 1.0), lambda size: 2 / (1 + size.context.exp(size)), steepness=2.0)


class Ring(CategoryMechanism):
    """One of m places on a ring, the likelier the nearer."""

    def log_channel(self):
        gap = np.abs(np.arange(self.n_categories)[:, None] - np.arange(self.n_categories))
        table = -self.budget * np.minimum(gap, self.n_categories - gap) / (self.n_categories // 2)
        return table - np.log(np.exp(table).sum(axis=1, keepdims=True))

    def _draw(self, values, rng):
        steps = np.cumsum(self.channel()[values], axis=1)
        return (rng.random(values.size)[:, None] > steps).sum(axis=1)


@dataclass(frozen=True)
class SquareWave(Mechanism):
    """A number in [0, 1]: near it with the higher density, anywhere else with the lower (Li et al. 2020)."""

    budget: float

    @property
    def domain(self):
        return Interval(0.0, 1.0)

    @property
    def epsilon(self):
        return self.budget

    def _draw(self, values, rng):
        e = math.exp(self.budget)
        width = (self.budget * e - e + 1) / (2 * e * (e - 1 - self.budget))
        near = rng.random(values.shape) < 2 * width * e / (2 * width * e + 1)
        far = rng.random(values.shape)
        far = np.where(far < values, far - width, far + width)
        return np.where(near, values + rng.uniform(-width, width, values.shape), far)

    def _loss(self, value, other):
        return self.budget


@dataclass(frozen=True)
class Logistic(AdditiveMechanism):
    """A number with logistic noise."""

    scale: float
    sensitivity: float = 1.0

    @property
    def noise(self):
        return self.scale, LOGISTIC

    def privacy_map(self, distance):
        return distance / self.scale


@dataclass(frozen=True)
class Parity(FiniteMechanism):
    """The parity of two bits, whose inputs are no numbers of rows."""

    budget: float

    @property
    def domain(self):
        return Bits(2)

    @property
    def epsilon(self):
        return exact_epsilon(self.log_channel())

    def _draw(self, values, rng):
        parity = values.sum(axis=-1) % 2
        return np.where(rng.random(parity.shape) < self.channel()[0, 0], parity, 1 - parity)

    def log_channel(self):
        return np.log(np.array([[1.0], [-1.0], [-1.0], [1.0]]) * np.tanh(self.budget / 2) * [0.5, -0.5] + 0.5)


class Unfinished(AdditiveMechanism):
    """A mechanism without noise and privacy map."""


@pytest.fixture
def register(monkeypatch):
    """Register classes for one test."""

    def entered(name, example):
        monkeypatch.setitem(REGISTERED, name, example)
        return name

    return entered


@pytest.mark.parametrize(
    "example",
    [lambda epsilon: Ring(epsilon, 6), SquareWave, lambda epsilon: Logistic(1.0 / epsilon)],
    ids=["finite", "continuous", "additive"],
)
def test_a_mechanism_in_one_file_passes_the_contract(register, example):
    check_mechanism(register("mine", example))


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Parity, r"Parity has a row of log_channel\(\) .* domain is Bits: number the inputs by Categories\(size\)"),
        (lambda _: Unfinished(), r"the example of mine cannot be built: .*abstract.*noise.*privacy_map"),
        (lambda _: SquareWave(), r"the example of mine cannot be built: .*budget"),
    ],
    ids=["vectors", "unfinished", "arguments"],
)
def test_a_mechanism_that_misses_something_is_told_what_to_write(register, kind, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        check_mechanism(register("mine", kind))


def test_a_report_of_another_shape_needs_its_own_distance():
    with pytest.raises(ConfigurationError, match=r"write its distance\(reports, inputs\)"):
        Parity(1.0).distance(np.zeros(4), np.zeros((4, 2)))
