import re
from dataclasses import replace

import pytest

from lpbench.analysis.standings import least_p
from lpbench.reporting.artifact import summarize_experiment, write_artifact
from lpbench.reporting.figures.budgets import draw_budgets, slug
from lpbench.reporting.figures.comparisons import parts
from lpbench.reporting.figures.ranks import control_of
from lpbench.reporting.paper import paper_of
from tests.reporting.fake import CARDS, card, experiment, scores_of, typed

FLOOR = CARDS | {"private_mean": card("PrivateMean", "regression", {})}


@pytest.fixture(scope="module")
def table():
    """Two of the three budgets of the floor's table."""
    found = experiment("extensions/constants_regression")
    return found | {"groups": [found["groups"][0] | {"epsilon": [1, 2]}]}


@pytest.fixture(scope="module")
def scores(table):
    order = {"histoftree_max_edge": 1.0, "histoftree_cart": 1.1, "par_dt": 1.2, "private_mean": 1.3}
    return scores_of(table, lambda k: order.get(k["method"], 1.5) / k["epsilon"], replications=6)


def test_files_of_a_table_at_two_budgets(table, scores, tmp_path):
    write_artifact(typed(table), scores, FLOOR, tmp_path)
    names = {p.name for p in tmp_path.glob("*.svg")}
    assert "constants_regression_ranks.svg" in names
    # ten data sets and seven methods are too many for a plot of the scores: the leaderboard has them
    assert not any("differences" in n for n in names)
    text = (tmp_path / "constants_regression_ranks.svg").read_text(encoding="utf-8")
    assert "PrivateMean (constant)" in text and "10 data sets" in text and "Wilcoxon" in text
    assert f"p ≥ {least_p(10, 6):.2g}" in text and "Nemenyi" not in text


def test_parts_hold_what_the_summary_says(table, scores):
    summary = summarize_experiment(typed(table), scores, FLOOR)
    found = parts(summary, "oracle")
    assert [(p.group, p.epsilon) for p in found] == [(m, e) for e in (1, 2) for m in ("aligned", "personalized")]
    means = found[0].competing.means
    assert means.shape == found[0].competing.errors.shape and len(means) == 10 and "dt" not in means
    assert list(means.mean().sort_values().index[:3]) == ["histoftree_max_edge", "histoftree_cart", "par_dt"]


def test_the_control_is_named_before_the_scores_are_known():
    compared = typed(experiment("extensions/tuning_free_regression"))
    assert control_of(compared, paper_of(compared.name), ["krr", "residual_gp"]) == "residual_gp"
    table1 = typed(experiment("histoftree/table1"))
    assert control_of(table1, paper_of(table1.name), ["krr", "histoftree_cart", "par_dt"]) == "histoftree_cart"
    assert control_of(table1, paper_of(table1.name), ["krr", "par_dt"]) == "krr"


def test_few_data_sets_or_variants_of_one_get_no_ranks(tmp_path):
    table = experiment("extensions/sensitivity_order")
    write_artifact(typed(table), scores_of(table, lambda k: 1.0, replications=3), CARDS, tmp_path)
    assert not list(tmp_path.glob("*_ranks.svg"))


def test_names_of_files():
    assert slug("aligned, ε = 0.5") == "aligned_epsilon_0.5" and slug("a[b=1]") == "a_b_1"


def test_no_title_is_wider_than_its_figure(table, scores, tmp_path):
    found = parts(summarize_experiment(typed(table), scores, FLOOR), "oracle")
    found = [replace(part, means=part.means[:1]) for part in found]
    for path in draw_budgets(found, tmp_path, "constants_budgets", "oracle", FLOOR):
        text = path.read_text(encoding="utf-8")
        width = float(re.search(r'width="([\d.]+)pt"', text)[1])
        classes = "|".join(re.findall(r"\.(s\d+)\{font-size: 9px", text)) or "none"  # styles that several texts share
        lines = re.findall(rf'<text [^>]*(?:style="font-size: 9px|class="(?:{classes})")[^>]*>([^<]+)<', text)
        assert any("aligned" in line or "personalized" in line for line in lines)
        assert max(map(len, lines)) * 9 * 0.52 <= width
