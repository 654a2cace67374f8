"""Headlines by hand, and the numbers of the README against those of the committed results."""

import re

import numpy as np
import pandas as pd
import pytest

from lpbench.paths import COMMITTED
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.headlines import (
    DRAWS,
    Headline,
    distances,
    headlines,
    in_words,
    one_row_each,
    over_sets,
    table_of,
)
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


def test_the_interval_over_data_sets_has_draws_enough():
    rng = np.random.default_rng(1)
    apart, sets = pd.Series(rng.exponential(size=60)), pd.Series(np.repeat([f"d{k}" for k in range(10)], 6))
    ends = over_sets(apart, sets)
    blocks = apart.to_numpy().reshape(10, 6)
    drawn = np.median(blocks[rng.integers(10, size=(100_000, 10))].reshape(100_000, 60), axis=1)
    assert DRAWS >= 100_000 and list(ends) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), rel=0.02)
