"""``lpbench audit`` writes the table and the page, is independent of the number of workers, and says what is wrong."""

import re

import pytest

from lpbench.audit import table
from lpbench.audit.known_bad import KNOWN_BAD, KNOWN_GOOD
from lpbench.audit.mutants import MUTANTS, MutantRow
from lpbench.cli import audit as command
from lpbench.cli.main import main


@pytest.fixture
def few(monkeypatch):
    chosen = [("method", "private_mean"), ("method", "lpct_q"), ("bad", "halved_noise"), ("good", "pure_noise")]
    failure = table.failure_per_row()
    monkeypatch.setattr(table, "subjects", lambda: chosen)
    # worker processes see all subjects, over which the probability of failure is divided
    monkeypatch.setattr(table, "failure_per_row", lambda: failure)
    monkeypatch.setattr(table, "audited_methods", lambda: ["private_mean", "lpct_q"])
    monkeypatch.setattr(table, "base_methods", lambda: ["private_mean"])
    return chosen


def test_table_page_and_mutants(tmp_path, few, capsys):
    arguments = ["--results", str(tmp_path), "--samples", "4000", "--seed", "1", "--workers", "1"]
    assert main(["audit", *arguments]) == 0
    assert f"{len(few)} rows audited" in capsys.readouterr().out
    lines = (tmp_path / "reproduced" / "audit.csv").read_text().splitlines()
    assert len(lines) == 3 and lines[2].startswith("lpct_q,ldp,0,0,0,1,0,0,0")
    text = (tmp_path / "reproduced" / "audit.md").read_text()
    for part in ("| PrivateMean |", "| halved_noise |", "## Deviations in released code", "LDPCP/tree.py:333-335"):
        assert part in text
    assert "99.9 % no bound accuses a correct mechanism (Bonferroni)" in text
    header, *rows = (tmp_path / "reproduced" / "audit_mutants.csv").read_text().splitlines()
    assert header == "method,mutant,caught_by" and len(rows) == len(MUTANTS)
    assert all(re.fullmatch(r"private_mean,\w+,(sealed|account|rows|law)", row) for row in rows)


@pytest.mark.slow
def test_results_do_not_depend_on_the_workers(tmp_path, few):
    one = command.run(tmp_path / "one", samples=2000, seed=1, workers=1)
    two = command.run(tmp_path / "two", samples=2000, seed=1, workers=2)
    assert one == two
    files = [(tmp_path / name / "reproduced" / "audit.csv").read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]


@pytest.mark.parametrize("others", [(), pytest.param(("private_majority",), marks=pytest.mark.slow)])
def test_methods_are_audited_as_in_the_table_and_nothing_is_written(others, tmp_path, capsys):
    arguments = ["--samples", "4000", "--seed", "1", "--workers", "1", "--results", str(tmp_path)]
    assert main(["audit", "private_mean", *others, *arguments]) == 0
    first, *more = capsys.readouterr().out.splitlines()
    further, (caught, *mutants) = more[: len(others)], more[len(others) :]
    row = table.audit("method", "private_mean", samples=4000, seed=1)
    assert first.startswith("private_mean (ldp): states 1, loses 1,") and f"{row.lower_bound:.6g}" in first
    assert all("asked: " in line for line in (first, *further))
    assert [line.partition(" ")[0] for line in further] == list(others)
    n = (1 + len(others)) * len(MUTANTS)
    assert caught == f"{n} of {n} mutants caught, 0 complaints about methods" and len(mutants) == n
    assert not any(tmp_path.iterdir())


def test_a_missed_mechanism_fails_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(table, "subjects", lambda: [("bad", "halved_noise")])
    monkeypatch.setattr(table, "audited_methods", list)
    monkeypatch.setattr(table, "base_methods", list)
    assert main(["audit", "--results", str(tmp_path), "--samples", "100", "--workers", "1"]) == 1
    assert "halved_noise: a known-bad mechanism was not caught" in capsys.readouterr().out


def test_everything_is_a_subject():
    named = table.subjects()
    assert {name for kind, name in named if kind == "method"} == set(table.audited_methods())
    assert {name for kind, name in named if kind == "bad"} == KNOWN_BAD.keys()
    assert {name for kind, name in named if kind == "good"} == KNOWN_GOOD.keys()


def test_a_mutant_that_is_missed_fails_the_audit(tmp_path, monkeypatch, capsys):
    found = {"methods": [], "mutants": [MutantRow("krr", "less_noise", "")]}
    monkeypatch.setattr(command, "of_each", lambda function, names, workers, title: found[title])
    assert main(["audit", "krr", "--samples", "2000", "--results", str(tmp_path)]) == 1
    assert "krr: the mutant less_noise was not caught" in capsys.readouterr().out
