"""Feature-free baselines on tables whose answers are known: published wins, and the worth of oracle selection."""

from types import SimpleNamespace

import numpy as np
import pytest

from lpbench.analysis.standings import NONE, standings
from lpbench.reporting.baselines import best_constants, by_selection, published_wins
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.paper import paper_of
from lpbench.reporting.published import published_cells
from lpbench.reporting.standings import standings_of
from tests.analysis.test_standings import rows, run
from tests.reporting.fake import CARDS, card, experiment, scores_of, typed
from tests.reporting.store import put

NAME = "histoftree/table1"


def _floor(ratio):
    return SimpleNamespace(metric="mse", loss=ratio, ratio=ratio)


@pytest.mark.parametrize("ratio, share", [(1e-6, 1.0), (1e12, 0.0)])
def test_all_or_no_win_lies_below_an_extreme_floor(ratio, share):
    cells = published_cells(NAME)
    floor = {(d, 2.0): _floor(ratio) for d in cells["dataset"].unique()}
    rows = published_wins(NAME, paper_of(NAME), floor)
    assert [r["mask"] for r in rows] == ["aligned", "personalized"]
    for row in rows:
        assert row["wins"] == row["datasets"] == 9  # Building is ruled out
        assert all(row[f"{k}_below"] == share * row[k] for k in ("wins", "proposed", "marks", "cells"))


def test_one_data_set_between_two_published_values():
    cells = published_cells(NAME)
    values = np.sort(cells[(cells["dataset"] == "abalone") & (cells["mask"] == "aligned")]["published"])
    floor = {("abalone", 2.0): _floor((values[0] + values[1]) / 2)}
    row = published_wins(NAME, paper_of(NAME), floor)[0]
    assert (row["datasets"], row["wins"], row["wins_below"]) == (1, 1, 0)
    assert row["cells_below"] == row["cells"] - 1 == len(values) - 1
    assert (row["wins_least"], row["wins_most"]) == (0, int(values[0] >= 0.95 * (values[0] + values[1]) / 2))


def test_a_method_without_private_data_is_no_win():
    cells = published_cells("lpct/table2").query("dataset == 'rice' and epsilon == 0.5")
    found = SimpleNamespace(metric="accuracy", loss=1.0, ratio=np.nan)
    [row] = published_wins("lpct/table2", paper_of("lpct"), {("rice", 0.5): found})
    # neither CT-W nor CT-Q
    assert row["cells"] == cells["published"].notna().sum() - 2 and row["wins_below"] == 0
    assert published_wins("lpct/figure4a", paper_of("lpct"), {}) == []  # figures have no wins


def test_the_named_constant_counts_beside_the_tree_of_its_replications():
    table = standings([run(
        rows("private_mean", "abalone", [4.0, 8.0]), rows("private_constant", "abalone", [3.0, 5.0], mask="other"),
        rows("dt", "abalone", [1.0, 3.0, 500.0]),
    )])  # fmt: skip
    assert table[table["method"] == "dt"]["privacy"].tolist() == [NONE]
    [(place, found)] = best_constants(table).items()
    assert place == ("abalone", 1.0)
    assert (found.method, found.mean, found.replications) == ("private_mean", 6.0, 2)
    # the better of two would be an oracle; a constant looks at no feature and stands for every mask;
    # the tree has a replication more
    assert found.ratio == pytest.approx(3.0) and found.ratio_se == pytest.approx(0.75)


def test_selections_count_what_beats_the_constant(tmp_path):
    table = experiment("extensions/constants_regression")
    table = table | {"groups": [table["groups"][0] | {"epsilon": [1]}]}
    cards = CARDS | {"private_mean": card("PrivateMean", "regression", {})}

    def mean(key):
        # by oracle selection (depth 1) the max-edge tree beats the constant, the stated setting (depth 2) does not
        if key["method"] == "histoftree_max_edge":
            return 0.5 if key["point"] == {"depth": 1} else 1.5
        return 1.0 if key["method"] == "private_mean" else 2.0

    put(tmp_path, table, scores_of(table, mean, replications=8), cards=cards)
    rows = standings_of([ReportEntry(typed(table), tmp_path)], cards)
    found = {(r["method"], r["mask"]): r for r in by_selection(rows, cards)}
    row = found["histoftree_max_edge", "aligned"]
    assert (row["datasets"], row["oracle"], row["oracle_significant"], row["tuning_free"]) == (10, 10, 10, 0)
    assert row["cost"] == pytest.approx(3.0)
    assert found["histoftree_cart", "aligned"]["oracle"] == 0


def test_counts_of_significant_wins_rest_on_the_common_replications():
    """Fifty replications of a table beside twenty of the constant: compared on twenty, not on none."""
    losses = 1.0 + 0.1 * np.arange(50)
    both = [rows("krr", "abalone", losses, selection=s) for s in ("oracle", "tuning_free")]
    table = standings([run(*both), run(rows("private_mean", "abalone", losses[:20] + 0.05), name="test/floor")])
    [row] = by_selection(table[table["experiment"] == "test/table"], {})
    assert (row["oracle"], row["oracle_significant"], row["tuning_free_significant"]) == (1, 1, 1)
