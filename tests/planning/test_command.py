"""``lpbench need``: the answer is the last thing on the screen, and every bad file ends in one sentence."""

import html
import re

import numpy as np
import pandas as pd
import pytest

from lpbench.cli import need as module
from lpbench.cli.main import main
from lpbench.paths import COMMITTED
from lpbench.planning import pilot
from lpbench.reporting.pages import advice


def people(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, sex = rng.uniform(18, 80, n).round(1), rng.choice(["f", "m"], n)
    income = 20 + 0.8 * age + 10 * (sex == "m") + rng.normal(0, 4, n)
    return pd.DataFrame({"age": age, "sex": sex, "children": rng.integers(0, 4, n), "income": income.round(3)})


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(pilot, "SPLITS", 2)

    def call(frame: pd.DataFrame, *options: str) -> tuple[int, str, str]:
        frame.to_csv(tmp_path / "pilot.csv", index=False)
        code = main(["need", str(tmp_path / "pilot.csv"), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_the_answer_comes_last(run):
    code, out, _ = run(
        people(), "--target", "income", "--protect", "income,age", "--range", "0", "150", "--epsilon", "1,4",
        "--users", "240:2400", "--error", "0.8x", "--unit", "household",
    )  # fmt: skip
    assert code == 0
    assert "Protected   income, age: of each household" in out and "semi_feature_ldp" in out
    last = out[out.index("An error of") :]
    assert "240 users" in last and "2400 users" in last and "ε = 4" in last
    assert "ResidualGP(epsilon=" in last and "y_range=(0, 150)" in last and "Run it: with 2400 users and ε = " in last
    assert "lpbench dataset=NAME mask=file mask.params.path=WHO.csv method=residual_gp epsilon=" in last
    assert "leaks" not in out


def test_columns_stay_apart_where_errors_have_exponents(run):
    rows = people()
    options = "--range 0 15e6 --epsilon 1,4 --users 240".split()
    _, out, _ = run(rows.assign(income=rows["income"] * 1e5), *options)
    line = next(line for line in out.splitlines() if line.strip().startswith("240 "))
    assert "e+" in line and line.replace("]*", "] ").count("]   ") == 2


def test_an_interrupt_answers_from_the_finished_splits(run, monkeypatch):
    scores, calls = pilot._scores, []

    def stop(*arguments):
        calls.append(arguments)
        if len(calls) > pilot.FEWEST_SPLITS * len(pilot.TRAIN_SHARES) + 1:
            raise KeyboardInterrupt
        return scores(*arguments)

    monkeypatch.setattr(pilot, "_scores", stop)
    monkeypatch.setattr(pilot, "FEWEST_SPLITS", 2)
    monkeypatch.setattr(pilot, "SPLITS", 12)
    code, out, _ = run(people(), "--range", "0", "150", "--epsilon", "4", "--users", "240")
    assert code == 0 and f"{pilot.FEWEST_SPLITS} splits of 240 rows" in out and "Run it:" in out


def test_a_range_from_the_file_is_a_leak(run):
    code, out, _ = run(people(), "--epsilon", "4", "--users", "240")
    assert code == 0 and "taken from the file, which leaks" in out


NUMBERS = pd.DataFrame(np.random.default_rng(0).random((260, 2)) * 100, columns=["cost", "b"]).assign(y=lambda t: t.b)
SICK = NUMBERS.assign(y=np.where(NUMBERS.b > 50, "yes", "no"))


@pytest.mark.parametrize(
    ("frame", "options", "named"),
    [
        (people(), "--target wage", "wage"),
        (people(), "--protect wage", "wage"),
        (people().assign(income="yes"), "", "income"),
        (people().assign(income=[f"t{k}" for k in range(240)]), "", "income"),
        (people(), "--accuracy 0.9", "--mse"),
        (people(), "--mse 1 --error 0.5x", "one of them"),
        (people(), "--epsilon a", "numbers above 0"),
        (people(), "--epsilon 8:1", "LOW:HIGH"),
        (NUMBERS, "--error half", "0.8x"),
        (SICK, "--accuracy 1", "--accuracy"),
        (NUMBERS, "--mse -1", "error"),
        (NUMBERS, "--plot answer.txt", ".svg"),
        (NUMBERS, "--plot nowhere/answer.svg", "folder"),
        (NUMBERS, "--protect kost", "did you mean cost"),
        (NUMBERS, "--users 1000000000", "100 times"),
    ],
)
def test_bad_input_ends_in_one_sentence_before_the_pilot_runs(run, monkeypatch, frame, options, named):
    def pilot_of(*_):
        raise AssertionError("the pilot runs")

    monkeypatch.setattr("lpbench.planning.answer.run_pilot", pilot_of)
    code, _, error = run(frame, *options.split())
    lines = [line for line in error.splitlines() if line.startswith("error: ")]
    assert code == 2 and len(lines) == 1 and named in lines[0]


def test_a_huge_file_is_not_read(run, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    code, _, error = run(people())
    assert code == 2 and "draw a sample" in error
    assert main(["need", "nowhere.csv"]) == 2


def test_without_a_pilot_the_answers_are_those_of_the_page(capsys, monkeypatch):
    page = (COMMITTED / "use.html").read_text(encoding="utf-8")
    rows = [
        re.sub("<.*?>", "|", row).split("||") for row in re.findall("<tr><td>(regression.*)</code></td></tr>", page)
    ]
    words = ["need", "--without-pilot", "--task", "regression", "--epsilon", "2"]
    assert main(words) == 0
    wanted, answers = [row for row in rows if row[4] == "2"], capsys.readouterr().out.split("\nregression")
    assert len(wanted) == len(answers) == 6
    for (_, asked, features, sample, epsilon, use, *more), said in zip(wanted, answers, strict=True):
        second, adds, *_, run = (part.strip("|") for part in more if part.strip("|"))
        for part in (f"asked: {asked}", f"protected features: {features}", f"public sample: {sample}, ε = {epsilon}",
                     f"{use}; second choice: {second}", f": {adds}", run):  # fmt: skip
            assert html.unescape(part) in said
    assert main(["need"]) == main([*words, "p.csv"]) == 2
    monkeypatch.setattr(advice, "choices", lambda *known: [])
    assert main(words) == 2 and "nothing was measured for this choice" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--target y", "--mse 1", "--users 500", "--range 0 1", "--seed 2", "--protect age"])
def test_without_a_pilot_an_option_about_one_is_refused(option, capsys):
    assert main(["need", "--without-pilot", *option.split()]) == 2
    assert option.split()[0] in capsys.readouterr().err


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_public_sample_in_a_file_is_checked(run, tmp_path, task):
    rows = people(1000)
    rows["income"] = np.where(rows["income"] > 60, "high", "low") if task == "classification" else rows["income"]
    rows[800:].to_csv(tmp_path / "public.csv", index=False)
    options = ["--protect", "children", "--epsilon", "8", "--users", "800", "--public", str(tmp_path / "public.csv")]
    code, out, _ = run(rows[:800], *options)
    assert code == 0
    line = next(line for line in out.splitlines() if line.startswith("Public "))
    said = {
        "regression": "is used: its model is nearer than a constant for",
        "classification": r"is used with weight 1\.00: the slope of labels on its score is [01]\.\d\d \(90% interval",
    }
    assert re.search(f"ε = 8: the public sample {said[task]}", line)


def test_a_public_sample_without_the_pilot_s_columns_is_refused(run, tmp_path):
    people().drop(columns="sex").to_csv(tmp_path / "public.csv", index=False)
    code, _, err = run(people(), "--epsilon", "1", "--public", str(tmp_path / "public.csv"))
    assert code == 2 and "sex" in err and len(err.strip().splitlines()) == 1
