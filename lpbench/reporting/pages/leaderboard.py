"""The leaderboard: every method's score against the floor and the non-private best, like compared with like.

Scores come from the experiments that papers name in :attr:`lpbench.reporting.paper.Paper.leaderboard`. Methods are
compared within a task, a mask, a budget, a way of selection and, by default, a privacy model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import competitors, read_csv
from lpbench.analysis.ranks import rank_intervals, ranks
from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.analysis.selection import SELECTIONS
from lpbench.analysis.summary import REFERENCES
from lpbench.experiments.method import Method
from lpbench.experiments.plan import plan_experiment
from lpbench.reporting.cards import card_of, dataset_title, in_words, method_title
from lpbench.reporting.entries import Entry
from lpbench.reporting.figures.comparisons import FLOORS
from lpbench.reporting.paper import papers
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
#: The row of all data sets together.
ALL = "all data sets"
#: Draws of the bootstrap over replications, and its seed.
DRAWS, SEED = 400, 20_250


@dataclass(frozen=True)
class Line:
    """One row of the leaderboard.

    Attributes
    ----------
    task, mask, selection, dataset, method, title, protects : str
    epsilon : float
    score, se : float
        Mean squared error or accuracy in per cent; over all data sets the geometric mean of the errors relative to the
        non-private best, or the mean accuracy.
    floor, best : float
        Change against the floor and against the non-private best: per cent of the error, or points of accuracy;
        positive is better.
    rank, low, high : float
        Average rank among the methods of the same privacy model, with its 95 % interval: over replications on one data
        set, over data sets where there are several.
    work, bits : float
        Cost of one fit, and bits that one user sends (in the audit's small world); NaN where they are not known.
    sets : int
        Data sets behind the row.
    experiment : str
    mask_key, dataset_key : str
        Selectors, as the command line takes them; no data set for all of them together.
    """

    task: str
    mask: str
    epsilon: float
    selection: str
    dataset: str
    method: str
    title: str
    protects: str
    score: float
    se: float
    floor: float
    best: float
    rank: float
    low: float
    high: float
    work: float
    bits: float
    sets: int
    experiment: str
    mask_key: str
    dataset_key: str


@dataclass
class _Cell:
    """One method on one data set: its replications and where they come from."""

    values: np.ndarray
    experiment: str
    metric: str


def board(
    entries: Sequence[Entry], cards: Mapping[str, Method], bits: Mapping[str, float], work: Mapping[str, float]
) -> list[Line]:
    """Collect all rows; ``bits`` and ``work`` are known by method."""
    groups: dict[tuple, dict[tuple[str, str], _Cell]] = {}
    by_name = {e.name: e for e in entries}
    for name in (name for paper in papers() for name in reversed(paper.leaderboard)):
        summary = by_name[name].full if name in by_name else None
        if summary is None:
            continue
        competing = competitors(set(summary.table["method"])) | {*FLOORS, *REFERENCES}
        metrics = summary.table.set_index(["method", "dataset"])["metric"].to_dict()
        for selection in SELECTIONS:
            for (_, dataset, mask, method, epsilon), values in summary.samples(selection).items():
                metric = metrics.get((method, dataset), "")
                if method in competing and metric in LARGER_IS_BETTER and metric != "seconds":
                    task = "classification" if LARGER_IS_BETTER[metric] else "regression"
                    group = groups.setdefault((task, mask, epsilon, selection), {})
                    # later papers are our own experiments, which hold the columns of the papers' tables too
                    group[dataset, method] = _Cell(values, name, metric)
    lines: list[Line] = []
    for key, cells in sorted(groups.items()):
        lines += _lines(key, cells, cards, bits, work)
    return lines


def _lines(
    key: tuple,
    cells: Mapping[tuple[str, str], _Cell],
    cards: Mapping[str, Method],
    bits: Mapping[str, float],
    work: Mapping[str, float],
) -> Iterable[Line]:
    task, mask, epsilon, selection = key
    larger = task == "classification"
    datasets = sorted({d for d, _ in cells})
    methods = sorted({m for _, m in cells if m not in REFERENCES})
    references = {d: next((cells[d, m].values for m in REFERENCES if (d, m) in cells), None) for d in datasets}
    floor = {d: next((cells[d, m].values for m in FLOORS if (d, m) in cells), None) for d in datasets}
    whole = _widest(cells)
    places = _places(cells, methods, datasets, whole, cards, larger)
    for method in methods:
        card = card_of(method, cards)
        mine = {d: cells[d, method] for d in datasets if (d, method) in cells}
        shared = (task, in_words(parse_selector(mask)[0]) if mask else "–", epsilon, selection)
        model = card.privacy if card else ""
        cost = (work.get(method, math.nan), bits.get(method.partition("[")[0], math.nan))
        rows = [(d, [d]) for d in mine]
        together = [d for d in mine if mine[d].experiment == whole]
        if len(together) > 1:
            rows.append((ALL, together))
        for name, among in rows:
            score, se = _score(among, mine, references, larger)
            beside = [
                [(mine[d].values, o) for d in among if (o := other[d]) is not None] for other in (floor, references)
            ]
            low, best = (_change(pairs, larger) for pairs in beside)
            rank = places.get((method, name), (math.nan,) * 3)
            title = ALL if name == ALL else dataset_title(name)
            yield Line(
                *shared, title, method, method_title(method, cards), PROTECTS.get(model, model), score, se, low, best,
                rank[0], rank[1], rank[2], cost[0], cost[1], len(among), mine[among[0]].experiment, mask,
                "" if name == ALL else name,
            )  # fmt: skip


def _widest(cells: Mapping[tuple[str, str], _Cell]) -> str:
    """The experiment with the most cells, whose data sets are taken together.

    Others may have the same data under another selector, and fewer methods.
    """
    return Counter(cell.experiment for cell in cells.values()).most_common(1)[0][0]


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


def _change(pairs: Sequence[tuple[np.ndarray, np.ndarray]], larger: bool) -> float:
    """How much better the first of each pair is: points of accuracy, or per cent of the error; the mean over pairs."""
    if not pairs:
        return math.nan
    if larger:
        return 100 * float(np.mean([a.mean() - b.mean() for a, b in pairs]))
    with np.errstate(divide="ignore"):
        return 100 * (1 - float(np.exp(np.mean([np.log(a.mean() / b.mean()) for a, b in pairs]))))


def _places(
    cells: Mapping[tuple[str, str], _Cell],
    methods: Sequence[str],
    datasets: Sequence[str],
    whole: str,
    cards: Mapping,
    larger: bool,
) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Rank of each method on each data set, and on average over those of an experiment, with its interval.

    Only methods of the same privacy model are compared.
    """
    ranked = {method for (_, method), cell in cells.items() if cell.experiment == whole}
    models: dict[str, list[str]] = {}
    for method in methods:
        card = card_of(method, cards)
        if method not in FLOORS:
            models.setdefault(card.privacy if card else "", []).append(method)
    found: dict[tuple[str, str], tuple[float, float, float]] = {}
    for members in models.values():
        together = [m for m in members if m in ranked]
        means: list[list[float]] = []
        for dataset in datasets:
            here = {m: cells[dataset, m] for m in members if (dataset, m) in cells}
            if (drawn := _drawn_ranks(list(here.values()), larger)) is None:
                continue
            for k, method in enumerate(here):
                found[method, dataset] = _interval(drawn[:, k])
            inside = [here[m] for m in together if m in here and here[m].experiment == whole]
            if len(inside) == len(together) > 1:
                means.append([cell.values.mean() for cell in inside])
        if len(means) > 1:
            rows = zip(*rank_intervals(np.array(means), larger_is_better=larger), strict=True)
            for method, (mean, low, high) in zip(together, rows, strict=True):
                found[method, ALL] = (float(mean), float(low), float(high))
    return found


def _drawn_ranks(cells: Sequence[_Cell], larger: bool) -> np.ndarray | None:
    """Ranks in the sample (first row) and in draws over replications, which all methods share; None for a lone method.

    None, too, where replications cannot be paired.
    """
    if len(cells) < 2 or len({cell.values.size for cell in cells}) > 1:
        return None
    values = np.array([cell.values for cell in cells])
    size = values.shape[1]
    draws = np.random.default_rng(SEED).integers(size, size=(DRAWS, size))
    means = np.vstack([values.mean(axis=1)[None], values[:, draws].mean(axis=2).T])
    return ranks(means, larger_is_better=larger)


def _interval(drawn: np.ndarray) -> tuple[float, float, float]:
    low, high = np.quantile(drawn[1:], [0.025, 0.975])
    return float(drawn[0]), float(low), float(high)


def default_view(lines: Sequence[Line]) -> dict[str, str]:
    """What the leaderboard shows first: the task, mask, budget and model with the most methods, without hindsight."""
    if not lines:
        return {}
    count: dict[tuple, int] = {}
    for line in lines:
        if line.selection == "tuning_free" and line.dataset == ALL and not math.isnan(line.rank):
            key = (line.task == "regression", line.epsilon == 1, line.task, line.mask, line.epsilon, line.protects)
            count[key] = count.get(key, 0) + 1
    if not count:
        first = lines[0]
        chosen = (first.task, first.mask, first.epsilon, first.protects)
        selection, dataset = first.selection, first.dataset
    else:
        chosen, selection, dataset = max(count, key=lambda k: (k[:2], count[k]))[2:], "tuning_free", ALL
    task, mask, epsilon, protects = chosen
    return {"task": task, "mask": mask, "epsilon": f"{epsilon:g}", "protects": protects, "selection": selection,
            "dataset": dataset}  # fmt: skip


def in_view(lines: Sequence[Line], view: Mapping[str, str]) -> list[Line]:
    """Rows of a view, the best first; those without a rank at the end."""
    wanted = [line for line in lines if all(_text(getattr(line, k)) == v for k, v in view.items())]
    return sorted(wanted, key=lambda line: (math.isnan(line.rank), line.rank, line.title))


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def bits_per_user(report: Path) -> dict[str, float]:
    """Bits that one user of each method sends, from the last audit; empty without one."""
    path = report / "audit.csv"
    table = read_csv(path) if path.is_file() else pd.DataFrame()
    if "bits_up" not in table:
        return {}
    return dict(zip(table["method"], pd.to_numeric(table["bits_up"], errors="coerce"), strict=True))


def work_per_fit(entries: Iterable[Entry]) -> dict[str, float]:
    """Median work of one fit of each method in the leaderboard's experiments, by the cost model of the plan."""
    wanted = {name for paper in papers() for name in paper.leaderboard}
    found: dict[str, list[float]] = {}
    for entry in entries:
        if entry.name in wanted and entry.was_run:
            for cell in plan_experiment(entry.experiment).entries:
                if cell.block is not None:
                    found.setdefault(cell.method, []).append(cell.block.work / cell.block.fits)
    return {method: float(np.median(values)) for method, values in found.items()}
