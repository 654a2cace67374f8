"""Mistakes in a method of one's own are one sentence that names the way out."""

from pathlib import Path

import pytest

METHOD = """
from dataclasses import dataclass
import numpy as np
from lpbench.estimators.base import LocalEstimator, LocalRegressor
from lpbench.estimators import PrivateMean

{head}
class Mine({base}):
    {fields}
    def {learn}(self, users):
        self.mean_ = {asked}
        return self
    def predict(self, X):
        found = np.full(len(self._check_predict(X)), self.mean_)
        {end}
"""
USUAL = {
    "head": "@dataclass(eq=False, repr=False)",
    "base": "LocalRegressor",
    "fields": "epsilon: float = 1.0",
    "learn": "learn",
    "asked": "PrivateMean(self.epsilon, y_range=self.y_range_).taught(users, self._streams()).mean_",
    "end": "return found",
}
YAML = "name: mine\ntitle: Mine\ntask: regression\nprivacy: ldp\nestimator: own_mine.Mine\ntuning_free: {}\n"
INIT = "def __init__(self, {}):\n        self.{} = epsilon\n"


@pytest.fixture
def mine(home, lpbench):
    """Write the method with some texts replaced, and run a command about it."""

    def run(command: str, **texts: str) -> tuple[int, str]:
        files = {"own_mine.py": METHOD.format(**USUAL | texts), "methods/mine.yaml": YAML}
        for path, text in files.items():
            Path("lpbench_plugins", path).parent.mkdir(parents=True, exist_ok=True)
            Path("lpbench_plugins", path).write_text(text)
        code, out, error = lpbench(command)
        return code, out + error

    return run


RUN = "dataset=diabetes_progression method=mine replications=1 tracking=none audit=false"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"learn": "fit"}, "must have learn(users) and no fit of its own"),
        ({"learn": "train"}, "must have learn(users)"),
        ({"base": "object", "head": ""}, "must be a class under lpbench.estimators.base.LocalRegressor"),
        ({"head": "", "fields": INIT.format("epsilon=1.0", "epsilon")}, "keep the parameter 'random_state'"),
        ({"head": "", "fields": INIT.format("epsilon, random_state=None", "epsilon")}, "'epsilon'"),
        ({"head": "", "fields": INIT.format("epsilon=1.0, random_state=None", "eps")}, "under @dataclass"),
        ({"head": "", "fields": "pass"}, "the parameter 'epsilon'"),
    ],
)
def test_a_class_that_the_harness_cannot_call_is_refused_before_it_runs(mine, texts, said):
    for command in (RUN, "check method mine --only guarantee"):
        code, text = mine(command, **texts)
        assert code == 2 and said in text and "[1/1]" not in text and "Traceback" not in text, text


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"asked": "users.y.mean()"}, "users.y is not public: a method sees n, mask"),
        ({"asked": "users.records.y.mean()"}, "users.records is not public"),
        ({"end": "found[0] = np.nan\n        return found"}, "predict returned NaN in 1 of 133 rows"),
        ({"end": "pass"}, "predict returned None: end it with `return predictions`"),
    ],
)
def test_a_run_that_fails_says_why(mine, texts, said):
    code, text = mine(RUN, **texts)
    assert code == 1 and said in text, text


@pytest.mark.parametrize(
    ("only", "texts", "said"),
    [
        ("guarantee", {"asked": "0.0"}, "no user was asked for anything: learn from users.ask"),
        ("determinism", {"asked": USUAL["asked"] + " + np.random.default_rng().normal()"}, "nothing by numpy.random"),
        ("determinism", {"end": "found[0] = np.nan\n        return found"}, "predict returned NaN in 1 of 40 rows"),
    ],
)
def test_a_check_names_the_way_out(mine, only, texts, said):
    code, text = mine(f"check method mine --only {only}", **texts)
    assert code == 1 and said in text, text


def test_without_a_mistake_nothing_is_said(mine):
    assert mine(RUN)[0] == 0
    code, text = mine("check method mine --only guarantee --only determinism")
    assert code == 0 and "0 broken" in text, text
