"""The black-box audit of anybody's code: what it proves, what it reads, and how it refuses.

Bounds of this file fail with probability 1e-7 each, a few dozen in all.
"""

import math
import time

import numpy as np
import pytest
from scipy.stats import binom

from lpbench.audit.black_box import CallableSource, CommandSource, PrivacyClaim, audit, parse_values
from lpbench.audit.black_box.claims import epsilon_from_counts
from lpbench.audit.black_box.decide import joint_bound
from lpbench.audit.black_box.files import FileSource
from lpbench.audit.black_box.reports import to_columns
from lpbench.audit.black_box.sources import FixedSource
from lpbench.cli.main import main
from lpbench.errors import ConfigurationError, DataError

FAILURE = 1e-7


def noisy(scale):
    return lambda values, rng: values + rng.laplace(scale=scale, size=len(values))


def held(function, claim, values=(0, 1), samples=16_000, seed=0):
    source = CallableSource(function, list(values), seed, name="f")
    source.vectorized = getattr(function, "vectorized", source.vectorized)
    return audit(source, claim, samples, FAILURE)


def flip(value, rng):
    return value if rng.random() < 0.9 else 1 - value


KINDS = {
    "number": lambda bit, noise: bit + 0.1 * noise,
    "vector": lambda bit, noise: [noise, float(bit)],
    "bytes": lambda bit, noise: bytes([7, bit]),
    "bytes of any length": lambda bit, noise: b"x" * (1 + bit),
    "category": lambda bit, noise: "yes" if bit else "no",
    "None": lambda bit, noise: "yes" if bit else None,
    "dict": lambda bit, noise: {"noise": noise, "answer": "yes" if bit else "no"},
    "vector of categories": lambda bit, noise: ["x", "yes" if bit else "no"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_report_tells_a_flipped_bit(kind):
    """Loss log 9 = 2.197."""
    verdict = held(lambda value, rng: KINDS[kind](int(flip(value, rng)), rng.random()), PrivacyClaim(3.0), samples=4000)
    assert 1.5 < verdict.bound <= math.log(9) and not verdict.violated


@pytest.mark.parametrize("function", [noisy(0.5), lambda values, rng: {"a": noisy(0.5)(values, rng)}])
def test_a_broken_claim_is_refuted_early_and_an_honest_one_is_not(function):
    refuted = held(function, PrivacyClaim(1.0))
    assert refuted.violated and refuted.samples < 16_000 and 1.0 < refuted.bound <= 2.0
    honest = held(function, PrivacyClaim(2.0))
    assert not honest.violated and honest.samples == 16_000 and honest.confidence == 1 - FAILURE


def test_a_renyi_bound_is_below_the_divergence():
    """Of two Laplace laws one scale apart at order 2: log(2/3 e + 1/3 e^-2) = 0.6191 (Mironov 2017, table II)."""
    divergence = math.log(2 / 3 * math.e + math.exp(-2) / 3)
    verdict = held(noisy(1.0), PrivacyClaim(divergence, order=2.0))
    assert 0.3 < verdict.bound <= divergence
    assert held(noisy(1.0), PrivacyClaim(0.2, order=2.0)).violated


def test_delta_is_allowed_for():
    """With probability 0.1 the value is sent in the clear."""

    def leaky(values, rng):
        return np.where(rng.random(len(values)) < 0.1, values, 0.5)

    assert held(leaky, PrivacyClaim(1.0)).violated
    assert not held(leaky, PrivacyClaim(1.0, delta=0.1)).violated
    assert held(leaky, PrivacyClaim(1.0, delta=0.05)).violated


def test_a_renyi_bound_of_an_event_is_that_of_two_bernoulli_laws():
    """Without uncertainty the bound is the divergence itself."""
    n = 10**9
    wanted = math.log(0.6**2 / 0.2 + 0.4**2 / 0.8)
    assert PrivacyClaim(1.0, order=2.0).proven(6 * n // 10, 2 * n // 10, n, 0.1) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_a_bound_from_both_probabilities_fails_as_rarely_as_stated(delta):
    """True loss 1 at every delta, failure probability 0.1."""
    q, rng = 0.2, np.random.default_rng(0)
    laws = [math.e * q + delta, q]
    wrong = 0
    for _ in range(300):
        pilot, hits = (tuple(map(int, rng.binomial(200, laws))) for _ in range(2))
        wrong += joint_bound((*hits, 200), (*pilot, 200), delta, 0.1) > 1.0
    assert binom.sf(wrong - 1, 300, 0.1) > 1e-6


def test_a_bound_from_both_probabilities_is_sharper_where_neither_is_certain():
    apart = float(epsilon_from_counts(55, 10, 10_000, 0.0, 5e-4))
    assert apart + 0.2 < joint_bound((55, 10, 10_000), (55, 10, 10_000), 0.0, 5e-4) < math.log(5.5)
    assert joint_bound((50, 50, 100), (50, 50, 100), 0.0, 0.1) == 0
    assert 4.0 < joint_bound((1000, 0, 1000), (1000, 0, 1000), 0.0, 1e-3) < math.log(1000)


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_many_honest_mechanisms_are_not_accused(count):
    """Random tables of probabilities, each held to its exact loss with confidence 99.9 %, as the command does."""
    rng = np.random.default_rng(0)
    for number in range(count):
        table = rng.dirichlet(np.full(rng.integers(2, 6), 2.0), size=2) + 0.02
        table /= table.sum(axis=1, keepdims=True)
        reports = [{"report": rng.choice(table.shape[1], 2000, p=law)} for law in table]
        claim = PrivacyClaim(float(np.abs(np.log(table[0] / table[1])).max()))
        assert not audit(FixedSource(str(number), [0, 1], reports), claim, 2000).violated


def test_the_worst_pair_is_searched():
    values = parse_values(["uniform:0,1"])
    assert values[:3] == [0, 1, 0.5] and len(values) == 8
    verdict = held(noisy(0.5), PrivacyClaim(1.0), values)
    assert verdict.violated and abs(verdict.values[0] - verdict.values[1]) > 0.9


def test_the_rule_names_the_event():
    verdict = held(lambda value, rng: {"a": rng.random(), "b": "yes" if flip(value, rng) else "no"}, PrivacyClaim(1.0))
    assert verdict.rule.startswith("report.b = ") and "VIOLATED" in str(verdict) and "% against" in str(verdict)


def test_an_audit_can_be_repeated():
    first, second = held(flip, PrivacyClaim(3.0), samples=2000), held(flip, PrivacyClaim(3.0), samples=2000)
    assert str(first) == str(second)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda value, rng: 1 / 0, "ZeroDivisionError"),
        (lambda value, rng: float("nan"), "NaN"),
        (lambda value, rng: [0] * (1 + rng.integers(2)), "different lengths"),
        (lambda value, rng: "x" if rng.random() < 0.5 else 1.0, "several kinds"),
        (lambda value, rng: object(), "it must be a number"),
        (lambda value, rng: [], "empty reports"),
        (lambda values, rng: values[1:], "one each"),
        (lambda values, rng: 3.0, "float"),
        (lambda value, rng: [0.0] * (1 + value), "differ in shape"),
    ],
)
def test_bad_functions_are_answered_in_a_sentence(function, said):
    with pytest.raises(DataError, match=said) as caught:
        held(function, PrivacyClaim(1.0), samples=1000)
    assert "\n" not in str(caught.value)


def test_a_function_that_does_not_end_is_interrupted():
    source = CallableSource(lambda value, rng: time.sleep(600), [0, 1], seconds=0.2, name="sleeper")
    with pytest.raises(DataError, match=r"sleeper did not finish within 0.2 s .*--samples"):
        audit(source, PrivacyClaim(1.0), 1000)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_of_reports(tmp_path, ending):
    import pandas as pd

    rng = np.random.default_rng(0)
    value = rng.integers(2, size=8000)
    table = pd.DataFrame(
        {"value": value, "x": rng.random(8000), "y": np.where(rng.random(8000) < 0.9, value, 1 - value)}
    )
    path = tmp_path / f"reports.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    assert audit(FileSource(path), PrivacyClaim(1.0), failure=FAILURE).violated
    assert not audit(FileSource(path), PrivacyClaim(math.log(9)), failure=FAILURE).violated


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("report\n1\n", "a column `value`"),
        ("value,report\n0,1\n", "1 distinct values"),
        ("value,report\n0,1\n1,\n", "row 2 has an empty entry"),
        ("value,report\n" + "0,1\n1,2\n" * 20, "too few"),
    ],
)
def test_bad_tables_are_answered_in_a_sentence(tmp_path, text, said):
    path = tmp_path / "reports.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        audit(FileSource(path), PrivacyClaim(1.0))


@pytest.mark.parametrize(
    ("report", "bound"),
    [("$1", 2.0), ('"word" $1', 2.0), ('rand() "," $1', 2.0), ('"{\\"a\\": " $1 "}"', 2.0), ("7", 0.0)],
)
def test_commands_write_numbers_words_vectors_and_json(report, bound):
    source = CommandSource(f"awk '{{ print {report} }}'", [0, 1], 1000)
    assert audit(source, PrivacyClaim(1.0), failure=FAILURE).bound >= bound


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("awk 'NR > 1'", "wrote 1999 lines for 2000 values"),
        ('awk \'BEGIN { print "no such file" > "/dev/stderr"; exit 3 }\'', "exit code 3: no such file"),
        ("awk '{ print \"nan\" }'", "NaN"),
        ("sleep 600", "did not finish within 0.5 s"),
        ("no_such_program_at_all", "cannot be run"),
    ],
)
def test_bad_commands_are_answered_in_a_sentence(command, said):
    with pytest.raises((ConfigurationError, DataError), match=said):
        CommandSource(command, [0, 1], 1000, seconds=0.5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere:report"], "cannot be imported"),
        (["math:nothing"], "has no 'nothing'"),
        (["math:pi"], "not callable"),
        (["math"], "module:function"),
        (["nothing.csv"], "cannot be read"),
    ],
)
def test_bad_subjects_are_refused_by_the_command(words, said, capsys):
    values = [] if words[0].endswith("csv") else ["--values", "0", "1"]
    assert main(["audit", "code", *words, "--epsilon", "1", *values]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and error.startswith("error: ")


def test_the_command_audits_several_functions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_reports.py").write_text(
        "def one(values, rng):\n    return values + rng.laplace(size=len(values))\n\n\n"
        "def two(value):\n    return value\n"
    )
    common = ["--epsilon", "1", "--values", "0", "1", "--samples", "4000"]
    assert main(["audit", "code", "own_reports:one", *common]) == 0
    assert main(["audit", "code", "own_reports:one", "own_reports.py:two", *common]) == 1
    said = capsys.readouterr().out
    assert said.count("own_reports:one: no violation found") == 2 and "own_reports.py:two: VIOLATED" in said
    assert "confidence 99.95 %" in said


def test_columns_of_reports():
    assert list(to_columns(np.zeros((3, 2)))) == ["report[0]", "report[1]"]
    assert list(to_columns([{"a": 1, "b": [1, 2]}])) == ["report.a", "report.b[0]", "report.b[1]"]
    assert list(to_columns([b"ab", b"c"])) == ["byte 0 of report", "byte 1 of report", "length of report"]


def _negative_zero(value, rng):
    return -0.0 if value else 0.0


def _type_of_number(value, rng):
    return 1.0 if value else 1


def _of_either_type(value, rng):
    """Return the bit of randomized response, as a whole number or not whatever the value is."""
    bit = value if rng.random() < 0.73 else 1 - value
    return bit if rng.random() < 0.5 else float(bit)


def test_a_sign_of_zero_and_a_type_that_tell_the_value_are_seen():
    assert audit(CallableSource(_negative_zero, [0, 1]), PrivacyClaim(1.0), samples=4000).violated
    with pytest.raises(DataError, match=r"differ in shape or type .*whole numbers"):
        audit(CallableSource(_type_of_number, [0, 1]), PrivacyClaim(1.0), samples=4000)
    assert not audit(CallableSource(_of_either_type, [0, 1]), PrivacyClaim(1.0), samples=4000).violated
