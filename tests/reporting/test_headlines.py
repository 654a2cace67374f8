"""Headlines by hand, and the numbers of the README against those of the committed results."""

import pandas as pd
import pytest

from lpbench.paths import ROOT
from lpbench.reporting.entries import Entry
from lpbench.reporting.headlines import Headline, distances, headlines, in_words, one_row_each, table_of
from tests.reporting.fake import experiment, scores_of, typed
from tests.reporting.store import put


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
    [found] = headlines([Entry(typed(body), tmp_path)])
    assert (found.paper, found.kind, found.unit) == ("lpct", "tables", "accuracy")
    assert "PSGD-N on email" in found.absent and {"taxi", "jobs"} <= set(found.absent)
    assert str(found).startswith(f"half of {found.compared} of {found.cells} printed numbers are within ")
    assert found.cells == 348  # 363 cells less the printed dashes


def test_the_readme_has_the_numbers_of_the_committed_results():
    folder = ROOT / "results" / "reproduced"
    if not (folder / "headlines.csv").is_file():
        pytest.skip("the committed results hold no headlines.csv")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert in_words(folder) in text, "run scripts/write_readme_numbers.py"
    assert len(text.split("<!-- numbers of the last full run -->")) == 2


def test_numbers_in_words(tmp_path):
    keys = {"paper": "L", "check": "a"}
    claims = [{"claim": c, "claim_status": s} | keys for c, s in (("L1", "reproduced"), ("L2", "no verdict"))]
    pd.DataFrame([*claims, claims[0]]).to_csv(tmp_path / "claims.csv")
    table_of([Headline("lpct", "curves", "accuracy", ("lpct/figure4a",), 5, 5, 1.25, ())]).to_csv(
        tmp_path / "headlines.csv"
    )
    assert in_words(tmp_path).splitlines() == [
        "Of the 2 claims that the papers make in words: 1 reproduced, 1 no verdict.",
        "",
        "- LPCT, curves: half of 5 printed numbers are within 1.2 points of accuracy.",
    ]


def test_sizes_are_equal_or_not():
    found = Headline("lpct", "sizes", "sizes", ("lpct/table1",), 33, 29, 2.0, ("a part of taxi",))
    assert str(found) == "2 of 29 compared numbers differ from print; not run: a part of taxi"


def test_a_paper_without_counterparts_says_so():
    assert str(Headline("p", "tables", "ratio", ("p/t",), 3, 0, float("nan"), ("all",))).startswith("none of 3 printed")
