"""Selection and summary on a table of three methods x three data sets whose every answer is computed by hand."""

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.scores import write_csv
from lpbench.analysis.selection import Setting
from lpbench.analysis.summary import SUMMARY_COLUMNS, summarize
from lpbench.analysis.variants import competitors, one_variant_each, representatives
from tests.analysis.tables import cell, row, table

SMALL, LARGE = '{"depth":1}', '{"depth":2}'


def three_by_three() -> pd.DataFrame:
    """Methods a (two grid points), b and dt on data sets d1, d2, d3 with four replications."""
    parts = []
    for k, dataset in enumerate(["d1", "d2", "d3"], start=1):
        base = np.array([1.0, 2.0, 3.0, 4.0]) * k
        parts += [
            cell("a", base + 1, dataset=dataset, params=SMALL),
            cell("a", base + k, dataset=dataset, params=LARGE),  # equal in d1, worse in d2 and d3
            cell("b", base * 3, dataset=dataset),
            cell("dt", base, dataset=dataset),
        ]
    return table(*parts)


def pick(summary, **keys) -> pd.Series:
    rows = summary.table
    for key, value in keys.items():
        rows = rows[rows[key] == value]
    assert len(rows) == 1, rows
    return rows.iloc[0]


def test_three_by_three_by_hand():
    summary = summarize(three_by_three())
    assert list(summary.table.columns) == SUMMARY_COLUMNS
    assert len(summary.table) == 9
    first = pick(summary, dataset="d2", method="a")
    # base = 2 4 6 8, plus 1: mean 6, standard deviation sqrt(20 / 3)
    assert first["params"] == SMALL
    assert first["mean"] == 6 and first["n"] == 4
    assert first["std"] == pytest.approx(np.sqrt(20 / 3)) and first["se"] == pytest.approx(np.sqrt(20 / 3) / 2)
    assert first["ratio"] == pytest.approx(6 / 5)
    assert first["rank"] == 1 and first["best"] and np.isnan(first["p_best_is_better"])
    second = pick(summary, dataset="d2", method="b")
    # 3 base = 6 12 18 24 is worse than 3 5 7 9 in all of four replications: p = 1/16, so no star
    assert second["rank"] == 2 and not second["best"]
    assert second["p_best_is_better"] == pytest.approx(1 / 16)
    assert not first["marked"]
    reference = pick(summary, dataset="d2", method="dt")
    assert reference["ratio"] == 1 and np.isnan(reference["rank"]) and not reference["best"]


def test_ties_go_to_the_first_grid_point():
    assert pick(summarize(three_by_three()), dataset="d1", method="a")["params"] == SMALL


def test_tuning_free_rows_are_those_of_the_stated_setting():
    settings = {("", "aligned", "a"): Setting(LARGE)}
    summary = summarize(three_by_three(), settings)
    row_ = pick(summary, dataset="d3", method="a", selection="tuning_free")
    assert row_["params"] == LARGE and row_["mean"] == 7.5 + 3
    assert set(summary.table.loc[summary.table["selection"] == "tuning_free", "method"]) == {"a"}


def test_a_setting_off_the_grid_is_no_candidate_of_the_oracle():
    settings = {("", "aligned", "a"): Setting(SMALL, on_grid=False)}
    assert pick(summarize(three_by_three(), settings), dataset="d3", method="a", selection="oracle")["params"] == LARGE


def test_private_rows_are_of_methods_that_chose_by_reports_or_had_nothing_to_choose():
    one = table(
        cell("chose", [3, 4]), cell("single", [2, 5]), cell("a", [1, 2], params=SMALL), cell("a", [4, 5], params=LARGE)
    )
    settings = {
        ("", "aligned", "chose"): Setting("{}", selection="private"),
        ("", "aligned", "single"): Setting("{}"),
        ("", "aligned", "a"): Setting(LARGE),
    }
    found = summarize(one, settings).table
    shown = {s: sorted(rows["method"]) for s, rows in found.groupby("selection")}
    assert shown == {"oracle": ["a", "single"], "tuning_free": ["a", "single"], "private": ["chose", "single"]}
    assert found[found["selection"] == "private"].set_index("method")["rank"].to_dict() == {"chose": 1.5, "single": 1.5}


def test_nothing_is_private_where_no_method_chose_by_reports():
    summary = summarize(table(cell("single", [2, 5])), {("", "aligned", "single"): Setting("{}")})
    assert set(summary.table["selection"]) == {"oracle", "tuning_free"}


def test_a_failed_private_choice_keeps_its_reason_under_its_selection():
    lost = [row("chose", r, np.nan, status="failed", reason="x") for r in range(2)]
    settings = {("", "aligned", "chose"): Setting("{}", selection="private")}
    summary = summarize(table(lost, cell("b", [1, 2])), settings)
    empty = pick(summary, method="chose")
    assert empty["selection"] == "private" and np.isnan(empty["mean"])
    assert summary.reasons[["selection", "reason"]].to_numpy().tolist() == [["private", "failed: x"]]


def test_ratio_is_empty_without_the_baseline():
    scores = three_by_three()
    summary = summarize(scores[scores["method"] != "dt"])
    assert summary.table["ratio"].isna().all()


def test_baseline_of_another_mask_serves_a_method_that_has_none_of_its_own():
    scores = table(cell("dt", [1, 3], mask="aligned"), cell("a", [2, 6], mask="personalized"))
    assert pick(summarize(scores), method="a")["ratio"] == 2


def test_incomplete_point_is_not_eligible_and_empty_cell_keeps_its_reason():
    scores = table(
        cell("a", [5, 5], params=SMALL),
        cell("a", [1], params=LARGE),
        [row("a", 1, np.nan, params=LARGE, status="skipped", reason="too many cells")],
        [row("b", -1, np.nan, metric="", status="timeout", reason="over 3600 s")],
    )
    summary = summarize(scores)
    assert pick(summary, method="a")["params"] == SMALL
    empty = pick(summary, method="b")
    assert np.isnan(empty["mean"]) and empty["n"] == 0 and empty["metric"] == "mse"
    assert summary.reasons["reason"].tolist() == ["timeout: over 3600 s"]


def test_failed_setting_of_a_method_is_an_empty_tuning_free_row():
    lost = [row("a", r, np.nan, params=LARGE, status="failed", reason="x") for r in range(2)]
    summary = summarize(table(cell("a", [1, 2], params=SMALL), lost), {("", "aligned", "a"): Setting(LARGE)})
    assert np.isnan(pick(summary, selection="tuning_free")["mean"])
    assert pick(summary, selection="oracle")["mean"] == 1.5


def test_swept_axis_gives_one_row_a_place():
    parts = [cell("a", [x, x + 1], x=float(x), params=f'{{"depth":{x}}}') for x in (1, 2, 3)]
    assert summarize(table(*parts)).table["x"].tolist() == [1, 2, 3]


def test_accuracy_prefers_the_larger_value_and_bold_marks_equals():
    base = np.linspace(0.5, 0.6, 20)
    scores = table(cell("a", base, metric="accuracy"), cell("b", base + 0.1 + base / 50, metric="accuracy"))
    summary = summarize(scores, rule="bold")
    assert pick(summary, method="b")["best"] and pick(summary, method="b")["marked"]
    assert not pick(summary, method="a")["marked"]


def test_bytes_do_not_depend_on_the_order_of_rows_or_on_categories(tmp_path):
    scores = three_by_three()
    rng = np.random.default_rng(0)
    scores["value"] = rng.normal(size=len(scores))
    settings = {("", "aligned", "a"): Setting(LARGE)}
    texts = []
    for k in range(4):
        shuffled = scores.sample(frac=1, random_state=k) if k else scores
        if k == 3:
            shuffled = shuffled.astype({"method": "category", "params": "category", "dataset": "category"})
        write_csv(summarize(shuffled, settings).table, tmp_path / f"{k}.csv")
        texts.append((tmp_path / f"{k}.csv").read_bytes())
    assert len(set(texts)) == 1


def test_method_with_fixed_parameters_is_not_ranked_beside_itself():
    scores = table(cell("a", [1, 2]), cell("b", [2, 3]), cell("a[s=1]", [1, 2]), cell("c[s=1]", [3, 4]))
    summary = summarize(scores)
    assert np.isnan(pick(summary, method="a[s=1]")["rank"])
    assert [pick(summary, method=m)["rank"] for m in ("a", "b", "c[s=1]")] == [1, 2, 3]


def test_variants_of_one_method_compete_once():
    names = ["p[variant=published_tables]", "p[variant=text]", "q", "q[s=1]", "q[variant=text]", "m[k=1]", "m[k=2]"]
    assert competitors(iter(names)) == {"p[variant=text]", "q", "m[k=1]", "m[k=2]"}
    assert representatives(names)["p"] == "p[variant=text]"
    # named variants compete with selectors that fix parameters, if the method itself was not run
    assert competitors(["p[variant=text]", "p[k=1]"]) == {"p[variant=text]", "p[k=1]"}


def test_nothing_ran():
    lost = row("a", -1, np.nan, metric="", status="skipped", reason="no data")
    summary = summarize(table([lost]))
    assert summary.table["mean"].isna().all() and len(summary.chosen) == 0
    assert summary.reasons["reason"].tolist() == ["skipped: no data"]


def test_one_variant_stands_for_a_method_in_tables_and_curves_alike():
    """Bare before ``text`` before others; parameters fixed by hand are told apart."""
    names = ["m", "m[variant=text]", "m[n=2,variant=text]", "m[n=2]", "p[variant=text]", "p[variant=a]", "q[variant=b]"]
    assert one_variant_each(names) == {"m", "m[n=2]", "p[variant=text]", "q[variant=b]"}
    assert set(representatives(names).values()) == {"m", "p[variant=text]", "q[variant=b]"}
