"""Submissions: what may be said in one, what is compared, who draws, and that a hostile one is refused or shut in."""

import json
import shutil
import sys

import numpy as np
import pytest

from lpbench.audit.table import method_complaints
from lpbench.cli.main import main
from lpbench.experiments.submissions import FOLDER, Submission, submissions
from lpbench.paths import ROOT
from lpbench.submission import screen, verify
from lpbench.submission.isolation import isolation
from lpbench.testing import METHOD_CHECKS

OURS = submissions(FOLDER)


@pytest.mark.parametrize("one", OURS, ids=lambda one: one.name)
def test_the_submissions_say_what_they_must(one):
    assert list(screen.complaints(one.folder / f"{one.name}.py")) == []
    assert verify._incomplete(one) == []
    assert one.method.reference and one.about["guarantee"]["model"] == one.method.privacy
    assert one.badge in ("verified", "stated")


def test_there_are_two_submissions():
    assert len(OURS) >= 2


REFUSED = [
    "import os", "import lpbench.audit", "from lpbench.experiments import catalogue", "import numpy.ctypeslib",
    "from sklearn.datasets import load_iris", "import numpy as np\nx = np.load('a')", "x = open('a')",
    "def f(users): return users._records", "x = ().__class__.__mro__", "x = getattr(1, 'a' + 'b')",
    "def f(task): return task.score.__self__.y_test", "import dataclasses\nx = dataclasses.sys", "x = eval('1')",
    "from lpbench.estimators.base import _test_counts", "import sklearn._config", "from numpy import load", "x = (",
]  # fmt: skip


@pytest.mark.parametrize("source", REFUSED)
def test_what_a_submission_may_not_say(tmp_path, source):
    (tmp_path / "bad.py").write_text(source + "\n")
    assert list(screen.complaints(tmp_path / "bad.py"))


def test_the_templates_may_be_submitted(tmp_path):
    for task in ("regression", "classification"):
        assert main(["new", "method", f"own_{task}", "--task", task, "--folder", str(tmp_path)]) == 0
        assert list(screen.complaints(tmp_path / f"own_{task}.py")) == []


def test_every_score_of_a_block_that_is_run_again_is_compared_to_the_bit():
    claimed = OURS[0].claimed
    sets = claimed["dataset"].unique()[:2]
    again = claimed[claimed["dataset"].isin(sets)].reset_index(drop=True)
    assert verify.differences(claimed, again, 0.0) == []
    for k in (0, len(again) - 1):
        other = claimed.copy()
        place = other.index[other["dataset"].isin(sets)][k]
        other.loc[place, "value"] = np.nextafter(other.loc[place, "value"], 1.0)
        (sentence,) = verify.differences(other, again, 0.0)
        assert "1 scores are other ones" in sentence and other.loc[place, "dataset"] in sentence
        assert sentence.endswith(f"run again {claimed.loc[place, 'value']}")
        assert verify.differences(other, again, 1e-9) == []
    # a claim without its score in the second run is a difference too
    assert len(verify.differences(claimed, again.iloc[1:], 0.0)) == 1


def test_claims_of_a_block_are_complete_and_of_the_experiment(tmp_path):
    folder = tmp_path / OURS[0].name
    shutil.copytree(OURS[0].folder, folder)
    lines = (folder / "claimed.csv").read_text().splitlines()
    (folder / "claimed.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert verify._incomplete(Submission(folder)) == [
        "claimed.csv has 0 scores too many and lacks 1 of the blocks it claims"
    ]


def test_findings_that_are_not_whole_verify_nothing():
    blocks, steps = ["a m"], [f"contract, {check}" for check in METHOD_CHECKS]
    rows = [["a", "m", 1.0, 0, "mse", 0.5]]
    lines = [{"step": s, "wrong": ""} for s in [*steps, "audit"]]
    lines.append({"step": "cost", "wrong": "", "cost": {"seconds": 0.1, "bits": {"1": 64}}})
    lines.append({"step": "block", "wrong": "", "block": "a m", "scores": rows})
    whole = verify._Run()
    verify._read(whole, lines, blocks)
    assert whole.drawn == blocks and not whole.unfinished and whole.scores["value"].tolist() == [0.5]
    for left_out in range(len(lines)):
        run = verify._Run()
        verify._read(run, lines[:left_out] + lines[left_out + 1 :], blocks)
        assert run.unfinished
    wrong = verify._Run()
    verify._read(wrong, [{**lines[0], "wrong": "it leaks"}, *lines[1:]], blocks)
    assert wrong.wrong == [f"{steps[0]}: it leaks"]


def test_what_cannot_be_isolated_is_unverified_and_what_the_screen_refuses_is_not_run(tmp_path, monkeypatch):
    folder = tmp_path / OURS[0].name
    shutil.copytree(OURS[0].folder, folder)
    one = Submission(folder)

    def ran(submission, drawn, seconds):
        claimed = submission.claimed
        again = claimed[(claimed["dataset"] + " " + claimed["mask"]).isin(drawn)]
        return verify._Run("none", held, [], list(drawn), again)

    monkeypatch.setattr(verify, "_run", ran)
    monkeypatch.setattr(verify, "_at_hand", lambda dataset: True)
    held = {"no network": True, "read-only tree": False, "limits": True}
    assert verify.verify(one, seconds=1.0)["badge"] == "unverified"
    held = dict.fromkeys(held, True)
    found = verify.verify(one, seconds=1.0)
    assert found["badge"] == "verified" and found["detection"]["5 % of cells at random"] >= 0.99
    assert found["seed"] != verify.verify(one, seconds=1.0)["seed"]
    assert found["drawn"] == verify.verify(one, seconds=1.0, seed=found["seed"])["drawn"]
    # data that are not at hand cannot be reached by any draw
    monkeypatch.setattr(verify, "_at_hand", lambda dataset: dataset != found["drawn"][0].split(" ")[0])
    assert verify.verify(one, seconds=1.0)["detection"]["one tampered block"] == 0.0
    (folder / f"{one.name}.py").write_text("import os\n")
    monkeypatch.setattr(verify, "_run", None)
    refused = verify.verify(Submission(folder), seconds=1.0)
    assert refused["badge"] == "refuted" and "imports os" in refused["wrong"][0] and refused["drawn"] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("        where = ", "        self.least_ = users._records.y.min()\n        where = "),
     ("    def predict(", "    def learn_grid(self, tasks, budgets, grid):\n"
      "        self.test_ = tasks[0].score.__self__.y_test\n        return super().learn_grid(tasks, budgets, grid)\n\n"
      "    def predict(")],
    ids=["private values", "test labels"],
)  # fmt: skip
def test_the_sealed_run_refuses_who_reads(home, lpbench, old, new):
    lpbench("new method own_reader")
    path = home / "lpbench_plugins" / "own_reader.py"
    path.write_text(path.read_text().replace(old, new, 1))
    assert list(screen.complaints(path))
    try:
        found = method_complaints("own_reader")
    except AttributeError as error:  # the sealed score is no method of a problem
        found = [str(error)]
    assert found


def test_the_isolation_holds_what_it_says(tmp_path):
    how, held = isolation(tmp_path, 60.0, ROOT, tmp_path.parent)
    if not all(held.values()) or how.by == "none":
        pytest.skip(f"no isolation here: {held}")
    code = (
        "import pathlib, sys\npathlib.Path('mine').write_text('x')\n"
        f"for p in ({str(ROOT)!r}, {str(tmp_path.parent)!r}):\n"
        "    try: pathlib.Path(p, 'theirs').write_text('x'); sys.exit(3)\n    except OSError: pass\n"
        "import socket\ntry: socket.create_connection(('127.0.0.1', 9), 1); sys.exit(4)\nexcept OSError: pass\n"
        "import os; print(sorted(k for k in os.environ if 'SECRET' in k))\n"
        "try: bytearray(2 ** 36); sys.exit(5)\nexcept MemoryError: pass\n"
    )
    import os

    os.environ["A_SECRET"] = "x"
    try:
        returned, said = how.run([sys.executable, "-c", code])
    finally:
        del os.environ["A_SECRET"]
    assert returned == 0, said
    assert said.strip() == "[]" and (tmp_path / "mine").is_file()
    assert isolation(tmp_path, 1.0, ROOT)[0].run([sys.executable, "-c", "while True: pass"])[0] is None


@pytest.mark.slow
def test_from_the_template_to_a_verified_and_a_refuted_badge(home, lpbench, monkeypatch):
    """The documented commands, on data that need no download: a new method is verified, a tampered claim refuted."""
    lpbench("new method own_slices")
    experiment = home / "lpbench_plugins" / "experiments" / "own"
    experiment.mkdir(parents=True)
    (experiment / "small.yaml").write_text(
        "name: own/small\npaper: own\nreplications: 2\ngroups:\n"
        "  - {dataset: [diabetes_progression], mask: [aligned], epsilon: [1, 4], method: [private_mean]}\n"
    )
    options = f"--author A --licence MIT --paper none --experiment own/small --folder {home}/submissions"
    code, out, err = lpbench(f"submit own_slices {options}")
    folder = home / "submissions" / "own_slices"
    assert folder.is_dir(), out + err
    # what verifies knows the experiments of the project alone; this one is the test's own
    shutil.copytree(home / "lpbench_plugins" / "experiments", folder / "experiments")
    monkeypatch.setenv("LPBENCH_PLUGINS", str(folder))
    shutil.rmtree(home / "lpbench_plugins")
    code, out, err = lpbench(f"verify submission {folder}")
    found = json.loads((folder / "verified.json").read_text())["checks"][-1]
    if not all(v for k, v in found["isolation"].items() if k != "by"):
        pytest.skip(f"no isolation here: {found['isolation']}")
    assert code == 0 and found["badge"] == "verified", out + err
    text = (folder / "claimed.csv").read_text().splitlines()
    text[1] = text[1].rpartition(",")[0] + ",0.5"
    (folder / "claimed.csv").write_text("\n".join(text) + "\n")
    code, out, err = lpbench(f"verify submission {folder}")
    assert code == 1 and "refuted" in out and "scores are other ones" in out
