"""The comparison's experiments: selections apart, sealed sets as the others, reports that cost bits."""

import pytest

from lpbench.analysis.standings import view
from lpbench.analysis.summary import NON_PRIVATE_PANEL
from lpbench.audit.table import report_bits
from lpbench.datasets import load_manifest
from lpbench.experiments import catalog
from lpbench.members import CONSTANTS, PUBLIC_ONLY
from lpbench.reporting.artifact import write_artifact
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.standings import standings_of
from tests.reporting.fake import experiment, scores_of, typed
from tests.reporting.store import put

CARDS = {name: catalog.method(name) for name in ("private_selection_regressor", "private_mean")}


def few():
    """The experiment with few methods and sets, and its scores."""
    spec = experiment("comparison/regression")
    # few methods and sets, of every kind
    spec["groups"] = [
        {**group, "epsilon": [1], "dataset": ["abalone", "bike", "student", "visits"],
         "method": [m for m in group["method"] if m in ("residual_gp", "private_mean", "par_dt", "dt")
                    or "laplace,learner=ridge" in m or "estimator=krr" in m]}
        for group in spec["groups"]
    ]  # fmt: skip
    for group in spec["groups"]:
        group["epsilon"] = [1000] if group.get("panel") == NON_PRIVATE_PANEL else [1]
    return spec, scores_of(spec, lambda key: 1.0, points=({},))


def test_a_paid_choice_stands_under_private_alone_beside_those_that_had_none(tmp_path):
    spec, scores = few()
    put(tmp_path, spec, scores, cards=CARDS)
    table = standings_of([ReportEntry(typed(spec), tmp_path)], CARDS)
    chose = "private_selection_regressor[estimator=krr]"
    assert set(view(table, "private")["method"]) == {chose, "private_mean"}
    assert chose not in set(view(table, "oracle")["method"])


def test_each_selection_has_its_own_table_and_pictures_are_the_oracles(tmp_path):
    body, scores = few()
    spec = typed(body)
    write_artifact(spec, scores, CARDS, tmp_path / spec.name)
    entry = ReportEntry(spec, tmp_path)
    assert "setting chosen by privatized reports" in (entry.folder / "regression_private.tex").read_text(
        encoding="utf-8"
    )
    pictures = {*entry.pictures}
    assert pictures == {f for f in entry.files if f.endswith(".svg")} and not any("private" in f for f in pictures)


def test_bits_are_those_of_the_reports_alone():
    assert report_bits("private_labels_regressor[randomizer=laplace,learner=ridge]", 1.0) == 64
    assert report_bits("private_mean", 1.0) == 64
    assert report_bits("private_labels_regressor[randomizer=levels,learner=ridge]", 1.0) < 8


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_sealed_sets_meet_methods_of_the_field_and_all_four_lines(task):
    fields = ("", "free_", *(["public_sample"] if task == "regression" else []))
    names = [f"comparison/{kind}" if kind == "public_sample" else f"comparison/{kind}{task}" for kind in fields]
    field = {m for name in names for g in experiment(name)["groups"] for m in g["method"]}
    sealed, compared = experiment(f"comparison/sealed_{task}"), experiment(f"comparison/{task}")
    private = {m for g in sealed["groups"] if not g.get("panel") for m in g["method"]}
    free = {m for g in sealed["groups"] if g.get("panel") == NON_PRIVATE_PANEL for m in g["method"]}
    assert private | free <= field and free
    assert {sealed["settings"]["compared"], CONSTANTS[task == "classification"]} <= private
    assert private & {*PUBLIC_ONLY} and sealed["settings"]["compared"] == compared["settings"]["compared"]
    assert sealed["replications"] == compared["replications"] and sealed["on_request"]
    for name in sealed["settings"]["data_sets"]["sealed"]:
        assert load_manifest(name).role == "sealed"
