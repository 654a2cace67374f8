import hashlib
import re
import sys

import numpy as np
import pandas as pd
import pytest

from lpbench import members
from lpbench.analysis import read_csv
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog
from lpbench.experiments.config import Runner
from lpbench.experiments.job import job_of
from lpbench.pipeline import run_jobs
from lpbench.reporting.artifact import (
    seconds_as_scores,
    stated_settings,
    summarize_experiment,
    write_artifact,
    write_drawing,
)
from lpbench.reporting.comparison import COMPARISON_COLUMNS, compare
from lpbench.reporting.figures.curves import labeled_curves, published_curves
from lpbench.reporting.figures.lines import _looks, _panel_title, draw_lines
from lpbench.reporting.numbers import print_number
from lpbench.reporting.pages.site import Site
from lpbench.reporting.paper import paper_of
from lpbench.reporting.publish import report_experiment
from lpbench.reporting.tables.grid import build
from lpbench.reporting.tables.latex import to_latex
from lpbench.selectors import Selector
from tests.reporting.fake import CARDS, bare, card, experiment, placeholder, scores_of, typed

ORDER = [
    *("dt", "histoftree_cart", "adhistoftree_cart", "histoftree_max_edge", "adhistoftree_max_edge"),
    *("par_dt", "krr", "hist"),
]


def ladder(key) -> float:
    """DT has error 1, each further method 0.2 more; the second grid point is a little worse."""
    return (1 + 0.2 * ORDER.index(bare(key["method"]))) * (1 + 0.02 * (key["point"].get("depth", 1) - 1))


@pytest.fixture(scope="module")
def table1():
    body = experiment("histoftree/table1")
    scores = scores_of(body, ladder)
    lost = scores.eval("dataset == 'portfolio' and method == 'krr[variant=text]' and mask == 'aligned'")
    note = placeholder(body, "portfolio", "krr[variant=text]", 2, "timeout", "over the time limit of 3 s")
    return summarize_experiment(typed(body), pd.concat([scores[~lost], note], ignore_index=True), CARDS)


def test_comparison_has_all_published_cells(table1):
    rows = compare("histoftree/table1", paper_of("histoftree"), table1)
    assert list(rows.columns) == COMPARISON_COLUMNS
    bare_rows = rows[~rows["method"].str.contains("inferred")]
    assert len(bare_rows) == 120
    # the variant stands beside the default, compared with the same printed cells
    beside = rows.drop(bare_rows.index)
    assert len(beside) == 10 * (3 + 5) and set(beside["method"].str.extract(r"\[(.*)\]")[0]) == {"variant=inferred"}
    keyed = rows.set_index(["dataset", "mask", "method"]).sort_index()
    cell = keyed.loc["abalone", "aligned", "par_dt[variant=text]"]
    assert cell["published"] == 1.63
    assert cell["reproduced"] == pytest.approx(2.0, abs=0.02)
    assert 0 < cell["se"] < 0.02
    assert cell["difference"] == pytest.approx(cell["reproduced"] - 1.63)
    assert cell["relative_difference"] == pytest.approx(cell["difference"] / 1.63)
    lost = keyed.loc["portfolio", "aligned", "krr[variant=text]"]
    assert np.isnan(lost["reproduced"]) and "timeout: over the time limit" in lost["note"]


def test_comparison_without_results_keeps_every_cell():
    body = experiment("histoftree/table2")
    scores = placeholder(body, "abalone", "dt", 1, "skipped", "no data")
    rows = compare("histoftree/table2", paper_of("histoftree"), summarize_experiment(typed(body), scores, CARDS))
    assert len(rows) == 120 and rows["reproduced"].isna().all() and (rows["note"] != "").all()


def test_table_in_the_papers_layout(table1):
    [grid] = build("histoftree/table1", paper_of("histoftree"), table1, CARDS)
    paper = [c for c in grid.layout.columns if c.paper_method]
    assert [c.mask for c in paper].count("aligned") == 5 and [c.mask for c in paper].count("personalized") == 7
    labels = [label for label, _ in grid.layout.datasets]
    assert [label[-4:-1] for label in labels] == "ABA AQU BUI DAK FIS MUS POR PYR RED WHI".split()
    assert labels[0] == "Abalone (ABA)"
    footer = dict(grid.footer)
    assert footer["Rank sum, published"][:5] == ("22", "15", "28", "45", "43")
    # in every data set CART, max-edge, ParDT, KRR, Hist; the missing KRR cell is last
    assert footer["Rank sum, reproduced, average ties"][:5] == ("20", "10", "30", "49", "41")
    assert ("1.65", "1.20") in {(c.published, c.reproduced) for c in grid.cells[0] if c.bold}
    assert "over the time limit of 3 s" in grid.reasons[0]
    latex = latex_of("T", grid)
    assert latex.count(r"\begin{tabular}") == 1 and latex.count("\naligned: ") == 8 and "1.65 / $" in latex
    assert "_" not in latex.replace(r"\_", "")


def test_variant_is_shown_and_not_ranked(table1):
    [grid] = build("histoftree/table1", paper_of("histoftree"), table1, CARDS)
    extra = [k for k, c in enumerate(grid.layout.columns) if not c.paper_method]
    labels = [grid.layout.columns[k].label for k in extra]
    assert len(labels) == 3 + 5 and all("inferred" in label for label in labels)
    assert all(dict(grid.footer)["Rank sum, reproduced, average ties"][k] == "" for k in extra)


@pytest.mark.parametrize(
    ("value", "style", "text"),
    [
        (1.234, "three_digits", "1.23"),
        (22.58, "three_digits", "22.6"),
        (10000.0, "three_digits", "1e4"),
        (700.0, "three_digits", "700"),
        (0.83461, "per_cent", "83.46"),
        (0.123456, "general", "0.1235"),
        (255_512.0, "general", "255500"),
        (25_550_000.0, "general", "2.555e+07"),
        (float("nan"), "per_cent", ""),
    ],
)
def test_numbers_have_the_digits_of_the_paper(value, style, text):
    assert print_number(value, style) == text


def test_stated_setting_off_the_grid_is_found_out():
    body = experiment("histoftree/figure2a")
    scores = scores_of(body, lambda key: 1.0)
    settings = stated_settings(typed(body), scores, {"histoftree_max_edge": card("", "regression", {"depth": 3})})
    assert not settings["", "aligned[n_protected=1]", "histoftree_max_edge"].on_grid
    settings = stated_settings(typed(body), scores, {"hist": card("", "regression", {"depth": 2})})
    assert settings["", "all_private", "hist"].on_grid


def test_folder_of_a_figure_is_deterministic_and_complete(tmp_path):
    body = experiment("histoftree/figure2a")
    scores = scores_of(body, lambda key: 1 + 1 / key["epsilon"], replications=4)
    digests = []
    for k in range(2):
        folder = tmp_path / str(k)
        write_artifact(typed(body), scores.sample(frac=1, random_state=k), CARDS, folder)
        names = sorted(p.name for p in folder.iterdir())
        digests.append([(n, hashlib.sha256((folder / n).read_bytes()).hexdigest()) for n in names])
    assert digests[0] == digests[1]
    assert {"summary.csv", "comparison.csv", "figure2a.svg"} <= set(names)
    assert read_csv(folder / "comparison.csv").empty


@pytest.mark.parametrize("name", ["histoftree/table1", "histoftree/figure2a", "lpct/figure4a"])
def test_an_artifact_meets_its_paper_once(name, tmp_path, monkeypatch):
    body, asked = experiment(name), noted_papers(monkeypatch)
    metric = "mse" if body["paper"] == "histoftree" else "accuracy"
    scores = scores_of(body, lambda key: 0.5, metric=metric, replications=2)
    write_artifact(typed(body), scores, CARDS, tmp_path)
    assert asked == [name]


def noted_papers(monkeypatch):
    """Names by which papers are looked up from here on."""
    asked = []

    def noted(experiment):
        asked.append(experiment)
        return paper_of(experiment)

    for module in [m for m in sys.modules.values() if vars(m).get("paper_of") is paper_of]:
        if module.__name__ != __name__:
            monkeypatch.setattr(module, "paper_of", noted)
    return asked


def test_a_job_and_its_page_look_their_paper_up_once(tmp_path, monkeypatch):
    name, asked = "histoftree/figure2c", noted_papers(monkeypatch)
    job = job_of(catalog.experiment(name), replications=1, seed=2025)
    result = run_jobs([job], tmp_path, Runner(backend="serial"))
    assert asked == [name] and Site.__module__ in sys.modules  # pages are imported before calls are counted
    assert report_experiment(tmp_path, name, result.papers[name]).is_file() and asked == [name]


def test_no_selector_is_read_again_once_a_job_is_planned(tmp_path, monkeypatch):
    name, read = "histoftree/figure2c", []

    def noted(text, parse=Selector.parse):
        frame = sys._getframe(1)
        while frame.f_globals["__name__"] == Selector.__module__:
            frame = frame.f_back
        read.append((frame.f_globals["__name__"], text))
        return parse(text)

    job = job_of(catalog.experiment(name), replications=1, seed=2025)
    members.member.cache_clear()
    assert job.plan.blocks and members.member.cache_info().currsize
    monkeypatch.setattr(Selector, "parse", staticmethod(noted))
    result = run_jobs([job], tmp_path, Runner(backend="serial"))
    report_experiment(tmp_path, name, result.papers[name])
    assert {module for module, _ in read} <= {catalog.__name__}


def test_published_curves_lie_under_ours(tmp_path):
    body = {
        "name": "lpct/figure4a",
        "paper": "lpct",
        "kind": "figure",
        "groups": [{"dataset": ["posterior_drift"], "method": ["lpct_max_edge[variant=text]",
                    "lpct_max_edge[variant=published_code]"], "epsilon": [0.5, 1, 1000], "x": "epsilon"}],
    }  # fmt: skip
    scores = scores_of(body, lambda key: 0.65, metric="accuracy", replications=3)
    write_artifact(typed(body), scores, CARDS, tmp_path)
    rows = read_csv(tmp_path / "comparison.csv")
    assert len(rows) == 27  # 24 published points, three of which have two variants
    assert rows["reproduced"].notna().sum() == 6


def test_a_published_curve_of_a_data_set_looks_like_ours_of_that_data_set():
    body = experiment("lpct/figure8")
    scores = scores_of(body, lambda key: 0.65, metric="accuracy", replications=3)
    table = summarize_experiment(typed(body), scores, CARDS).table
    ours = labeled_curves(typed(body), table, CARDS)
    under = published_curves("lpct/figure8", paper_of("lpct"), ours)
    assert len(under) == 6
    label = {(c.panel, c.dataset.partition("[")[0]): c.label for c in ours}
    assert {(c.panel, c.dataset): c.label for c in under} == label


def test_timing_compares_seconds_within_the_run():
    body = {"name": "lpct/table3", "paper": "lpct", "kind": "timing", "groups": [
        {"dataset": ["email"], "method": ["ct_w", "psgd_neural"], "epsilon": [2]}]}  # fmt: skip
    scores = scores_of(body, lambda key: 0.9, metric="accuracy", replications=3)
    scores["seconds"] = np.where(scores["method"] == "ct_w", 0.5, 50.0)
    assert seconds_as_scores(scores)["value"].tolist() == [0.5] * 3 + [50.0] * 3
    summary = summarize_experiment(typed(body), scores, CARDS)
    rows = compare("lpct/table3", paper_of("lpct"), summary).set_index(["dataset", "method"])
    assert rows.loc[("email", "psgd_neural"), "reproduced"] == pytest.approx(100)


def test_unknown_drawing_is_an_error(tmp_path):
    with pytest.raises(ConfigurationError, match="histoftree/figure9"):
        write_drawing(typed({"name": "histoftree/figure9"}), tmp_path, 0)


def test_masks_are_drawn(tmp_path):
    write_drawing(typed(experiment("histoftree/figure1")), tmp_path, 0)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["figure1.png", "figure1.svg"]
    assert (tmp_path / "figure1.svg").stat().st_size > 5000


def test_budgets_that_differ_by_panel_are_in_the_titles():
    body = {"name": "lpct/figure10", "paper": "lpct", "kind": "figure", "groups": [
        {"panel": p, "dataset": ["employee"], "method": ["lpct_max_edge", "lpct_p"], "epsilon": [e],
         "x": "dataset.private_fraction", "values": [0.2, 1]} for p, e in (("a", 8), ("b", 1000))]}  # fmt: skip
    table = summarize_experiment(
        typed(body), scores_of(body, lambda key: 0.7, metric="accuracy", replications=3), CARDS
    ).table
    found = labeled_curves(typed(body), table, CARDS)
    assert {(c.panel, c.epsilon) for c in found} == {("a", 8.0), ("b", 1000.0)}
    assert _panel_title("b", found) == "(b) ε = 1000 (non-private)"
    assert len(_looks(found)["color"]) == 2  # by method, not by budget


def test_a_legend_has_printed_names_and_a_default_variant_once(tmp_path):
    body = experiment("lpct/figure10")
    known = CARDS | {"lpdt[variant=published_code]": card("LPDT", "classification")}
    scores = scores_of(body, lambda key: 0.65, metric="accuracy", replications=3)
    table = summarize_experiment(typed(body), scores, known).table
    [path] = draw_lines(typed(body), paper_of("lpct"), table, known, tmp_path, "figure10", "oracle")
    words = set(re.findall(r">([^<>]+)</text>", path.read_text(encoding="utf-8")))
    assert "LPDT" in words and not {w for w in words if "lpdt" in w or "variant" in w}


def latex_of(title, grid):
    return to_latex(title, "tab:t", [grid], selection="oracle", marks="marked", replications=3, published=True)


@pytest.mark.parametrize("title", [r"\input{/etc/passwd}", r"$\write18{id}$ ^^5cinput", r"a~b {c} \\ % & # _"])
def test_a_title_is_text_to_latex(table1, title):
    """Nothing of a title is a command: taking LaTeX's own escapes away leaves none of its special characters."""
    [grid] = build("histoftree/table1", paper_of("histoftree"), table1, CARDS)
    caption = latex_of(title, grid).split(r"\caption{")[1].split("\n")[0]
    plain = re.sub(
        r"\\text(backslash|asciicircum|asciitilde)\{\}|\\[&%_#${}]|\$\\(pm|rho|lambda|varepsilon)\$", "", caption
    )
    assert not set(plain.removesuffix("}")) & set("\\$^~{}%&#_")
