"""Tables of the stress tests: corrupted data, masks that tell, users who lie, groups of people; with their findings."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from lpbench.analysis.rates import Interval
from lpbench.analysis.significance import ALPHA, holm
from lpbench.analysis.standings import FAIR, NONE, geometric_mean, view
from lpbench.datasets.masks import posterior_odds
from lpbench.errors import LpbenchError
from lpbench.experiments import catalog
from lpbench.experiments.method import Method
from lpbench.members import CONSTANTS, PUBLIC_ONLY, member
from lpbench.reporting.numbers import print_ratio
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.printed_names import card_of, dataset_title, mask_name, method_title

Cards = Mapping[str, Method]
#: Column of the table of liars -> parameters of its data sets.
SCENARIOS: Mapping[str, Mapping[str, Any]] = {
    "10 % false records": {"liars": 0.1, "poison": "input"},
    "2 % false reports": {"liars": 0.02, "poison": "output"},
    "10 % false reports": {"liars": 0.1, "poison": "output"},
    "10 % false reports for one class or end": {"liars": 0.1, "poison": "output", "goal": "flip"},
    "10 % false reports, first test row": {"liars": 0.1, "poison": "output", "goal": "point", "metric": "at_point"},
    "clip, no false reports": {"defense": "clip"},
    "clip, 10 % false reports": {"liars": 0.1, "poison": "output", "defense": "clip"},
    "median, no false reports": {"defense": "median"},
    "median, 10 % false reports": {"liars": 0.1, "poison": "output", "defense": "median"},
}
#: A method is never worse than the constant by more than noise: bounds of the geometric mean, and of any data set.
MOST_ON_AVERAGE, MOST = 1.02, 1.10
#: Data sets and replications that a finding needs.
LEAST_SETS, LEAST_REPLICATIONS = 5, 3
#: Methods whose score privacy cannot change by what users see of it: constants, and those that ask nobody.
UNREACHED = (*CONSTANTS, *PUBLIC_ONLY, "lpct_q")
#: The scenario whose cost at two budgets is compared.
POISONED = "10 % false reports"
LEGEND = "Loss divided by the loss {}: geometric mean over data sets with its 95 % interval."
#: What is read of a table of standings: a narrow one is searched faster.
_READ = ["panel", "mask", "epsilon", "dataset", "method", "metric", "privacy", "loss", "se", "replications"]


def fixed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows at the one setting that a method states or chooses, with the data set apart from its parameters."""
    rows = view(rows, FAIR)[_READ]
    sets = [*map(member, rows["dataset"])]
    return rows.assign(base=[one.name for one in sets], given=[one.params for one in sets])


def drawn_with(rows: pd.DataFrame, given: Mapping[str, Any]) -> pd.DataFrame:
    """Rows whose data set has these parameters and no others."""
    return rows[[params == given for params in rows["given"]]]


def ratio_to(rows: pd.DataFrame, before: pd.DataFrame) -> tuple[Interval, dict[str, float]]:
    """Geometric mean over data sets of losses over those ``before``, with its interval, and the ratio on each set."""
    ratios = (rows.set_index("base")["loss"] / before.set_index("base")["loss"]).dropna()
    return geometric_mean(ratios), {str(name): float(ratio) for name, ratio in ratios.items()}


def times(ratio: Interval) -> str:
    """A ratio with its interval over data sets; one beyond measure as a power of ten."""
    return f"10^{math.log10(ratio.estimate):.0f}" if ratio.estimate > 1e3 else print_ratio(ratio)


def over(losses: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """Ratios of losses to ``before`` by data set, for the data sets that both have."""
    return {name: losses[name] / before[name] for name in losses if name in before}


@dataclass(frozen=True)
class Effect:
    """Ratio of losses, pooled over cells within each data set, with its 95 % interval over data sets.

    ``sets`` is the number of data sets, ``replications`` the fewest behind any score. A finding needs enough of both
    and an interval without 1.
    """

    ratio: Interval
    sets: int
    replications: float  # the fewest behind any score

    @classmethod
    def of(cls, cells: Sequence[Mapping[str, float]], rows: pd.DataFrame) -> "Effect":
        """Pool the ratios of cells: the geometric mean within a data set first, so that none counts twice."""
        sets = pd.DataFrame(list(cells)).apply(pd.to_numeric).apply(lambda one: geometric_mean(one.dropna()).estimate)
        return cls(geometric_mean(sets), len(sets), float(rows["replications"].min()))

    @property
    def decided(self) -> bool:
        """True if the interval excludes 1, over enough data sets and replications."""
        enough = self.sets >= LEAST_SETS and self.replications >= LEAST_REPLICATIONS
        return enough and (self.ratio.low > 1 or self.ratio.high < 1)

    def finding(self, words: str) -> str:
        """Fill the sentence with the ratio, where it is decided; no sentence otherwise."""
        return self._fill(words) if self.decided else ""

    def remark(self, words: str) -> str:
        """Fill the sentence where nothing is decided, and say so; what is decided is the finding."""
        return "" if self.decided or not self.sets else f"{self._fill(words)}. This average shows no difference."

    def _fill(self, words: str) -> str:
        return f"{words} by a factor of {times(self.ratio)}, on average over {self.sets} data sets"


def corrupted_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """Table of corrupted labels: one row per kind of labels, budget and method.

    It has the geometric mean of the loss ratio over data sets, and the worst one.
    """
    rows = view(rows[(rows["privacy"] != NONE) & ~rows["method"].isin(CONSTANTS)], "tuning_free")
    rows = rows.dropna(subset=["over_constant"])
    if rows.empty:
        return None
    labels = [member(name).params.get("labels", "recorded") for name in rows["dataset"]]
    lines = []
    for (kind, epsilon, method), cell in rows.assign(labels=labels).groupby(["labels", "epsilon", "method"]):
        worst, largest = dataset_title(cell.loc[cell["over_constant"].idxmax(), "dataset"]), cell["over_constant"].max()
        mean = geometric_mean(cell["over_constant"]).estimate
        lines.append((str(kind), f"{epsilon:g}", method_title(str(method), cards), mean, float(largest), worst))
    lines.sort(key=lambda row: (row[0], float(row[1]), row[3]))
    heads = ("labels", "ε", "method", "geometric mean", "largest ratio", "data set of the largest ratio")
    cells = tuple((*head, f"{mean:.3f}", f"{most:.3f}", worst) for *head, mean, most, worst in lines)
    return PlainTable("Loss divided by the loss of the best private constant", heads, cells, _never_worse(lines))


def _never_worse(rows: list[tuple[str, str, str, float, float, str]]) -> str:
    """Name the methods that are never worse than the private constant by more than noise, and the cells of the others.

    A row is (labels, ε, method's title, geometric mean of the ratio of losses, largest ratio, data set of the largest).
    """
    worse: dict[str, list[str]] = {}
    for labels, epsilon, title, mean, largest, worst in rows:
        if mean > MOST_ON_AVERAGE or largest > MOST:
            worse.setdefault(title, []).append(f"{labels} at ε = {epsilon} ({mean:.3f}, {largest:.3f} on {worst})")
    never_worse = [title for title in dict.fromkeys(row[2] for row in rows) if title not in worse]
    sentences = [
        f"For all kinds of labels and budgets, these methods have a ratio of at most {MOST_ON_AVERAGE} in the "
        f"geometric mean, and of at most {MOST:.2f} on each data set: {'; '.join(never_worse) or 'no method'}."
    ]
    return " ".join(
        [*sentences, *(f"{title} has larger ratios with labels {'; '.join(where)}." for title, where in worse.items())]
    )


def strength_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """Odds that a mask gives away, exactly, and each method's loss over that under a mask that gives nothing away."""
    rows = fixed(rows)
    rows = rows.assign(strength=[float(member(mask).params["strength"]) for mask in rows["mask"]])
    none, *strengths = sorted(rows["strength"].unique())
    odds = {s: posterior_odds(1.0 / (1.0 + np.exp([[s], [-s]])), np.array([[True]]))[0] for s in strengths}
    lines, strongest = [], []
    for (epsilon, method), group in rows.groupby(["epsilon", "method"]):
        ratios = [ratio_to(group[group["strength"] == s], group[group["strength"] == none]) for s in strengths]
        strongest.append(ratios[-1][1])
        cells = [times(interval) for interval, _ in ratios]
        lines.append((f"{epsilon:g}", f"{math.exp(epsilon):.3g}", method_title(str(method), cards), *cells))
    heads = ("ε", "odds allowed by ε", "method", *(f"strength {s:g}: odds {odds[s]:.3g}" for s in strengths))
    change = Effect.of(strongest, rows)
    legend, words = (
        LEGEND.format(f"at strength {none:g}"),
        f"At strength {strengths[-1]:g}, the dependence of the mask on protected values changes the error",
    )
    return PlainTable(legend, heads, tuple(lines), change.remark(words), change.finding(words))


def rules_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """Tabulate the cost of random cuts, which do not hide the mask either, beside both rules, under each mask."""
    rows, lines, each = fixed(rows), [], []
    for (mask, epsilon), group in rows.groupby(["mask", "epsilon"]):
        for rule in ("histoftree_max_edge", "histoftree_cart"):
            mean, ratios = ratio_to(group[group["method"].str.contains("random")], group[group["method"] == rule])
            lines.append((mask_name(str(mask)), f"{epsilon:g}", method_title(rule, cards), times(mean)))
            each.append(ratios)
    cost = Effect.of(each, rows)
    words = "Cutting at random in place of the compared rule changes the error"
    heads = ("mask", "ε", "compared rule", "random cuts")
    return PlainTable(
        LEGEND.format("with the cuts of the compared rule"),
        heads,
        tuple(lines),
        cost.remark(words),
        cost.finding(words),
    )


def influence(method: str, epsilon: float, cards: Cards) -> float | str:
    """Largest exact influence of one report of a user who runs the method, or a word where there is no number.

    ``bounded``: reports are of a finite list, and no estimate from one is stated; ``no report``: nobody is asked;
    ``not run``: the method does not learn from the audit's small sample.
    """
    from lpbench.audit.recorded import recorded_run  # which brings every estimator

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = recorded_run((card_of(method, cards) or catalog.method(method)).build(), epsilon)
    except LpbenchError:
        return "not run"
    if not run.randomizer.messages:
        return "no report"
    most = float(np.fmax.reduce([message.mechanism.influence for message in run.randomizer.messages]))
    return "bounded" if math.isnan(most) else most


def liars_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """Table of false reports: each method's loss with them over that without, one column per scenario.

    A last column has the influence of one report.
    """
    rows, lines = fixed(rows), []
    reach: dict[tuple[str, float], float | str] = {}
    poisoned: dict[tuple[str, float], dict[str, float]] = {}
    for (method, epsilon), group in rows.groupby(["method", "epsilon"], sort=False):
        cells = []
        for scenario in SCENARIOS.values():
            before = {"metric": "at_point"} if "metric" in scenario else {}
            lying, honest = drawn_with(group, scenario), drawn_with(group, before)
            mean, ratios = ratio_to(lying, honest)
            if scenario == SCENARIOS[POISONED]:
                poisoned[str(method), float(epsilon)] = ratios
            of_classes = before and lying["metric"].str.endswith("accuracy").any()
            cells.append(
                f"{honest['loss'].mean():.0%} → {lying['loss'].mean():.0%} wrong" if of_classes else times(mean)
            )
        reach[str(method), float(epsilon)] = influence(str(method), float(epsilon), cards)
        lines.append((method_title(str(method), cards), f"{epsilon:g}", _reach(reach[method, epsilon]), *cells))
    # where a report has no end one liar is enough, by construction; where nobody is asked nobody lies
    bounded = {m for m, _ in reach} - {
        m for (m, _), most in reach.items() if most in (math.inf, "no report", "not run")
    }
    ends = min(e for _, e in reach), max(e for _, e in reach)
    change = Effect.of([over(poisoned[m, ends[0]], poisoned[m, ends[1]]) for m in sorted(bounded)], rows)
    words = (
        f"For methods with bounded influence of one report, lowering ε from {ends[1]:g} to {ends[0]:g} changes the "
        "harm of 10 % false reports"
    )
    heads = ("method", "ε", "influence of one report", *SCENARIOS)
    legend = LEGEND.format("without false reports")
    return PlainTable(legend, heads, tuple(lines), change.remark(words), change.finding(words))


def _reach(influence: float | str) -> str:
    if isinstance(influence, str):
        return influence
    return "∞" if math.isinf(influence) else f"{influence:.3g}"


def groups_table(rows: pd.DataFrame, cards: Cards) -> PlainTable | None:
    """Gap between two groups of people by data set, its ratio to that without privacy, and score of the worse."""
    rows = fixed(rows)
    gaps, worst = (rows[rows["metric"].str.startswith(prefix)] for prefix in ("group_gap", "worst_group"))
    free, sets = gaps[gaps["privacy"] == NONE], list(dict.fromkeys(gaps["base"]))
    if free.empty:
        return None
    classes = bool(rows["metric"].str.endswith("accuracy").any())
    # gaps of accuracies in percentage points, of errors in per cent of the worse group's error without privacy
    unit = {d: 100.0 if classes else 100.0 / _at(worst[worst["privacy"] == NONE], d)[0] for d in sets}
    worse = dict(list(worst.groupby(["panel", "method", "epsilon"], sort=False)))
    keys = ["panel", "method", "epsilon", "mask"]
    changes = _changes(gaps, free)
    lines: list[tuple[str, ...]] = []
    attribute: dict[tuple[str, float], dict[bool, dict[str, float]]] = {}
    for (panel, method, epsilon, mask), group in gaps.groupby(keys, sort=False):
        low, cells = worse.get((panel, method, epsilon), worst.iloc[:0]), []
        for d in sets:
            (gap, error, _), (score, *_) = _at(group, d), _at(low, d)
            ratio, mark = changes.get((panel, method, epsilon, mask, d), (math.nan, False))
            beside = "" if math.isnan(ratio) else f" ×{ratio:.2g}{'*' * mark}"
            below = "" if math.isnan(score) else f" ({unit[d] * score:.3g})"
            cells.append("–" if math.isnan(gap) else f"{unit[d] * gap:.3g} ± {unit[d] * error:.2g}{beside}{below}")
            if panel == "attribute" and gap == gap:
                attribute.setdefault((method, epsilon), {}).setdefault(mask == "label_only", {})[d] = gap
        note = f", attribute {'shown' if mask == 'label_only' else 'protected'}" * (panel == "attribute")
        title = method_title(str(method), cards) + note
        lines.append((title, panel if panel == "without privacy" else f"{epsilon:g}", *cells))
    by_cell: dict[tuple[Any, ...], dict[str, float]] = {}
    for (*cell, d), (ratio, _) in changes.items():
        by_cell.setdefault(tuple(cell), {})[d] = ratio
    change, words = Effect.of(list(by_cell.values()), rows), "Privacy changes the gap between groups of people"
    wider = [ratio > 1 for ratio, mark in changes.values() if mark]
    sentences = [
        change.remark(words),
        f"In {len(changes)} single cells the gap without privacy has a 95 % interval above 0. After Holm's correction "
        f"(*), privacy widens the gap in {sum(wider)} of these cells and narrows it in {len(wider) - sum(wider)}.",
    ]
    if attribute:
        effect = Effect.of([over(sides.get(False, {}), sides.get(True, {})) for sides in attribute.values()], rows)
        protected = "Protecting the group's attribute, compared with showing it, changes the gap"
        sentences += [effect.remark(protected), *([f"{effect.finding(protected)}."] if effect.decided else [])]
    legend = (
        "An entry is the gap between the groups ± half of its 95 % interval over replications. The number after × is "
        "the gap divided by the gap without privacy. The number in brackets is the worse group's "
    )
    legend += "score. Gaps and scores are in " + (
        "percentage points." if classes else "per cent of the worse group's error without privacy."
    )
    remark = " ".join(filter(None, sentences))
    heads = ("method", "ε", *map(dataset_title, sets))
    return PlainTable(legend, heads, tuple(lines), remark, change.finding(words))


def _changes(gaps: pd.DataFrame, free: pd.DataFrame) -> dict[tuple[Any, ...], tuple[float, bool]]:
    """Gaps of private methods over those without privacy: (ratio, True if it differs from 1 after Holm's correction).

    Keys are (panel, method, ε, mask, data set). ``free`` has the gaps without privacy; one that its interval does not
    tell from zero gives no ratio. Errors of logarithms are relative errors.
    """
    cells, ratios, p = [], [], []
    for row in gaps[(gaps["panel"] == "") & ~gaps["method"].isin(UNREACHED)].itertuples():
        without, half, error = _at(free, row.base)
        if without > half and row.loss > 0:
            cells.append((row.panel, row.method, row.epsilon, row.mask, row.base))
            ratios.append(row.loss / without)
            size = math.hypot(row.se / row.loss, error / without)
            p.append(2 * scipy.stats.t.sf(abs(math.log(ratios[-1])) / max(size, 1e-12), max(row.replications - 1, 1)))
    marks = holm(np.array(p)) <= ALPHA if p else ()
    return {cell: (ratio, bool(mark)) for cell, ratio, mark in zip(cells, ratios, marks, strict=True)}


def _at(rows: pd.DataFrame, base: str) -> tuple[float, float, float]:
    """Loss on a data set ``base``, half of its 95 % interval, and its standard error; an accuracy is one minus loss.

    All are NaN where ``rows`` lack the data set; of several rows the first counts.
    """
    for row in rows[rows["base"] == base].itertuples():
        score = 1.0 - row.loss if row.metric == "worst_group_accuracy" else row.loss
        return float(score), float(row.se * scipy.stats.t.ppf(0.975, max(row.replications - 1, 1))), float(row.se)
    return math.nan, math.nan, math.nan
