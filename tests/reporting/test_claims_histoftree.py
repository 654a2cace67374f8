"""Each decider of H's claims: results made to obey the claim hold, results made to break it fail."""

import numpy as np
import pytest

from lpbench.analysis.claims import Deciders, Verdict
from lpbench.papers.published_files import read, stated_claims
from lpbench.reporting.claims import CLAIM_COLUMNS, decide
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.paper import papers
from tests.reporting.fake import bare, experiment, parse_selector, scores_of
from tests.reporting.store import claim_of, put, verdict

REPLICATIONS = {"replications": 8, "noise": 0.002}


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


@pytest.mark.parametrize(("options", "expected"), [({}, "holds"), ({"flat": 3}, "fails")])
def test_h1(tmp_path, options, expected):
    body = experiment("histoftree/figure2a")
    got = verdict(tmp_path, "H1", {"a": body}, lambda k: figure2a(k, **options), **REPLICATIONS)
    assert got.verdict == expected, got
    assert "Spearman" in got.evidence


@pytest.mark.parametrize(("options", "expected"), [({}, "holds"), ({"swap": True}, "fails")])
def test_h2(tmp_path, options, expected):
    body = experiment("histoftree/figure2a")
    got = verdict(tmp_path, "H2", {"a": body}, lambda k: figure2a(k, **options), **REPLICATIONS)
    assert got.verdict == expected, got
    # 5 neighbouring pairs at epsilon 1, 2, 4, 8; one pair is out of order in the second case, at each epsilon
    assert got.evidence.startswith("20 of 20" if expected == "holds" else "16 of 20")


@pytest.mark.parametrize(("faster", "expected"), [(1, "holds"), (-1, "fails")])
def test_h3(tmp_path, faster, expected):
    body = experiment("histoftree/figure2b")
    for group in body["groups"]:
        group["values"] = [2000, 8000, 20000]

    def mean(key):
        return key["x"] ** (-0.2 + 0.02 * faster * protected(key))

    assert verdict(tmp_path, "H3", {"a": body}, mean, replications=4, noise=1e-6).verdict == expected


def figure2c(key, best=2, order=1) -> float:
    bins = parse_selector(key["method"])[1]["bins"]
    center = 4 + order * (bins - 2)
    return 1.1 + 0.05 * abs(bins - best) + 0.02 * abs(key["x"] - np.clip(center, 2, 7))


@pytest.mark.parametrize(
    ("claim", "options", "expected"),
    [
        ("H4", {}, "holds"),
        ("H5", {}, "holds"),
        ("H6", {}, "holds"),
        ("H5", {"best": 3}, "fails"),
        ("H6", {"order": -1}, "fails"),
    ],
)
def test_h4_h5_h6(tmp_path, claim, options, expected):
    body = experiment("histoftree/figure2c")
    got = verdict(tmp_path, claim, {"a": body}, lambda k: figure2c(k, **options), **REPLICATIONS)
    assert got.verdict == expected, got


def test_h4_needs_both_sides_of_the_u(tmp_path):
    body = experiment("histoftree/figure2c")
    assert verdict(tmp_path, "H4", {"a": body}, lambda k: 2 - 0.05 * k["x"], **REPLICATIONS).verdict == "fails"


def figure2d(key, best="moves", adaptive=1.0) -> float:
    s = parse_selector(key["method"])[1].get("n_grid_features")
    ideal = 1 if best == "fixed" or key["x"] > 1 else 2
    loss = (adaptive - 1) if s is None else 0.02 * abs(s - ideal)
    return (1.1 + 0.3 / (1 + key["x"])) * (1 + loss)


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, "holds"), ({"best": "fixed"}, "fails"), ({"adaptive": 1.08}, "fails"), ({"adaptive": 1.04}, "holds")],
)
def test_h8(tmp_path, options, expected):
    body = experiment("histoftree/figure2d")
    got = verdict(tmp_path, "H8", {"a": body}, lambda k: figure2d(k, **options), **REPLICATIONS)
    assert got.verdict == expected, got


@pytest.mark.parametrize(("sign", "expected"), [(1, "holds"), (-1, "fails")])
def test_h7(tmp_path, sign, expected):
    body = experiment("histoftree/figure2d")
    assert verdict(tmp_path, "H7", {"a": body}, lambda k: 2 - sign * 0.1 * k["x"], **REPLICATIONS).verdict == expected


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
        for artefact in TABLES:
            body = experiment(artefact)
            for group in body["groups"]:
                group["dataset"] = ["abalone", "building", "red_wine"]
            scores = scores_of(body, lambda k, c=choice: table(k, **c), replications=2, points=({"depth": 1},))
            put(folder, body, scores, with_scores=False)
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
    got = claim_of(claim).verdict(tables[case])
    assert got.verdict == expected, got


@pytest.mark.parametrize(("gain", "expected"), [(1.03, "holds"), (0.97, "fails"), (1.0, "fails")])
def test_h13(tmp_path, gain, expected):
    body = experiment("histoftree/mechanism")

    def mean(key):
        return 1.5 * (gain if "mechanism=rr" in key["method"] else 1.0)

    got = verdict(tmp_path, "H13", {"a": body}, mean, replications=4, noise=1e-9 if gain != 1 else 0)
    assert got.verdict == expected, got


def test_claims_without_results_are_not_run(tmp_path):
    claims = decide(Evidence(tmp_path))
    assert list(claims.columns) == CLAIM_COLUMNS
    assert claims["claim"].tolist() == read("claims.csv")["claim"].tolist()
    assert set(claims["verdict"]) == {"not_run"} and (claims["evidence"] != "").all()


def test_paired_claim_says_that_scores_are_missing(tmp_path):
    body = experiment("histoftree/figure2a")
    put(tmp_path, body, scores_of(body, figure2a, replications=2), with_scores=False)
    found = claim_of("H2").verdict(Evidence(tmp_path))
    assert found.verdict == "not_run" and "scores.parquet" in found.evidence


def test_every_claim_has_a_decider():
    assert all(claim.decide for paper in papers() for claim in paper.claims)


def test_a_second_decider_an_unknown_claim_and_an_unknown_verdict_are_refused():
    first, second, stray = Deciders(), Deciders(), Deciders()
    for deciders, claim in ((first, "H1"), (second, "H1"), (stray, "H99")):
        deciders(claim)(lambda results: Verdict("holds", ""))
    with pytest.raises(ValueError, match="H1 has two deciders"):
        first("H1")(lambda results: Verdict("holds", ""))
    with pytest.raises(ValueError, match="H1 has two deciders"):
        stated_claims("H", first, second)
    with pytest.raises(ValueError, match="H99 has a decider and no row"):
        stated_claims("H", stray)
    with pytest.raises(ValueError, match="verdict='maybe'"):
        Verdict("maybe", "")
