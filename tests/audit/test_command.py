"""``lpbench audit`` writes the table and the page, is independent of the number of workers, and says what is wrong."""

import pytest

from lpbench.audit import method_checks, table
from lpbench.audit.devices import audited_methods
from lpbench.audit.known_bad import KNOWN_BAD, KNOWN_GOOD
from lpbench.cli import audit as command
from lpbench.cli.main import main
from lpbench.deployment import costs as measured


@pytest.fixture(scope="module")
def costs():
    return measured.measure_protocols(1), measured.measure_methods(table.EPSILON, 1)


@pytest.fixture(autouse=True)
def measured_once(monkeypatch, costs):
    """The costs do not depend on the subjects."""
    monkeypatch.setattr(measured, "measure_protocols", lambda seed: costs[0])
    monkeypatch.setattr(measured, "measure_methods", lambda epsilon, seed: costs[1])


@pytest.fixture
def few(monkeypatch):
    """Audit a handful of subjects."""
    chosen = [("method", "private_mean"), ("method", "lpct_q"), ("bad", "halved_noise"), ("good", "pure_noise")]
    failure = table.failure_per_row()
    monkeypatch.setattr(table, "subjects", lambda: chosen)
    # worker processes see all subjects, over which the probability of failure is divided
    monkeypatch.setattr(table, "failure_per_row", lambda: failure)
    return chosen


def test_table_and_page(tmp_path, few):
    rows = command.run(tmp_path, samples=4000, seed=1, workers=1)
    assert [(kind, row.method) for kind, row in rows] == few and table.problems(rows) == []
    lines = (tmp_path / "reproduced" / "audit.csv").read_text().splitlines()
    assert len(lines) == 3 and lines[2].startswith("lpct_q,ldp,0,0,0,1,0,0,0")
    text = (tmp_path / "reproduced" / "audit.md").read_text()
    for part in ("| PrivateMean |", "| halved_noise |", "## Deviations in released code", "LDPCP/tree.py:333-335"):
        assert part in text
    assert "at most 0.001 (Bonferroni)" in text


@pytest.mark.slow
def test_results_do_not_depend_on_the_workers(tmp_path, few):
    one = command.run(tmp_path / "one", samples=2000, seed=1, workers=1)
    two = command.run(tmp_path / "two", samples=2000, seed=1, workers=2)
    assert one == two
    files = [(tmp_path / name / "reproduced" / "audit.csv").read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]


def test_command_line(tmp_path, few, capsys):
    assert main(["audit", "--results", str(tmp_path), "--samples", "4000", "--workers", "1"]) == 0
    assert "4 rows audited" in capsys.readouterr().out
    assert (tmp_path / "reproduced" / "audit.md").is_file()
    assert (tmp_path / "reproduced" / "audit_mutants.csv").read_text() == (
        "method,mutant,caught_by\nprivate_mean,private_mean_noise_shared,device audit in fit; device audit in sweep\n"
    )


def test_one_method_is_audited_as_in_the_table_and_nothing_is_written(tmp_path, capsys):
    arguments = ["--samples", "4000", "--seed", "1", "--results", str(tmp_path)]
    assert main(["audit", "--method", "private_mean", "--method", "krr", *arguments]) == 0
    first, second, *mutants = capsys.readouterr().out.splitlines()
    row = table.audit("method", "private_mean", samples=4000, seed=1)
    assert first.startswith("private_mean (ldp): promises 1, spends 1,") and f"{row.lower_bound:.6g}" in first
    assert mutants == [
        "private_mean_noise_shared (private_mean): caught by device audit in fit; device audit in sweep",
        "krr_label_not_split (krr): caught by accountant in fit; accountant in sweep",
        "krr_features_share_noise (krr): caught by device audit in fit; device audit in sweep",
    ]
    assert second.startswith("krr ") and not any(tmp_path.iterdir())


def test_an_unknown_method_is_refused_by_name(capsys):
    assert main(["audit", "--method", "private_maen"]) == 2
    assert "private_mean" in capsys.readouterr().err


def test_a_missed_mechanism_fails_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(table, "subjects", lambda: [("bad", "halved_noise")])
    assert main(["audit", "--results", str(tmp_path), "--samples", "100", "--workers", "1"]) == 1
    assert "halved_noise: a known-bad mechanism was not caught" in capsys.readouterr().out


def test_everything_is_a_subject():
    named = table.subjects()
    assert {name for kind, name in named if kind == "method"} == set(audited_methods())
    assert {name for kind, name in named if kind == "bad"} == KNOWN_BAD.keys()
    assert {name for kind, name in named if kind == "good"} == KNOWN_GOOD.keys()


def test_a_missed_known_bad_method_fails_the_audit_of_its_method(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(table, "subjects", lambda: [("method", "krr")])
    monkeypatch.setattr(method_checks, "caught_by", lambda name: [])
    assert main(["audit", "--results", str(tmp_path), "--samples", "2000", "--workers", "1"]) == 1
    assert "krr: the known-bad method krr_label_not_split was not caught" in capsys.readouterr().out
    text = (tmp_path / "reproduced" / "audit_mutants.csv").read_text()
    assert text == "method,mutant,caught_by\nkrr,krr_label_not_split,\nkrr,krr_features_share_noise,\n"
