"""Submissions: what may be said in one, what is compared, who draws, and that a hostile one is refused or shut in."""

import json
import re
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

from lpbench.audit.isolation import isolation
from lpbench.audit.keeper import Places
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalogue
from lpbench.experiments.submissions import MET, Submission, submissions
from lpbench.paths import ROOT
from lpbench.submission import verify
from lpbench.submission.__main__ import CONTRACT
from lpbench.submission.apart import moved, scores_apart, worse_in_secret
from lpbench.submission.pack import own_sweep
from lpbench.testing import regression_problem
from tests.experiments.helpers import study, write_experiment

OURS = submissions()


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(OURS[0].folder, tmp_path / OURS[0].name)


def without_last_claim(folder):
    lines = (folder / "claimed.csv").read_text().splitlines()
    (folder / "claimed.csv").write_text("\n".join(lines[:-1]) + "\n")


@pytest.mark.parametrize("one", OURS, ids=lambda one: one.name)
def test_the_submissions_say_what_they_must(one):
    assert verify._incomplete(one) == []
    assert one.method.reference and one.about["guarantee"]["model"] == one.method.privacy
    assert one.badge in (*MET, "stated")


def test_there_are_two_submissions():
    assert len(OURS) >= 2


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


def test_claims_of_a_block_are_complete_and_of_the_experiment(folder):
    without_last_claim(folder)
    assert verify._incomplete(Submission(folder)) == [
        "claimed.csv has 0 scores too many and lacks 1 of the blocks it claims"
    ]


def test_findings_that_are_not_whole_verify_nothing():
    lines = [{"step": s, "wrong": ""} for s in [*(f"contract, {check}" for check in CONTRACT), "sweep"]]
    lines.append({"step": "cost", "wrong": "", "cost": {"seconds": 0.1, "bits": {"1": 64}}})
    whole = verify._Run()
    verify._read(whole, lines)
    assert not whole.unfinished and whole.cost["seconds"] == 0.1
    for left_out in range(len(lines)):
        run = verify._Run()
        verify._read(run, lines[:left_out] + lines[left_out + 1 :])
        assert run.unfinished
    wrong = verify._Run()
    verify._read(wrong, [{**lines[0], "wrong": "it leaks"}, *lines[1:]])
    assert wrong.wrong == [f"{lines[0]['step']}: it leaks"]


def test_what_cannot_be_isolated_is_unverified_and_claims_that_are_not_whole_are_not_run(folder, monkeypatch):
    one = Submission(folder)

    def ran(submission, drawn, seconds):
        claimed = submission.claimed
        again = claimed[(claimed["dataset"] + " " + claimed["mask"]).isin(drawn)]
        return verify._Run("none", held, [], list(drawn), again, in_secret=again)

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
    without_last_claim(folder)
    monkeypatch.setattr(verify, "_run", None)
    refused = verify.verify(Submission(folder), seconds=1.0)
    assert refused["badge"] == "refuted" and "lacks 1" in refused["wrong"][0] and refused["drawn"] == []


@pytest.mark.parametrize("refused_by", ["contract, guarantee: it spends twice", "audit: sealed: it reads labels"])
def test_what_contract_or_audit_refute_has_the_badge_and_the_sentence(folder, monkeypatch, refused_by):
    """No block is run of what is refuted before, and no scores are compared."""
    monkeypatch.setattr(verify, "_run", lambda *_: verify._Run(wrong=[refused_by]))
    found = verify._verify(Submission(folder), 1.0, False, 0)
    assert found["badge"] == "refuted" and found["wrong"] == [refused_by] and found["drawn"] == []


def test_the_named_files_alone_are_copied_and_others_refused(folder, tmp_path):
    """Bytecode beside an honest source was run; a link led to somebody else's files."""
    one = Submission(folder)
    copy = verify.copied(one, tmp_path / "copy")
    assert copy.digest == one.digest == OURS[0].digest and copy.checks == one.checks
    (folder / "methods" / "helper.py").write_text("")
    with pytest.raises(ConfigurationError, match=r"helper\.py is no file of a submission"):
        verify.copied(one, tmp_path / "other")
    (folder / "methods" / "helper.py").unlink()
    (folder / "__pycache__").mkdir()
    with pytest.raises(ConfigurationError, match="__pycache__ is no file"):
        verify.verify(one, seconds=1.0)
    (folder / "__pycache__").rmdir()
    (folder / f"{one.name}.py").rename(tmp_path / "elsewhere.py")
    (folder / f"{one.name}.py").symlink_to(tmp_path / "elsewhere.py")
    with pytest.raises(ConfigurationError, match=rf"{one.name}\.py is no file"):
        verify.copied(one, tmp_path / "third")


def test_a_file_that_is_missing_is_named(folder):
    (folder / "requirements.txt").unlink()
    with pytest.raises(ConfigurationError, match=r"has no requirements\.txt"):
        verify.verify(Submission(folder), seconds=1.0)


def test_findings_are_not_read_through_a_link(tmp_path):
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "found.jsonl").symlink_to(tmp_path / "secret")
    assert verify._text(tmp_path / "found.jsonl") == ""


def test_a_sweep_of_a_submissions_own_is_refused(home, lpbench):
    """Test labels would be within its reach."""
    lpbench("new method own_scorer")
    assert own_sweep(catalogue.method("own_scorer")) == ""
    sweep = (
        "    def learn_grid(self, tasks, budgets, grid):\n        return tasks[0].counts.args[0]\n\n    def predict("
    )
    lpbench("new method own_sweeper")
    path = home / "lpbench_plugins" / "own_sweeper.py"
    path.write_text(path.read_text().replace("    def predict(", sweep, 1))
    assert "has no learn_grid of its own" in own_sweep(catalogue.method("own_sweeper"))


@pytest.fixture
def isolated(tmp_path):
    """Runs Python code in isolation for some seconds."""
    folder = tmp_path / "mine"
    folder.mkdir()
    how, held = isolation(folder, 60.0, ROOT, tmp_path)
    if not all(held.values()) or how.by == "none":
        pytest.skip(f"no isolation here: {held}")
    return lambda code, seconds=60.0: replace(how, seconds=seconds).run([sys.executable, "-I", "-c", code])


def test_the_isolation_holds_what_it_says(tmp_path, isolated, monkeypatch):
    code = (
        "import os, pathlib, sys\npathlib.Path('written').write_text('x')\n"
        f"for p in ({str(ROOT)!r}, {str(tmp_path)!r}, '/', '/tmp'):\n"
        "    try: pathlib.Path(p, 'theirs').write_text('x'); sys.exit(3)\n    except OSError: pass\n"
        "print(sorted(k for k in os.environ if 'SECRET' in k), os.listdir('/run'))\n"
        "try: bytearray(2 ** 36); sys.exit(5)\nexcept MemoryError: pass\n"
    )
    monkeypatch.setenv("A_SECRET", "x")
    assert isolated(code) == ("", "[] []\n")
    assert (tmp_path / "mine" / "written").is_file()


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import socket; socket.create_connection(('127.0.0.1', 9), 1)", r"exit code 1: OSError: .*unreachable"),
        ("open({outside!r})", r"exit code 1: FileNotFoundError: .*outside"),
        ("print('x' * 300_000_000)", r"printed more than 16 MiB"),
        ("import os\nwhile True: os.fork()", r"(exit code 1: .*temporarily unavailable|over the limit)"),
        ("import time; time.sleep(60)", r"over the limit of 2 s"),
        ("import os, time; os.close(1); os.close(2); time.sleep(60)", r"over the limit of 2 s"),
    ],
    ids=["socket", "file", "output", "processes", "sleep", "silent sleep"],
)
def test_hostile_code_is_ended_with_one_sentence(tmp_path, isolated, code, sentence):
    outside = tmp_path / "outside"
    outside.write_text("x")
    ended, said = isolated(code.replace("{outside!r}", repr(str(outside))), 2.0 if "limit" in sentence else 60.0)
    assert re.fullmatch(sentence + ".*", ended) and "\n" not in ended and len(said) <= 4000


@pytest.mark.slow
def test_from_the_template_to_scores_that_repeat_and_a_refuted_badge(home, lpbench, monkeypatch):
    """The documented commands, on data that need no download: honest scores repeat, a tampered claim is refuted."""
    lpbench("new method own_slices")
    write_experiment(home / "lpbench_plugins", study(["private_mean"], mask=["aligned"]))
    options = f"--author A --licence MIT --paper none --experiment own/small --folder {home}/submissions"
    code, out, err = lpbench(f"submit own_slices {options}")
    folder = home / "submissions" / "own_slices"
    assert folder.is_dir(), out + err
    # what verifies knows the experiments of the project alone; this one is the test's own
    own, copy = home / "lpbench_plugins" / "experiments", verify.copied

    def with_experiment(submission, to):
        found = copy(submission, to)
        vars(found)["digest"] = submission.digest
        shutil.copytree(own, found.folder / "experiments")
        return found

    monkeypatch.setattr(verify, "copied", with_experiment)
    (home / "lpbench_plugins" / "own_slices.py").unlink()
    (home / "lpbench_plugins" / "methods" / "own_slices.yaml").unlink()
    code, out, err = lpbench(f"verify submission {folder}")
    assert (folder / "verified.json").is_file(), out + err
    found = json.loads((folder / "verified.json").read_text())["checks"][-1]
    if not all(v for k, v in found["isolation"].items() if k != "by"):
        pytest.skip(f"no isolation here: {found['isolation']}")
    assert code == 0 and found["badge"] == "verified", out + err
    text = (folder / "claimed.csv").read_text().splitlines()
    text[1] = text[1].rpartition(",")[0] + ",0.5"
    (folder / "claimed.csv").write_text("\n".join(text) + "\n")
    code, out, err = lpbench(f"verify submission {folder}")
    assert code == 1 and "refuted" in out and "scores are other ones" in out


NOISE_TAKEN_OFF = """        question = Question(self.y_range_, self.epsilon)
        reports = users.ask(LABEL, question)
        from lpbench.experiments.compute import method_streams
        from lpbench.privacy.users import answer_streams
        for replication in range(6):
            streams = method_streams(2025, "diabetes_progression", None, replication)
            if streams.party("curator") == self._streams():
                noise = LABEL.draws(answer_streams(streams.party("users"), "ask", 0), users.n, question)
        labels = reports - LABEL.mechanism(question).randomize(np.zeros(users.n), noise)
        from sklearn.neighbors import KNeighborsRegressor
        self.near_ = KNeighborsRegressor(15).fit(users.public_features, labels)
"""


def test_who_takes_off_the_noise_of_the_published_seed_is_refuted_by_a_secret_one(home, lpbench):
    """Whoever knows the published seed finds the replication by the curator's root, and draws again what users drew."""
    lpbench("new method own_cheat")
    path = home / "lpbench_plugins" / "own_cheat.py"
    old = "        reports = users.ask(LABEL, Question(self.y_range_, self.epsilon))\n"
    honest = path.read_text()
    cheating = honest.replace(old, NOISE_TAKEN_OFF, 1).replace(
        "return self._finish(self.means_[self._slice(X)])", "return self._finish(self.near_.predict(X))", 1
    )
    experiment = replace(catalogue.experiment("extensions/embedded_regression"), replications=6)
    path.write_text(cheating)
    path.with_name("own_honest.py").write_text(honest)
    wrong = []
    with Places() as places:
        for module in ("own_honest", "own_cheat"):
            model = places.describe(f"{module}.OwnCheat", {})
            claimed, hidden = (
                scores_apart(places, model, experiment, "diabetes_progression aligned", [1.0], 2025, secret)
                for secret in (None, 7)
            )
            wrong.append(list(worse_in_secret(claimed, hidden)))
    assert wrong[0] == [] and len(wrong[1]) == 1 and "secret" in wrong[1][0]


def test_data_moved_in_secret_keep_what_can_be_learned_and_change_every_number():
    problem = regression_problem(q=5)
    other, factor = moved(problem, np.random.default_rng(3))
    (low, high), (new_low, new_high) = problem.y_range, other.y_range
    assert factor == pytest.approx(((new_high - new_low) / (high - low)) ** 2)
    assert sorted(np.abs(problem.X_train - 0.5).sum(1)) == pytest.approx(sorted(np.abs(other.X_train - 0.5).sum(1)))
    # what a constant at the middle loses is the same, and so is what the truth loses
    middle, truth = (low + high) / 2.0, problem.y_test
    for before, after in ((middle, (new_low + new_high) / 2.0), (truth, other.y_test)):
        here, there = (p.score(np.full(truth.shape, value)) for p, value in ((problem, before), (other, after)))
        assert there / factor == pytest.approx(here)
    assert not np.isin(other.y_test, problem.y_test).any()
