"""A command that looked at nothing claims nothing: exit code 2, and the reason."""

import re
import shutil

import pandas as pd
import pytest

from lpbench.cli.main import main
from lpbench.experiments import compute
from lpbench.experiments.submissions import submissions
from lpbench.paths import COMMITTED
from lpbench.submission import verify as verification
from tests.experiments.helpers import own_experiments, study

#: Two experiments on embedded data and one on data that nobody has.
ONE = study(("private_mean",), name="own/one", replications=3)
TWO = study(("private_mean",), name="own/two", replications=3)
GONE = study(("private_mean",), name="own/gone", replications=3, dataset=["red_wine"])
PARTLY = study(("private_mean",), name="own/partly", replications=3, dataset=["diabetes_progression", "red_wine"])

CLAIM = re.compile(r"\bholds\b|\bverified\b|\b0 broken|mutants caught|is broken|no violation")
LEVELS = [[level, *more] for level in ("bitwise", "numeric", "statistical") for more in ([], ["--all"])]


@pytest.fixture(autouse=True)
def without_data(monkeypatch, tmp_path):
    monkeypatch.delenv("LPBENCH_DATA_MIRROR", raising=False)
    monkeypatch.setenv("LPBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Results of a machine that had all data: of the missing ones, the rows of the others under their name."""
    folder = tmp_path_factory.mktemp("published")
    with own_experiments(tmp_path_factory.mktemp("own"), ONE, TWO, GONE, PARTLY):
        words = ["--results", str(folder), "--tracking", "none", "--backend", "serial"]
        assert main(["reproduce", "own/one", "own/two", *words]) == 0
        head, *rows = (folder / "own/one/summary.csv").read_text().splitlines()
        gone = [row.replace("diabetes_progression", "red_wine") for row in rows]
        for name, lines in (("own/gone", gone), ("own/partly", [*rows, *gone])):
            (folder / name).mkdir()
            lines = [head, *(line.replace("own/one", name) for line in lines)]
            (folder / name / "summary.csv").write_text("\n".join(lines) + "\n")
        yield folder


@pytest.fixture
def run(tmp_path, capsys):
    def call(*words):
        capsys.readouterr()
        code = main([*map(str, words)])
        said = capsys.readouterr()
        return code, said.out + said.err

    return call


@pytest.fixture
def verify(run, published, tmp_path):
    def call(level, *names, against=published):
        where = ["--results", tmp_path / "new", "--against", against, "--workers", "1"]
        return run("verify", level[0], *names, *level[1:], *where)

    return call


def claims_nothing(found, *reasons):
    code, said = found
    assert code == 2 and not CLAIM.search(said) and all(reason in said for reason in reasons), said


@pytest.mark.parametrize("level", LEVELS)
def test_verify_without_data_compares_nothing(verify, level):
    claims_nothing(verify(level, "own/gone"), "own/gone: not compared", "no number of 1 experiment")


@pytest.mark.parametrize("level", LEVELS)
def test_verify_says_for_how_many_experiments_a_level_holds(verify, level):
    code, said = verify(level, "own/one", "own/two", "own/gone")
    assert code == 0 and f"{level[0]}: holds for 2 of 3 experiments, 1 not compared" in said
    code, said = verify(level, "own/partly", "own/gone")
    assert code == 0 and f"{level[0]}: holds for 1 of 2 experiments, 1 not compared" in said
    assert "red_wine: " in said


@pytest.mark.parametrize("level", LEVELS)
def test_verify_compares_nothing_where_every_block_fails(verify, level, monkeypatch):
    def fail(block, *_):
        raise ValueError("the disk is on fire")

    monkeypatch.setattr(compute, "execute", fail)
    claims_nothing(verify(level, "own/one", "own/two"), "the disk is on fire", "no number of 2 experiments")


@pytest.mark.parametrize("level", LEVELS)
def test_verify_compares_nothing_with_no_published_row(verify, level, published, tmp_path):
    folder = shutil.copytree(published, tmp_path / "no rows")
    for path in folder.rglob("summary.csv"):
        path.write_text(path.read_text().partition("\n")[0] + "\n")
    claims_nothing(verify(level, "own/one", against=folder))
    (tmp_path / "empty").mkdir()
    for names in ((), ("own/one",)):
        claims_nothing(verify(level, *names, against=tmp_path / "empty"), "nothing to compare")
    claims_nothing(verify(level, "own/x*"), "unknown experiment")


def test_one_replication_has_no_interval(verify, published, tmp_path):
    words = ["--results", tmp_path / "new", "--against", published, "--replications", "1", "--workers", "1"]
    claims_nothing((main(["verify", "statistical", "own/one", *map(str, words)]), ""))


@pytest.mark.parametrize("count", [0, 1])
def test_a_submission_without_a_block_run_again_is_not_verified(count, run, tmp_path, monkeypatch):
    folder = shutil.copytree(submissions()[0].folder, tmp_path / submissions()[0].name)
    held = {"no network": True}

    def ran(submission, drawn, seconds):
        again = submission.claimed.merge(pd.DataFrame({"drawn": drawn}), how="cross")
        again = again[again["dataset"] + " " + again["mask"] == again["drawn"]]
        return verification._Run("x", held, [], list(drawn), again, in_secret=again)

    monkeypatch.setattr(verification, "_run", ran)
    sets = submissions()[0].claimed["dataset"].unique()[:count]
    monkeypatch.setattr(verification, "_at_hand", lambda dataset: dataset in sets)
    found = run("verify", "submission", folder)
    if count:
        assert found[0] == 0 and ": verified" in found[1]
    else:
        code, said = found
        assert code == 2 and "unverified" in said and "no block was run again" in said
    (folder / "claimed.csv").write_text((folder / "claimed.csv").read_text().partition("\n")[0] + "\n")
    claims_nothing(run("verify", "submission", folder), "claims nothing")
    (tmp_path / "empty").mkdir()
    claims_nothing(run("verify", "submission", tmp_path / "empty"))


def test_check_counts_the_checks_that_were_made(run):
    claims_nothing(run("check", "dataset", "red_wine"), "no check of red_wine", "red_wine table")
    code, said = run("check", "dataset", "red_wine", "diabetes_progression")
    assert code == 0 and "2 dataset(s), 3 checks, 0 broken, 3 not made" in said
    claims_nothing(run("check", "dataset", "red_wine", "--only", "nothing"), "unknown check")
    claims_nothing(run("check", "method", "nobody"), "unknown method")


def test_audit_of_what_promises_nothing(run, tmp_path):
    claims_nothing(run("audit", "dt", "--samples", "100", "--workers", "1"), "dt: nothing was audited")
    for text in ("", "value,report\n", "value,report\n0,1\n", "value,report\n0,1\n1,1\n", "value\n0\n1\n"):
        (tmp_path / "reports.csv").write_text(text)
        claims_nothing(run("audit", "code", tmp_path / "reports.csv", "--epsilon", "1"))
    claims_nothing(run("audit", "code", tmp_path / "nowhere.csv", "--epsilon", "1"))
    claims_nothing(run("audit", "code", "--command", "true", "--epsilon", "1", "--values", "0", "1"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("krr --epsilon 77", "--epsilon 77: comparison/regression has 0.5,"),
        ("krr --experiment own/one", "run `lpbench reproduce own/one` first"),
        ("krr --experiment histoftree/table9", "unknown experiment"),
        ("private_mean[y_range=known] --experiment histoftree/table1", ""),
        ("empty.csv --experiment comparison/regression", "no prediction to rank"),
        ("nowhere.csv --experiment comparison/regression", "no such file"),
    ],
)
def test_rank_of_nothing(words, reason, run, published, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.csv").write_text("dataset,mask,epsilon,replication,row,prediction\n")
    claims_nothing(run("rank", *words.split(), "--results", tmp_path / "r", "--workers", "1"), reason)


def test_report_of_nothing(run, published, tmp_path, monkeypatch):
    for more in ((), ("lpct/*",), ("--tracking", "mlflow"), ("own/one",)):
        (tmp_path / "empty").mkdir(exist_ok=True)
        claims_nothing(run("report", *more, "--results", tmp_path / "empty"), "empty has no")
    claims_nothing(run("report", "--results", tmp_path / "nowhere"), "does not exist")
    (tmp_path / "stored").mkdir()
    shutil.copytree(COMMITTED / "scores", tmp_path / "stored/reproduced/scores")
    for more in ("comparison/full_regression", "own/one"):
        claims_nothing(run("report", more, "--results", tmp_path / "stored"), f"stored has no result of {more}")

    def fail(block, *_):
        raise ValueError("the disk is on fire")

    monkeypatch.setattr(compute, "execute", fail)
    where = ["--results", tmp_path / "failed"]
    assert run("reproduce", "own/one", *where, "--tracking", "none", "--backend", "serial")[0] == 1
    claims_nothing(run("report", *where), "no result")
