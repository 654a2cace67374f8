"""The leaderboard: every method's score against the constant and the non-private best, like compared with like.

Scores come from the experiments that papers name in :attr:`lpbench.reporting.paper.Paper.leaderboard`. Methods are
compared within a task, a mask, a budget, a way of selection and, by default, a privacy model.
"""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lpbench.analysis import competitors
from lpbench.analysis.ranks import rank_intervals, ranks
from lpbench.analysis.scores import LARGER_IS_BETTER, costs
from lpbench.analysis.summary import CONSTANTS, NON_PRIVATE_PANEL, REFERENCES, best_without_privacy
from lpbench.experiments.method import Method
from lpbench.experiments.submissions import Submission
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures.comparisons import gain, printed_gain
from lpbench.reporting.numbers import for_script, print_value
from lpbench.reporting.paper import papers
from lpbench.reporting.printed_names import card_of, dataset_title, in_words, method_title
from lpbench.selectors import parse_selector

#: Privacy model of a method -> what it protects, in the words of the badges.
PROTECTS = {
    "label_ldp": "label",
    "semi_feature_ldp": "label and protected features",
    "ldp": "whole record",
    "label_cdp": "label, trusted curator",
    "cdp": "record, trusted curator",
    "none": "nothing",
    "": "not stated",
}
#: What can be chosen, and how it is called.
FILTERS = {
    "task": "Task",
    "dataset": "Data set",
    "epsilon": "Budget ε",
    "mask": "Who protects what",
    "protects": "Protects",
    "selection": "Selection",
}
#: What a user without test rows can have comes first; the other is oracle selection.
COMPARED_SELECTIONS = ("fair", "oracle")
#: Badge of the methods of the package, whose scores `lpbench verify bitwise` runs again.
PACKAGE = "in the package"
#: The row of all data sets together.
ALL = "all data sets"
#: Draws of the bootstrap over replications, and its seed.
DRAWS, SEED = 400, 20_250
#: Name of the script beside the page.
SCRIPT = "leaderboard.js"


@dataclass(frozen=True)
class Line:
    """One row of the leaderboard."""

    task: str
    mask: str
    epsilon: float
    selection: str
    dataset: str
    method: str
    title: str
    protects: str
    #: Mean squared error or accuracy in per cent; over all data sets the geometric mean of the errors
    #: relative to the non-private best, or the mean accuracy.
    score: float
    se: float
    #: Change against the best private constant and against the data set's best method without
    #: privacy at its best setting: per cent of the error, or points of accuracy; positive is better.
    constant: float
    best: float
    #: Average rank among the methods of the same privacy model, with its 95 % interval: over
    #: replications on one data set, over data sets where there are several.
    rank: float
    low: float
    high: float
    #: Seconds of one fit alone, and bits of one user's reports (in the audit's
    #: small sample, what is shown in the clear left out); of a submission as its verification found them; NaN
    #: where they are not known.
    work: float
    bits: float
    sets: int  # data sets behind the row
    experiment: str
    #: Selectors, as the command line takes them; no data set for all of them together.
    mask_key: str
    dataset_key: str
    badge: str  # whether and when somebody else ran it again
    paper: str  # whose method it is

    @property
    def command(self) -> str:
        """What runs the row's numbers again, or shows what stands behind them."""
        if self.badge != PACKAGE:
            return f"lpbench verify submission results/submissions/{self.method}"
        if not self.dataset_key:
            return f"lpbench reproduce {self.experiment}"
        words = [self.dataset_key, self.method, f"{self.epsilon:g}", "--mask", self.mask_key]
        return shlex.join(["lpbench", "explain", *words, "--experiment", self.experiment])


@dataclass
class _Cell:
    """One method on one data set: its replications and where they come from."""

    values: np.ndarray
    experiment: str
    metric: str

    @property
    def costs(self) -> np.ndarray:
        """The replications with the sign that makes smaller ones better."""
        return costs(self.values, self.metric)


def board(
    entries: Sequence[ReportEntry],
    cards: Mapping[str, Method],
    bits: Callable[[str, float], float],
    work: Mapping[str, float],
    submitted: Sequence[Submission] = (),
) -> list[Line]:
    """Collect all rows; ``bits`` are known by method and budget, ``work`` by method."""
    groups: dict[tuple, dict[tuple[str, str], _Cell]] = {}
    best: dict[tuple[str, str], np.ndarray] = {}
    by_name = {e.name: e for e in entries}
    for name in (name for paper in papers() for name in reversed(paper.leaderboard)):
        table = by_name[name].summary if name in by_name else None
        if table is None:
            continue
        competing = competitors(set(table["method"])) | {*CONSTANTS, *REFERENCES}
        metrics = table.set_index(["method", "dataset"])["metric"].to_dict()
        for selection in COMPARED_SELECTIONS:
            for (panel, dataset, mask, method, epsilon), values in _samples(by_name[name], selection).items():
                metric = metrics.get((method, dataset), "")
                scored = metric in LARGER_IS_BETTER and metric != "seconds"
                if panel != NON_PRIVATE_PANEL and method in competing and scored:
                    task = "classification" if LARGER_IS_BETTER[metric] else "regression"
                    group = groups.setdefault((task, mask, epsilon, selection), {})
                    # later papers are our own experiments, which hold the columns of the papers' tables too
                    group[dataset, method] = _Cell(values, name, metric)
        larger = any(LARGER_IS_BETTER[m] for m in set(metrics.values()) - {""})
        found = best_without_privacy(_samples(by_name[name], "oracle"), larger)
        best |= {(name, dataset): values for dataset, values in found.items()}
    badges: dict[str, str] = {}
    sent: dict[tuple[str, float], float] = {}
    for one in submitted:
        experiment = str(one.about["experiment"])
        if experiment in by_name and by_name[experiment].summary is not None:
            badges[one.name], cards = one.words, {**cards, one.name: one.method}
            seconds, of_budgets = one.cost
            work = {**work, one.name: seconds}
            sent |= {(one.name, epsilon): value for epsilon, value in of_budgets.items()}
            for (dataset, mask, epsilon), rows in one.claimed.groupby(["dataset", "mask", "epsilon"]):
                cell = _Cell(rows.sort_values("replication")["value"].to_numpy(), experiment, rows["metric"].iloc[0])
                groups.setdefault((one.method.task, mask, epsilon, "fair"), {})[dataset, one.name] = cell

    def bits_of(method: str, epsilon: float) -> float:
        return sent.get((method, epsilon), math.nan) if method in badges else bits(method, epsilon)

    lines: list[Line] = []
    for key, cells in sorted(groups.items()):
        lines += _lines(key, cells, cards, bits_of, work, best, badges)
    return lines


def _samples(entry: ReportEntry, selection: str) -> dict[tuple[str, str, str, str, float], np.ndarray]:
    """Replications as :meth:`lpbench.analysis.Summary.samples` gives them; where none are kept, their mean alone."""
    if entry.full is not None:
        return entry.full.samples(selection)
    if entry.summary is None:
        return {}
    rows = entry.summary.dropna(subset=["mean"])
    rows = rows[rows["selection"].isin(["tuning_free", "private"] if selection == "fair" else [selection])]
    keys = rows[["panel", "dataset", "mask", "method", "epsilon"]].itertuples(index=False, name=None)
    return {key: np.array([mean]) for key, mean in zip(keys, rows["mean"], strict=True)}


def _lines(
    key: tuple,
    cells: Mapping[tuple[str, str], _Cell],
    cards: Mapping[str, Method],
    bits: Callable[[str, float], float],
    work: Mapping[str, float],
    best: Mapping[tuple[str, str], np.ndarray],
    badges: Mapping[str, str],
) -> Iterable[Line]:
    task, mask, epsilon, selection = key
    larger = task == "classification"
    datasets = sorted({d for d, _ in cells})
    methods = sorted({m for _, m in cells if m not in REFERENCES})
    constants = {d: _best_constant(cells, d) for d in datasets}
    # data sets of the experiment with the most cells are taken together: others may have them under another selector
    whole = Counter(cell.experiment for cell in cells.values()).most_common(1)[0][0]
    models = _models(methods, cards)
    refuted = {m for m, words in badges.items() if words.startswith("refuted")}
    for model, members in models.items():
        places = _places(cells, [m for m in members if m not in refuted], datasets, whole)
        for method in members:
            card = card_of(method, cards)
            mine = {d: cells[d, method] for d in datasets if (d, method) in cells}
            references = {d: best.get((cell.experiment, d)) for d, cell in mine.items()}
            shared = (task, in_words(parse_selector(mask)[0]) if mask else "–", epsilon, selection)
            cost = (work.get(method, math.nan), bits(method, epsilon))
            rows = [(d, [d]) for d in mine]
            together = [d for d in mine if mine[d].experiment == whole]
            if len(together) > 1:
                rows.append((ALL, together))
            for name, among in rows:
                score, se = _score(among, mine, references, larger)
                beside = [
                    [(mine[d].values, o) for d in among if (o := other[d]) is not None]
                    for other in (constants, references)
                ]
                low, high = (_change(pairs, mine[among[0]].metric) for pairs in beside)
                rank = places.get((method, name), (math.nan,) * 3)
                title = ALL if name == ALL else dataset_title(name)
                yield Line(
                    *shared, title, method, method_title(method, cards), PROTECTS.get(model, model), score, se, low,
                    high, rank[0], rank[1], rank[2], cost[0], cost[1], len(among), mine[among[0]].experiment, mask,
                    "" if name == ALL else name, badges.get(method, PACKAGE), card.reference if card else "",
                )  # fmt: skip


def _models(methods: Sequence[str], cards: Mapping[str, Method]) -> dict[str, list[str]]:
    """Privacy model -> the methods that keep it; a constant, which shows no feature, is a row of every one of them."""
    found: dict[str, list[str]] = {}
    constants = [m for m in methods if parse_selector(m)[0] in CONSTANTS]
    for method in methods:
        card = card_of(method, cards)
        if method not in constants:
            found.setdefault(card.privacy if card else "", []).append(method)
    if not found and constants:
        found["label_ldp"] = []
    return {model: sorted([*members, *constants]) for model, members in found.items()}


def _best_constant(cells: Mapping[tuple[str, str], _Cell], dataset: str) -> np.ndarray | None:
    """Replications of the best private constant of a data set."""
    found = [cell for (d, m), cell in cells.items() if d == dataset and parse_selector(m)[0] in CONSTANTS]
    return min(found, key=lambda cell: cell.costs.mean()).values if found else None


def _score(among: Sequence[str], mine: Mapping[str, _Cell], references: Mapping, larger: bool) -> tuple[float, float]:
    """Score of one data set with its standard error, or of several together."""
    if len(among) == 1:
        values = mine[among[0]].values * (100 if larger else 1)
        return float(values.mean()), float(values.std(ddof=1) / values.size**0.5) if values.size > 1 else math.nan
    if larger:
        return 100 * float(np.mean([mine[d].values.mean() for d in among])), math.nan
    known = [d for d in among if references[d] is not None]
    if not known:
        return math.nan, math.nan
    return float(np.exp(np.mean([np.log(mine[d].values.mean() / references[d].mean()) for d in known]))), math.nan


def _change(pairs: Sequence[tuple[np.ndarray, np.ndarray]], metric: str) -> float:
    """How much better the first of each pair is: points of accuracy, or per cent of the error; the mean over pairs."""
    if not pairs:
        return math.nan
    mine, theirs = np.array([(a.mean(), b.mean()) for a, b in pairs]).T
    with np.errstate(divide="ignore"):
        return printed_gain(float(gain(mine, theirs, metric).mean()), metric)


def _places(
    cells: Mapping[tuple[str, str], _Cell], members: Sequence[str], datasets: Sequence[str], whole: str
) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Rank of each method on each data set, and on average over all those of an experiment, with its interval.

    A method without a score on one of these is not ranked over all of them.
    """
    found: dict[tuple[str, str], tuple[float, float, float]] = {}
    for dataset in datasets:
        here = {m: cells[dataset, m].costs for m in members if (dataset, m) in cells}
        if len(here) > 1:
            drawn = _drawn_ranks(list(here.values()))
            found |= {(method, dataset): _interval(drawn[:, k]) for k, method in enumerate(here)}
    inside = {key: cell.costs.mean() for key, cell in cells.items() if cell.experiment == whole}
    sets = sorted({d for d, _ in inside})
    together = [m for m in members if all((d, m) in inside for d in sets)]
    if len(together) > 1 and len(sets) > 1:
        means = np.array([[inside[d, m] for m in together] for d in sets])
        rows = zip(*rank_intervals(means, larger_is_better=False), strict=True)
        found |= {
            (m, ALL): (float(v), float(low), float(high)) for m, (v, low, high) in zip(together, rows, strict=True)
        }
    return found


def _drawn_ranks(values: Sequence[np.ndarray]) -> np.ndarray:
    """Ranks in the sample (first row) and in draws over replications, if all methods have the same number of them."""
    means = np.array([[v.mean() for v in values]])
    size = values[0].size
    if size > 1 and all(v.size == size for v in values):
        draws = np.random.default_rng(SEED).integers(size, size=(DRAWS, size))
        means = np.vstack([means, np.array(values)[:, draws].mean(axis=2).T])
    return ranks(means, larger_is_better=False)


def _interval(drawn: np.ndarray) -> tuple[float, float, float]:
    low, high = np.quantile(drawn[1:], [0.025, 0.975]) if len(drawn) > 1 else (math.nan, math.nan)
    return float(drawn[0]), float(low), float(high)


def default_view(lines: Sequence[Line]) -> dict[str, str]:
    """First view of the leaderboard: task, mask, budget and model with the most methods, tuning-free."""
    if not lines:
        return {}
    count: dict[tuple, int] = {}
    for line in lines:
        if line.selection == "fair" and line.dataset == ALL and not math.isnan(line.rank):
            key = (line.task == "regression", line.epsilon == 1, line.task, line.mask, line.epsilon, line.protects)
            count[key] = count.get(key, 0) + 1
    if not count:
        first = lines[0]
        chosen = (first.task, first.mask, first.epsilon, first.protects)
        selection, dataset = first.selection, first.dataset
    else:
        chosen, selection, dataset = max(count, key=lambda k: (k[:2], count[k]))[2:], "fair", ALL
    task, mask, epsilon, protects = chosen
    return {"task": task, "mask": mask, "epsilon": f"{epsilon:g}", "protects": protects, "selection": selection,
            "dataset": dataset}  # fmt: skip


def in_view(lines: Sequence[Line], view: Mapping[str, str]) -> list[Line]:
    """Rows of a view, the best first; those without a rank at the end."""
    wanted = [line for line in lines if all(print_value(getattr(line, k)) == v for k, v in view.items())]
    return sorted(wanted, key=lambda line: (math.isnan(line.rank), line.rank, line.title))


def as_script(lines: Sequence[Line], view: Mapping[str, str]) -> str:
    """Write the rows down, what rows share once: data sets, methods and experiments in lists, rows by comparison.

    Numbers have the digits that the page shows; a rank has more of them, since rows are sorted by it.
    """
    sets: dict[tuple, int] = {}
    methods: dict[tuple, int] = {}
    experiments: dict[str, int] = {}
    groups: dict[tuple, list[list]] = {}
    for line in lines:
        dataset = (line.dataset_key, line.dataset)
        method = (line.method, line.title, line.protects, for_script(line.work, ".5g"), line.badge, line.paper)
        group = (line.task, line.mask_key, line.mask, line.epsilon, line.selection)
        groups.setdefault(group, []).append(
            [
                sets.setdefault(dataset, len(sets)),
                methods.setdefault(method, len(methods)),
                experiments.setdefault(line.experiment, len(experiments)),
                line.sets,
                for_script(line.score, ".4g"),
                for_script(line.se, ".2g"),
                *(for_script(v, ".2f") for v in (line.constant, line.best)),
                for_script(line.rank, ".3f"),
                *(for_script(v, ".1f") for v in (line.low, line.high)),
                for_script(line.bits, ".5g"),
            ]
        )
    board = {
        "view": dict(view),
        "sets": list(sets),
        "methods": list(methods),
        "experiments": list(experiments),
        "groups": [[*group, rows] for group, rows in groups.items()],
    }
    return f"const BOARD = {json.dumps(board, ensure_ascii=False, separators=(',', ':'))};\n"
