"""Submissions: what may be said in one, what is compared, who draws, and that a hostile one is refused or shut in."""

import json
import re
import shutil
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lpbench.audit import foreign, isolation
from lpbench.audit.contract import regression_problem
from lpbench.audit.keeper import Places
from lpbench.audit.methods import samples
from lpbench.datasets import Draws
from lpbench.errors import ConfigurationError, LpbenchError
from lpbench.experiments import catalog
from lpbench.experiments.method import Method
from lpbench.experiments.submissions import MET, Submission, submissions
from lpbench.paths import ROOT
from lpbench.submission import verify
from lpbench.submission.apart import moved, scores_apart, worse_in_secret
from lpbench.submission.contract import CONTRACT
from lpbench.submission.pack import own_sweep
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
    lines = [{"step": s, "wrong": ""} for s in [*(f"contract, {check}" for check in CONTRACT)]]
    lines.append({"step": "cost", "wrong": "", "cost": {"bits": {"1": 64}}})
    whole = verify._Run()
    verify._read(whole, lines)
    assert not whole.unfinished and whole.cost["bits"] == {"1": 64}
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


def test_a_sweep_of_a_submissions_own_is_refused(home, lpbench):
    """Test labels would be within its reach."""
    lpbench("new method own_scorer")
    assert own_sweep(catalog.method("own_scorer")) == ""
    sweep = (
        "    def learn_grid(self, tasks, budgets, grid):\n        return tasks[0].counts.args[0]\n\n    def predict("
    )
    lpbench("new method own_sweeper")
    path = home / "lpbench_plugins" / "own_sweeper.py"
    path.write_text(path.read_text().replace("    def predict(", sweep, 1))
    assert "has no learn_grid of its own" in own_sweep(catalog.method("own_sweeper"))


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("A_SECRET", "x")
        with Places(path=[tmp_path_factory.mktemp("author")]) as found:
            if not all(found.held.values()):
                pytest.skip(f"no isolation here: {found.held}")
            yield found


@pytest.fixture
def said(places):
    """Outcome of Python code where it may have other processes beside it."""

    def said(code, seconds=60.0):
        for copy in places.copies.values():
            (copy / "submitted.py").write_text(f"{code}\nraise SystemExit('all of it ran')\n", encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch, pytest.raises(LpbenchError) as found:
            patch.setattr(places, "seconds", seconds)
            places.call("describe", None, True, estimator="submitted.Fresh", params={})
        return str(found.value)

    return said


def test_the_isolation_holds_what_it_says(tmp_path, said):
    code = (
        "import os, pathlib, sys\n"
        f"for p in ({str(ROOT)!r}, {str(tmp_path)!r}, '/', '/tmp'):\n"
        "    try: pathlib.Path(p, 'theirs').write_text('x'); sys.exit('written')\n    except OSError: pass\n"
        "assert not [k for k in os.environ if 'SECRET' in k] and not os.listdir('/run')\n"
        "try: bytearray(2 ** 36); sys.exit('no limit')\nexcept MemoryError: pass\n"
    )
    assert "all of it ran" in said(code)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import socket; socket.create_connection(('127.0.0.1', 9), 1)", r"OSError.*unreachable"),
        ("open({outside!r})", r"FileNotFoundError.*outside"),
        ("print('x' * 300_000_000)", r"all of it ran"),
        ("import os\nwhile True: os.fork()", r"temporarily unavailable|took over"),
        ("import os, time; os.setsid() if os.fork() else 0; time.sleep(60)", r"took over 2 s|not permitted"),
        ("import time; time.sleep(60)", r"took over 2 s"),
        ("import os, time; os.closerange(0, 99); time.sleep(60)", r"ended"),
        ("import os; os.kill(1, 9); os.kill(os.getppid() or 99999, 9)", r"No such process"),
        ("open('/proc/1/root/etc/passwd'); open('/etc/passwd')", r"No such file"),
    ],
    ids=["socket", "file", "output", "processes", "session", "sleep", "silent sleep", "signals", "root"],
)
def test_hostile_code_is_ended_with_one_sentence(tmp_path, said, code, sentence):
    outside = tmp_path / "outside"
    outside.write_text("x")
    found = said(code.replace("{outside!r}", repr(str(outside))), 2.0 if "took over" in sentence else 60.0)
    assert re.search(sentence, found) and "\n" not in found and len(found) <= 4000


@pytest.mark.slow
def test_from_the_template_to_scores_that_repeat_and_a_refuted_badge(home, lpbench, monkeypatch):
    """The documented commands, on data that need no download: honest scores repeat, a tampered claim is refuted."""
    lpbench("new method own_slices")
    write_experiment(home / "lpbench_plugins", study(["private_mean"], mask=["aligned"]))
    options = f"--author A --license MIT --paper none --experiment own/small --folder {home}/submissions"
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


@pytest.mark.slow
def test_who_takes_off_the_noise_of_the_published_seed_is_refuted_by_a_secret_one(home, lpbench):
    """Whoever knows the published seed finds the replication by the curator's root, and draws again what users drew."""
    lpbench("new method own_cheat")
    path = home / "lpbench_plugins" / "own_cheat.py"
    old = "        reports = users.ask(LABEL, Question(self.y_range_, self.epsilon))\n"
    honest = path.read_text()
    cheating = honest.replace(old, NOISE_TAKEN_OFF, 1).replace(
        "return self._finish(self.means_[self._slice(X)])", "return self._finish(self.near_.predict(X))", 1
    )
    experiment = replace(catalog.experiment("extensions/embedded_regression"), replications=6)
    path.write_text(cheating)
    path.with_name("own_honest.py").write_text(honest)
    wrong = []
    with Places() as places:
        for module in ("own_honest", "own_cheat"):
            method = Method(module, module, "regression", f"{module}.OwnCheat", privacy="label_ldp")
            claimed, hidden = (
                scores_apart(places, method, experiment, "diabetes_progression aligned", [1.0], 2025, secret)
                for secret in (None, 7)
            )
            wrong.append(list(worse_in_secret(claimed, hidden)))
    assert wrong[0] == [] and len(wrong[1]) == 1 and "secret" in wrong[1][0]


@pytest.mark.slow
def test_who_knows_a_table_by_heart_is_refuted_by_data_moved_in_secret(home, lpbench):
    """Test labels that stand in the code: rows, features and labels of the second run are none of that table's."""
    lpbench("new method own_memory")
    path = home / "lpbench_plugins" / "own_memory.py"
    experiment = replace(catalog.experiment("extensions/embedded_regression"), replications=12)
    data = experiment.data_set("diabetes_progression")
    draw = Draws(data.name, dict(data.params), "all_private", {}, 2025).problem(0)
    table = np.vstack([draw.X_train, draw.X_test]).tolist(), np.hstack([draw.y_train, draw.y_test]).tolist()
    known = f"from sklearn.neighbors import KNeighborsRegressor\n\nKNOWN = KNeighborsRegressor(1).fit(*{table})\n\n\n"
    source = re.sub(r"^(@dataclass[^\n]*\nclass OwnMemory)", lambda at: known + at[1], path.read_text(), flags=re.M)
    path.write_text(source.replace("self._finish(self.means_[self._slice(X)])", "self._finish(KNOWN.predict(X))", 1))
    method = Method("own_memory", "own_memory", "regression", "own_memory.OwnMemory", privacy="label_ldp")
    with Places() as places:
        claimed, hidden = (
            scores_apart(places, method, experiment, "diabetes_progression aligned", [1.0], 2025, secret)
            for secret in (None, 7)
        )
    assert claimed["value"].max() < 1e-9
    (refused,) = worse_in_secret(claimed, hidden)
    assert "data moved in secret" in refused


#: Honest learners of privatized labels, beside features that everybody shows: what replaces the template's slices.
LEARNERS = {
    "regression": (
        "reports = users.ask(LABEL, Question(self.y_range_, self.epsilon))",
        ("self.means_[self._slice(X)]", "self.fitted_.predict(X)"),
        "make_pipeline(StandardScaler(), Ridge(1.0)).fit(users.public_features, reports)",
    ),
    "classification": (
        "reports = users.ask(CLASS, question)",
        ("self.shares_[self._slice(X)]", "np.eye(self.classes_.size)[self.fitted_.predict(X)]"),
        "KNeighborsClassifier(min(25, users.n)).fit(users.public_features, reports)",
    ),
}
IMPORTS = """from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "dataset"), [("regression", "diabetes_progression"), ("classification", "breast_cancer")]
)
def test_no_secret_seed_of_twenty_refutes_an_honest_submission(task, dataset, home, lpbench):
    """Nearest neighbors of reported classes, and a pipeline of scikit-learn's fitted to reported labels."""
    lpbench(f"new method own_learner --task {task}")
    path = home / "lpbench_plugins" / "own_learner.py"
    asks, (predicts, prediction), fit = LEARNERS[task]
    source = path.read_text().replace(asks, f"{asks}\n        self.fitted_ = {fit}", 1)
    source = source.replace("import numpy as np\n", f"import numpy as np\n{IMPORTS}", 1)
    path.write_text(source.replace(predicts, prediction, 1))
    experiment = replace(catalog.experiment(f"extensions/embedded_{task}"), replications=6)
    method = Method("own_learner", "own_learner", task, "own_learner.OwnLearner", privacy="label_ldp")
    with Places() as places:
        of = places, method, experiment, f"{dataset} aligned", [1.0, 4.0], 2025
        claimed = scores_apart(*of)
        assert scores_apart(*of).equals(claimed)
        refuted = {secret: list(worse_in_secret(claimed, scores_apart(*of, secret))) for secret in range(1, 21)}
    assert not any(refuted.values()), refuted


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


def test_data_moved_in_secret_stay_within_their_range():
    """A label an ulp outside of its range is a DataError, and refuted honest submissions."""
    problem = regression_problem()
    ends = np.where(np.arange(len(problem.y_train)) % 2, *problem.y_range)
    problem = replace(problem, y_train=ends)
    for seed in range(300):
        other, _ = moved(problem, np.random.default_rng(seed))
        low, high = other.y_range
        assert low <= other.y_train.min() and other.y_train.max() <= high


def test_one_outlier_does_not_switch_the_test_of_the_secret_run_off():
    key = {"dataset": "d", "mask": "m", "epsilon": 1.0, "replication": np.arange(20), "metric": "mse"}
    claimed = pd.DataFrame({**key, "value": 1.0})
    assert list(worse_in_secret(claimed, claimed)) == []
    (sentence,) = worse_in_secret(claimed, claimed.assign(value=np.r_[4000.0, np.full(19, 40.0)]))
    assert "secret" in sentence
    few = claimed[:6]  # one of 6 that is far above the others hides them all: 2 ** -6 refutes nothing
    assert list(worse_in_secret(few, few.assign(value=np.r_[4000.0, np.full(5, 40.0)]))) == []
    rng = np.random.default_rng(4)
    for _ in range(300):  # honest losses with heavy tails are as often better as worse
        here, there = (claimed.assign(value=np.exp(2 * rng.standard_normal(20))) for _ in range(2))
        assert list(worse_in_secret(here, there)) == []


def test_an_alias_in_a_submissions_yaml_is_refused(folder):
    path = folder / "submission.yaml"
    path.write_text("bomb: &bomb [1]\nbombs: [*bomb, *bomb]\n" + path.read_text())
    with pytest.raises(ConfigurationError, match="alias"):
        _ = Submission(folder).about


def test_a_constant_budget_and_a_guarantee_of_another_are_misstated(home, lpbench):
    lpbench("new method own_flat")
    path = home / "lpbench_plugins" / "own_flat.py"
    path.write_text(path.read_text().replace("y_range_, self.epsilon)", "y_range_, min(self.epsilon, 0.5))"))
    stated = {"model": "label_ldp", "epsilon": 0.4, "delta": 0.0, "asked": 1.0}
    with Places() as found:
        method = replace(catalog.method("own_flat"), params={})
        least, constant = verify._misstated(found, method, stated, [0.5, 8.0])
    assert "states epsilon = 0.4, and users spend 0.5" in least and "whether epsilon is 0.5 or 8" in constant


@pytest.mark.parametrize(
    ("states", "yaml_states", "sentence"),
    [
        ("label_ldp", "label_ldp", ""),
        ("label_ldp", "", ""),
        ("label_ldp", "ldp", "submission.yaml states label_ldp, and its method ldp"),
        ("ldp", "ldp", "audit: apart: ldp is stated, and the reports say label_ldp"),
        ("label_cdp", "label_cdp", "audit: apart: label_cdp is stated, and the reports say label_ldp"),
    ],
)
def test_the_models_of_submission_method_and_fits_are_one(states, yaml_states, sentence, home, lpbench, monkeypatch):
    lpbench("new method own_stated")
    method = replace(catalog.method("own_stated"), privacy=yaml_states)
    about = {"experiment": "", "guarantee": {"model": states, "epsilon": 1.0, "delta": 0.0, "asked": 1.0}}
    claimed = pd.DataFrame({"epsilon": [1.0]})
    one = SimpleNamespace(folder=home / "lpbench_plugins", method=method, about=about, claimed=claimed)
    monkeypatch.setattr(verify, "_contract", lambda run, places, submission: None)
    monkeypatch.setattr(verify, "_score", lambda *words: None)
    monkeypatch.setattr(foreign, "drawn_samples", lambda model: islice(samples(model), 1))
    assert verify._run(one, [], 60.0).wrong == ([sentence] if sentence else [])


def test_a_badge_without_isolation_is_unverified_and_says_why(folder, monkeypatch):
    monkeypatch.setattr(Places, "__enter__", without_isolation)
    monkeypatch.setattr(verify, "_contract", lambda run, places, submission: None)
    monkeypatch.setattr(verify, "foreign_complaints", lambda *words: [])
    monkeypatch.setattr(verify, "_misstated", lambda *words: [])
    monkeypatch.setattr(verify, "_score", lambda *words: None)
    found = verify.verify(Submission(folder), seconds=60.0)
    assert found["badge"] == "unverified" and found["unfinished"].startswith("isolation: none")


def without_isolation(places):
    places._open, places.held, places.by = ExitStack(), dict.fromkeys(isolation.HELD, False), "none"
    return places
