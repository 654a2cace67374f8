"""The table of alternatives: one spelling of the classes wherever they are counted, and they add up."""

import re

import pandas as pd
import pytest

from lpbench.analysis.alternatives import BUDGET, DIFFERENT, METHOD, NUMBER_CLASSES, OURS, identified, wrong_in_place
from lpbench.analysis.numbers import counts, in_words, judged_numbers
from lpbench.experiments.results import Results
from lpbench.papers.histoftree.alternatives import chosen_settings
from lpbench.paths import COMMITTED
from lpbench.reporting.alternative_table import read_alternatives
from lpbench.reporting.number_table import printed_numbers, read_numbers, with_margins
from lpbench.reporting.paper import papers
from lpbench.tracking import COUNTED_NUMBERS

PAPERS = [paper for paper in papers() if paper.alternatives]
SENTENCE = re.compile(
    r"([\d,]+) of ([\d,]+) printed numbers identify their method, and [\d,]+ of these identify the budget, too. "
    r"([\d,]+) more are equivalent, but not alone: a constant or another method may be equivalent, too. "
    r"([\d,]+) are different. ([\d,]+) are undecided. ([\d,]+) cannot be compared"
)


@pytest.fixture(scope="module")
def numbers():
    return read_numbers(COMMITTED)


@pytest.fixture(scope="module")
def beside(numbers):
    return with_margins(read_alternatives(COMMITTED), numbers)


@pytest.mark.parametrize("page", ["index.html", "report.md", *(f"{paper.name}.html" for paper in PAPERS)])
def test_classes_add_up_wherever_they_are_counted(numbers, page):
    judged = judged_numbers(numbers)
    of = {f"{paper.name}.html": judged[judged["paper"] == paper.name] for paper in PAPERS}.get(page, judged)
    text = (COMMITTED / page).read_text(encoding="utf-8")
    found = [[int(n.replace(",", "")) for n in match] for match in SENTENCE.findall(text)]
    assert found and in_words(of) in text
    for method, compared, *others in found:
        assert compared == len(of) == method + sum(others)
    assert "met (" not in text and "impossible in print" not in text


def test_home_has_a_row_a_paper_that_adds_up(numbers):
    text = (COMMITTED / "index.html").read_text(encoding="utf-8")
    rows = re.findall(r'scope="row">(?:<a[^>]*>)?([\w ]+)(?:</a>)?</th>((?:<td class="number">[^<]*</td>)+)', text)
    cells = {name: re.findall(r">([^<]+)</td>", row) for name, row in rows}
    total = [int(v.replace(",", "")) for v in cells["Total"][:7]]
    compared, method, _, alike, different, undecided, apart = total
    assert compared == method + alike + different + undecided + apart == len(judged_numbers(numbers))


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_artifacts_of_a_paper_have_disjoint_classes_that_add_up_to_home(numbers, paper):
    text = (COMMITTED / f"{paper.name}.html").read_text(encoding="utf-8")
    table = text[text.index('class="hero overview"') :]
    table = table[: table.index("</table>")]
    heads = re.findall(r'scope="col">([^<]*)</th>', table)[2:]
    assert heads == ["Numbers", "Identify their method", "Equivalent, but not alone", *heads[3:]]
    rows = [[int(n) for n in re.findall(r'class="number">(\d+)</td>', row)] for row in table.split("<tr>")[2:]]
    rows = [row for row in rows if row]
    assert all(compared == sum(parts) and len(parts) == len(heads) - 1 for compared, *parts in rows)
    n = counts(judged_numbers(numbers).query("paper == @paper.name"))
    keys = ("compared", "method", "alike", "different", "undecided", "apart")
    assert [sum(column) for column in zip(*rows, strict=True)] == [n[key] for key in keys]
    # nothing stands beside configurations that do not judge: of them the sum of both classes is said, and called so
    said = re.findall(r"\d equivalent[^.;<]*|\d numbers equivalent[^.;<]*", re.sub(r"<[^>]+>", "", text))
    assert said and [s for s in said if not re.search(r"equivalent, (but not alone|alone or not)", s)] == []


def test_mlflow_counts_the_same_classes(numbers):
    results, total = Results(COMMITTED), dict.fromkeys(COUNTED_NUMBERS, 0)
    for name in judged_numbers(numbers)["artifact"].unique():
        of = counts(judged_numbers(printed_numbers(results.artifact(name))))
        total = {key: total[key] + of[column] for key, column in COUNTED_NUMBERS.items()}
    disjoint = [total[key] for key in list(COUNTED_NUMBERS)[3:]]
    assert total["compared"] == sum(disjoint) == len(judged_numbers(numbers)) == 1395


def test_the_table_holds_our_run_and_each_class_is_what_is_computed(numbers, beside):
    judged = judged_numbers(numbers)
    own = beside[beside["alternative"] == OURS]
    assert set(read_alternatives(COMMITTED)["class"]) <= {*NUMBER_CLASSES} and own["number"].is_unique
    found = identified(beside)
    known = judged.assign(number=judged["artifact"] + "|" + judged["cell"]).set_index("number").loc[found.index]
    assert (found["class"] == known["class"]).all()
    assert found["identifies"].tolist() == known["identifies"].replace("nothing", "").tolist()


def test_what_identifies_is_different_from_all_that_count(beside):
    found = identified(beside)
    for level, counted in ((METHOD, [METHOD]), (BUDGET, [METHOD, BUDGET])):
        named = found.index[found["identifies"] == level]
        against = beside[beside["number"].isin(named) & beside["counted"].isin(counted)]
        assert len(named) and (against["class"] == DIFFERENT).all() and {*against["number"]} == {*named}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_a_wrong_implementation_identifies_less_than_ours(beside, paper):
    """At most a third of what ours identifies in the paper: the wrong one takes our place, and ours takes its place."""
    mine = beside[beside["paper"] == paper.name]
    ours = int((identified(mine)["identifies"] != "").sum())
    wrong = list(dict.fromkeys(one.name for one in paper.alternatives if one.wrong))
    rows = wrong_in_place(mine, wrong)
    assert [row[0] for row in rows] == wrong
    assert ours and [row for row in rows if 3 * row[3] > ours] == []


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_same_counts_follow_where_the_names_are_exchanged(beside, paper):
    """The rule's letter: the mutant off the list, the right implementation on it, by exchanging rows of the table."""
    mine = beside[beside["paper"] == paper.name]
    for name in dict.fromkeys(one.name for one in paper.alternatives if one.wrong):
        of = mine[mine["number"].isin(mine.loc[(mine["alternative"] == name) & mine["value"].notna(), "number"])]
        swapped = of.assign(alternative=of["alternative"].replace({OURS: name, name: OURS}))
        swapped["counted"] = swapped["counted"].mask(swapped["alternative"] == OURS, "")
        swapped.loc[swapped["alternative"] == name, "counted"] = METHOD
        assert (identified(swapped)["identifies"] != "").sum() == wrong_in_place(mine, [name])[0][3]


def test_no_interpretation_explains_what_the_constant_explains(numbers, beside):
    judged = judged_numbers(numbers)
    judged = judged.assign(number=judged["artifact"] + "|" + judged["cell"])
    constant = beside[beside["alternative"].isin(["PrivateMean", "PrivateMajority"])]
    near = constant[(constant["value"] - constant["published"]).abs() <= constant["margin"] - 1e-6]
    explained = judged[judged["cause"].str.startswith("met by") | (judged["cause"] == "after_the_fact")]
    assert len(explained) and not set(explained["number"]) & set(near["number"])
    assert set(explained["class"]) == {DIFFERENT}


def test_the_best_grid_point_has_one_bin():
    shown = chosen_settings(Results(COMMITTED))
    assert shown.finding.startswith("The best grid point has one bin in 120 of 120 HistOfTree table cells")
    text = (COMMITTED / "histoftree.html").read_text(encoding="utf-8")
    assert 'id="chosen"' in text and 'id="tell"' in text


def test_mutants_are_on_no_rank_and_no_page():
    table = pd.read_csv(COMMITTED / "standings.csv.gz")
    assert not table["experiment"].str.startswith("mutants/").any()
    assert "mutant=" not in (COMMITTED / "leaderboard.js").read_text(encoding="utf-8")
