"""A method and its devices run where no private record is: what reaches for one finds nothing, or is a complaint."""

import os
import shutil
import subprocess
import sys
from itertools import islice

import numpy as np
import pytest

from lpbench.audit import codec, foreign, keeper
from lpbench.audit.keeper import Places, Serving
from lpbench.audit.methods import samples
from lpbench.errors import ConfigurationError, PrivacyError
from lpbench.paths import ROOT
from lpbench.privacy import GRR, Laplace, Records, SimulatedUsers
from lpbench.seeds import Streams
from tests.audit.fresh_leaks import BASES, LEAKS
from tests.slowly import slow_but

#: Leaks that the first sample of an audit shows, and a word of the complaint; all others are in test_fresh_leaks.py.
CAUGHT = {
    "centered_labels": "change with who else is asked",
    "neighbor_label": "change with who else is asked",
    "quiet_laplace": "library",
    "unclipped_residual": "spread over more",
    "silent_user": "report",
    "budgets_halved": "budget",
    "whole_budget_every_round": "of a budget of 1",
    "predict_asks_again": "pickled",
    "guarantee_when_set": "of a budget of 1",
    "raw_labels_in_fit": "no fit of its own",
    "one_user_revealed": "do not hand out",
    "exception_message": "inputs",
    "two_faced_number": "library",
    "five_rows": "shape",
}
#: What the honest device returns, and what stands before it.
CLIPPED = "return np.clip(records.y, *question.y_range)"
LAPLACE = (
    "return Laplace.for_budget(question.epsilon, sensitivity=max(high - low, 1e-12))\n"
    "    def inputs(self, records, question):\n        "
)
#: Changes of an honest method that no process of its own can hide.
ENDED = {
    "an attribute": ("users.ask(LABEL, question)", "users._records.y", "not public"),
    "leaving": ("return self\n", "raise SystemExit(0)\n", "fails"),
    "a refusal that tells": ("return np.clip(", "assert records.y[0] < 0; return np.clip(", ""),
    "a label for many users": (CLIPPED, f"{CLIPPED.replace('return', 'y =')}; y[60:] = y[0]; return y", "order"),
    "several numbers of a user": (
        f"{LAPLACE}{CLIPPED}",
        "from lpbench.privacy import Piecewise; return Piecewise(question.epsilon)\n"
        "    def inputs(self, records, question):\n"
        "        return np.sign(records.y)[:, None] * np.ones(8)",
        "not a vector",
    ),
    "a device of the library, asked for more than its noise hides": (
        "users.ask(LABEL, question)",
        "users.sums((h := __import__('lpbench.estimators.baselines.hist', fromlist=['_'])).GRID_CELL, "
        "h.GridCellQuestion(h.GridCells(1, users.n_features), Laplace.for_budget(1.0, 1e-6), question.y_range))",
        "GridCellDevice loses",
    ),
    "a delta that promises nothing": (
        LAPLACE.partition("\n")[0],
        "return Gaussian.for_budget(question.epsilon, 0.5, max(high - low, 1e-12))",
        "fails",
    ),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    with Places(path=[tmp_path_factory.mktemp("author")]) as found:
        yield found


def write(places, source):
    for copy in places.copies.values():
        (copy / "submitted.py").write_text(source, encoding="utf-8")


@pytest.fixture
def complaints_of(monkeypatch, places):
    """Complaints about a source, in the first sample of an audit."""

    def complaints(source, met=1):
        monkeypatch.setattr(foreign, "drawn_samples", lambda model: islice(samples(model), met))
        write(places, source)
        return [str(found) for found in foreign.foreign_complaints(places, "submitted.Fresh", {})]

    return complaints


def test_an_honest_method_has_no_complaint(complaints_of):
    assert complaints_of(BASES["bins"].source) == []


@pytest.mark.parametrize("name", [*CAUGHT, *ENDED])
def test_a_leak_is_a_complaint(name, complaints_of):
    if name in ENDED:
        old, new, word = ENDED[name]
        source = BASES["bins"].source.replace(old, new)
        assert source != BASES["bins"].source
    else:
        source, word = LEAKS[name], CAUGHT[name]
    found = complaints_of(source)
    assert found and word in " ".join(found)


def test_a_leak_at_another_range_of_labels_is_a_complaint(complaints_of):
    leaks = f"{CLIPPED} * (1 if question.y_range == (-1.0, 2.0) else 9)"
    assert any("spread" in found for found in complaints_of(BASES["bins"].source.replace(CLIPPED, leaks), met=2))


def test_an_equal_request_has_equal_inputs(places):
    chance = "(len(records) > 1 or os.urandom(1)[0] & 1)"
    source = BASES["bins"].source.replace(CLIPPED, f"import os; {CLIPPED} * {chance}")
    alone = "users.ask(LABEL, question, np.arange(1))"
    both = f"[1 / 0 for a in [{alone}] for _ in range(24) if {alone} != a]"
    whole = "users.ask(LABEL, Question(self.y_range_, 0.5))"
    write(places, source.replace("users.ask(LABEL, question)", f"(({both}), {whole})[1]"))
    records = Records(np.zeros((30, 3)), np.linspace(-1, 2, 30), np.zeros((30, 3), dtype=bool))
    public = {"y_range": (-1.0, 2.0), "random_state": 1}
    assert places.learn("submitted.Fresh", SimulatedUsers(records, Streams(3), y_range=(-1.0, 2.0)), public)


def test_what_runs_apart_learns_what_runs_here_learns(monkeypatch, places):
    write(places, BASES["bins"].source)
    monkeypatch.syspath_prepend(*places.copies.values())
    from submitted import Fresh

    rng = np.random.default_rng(0)
    records = Records(rng.random((80, 3)), rng.uniform(-1, 2, 80), np.zeros((80, 3), dtype=bool))
    here, apart = (SimulatedUsers(records, Streams(3), y_range=(-1.0, 2.0)) for _ in range(2))
    expected = Fresh(y_range=(-1.0, 2.0), random_state=1).learn_from(here).predict(records.X)
    learned = places.learn("submitted.Fresh", apart, {"y_range": (-1.0, 2.0), "random_state": 1})
    predictions, stated = places.predict(learned, records.X)
    np.testing.assert_array_equal(predictions, expected)
    assert stated == here.spent == apart.spent


def test_who_neither_answers_nor_ends_is_ended(places):
    """He sleeps, or leaves the keeper in the middle of a message."""
    half = "for pipe in range(3, 9):\n    try: os.write(pipe, b'abc')\n    except OSError: pass\n"
    for first in ("", half):
        write(places, BASES["bins"].source)
        assert places.describe("submitted.Fresh", {})
        write(places, f"import os, time\n{first}time.sleep(600)\n")
        with pytest.MonkeyPatch.context() as patch, pytest.raises(keeper.Refused, match="took over"):
            patch.setattr(places, "seconds", 0.5)
            places.describe("submitted.Fresh", {})


@pytest.mark.parametrize("tools", slow_but(["/usr/sbin:/usr/bin", "/nowhere"], "/nowhere"))
def test_a_clone_that_only_its_owner_may_enter_has_the_same_places(tmp_path, places, tools):
    """Folders of mode 700 and a PATH without chroot left no isolation, and processes that nobody ended."""
    clone = tmp_path / "clone"
    for name in ("lpbench", "conf"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", clone)
    (tmp_path / "author").mkdir()
    (tmp_path / "author" / "submitted.py").write_text(BASES["bins"].source)
    clone.chmod(0o700)
    code = f"""import lpbench
from lpbench.audit.keeper import Places
assert lpbench.__file__.startswith({str(clone)!r})
with Places(path=[{str(tmp_path / "author")!r}]) as places:
    print(places.by, places.describe("submitted.Fresh", {{}}).protects)
"""
    own = {**os.environ, "PYTHONPATH": str(clone), "PATH": tools, "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=own, cwd=clone, capture_output=True, text=True, umask=0o077)
    assert (done.stdout, done.returncode) == (f"{places.by} label\n", 0), done.stderr


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("pgrep"), reason="reads the process table of Linux")
def test_what_an_author_runs_does_not_outlive_a_keeper_that_is_killed(tmp_path):
    (tmp_path / "submitted.py").write_text("import time\ntime.sleep(600)\n")
    (tmp_path / "scratch").mkdir()
    code = f"from lpbench.audit.keeper import Places\nwith Places(path=['{tmp_path}']) as places: "
    words = [sys.executable, "-c", f"{code} places.describe('submitted.Fresh', {{}})"]
    parent = subprocess.Popen(words, env={**os.environ, "TMPDIR": str(tmp_path / "scratch")})

    def there():
        found = subprocess.run(["pgrep", "-f", f"{tmp_path}/scratch/lpbench-root"], capture_output=True, text=True)
        return len(found.stdout.split())

    while there() < 3:  # the server, the author's process and its warden
        assert parent.poll() is None
    parent.kill()
    parent.wait()
    while there():
        pass


@pytest.mark.parametrize(
    "reaches", ["os.fork()", "threading.Thread(target=print).start()", "os.pipe()", "fcntl.lockf(FILE, 1)"]
)
def test_an_authors_process_is_one_and_reaches_no_other(places, reaches):
    write(places, f"import fcntl, os, threading\nFILE = open(os.__file__)\n{reaches}\n")
    with pytest.raises(ConfigurationError, match=r"not permitted|start new thread"):
        places.describe("submitted.Fresh", {})


def test_a_request_is_checked_beside_the_ends_of_those_before_it_and_of_all_values(monkeypatch):
    checked = []
    monkeypatch.setattr(Places, "call", lambda self, do, **asked: {"inputs": asked["y"]})
    monkeypatch.setattr(Laplace, "check_inputs", lambda self, inputs: checked.append(sorted({*inputs})))
    users = SimulatedUsers(Records(np.zeros((1, 1)), np.zeros(1)), Streams(0), y_range=(0.2, 0.7))
    device = keeper._own_device("Own", Serving(users, Places()))(b"", Laplace.for_budget(1.0), 1)
    for y in (0.5, 0.9, 0.1, 0.3, 0.5):
        device.inputs(Records(np.zeros((1, 1)), np.array([y]), None), keeper.OwnQuestion(b"", False))
    assert [found[0] for found in checked] == [0.2, 0.2, 0.1, 0.1] and [f[-1] for f in checked] == [0.7] + [0.9] * 3
    assert [len(found) for found in checked[1:]] == [3, 3, 3]


@pytest.mark.parametrize(
    "value", [None, True, 2**80, 0.1, float("inf"), "ä", (1, [2.0]), {"a": (1,)}, b"x", Streams(4)]
)
def test_plain_values_pass_between_processes_unchanged(value):
    assert codec.decode(codec.encode(value), codec.no_object) == value


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_passes_as_it_lies_in_memory_so_that_sums_over_it_round_alike(order):
    array = np.asarray(np.random.default_rng(1).random((60, 4)), order=order)
    for X in (array, array[:40], array[:, 1:3], array[:, :1], array[0], array[:0]):
        passed = codec.decode(codec.encode(X), codec.no_object)
        np.testing.assert_array_equal(passed, X, strict=True)
        assert passed.strides == X.copy("K").strides and passed.flags.writeable


def test_arrays_and_mechanisms_pass_and_code_does_not():
    array = np.array([[1.5, np.nan], [np.inf, -0.0]])
    np.testing.assert_array_equal(codec.decode(codec.encode(array), codec.no_object), array)
    for mechanism in (Laplace.for_budget(1.0, 2.0), GRR(1.0, 5)):
        assert codec.decode(codec.encode(mechanism), codec.library_object) == mechanism
    for code in (print, lambda: 0, np.array([object()])):
        with pytest.raises(PrivacyError):
            codec.encode(code)
    with pytest.raises(PrivacyError):
        codec.decode(codec.encode(mechanism), codec.no_object)
    with pytest.raises(PrivacyError):
        codec.decode(b'{"object":["os:system",{"dict":[]}]}', codec.library_object)
