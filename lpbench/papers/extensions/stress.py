"""Tables of the stress tests: corrupted data, masks that tell, users who lie, groups of people; with their findings."""

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy

from lpbench.analysis.rates import Interval
from lpbench.analysis.standings import FAIR, NONE, geometric_mean, view
from lpbench.cast import CONSTANTS, member
from lpbench.datasets.masks import posterior_odds
from lpbench.errors import LpbenchError
from lpbench.experiments import catalogue
from lpbench.experiments.method import Method
from lpbench.reporting.numbers import print_ratio
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.printed_names import card_of, dataset_title, mask_name, method_title

Cards = Mapping[str, Method]
#: Column of the table of liars -> parameters of its data sets.
SCENARIOS: Mapping[str, Mapping[str, Any]] = {
    "10 % false records": {"liars": 0.1, "poison": "input"},
    "2 % false reports": {"liars": 0.02, "poison": "output"},
    "10 % false reports": {"liars": 0.1, "poison": "output"},
    "10 %, one class or end": {"liars": 0.1, "poison": "output", "goal": "flip"},
    "10 %, first test row": {"liars": 0.1, "poison": "output", "goal": "point", "metric": "at_point"},
    "clip: price": {"defence": "clip"},
    "clip: 10 % false reports": {"liars": 0.1, "poison": "output", "defence": "clip"},
    "median: price": {"defence": "median"},
    "median: 10 % false reports": {"liars": 0.1, "poison": "output", "defence": "median"},
}
#: A method is never worse than the constant by more than noise: bounds of the geometric mean, and of any data set.
MOST_ON_AVERAGE, MOST = 1.02, 1.10
LEGEND = "Loss over that {}, geometric mean over data sets with its 95 % interval."
#: What is read of a table of standings: a narrow one is searched faster.
_READ = ["panel", "mask", "epsilon", "dataset", "method", "metric", "privacy", "loss", "se", "replications"]


def fixed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows at the one setting that a method states or chooses, with the data set apart from its parameters."""
    rows = view(rows, FAIR)[_READ]
    sets = [*map(member, rows["dataset"])]
    return rows.assign(base=[one.name for one in sets], given=[one.params for one in sets])


def drawn_with(rows: pd.DataFrame, given: Mapping[str, Any]) -> pd.DataFrame:
    """Rows whose data set has these parameters and no others."""
    return rows[[found == given for found in rows["given"]]]


def ratio_to(rows: pd.DataFrame, before: pd.DataFrame) -> tuple[Interval, dict[str, float]]:
    """Geometric mean over data sets of losses over those ``before``, with its interval, and the ratio on each set."""
    ratios = (rows.set_index("base")["loss"] / before.set_index("base")["loss"]).dropna()
    return geometric_mean(ratios), {str(name): float(ratio) for name, ratio in ratios.items()}


def times(found: Interval) -> str:
    """A ratio with its interval over data sets; one beyond measure as a power of ten."""
    return f"10^{math.log10(found.estimate):.0f}" if found.estimate > 1e3 else print_ratio(found)


def exceptions(cases: Mapping[str, float], usual: Callable[[float], bool]) -> str:
    """Describe the cells that contradict a finding: their number and the five largest."""
    found = sorted(
        (abs(math.log(max(ratio, 1e-9))), f"{where} ({ratio:.2f})")
        for where, ratio in cases.items()
        if not usual(ratio)
    )[::-1]
    named = "; ".join(text for _, text in found[:5])
    return f"Otherwise in {len(found)} of {len(cases)} cells, such as {named}." if found else "No exception."


def corrupted_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """A row a kind of labels, budget and method: geometric mean of the ratio of losses, and the worst set."""
    rows = view(rows[(rows["privacy"] != NONE) & ~rows["method"].isin(CONSTANTS)], "tuning_free")
    rows = rows.dropna(subset=["over_constant"])
    if rows.empty:
        return None
    labels = [member(name).params.get("labels", "recorded") for name in rows["dataset"]]
    found = []
    for (kind, epsilon, method), part in rows.assign(labels=labels).groupby(["labels", "epsilon", "method"]):
        worst, largest = dataset_title(part.loc[part["over_constant"].idxmax(), "dataset"]), part["over_constant"].max()
        mean = geometric_mean(part["over_constant"]).estimate
        found.append((str(kind), f"{epsilon:g}", method_title(str(method), cards), mean, float(largest), worst))
    found.sort(key=lambda row: (row[0], float(row[1]), row[3]))
    heads = ("labels", "ε", "method", "geometric mean", "largest", "data set")
    cells = tuple((*place, f"{mean:.3f}", f"{most:.3f}", worst) for *place, mean, most, worst in found)
    return PlainTable("Loss over that of the best private constant", heads, cells, _never_worse(found))


def _never_worse(rows: list[tuple[str, str, str, float, float, str]]) -> str:
    """Name the methods that are never worse than the constant by more than noise, and the cells of the others."""
    worse: dict[str, list[str]] = {}
    for labels, epsilon, title, mean, largest, worst in rows:
        if mean > MOST_ON_AVERAGE or largest > MOST:
            worse.setdefault(title, []).append(f"{labels} at ε = {epsilon} ({mean:.3f}, {largest:.3f} on {worst})")
    kept = [title for title in dict.fromkeys(row[2] for row in rows) if title not in worse]
    said = [
        f"At most {MOST_ON_AVERAGE} in the geometric mean and {MOST:.2f} on any data set everywhere: "
        f"{'; '.join(kept) or 'no method'}."
    ]
    return " ".join([*said, *(f"{title} is worse with labels {'; '.join(where)}." for title, where in worse.items())])


def strength_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """Odds that a mask gives away, exactly, and each method's loss over that under a mask that gives nothing away."""
    rows = fixed(rows)
    rows = rows.assign(strength=[float(member(mask).params["strength"]) for mask in rows["mask"]])
    none, *strengths = sorted(rows["strength"].unique())
    odds = {s: posterior_odds(1.0 / (1.0 + np.exp([[s], [-s]])), np.array([[True]]))[0] for s in strengths}
    lines, most = [], []
    cases: dict[str, float] = {}
    for (epsilon, method), part in rows.groupby(["epsilon", "method"]):
        title = method_title(str(method), cards)
        found = [ratio_to(part[part["strength"] == s], part[part["strength"] == none]) for s in strengths]
        most.append(found[-1][0].estimate)
        cases |= {f"{dataset_title(d)}, {title}, ε = {epsilon:g}": ratio for d, ratio in found[-1][1].items()}
        cells = [times(interval) for interval, _ in found]
        lines.append((f"{epsilon:g}", f"{math.exp(epsilon):.3g}", title, *cells))
    least, last = min(rows["epsilon"]), strengths[-1]
    finding = (
        f"Who protects what can tell more than the report: strength {last:g} multiplies the odds of a secret bit by "
        f"{odds[last]:.3g}, where ε = {least:g} allows {math.exp(least):.2g}; the error changes by a factor of "
        f"{min(most):.2f} to {max(most):.2f}"
    )
    heads = ("ε", "odds by ε", "method", *(f"strength {s:g}: odds {odds[s]:.3g}" for s in strengths))
    remark = f"Sought: at most 10 % more. {exceptions(cases, lambda ratio: ratio < 1.1)}"
    return PlainTable(LEGEND.format(f"at strength {none:g}"), heads, tuple(lines), remark, finding)


def rules_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """Tabulate the cost of a tree that needs no mask beside both rules, under each mask."""
    lines, means = [], {}
    cases: dict[str, float] = {}
    for (mask, epsilon), part in fixed(rows).groupby(["mask", "epsilon"]):
        for rule in ("histoftree_max_edge", "histoftree_cart"):
            found, each = ratio_to(part[part["method"].str.contains("random")], part[part["method"] == rule])
            cell = mask_name(str(mask)), f"{epsilon:g}", method_title(rule, cards)
            means["{}, ε = {}, beside {}".format(*cell)] = found.estimate
            lines.append((*cell, times(found)))
            cases |= {", ".join([dataset_title(d), *cell]): ratio for d, ratio in each.items()}
    dearest, mean = max(means, key=means.__getitem__), geometric_mean(means.values()).estimate
    finding = (
        f"Cutting at random, which needs no mask, multiplies the error by {mean:.2f} on average and by "
        f"{means[dearest]:.2f} at most ({dearest})"
    )
    heads, remark = ("mask", "ε", "beside", "random cuts"), exceptions(cases, lambda ratio: (ratio > 1) == (mean > 1))
    return PlainTable(LEGEND.format("of the rule"), heads, tuple(lines), remark, finding)


def influence(method: str, epsilon: float, cards: Cards) -> float | str:
    """Largest exact influence of one report of a user who runs the method, or a word where there is no number.

    ``bounded``: reports are of a finite list, and no estimate from one is stated; ``no report``: nobody is asked;
    ``not run``: the method does not learn from the audit's small sample.
    """
    from lpbench.audit.recorded import recorded_run  # which brings every estimator

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = recorded_run((card_of(method, cards) or catalogue.method(method)).build(), epsilon)
    except LpbenchError:
        return "not run"
    if not run.randomizer.messages:
        return "no report"
    most = float(np.fmax.reduce([message.mechanism.influence for message in run.randomizer.messages]))
    return "bounded" if math.isnan(most) else most


def liars_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """Each method's loss with liars over that without, a column a scenario, and the influence of one report."""
    lines, found, reach, worst = [], {}, {}, "10 % false reports"
    for key, part in fixed(rows).groupby(["method", "epsilon"], sort=False):
        shown = {}
        for name, scenario in SCENARIOS.items():
            before = {"metric": "at_point"} if "metric" in scenario else {}
            one, other = drawn_with(part, scenario), drawn_with(part, before)
            found[key, name] = ratio_to(one, other)
            shown[name] = times(found[key, name][0])
            if before and one["metric"].str.endswith("accuracy").any():
                shown[name] = f"{other['loss'].mean():.0%} → {one['loss'].mean():.0%} wrong"
        reach[key] = influence(str(key[0]), float(key[1]), cards)
        lines.append((method_title(str(key[0]), cards), f"{key[1]:g}", _reach(reach[key]), *shown.values()))
    said = []
    for defence in ("clip", "median"):
        price, saved = ([found[key, f"{defence}: {what}"][0].estimate for key in reach] for what in ("price", worst))
        said.append(
            f"{defence}: a loss times {np.nanmin(price):.2f} to {np.nanmax(price):.2f} without liars, times "
            f"{np.nanmin(saved):.2f} to {np.nanmax(saved):.2f} with a tenth of them."
        )
    loose = list(dict.fromkeys(method for (method, _), value in reach.items() if value == math.inf))
    names = ", ".join(method_title(str(method), cards) for method in loose) or "no method"
    bounded = [key for key in reach if key[0] not in loose]
    heads, finding = ("method", "ε", "influence of one report", *SCENARIOS), f"One liar is enough: {names}"
    if bounded:
        ends = min(e for _, e in bounded), max(e for _, e in bounded)
        small, large = (
            geometric_mean(found[k, worst][0].estimate for k in bounded if k[1] == e).estimate for e in ends
        )
        cases = {
            (d, method): ratio / found[(method, ends[1]), worst][1][d]
            for method, e in bounded
            if e == ends[0]
            for d, ratio in found[(method, e), worst][1].items()
        }
        effect = geometric_mean(pd.Series(cases).apply(np.log).groupby(level=0).mean().apply(np.exp))
        word = "easier" if effect.low > 1 else "harder" if effect.high < 1 else "neither easier nor harder"
        finding = (
            f"A smaller ε is {word} to poison: a tenth of false reports multiplies the loss of methods with bounded "
            f"reports by {small:.2f} at ε = {ends[0]:g}, by {large:.2f} at ε = {ends[1]:g}; without a bound: {names}"
        )
        named = {f"{dataset_title(d)}, {method_title(str(m), cards)}": ratio for (d, m), ratio in cases.items()}
        said += [
            f"The first over the second: {times(effect)} over data sets.",
            exceptions(named, lambda ratio: (ratio > 1) == (effect.estimate > 1)),
        ]
    return PlainTable(LEGEND.format("without liars"), heads, tuple(lines), " ".join(said), finding)


def every_method_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """Each method's loss with a growing share of false reports, or with false records, over that without."""
    rows = fixed(rows)
    lies = sorted({(g["poison"], g["liars"]) for g in rows["given"] if g}, key=lambda lie: (lie[0] == "input", lie[1]))
    budgets = sorted(rows["epsilon"].unique())
    found: dict[str, list[Interval]] = {}
    for method, part in rows.groupby("method", sort=False):
        honest = drawn_with(part, {})
        for poison, share in lies:
            lying = drawn_with(part, {"liars": share, "poison": poison})
            found.setdefault(str(method), []).extend(
                ratio_to(lying[lying["epsilon"] == e], honest[honest["epsilon"] == e])[0] for e in budgets
            )
    places = [(poison, share, e) for poison, share in lies for e in budgets]
    if ("output", 0.1, 1.0) not in places:
        return None
    worst = places.index(("output", 0.1, 1.0))
    most = {
        method: ratios[worst].estimate for method, ratios in sorted(found.items(), key=lambda m: m[1][worst].estimate)
    }
    lines = [
        (method_title(method, cards), _reach(influence(method, 1.0, cards)), *map(times, found[method]))
        for method in most
    ]
    little, beyond = sum(ratio <= 1.1 for ratio in most.values()), sum(ratio > 1e3 for ratio in most.values())
    finding = (
        f"A tenth of false reports at ε = 1 leaves {little} of {len(most)} methods within 10 % of their loss; "
        f"{beyond or 'none'} lose{'s' * (beyond < 2)} more than 1,000-fold"
    )
    kinds = {"output": "reports", "input": "records"}
    heads = (f"{share:.0%} false {kinds[poison]}, ε = {e:g}".replace("%", " %") for poison, share, e in places)
    legend = f"Loss over that without liars, mean over {rows['base'].nunique()} data sets, too few for an interval."
    remark = "The methods that a tenth of false reports at ε = 1 hurts least come first."
    return PlainTable(legend, ("method", "influence of one report at ε = 1", *heads), tuple(lines), remark, finding)


def _reach(influence: float | str) -> str:
    if isinstance(influence, str):
        return influence
    return "∞" if math.isinf(influence) else f"{influence:.3g}"


def groups_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """Gap between two groups of people by data set, and score of the worse; what privacy and protection change."""
    rows = fixed(rows)
    gaps, worst = (rows[rows["metric"].str.startswith(part)] for part in ("group_gap", "worst_group"))
    free, sets = gaps[gaps["privacy"] == NONE], list(dict.fromkeys(gaps["base"]))
    if free.empty:
        return None
    classes = bool(rows["metric"].str.endswith("accuracy").any())
    # gaps of accuracies in percentage points, of errors in per cent of the worse group's error without privacy
    unit = {d: 100.0 if classes else 100.0 / _at(worst[worst["privacy"] == NONE], d)[0] for d in sets}
    at_free = {d: _at(free, d) for d in sets}
    worse = dict(list(worst.groupby(["panel", "method", "epsilon"], sort=False)))
    lines: list[tuple[str, ...]] = []
    wider: dict[str, float] = {}
    attribute: dict[tuple[str, bool], dict[tuple[str, float], float]] = {}
    for (panel, method, epsilon, mask), part in gaps.groupby(["panel", "method", "epsilon", "mask"], sort=False):
        low = worse.get((panel, method, epsilon), worst.iloc[:0])
        title, is_shown, cells = method_title(str(method), cards), mask == "label_only", []
        for d in sets:
            (gap, error), (score, _), (without, noise) = _at(part, d), _at(low, d), at_free[d]
            below = "" if math.isnan(score) else f" ({unit[d] * score:.3g})"
            cells.append("–" if math.isnan(gap) else f"{unit[d] * gap:.3g} ± {unit[d] * error:.2g}{below}")
            if panel == "attribute":
                attribute.setdefault((d, is_shown), {})[str(method), epsilon] = gap
            elif panel == "" and method not in CONSTANTS and gap == gap:
                apart = (gap - without) / max(math.hypot(error, noise), 1e-12)
                wider[f"{dataset_title(d)}, {title}, ε = {epsilon:g}"] = apart
        title += f", attribute {'shown' if is_shown else 'protected'}" * (panel == "attribute")
        lines.append((title, panel if panel == "without privacy" else f"{epsilon:g}", *cells))
    more, less = sum(z > 1 for z in wider.values()), sum(z < -1 for z in wider.values())
    said = "here widens and there narrows" if more and less else "widens" if more else "narrows" if less else "keeps"
    finding = (
        f"Privacy {said} the gap between groups of people: beyond noise it is wider in {more}, narrower in {less} of "
        f"{len(wider)} cells"
    )
    against = [where for where, z in wider.items() if (z < -1 if more >= less else z > 1)]
    remark = f"Against it: {'; '.join(against[:5]) or 'no cell'}" + (
        f"; {len(against) - 5} more." if against[5:] else "."
    )
    effect = geometric_mean(
        geometric_mean(gap / attribute[d, True][place] for place, gap in part.items()).estimate
        for (d, is_shown), part in attribute.items()
        if not is_shown
    )
    if attribute:
        remark += f" Protecting the group's attribute multiplies the gap by {times(effect)} over data sets."
    legend = "Gap between the groups with its 95 % interval over replications (the worse group's score), in "
    legend += "percentage points." if classes else "per cent of that group's error without privacy."
    return PlainTable(legend, ("method", "ε", *map(dataset_title, sets)), tuple(lines), remark, finding)


def _at(rows: pd.DataFrame, base: str) -> tuple[float, float]:
    """Score on a data set and half of its 95 % interval; of the worse group's accuracy the loss is one less it."""
    for row in rows[rows["base"] == base].itertuples():
        score = 1.0 - row.loss if row.metric == "worst_group_accuracy" else row.loss
        return float(score), float(row.se * scipy.stats.t.ppf(0.975, max(row.replications - 1, 1)))
    return math.nan, math.nan
