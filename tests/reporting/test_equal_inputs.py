"""Losses that stand beside each other have equal inputs: what users add, use.html, README, Home."""

import html
import re

import pandas as pd
import pytest

from lpbench.analysis.gains import NOBODY, SAMPLE, UNKNOWN, beside
from lpbench.experiments import catalog
from lpbench.members import CONSTANTS, PUBLIC_ONLY
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.pages.advice import ASKED, SHOWN, as_error, worked
from lpbench.reporting.pages.findings import sent
from lpbench.reporting.printed_names import method_title
from lpbench.reporting.render import _environment
from lpbench.reporting.standings import GAINS, read_standings
from scripts.write_readme_numbers import in_brief

PLACE = ["experiment", "mask", "method", "epsilon"]


@pytest.fixture(scope="module")
def inputs():
    """(experiment, mask, method, budget) -> the inputs of its rows of the committed standings."""
    table = read_standings(COMMITTED)
    return table[table["inputs"] != ""].groupby(PLACE)["inputs"].agg(set).to_dict()


@pytest.fixture(scope="module")
def added():
    """Committed table of what users add, or of the gain over the constant."""
    return pd.read_csv(COMMITTED / GAINS)


def test_a_gain_is_beside_the_reference_of_its_inputs_which_its_scores_have(inputs, added):
    for row in added.itertuples():
        assert row.inputs in inputs[row.experiment, row.mask, row.method, row.epsilon], row
        assert row.beside == beside(row.inputs) and not row.inputs.startswith((UNKNOWN, NOBODY)), row


def test_both_methods_of_an_answer_have_the_inputs_that_were_asked_for(inputs):
    text = (COMMITTED / "use.html").read_text(encoding="utf-8")
    references, titles = {*PUBLIC_ONLY, *CONSTANTS}, catalog.methods()
    answers = [row for row in text.split("<tr>") if row.count("<td>") > len(ASKED)]
    assert len(answers) >= 40
    for row in answers:
        said = [html.unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall("<td>(.*?)</td>", row)]
        task, asked, features, sample, epsilon, first, second = said[:7]
        wanted = asked + f", {SHOWN}" * (features == "some") + f", {SAMPLE}" * (sample == "yes")
        alike = {m for (_, _, m, e), of in inputs.items() if e == float(epsilon) and wanted in of}
        named = {method_title(m, titles) for m in alike} | {catalog.method(m).title for m in references}
        assert {*first.removeprefix("ask nobody, and use the best of ").split(", ")} <= named or first in named, (
            wanted,
            first,
        )
        assert second.removesuffix(" (not significantly different from the first)") in {*named, "–"}, (wanted, second)
        (method,) = re.findall(r"method=(\S+)", said[-1])
        assert method.strip("'") in alike or {*method.split(",")} <= references, (task, wanted, method)


def test_a_number_of_the_readme_is_of_one_method_at_one_kind_of_inputs(added):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = "\n".join(re.findall(r"\| Do private users improve on public data \(\w+\)\? \| (.*)", text))
    found = re.findall(r"(?:^|\. )([^|:(]*): ([^|:(]*) \((\w+), (\d+) held-out sets", lines, flags=re.M)
    assert len(found) == 3
    held = added[(added["role"] == "held out") & (added["beside"] == "public")]
    held = held.assign(title=[method_title(m, catalog.methods()) for m in held["method"]])
    for asked, said, title, sets in found:
        of = held[held["title"] == title].groupby(["experiment", "mask", "inputs"])
        words = [(sent(inputs).capitalize(), in_brief(part), part["sets"].max()) for (_, _, inputs), part in of]
        assert (asked, said, int(sets)) in words, (title, words)


def test_no_table_or_figure_of_ranks_puts_methods_of_several_inputs_beside_each_other():
    text = (COMMITTED / "leaderboard.html").read_text(encoding="utf-8")
    for experiment in ("regression", "classification", "public_sample", "sealed_regression", "sealed_classification"):
        again = f"<code>lpbench reproduce comparison/{experiment}</code> runs this experiment again"
        (section,) = [part for part in text.split("<section") if again in part]
        assert "<table" not in section and "<img" not in section, experiment


def cells(*answers):
    """Cells of the example's table on pages."""
    macros = _environment().get_template("macros.html.j2").module
    return re.findall(r"<t[dh](?: scope=.row.)?>(.*?)</t[dh]>", macros.worked(worked(answers)))


def test_the_worked_example_has_each_answer_at_its_inputs():
    asked = {"task": "regression", "asked": "label", "features": "some", "sample": "yes", "epsilon": "2"}
    answer = asked | {
        "method": "ask nobody, and use the best of A",
        "instead": "public",
        "second": "B",
        "change": as_error({"gain": 0.01, "low": -0.02, "high": 0.04, "sets": 5}),
    }
    others = [answer | {"epsilon": "1"}, answer | {"features": "all"}]
    advised = "<strong>ask nobody, and use the best of A</strong>; the best private method, B: 1 % less error [-2, 4]"
    assert cells(answer, *others) == [
        "Regression, public sample<br><small>public data alone</small>",
        advised,
        "not measured",
    ]
    chosen = answer | {"method": "A", "instead": ""}
    assert cells(chosen)[1] == "<strong>A</strong>: 1 % less error [-2, 4]"
    assert cells(chosen | {"asked": "label and features"})[1:] == [
        "not measured",
        "<strong>A</strong>: 1 % less error [-2, 4]",
    ]
    constant = cells(answer | {"method": "PrivateConstant", "instead": "constant", "sample": "no"})
    assert constant[:2] == [
        "Regression, no public sample<br><small>a private constant</small>",
        "<strong>PrivateConstant</strong>; the best private method, B: 1 % less error [-2, 4]",
    ], "the number is of the method that was not advised"


def test_a_negative_gain_is_more_error():
    assert as_error({"gain": -0.18, "low": -0.36, "high": -0.02, "sets": 11}) == "18 % more error [2, 36]"
    assert as_error({"gain": 0.0, "low": -0.1, "high": 0.1, "sets": 11}) == "0 % less error [-10, 10]"
