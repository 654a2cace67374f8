import sys

import pytest

from lpbench.cli.main import main

LEAKY = '''
from dataclasses import dataclass

from lpbench.estimators.label_dp.mean import CubeMean


@dataclass(eq=False, repr=False)
class Leaky(CubeMean):
    """Claims label LDP and averages the labels themselves."""

    epsilon: float = 1.0
    bins: int | None = 16
    uses_epsilon = True
    protects = "label"

    def _noise_per_cube(self, n):
        return 0.0
'''
SPENDER = '''
from dataclasses import dataclass, field

from tests.papers.overspender import OverspendingRegressor


@dataclass(eq=False, repr=False)
class Spender(OverspendingRegressor):
    """Claims epsilon and runs randomized response at 1.3 epsilon."""

    k: float = field(default=1.3, kw_only=True)
'''
FAST = ["--n", "512", "--n", "1024", "--n", "2048", "--replications", "4", "--workers", "1"]


def own(name, source, tmp_path, monkeypatch):
    """Name of a class in a module of its own, as `lpbench rates` takes it."""
    (tmp_path / f"{name}_rates.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, f"{name}_rates", __import__(f"{name}_rates"))
    return f"{name}_rates:{name.title()}"


def test_a_method_that_sees_the_labels_falls_through(tmp_path, monkeypatch, capsys):
    method = own("leaky", LEAKY, tmp_path, monkeypatch)
    assert main(["rates", method, "--results", str(tmp_path / "results"), *FAST]) == 1
    assert "LEAK: leaky lies below what ε = 1 allows (Z-L3)" in capsys.readouterr().out


@pytest.mark.slow
def test_a_hidden_budget_is_named_on_both_bounds(tmp_path, monkeypatch, capsys):
    method = own("spender", SPENDER, tmp_path, monkeypatch)
    assert main(["rates", method, "--epsilon", "1", "--results", str(tmp_path / "results"), *FAST]) == 1
    said = "LEAK: spender lies below what ε = 1 allows (Z-L3) and ε = 0.25 allows (H-L1)"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("method", ["label_ldp_knn", "label_cdp_vote", "cube_vote"])
def test_an_honest_method_stays_above(method, tmp_path, capsys):
    assert main(["rates", method, "--results", str(tmp_path), *FAST]) == 0
    out = capsys.readouterr().out
    assert "exponent: " in out and "times the least possible" in out and "LEAK" not in out


def test_a_method_that_needs_a_public_sample_is_held_against_the_bounds(tmp_path, capsys):
    assert main(["rates", "ct_q", "--results", str(tmp_path), *FAST]) == 0
    out = capsys.readouterr().out
    assert "exponent: not fitted: ct_q: " in out
    assert "Z-L1: " in out and "L-L1: " in out and "LEAK" not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["krrr"], "did you mean krr?"),
        (["krr", "--mask", "aligned[n_protected=9]", *FAST], "krr: ConfigurationError: n_protected=9 must be"),
        (["label_ldp_knn", "--family", "sine_sum"], "choose "),
        (["label_ldp_knn", "--family", "rough_classes"], "rough_regression"),
        (["label_ldp_knn", "--n", "100", "--n", "100"], "a slope needs 3 different sizes"),
        (["label_ldp_knn", "--replications", "1"], "2 or more"),
    ],
)
def test_mistakes_are_answered(words, said, tmp_path, capsys):
    assert main(["rates", *words, "--results", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
