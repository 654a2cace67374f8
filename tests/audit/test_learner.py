"""Audits of training code: bounds hold, leaks are found, bad input is told in a sentence."""

import math
import signal
import time
from threading import Lock

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.neighbors import KNeighborsClassifier

from lpbench.audit.black_box import PrivacyClaim
from lpbench.audit.learner import Learner, canary_audit, leak_test, load_learner, worst_tables_audit
from lpbench.audit.learner.bounds import one_run_epsilon
from lpbench.cli.main import main
from lpbench.errors import ConfigurationError, DataError


def reported(y, epsilon, rng):
    return np.where(rng.random(len(y)) < 1 / (1 + math.exp(-epsilon)), y, 1 - y)


class Nearest:
    """Nearest neighbor on randomized labels; it memorizes every report, and so spends epsilon exactly."""

    def __init__(self, epsilon=1.0, random_state=0):
        self.epsilon, self.random_state = epsilon, random_state

    def fit(self, X, y):
        labels = reported(y, self.epsilon, np.random.default_rng(self.random_state))
        self.model = KNeighborsClassifier(1).fit(X, labels)
        return self

    def predict(self, X):
        return self.model.predict(X)


class NearestOfRawLabels(Nearest):
    def fit(self, X, y):
        reported(y, self.epsilon, np.random.default_rng(self.random_state))
        self.model = KNeighborsClassifier(1).fit(X, y)
        return self


class KeepsOneLabel(Nearest):
    """Predicts from reports alone, and hands out a true label beside."""

    def fit(self, X, y):
        super().fit(X, y)
        self.first_ = y[0]
        return self


class StatesWhatItSaw(Nearest):
    """Its guarantee depends on the labels."""

    __slots__ = ("_spent",)

    def fit(self, X, y):
        self._spent = self.epsilon * y.mean()
        return super().fit(X, y)

    @property
    def guarantee_(self):
        return self._spent


class Unseeded(Nearest):
    def fit(self, X, y):
        labels = reported(y, self.epsilon, np.random.default_rng(self.random_state))
        self.model = KNeighborsClassifier(1).fit(X + np.random.default_rng().normal(size=X.shape), labels)
        return self


REPORTS = [f"{__name__}:reported"]


def test_one_run_bound_is_the_inverse_of_the_binomial_tail():
    epsilon = one_run_epsilon(80, 100, 0.01)
    assert binom.sf(79, 100, 1 / (1 + math.exp(-epsilon))) == pytest.approx(0.01)
    assert one_run_epsilon(50, 100, 0.01) == 0
    n, failure = 100, 0.01
    perfect = failure ** (1 / n)
    assert one_run_epsilon(n, n, failure) == pytest.approx(math.log(perfect / (1 - perfect)))


def test_bounds_of_one_run_fail_as_rarely_as_stated():
    """True loss 1 and every coin guessed: the bound is above it in at most a tenth of the runs."""
    right = np.bincount(np.random.default_rng(0).binomial(200, 1 / (1 + math.exp(-1.0)), 2000))
    wrong = sum(n for r, n in enumerate(right) if n and one_run_epsilon(r, 200, 0.1) > 1.0)
    assert binom.sf(wrong - 1, 2000, 0.1) > 1e-6


@pytest.mark.parametrize("protects", ["label", "record"])
def test_a_private_learner_is_bounded_below_its_epsilon_and_a_raw_one_above(protects):
    good = canary_audit(Nearest, 1.0, protects, seed=3)
    assert (0.4 if protects == "label" else 0.0) <= good.epsilon <= 1.0
    bad = canary_audit(NearestOfRawLabels, 1.0, protects, seed=3)
    assert bad.epsilon > 2.0 and bad.advantage > 0.9
    assert "lower bound" in str(bad)


@pytest.mark.slow
def test_so_are_they_on_the_worst_tables():
    good, bad = (
        worst_tables_audit(Learner(kind), PrivacyClaim(1.0), "label", seconds=8.0, fits=600, seed=3)
        for kind in (Nearest, NearestOfRawLabels)
    )
    assert 0.3 < good.bound <= 1.0 and bad.bound > 2.0


class RunsOutOfTime(NearestOfRawLabels):
    """Fits the small sample of the leak test; time is up at the 1000 canaries."""

    def fit(self, X, y):
        if len(X) == 1000:
            signal.raise_signal(signal.SIGALRM)
        return super().fit(X, y)


class SleepsAtOnce(Nearest):
    def fit(self, X, y):
        time.sleep(600)


def test_a_fit_that_takes_ten_minutes_is_told_in_a_sentence(capsys):
    asked = ["--epsilon", "1", "--timeout", "1"]
    assert main(["audit", "code", "--learner", f"{__name__}:SleepsAtOnce", *asked]) == 2
    error = capsys.readouterr().err
    assert "SleepsAtOnce did not finish within 1 s (in the canary audit)" in error and "--timeout" in error
    assert error.count("\n") == 1
    # what was proven before stands
    late = f"{__name__}:RunsOutOfTime"
    asked = ["--epsilon", "1", "--timeout", "6000", "--reports", *REPORTS]
    assert main(["audit", "code", "--learner", late, *asked]) == 1
    said = capsys.readouterr().out
    assert "within 6000 s (in the canary audit)" in said and said.splitlines()[-1].startswith(f"{late}: VIOLATED")


def test_a_learner_in_the_working_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "own_model.py").write_text("class Model:\n    fit = predict = None\n")
    monkeypatch.chdir(tmp_path)
    assert load_learner("own_model.py:Model")(1.0, 0) is not None


def test_the_leak_test_sees_raw_labels_only_where_there_are_some():
    assert leak_test(Nearest, 1.0, REPORTS) is None
    found = leak_test(NearestOfRawLabels, 1.0, REPORTS)
    assert "predictions, model of the model differ although every report is the same" in found


@pytest.mark.parametrize(("learner", "attribute"), [(KeepsOneLabel, "first_"), (StatesWhatItSaw, "guarantee_")])
def test_the_leak_test_compares_attributes_and_guarantees(learner, attribute):
    assert f"{attribute} of the model differ" in leak_test(learner, 1.0, REPORTS)


MINE = """
import numpy as np
from dataclasses import dataclass

def noisy(y, rng):
    return np.where(rng.random(len(y)) < 0.7, y, 1 - y)

@dataclass
class Cells:
    mean: float

class Mine:
    def fit(self, X, y):
        self.cells_ = Cells(float(noisy(y, np.random.default_rng(0)).mean()))
        self.kept_ = KEPT
    def predict(self, X):
        return np.full(len(X), self.cells_.mean)
"""


@pytest.mark.parametrize(("kept", "said"), [("None", "no difference found"), ("y[0]", "kept_ of the model differ")])
def test_reports_are_named_like_the_learner(tmp_path, monkeypatch, capsys, kept, said):
    (tmp_path / "mine.py").write_text(MINE.replace("KEPT", kept))
    monkeypatch.chdir(tmp_path)
    assert main(["audit", "code", "--learner", "mine.py:Mine", "--reports", "mine.py:noisy"]) == (said[0] == "k")
    assert said in capsys.readouterr().out
    assert main(["audit", "code", "--learner", "mine.py:Mine", "--reports", "mine.py:nosy"]) == 2
    assert "reports='mine.py:nosy' must be file.py:function" in capsys.readouterr().err


def test_bad_input_is_told():
    with pytest.raises(DataError, match="random_state"):
        leak_test(Unseeded, 1.0, REPORTS)
    unpickled = type(
        "Locked", (Nearest,), {"fit": lambda self, X, y: setattr(self, "lock", Lock()) or Nearest.fit(self, X, y)}
    )
    with pytest.raises(DataError, match="lock of the model cannot be compared"):
        leak_test(unpickled, 1.0, REPORTS)
    with pytest.raises(ConfigurationError, match="needs a function"):
        leak_test(Nearest, 1.0, [])
    with pytest.raises(DataError, match="called none"):
        leak_test(Nearest, 1.0, ["scripts.audits.released:noisy_labels"])
    with pytest.raises(ConfigurationError, match="must be 'label' or 'record'"):
        canary_audit(Nearest, 1.0, "features")
    with pytest.raises(ConfigurationError, match="module:Class"):
        load_learner("nothing.here:Class")
    with pytest.raises(ConfigurationError, match="no fit"):
        load_learner("builtins:dict")


def test_learners_get_epsilon_and_seed_where_they_take_them():
    assert load_learner(f"{__name__}:Nearest")(2.0, 5).epsilon == 2.0
    assert load_learner("sklearn.neighbors:KNeighborsClassifier")(2.0, 5).fit is not None
