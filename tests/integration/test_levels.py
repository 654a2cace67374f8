"""The levels of reproduction: the same bits from one seed, comparable numbers from another.

Two separate stores in every case; a planted difference must be found.
"""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lpbench.cli import verify_levels as levels
from lpbench.cli.main import main
from lpbench.experiments import catalog as registry
from lpbench.experiments.plan import Plan, plan_experiment
from lpbench.paths import ROOT
from tests.experiments.helpers import own_experiments, study

SMALL = study(("private_mean", "par_dt", "label_dt"), replications=12, mask=["personalized"])


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a small experiment of its own, run once with the published seed."""
    with own_experiments(tmp_path_factory.mktemp("levels"), SMALL) as folder:
        argv = ["reproduce", "own/small", "--results", str(folder / "published"), "--tracking", "none"]
        assert main([*argv, "--backend", "serial"]) == 0
        yield folder


def verify(home: Path, level: str, results: str, *options: str, against: str = "published") -> int:
    where = ["--results", str(home / results), "--against", str(home / against), "--workers", "1"]
    return main(["verify", level, "own/small", *where, *options])


def planted(home: Path, name: str, column: str, shift: float) -> str:
    """A copy of the published results in which one cell is shifted."""
    shutil.copytree(home / "published", home / name)
    path = home / name / "own" / "small" / "summary.csv"
    table = pd.read_csv(path)
    table.loc[3, column] += shift
    table.to_csv(path, index=False)
    return name


def test_bitwise_the_same_seed_in_another_store(home, capsys):
    assert verify(home, "bitwise", "again", "--all") == 0
    ours, theirs = (home / f / "own" / "small" / "summary.csv" for f in ("again", "published"))
    assert ours.read_bytes() == theirs.read_bytes()
    out = capsys.readouterr().out
    assert "own/small: identical" in out and "bitwise: holds" in out


def test_a_sample_holds_and_is_not_taken_for_the_whole(home, capsys):
    assert verify(home, "bitwise", "sampled") == 0
    assert "own/small: identical, 12 lines" in capsys.readouterr().out  # two budgets and selections of three methods
    assert not (home / "sampled" / "own").exists()
    assert verify(home, "bitwise", "sampled", "--all") == 0


def test_a_sample_finds_a_planted_digit_and_says_how_large_it_is(home, capsys):
    name = planted(home, "sampled_digit", "mean", 1e-3)
    assert verify(home, "bitwise", "sampled", against=name) == 1
    out = capsys.readouterr().out
    assert "1 of 12 lines differ, by at most" in out and "of the value" in out
    assert "the promise of the bitwise level is broken" in out


def test_other_tables_of_a_whole_run_are_compared(home, capsys):
    name = planted(home, "derived", "mean", 0.0)
    shutil.copy(home / "published/own/small/summary.csv", home / name / "own/small/summary.csv")
    table = home / name / "own/small/comparison.csv"
    table.write_bytes(table.read_bytes() + b"9")
    assert verify(home, "bitwise", "again", "--all", against=name) == 1
    assert "comparison.csv: not the same bytes" in capsys.readouterr().out


def test_numeric_allows_the_last_digit_only(home, capsys):
    value = pd.read_csv(home / "published/own/small/summary.csv").loc[3, "mean"]
    assert verify(home, "numeric", "sampled", against=planted(home, "last", "mean", 1e-6 * value)) == 0
    assert verify(home, "numeric", "sampled", against=planted(home, "sixth", "mean", 1e-5 * value)) == 1
    assert "numeric: does not hold" in capsys.readouterr().out


def test_a_sample_has_every_method_of_every_experiment_and_does_not_depend_on_the_order():
    plan = plan_experiment(registry.experiment("extensions/embedded_regression"))
    drawn = levels.sample(plan)
    assert {e.method for e in drawn.entries} == {e.method for e in plan.entries} and len(drawn.blocks) < len(
        plan.blocks
    )
    keys = {b.key for b in drawn.blocks}
    assert keys == {b.key for b in levels.sample(Plan(plan.entries[::-1])).blocks}


def test_statistical_another_seed_gives_comparable_numbers(home, capsys):
    assert verify(home, "statistical", "other", "--all") == 0
    ours, theirs = (levels.read_summary(home / f, "own/small") for f in ("other", "published"))
    compared = levels.compare(ours, theirs, None)
    assert len(compared) == len(theirs) and (compared["size"] > 0).all()
    out = capsys.readouterr().out
    assert f"own/small: {len(compared)} cells" in out and "statistical: holds" in out


def test_statistical_a_wrong_mean_is_found(home, capsys):
    name = planted(home, "shifted", "mean", 3000.0)
    assert verify(home, "statistical", "other", "--all", against=name) == 1
    assert "standard errors" in capsys.readouterr().out


def test_a_run_that_deviates_is_verified_as_its_record_says(home, capsys):
    argv = ["reproduce", "own/small", "--replications", "3", "--seed", "7", "--results", str(home / "a")]
    assert main([*argv, "--tracking", "none", "--backend", "serial"]) == 0
    (deviating,) = (home / "a" / "runs").iterdir()
    there = deviating.relative_to(home).as_posix()
    assert verify(home, "bitwise", "b", "--all", against=there) == verify(home, "bitwise", "b", against=there) == 0
    assert verify(home, "statistical", "c", against=there) == 0
    capsys.readouterr()
    before = {path: path.read_bytes() for path in deviating.rglob("*.csv")}
    for level, results, against in (
        ("bitwise", there, "published"),
        ("statistical", there, there),
        ("numeric", "b", "b"),
    ):
        assert verify(home, level, results, "--all", against=against) == 2
    assert "run otherwise (replications: 12 → 3; seed: 2025 → 7)" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in deviating.rglob("*.csv")} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("bitwise own/small --seed 3", "leave --seed"),
        ("bitwise own/small --replications 3", "leave --seed"),
        ("statistical own/small --seed 2025", "is the published one"),
        ("conceptual own/small", "'bitwise', 'numeric', 'statistical'"),
        ("bitwise histoftree/figure1", "only tables and figures"),
    ],
)
def test_what_cannot_be_verified_is_refused(home, capsys, words, said):
    where = ["--results", str(home / "refused"), "--against", str(home / "published")]
    assert main(["verify", *words.split(), *where]) == 2
    assert said in capsys.readouterr().err


def test_nothing_to_compare_with_is_an_error_before_anything_runs(home, capsys):
    assert verify(home, "bitwise", "unused", against="nowhere") == 2
    assert "nothing to compare" in capsys.readouterr().err
    assert not (home / "unused").exists()


def summary(means, std=1.0, n=50) -> pd.DataFrame:
    size = len(means)
    columns = {key: ["k"] * size for key in levels.LINE_KEYS} | {"method": [f"m{i}" for i in range(size)]}
    numbers = {"mean": means, "std": np.broadcast_to(std, size), "n": [n] * size}
    return pd.DataFrame(columns | numbers).astype(str).set_index(levels.LINE_KEYS)


def test_false_alarms_have_the_stated_probability():
    """2000 correct cells: at level 1e-3 / 2000 each; the share within 95 % is within 6 standard errors of 0.95."""
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((2, 2000, 50))
    sides = (summary(x.mean(axis=1), x.std(axis=1, ddof=1)) for x in (a, b))
    compared = levels.compare(*sides, None)
    assert (compared["p"] >= levels.VERIFY_FALSE_ALARM / 2000).all()
    assert abs((compared["p"] >= 0.05).mean() - 0.95) < 6 * np.sqrt(0.05 * 0.95 / 2000)


def test_cells_without_spread_are_equal_or_different():
    compared = levels.compare(summary([1.0, 2.0], 0.0), summary([1.0, 2.5], 0.0), None)
    assert compared["p"].tolist() == [1.0, 0.0]


def test_lines_are_compared_as_text():
    ours, theirs = summary([1.0, 2.0, 3.0]).iloc[:2], summary([1.0, 2.5, 3.0]).iloc[1:]
    compared = levels.compare(ours, theirs, 0.0)
    assert (compared["p"] == 0).all()
    found = [f"{row.line}: {row.change}" for row in compared.itertuples()]
    assert len(found) == 3
    assert any("m2" in f and "missing here" in f for f in found)
    assert any("m0" in f and "not published" in f for f in found)
    assert any("mean 2.0 for 2.5" in f for f in found)


def test_the_page_names_every_level_and_its_command():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    for level in ("bitwise", "numeric", "statistical"):
        assert f"lpbench verify {level}" in page and f"## {level.capitalize()}" in page
