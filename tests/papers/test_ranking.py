"""field.csv: planted winners win, floors and references are paired by split, and rivals cost bits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lpbench.audit.table import report_bits
from lpbench.datasets import load_manifest
from lpbench.experiments import catalogue
from lpbench.papers.comparison.ranking import (
    FILE,
    NON_PRIVATE_PANEL,
    SECONDS_FILE,
    best_without_privacy,
    write_field,
)
from lpbench.reporting.artefact import summarise_experiment, write_artefact
from lpbench.reporting.entries import ReportEntry
from lpbench.selectors import SELECTIONS, parse_selector
from tests.reporting.fake import experiment, scores_of, typed


def planted(key):
    """ResidualGP beats everybody on development sets and nobody but the floor on the others."""
    base = parse_selector(key["method"])[0]
    seen = parse_selector(key["dataset"])[0] not in ("abalone", "white_wine", "bike")
    return {"residual_gp": 1.0 if seen else 4.0, "private_mean": 5.0, "dt": 0.5}.get(base, 2.0)


CARDS = {name: catalogue.method(name) for name in ("private_selection_regressor", "private_mean")}


def few():
    """The experiment with few methods and sets, and its scores."""
    spec = experiment("field/regression")
    # few methods and sets, of every kind
    spec["groups"] = [
        {**group, "epsilon": [1], "dataset": ["abalone", "bike", "student", "visits"],
         "method": [m for m in group["method"] if m in ("residual_gp", "private_mean", "par_dt", "dt")
                    or "laplace,learner=ridge" in m or "estimator=krr" in m]}
        for group in spec["groups"]
    ]  # fmt: skip
    for group in spec["groups"]:
        group["epsilon"] = [1000] if group.get("panel") == NON_PRIVATE_PANEL else [1]
    return typed(spec), scores_of(spec, planted, points=({},))


@pytest.fixture(scope="module")
def every_selection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("field")
    spec, scores = few()
    summary = summarise_experiment(spec, scores, CARDS)
    scores.to_parquet(folder / "scores.parquet")
    path, seconds = write_field(spec, summary, {}, folder)
    assert (path.name, seconds.name) == (FILE, SECONDS_FILE)
    return pd.read_csv(path)


@pytest.fixture(scope="module")
def field(every_selection):
    return every_selection[every_selection["selection"] == "oracle"].set_index(["kind", "method"])


def test_planted_winners_have_the_smallest_rank_sum_where_they_win(field):
    assert field.loc[("development", "residual_gp"), "rank_sum"] == 2
    assert field.loc[("conclusions", "residual_gp"), "rank_sum"] == 6
    assert field.loc[("all", "residual_gp"), "datasets"] == 4
    row = field.loc[("all", "residual_gp")]
    assert row["rank_sum_low"] <= row["rank_sum"] <= row["rank_sum_high"]


def test_what_was_measured_in_seconds_has_a_file_of_its_own(tmp_path):
    spec, scores = few()
    summary = summarise_experiment(spec, scores, CARDS)
    written = {}
    for seconds in (1.0, 2.0):
        scores.assign(seconds=seconds).to_parquet(tmp_path / "scores.parquet")
        written[seconds] = [path.read_bytes() for path in write_field(spec, summary, {}, tmp_path)]
        assert set(pd.read_csv(tmp_path / SECONDS_FILE)["seconds"]) == {seconds}
    assert written[1.0][0] == written[2.0][0] and written[1.0][1] != written[2.0][1]


def test_everybody_beats_the_floor_and_nobody_the_best_without_privacy(field):
    others = field.drop(index="private_mean", level="method")
    assert (others["beats_floor"] == 1).all() and (field["beats_non_private"] == 0).all()
    assert (field.xs("private_mean", level="method")["beats_floor"] == 0.5).all()


def test_a_paid_choice_is_ranked_under_private_alone_beside_those_that_had_none(every_selection):
    chose = "private_selection_regressor[estimator=krr]"
    shown = {s: set(rows["method"]) for s, rows in every_selection.groupby("selection")}
    assert shown["private"] == {chose, "private_mean"}
    assert chose not in shown["oracle"]


def test_each_selection_has_its_own_table_and_pictures(tmp_path):
    spec, scores = few()
    write_artefact(spec, scores, CARDS, tmp_path / spec.name)
    entry = ReportEntry(spec, tmp_path)
    assert "setting chosen by privatised reports" in (entry.folder / "regression_private.tex").read_text(
        encoding="utf-8"
    )
    shown = {s: {f for files in entry.pictures(s).values() for f in files} for s in SELECTIONS}
    pictures = {f for f in entry.files if f.endswith(".svg")}
    assert set.union(*shown.values()) == pictures and sum(map(len, shown.values())) == len(pictures)
    assert all(f.startswith("regression_private") for f in shown["private"])
    assert not any("private" in f for f in shown["oracle"])


def test_references_are_shown_against_and_not_ranked(field):
    assert "dt" not in field.index.get_level_values("method")


def test_the_best_without_privacy_is_chosen_for_each_set():
    panel = {
        ("", "a", "m", "dt", 1.0): np.array([1.0, 2.0]),
        (NON_PRIVATE_PANEL, "a", "m", "x", 1000.0): np.array([1.0, 1.5]),
    }
    panel[("", "a", "m", "rival", 1.0)] = np.array([0.0, 0.0])
    assert best_without_privacy(panel, larger=False)["a"].tolist() == [1.0, 1.5]
    assert best_without_privacy(panel, larger=True)["a"].tolist() == [1.0, 2.0]


def test_bits_are_those_of_the_reports_alone():
    assert report_bits("private_labels_regressor[randomizer=laplace,learner=ridge]", 1.0) == 64
    assert report_bits("private_mean", 1.0) == 64
    assert report_bits("private_labels_regressor[randomizer=levels,learner=ridge]", 1.0) < 8


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_sealed_sets_meet_the_field_as_it_is(task):
    """Whatever is compared on other sets is compared there, in the same way."""
    field, sealed = (experiment(f"field/{kind}{task}") for kind in ("", "sealed_"))
    assert {d for g in sealed["groups"] for d in g["dataset"]} == set(sealed["groups"][0]["dataset"])
    compared, once = ([{**g, "dataset": []} for g in spec["groups"]] for spec in (field, sealed))
    for group in once:
        # They were run before versions 1 and 2 of our methods became one and PrivateConstant a baseline.
        group["method"] = [m for m in group["method"] if "variant=second" not in m]
    for group in compared:
        group["method"] = [m for m in group["method"] if m != "private_constant"]
    assert once == compared
    assert sealed["settings"]["compared"] == field["settings"]["compared"]
    assert sealed["replications"] == field["replications"] and sealed["on_request"]
    for name in sealed["settings"]["data_sets"]["sealed"]:
        assert load_manifest(name).role == "sealed"
