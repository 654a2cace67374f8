"""What is kept beside the scores comes back to the last bit, and reports made from it are the same."""

import pandas as pd
import pytest

from lpbench.experiments.results import read_summary
from lpbench.reporting.artefact import summarise_experiment, write_artefact
from lpbench.reporting.entries import ReportEntry
from tests.reporting.fake import CARDS, experiment, placeholder, scores_of, typed


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Folder of a figure and of a table with an empty cell, their scores and how they were made."""
    folder = tmp_path_factory.mktemp("kept")
    figure, table = experiment("histoftree/figure2c"), experiment("histoftree/table1")
    for group in table["groups"]:
        group["dataset"] = ["abalone", "red_wine"]
    slow = placeholder(table, "building", "krr[variant=text]", 2, "timeout", "over the limit")
    scores = {
        figure["name"]: scores_of(figure, lambda k: 1.1 + 0.02 * abs(k["x"] - 4) / 3, replications=3),
        table["name"]: pd.concat([scores_of(table, lambda k: 1 + len(k["method"]) / 7, replications=3), slow]),
    }
    for each in (figure, table):
        (folder / each["name"]).mkdir(parents=True)
        scores[each["name"]].to_parquet(folder / each["name"] / "scores.parquet", index=False)
        write_artefact(typed(each), scores[each["name"]], CARDS, folder / each["name"])
    return folder, {e["name"]: e for e in (figure, table)}, scores


@pytest.mark.parametrize("name", ["histoftree/figure2c", "histoftree/table1"])
def test_kept_summary_is_the_summary(results, name):
    folder, experiments, scores = results
    made, read = summarise_experiment(typed(experiments[name]), scores[name], CARDS), read_summary(folder / name)
    for frame in ("table", "chosen", "reasons"):
        expected = getattr(made, frame)
        pd.testing.assert_frame_equal(getattr(read, frame), expected, check_dtype=False, check_exact=True)
    assert (read.marked_holm == made.marked_holm).all()
    assert ReportEntry(typed(experiments[name]), folder).full.table.equals(read.table)


def test_nothing_kept_is_nothing(tmp_path):
    assert read_summary(tmp_path) is None
