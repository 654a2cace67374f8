"""Each check of H's claims: results made to obey the claim hold, results made to break it fail."""

import numpy as np
import pytest

from lpbench.analysis.claims import Checks, above
from lpbench.analysis.verdicts import VERDICT_COLUMNS, claims_of
from lpbench.papers.published_files import read, stated_claims
from lpbench.reporting.claim_files import tabulate
from lpbench.reporting.claims import decide_all
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.paper import papers
from tests.reporting.fake import bare, experiment, parse_selector, scores_of
from tests.reporting.store import decided, put, verdict

REPLICATIONS = {"replications": 16, "noise": 0.002}


def protected(key) -> int:
    """Number of protected features of a simulated cell: 0 for LabelDT, 5 for Hist."""
    return {"label_dt": 0, "hist": 5}.get(bare(key["method"]), parse_selector(key["mask"])[1].get("n_protected", 0))


def cost(key) -> float:
    """The second grid point is never the better one."""
    return 1 + 0.01 * (key["point"].get("depth", 1) - 1) * (key["x"] is None or "depth" not in key["point"])


def figure2a(key, flat=None, swap=False) -> float:
    s = protected(key)
    if swap and s in (2, 3):
        s = 5 - s
    epsilon = 1.0 if s == flat else min(key["epsilon"], 64)
    return 1 + (1 + s) * 0.1 / epsilon + 0.01 * s


def figure2c(key, best=2, order=1, one_side=False) -> float:
    if one_side:
        return 2 - 0.05 * key["x"]
    bins = parse_selector(key["method"])[1]["bins"]
    center = 4 + order * (bins - 2)
    return 1.1 + 0.05 * abs(bins - best) + 0.02 * abs(key["x"] - np.clip(center, 2, 7))


#: Claim -> its figure and errors that obey the claim, or break it by an option.
CURVES = {
    **dict.fromkeys(("H1", "H2"), ("figure2a", figure2a)),
    **dict.fromkeys(("H4", "H5", "H6"), ("figure2c", figure2c)),
    "H7": ("figure2d", lambda key, sign=1: 2 - sign * 0.1 * key["x"]),
}


@pytest.mark.parametrize(
    ("claim", "options", "expected"),
    [
        *((claim, {}, "holds") for claim in CURVES),
        ("H1", {"flat": 3}, "fails"),
        ("H2", {"swap": True}, "fails"),
        ("H4", {"one_side": True}, "fails"),
        ("H5", {"best": 3}, "fails"),
        ("H6", {"order": -1}, "fails"),
        ("H7", {"sign": -1}, "fails"),
    ],
)
def test_one_curve(tmp_path, claim, options, expected):
    figure, mean = CURVES[claim]
    body = experiment(f"histoftree/{figure}")
    if figure == "figure2c":
        body["groups"][0]["grid"]["depth"] = list(range(9))  # the depth-0 tree at the start of the axis
    got = verdict(tmp_path, claim, {"a": body}, lambda k: mean(k, **options), **REPLICATIONS)
    assert got.outcomes[1] == expected, got
    assert claim not in ("H1", "H2") or got.outcomes[0] == "not printed"
    if options.get("swap"):
        # the pair that is out of order is named at each epsilon
        check = got.verdicts[0]
        out = [i.name for i, v in zip(check.ours.instances, check.ours.intervals, strict=True) if v.high < 0]
        assert out == [f"s* = 2 before s* = 3 at ε = {e}" for e in body["groups"][0]["epsilon"]]


@pytest.mark.parametrize(("faster", "expected"), [(1, "holds"), (-1, "fails")])
def test_h3(tmp_path, faster, expected):
    body = experiment("histoftree/figure2b")
    for group in body["groups"]:
        group["values"] = [2000, 8000, 20000]

    def mean(key):
        # the label noise, which does not fall, hides the rate in the error itself
        return 1 + key["x"] ** (-0.2 + 0.02 * faster * protected(key))

    found = verdict(tmp_path, "H3", {"a": body}, mean, replications=16, noise=1e-6)
    assert found.outcomes[1] == expected
    smallest = found.verdicts[0].ours.intervals[0].estimate
    assert smallest == pytest.approx(0.2 - 0.02 * faster, abs=1e-3)


@pytest.mark.parametrize(
    ("claim", "why"), [("H4", "the axis starts at p = 1, not at 0"), ("H6", "at an end of the axis")]
)
def test_an_axis_without_an_interior_cannot_tell(tmp_path, claim, why):
    body = experiment("histoftree/figure2c")
    body["groups"][0]["grid"]["depth"] = list(range(1, 9))
    got = verdict(tmp_path, claim, {"a": body}, lambda k: 1 + 0.05 * k["x"], **REPLICATIONS)
    assert got.outcomes[1] == "undecided" and why in got.reason


def figure2d(key, best="moves", adaptive=1.0, spread=0.3) -> float:
    s = parse_selector(key["method"])[1].get("n_grid_features")
    ideal = 1 if best == "fixed" or key["x"] > 1 else 3
    loss = (adaptive - 1) if s is None else spread * abs(s - ideal)
    return 1 + (0.1 + 0.3 / (1 + key["x"])) * (1 + loss)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "holds"),
        ({"best": "fixed"}, "fails"),
        ({"adaptive": 1.3}, "fails"),
        ({"adaptive": 1.05}, "holds"),
        ({"spread": 0.001}, "undecided"),
    ],
)
def test_h8(tmp_path, options, expected):
    body = experiment("histoftree/figure2d")
    got = verdict(tmp_path, "H8", {"a": body}, lambda k: figure2d(k, **options), replications=16, noise=1e-4)
    assert got.outcomes[1] == expected, got
    # where any choice would do nothing is shown
    assert ("within 5 % of the smallest" in got.reason) is (expected == "undecided")


TABLES = ("histoftree/table1", "histoftree/table2", "histoftree/table3")


def table(key, worst_proposed=1.3, adaptive=1.0, cart_aligned=0.9) -> float:
    name = bare(key["method"])
    errors = {"dt": 1.0, "par_dt": 1.5, "krr": 1.7, "hist": 1.9}
    if name in errors:
        return errors[name]
    value = worst_proposed * (adaptive if name.startswith("ad") else 1.0)
    aligned = key["mask"] == "aligned"
    return value * (cart_aligned if aligned == name.endswith("cart") else 1.0)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Results of the three tables under several formulas, made once."""
    made = {}
    options = {
        "good": {},
        "bad": {"worst_proposed": 1.75},
        "slow": {"adaptive": 1.15, "worst_proposed": 1.2},
        "rule": {"cart_aligned": 1.1},
    }
    for name, choice in options.items():
        folder = tmp_path_factory.mktemp(name)
        for artifact in TABLES:
            body = experiment(artifact)
            for group in body["groups"]:
                group["dataset"] = ["abalone", "building", "red_wine"]
            scores = scores_of(body, lambda k, c=choice: table(k, **c), replications=16, points=({"depth": 1},))
            put(folder, body, scores)
        made[name] = Evidence(folder)
    return made


@pytest.mark.parametrize(
    ("claim", "case", "expected"),
    [
        ("H9", "good", "holds"),
        ("H9", "bad", "fails"),
        ("H10", "good", "holds"),
        ("H10", "bad", "fails"),
        ("H11", "good", "holds"),
        ("H11", "slow", "fails"),
        ("H12", "good", "holds"),
        ("H12", "rule", "fails"),
    ],
)
def test_tables(tables, claim, case, expected):
    got = decided(claim, tables[case])
    assert got.outcomes[1] == expected, got


@pytest.mark.parametrize(("gain", "expected"), [(1.03, "holds"), (0.97, "fails"), (1.0, "undecided")])
def test_h13(tmp_path, gain, expected):
    body = experiment("histoftree/mechanism")

    def mean(key):
        return 1.5 * (gain if "mechanism=rr" in key["method"] else 1.0)

    got = verdict(tmp_path, "H13", {"a": body}, mean, replications=16, noise=1e-9 if gain != 1 else 0)
    assert got.outcomes[1] == expected, got


def test_claims_without_results_have_no_verdict(tmp_path):
    claims = tabulate(decide_all(Evidence(tmp_path))).verdicts
    assert list(claims.columns) == VERDICT_COLUMNS
    assert list(dict.fromkeys(claims["claim"])) == read("claims.csv")["claim"].tolist()
    assert set(claims["ours_outcome"]) == {"no verdict"} and (claims["reason"] != "").all()


def test_a_check_says_that_scores_are_missing(tmp_path):
    body = experiment("histoftree/figure2a")
    put(tmp_path, body, scores_of(body, figure2a, replications=2), with_scores=False)
    found = decided("H2", Evidence(tmp_path))
    assert found.outcomes[1] == "no verdict" and "scores by replication are not there" in found.reason


def test_every_rule_is_one_sentence_and_every_check_states_its_replications():
    for check in (check for paper in papers() for claim in paper.claims for check in claim.checks):
        assert check.rule.endswith(".") and check.rule[:-1].count(". ") == 0 and len(check.rule) < 200, check.rule
        assert check.replications >= 1


def test_two_checks_of_one_name_and_checks_without_a_claim_are_refused():
    first, second, stray = Checks(), Checks(), Checks()
    for checks, claim in ((first, "H1"), (second, "H1"), (stray, "H99")):
        checks(claim, "trend", above())(lambda results: [])
    with pytest.raises(ValueError, match="H1 has two checks named 'trend'"):
        first("H1", "trend", above())(lambda results: [])
    with pytest.raises(ValueError, match="H1 has checks in two places"):
        stated_claims("H", first, second)
    with pytest.raises(ValueError, match="must have a row in claims"):
        stated_claims("H", stray)


def test_the_text_judges_rank_sums_and_the_depth_0_tree_stands_beside_it(tmp_path):
    for artifact in TABLES:
        body = experiment(artifact)
        for group in body["groups"]:
            group["dataset"] = ["abalone", "red_wine"]
        better = {"variant=inferred": 1.2}

        def mean(key, better=better):
            name = bare(key["method"])
            if "tree" not in name or name.startswith("par"):
                return table(key)
            return next((value for variant, value in better.items() if variant in key["method"]), 3.0)

        put(tmp_path, body, scores_of(body, mean, replications=16, points=({"depth": 1},)))
    found = decided("H10", Evidence(tmp_path))
    [judged] = found.verdicts
    [beside] = judged.others
    assert (judged.configuration, judged.ours_outcome) == ("text", "fails")
    assert (beside.configuration, beside.ours_outcome) == ("inferred", "holds")
    [claim] = claims_of(tabulate([found]).verdicts).to_dict("records")
    assert (claim["ours"], claim["depends"]) == ("fails", "yes")
