import json
import re
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.gains import UNKNOWN, gains, in_words
from lpbench.analysis.standings import Run
from lpbench.audit import table as audit_table
from lpbench.experiments import catalog
from lpbench.experiments.submissions import REPEATS, Submission
from lpbench.experiments.timing import fit_seconds
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting import standings
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages.claims import Value
from lpbench.reporting.pages.findings import below_the_constant, findings
from lpbench.reporting.pages.leaderboard import ALL, FILTERS, PACKAGE, as_script, default_view, in_view
from lpbench.reporting.pages.leaderboard import board as board_of
from lpbench.reporting.paper import papers
from lpbench.reporting.printed_names import dataset_title
from tests.reporting.fake import CARDS, card, experiment, scores_of, typed
from tests.reporting.store import put

#: Method and inputs of the two findings that open Home.
OPENING = (
    ("calibrated_score", "label and features, public sample"),
    ("residual_score", "label, public features, public sample"),
    ("public_residual_gp", "label and features, public features, public sample"),
)
#: Inputs of all methods here but the constant.
ASKED = "label and features, public features"
METHODS = ["residual_gp", "histoftree_cart", "krr", "private_mean", "dt"]
MODELS = {"residual_gp": "semi_feature_ldp", "histoftree_cart": "semi_feature_ldp", "krr": "semi_feature_ldp"}
LEVEL = {"residual_gp": 1.0, "histoftree_cart": 2.0, "krr": 4.0, "private_mean": 2.5, "dt": 0.5}


def cards():
    made = dict(CARDS)
    for name in METHODS:
        made[name] = card(name, "regression", {"depth": 1}, {"depth": [1]}, MODELS.get(name, "ldp"))
    return made


def entry(folder, level=LEVEL, sets=("abalone", "red_wine")):
    body = experiment("extensions/tuning_free_regression")
    body["groups"] = [{"dataset": [*sets], "mask": ["aligned"], "method": METHODS, "epsilon": [1.0, 2.0]}]
    scores = scores_of(body, lambda k: level[k["method"]], replications=6, points=({"depth": 1},))
    put(folder, body, scores, cards=cards())
    return ReportEntry(typed(body), folder)


def board(entries, cards, bits, work, submitted=()):
    submission = patch.object(standings.inputs, "inputs_of_submission", lambda one, mask: ASKED)
    seconds = patch.object(standings, "fit_seconds", lambda: dict(work))
    with patch.object(audit_table, "report_bits", bits), seconds, submission:
        return board_of(standings.standings_of(entries, cards, submitted), cards, submitted)


def unknown(method, epsilon):
    return np.nan


def known_bits(method, epsilon):
    return 130.0 if (method, epsilon) == ("krr", 1.0) else np.nan


def test_inputs_of_an_own_method_are_found_once_a_mask():
    asked, scores = [], [
        {"panel": "", "mask": mask, "epsilon": epsilon, "x": np.nan, "metric": "mse", "selection": "private",
         "params": "{}", "dataset": "abalone", "method": "own", "replication": 0, "value": 1.0}
        for mask in ("aligned", "all_private") for epsilon in (1.0, 2.0)
    ]  # fmt: skip

    def reads(mask):
        asked.append(mask)
        return "label"

    run = Run("own/one", pd.DataFrame(scores), {"own": "ldp"}, {})
    table = standings.standings_of_runs([run], {"own": reads})
    assert asked == ["aligned", "all_private"] and set(table["inputs"]) == {"label"}


def test_ranks_and_changes_by_hand(tmp_path):
    lines = board([entry(tmp_path)], cards(), known_bits, {"krr": 0.5})
    view = {"task": "regression", "dataset": ALL, "epsilon": "1", "mask": "aligned", "inputs": ASKED}
    shown = in_view(lines, view)
    assert [(r.method, r.rank, r.low, r.high) for r in shown] == [
        ("residual_gp", 1.0, 1.0, 1.0),
        ("histoftree_cart", 2.0, 2.0, 2.0),
        ("krr", 3.0, 3.0, 3.0),
    ]
    assert [round(r.best) for r in shown] == [2, 4, 8]  # multiples of the non-private tree's error
    assert [r.constant for r in shown] == pytest.approx([0.4, 0.8, 1.6], abs=0.02)  # multiples of 2.5
    assert [r.gain for r in shown] == pytest.approx([1 - r.constant for r in shown])
    assert all(r.least <= r.gain <= r.most and r.names == "Abalone, Red wine" for r in shown)
    assert shown[2].bits == 130.0 and shown[2].work == 0.5 and np.isnan(shown[0].work)
    assert {r.badge for r in shown} == {PACKAGE}
    assert shown[0].command == "lpbench reproduce extensions/tuning_free_regression"
    one = in_view(lines, view | {"dataset": "Red wine"})
    assert {r.dataset_key for r in one} == {"red_wine"} and {r.sets for r in one} == {1}


def test_all_data_sets_are_those_of_the_experiment_that_compares_most(tmp_path):
    """The same data under two selectors do not count twice, nor does a set without the rivals undo their ranks."""
    body = experiment("comparison/regression")
    rivals = ["residual_gp", "histoftree_cart", "krr", "par_dt", "private_mean", "dt"]
    body["groups"] = [
        {"dataset": ["abalone", "red_wine[label_range=scale]", "student"], "mask": ["aligned"], "method": rivals,
         "epsilon": [1.0, 2.0]}
    ]  # fmt: skip
    level = {**LEVEL, "par_dt": 3.0}
    known = cards() | {"par_dt": cards()["krr"]}
    scores = scores_of(body, lambda k: level[k["method"]], replications=6, points=({"depth": 1},))
    put(tmp_path / "field", body, scores, cards=known)
    entries = [entry(tmp_path / "own"), ReportEntry(typed(body), tmp_path / "field")]
    lines = board(entries, known, unknown, {})
    view = {"task": "regression", "dataset": ALL, "epsilon": "1", "mask": "aligned", "inputs": ASKED}
    shown = in_view(lines, view)
    assert [(r.method, r.rank, r.sets) for r in shown] == [
        ("residual_gp", 1.0, 3), ("histoftree_cart", 2.0, 3), ("krr", 3.0, 3),
    ]  # fmt: skip
    other = in_view(lines, view | {"inputs": "label, public features"})
    assert [r.method for r in other] == ["par_dt"], "it asks for the label alone"
    assert {r.experiment for r in shown} == {"comparison/regression"}


def test_only_methods_with_equal_inputs_are_ranked_together(tmp_path):
    lines = board([entry(tmp_path)], cards(), unknown, {})
    view = default_view(lines)
    assert [*view] == [*FILTERS] and view["inputs"] == ASKED and view["epsilon"] == "1"
    assert set(lines.loc[lines["method"] == "private_mean", "inputs"]) == {"label"}
    ranked = lines[lines["rank"].notna()].groupby(["task", "mask_key", "epsilon", "dataset"])["inputs"].nunique()
    assert not lines.duplicated([*FILTERS, "method"]).any() and (ranked <= 2).all()


def test_the_script_has_every_row_and_says_once_what_rows_share(tmp_path):
    lines = board([entry(tmp_path)], cards(), known_bits, {"krr": 0.123456})
    script = as_script(lines, {"task": "regression"})
    data = json.loads(re.fullmatch(r"const BOARD = (.*);\n", script)[1])
    rows = [
        (*group, *data["sets"][d], *data["methods"][m], data["experiments"][e], *rest)
        for *group, found in data["groups"]
        for d, m, e, *rest in found
    ]
    assert len(rows) == len(lines) > 10
    shared = "task mask_key mask epsilon inputs dataset_key dataset names method title".split()
    forms = (
        "work:.5g badge: paper: experiment: sets: gain:.4f least:.4f most:.4f constant:.4g best:.4g rank:.3f low:.1f "
        "high:.1f bits:.5g spent:.4g"
    )
    shown = dict(v.split(":") for v in forms.split())
    for row, line in zip(rows, lines.itertuples(), strict=True):
        assert row[: len(shared)] == tuple(getattr(line, k) for k in shared)
        for value, (key, form) in zip(row[len(shared) :], shown.items(), strict=True):
            wanted = getattr(line, key)
            if isinstance(wanted, float):
                assert (value is None) if np.isnan(wanted) else value == float(format(wanted, form))
            else:
                assert value == wanted
    assert "NaN" not in script
    for text in ("red_wine", "Red wine", "extensions/tuning_free_regression"):
        assert script.count(f'"{text}"') == 1


def test_a_finding_says_what_users_add_on_the_held_out_sets_that_it_names(tmp_path):
    table, known = standings.read_standings(COMMITTED), gains(standings.read_standings(COMMITTED))
    ranked = {name for paper in papers() for name in paper.leaderboard}
    entries = [ReportEntry(e, COMMITTED) for e in catalog.experiments(ranked).values()]
    found = findings([], table, entries, tmp_path)
    assert [one.command.rpartition(" ")[2] for one in found] == [
        "comparison/classification",
        "comparison/classification",
        "comparison/public_sample",
    ]
    assert len({one.name for one in found}) == 3
    for one, (method, inputs) in zip(found, OPENING, strict=True):
        rows = known[(known["experiment"] == one.command.rpartition(" ")[2]) & (known["method"] == method)]
        rows = rows[(rows["inputs"] == inputs) & (rows["role"] == "held out")]
        assert one.sentence.endswith(f": {in_words(rows, '; ')}.")
        none = "no difference from public data alone is shown at any ε" in one.sentence
        assert none == all(rows["low"] * rows["high"] <= 0)
        assert f"over {rows['sets'].iloc[0]} held-out sets" in one.caveat
        assert [values[0].value for _, values in one.chart.rows] == [round(100 * v, 1) for v in rows["gain"]]
        assert {values[1].kind for _, values in one.chart.rows} == {"aside"}, "development sets beside it"
        if method == "residual_score":
            assert not one.pictures, "a figure of the compared method alone"
            continue
        (picture,) = one.pictures
        drawn = (tmp_path / picture["href"]).read_text(encoding="utf-8")
        assert all(f">{line}<" in drawn for line in ("constant", "public only", "private", "non-private"))
        assert all(f">{dataset_title(name)}<" in drawn for name in rows["names"].iloc[0].split())


def test_no_row_of_the_committed_leaderboard_crosses_inputs():
    """All methods that are ranked together have the inputs that their own fits have, and the same ones."""
    lines = board_of(standings.read_standings(COMMITTED), catalog.methods())
    package = lines[lines["badge"] == PACKAGE]
    known = {
        (m, k): standings.inputs.inputs_of(m, k)
        for m, k in {*package[["method", "mask_key"]].itertuples(index=False, name=None)}
    }
    for row in package.itertuples():
        assert row.inputs in (
            known[row.method, row.mask_key],
            standings.without_sample(known[row.method, row.mask_key]),
        )
    like = lines[(lines["inputs"] == "label, public features") & (lines["task"] == "classification")]
    assert "residual_score[variant=features]" in set(like["method"]) and "residual_score" not in set(like["method"])
    assert lines.loc[lines["inputs"] == UNKNOWN, "rank"].isna().all()


WINS = {"artifact": "histoftree/table2", "mask": "aligned", "wins": 10, "wins_below": 3, "cells": 50,
        "wins_least": 1, "wins_most": 4, "by_set": {"abalone": (25, 5), "red_wine": (25, 15)}}  # fmt: skip


def test_the_sentence_on_the_constant_adds_up():
    rows = [WINS | {"epsilon": 1.0, "cells_below": 20}, WINS | {"epsilon": 2.0, "cells_below": 1}]
    found = below_the_constant(rows)
    assert "20 of 50 published scores" in found.sentence and len(found.sentence.split()) <= 15
    best = "10 scores are the best on a data set of a table, and 3 of these are no better than the constant"
    assert (
        best in found.caveat
        and "1 to 4 of the 10 would be no better than the constant." in found.caveat
        and found.share == 0.4
    )
    assert found.chart.rows == [("HistOfTree, Table 2, aligned, ε = 1", [Value(40.0, 0.0, 100.0)])], (
        "strong privacy alone"
    )
    # shares 0.2 and 0.6: a mean of 0.4 with a standard error of 0.2 and one degree of freedom, so that any share may be
    assert "[0, 100] %" in found.caveat
    assert below_the_constant(rows[1:]) is None


def test_the_readme_shows_its_numbers_in_pictures_that_are_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[(.*?)\]\((.*?)\)", text)
    assert "docs/need.svg" in dict(pictures).values()
    # the numbers stand in the pictures, which are written with the pages
    assert all((ROOT / path).is_file() and not re.search(r"\d", words) for words, path in pictures)


def submitted(folder, value, checks=(), sets=("abalone", "red_wine"), replications=6):
    place = folder / "my_means"
    (place / "methods").mkdir(parents=True)
    method = "name: my_means\ntitle: MyMeans\ntask: regression\nprivacy: semi_feature_ldp\n"
    (place / "methods" / "my_means.yaml").write_text(method + "estimator: my_means.MyMeans\nreference: A paper\n")
    about = "name: my_means\nauthors: [A]\nlicense: MIT\npaper: A\nexperiment: extensions/tuning_free_regression\n"
    (place / "submission.yaml").write_text(about + "guarantee: {}\nlpbench: '1'\nseed: 1\n")
    rows = [f"{d},aligned,{e},{r},mse,{value}" for d in sets for e in (1.0, 2.0) for r in range(replications)]
    (place / "claimed.csv").write_text("\n".join(["dataset,mask,epsilon,replication,metric,value", *rows]) + "\n")
    found = Submission(place)
    for badge in checks:
        found.add({"badge": badge, "when": "2026-11-23T00:00:00", "lpbench": "1", "commit": "c", "blocks": 2,
                   "drawn": ["abalone aligned"], "digest": found.digest,
                   "cost": {"seconds": 0.2, "bits": {"1": 7}}})  # fmt: skip
    return Submission(place)


def test_a_submission_is_a_row_with_its_badge_and_a_refuted_one_has_no_rank(tmp_path):
    view = {"task": "regression", "dataset": ALL, "epsilon": "1", "mask": "aligned", "inputs": ASKED}
    run, cases = entry(tmp_path / "run"), {"stated": (), REPEATS: (REPEATS,), "refuted": (REPEATS, "refuted")}
    for badge, checks in cases.items():
        one = submitted(tmp_path / badge, 1.5, checks)
        assert one.badge == badge
        shown = in_view(board([run], cards(), unknown, {}, [one]), view)
        (row,) = (r for r in shown if r.method == "my_means")
        assert row.badge.startswith(badge) and row.paper == "A paper"
        assert row.command == "lpbench verify submission results/submissions/my_means"
        assert np.isnan(row.rank) if badge == "refuted" else row.rank == 2.0
        assert (row.work, row.bits) == (0.2, 7.0) if checks else np.isnan([row.work, row.bits]).all()
        first = next(r for r in shown if r.method == "residual_gp")
        assert first.rank == 1.0 and first.badge == PACKAGE
    assert "1 of 2 blocks" in submitted(tmp_path / "once more", 1.5, (REPEATS,)).words
    partly = submitted(tmp_path / "partly", 1.5, sets=("abalone",))
    shown = in_view(board([run], cards(), unknown, {}, [partly]), view)
    assert [r.method for r in shown if not np.isnan(r.rank)] == ["residual_gp", "histoftree_cart", "krr"]


def test_a_submission_of_other_replications_undoes_no_rank(tmp_path):
    found = board([entry(tmp_path / "run")], cards(), unknown, {}, [submitted(tmp_path, 1.5, replications=3)])
    shown = [r for r in found.itertuples() if r.inputs == ASKED]
    assert shown and not np.isnan([r.rank for r in shown]).any()
    assert {r.rank for r in shown if r.method == "my_means"} == {2.0}


def test_a_badge_is_of_the_files_that_were_checked(tmp_path):
    one = submitted(tmp_path, 1.5, (REPEATS,))
    (one.folder / "my_means.py").write_text("CHANGED = 1\n")
    assert Submission(one.folder).badge == "stated"


def test_seconds_of_a_fit_are_committed_for_every_method_of_the_leaderboard():
    names = {name for paper in papers() for name in paper.leaderboard}
    methods = {catalog.method(m).name for e in catalog.experiments(names).values() for m in e.methods}
    assert methods == set(fit_seconds()) and min(fit_seconds().values()) > 0


def test_no_two_methods_share_a_measured_time():
    """To seven digits: each is measured, and none is another's number."""
    assert len(set(fit_seconds().values())) == len(fit_seconds())
