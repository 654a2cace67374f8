import numpy as np
import pytest

from lpbench.papers.histoftree.errata import histoftree_tie_rules
from lpbench.papers.lpct.claims_tables import published_above_bound
from lpbench.papers.lpct.errata import lpct_reachable, printed_eta_range
from lpbench.papers.published_files import read
from lpbench.paths import PUBLISHED
from lpbench.reporting.paper import errata, papers
from lpbench.reporting.published import published_cells, published_rank_sums

TABLES = {f"histoftree/table{k}": 120 for k in (1, 2, 3)}
COUNTS = TABLES | {"lpct/table1": 33, "lpct/table2": 363, "lpct/table3": 121}
FIGURES = {"4a": 24, "4b": 24, "4c": 30, "5a": 35, "5b": 49, "5c": 42, "6a": 120, "6b": 135}
FIGURES |= {"7a": 35, "7b": 35, "7c": 50, "8": 48, "9": 90, "10": 30}
COUNTS |= {f"lpct/figure{figure}": count for figure, count in FIGURES.items()}


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
def test_every_published_cell_is_there_once(name, count):
    cells = published_cells(name)
    assert len(cells) == count
    assert not cells.duplicated(["panel", "dataset", "mask", "method", "epsilon", "x"]).any()


def test_every_point_of_the_figures_file_belongs_to_an_experiment():
    assert sum(len(published_cells(f"lpct/figure{figure}")) for figure in FIGURES) == len(read("lpct_figures.csv"))


def test_a_curve_without_a_budget_of_its_own_has_the_smallest_of_its_panel():
    budgets = published_cells("lpct/figure5b").groupby("method")["epsilon"].unique().map(list)
    assert budgets["lpct_q"] == [1.0] and budgets["lpct_p"] == [1.0, 4.0, 8.0]
    ranges = published_cells("lpct/figure8")
    assert set(zip(ranges["panel"], ranges["epsilon"], strict=True)) == {("b", 0.5), ("c", 8.0)}
    assert set(ranges["dataset"]) == {"range_known", "range_estimated", "range_unknown"}


def test_cells_carry_printed_values_stars_and_notes():
    cells = published_cells("histoftree/table1").set_index(["dataset", "mask", "method"])
    assert cells.loc[("abalone", "personalized", "histoftree_max_edge"), "published"] == 1.61
    assert cells.loc[("abalone", "personalized", "histoftree_max_edge"), "starred"]
    assert not cells.loc[("abalone", "personalized", "adhistoftree_max_edge"), "starred"]
    assert "same 6.69" in cells.loc[("istanbul_stock", "aligned", "histoftree_max_edge"), "note"]
    assert cells.loc[("abalone", "aligned", "krr"), "note"] == ""


def test_a_minus_is_missing_seconds_are_multiples_of_the_non_private_tree_and_other_experiments_have_no_cell():
    cells = published_cells("lpct/table2").set_index(["epsilon", "dataset", "method"])["published"]
    assert np.isnan(cells[0.5, "email", "phist"]) and cells[8.0, "taxi", "lpct_cart"] == 0.9610
    seconds = published_cells("lpct/table3").set_index(["dataset", "method"])["published"]
    assert seconds["email", "ct_w"] == 1 and seconds["email", "psgd_neural"] == pytest.approx(1000)
    assert published_cells("extensions/constants_regression").empty and published_rank_sums("lpct/figure4a").empty


def test_notes_refer_to_published_cells():
    for row in read("notes.csv").itertuples():
        cells = published_cells(row.experiment)
        for key in ("dataset", "mask", "method"):
            value = getattr(row, key)
            assert not value or value in set(cells[key]), row
        assert row.note in " ".join(cells["note"]), row


def test_every_file_is_described():
    text = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    for path in PUBLISHED.glob("*.csv"):
        assert f"`{path.name}`" in text, path.name


def test_rank_sums_of_the_first_paper_mix_two_tie_rules():
    counts = histoftree_tie_rules()
    assert counts["aligned"]["max"] == counts["aligned"]["of"] == 15
    assert counts["personalized"]["min"] == counts["personalized"]["of"] == 21
    assert counts["aligned"]["min"] < 15 and counts["personalized"]["max"] < 21


def test_rank_sums_of_the_second_paper_are_out_of_reach():
    outside = {}
    for epsilon in (0.5, 2.0, 8.0):
        table = lpct_reachable(epsilon)
        outside[epsilon] = int(((table["printed"] < table["min"]) | (table["printed"] > table["max"])).sum())
        assert table["printed"].sum() == 605
    assert outside == {0.5: 3, 2.0: 8, 8.0: 6}


def test_the_second_paper_exceeds_its_upper_bound_and_its_regression_function_the_unit_interval():
    assert published_above_bound() == 24
    low, high = printed_eta_range()
    assert low < 0 and high > 1


def test_every_erratum_has_a_computation():
    found = errata(papers())
    assert {e["paper"] for e in found} == {"H", "L", "Z"}
    assert all(e["computation"] and e["what"] for e in found)
