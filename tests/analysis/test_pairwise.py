"""Pairwise comparisons against a table computed by hand and scipy's own tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lpbench.analysis import holm, summarise
from lpbench.analysis.pairwise import OVER, PAIRWISE_COLUMNS, pairwise, rank_biserial
from tests.analysis.tables import cell, table


def scores(values: dict[tuple[str, str], list[float]], metric: str = "mse") -> pd.DataFrame:
    """Scores of (data set, method) -> one value a replication."""
    return table(*(cell(m, column, dataset=d, metric=metric) for (d, m), column in values.items()))


RNG = np.random.default_rng(5)
BASE = RNG.random(20)
COLUMNS = {"a": BASE, "b": BASE + 0.1 * RNG.random(20), "c": BASE + RNG.normal(0.02, 0.05, 20)}


def test_a_row_a_pair_the_better_method_first():
    found = pairwise(summarise(scores({("d", m): v.tolist() for m, v in COLUMNS.items()})))
    assert list(found.columns) == PAIRWISE_COLUMNS and len(found) == 3
    assert (found["mean"] <= found["other_mean"]).all(), "errors: the smaller is better"
    for row in found.itertuples():
        gain = COLUMNS[row.other] - COLUMNS[row.method]
        assert row.p_two_sided == pytest.approx(stats.wilcoxon(gain, method="exact").pvalue)
        assert (row.n, row.better, row.worse) == (20, (gain > 0).sum(), (gain < 0).sum())
        assert row.difference == pytest.approx(-gain.mean())
    np.testing.assert_allclose(found["p_holm"], holm(found["p_two_sided"].to_numpy()))
    sure = found[(found["method"] == "a") & (found["other"] == "b")].iloc[0]
    assert sure["effect_size"] == 1 and sure["p_two_sided"] == pytest.approx(2 * 0.5**20)


def test_larger_scores_are_better_where_they_are():
    found = pairwise(summarise(scores({("d", m): v.tolist() for m, v in COLUMNS.items()}, "accuracy")))
    assert (found["mean"] >= found["other_mean"]).all() and (found["difference"] >= 0).all()


def test_references_without_privacy_are_not_compared():
    found = pairwise(summarise(scores({("d", m): COLUMNS["a"].tolist() for m in ("a", "b", "dt")})))
    assert len(found) == 1 and found.iloc[0]["p_two_sided"] == 1 and np.isnan(found.iloc[0]["effect_size"])


def test_over_data_sets_scales_do_not_matter():
    """Six data sets, each with errors on a scale of its own: the pairs are those of the logarithms."""
    factors = [1.2, 1.1, 1.3, 1.05, 1.4, 0.99]
    errors = {}
    for k, factor in enumerate(factors):
        errors[f"d{k}", "a"] = (10.0**k * BASE).tolist()
        errors[f"d{k}", "b"] = (10.0**k * factor * BASE).tolist()
    row = pairwise(summarise(scores(errors))).query("dataset == @OVER").iloc[0]
    assert (row["method"], row["n"], row["better"], row["worse"]) == ("a", 6, 5, 1)
    assert row["p_two_sided"] == pytest.approx(stats.wilcoxon(np.log(factors), method="exact").pvalue)
    assert row["other_mean"] / row["mean"] == pytest.approx(np.exp(np.log(factors).mean())), "geometric means"
    few = pairwise(summarise(scores({key: v for key, v in errors.items() if key[0] < "d4"})))
    assert OVER not in set(few["dataset"])


def test_one_replication_compares_nothing():
    assert pairwise(summarise(scores({("d", "a"): [1.0], ("d", "b"): [2.0]}))).empty


def test_rank_biserial_by_hand():
    assert rank_biserial(np.array([1.0, -2.0, 3.0, 0.0])) == pytest.approx((1 - 2 + 3) / 6)
    assert rank_biserial(np.array([1.0, 2.0])) == 1 and rank_biserial(np.array([-1.0])) == -1
