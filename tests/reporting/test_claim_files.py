"""Outcomes of checks, computed again from the files beside the claims page with numpy and scipy alone."""

import json
from functools import partial
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lpbench.analysis.instances import KEY
from lpbench.analysis.statistics import STATISTICS
from lpbench.experiments import catalog
from lpbench.experiments.results import Results
from lpbench.experiments.timing import is_measured
from lpbench.paths import COMMITTED
from lpbench.reporting.claim_files import read_claims, tabulate
from lpbench.reporting.claims import decide_all
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.paper import papers
from tests.reporting.fake import bare, experiment, scores_of
from tests.reporting.store import put

EXPERIMENTS = {
    **dict.fromkeys(
        [f"histoftree/{n}" for n in ("figure2a", "figure2a_cart", "figure2b", "figure2c", "figure2d")], "mse"
    ),
    **dict.fromkeys([f"histoftree/{n}" for n in ("table1", "table2", "table3", "mechanism")], "mse"),
    **dict.fromkeys([f"lpct/figure{n}" for n in ("4a", "4b", "4c", "5a", "5b", "5c", "6a", "6b")], "accuracy"),
    **dict.fromkeys([f"lpct/figure{n}" for n in ("7a", "7b", "7c", "8", "9", "10")], "accuracy"),
    **dict.fromkeys(["lpct/table2", "lpct/table3"], "accuracy"),
    **dict.fromkeys(["label_dp/table1", "label_dp/classes"], "excess_risk"),
}

# -- what a reader needs ------------------------------------------------------------------------------------------


def halves(y):
    return np.split(y, 2, axis=-1)


def rank(y, **options):
    return stats.rankdata(y, axis=-1, **options)


def table(y, columns):
    return np.nan_to_num(y.reshape(len(y), -1, columns).round(9), nan=np.inf)


def correlation(a, b):
    a, b = a - a.mean(-1, keepdims=True), b - b.mean()
    return (a @ b) / np.maximum(np.sqrt((a * a).sum(-1) * (b @ b)), 1e-300)


def rank_sums(y, columns, proposed, ties, sign=1, all_proposed=True):
    ours, rivals = np.split(rank(table(sign * y, columns), method=ties).sum(1), [proposed], axis=-1)
    return rivals.min(-1) - (ours.max(-1) if all_proposed else ours.min(-1))


def wins(y, columns, proposed, sign=1):
    best = np.split(table(sign * y, columns) == table(sign * y, columns).min(-1, keepdims=True), [proposed], axis=-1)
    return best[0].any(-1).sum(1) - best[1].any(-1).sum(1)


AGAIN = {
    "linear": lambda y, weights: y @ np.array(weights),
    "stated": lambda y, unit: y[:, 0],
    "log_linear": lambda y, weights, floor=0.0: np.log(np.maximum(y - floor, 1e-300)) @ np.array(weights),
    "trend": lambda y, x: correlation(rank(y.round(12)), rank(x)),
    "dip": lambda y, sign=1: depths(sign * y),
    "spread": lambda y: y.max(-1) - y.min(-1),
    "ratio_of_spreads": lambda y: np.ptp(halves(y)[1], axis=-1) / np.maximum(np.ptp(halves(y)[0], axis=-1), 1e-300),
    "gap_of_best": lambda y: halves(y)[1].min(-1) - halves(y)[0].min(-1),
    "trend_of_best": lambda y, x, curves, sign=1: np.polyfit(
        np.arange(curves), np.array(x)[(sign * y.reshape(len(y), curves, -1)).argmin(-1)].T, 1
    )[0].round(9),
    "excess_over_best": lambda y, floor: (y[:, 0] - floor) / (y[:, 1:].min(-1) - floor) - 1,
    "loss_of_any_single": lambda y, curves, floor: (
        lambda a: (a / a.min(1, keepdims=True) - 1).max(-1).min(-1)
    )(y.reshape(len(y), curves, -1) - floor),
    "rank_sum_gap": rank_sums,
    "wins_gap": wins,
    "median_ratio": lambda y: np.median(halves(y)[0] / halves(y)[1], axis=-1),
    "log_gap": lambda y, first: np.log10(np.nanmin(y[:, :first], -1) / np.nanmax(y[:, first:], -1)),
    "gained_or_vanished": lambda y, weights, vanished: np.maximum(
        np.log(y) @ np.array(weights), np.log(vanished * y[:, -1] / halves(y)[0][:, -1])
    ),
}  # fmt: skip


def depths(y):
    """Of each replication: the end minus the place inside that are least on average over the other half of them."""
    means = [y[1::2].mean(0), y[::2].mean(0)]
    ends = [0 if m[0] <= m[-1] else len(m) - 1 for m in means]
    return np.array([row[ends[r % 2]] - row[1 + means[r % 2][1:-1].argmin()] for r, row in enumerate(y)])


def weights_of(row, y):
    arguments = json.loads(row.arguments)
    if row.statistic in ("linear", "stated"):
        return np.array(arguments.get("weights", [1.0]))
    mean = arguments.get("sign", 1) * y.mean(axis=0)
    weights = np.zeros(len(mean))
    weights[0 if mean[0] <= mean[-1] else -1], weights[1 + mean[1:-1].argmin()] = 1, -1
    return weights


def numbers(text):
    parts = [[int(n) for n in part.split(":")] for part in str(text).split()]
    return [n for part in parts for n in range(part[0], part[-1] + 1)]


def again(row, cells, width):
    """Values by replication or draw, the estimate and the variance of the rounding."""
    chosen = cells.loc[numbers(row.cells)]
    ours = chosen[width].to_numpy(dtype=float).T
    ours = ours[~np.isnan(ours).all(axis=1)]
    step = np.zeros(len(chosen))
    if row.source == "published":
        step = chosen["step"].to_numpy()
        ours = chosen["published"].to_numpy() * (1 + np.nan_to_num(ours / ours.mean(axis=0) - 1))
    arguments = json.loads(row.arguments)
    statistic = AGAIN[row.statistic]
    if row.statistic in ("linear", "dip", "stated"):
        # a cell may have several weights
        weights = pd.Series(weights_of(row, ours) * step, index=chosen.index)
        return statistic(ours, **arguments), None, weights
    shares = np.random.default_rng(len(ours)).multinomial(len(ours), np.full(len(ours), 1 / len(ours)), size=2000)
    means = shares / len(ours) @ ours
    if step.any():
        means = means + np.random.default_rng(crc32(row.instance.encode())).uniform(-0.5, 0.5, means.shape) * step
    return statistic(means, **arguments), statistic(ours.mean(axis=0)[None], **arguments)[0], None


def interval(found):
    """Value and 95 % interval of the mean of some instances."""
    count = min(len(values) for values, *_ in found)
    values = np.mean([v[:count] for v, *_ in found], axis=0)
    if found[0][1] is not None:
        estimate, (low, high) = np.mean([e for _, e, _ in found]), np.quantile(values, [0.025, 0.975])
        return estimate, min(low, estimate), max(high, estimate)
    rounding = (pd.concat([w for *_, w in found]).groupby(level=0).sum() ** 2).sum() / len(found) ** 2 / 12
    half = stats.t.ppf(0.975, count - 1) * np.sqrt(values.var(ddof=1) / count + rounding)
    return values.mean(), values.mean() - half, values.mean() + half


def outcome_of(intervals, whole, low, high, quantifier, freedom, confirmed):
    def judge(low_end, high_end):
        inside, outside = low_end > low and high_end < high, high_end < low or low_end > high
        return "agrees" if inside else "contradicts" if outside else "undecided"

    found = [judge(*part[1:]) for part in intervals]
    if quantifier == "some":
        if set(found) == {"contradicts"}:
            return "fails"
        return "holds" if "agrees" in found and set(found) != {"agrees"} else "undecided"
    outside = [max((low - v) / max(b - v, 1e-300), (v - high) / max(v - a, 1e-300), 0) for v, a, b in intervals]
    p = np.sort(2 * stats.t.sf(np.minimum(outside, 1e6) * stats.t.ppf(0.975, freedom), freedom))
    against = int(np.cumprod(p < 0.05 / (len(p) - np.arange(len(p)))).sum())
    together = judge(*whole[1:])
    if quantifier == "every" and "contradicts" in found:
        if any(judged == "contradicts" and twice for judged, twice in zip(found, confirmed, strict=True)):
            return "fails"
        together = "undecided" if together == "agrees" else together
    if together == "contradicts" or against > (0 if quantifier in ("every", "each") else len(found) // 5):
        return "fails"
    if quantifier == "each":
        return "holds" if set(found) == {"agrees"} else "undecided"
    return "undecided" if together != "agrees" else "mostly" if against else "holds"


def with_scores(cells, folder):
    """Cells by number, with one column per replication: six digits of the best grid points' scores, or of those
    that private reports chose where nothing else did.

    What was counted and not measured stands in the cells' own file, twice; the scores hold its seconds.
    """
    scores = pd.concat([Results(folder).artifact(name).chosen for name in dict.fromkeys(cells["experiment"])])
    scores = scores[scores["selection"].isin(["oracle", "private"])].sort_values("selection")
    scores = scores.drop_duplicates([*KEY, "replication"])
    scores = scores.assign(value=[float(f"{v:.6g}") for v in scores["value"]])
    keyed = cells.astype({"panel": object}).fillna(dict.fromkeys(["panel", "dataset", "mask", "method"], ""))
    wide = keyed.merge(scores, on=list(KEY)).pivot(index="cell", columns="replication", values="value")
    found = keyed.set_index("cell").join(wide.rename(columns=str))
    counted = found["constant"].notna()
    found.loc[counted, wide.columns.astype(str)] = np.nan
    found.loc[counted, ["0", "1"]] = found.loc[counted, ["constant"] * 2].to_numpy()
    return found


def compute_again(folder, replications=lambda row, width: width):
    """Every judging outcome of ``verdicts.csv`` beside that computed from the other files and some replications."""
    claims, instances = pd.read_csv(folder / "verdicts.csv"), pd.read_csv(folder / "claims_instances.csv")
    claims = claims[claims["judges"]]
    other = pd.read_csv(COMMITTED / "claims_instances_seed2026.csv").query("outcome == 'contradicts'")
    twice = {*zip(other["claim"], other["check"], other["instance"], strict=True)}
    paths = folder.glob("claims_cells_*.csv")
    files = {p.stem.rpartition("_")[2]: with_scores(pd.read_csv(p), folder) for p in paths}
    for row in claims.itertuples():
        cells = files.get(row.paper)
        mine = instances[(instances["claim"] == row.claim) & (instances["check"] == row.check)]
        for source, rows in mine.groupby("source"):
            points, pooled = rows[rows["instance"] != "pooled"], rows[rows["instance"] == "pooled"].iloc[0]
            telling = points[~points["outcome"].str.startswith("undecided:")]
            width = replications(row, [c for c in cells.columns if c.isdigit()])
            found = [again(point, cells, width) for point in telling.itertuples()]
            intervals = [interval([f]) for f in found]
            whole = interval(found) if found else None
            result = (
                outcome_of(
                    intervals,
                    whole,
                    row.region_low,
                    row.region_high,
                    row.quantifier,
                    min(len(width), row.replications) - 1,
                    [source == "ours" and (row.claim, row.check, name) in twice for name in telling["instance"]],
                )
                if found
                else "undecided"
            )
            kept = row.stability if source == "ours" else row.published_stability
            powers = (row.power, row.mirror) if source == "ours" else (row.published_power, row.published_mirror)
            if len(width) >= row.replications:
                result = "undecided" if kept < 0.8 else result
                result = "cannot decide" if result == "undecided" and min(powers) < 0.5 else result
            yield row, source, telling, intervals, pooled, whole, result


# -- the tests ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of a made-up run of every experiment that a claim is about."""
    path = tmp_path_factory.mktemp("run")
    catalog.experiments(EXPERIMENTS)  # together: one by one takes long
    for name, metric in EXPERIMENTS.items():
        body = experiment(name)
        points = ({},) if metric == "excess_risk" else ({"depth": 1},)
        scores = partial(made_up, above=float(metric == "mse"))  # squared errors lie above the labels' variance
        put(path, body, scores_of(body, scores, points=points, metric=metric, noise=0.01, replications=16))
    tabulate(decide_all(Evidence(path))).write(path)
    return path


def made_up(key, above=0.0) -> float:
    """Smooth in the axis and the budget, different for every method and data set."""
    own = crc32(f"{bare(key['method'])} {bare(key['dataset'])}".encode()) % 100 / 1000
    budget = 0.02 * np.log2(min(key["epsilon"], 32) + 1)
    return 0.55 + above + own + budget + (0 if key["x"] is None else 0.05 * np.sin(np.log(key["x"] + 1)))


@pytest.fixture(params=[pytest.param("made up", marks=pytest.mark.slow), "committed"])
def run(request):
    return COMMITTED if request.param == "committed" else request.getfixturevalue("folder")


def test_every_outcome_follows_from_the_files(run):
    seen = 0
    for row, source_name, telling, intervals, pooled, whole, result in compute_again(run):
        where = f"{row.claim} {row.check} {source_name}"
        assert pooled.outcome == result, where
        if row.ours_outcome != "no verdict" or source_name == "published":
            assert getattr(row, f"{source_name}_outcome") == result, where
        for point, found in zip(telling.itertuples(), intervals, strict=True):
            np.testing.assert_allclose([point.value, point.low, point.high], found, rtol=2e-5, atol=2e-6, err_msg=where)
        if whole:
            np.testing.assert_allclose([pooled["value"], pooled.low, pooled.high], whole, rtol=2e-5, atol=2e-6)
        seen += 1
    assert seen > 60


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 2])
def test_two_replications_give_no_verdict_that_the_full_run_contradicts(first):
    """All claims, from two of the committed replications: some checks would come out the other way, and none may."""

    def pair(row, width):
        # what is computed and not drawn has two alike
        return width[:2] if row.needed == 1 else width[first : first + 2]

    claims, other_way = set(), set()
    for row, source, *_, result in compute_again(COMMITTED, pair):
        if source == "ours":
            claims.add(row.claim)
            if {result, row.ours_outcome} in ({"holds", "fails"}, {"mostly", "fails"}):
                other_way.add((row.claim, row.check))
                assert row.needed > 2, (row.claim, row.check)
    table = pd.read_csv(COMMITTED / "verdicts.csv")
    missing = set(table.loc[table["reason"].str.contains("not at hand", na=False), "claim"])
    assert claims | missing >= {c.name for p in papers() for c in p.claims if not c.counted_apart}
    # after Holm two replications contradict no check of many instances (H13, L19), but a check of few they still do
    assert ("L8", "trend") in other_way


def test_a_run_uses_every_statistic_and_judges_every_claim(run):
    found = pd.read_csv(run / "claims_instances.csv")
    assert set(found["statistic"].dropna()) == set(STATISTICS) == set(AGAIN)
    judged = pd.read_csv(run / "verdicts.csv").query("judges")
    assert set(judged["claim"]) == {c.name for p in papers() for c in p.claims}
    few = judged[(judged["ours_outcome"] == "no verdict") & ~judged["counted_apart"]]
    assert few.empty, few[["claim", "check", "reason"]].to_string()
    # figure 2 and the appendix of the one paper and all of the theory print no number
    without = set(judged.loc[judged["published_outcome"] == "not printed", "claim"])
    assert without == {
        *(f"H{k}" for k in range(1, 9)),
        "H13",
        "H14",
        "H15",
        "L18",
        "L20",
        *(f"Z{k}" for k in range(1, 7)),
    }


def test_files_are_small_and_read_back(run):
    for path in run.glob("claims*.csv"):
        assert path.stat().st_size < 1_000_000, path.name
    claims = read_claims(run)
    assert [c["claim"] for c in claims] == [c.name for p in papers() for c in p.claims]
    points = claims[0]["checks"][0]["points"]
    assert [p["instance"] for p in points] == ["s* = 1", "s* = 2", "s* = 3", "s* = 4"]
    assert all(p["low"] <= p["value"] <= p["high"] for p in points)


def test_two_replications_give_no_verdict_and_what_was_judged_is_kept(tmp_path, monkeypatch):
    for name in ("histoftree/figure2a", "lpct/figure4a", "lpct/figure4b", "lpct/table3"):
        body = experiment(name)
        metric = "mse" if "histoftree" in name else "accuracy"
        put(tmp_path, body, scores_of(body, made_up, points=({"depth": 1},), metric=metric, replications=2))
    decided = decide_all(Evidence(tmp_path))
    found = [d for d in decided if d.claim.name in ("H1", "H2", "L1", "L2", "L3")]
    assert {d.outcomes[1] for d in found} == {"no verdict"}
    assert all("too few replications: 2" in d.reason for d in found)
    # work is counted from the plan: it is the same in every replication, and two are as good as a hundred
    work, memory = next(d.verdicts for d in decided if d.claim.name == "L18")
    assert (work.check.name, work.ours_outcome, memory.ours_outcome) == ("work", "holds", "holds")
    monkeypatch.setattr("lpbench.reporting.claims.judge", None)
    assert repr(decide_all(Evidence(tmp_path))) == repr(decided)


def test_no_file_of_the_claims_holds_seconds(run):
    """All of them are the same after every run."""
    claims = pd.read_csv(run / "verdicts.csv").query("judges").set_index(["claim", "check"])
    assert not np.isnan(claims.loc[("L18", "work"), "ours"])
    assert not [p.name for p in run.glob("claims*.csv") if is_measured(p)]


def test_no_number_is_a_rounding_error(run):
    for name in ("verdicts", "claims_instances"):
        numbers = pd.read_csv(run / f"{name}.csv").select_dtypes("number").to_numpy()
        assert not ((np.abs(numbers) < 1e-12) & (numbers != 0)).any()
