"""The table of numbers from fake scores: configurations, causes, what was tried, and the pages that filter it."""

import dataclasses
import json
import re

import numpy as np
import pytest

from lpbench.analysis.alternatives import CANNOT_TELL, DIFFERENT, EQUIVALENT, NOT_COMPARABLE
from lpbench.analysis.numbers import (
    AFTER_THE_FACT,
    CONTRADICTION,
    NOT_ALONE,
    by_configuration,
    counts,
    judged_numbers,
)
from lpbench.experiments.results import RECORD, Results
from lpbench.papers.histoftree import PAPER
from lpbench.paths import COMMITTED
from lpbench.reporting.figures.numbers import draw_numbers
from lpbench.reporting.interpretations import Bound, Interpretations, Step
from lpbench.reporting.number_table import printed_numbers, read_numbers, write_numbers
from lpbench.reporting.pages import causes as page
from lpbench.reporting.paper import Differences
from lpbench.reporting.published import published_cells
from tests.analysis.test_numbers import CLASSES, ROWS
from tests.reporting.fake import CARDS, bare, experiment, scores_of
from tests.reporting.store import put

NAME, TRIED = "histoftree/table1", "histoftree/causes"
PRINTED = published_cells(NAME).set_index(["dataset", "mask", "method"])["published"]
CANDIDATES = Interpretations(
    "KRR", (NAME,), "krr",
    (
        Step("equal parts", "krr[variant=text]", "text"),
        Step("halves", "krr[variant=inferred]", "inferred"),
        Step("the whole budget", "krr[variant=per_attribute]", "refuted", TRIED, "per_attribute"),
    ),
    "aligned",
)  # fmt: skip


def score(key):
    """The printed ratio with the tree at 2: the text twice as bad, the inferred variant met, the tried one half."""
    if bare(key["method"]) == "dt":
        return 2.0
    printed = PRINTED.get((bare(key["dataset"]), bare(key["mask"]), bare(key["method"])), 1.0)
    factor = 1.0 if "inferred" in key["method"] else 0.5 if "per_attribute" in key["method"] else 2.0
    return 2.0 * printed * factor * (1.01 if key["point"]["depth"] == 2 else 1.0)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for name, replications in ((NAME, 6), (TRIED, 4)):
        body = experiment(name)
        put(folder, body, scores_of(body, score, replications=replications, noise=0.0))
        (folder / name / RECORD).write_text(json.dumps({"config": {"experiment": body}}), encoding="utf-8")
    return folder


def table(results, folder, *candidates, bounds=()):
    paper = dataclasses.replace(PAPER, differences=Differences((), candidates, bounds))
    write_numbers([paper], Results(results), folder)
    return read_numbers(folder)


def test_every_number_has_a_row_a_configuration_and_one_that_judges(results, tmp_path):
    rows = table(results, tmp_path, CANDIDATES)
    assert rows.groupby("configuration").size().to_dict() == {"text": 120, "inferred": 120, "tried": 8}
    assert (rows[rows["judges"]]["configuration"] == "text").all() and rows["judges"].sum() == 120
    text, inferred = by_configuration(rows)
    # histoftree and krr in both halves, adhistoftree in one
    assert (text["equivalent"], inferred["equivalent"], text["judges"]) == (0, 10 * (3 + 5), True)
    # what was run in no other than the text is the same there
    krr = rows[(rows["method"] == "krr") & (rows["mask"] == "aligned") & (rows["dataset"] == "abalone")]
    assert krr.set_index("configuration")["cell"]["text"].startswith("abalone|krr[variant=text]|aligned")


def test_a_miss_is_met_by_the_best_supported_interpretation_or_by_none(results, tmp_path):
    never = Bound("x", "cannot be", lambda results: "", ({"dataset": "building", "method": "hist"},), CONTRADICTION)
    rows = judged_numbers(table(results, tmp_path, CANDIDATES, bounds=(never,)))
    standing = rows.groupby(["method", "mask", "dataset"])["cause"].first()
    assert standing["krr", "aligned", "abalone"] == "met by inferred"
    assert standing["krr", "personalized", "abalone"] == "none"
    assert standing["hist", "aligned", "building"] == CONTRADICTION
    assert (rows["class"][rows["class"] != "not comparable"] == DIFFERENT).all() and counts(rows)["explained"] == 10


def test_what_was_found_stands_apart_with_a_configuration_and_its_chance(results, tmp_path):
    found = dataclasses.replace(CANDIDATES.steps[1], support=AFTER_THE_FACT)
    rows = table(results, tmp_path, dataclasses.replace(CANDIDATES, steps=(CANDIDATES.steps[0], found)))
    judged = judged_numbers(rows)
    assert counts(judged)["after"] == 10
    # every number of the column is off by the same factor: the wrong data set is as good
    assert counts(judged)["chance"] == 10
    by = {n["configuration"]: n["equivalent"] for n in by_configuration(rows)}
    assert by[AFTER_THE_FACT] == by["inferred"] == 80


def test_hist_is_explained_under_both_masks_by_what_was_run_under_one(results, tmp_path):
    hist = next(c for c in PAPER.differences.interpretations if c.method == "hist" and c.mask == "personalized")
    assert {step.mask for step in hist.steps[1:]} == {"aligned"}
    rows = table(results, tmp_path, dataclasses.replace(hist, artifacts=(NAME,)))
    assert len(rows[(rows["configuration"] == "tried") & (rows["mask"] == "personalized")])


def test_an_artifact_alone_says_which_of_its_numbers_are_met(results):
    rows = printed_numbers(Results(results).artifact(NAME))
    assert len(rows) == (rows["class"] != "").sum() == 120 and rows["equivalent"].sum() == 0
    assert {"dataset", "mask", "method", "epsilon", "published", "reproduced", "distance"} <= set(rows)


def test_pages_are_filters(results, tmp_path):
    rows = table(results, tmp_path, CANDIDATES)
    verdict, *why = page.said(rows[rows["artifact"] == NAME], "Table 1")
    assert verdict == "Table 1 does not hold here: 120 of 120 numbers are different from ours."
    assert "Another interpretation reproduces 10 of these numbers" in why[0] and "by more" not in why[0]
    assert "With inferred settings, 80 of 120 numbers are equivalent" in why[-1]
    [drawn] = draw_numbers(judged_numbers(rows).assign(line="Table 1"), tmp_path)
    text = drawn.read_text(encoding="utf-8")
    assert all(f">{words}<" in text for words in ("Table 1", f"0 {NOT_ALONE}", "120 different"))
    # a marker a number, and one a kind in the legend
    assert len(re.findall(r"<use ", text)) >= 120
    assert [line[2] for line in page.misses(rows, CARDS) if line[0] == "met by inferred"] == [10]


def test_interpretations_are_compared_on_the_numbers_that_all_have(results, tmp_path):
    shown = page.steps_of(CANDIDATES, table(results, tmp_path, CANDIDATES))
    assert [(step["cells"], step["within"]) for step in shown["steps"]] == [
        (8, "0 %"),
        (8, "100 %"),
        (8, "0 %"),
    ]
    np.testing.assert_allclose([float(step["median"].split()[0]) for step in shown["steps"]], [100, 0, -50], atol=0.1)


def test_an_impossible_number_is_not_the_largest_miss(results, tmp_path):
    never = Bound("x", "cannot be", lambda results: "", ({"method": "hist"}, {"method": "par_dt"}), CONTRADICTION)
    rows = table(results, tmp_path, bounds=(never,))
    rows.loc[rows["method"] == "hist", "ours"] *= 1e6
    assert "the largest by 100 %" in page.said(rows)[1]


@pytest.mark.parametrize(
    ("what", "classes", "words"),
    [
        ("Table 1", CLASSES[:9], "Table 1 does not hold here: 4 of 9 numbers are different from ours."),
        ("The printed numbers", CLASSES[:9], "The printed numbers do not hold here: 4 of 9 numbers are different"),
        (
            "Table 1",
            [EQUIVALENT, CANNOT_TELL],
            "Table 1 is undecided here: no number is shown to be different, but 1 of 2 is undecided",
        ),
        ("The numbers", [CANNOT_TELL], "The numbers are undecided here: "),
        ("Table 1", [EQUIVALENT, NOT_COMPARABLE], "Table 1 holds here: all numbers that can be compared are"),
        ("The numbers", [EQUIVALENT], "The numbers hold here: "),
    ],
)
def test_a_table_holds_or_does_not_in_one_sentence_of_its_counts(what, classes, words):
    n = counts(ROWS.iloc[[CLASSES.index(word) for word in classes]])
    assert page.why(n, what)[0].startswith(words)


def test_why_not_is_a_line_a_class_without_zeros():
    assert page.why(counts(judged_numbers(ROWS)), "Table 1", "the margin of 15 %", ", the largest by 20 %")[1:] == [
        "4 numbers are different, the largest by 20 %. Another interpretation reproduces 1 of these numbers. Settings "
        "found later by search reproduce 1 of these numbers. A cause is suspected for 1 of these numbers. No cause is "
        "known for 1 of these numbers.",
        "1 number is undecided: the interval of the difference between the printed number and ours crosses the margin "
        "of 15 %.",
        "1 number cannot be compared, because the paper contradicts itself or our data may not be the paper's.",
        "3 numbers are equivalent to ours. 2 of these numbers identify their method: all alternatives that we ran in "
        "their place are different. 1 number is equivalent, but not alone: a constant or another method may be "
        "equivalent, too.",
    ]
    assert page.why(counts(ROWS.iloc[[2]]), "Table 1")[1:] == [
        "1 number is equivalent to ours. None of these numbers identifies its method. 1 number is equivalent, but not "
        "alone: a constant or another method may be equivalent, too."
    ]


def test_suspected_causes_and_sets_that_cannot_be_compared_are_named():
    rows = ROWS.assign(dataset="abalone", reason=[f"reason {k}" for k in range(len(ROWS))])
    named = page.why(counts(judged_numbers(rows)), "Table 1", judged=judged_numbers(rows))
    suspected = judged_numbers(rows).query("cause == 'suspected'")
    assert [line for line in named if line.startswith("Suspected cause of 1 number: ")] == [
        f"Suspected cause of 1 number: {reason}." for reason in suspected["reason"]
    ]
    assert sum(line.startswith("1 number cannot be compared (Abalone 1), because") for line in named) == 1


def test_without_results_there_is_nothing_to_explain(tmp_path):
    numbers = read_numbers(tmp_path)
    assert page.causes_of(PAPER, numbers, Results(tmp_path)) is None and draw_numbers(numbers, tmp_path) == []


def test_the_judging_lines_are_all_numbers_and_no_sentence_counts_none():
    rows = read_numbers(COMMITTED)
    judging = [n["compared"] for n in by_configuration(rows) if n["judges"]]
    assert sum(judging) == len(judged_numbers(rows)) > 0
    assert [name for name, part in rows.groupby("artifact") if "0 of 0" in " ".join(page.said(part))] == []
