"""Committed scores give back summaries to the last bit, and are written again only where a number changed."""

import dataclasses
import json

import pandas as pd
import pytest
from filelock import Timeout

from lpbench import derivation
from lpbench.analysis.summary import CELL_KEYS
from lpbench.experiments import committed
from lpbench.experiments.results import RECORD, Results
from lpbench.experiments.summaries import CHOSEN_FILE, SUMMARY_FILE, keep_summary
from lpbench.reporting.artifact import summarize_experiment
from tests.reporting.fake import CARDS, experiment, placeholder, scores_of, typed

NAMES = ("histoftree/figure2c", "histoftree/table1")


def kept(folder, name, scores, costs=None):
    """An artifact as a run leaves it."""
    body = typed(experiment(name))
    (folder / name).mkdir(parents=True, exist_ok=True)
    scores.to_parquet(folder / name / "scores.parquet", index=False)
    keep_summary(summarize_experiment(body, scores, CARDS, costs=costs), folder / name)
    config = {"experiment": dataclasses.asdict(body), "seed": 2025}
    record = {"name": name, "config": config, "config_hash": name, "files": {}, "environment": {"lpbench": "1"}}
    (folder / name / RECORD).write_text(json.dumps(record), encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A figure, and a table with cells that did not run: not at all, and in every grid point."""
    folder = tmp_path_factory.mktemp("run")
    kept(folder, NAMES[0], scores_of(experiment(NAMES[0]), lambda k: 1.1 + 0.02 * abs(k["x"] - 4) / 3, replications=3))
    table = experiment(NAMES[1])
    for group in table["groups"]:
        group["dataset"] = ["abalone", "red_wine"]
    scores = scores_of(table, lambda k: 1 + len(k["method"]) / 7, replications=3)
    lost = (scores["method"] == "hist") & (scores["dataset"] == "abalone")
    scores.loc[lost, ["value", "status", "reason"]] = [float("nan"), "failed", "no cell is large enough"]
    slow = placeholder(table, "building", "krr", 2, "timeout", "over the limit")
    kept(folder, NAMES[1], pd.concat([scores, slow]))
    return folder


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """A results folder with the committed scores and nothing else."""
    folder = tmp_path_factory.mktemp("reproduced")
    assert committed.commit(list(map(Results(run).artifact, NAMES)), folder, "histoftree", "star")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_comes_back_to_the_last_bit(run, folder, name):
    """From what a run keeps, and from the committed scores."""
    made = summarize_experiment(typed(experiment(name)), pd.read_parquet(run / name / "scores.parquet"), CARDS)
    expected, found = Results(run).artifact(name), Results(folder).artifact(name)
    for read in (expected.full, found.full):
        for frame in ("table", "chosen", "reasons"):
            pd.testing.assert_frame_equal(
                getattr(read, frame), getattr(made, frame), check_dtype=False, check_exact=True
            )
        assert (read.marked_holm == made.marked_holm).all()
    pd.testing.assert_frame_equal(found.chosen, expected.chosen, check_dtype=False, check_exact=True)
    assert sorted(map(tuple, found.reasons().to_numpy())) == sorted(map(tuple, expected.reasons().to_numpy()))


def test_what_scores_cost_comes_back_and_stays_where_a_run_does_not_say_it(run, tmp_path):
    """Costs are written when every fit says its own; they alone are a change, and no byte of the scores is."""
    committed.commit(list(map(Results(run).artifact, NAMES)), tmp_path / "committed", "histoftree", "star")
    scores = (tmp_path / "committed" / "scores" / "histoftree.parquet").read_bytes()
    assert Results(tmp_path / "committed").artifact(NAMES[0]).full.table["spent"].isna().all()
    before = committed.digest(tmp_path / "committed", NAMES[0])
    table = pd.read_parquet(run / NAMES[0] / "scores.parquet")
    costs = table[CELL_KEYS].drop_duplicates().assign(spent=0.5, spent_delta=0.0, spent_model="ldp", audit="audited")
    kept(tmp_path / "told", NAMES[0], table, costs)
    partly = costs.assign(spent=[0.25, *[None] * (len(costs) - 1)])
    kept(tmp_path / "partly", NAMES[0], table, partly.astype({"spent": float}))
    for source, written in (("told", True), ("told", False), ("partly", False)):
        artifacts = [Results(tmp_path / source).artifact(NAMES[0])]
        assert committed.commit(artifacts, tmp_path / "committed", "histoftree", "star") == written
        found = Results(tmp_path / "committed").artifact(NAMES[0]).full.table
        assert (found["spent"] == 0.5).all() and (found["audit"] == "audited").all()
    assert (tmp_path / "committed" / "scores" / "histoftree.parquet").read_bytes() == scores
    assert committed.digest(tmp_path / "committed", NAMES[0]) != before


def test_what_was_run_is_known(folder):
    artifact = Results(folder).artifact(NAMES[0])
    assert artifact.is_finished and not artifact.was_computed
    assert artifact.record["config"]["seed"] == 2025 and artifact.record["environment"] == {"lpbench": "1"}
    nothing = Results(folder).artifact("histoftree/table2")
    assert not nothing.is_finished and nothing.full is None


def test_the_same_scores_are_not_written_again(run, folder):
    path = folder / committed.SCORES / "histoftree.json"
    before = path.read_bytes()
    record = json.loads((run / NAMES[0] / RECORD).read_text(encoding="utf-8"))
    (run / NAMES[0] / RECORD).write_text(json.dumps(record | {"environment": {"lpbench": "2"}}), encoding="utf-8")
    assert not committed.commit(list(map(Results(run).artifact, NAMES)), folder, "histoftree", "star")
    assert path.read_bytes() == before


@pytest.mark.parametrize(("by", "written"), [(1e-15, False), (1e-8, False), (1e-6, True)])
def test_another_number_is_written_and_the_rounding_of_another_processor_is_not(run, folder, tmp_path, by, written):
    for name in NAMES:
        (tmp_path / name).mkdir(parents=True)
        for file in (CHOSEN_FILE, SUMMARY_FILE, RECORD, "scores.parquet"):
            (tmp_path / name / file).write_bytes((run / name / file).read_bytes())
    path = tmp_path / NAMES[0] / CHOSEN_FILE
    frame = pd.read_parquet(path)
    before = frame.loc[0, "value"]
    frame.loc[0, "value"] += by
    assert frame.loc[0, "value"] != before
    frame.to_parquet(path, index=False)
    assert committed.commit(list(map(Results(tmp_path).artifact, NAMES)), folder, "histoftree", "star") == written
    assert Results(folder).artifact(NAMES[0]).chosen["value"][0] == (frame["value"][0] if written else before)


@pytest.mark.parametrize("refusal", [PermissionError(13, "Permission denied"), Timeout("summary.lock")])
def test_a_summary_of_other_scores_is_not_read_where_it_cannot_be_written_anew(run, tmp_path, monkeypatch, refusal):
    """Nobody may write there, or another process holds the lock."""
    committed.commit([Results(run).artifact(NAMES[0])], tmp_path, "histoftree", "star")
    before = Results(tmp_path).artifact(NAMES[0]).full.table["mean"]
    path = tmp_path / committed.SCORES / "histoftree.parquet"
    table = pd.read_parquet(path)
    table.assign(value=2 * table["value"]).to_parquet(path, index=False, schema=committed._SCHEMA)

    def refused(path):
        raise refusal

    monkeypatch.setattr(derivation, "locked", refused)
    assert Results(tmp_path).artifact(NAMES[0]).full.table["mean"].tolist() == pytest.approx((2 * before).tolist())


def test_the_same_scores_keep_their_record_beside_others_that_changed(run, tmp_path):
    """Otherwise each run would put its commit on every page of the paper."""
    first, again = tmp_path / "kept", tmp_path / "run"
    committed.commit(list(map(Results(run).artifact, NAMES)), first, "histoftree", "star")
    before = {name: committed.record(first, name) for name in NAMES}
    for name in NAMES:
        (again / name).mkdir(parents=True)
        for file in (CHOSEN_FILE, SUMMARY_FILE, "scores.parquet"):
            (again / name / file).write_bytes((run / name / file).read_bytes())
        record = json.loads((run / name / RECORD).read_text(encoding="utf-8"))
        (again / name / RECORD).write_text(json.dumps(record | {"environment": {"lpbench": "3"}}), encoding="utf-8")
    frame = pd.read_parquet(again / NAMES[0] / CHOSEN_FILE)
    frame.assign(value=frame["value"] * 2).to_parquet(again / NAMES[0] / CHOSEN_FILE, index=False)
    assert committed.commit(list(map(Results(again).artifact, NAMES)), first, "histoftree", "star")
    assert committed.record(first, NAMES[0])["environment"] == {"lpbench": "3"}
    assert committed.record(first, NAMES[1]) == before[NAMES[1]]


def test_experiments_that_were_not_run_again_stay(run, tmp_path):
    for name in NAMES:
        committed.commit([Results(run).artifact(name)], tmp_path, "histoftree", "star")
    assert [a.name for a in map(Results(tmp_path).artifact, NAMES) if a.is_finished] == list(NAMES)
    assert all(Results(tmp_path).artifact(name).chosen is not None for name in NAMES)


def test_seconds_are_written_again_where_other_blocks_were_measured(run, tmp_path, monkeypatch):
    monkeypatch.setattr(committed, "_is_measured", lambda table: True)
    place = tmp_path / "run" / NAMES[0]
    place.mkdir(parents=True)
    for file in (CHOSEN_FILE, SUMMARY_FILE, "scores.parquet"):
        (place / file).write_bytes((run / NAMES[0] / file).read_bytes())
    record = json.loads((run / NAMES[0] / RECORD).read_text(encoding="utf-8"))
    found = []
    for key, factor in (("a", 1), ("a", 2), ("b", 3)):
        frame = pd.read_parquet(run / NAMES[0] / CHOSEN_FILE)
        frame.assign(value=frame["value"] * factor).to_parquet(place / CHOSEN_FILE, index=False)
        (place / RECORD).write_text(json.dumps(record | {"block_times": {key: [1, 0.1, None]}}), encoding="utf-8")
        found.append(
            committed.commit([Results(tmp_path / "run").artifact(NAMES[0])], tmp_path / "kept", "histoftree", "star")
        )
    assert found == [True, False, True]
