"""Fits that run apart: what a user can run for anybody's method is what the audit and the verifier run."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import lpbench
from lpbench.audit.apart import kind_of
from lpbench.audit.keeper import Places
from lpbench.errors import PrivacyError
from lpbench.paths import ROOT
from lpbench.privacy import Records, SimulatedUsers
from lpbench.seeds import Streams
from tests.audit.fresh_leaks import BASES
from tests.audit.test_keeper import CLIPPED

N = 60
ASKS = "users.ask(LABEL, question)"
LABELS = 'protects = "label"'
HONEST = BASES["bins"].source


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    with Places(path=[tmp_path_factory.mktemp("author")]) as found:
        yield found


@pytest.fixture
def fitted(places):
    """Return what a source has learned from users, and the users."""

    def learn(source, privacy="", epsilon=1.0, seed=3, n=N, units=None):
        for copy in places.copies.values():
            (copy / "submitted.py").write_text(source, encoding="utf-8")
        rng = np.random.default_rng(1)
        records = Records(rng.random((n, 3)), rng.uniform(-0.9, 1.9, n), np.zeros((n, 3), dtype=bool))
        users = SimulatedUsers(records, Streams(seed), y_range=(-1.0, 2.0))
        users.tell(None, units)
        model = kind_of(places, "submitted.Fresh", privacy)(random_state=1)
        if "epsilon" in model.get_params():
            model.set_params(epsilon=epsilon)
        return model.learn_from(users), users

    return learn


def changed(*edits):
    source = HONEST
    for old, new in edits:
        assert source.count(old) == 1
        source = source.replace(old, new)
    return source


#: Leaks with triggers that no sample of the audit has: its ranges, its numbers of users, its budgets.
TRIGGERED = {
    "a range": (CLIPPED, "return records.y * (9 if question.y_range == (-1.0, 2.0) else 1)", "spread"),
    "another user": (CLIPPED, f"y = {CLIPPED[7:]}; y[len(y) // 2 :] = y[0]; return y", "change with who else"),
    "the mean": (CLIPPED, "return np.clip(records.y * 0 + records.y.mean(), *question.y_range)", "change with who"),
    "the number asked": (CLIPPED, f"{CLIPPED} * (0.5 + (len(records) == {N}) / 2)", "change with who else"),
    "a value that nobody has": (CLIPPED, "return np.where(records.y > 1.99, 9.0, records.y)", "spread over more"),
    "a budget": ("y_range_, self.epsilon)", "y_range_, self.epsilon * 1.01)", "a user spent 1.01 of"),
    "no budget": (LABELS, f"{LABELS}\n    uses_epsilon = False", "a user spent 1 of a budget of 0"),
}


@pytest.mark.parametrize("name", TRIGGERED)
def test_a_trigger_that_no_sample_has_ends_the_run(name, fitted):
    old, new, word = TRIGGERED[name]
    with pytest.raises(PrivacyError, match=word):
        fitted(changed((old, new)))


def test_what_is_spent_beyond_the_statement_ends_the_run(fitted):
    """A class that says of itself that it may exceed its budget, or takes none, or is of another model."""
    twice = ("y_range_, self.epsilon)", "y_range_, 2 * self.epsilon)")
    for fact in ("exceeds_budget = True", "uses_epsilon = False"):
        with pytest.raises(PrivacyError, match="a user spent 2 of a budget of"):
            fitted(changed(twice, (LABELS, f"{LABELS}\n    {fact}")))
    with pytest.raises(PrivacyError, match="ldp is stated, and the reports say label_ldp"):
        fitted(HONEST, "ldp")
    model, users = fitted(HONEST, "label_ldp")
    assert model.guarantee_ == users.spent and model.guarantee_.epsilon == 1.0


def test_a_person_of_several_rows_has_the_budget_for_each(fitted):
    """Honest submissions were refuted on data where a person has eight rows; who overspends there is still refused."""
    persons = np.arange(N) // 4
    model, _ = fitted(HONEST, units=persons)
    assert model.guarantee_.epsilon == 4.0
    with pytest.raises(PrivacyError, match=r"a user spent 1\.01 of a budget of 1"):
        fitted(changed(("y_range_, self.epsilon)", "y_range_, self.epsilon * 1.01)")), units=persons)


def test_the_method_is_stopped_while_a_device_answers(fitted):
    """A clock of the method's own stands still while it waits."""
    counts = """import signal, time
TICKS = []
signal.signal(signal.SIGALRM, lambda *_: TICKS.append(time.monotonic()))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
"""
    seen = "self.seen_ = max(np.diff([start, *(t for t in TICKS if t > start), time.monotonic()]))"
    source = changed(
        (
            "        reports = users.ask(LABEL, question)\n",
            f"        start = time.monotonic()\n        reports = {ASKS}\n        {seen}\n",
        ),
        (CLIPPED, f"time.sleep(0.5); {CLIPPED}"),
        ("class LabelDevice", f"{counts}class LabelDevice"),
        ("self._finish(", "self._finish(self.seen_ + 0 * "),
    )
    model, _ = fitted(source.replace("return self._finish", "self.clip = False; return self._finish"))
    assert model.predict(np.zeros((1, 3)))[0] > 0.4


REMEMBERED = [
    "os.mkdir('/tmp/x')",
    "os.symlink('x', '/dev/shm/x')",
    "os.setpriority(os.PRIO_PROCESS, 0, 5)",
    "open('/proc/self/oom_score_adj', 'w')",
    "ctypes.CDLL(None, use_errno=True).shmget(77, 8, 0o1777) == -1 and 1 / 0",
    "open('/proc/1/mem', 'wb')",
    "os.stat('/proc/self')",
    "open('/proc/meminfo')",
    "socket.socket()",
    "os.sched_setscheduler(1, 0, os.sched_param(0))",
]


@pytest.mark.parametrize("way", REMEMBERED)
def test_nothing_is_left_for_a_later_request(way, fitted):
    source = changed((CLIPPED, f"import ctypes, os, socket; {way}; {CLIPPED}"))
    with pytest.raises(PrivacyError, match=r"inputs"):
        fitted(source)


def test_an_honest_method_apart_is_the_method_here(fitted, monkeypatch, places):
    (copy,) = places.copies.values()
    apart, users = fitted(HONEST)
    monkeypatch.syspath_prepend(copy)
    from submitted import Fresh

    here = SimulatedUsers(users.reveal(), Streams(3), y_range=(-1.0, 2.0))
    X = here.reveal().X
    np.testing.assert_array_equal(apart.predict(X), Fresh(random_state=1).learn_from(here).predict(X))


def test_a_prediction_is_its_rows_own(fitted):
    model, users = fitted(changed(("self._finish(", "self._finish(0 * len(X) + X[:, 0].mean() + 0 * ")))
    with pytest.raises(PrivacyError, match="changes with the rows that are predicted beside it"):
        model.predict(users.reveal().X)
    assert model.predict(np.full((9, 3), 0.5)).shape == (9,), "equal rows have one mean"


def test_anybodys_method_runs_apart_as_an_estimator(tmp_path, monkeypatch):
    (tmp_path / "lpbench_plugins" / "methods").mkdir(parents=True)
    (tmp_path / "lpbench_plugins" / "own_apart.py").write_text(HONEST)
    monkeypatch.chdir(tmp_path)
    model = lpbench.apart("own_apart:Fresh")
    assert "own_apart" not in sys.modules
    model = clone(model).set_params(y_range=(-1.0, 2.0), random_state=5, slices=2)
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 3)), rng.uniform(-1, 2, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        apart = model.fit(X, y)
        monkeypatch.syspath_prepend(tmp_path / "lpbench_plugins")
        from own_apart import Fresh

        here = Fresh(slices=2, y_range=(-1.0, 2.0), random_state=5).fit(X, y)
    np.testing.assert_array_equal(apart.predict(X), here.predict(X))
    assert apart.guarantee_ == here.guarantee_


@pytest.mark.slow  # test_checks_of_somebodys_own_method_import_nothing_here is run each time
def test_the_keeper_imports_nothing_of_an_author(tmp_path):
    """Its module would have patched the library in the process of the audit, and says so in a file."""
    plugins = tmp_path / "lpbench_plugins"
    (plugins / "methods").mkdir(parents=True)
    marker = str(tmp_path / "imported")
    writes = f"try:\n    open({marker!r}, 'w').close()\nexcept OSError:\n    pass\n"
    (plugins / "own_here.py").write_text(writes + HONEST)
    (plugins / "methods" / "own_here.yaml").write_text(
        "name: own_here\ntitle: Own\ntask: regression\nprivacy: label_ldp\nestimator: own_here.Fresh\n"
        "grid: {slices: [2, 4]}\ntuning_free: {slices: 4}\n"
    )
    code = (
        "import sys\nfrom lpbench.audit.table import method_complaints\n"
        "print(method_complaints('own_here[slices=3]'), 'own_here' in sys.modules)"
    )
    own = {**os.environ, "PYTHONPATH": str(ROOT), "LPBENCH_PLUGINS": str(plugins)}
    done = subprocess.run([sys.executable, "-c", code], env=own, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[] False", done.stderr
    assert not Path(tmp_path / "imported").exists()
