"""Headlines by hand, and the numbers of the README against those of the committed results."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lpbench.analysis.summary import REFERENCES
from lpbench.experiments import catalogue
from lpbench.experiments.results import Results
from lpbench.paths import COMMITTED, PUBLISHED
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.headlines import Headline, cut_grids, distances, headlines, in_words, one_row_each, table_of
from tests.reporting.fake import experiment, scores_of, typed
from tests.reporting.store import put

KEYS = ["experiment", "panel", "dataset", "mask", "method", "epsilon", "x"]


def rows(*values) -> pd.DataFrame:
    keys = {"panel": "", "mask": "", "epsilon": 2.0, "x": float("nan")}
    table = pd.DataFrame([keys | {"dataset": d, "method": m, "published": p, "reproduced": r} for d, m, p, r in values])
    table["difference"] = table["reproduced"] - table["published"]
    return table.assign(relative_difference=table["difference"] / table["published"])


def test_a_printed_cell_has_one_row_whatever_the_variants():
    nothing = float("nan")
    table = rows(
        ("rice", "lpct_cart", 0.9, 0.8),
        ("rice", "lpct_cart[variant=published_code]", 0.9, 0.9),
        ("rice", "phist", nothing, 0.7),
        ("email", "phist", 0.6, nothing),
    )
    kept = one_row_each(table)
    # the bare name stands for the method; what the paper prints as a dash is no number
    assert kept[["dataset", "method", "reproduced"]].fillna(0).to_numpy().tolist() == [
        ["rice", "lpct_cart", 0.8],
        ["email", "phist", 0.0],
    ]


def test_distances_have_the_unit_of_their_table():
    table = rows(("rice", "a", 0.8, 0.82), ("rice", "b", 2.0, 1.0))
    assert distances(table, "accuracy").tolist() == pytest.approx([2, 100])
    assert distances(table, "ratio").tolist() == pytest.approx([2.5, 50])
    assert distances(table, "seconds").tolist() == pytest.approx([1.025, 2])


def test_what_did_not_run_is_named(tmp_path):
    body = experiment("lpct/table2")
    for group in body["groups"]:
        group["dataset"] = ["rice", "email"]
    scores = scores_of(body, lambda key: 0.8, metric="accuracy", points=({},), replications=2)
    scores = scores[~(scores["method"].str.startswith("psgd_neural") & (scores["dataset"] == "email"))]
    put(tmp_path, body, scores)
    [found] = headlines([ReportEntry(typed(body), tmp_path)])
    assert (found.paper, found.kind, found.unit) == ("lpct", "tables", "accuracy")
    assert "PSGD-N on email" in found.absent and {"taxi", "jobs"} <= set(found.absent)
    assert str(found).startswith(f"for half of {found.compared} of {found.cells} printed numbers ours is within ")
    assert found.cells == 348  # 363 cells less the printed dashes


def test_numbers_in_words(tmp_path):
    shared = {"paper": "L", "check": "a", "configuration": "text", "judges": True, "counts": True, "artefact": "table2"}
    shared |= {"sentence": "s", "reason": "", "cause": "", "counted_apart": False}
    outcomes = (("L1", "holds", "mostly"), ("L2", "not printed", "holds"), ("L3", "holds", "fails"))
    rows = [shared | {"claim": c, "published_outcome": p, "ours_outcome": o} for c, p, o in outcomes]
    rows += [rows[2] | {"configuration": "code", "judges": False, "ours_outcome": "holds"}]
    rows += [rows[0] | {"claim": "L4", "counted_apart": True}]
    pd.DataFrame(rows).to_csv(tmp_path / "verdicts.csv")
    table_of([Headline("lpct", "curves", "accuracy", ("lpct/figure4a",), 5, 5, 1.25, ())]).to_csv(
        tmp_path / "headlines.csv"
    )
    claimed, _, near = in_words(tmp_path).splitlines()
    # claims; hold, in print too, without a print; undecided; fail; dependent on an interpretation; counted apart
    assert re.findall(r"\d+", claimed) == ["3", "2", "1", "1", "0", "1", "1", "1"]
    assert near.startswith("- LPCT, curves: ") and re.findall(r"[\d.]+", near) == ["5", "1.2", "."]


def test_sizes_are_equal_or_not_and_a_paper_without_counterparts_says_so():
    found = Headline("lpct", "sizes", "sizes", ("lpct/table1",), 33, 29, 2.0, ("a part of taxi",))
    assert str(found) == "2 of 29 compared numbers differ from print; not run: a part of taxi"
    assert str(Headline("p", "tables", "ratio", ("p/t",), 3, 0, float("nan"), ("all",))).startswith("none of 3 printed")


def test_headline_gains_follow_from_the_committed_scores():
    """Twenty lines of numpy on the committed summaries."""
    for row in pd.read_csv(COMMITTED / "headline_gains.csv", keep_default_na=False).itertuples():
        table = Results(COMMITTED).artefact(row.experiment).summary
        table = table[(table["mask"] == row.mask) & (table["epsilon"] == row.epsilon) & (table["panel"] == row.panel)]
        wide = table.pivot_table(index="dataset", columns=["method", "selection"], values="mean")
        free = (row.method, "tuning_free")
        own = wide[free if free in wide else (row.method, "oracle")].dropna()
        kept = experiment(row.experiment)["settings"].get("data_sets", {})
        if row.kind != "all":
            own = own[[d.partition("[")[0] in kept[row.kind] for d in own.index]]
        rivals = wide.xs("oracle", axis=1, level=1).loc[own.index].dropna(axis=1)
        rivals = rivals[[m for m in rivals if m.partition("[")[0] not in {row.method, *REFERENCES}]]
        gain = rivals.rsub(own, axis=0) * 100 if row.unit == "points" else np.log(rivals.div(own, axis=0))
        assert gain.mean().idxmin() == row.rival
        gain = gain[row.rival].to_numpy()
        half = stats.t.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain))
        ends = gain.mean() + np.array([0, -half, half])
        ends = ends if row.unit == "points" else 100 * (1 - np.exp(-ends))
        np.testing.assert_allclose([row.gain, row.low, row.high], ends, rtol=1e-5, atol=1e-6)


def committed_means(paper) -> pd.Series:
    """Mean scores of the best grid points, straight from the file."""
    scores = pd.read_parquet(COMMITTED / "scores" / f"{paper}.parquet")
    best = scores[scores["selections"].str.contains("oracle") & (scores["status"] == "ok")]
    return best.groupby(KEYS, dropna=False)["value"].mean()


def test_distances_follow_from_the_committed_scores():
    for row in pd.read_csv(COMMITTED / "headlines.csv").query("unit != 'sizes'").itertuples():
        means = committed_means(row.paper)
        tables = [
            pd.read_csv(COMMITTED / name / "comparison.csv", dtype={"panel": str}) for name in row.experiments.split()
        ]
        cells = pd.concat(tables).fillna({"panel": "", "mask": ""}).dropna(subset=["published"])
        cells["ours"] = means.reindex(pd.MultiIndex.from_frame(cells[KEYS])).to_numpy()
        if row.unit == "ratio":
            trees = means.xs("dt", level="method").groupby("dataset").mean()
            cells["ours"] /= cells["dataset"].map(trees)
        # one number a cell: the bare method or its variant text where a cell was run in several
        cells["other"] = cells["method"].str.contains("[", regex=False) & ~cells["method"].str.contains("=text]")
        cells["method"] = cells["method"].str.partition("[")[0]
        cells = cells.sort_values("other", kind="stable").drop_duplicates(KEYS).dropna(subset=["ours"])
        apart = 100 * (cells["ours"] - cells["published"]).abs()
        apart = apart / cells["published"] if row.unit == "ratio" else apart
        assert (row.compared, row.distance) == (len(apart), pytest.approx(apart.median(), rel=1e-4))
        assert np.isnan(row.low) if row.kind == "curves" else row.low < row.distance < row.high


def test_the_constant_against_published_scores_follows_from_the_committed_scores():
    names = pd.read_csv(PUBLISHED / "names.csv").query("kind == 'dataset'").set_index("published")["ours"]
    means = committed_means("extensions").reset_index()
    means = means[means["experiment"].isin(["extensions/floor", "extensions/floor_classification"])]
    means = means.assign(set=means["dataset"].str.partition("[")[0], kind=means["mask"].str.partition("[")[0])
    means = means.set_index(["method", "kind", "epsilon", "set"])["value"]
    means = means.groupby(level=[0, 1, 2, 3]).mean()
    ratio = means["private_mean", "aligned", 1.0] / means["dt", "aligned", 1.0]
    trees = pd.read_csv(PUBLISHED / "histoftree_tables.csv").query("epsilon == 1 and dataset != 'BUI'")
    classes = pd.read_csv(PUBLISHED / "lpct_table2.csv").query("epsilon == 0.5 and method not in ('CT-W', 'CT-Q')")
    classes = classes.dropna(subset=["accuracy"])
    majority = classes["dataset"].map(names).map(means["private_majority", "all_private", 0.5])
    cells, wins = np.zeros(2, dtype=int), np.zeros(2, dtype=int)
    for value, constant, group in (
        (trees["mse_ratio"], trees["dataset"].map(names).map(ratio), trees["paradigm"] + trees["dataset"]),
        (-classes["accuracy"], -majority, classes["dataset"]),
    ):
        below = pd.DataFrame({"below": value >= constant, "best": value == value.groupby(group).transform("min")})
        below = below[constant.notna()]
        cells += [below["below"].sum(), len(below)]
        best = below[below["best"]].groupby(group)["below"].max()
        wins += [best.sum(), len(best)]
    text = (COMMITTED / "index.html").read_text(encoding="utf-8")
    assert f"{cells[0]} of {cells[1]} published scores" in text and f"{wins[0]} of {wins[1]} published wins" in text


def test_no_rival_of_a_headline_has_less_than_its_papers_grid():
    cards = catalogue.methods()
    table = pd.read_csv(COMMITTED / "headline_gains.csv")
    for name, rows in table.groupby("experiment"):
        assert cut_grids(catalogue.experiment(name), sorted(set(rows["rival"])), cards) == []
    # LPCT's depth ends at 8 there, and at 16 in its paper
    assert "lpct_cart" in cut_grids(catalogue.experiment("field/classification"), ["lpct_cart"], cards)
