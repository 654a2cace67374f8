"""The table of standings on three methods and three data sets whose every answer is computed by hand."""

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.standings import (
    FEWEST,
    NONE,
    SET_RESAMPLES,
    STANDING_COLUMNS,
    Run,
    best_of_other_half,
    compare_losses,
    geometric_mean,
    geometric_means,
    least_p,
    optimism,
    over_sets,
    paired,
    standings,
    view,
)
from lpbench.analysis.summary import NON_PRIVATE_PANEL
from tests.analysis.tables import cell, table

MODELS = {"tree": "semi_feature_ldp", "private_mean": "ldp", "private_constant": "ldp", "krr": "ldp"}


def rows(method, dataset, values, first=0, **other):
    """Scores of one method on one data set, a replication each, at a chosen setting."""
    base = {"panel": "", "mask": "aligned", "epsilon": 1.0, "x": np.nan, "metric": "mse", "selection": "oracle",
            "params": "{}"}  # fmt: skip
    return [base | {"dataset": dataset, "method": method, "replication": first + r, "value": v} | other
            for r, v in enumerate(values)]  # fmt: skip


def run(*parts, name="test/table", roles=None, **other):
    return Run(name, pd.DataFrame([row for part in parts for row in part]), MODELS, roles or {}, **other)


def three_by_three():
    """Losses 1, 2, 4 of three methods on a; 2, 2, 8 on b; 9, 3, 1 on c: the constant is the second one."""
    table = {"a": (1.0, 2.0, 4.0), "b": (2.0, 2.0, 8.0), "c": (9.0, 3.0, 1.0)}
    return [rows(m, d, [v - 0.5, v + 0.5]) for d, values in table.items()
            for m, v in zip(("tree", "private_mean", "krr"), values, strict=True)]  # fmt: skip


def test_three_methods_on_three_data_sets_by_hand():
    table = standings([run(*three_by_three(), roles={"a": "development", "b": "held out"}, seed=7, commit="abc")])
    assert list(table.columns) == STANDING_COLUMNS and len(table) == 9
    row = table[(table["dataset"] == "a") & (table["method"] == "krr")].iloc[0]
    assert row[["task", "experiment", "role", "privacy", "loss", "se", "replications", "seed", "commit"]].tolist() == [
        "regression", "test/table", "development", "ldp", 4.0, 0.5, 2, 7, "abc"
    ]  # fmt: skip
    assert row["over_constant"] == 2.0 and np.isnan(row["over_free"])
    over = table.pivot(index="method", columns="dataset", values="over_constant")
    assert over.loc["tree"].tolist() == [0.5, 1.0, 3.0] and over.loc["private_mean"].tolist() == [1.0, 1.0, 1.0]
    found = over_sets(table, "tree").set_index("method")
    # ranks 1, 1.5, 3 of the tree; 2, 1.5, 2 of the constant; 3, 3, 1 of the last
    assert found["rank_sum"].to_dict() == {"tree": 5.5, "private_mean": 5.5, "krr": 7.0}
    assert found["constant"].to_dict() == pytest.approx(
        {"tree": 1.5 ** (1 / 3), "private_mean": 1.0, "krr": (8 / 3) ** (1 / 3)}
    )
    assert found.loc["krr", ["wins", "losses", "worst"]].tolist() == [2, 1, 4.0]
    assert found.loc["krr", "control"] == pytest.approx((16 / 9) ** (1 / 3))
    # the least p-value of three data sets is a quarter before Holm
    assert found["p"].dropna().tolist() == [1.0, 1.0]
    assert least_p(3, 3) == 0.5 and least_p(5, 2) == 0.0625


def test_losses_are_compared_on_common_replications_and_without_them_not_at_all():
    one, other = (np.array([0, 1, 2]), np.array([1.0, 2.0, 3.0])), (np.array([1, 2, 3]), np.array([20.0, 30.0, 40.0]))
    assert [side.tolist() for side in paired(one, other)] == [[2.0, 3.0], [20.0, 30.0]]
    assert all(side.size == 0 for side in paired(one, None))
    few = rows("private_mean", "a", [2.0, 2.0, 8.0])  # on replications 0 to 2
    many = rows("tree", "a", [1.0] * 3 + [100.0] * 7)
    row = standings([run(few, many)]).set_index("method").loc["tree"]
    assert row["over_constant"] == pytest.approx(1.0 / 4.0) and row["p_constant"] == 1 / 8
    apart = standings([run(rows("private_mean", "a", [2.0] * 3, first=50), many)]).set_index("method").loc["tree"]
    assert np.isnan(apart[["over_constant", "p_constant"]].astype(float)).all()


def test_the_best_constant_has_the_smaller_mean_loss_and_depends_on_no_experiment():
    mean, better = rows("private_mean", "a", [4.0, 4.0]), rows("private_constant", "a", [3.0, 3.0])
    other_budget = rows("private_constant", "a", [0.1, 0.1], epsilon=2.0)
    table = standings([run(rows("tree", "a", [6.0, 6.0]), mean), run(better, other_budget, name="test/other")])
    assert table[table["method"] == "tree"]["over_constant"].tolist() == [2.0]
    # with another seed the splits are others
    apart = standings([run(rows("tree", "a", [6.0, 6.0]), mean), run(better, name="test/other", seed=1)])
    assert apart[apart["method"] == "tree"]["over_constant"].tolist() == [1.5]


def test_an_experiment_with_few_replications_does_not_decide_which_constant_is_the_best():
    many = rows("private_mean", "a", [1.0] * 2 + [9.0] * 8), rows("private_constant", "a", [2.0] * 10)
    few = rows("private_mean", "a", [1.0] * 2), rows("private_constant", "a", [2.0] * 2)
    both = [run(*few, name="test/few"), run(rows("tree", "a", [2.0] * 10), *many)]
    for runs in (both, both[::-1], both[1:]):
        found = standings(runs)
        assert found[found["method"] == "tree"]["over_constant"].tolist() == [1.0]


def test_the_best_without_privacy_is_chosen_on_one_half_and_scored_on_the_other():
    halves = (np.arange(4), np.array([1.0, 9.0, 1.0, 9.0])), (np.arange(4), np.array([2.0, 2.0, 2.0, 2.0]))
    # on even replications the first is best, and scored on odd ones; there the second is, and scored on even ones
    replications, losses = best_of_other_half(halves)
    assert losses.tolist() == [2.0, 9.0, 2.0, 9.0] and replications.tolist() == [0, 1, 2, 3]
    assert best_of_other_half([(np.array([0]), np.array([1.0]))]) is None


def test_trees_learners_without_privacy_and_infinite_budgets_are_the_reference():
    parts = [
        rows("dt", "a", [4.0, 4.0]),
        rows("krr", "a", [3.0, 3.0], panel=NON_PRIVATE_PANEL, epsilon=1000.0),
        rows("tree", "a", [2.0, 2.0], epsilon=np.inf),
        rows("tree", "a", [6.0, 6.0]),
    ]
    for kept, ratio in ((1, 1.5), (2, 2.0), (3, 3.0)):
        table = standings([run(*parts[:kept], parts[3])])
        assert table["privacy"].tolist().count(NONE) == kept
        assert table[table["privacy"] != NONE]["over_free"].tolist() == [ratio]


def test_a_reference_stands_for_the_same_data_and_may_read_what_its_mask_shows():
    scaled, free = "a[label_range=scale]", {"panel": NON_PRIVATE_PANEL, "epsilon": 1000.0}
    table = standings([run(
        rows("dt", "a", [4.0, 4.0]), rows("gp", scaled, [3.0, 3.0], **free),
        rows("gp", "a", [2.0, 2.0], mask="label_only", **free), rows("gp", "a[public_share=0.1]", [1.0, 1.0], **free),
        rows("tree", "a", [6.0, 6.0]), rows("tree", scaled, [8.0, 8.0]),
    )]).set_index("method")  # fmt: skip
    assert table.loc["tree", "over_free"].tolist() == [3.0, 4.0], "neither the other mask's nor the other sample's"


def test_no_private_method_beats_what_it_is_without_privacy_by_more_than_noise():
    """Seeded noise: of forty methods, each beside itself without privacy, none is clearly below the reference."""
    rng, parts = np.random.default_rng(0), []
    for dataset in "abcdefgh":
        for k in range(5):
            exact = 1.0 + 0.1 * k + 0.05 * rng.normal(size=20)
            parts.append(rows(f"m{k}", dataset, exact, epsilon=np.inf))
            parts.append(
                rows(f"m{k}", dataset, exact + 0.02 * np.abs(rng.normal(size=20)) + 0.05 * rng.normal(size=20))
            )
    table = standings([run(*parts)])
    private = table[table["privacy"] != NONE]
    assert len(private) == 40 and private["over_free"].notna().all()
    assert (private["over_free"] + 4 * private["over_free_se"] > 1).all()


def test_what_the_test_rows_choose_is_too_good():
    """Three points, four replications: each half chooses another point, and the other half scores it."""
    values = {"a": [1.0, 4.0, 1.0, 4.0], "b": [4.0, 1.0, 4.0, 1.2], "c": [2.5, 2.5, 2.5, 2.5]}
    scores = table(*(cell("m", v, params=f'{{"p":"{name}"}}') for name, v in values.items()), cell("alone", [1.0] * 4))
    [row] = optimism(scores).to_dict("records")
    # c and a tie at 2.5, the first in order is a; the even half chooses a, the odd one b: scored 4, 4 and 4, 4
    assert (row["method"], row["oracle"], row["crossed"]) == ("m", 2.5, 4.0)
    assert row["se"] == pytest.approx(np.std([3, 0, 3, 0], ddof=1) / 2)


def test_accuracies_are_losses_of_one_minus_the_score():
    found = standings(
        [
            run(
                rows("tree", "a", [0.9, 0.7], metric="accuracy"),
                rows("private_mean", "a", [0.6, 0.6], metric="accuracy"),
            )
        ]
    )
    row = found.set_index("method").loc["tree"]
    assert (row["task"], row["loss"], row["over_constant"]) == (
        "classification",
        pytest.approx(0.2),
        pytest.approx(0.5),
    )


def test_a_setting_has_one_row_and_every_selection_that_chose_it():
    both = rows("tree", "a", [1.0]) + rows("tree", "a", [1.0], selection="tuning_free")
    chosen = rows("tree", "a", [3.0], selection="private", params='{"depth":2}')
    table = standings([run(both, chosen, rows("krr", "a", [2.0], selection="tuning_free"))])
    assert sorted(table["selection"]) == ["oracle tuning_free", "private", "tuning_free"]
    assert view(table, "oracle")["loss"].tolist() == [1.0]
    # fair: chosen by reports before fixed beforehand
    assert view(table, "fair").set_index("method")["loss"].to_dict() == {"tree": 3.0, "krr": 2.0}


def test_intervals_are_over_data_sets_and_their_draws_are_many():
    rng, logs = np.random.default_rng(3), np.random.default_rng(1).normal(size=10)
    found = geometric_mean(np.exp(logs))
    assert SET_RESAMPLES >= 100_000 and found.estimate == pytest.approx(np.exp(logs.mean()))
    again = np.exp(logs[rng.integers(10, size=(200_000, 10))].mean(axis=1))
    # the ends of two bootstraps of so many draws differ by their Monte-Carlo error alone
    assert [found.low, found.high] == pytest.approx(np.quantile(again, [0.025, 0.975]), rel=0.01)
    few = geometric_mean(np.exp(logs[: FEWEST - 1]))
    assert np.isnan([few.low, few.high]).all() and few.estimate > 0
    gone = pd.DataFrame({"a": [1.0, 4.0], "b": [np.nan, 2.0]})
    assert geometric_means(gone).tolist() == [2.0, 2.0] and geometric_mean(gone["b"]).estimate == 2.0


def test_a_clear_difference_over_data_sets_is_found_and_variants_of_one_are_no_evidence():
    names = [f"d{k}" for k in range(9)]
    losses = pd.DataFrame({"a": 1.0 + np.arange(9), "b": 2.0 + np.arange(9), "c": 1.0 + np.arange(9)}, index=names)
    found = compare_losses(losses, "a").set_index("method")
    assert found.loc["b", "p"] == pytest.approx(2 * 2.0**-8) == least_p(9, 3)
    assert found.loc["c", "p"] == 1.0 and np.isnan(found.loc["a", "p"])
    variants = losses.set_axis([f"d[k={k}]" for k in range(9)])
    assert compare_losses(variants, "a")["p"].isna().all()
    # the verdict on two methods does not depend on the columns beside them, but for Holm's factor
    assert compare_losses(losses[["a", "b"]], "a").set_index("method").loc["b", "p"] == pytest.approx(2.0**-8)


def test_a_method_without_a_loss_ranks_last_and_has_no_ratio_there():
    losses = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, np.nan]}, index=["d", "e"])
    found = compare_losses(losses, "a").set_index("method")
    assert found["rank_sum"].to_dict() == {"a": 2.0, "b": 4.0} and found.loc["b", "datasets"] == 1
    assert found.loc["b", "control"] == 2.0 and np.isnan(found.loc["b", "p"])
    assert (found.loc["b", "wins"], found.loc["b", "losses"]) == (1, 0)
