"""Distances of readings and totals, from fake scores."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lpbench.errors import NotRunError
from lpbench.experiments.results import RECORD, Results
from lpbench.papers.histoftree import PAPER
from lpbench.reporting.causes import (
    COLUMNS,
    best_interpretations,
    bounds,
    distances,
    interpretations_tried,
    totals,
    write_causes,
    write_cells,
)
from lpbench.reporting.interpretations import SUPPORT, Bound, Interpretations, Step
from lpbench.reporting.pages import causes as pages_causes
from lpbench.reporting.published import published_cells
from lpbench.reporting.render import render
from tests.reporting.fake import CARDS, bare, experiment, scores_of
from tests.reporting.store import put

NAME, TRIED = "histoftree/table1", "histoftree/causes"
PRINTED = published_cells(NAME).set_index(["dataset", "mask", "method"])["published"]
CANDIDATES = Interpretations(
    "KRR", (NAME,), "krr", 0.15,
    (
        Step("equal parts", "krr[variant=text]", "silent"),
        Step("halves", "krr[variant=inferred]", "inferred"),
        Step("the whole budget", "krr[variant=per_attribute]", "tried", TRIED, "per_attribute"),
    ),
    "aligned", relative=True,
)  # fmt: skip


def score(key):
    """The printed ratio with the tree at 2: default twice as bad, the inferred variant met, the tried one half."""
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


def test_steps_are_compared_on_the_same_cells_and_replications(results):
    table = distances(CANDIDATES, Results(results))
    # music and building were not run for the third step; the table has epsilon = 2
    assert table["cells"].tolist() == [8, 8, 8] and table["replications"].tolist() == [4, 4, 4]
    assert table["within"].tolist() == [0, 1, 0]
    np.testing.assert_allclose(table["median"], [1.0, 0.0, -0.5], atol=1e-9)


def test_a_budget_that_was_divided_is_compared_with_the_whole(results):
    halved = Step("half of the budget", "par_dt[variant=text]", "tried", TRIED, "half_budget", budget=2.0)
    candidates = Interpretations(
        "ParDT",
        (NAME,),
        "par_dt",
        0.15,
        (Step("all", "par_dt[variant=text]", "silent"), halved),
        "aligned",
        relative=True,
    )
    assert distances(candidates, Results(results))["cells"].tolist() == [8, 8]


def test_what_was_not_run_is_left_out(results, tmp_path):
    missing = dataclasses.replace(CANDIDATES, steps=(CANDIDATES.steps[0], Step("none", "krr[bins=9]", "tried")))
    with pytest.raises(NotRunError, match="bins=9"):
        distances(missing, Results(results))
    never = Bound("x", "y", lambda results: results.artefact("extensions/floor").rows().to_string())
    paper = dataclasses.replace(PAPER, interpretations=(CANDIDATES, missing), bounds=(never,))
    table = write_causes([paper], Results(results), tmp_path)
    assert list(table.columns) == COLUMNS and len(table) == 3
    assert pd.read_csv(tmp_path / "causes.csv")["what"].tolist() == ["KRR"] * 3
    assert bounds([paper], results) == [] and interpretations_tried([paper]) == {"histoftree": 3}
    assert set(table["support"]) <= set(SUPPORT)


def test_totals_count_each_published_number_once(results):
    paper = dataclasses.replace(PAPER, totals=(dataclasses.replace(PAPER.totals[0], artefacts=(NAME,)),))
    default, inferred = totals([paper], results)
    assert default["cells"] == inferred["cells"] == 120
    assert default["met"] == 0
    # histoftree and krr in both halves, adhistoftree in one
    assert inferred["met"] == 10 * (3 + 5)
    outside = {part["method"]: part for part in inferred["outside"]}
    assert {m: (p["outside"], p["compared"]) for m, p in outside.items() if p["outside"]} == {
        "hist": (20, 20), "par_dt": (20, 20)
    }  # fmt: skip
    assert sum(part["compared"] for part in inferred["outside"]) == 120
    assert outside["hist"]["place"] == "data" and ("red_wine", 2) in outside["hist"]["where"]
    assert sum(part["outside"] for part in default["outside"]) == 120


def test_a_configuration_borrows_no_number_from_another(results):
    """KRR has a variant mostly_label, in which it was not run."""
    total = dataclasses.replace(PAPER.totals[0], artefacts=(NAME,), configurations={"one": ("mostly_label",)})
    (one,) = totals([dataclasses.replace(PAPER, totals=(total,))], results)
    assert (one["cells"], one["compared"]) == (120, 100)


def test_what_was_found_after_the_fact_is_counted_beside_the_last_configuration(results):
    """Of the aligned cells of KRR eight were run in every step; those of Building are ruled out."""
    total = dataclasses.replace(PAPER.totals[0], artefacts=(NAME,), configurations={"default": ()})
    steps = (CANDIDATES.steps[0], dataclasses.replace(CANDIDATES.steps[1], support="found"), *CANDIDATES.steps[2:])
    paper = dataclasses.replace(
        PAPER, totals=(total,), interpretations=(dataclasses.replace(CANDIDATES, steps=steps),), bounds=PAPER.bounds[:1]
    )
    default, found = totals([paper], results)
    assert (default["met"], found["met"]) == (0, 8) and found["configuration"].startswith(
        "default, with what was found"
    )
    assert default["excluded"] == found["excluded"] == 12


def test_each_number_outside_has_the_best_supported_cause_or_none(results, tmp_path):
    """Hist meets nothing; ParDT would be met at half of its error, which a reading that was found gives."""
    total = dataclasses.replace(PAPER.totals[0], artefacts=(NAME,), configurations={"default": ()})
    never = Bound("x", "cannot be", lambda results: "", ({"data": "building", "base": "hist"},))
    found = dataclasses.replace(
        CANDIDATES, steps=(*CANDIDATES.steps[:1], dataclasses.replace(CANDIDATES.steps[1], support="found"))
    )
    paper = dataclasses.replace(PAPER, totals=(total,), interpretations=(found,), bounds=(never,))
    table = write_cells([paper], Results(results), tmp_path)
    assert len(table) == len(pd.read_csv(tmp_path / "causes_cells.csv")) == 120
    table = table.assign(method=table["method"].map(bare), mask=table["mask"].map(bare))
    causes = table.groupby(["method", "mask", "dataset"])["cause"].first()
    assert causes["hist", "aligned", "building"] == "cannot be"
    assert causes["hist", "aligned", "abalone"] == "none found"
    assert set(table[(table["method"] == "krr") & (table["mask"] == "aligned")]["cause"]) == {"halves"}
    assert set(table[(table["method"] == "krr") & (table["mask"] != "aligned")]["cause"]) == {"none found"}


def test_the_best_reading_of_each_method_is_counted_once():
    rows = [("a", "", 10, 0.5), ("a[k=1]", "", 10, 0.8), ("b", "", 4, 0.25), ("c", "m", 3, 1.0)]
    table = pd.DataFrame(rows, columns=["method", "mask", "cells", "within"]).assign(paper="p", artefact="p/t")
    assert best_interpretations(table) == [{"paper": "p", "artefact": "p/t", "methods": 3, "cells": 17, "met": 12}]


def test_the_best_of_several_methods_is_taken_in_each_replication(results):
    one = "krr[variant=text]"
    steps = (Step("one", one, "silent"), Step("either", f"{one} or krr[variant=inferred]", "found"))
    table = distances(dataclasses.replace(CANDIDATES, steps=steps), Results(results))
    assert table["within"].tolist() == [0, 1]


def test_a_place_is_a_data_set_an_experiment_or_a_budget(results, monkeypatch):
    total = dataclasses.replace(PAPER.totals[0], artefacts=(NAME,))
    rows = Results(results).artefact(NAME).comparison
    one_set = rows[rows["dataset"].str.startswith("abalone")]
    monkeypatch.setattr(Results, "artefact", lambda *_: SimpleNamespace(comparison=one_set))
    paper = dataclasses.replace(PAPER, totals=(total,))
    default, _ = totals([paper], results)
    assert default["outside"][0]["place"] == "epsilon" and default["outside"][0]["where"] == [(2.0, 2)]
    page = pages_causes._total(default, CARDS)
    assert {"method": "AdHistOfTree (CART)", "numbers": "1 of 1", "where": "ε = 2 (1)"} in page["outside"]


def test_without_results_there_is_no_page(tmp_path):
    assert pages_causes.causes_page(tmp_path, tmp_path, CARDS) is None


def test_steps_of_a_page_name_what_they_rest_on(results, tmp_path, monkeypatch):
    paper = dataclasses.replace(
        PAPER, interpretations=(CANDIDATES,), bounds=(Bound("Table 9", "why", lambda results: "evidence"),)
    )
    monkeypatch.setattr(pages_causes, "papers", lambda: (paper,))
    write_causes([paper], Results(results), tmp_path)
    text = render("causes.html.j2", **pages_causes.causes_page(results, tmp_path, CARDS), here="causes.html", pages=[],
                  selections={}, stored=False)  # fmt: skip
    for part in ("halves", "our choice where the text is silent", "tried, no nearer", "+100.0 %", "evidence"):
        assert part in text
