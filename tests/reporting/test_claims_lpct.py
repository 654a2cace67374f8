"""Each check of L's claims: results made to obey the claim hold, results made to break it fail."""

import numpy as np
import pytest

from lpbench.experiments import catalog
from lpbench.papers.lpct import claims_tables
from lpbench.reporting.evidence import Evidence
from tests.reporting.fake import bare, scores_of
from tests.reporting.store import decided, put, verdict

LPCT, P, Q, PRUNE, RANDOM = "lpct_max_edge", "lpct_p", "lpct_q", "lpct_prune_max_edge", "lpct_random"
OPTIONS = {"metric": "accuracy", "replications": 16, "noise": 0.003, "points": ({"depth": 1},)}


def body(name, methods, epsilon, x=None, values=(), dataset="posterior_drift", grid=None, panel="", kind="figure"):
    group = {"panel": panel, "dataset": [dataset], "method": list(methods), "epsilon": list(epsilon), "x": x}
    group |= {"values": list(values), "grid": grid or {}}
    return {"name": f"lpct/{name}", "paper": "lpct", "kind": kind, "title": name, "groups": [group]}


def run(tmp_path, claim, bodies, mean):
    return verdict(tmp_path, claim, {b["name"]: b for b in bodies}, mean, **OPTIONS)


def level(epsilon) -> float:
    return np.log2(min(epsilon, 32) + 1)


def against_budget(key, both=0.01, p_shift=0.0, falling=False) -> float:
    grows = 0.64 + 0.01 * level(key["epsilon"]) * (-1 if falling else 1)
    only_p = 0.52 + p_shift + 0.03 * level(key["epsilon"])
    best = max(grows, only_p, 0.645) + both
    return {LPCT: best, P: only_p, Q: 0.645, PRUNE: grows - 0.005}[bare(key["method"])]


BUDGETS = [
    body(n, [LPCT, P, Q, PRUNE, f"{LPCT}[variant=text]"], [0.5, 1, 2, 8, 1000], "epsilon")
    for n in ("figure4a", "figure4b")
]


@pytest.mark.parametrize(
    ("claim", "options", "expected"),
    [
        ("L1", {}, "holds"),
        ("L1", {"falling": True}, "fails"),
        ("L2", {}, "holds"),
        ("L2", {"both": -0.2}, "fails"),
        ("L3", {"both": 0.001}, "holds"),
        ("L3", {"p_shift": 0.1}, "fails"),
        ("L3", {"both": 0.03}, "fails"),
    ],
)
def test_figures_4a_and_4b(tmp_path, claim, options, expected):
    got = run(tmp_path, claim, BUDGETS, lambda k: against_budget(k, **options))
    assert got.outcomes[1] == expected, [(v.check.name, v.reason, v.ours_outcome) for v in got.verdicts]


SIZES = [4000, 8000, 16000]


def l5(key, good) -> float:
    gain = (0.0 if good else 0.01) + (0.004 * key["epsilon"] if key["epsilon"] >= 1 else -0.0005)
    return 0.6 + gain * np.log2(key["x"] / 4000)


def l8(key, good) -> float:
    rise, closing = 0.02 * np.log2(key["x"] / 10), 1 if good else -1
    return 0.6 + rise - (bare(key["method"]) == PRUNE) * (0.03 - closing * 0.003 * np.log2(key["x"] / 10))


def l9(key, good) -> float:
    early, beyond = min(key["x"], 50) / 50, max(key["x"] - 50, 0) / 150
    return 0.6 + 0.05 * early + (0.01 if bare(key["method"]) != P else 0.0 if good else 0.03) * beyond


def l10(key, good) -> float:
    best = {1: 3, 8: 4, 1000: 5}[key["epsilon"]]
    return 0.7 - 0.02 * abs(key["x"] - (best if good else 8 - best))


def l11(key, good) -> float:
    peak = {1: 1000 if good else 0.5, 4: 100, 8: 10, 1000: 0.5}[key["epsilon"]]
    return 0.7 - 0.02 * abs(np.log10(key["x"] / peak))


def l21(key, good) -> float:
    best = {1: 3 if good else 5, 8: 4, 1000: 5 if good else 3}[key["epsilon"]]
    return 0.7 - 0.02 * max(best - key["x"], 0) - 0.002 * max(key["x"] - best, 0)


def l12(key, good) -> float:
    loss = {"range_known": 0, "range_estimated": 0.5 / key["x"], "range_unknown": 0.05 if good else -0.01}
    return 0.7 - loss[bare(key["dataset"])]


RANGES = body("figure8", [LPCT], [8], "dataset.n_public", [20, 80, 160], panel="c")
RANGES["groups"][0]["dataset"] = ["range_known", "range_estimated", "range_unknown"]
WEIGHTS = {"public_weight": [0.5, 1, 5, 10, 100, 1000]}
#: Claim -> an experiment, and accuracies that obey the claim or break it.
MADE = {
    "L4": (
        body("figure4c", [LPCT], [0.5, 2, 8], "dataset.gamma", [0.5, 0.75, 1, 1.5, 2]),
        lambda key, good: 0.7 - (1 if good else -1) * 0.03 * key["x"] / key["epsilon"],
    ),
    "L5": (body("figure5a", [LPCT], [0.5, 1, 8], "dataset.n_private", SIZES), l5),
    "L8": (body("figure6a", [LPCT, PRUNE], [1, 8], "dataset.n_public", [10, 20, 50, 100, 200]), l8),
    "L9": (body("figure6b", [LPCT, P, Q], [1, 8], "dataset.n_public", [10, 30, 50, 100, 150, 200]), l9),
    "L10": (body("figure7a", [LPCT], [1, 8, 1000], "method.depth", grid={"depth": [1, 2, 3, 4, 5, 6, 7]}), l10),
    "L11": (body("figure7c", [LPCT], [1, 4, 8, 1000], "method.public_weight", grid=WEIGHTS), l11),
    "L12": (RANGES, l12),
    "L21": (body("figure7b", [PRUNE], [1, 8, 1000], "method.depth", grid={"depth": [1, 2, 3, 4, 5, 6, 7]}), l21),
}


@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("claim", MADE)
def test_one_figure(tmp_path, claim, good):
    experiment, mean = MADE[claim]
    got = run(tmp_path, claim, [experiment], lambda key: mean(key, good))
    assert got.outcomes[1] == ("holds" if good else "fails")


@pytest.mark.parametrize(("gain", "expected"), [(1, "holds"), (-1, "fails")])
def test_l6(tmp_path, gain, expected):
    bodies = [body("figure5b", [LPCT, P, Q], [1, 4, 8], "dataset.n_private", SIZES)]

    def mean(key):
        return {LPCT: 0.66 + 0.002 * gain * key["epsilon"], P: 0.6, Q: 0.65}[bare(key["method"])]

    got = run(tmp_path, "L6", bodies, mean)
    assert got.outcomes == ("holds", expected)
    assert not any(v.cause for v in got.verdicts)


@pytest.mark.parametrize(("gap", "expected"), [(0.01, "holds"), (0.03, "fails")])
def test_l7(tmp_path, gap, expected):
    methods = [LPCT, PRUNE, f"{PRUNE}[constants=paper]"]
    bodies = [body("figure5c", methods, [1, 8], "dataset.n_private", SIZES)]

    def mean(key):
        if "paper" in key["method"]:
            return 0.4  # another choice of constants is not what the claim is about
        return (
            0.6 + 0.01 * np.log2(key["x"] / 4000) + 0.005 * level(key["epsilon"]) - gap * (bare(key["method"]) == PRUNE)
        )

    got = run(tmp_path, "L7", bodies, mean)
    assert got.outcomes == ("holds", expected)
    # what is not reproduced has a tested cause
    assert any(v.cause for v in got.verdicts) is (expected == "fails")


@pytest.mark.parametrize(
    ("loss", "expected"), [({"authors": 0.05, "fair": -0.01}, "holds"), ({"authors": -0.01, "fair": 0.05}, "fails")]
)
def test_l13_rests_on_the_authors_grid_and_shows_the_other_beside(tmp_path, loss, expected):
    methods = [LPCT, RANDOM, f"{RANDOM}[min_samples_leaf=1]"]
    bodies = [body("figure9", methods, [1, 8], "dataset.n_public", [10, 50, 200], panel="b")]

    def mean(key):
        if bare(key["method"]) == LPCT:
            return 0.7
        return 0.7 - loss["authors" if "[" in key["method"] else "fair"]

    got = run(tmp_path, "L13", bodies, mean)
    assert got.outcomes[1] == expected
    assert [v.ours_outcome for v in got.verdicts if not v.check.counts] == ["fails" if expected == "holds" else "holds"]


@pytest.mark.parametrize(("head_start", "expected"), [(0.04, "holds"), (0.1, "fails"), (0.0, "fails")])
def test_l14(tmp_path, head_start, expected):
    experiment = body("figure10", [LPCT, "lpdt", "phist"], [8], "dataset.private_fraction", [0.2, 0.6, 1], panel="a",
                      dataset="diabetes[n_public=80]")  # fmt: skip
    experiment["groups"].append(experiment["groups"][0] | {"panel": "b", "dataset": ["employee[n_public=200]"]})

    def mean(key):
        return 0.6 + 0.1 * key["x"] + {LPCT: head_start, "lpdt": head_start / 2, "phist": 0}[bare(key["method"])]

    assert run(tmp_path, "L14", [experiment], mean).outcomes[1] == expected


OURS = ["lpct_max_edge", "lpct_cart", "lpct_prune_max_edge", "lpct_prune_cart"]
RIVALS = ["ct_q", "phist", "lpdt", "pglm", "psgd_linear", "psgd_neural"]


def table(key, cart=0.02, ours=0.1, bound=0.9) -> float:
    name = bare(key["method"])
    if name == "ct_w":
        return bound
    if "released" in key["method"]:
        return 0.99  # shown beside the table, not part of it
    moving = 0.01 * level(key["epsilon"]) if key["dataset"] != "rice" else 0
    rule = cart if name.endswith("cart") else 0
    return 0.6 + moving + (ours + rule if name in OURS else 0.01 * RIVALS.index(name))


@pytest.mark.parametrize(
    ("claim", "options", "expected"),
    [
        ("L15", {}, "holds"),
        ("L15", {"ours": -0.1}, "fails"),
        ("L16", {}, "holds"),
        ("L16", {"cart": -0.02}, "fails"),
        ("L17", {}, "holds"),
        ("L19", {}, "holds"),
        ("L19", {"bound": 0.72}, "fails"),
    ],
)
def test_table2(tmp_path, claim, options, expected):
    methods = ["ct_w", "lpct_max_edge[variant=text]", "lpct_cart", "lpct_prune_max_edge[variant=text]"]
    methods += ["lpct_prune_cart", *RIVALS]
    if claim == "L16":
        methods.append("lpct_prune_max_edge[variant=released]")
    if claim == "L17":
        methods[1] = "lpct_max_edge"
    experiment = body("table2", methods, [0.5, 2, 8], kind="table")
    experiment["groups"][0]["dataset"] = ["rice", "diabetes", "employee"]
    got = run(tmp_path, claim, [experiment], lambda k: table(k, **options))
    assert got.outcomes[1] == expected, [(v.check.name, v.reason, v.ours_outcome) for v in got.verdicts]
    if claim == "L17":
        [check] = got.verdicts
        agree = {i.name for i, v in zip(check.ours.instances, check.ours.intervals, strict=True) if v.high < 0.02}
        assert agree == {"rice, max-edge", "rice, CART"}


@pytest.mark.parametrize("seconds", [50.0, 0.5])
@pytest.mark.parametrize(("factor", "expected"), [(1.0, "holds"), (1e-6, "fails")])
def test_l18_is_judged_on_counted_work(tmp_path, monkeypatch, seconds, factor, expected):
    """Whatever a machine took for it."""
    slow = {name: factor * work for name, work in claims_tables.WORK.items() if name.startswith("psgd")}
    monkeypatch.setattr(claims_tables, "WORK", claims_tables.WORK | slow)
    monkeypatch.setattr(claims_tables, "HIDDEN_UNIT", factor * claims_tables.HIDDEN_UNIT)
    registered = list(dict.fromkeys(m for g in catalog.experiment("lpct/table3").groups for m in g.method))
    experiment = body("table3", registered, [2], kind="timing")
    experiment["groups"][0]["dataset"] = ["email", "rice"]
    scores = scores_of(experiment, lambda k: 0.8, **OPTIONS)
    scores["seconds"] = np.where(scores["method"].str.startswith("psgd"), seconds, 1.0)
    put(tmp_path, experiment, scores)
    got = decided("L18", Evidence(tmp_path))
    assert got.outcomes[1] == expected, [(v.check.name, v.reason, v.ours_outcome) for v in got.verdicts]
    memory = next(v for v in got.verdicts if v.check.name == "memory").ours
    assert [i.name for i in memory.instances] == ["email, d = 3000", "census, d = 46", "taxi, d = 93"]
