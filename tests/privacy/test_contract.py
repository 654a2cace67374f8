"""The contract of mechanisms, held by all that are registered; and mechanisms that break it are told so."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from lpbench import privacy
from lpbench.errors import DataError, LpbenchError
from lpbench.estimators.baselines.krr import FeatureResponse
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.estimators.tuning_free.level_reports import LevelReport
from lpbench.privacy.domain import Categories, Interval, Numbers
from lpbench.privacy.mechanism import REGISTERED, registered
from lpbench.privacy.payload import Integers
from lpbench.seeds import Streams
from lpbench.testing import HOSTILE, MECHANISM_CHECKS, check_mechanism, mechanism_of

OF_METHODS = {f"{kind.__module__}.{kind.__name__}" for kind in (FeatureResponse, LevelReport)}
LIBRARY = sorted(name for name in REGISTERED if name.startswith("lpbench.") or "." not in name)


def test_every_mechanism_of_the_library_is_registered():
    public = {name for name in privacy.__all__ if isinstance(kind := getattr(privacy, name), type)
              and issubclass(kind, privacy.Mechanism) and not getattr(kind, "__abstractmethods__", ())}  # fmt: skip
    assert set(LIBRARY) == public | OF_METHODS


@pytest.mark.parametrize("check", MECHANISM_CHECKS)
@pytest.mark.parametrize("name", LIBRARY)
def test_registered_mechanisms_keep_the_contract(name, check):
    MECHANISM_CHECKS[check](name)


@pytest.mark.parametrize("epsilon", [0.5, math.inf])
@pytest.mark.parametrize("title", HOSTILE)
@pytest.mark.parametrize("name", LIBRARY)
def test_hostile_inputs_are_refused_or_have_reports_of_the_public_list(name, title, epsilon):
    mechanism = mechanism_of(name, 0.5) if name in ("Channel", "Exponential") else mechanism_of(name, epsilon)
    np.full(10**5, 77)  # memory that a report must not show
    try:
        first, again = (mechanism.randomize(HOSTILE[title], np.random.default_rng(1)) for _ in range(2))
    except DataError as error:
        assert not any(str(value) in str(error).split() for value in np.ravel(HOSTILE[title]) if title != "no axis")
        return
    np.testing.assert_array_equal(first, again)
    assert all(field.holds(first) for field in mechanism.fields())


@pytest.mark.parametrize("value", [-1, 3, 2**40])
@pytest.mark.parametrize(
    "make",
    [privacy.GRR, privacy.BitVector, privacy.HadamardResponse, lambda e, k: privacy.Channel(np.full((k, 4), 0.25))],
)
def test_no_row_is_read_for_a_category_that_is_not_there(make, value):
    mechanism = make(1.0, 3)
    for act in (lambda v: mechanism.randomize(v, np.random.default_rng(0)), mechanism.losses, mechanism.check_inputs):
        with pytest.raises(DataError, match=r"integers in 0, \.\.\., 2"):
            act(np.array([0, value]))


def test_the_loss_of_a_pair_is_that_of_the_domain():
    assert privacy.Laplace(2.0).exact_loss(0.0, 1.0) == 0.5 and privacy.Laplace(2.0).exact_loss([0, 0], [1, 1]) == 1.0
    assert privacy.GRR(1.0, 3).exact_loss(1, 1) == 0 and privacy.GRR(1.0, 3).exact_loss(0, 2) == pytest.approx(1.0)
    for hostile in ([0, 3], [0.5, 0.5], [[0, 1], [1, 2]]):
        with pytest.raises(DataError):
            privacy.GRR(1.0, 3).losses(hostile)
    with pytest.raises(DataError):
        privacy.Laplace(1.0).exact_loss(0.0, math.nan)


@registered(lambda epsilon: Spinner(epsilon))
@dataclass(frozen=True)
class Spinner(privacy.FiniteMechanism):
    """One of three colors, told with a probability of e^budget / (e^budget + 2)."""

    budget: float

    @property
    def domain(self):
        return Categories(3)

    @property
    def epsilon(self):
        return privacy.exact_epsilon(self.log_channel())

    def log_channel(self):
        table = np.ones((3, 3)) + (math.exp(self.budget) - 1) * np.eye(3)
        return np.log(table / table.sum(axis=1))

    def _draw(self, values, rng):
        return (rng.random((len(values), 1)) > np.cumsum(self.channel()[values], axis=1)).sum(axis=1)

    def distance(self, reports, inputs):
        return 1.0 * (reports != inputs)

    def fields(self, columns=1):
        return (Integers(3, columns),)


class Loud(Spinner):
    """Tells more than it states."""

    def _draw(self, values, rng):
        return np.where(rng.random(len(values)) < 0.5, values, super()._draw(values, rng))


class Hollow(Spinner):
    """Draws what its domain does not have."""

    @property
    def domain(self):
        return Interval(-5.0, 5.0)

    def _draw(self, values, rng):
        return super()._draw(values.astype(int) % 3, rng) - 1

    def _losses(self, values):
        return np.zeros((len(values),) * 2)


class Timid(Spinner):
    """States less than it loses."""

    @property
    def epsilon(self):
        return super().epsilon / 2.0


NAME = f"{__name__}.Spinner"


def test_a_mechanism_in_one_file_with_one_line_passes(monkeypatch):
    check_mechanism(NAME)
    assert math.isnan(mechanism_of(NAME).influence)
    with pytest.raises(LpbenchError, match="Spiner"):
        mechanism_of("Spiner")


@pytest.mark.parametrize("kind, check, said", [
    (Loud, "sampled", "reports lose"),
    (Hollow, "domain", "does not fit"),
    (Timid, "loss", "is stated"),
])  # fmt: skip
def test_a_mechanism_that_breaks_the_contract_is_told_so(kind, check, said, monkeypatch):
    monkeypatch.setitem(REGISTERED, NAME, kind)
    with pytest.raises(AssertionError, match=said):
        MECHANISM_CHECKS[check](NAME)


def test_numbers_are_held_to_the_domain_before_they_are_drawn():
    with pytest.raises(DataError, match="finite"):
        Numbers(1.0).check([0.0, math.inf])
    users = privacy.SimulatedUsers(privacy.Records(np.zeros((2, 1)), np.array([0.0, math.nan])), Streams(0))
    with pytest.raises(DataError):
        users.ask(LABEL, LabelQuestion((0.0, 1.0), 1.0, noise="discrete"))


def test_the_mechanism_of_the_page_passes(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
    [code] = [part for part in re.findall(r"```py\n(.*?)```", page, re.DOTALL) if "@registered" in part]
    (tmp_path / "my_spinner.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("LPBENCH_PLUGINS", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    check_mechanism("my_spinner.Spinner")
    assert mechanism_of("my_spinner.Spinner", math.log(2.0)).influence == pytest.approx(4.0)
