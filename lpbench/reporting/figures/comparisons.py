"""Tables cut into comparisons: the methods that compete at one budget, with their replications."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lpbench.analysis import Summary
from lpbench.analysis.ranks import ranks
from lpbench.analysis.scores import costs
from lpbench.analysis.summary import CONSTANTS, REFERENCES
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.figures.curves import looks_of, place_of
from lpbench.reporting.printed_names import in_words
from lpbench.reporting.tables.grid import Grid, build
from lpbench.reporting.tables.layouts import TableColumn
from lpbench.selectors import parse_selector

#: Up to so many methods all have a colour; of more, so many have one.
FEW, COLOURED = 8, 5


@dataclass(frozen=True)
class Part:
    """Methods that compete: one budget, one mask, one panel of an experiment."""

    title: str
    epsilon: float
    group: str  # of columns: a mask, where there are several
    panel: str
    datasets: tuple[tuple[str, str], ...]
    columns: tuple[TableColumn, ...]
    metric: str
    means: np.ndarray  # mean scores, shape (datasets, columns); NaN where there is none
    errors: np.ndarray  # their standard errors

    @property
    def costs(self) -> np.ndarray:
        """Means with the sign that makes smaller ones better."""
        return costs(self.means, self.metric)

    def only(self, kept: Sequence[int]) -> Part:
        """Keep some columns, in the order given."""
        columns = tuple(self.columns[c] for c in kept)
        return Part(self.title, self.epsilon, self.group, self.panel, self.datasets, columns, self.metric,
                    self.means[:, kept], self.errors[:, kept])  # fmt: skip


def parts(experiment: Experiment, summary: Summary, cards: Mapping[str, Method], selection: str) -> list[Part]:
    """Split an experiment's tables into comparisons with one metric; data sets without any number are left out."""
    name = experiment.name
    table = summary.table[summary.table["selection"] == selection]
    rows = {(r["panel"], r["dataset"], r["mask"], r["method"], r["epsilon"]): r for r in table.to_dict("records")}
    return [part for grid in build(name, summary, cards, selection) for part in _parts(grid, rows)]


def _parts(grid: Grid, rows: Mapping) -> Iterator[Part]:
    layout = grid.layout
    for group in dict.fromkeys(c.group for c in layout.columns):
        columns = tuple(c for c in layout.columns if c.group == group)
        keys = [[(layout.panel, d, c.mask, c.method, layout.epsilon) for c in columns] for _, d in layout.datasets]
        ran = [d for d, line in enumerate(keys) if any(k in rows and not math.isnan(rows[k]["mean"]) for k in line)]
        metrics = {rows[k]["metric"] for d in ran for k in keys[d] if k in rows} - {""}
        if not ran or len(metrics) != 1:
            continue
        found = [[rows.get(k, {}) for k in keys[d]] for d in ran]
        budget = "" if math.isnan(layout.epsilon) else f"ε = {layout.epsilon:g}"
        yield Part(
            title=", ".join(filter(None, [in_words(layout.panel), group, budget])),
            epsilon=layout.epsilon,
            group=group,
            panel=layout.panel,
            datasets=tuple(layout.datasets[d] for d in ran),
            columns=columns,
            metric=metrics.pop(),
            means=np.array([[r.get("mean", math.nan) for r in line] for line in found], dtype=float),
            errors=np.array([[r.get("se", math.nan) for r in line] for line in found], dtype=float),
        )


def is_constant(column: TableColumn) -> bool:
    """Whether a column is a method that ignores the features."""
    return parse_selector(column.method)[0] in CONSTANTS


def printed(column: TableColumn) -> str:
    """Name of a column, a constant marked as one."""
    return column.label + (" (constant)" if is_constant(column) else "")


def is_reference(column: TableColumn) -> bool:
    """Whether a column is a reference without privacy."""
    return parse_selector(column.method)[0] in REFERENCES


def competing(part: Part) -> list[int]:
    """Columns that take part in rank sums and have a number."""
    return [k for k, c in enumerate(part.columns) if c.ranked and not np.isnan(part.means[:, k]).all()]


def leading(found: Sequence[Part]) -> dict[str, dict[str, str]]:
    """Colour and marker of the methods that a figure shows in colour: all if they are few, else the best by mean rank.

    Constants and references without privacy are grey in every figure.
    """
    places: dict[str, list[float]] = {}
    for part in found:
        kept = [k for k, c in enumerate(part.columns) if not is_constant(c) and not is_reference(c)]
        mine = part.costs[:, kept]
        whole = mine[~np.isnan(mine).any(axis=1)]
        placed = ranks(whole, larger_is_better=False) / max(len(kept), 1)
        for k, column in enumerate(part.columns[c] for c in kept):
            places.setdefault(column.method, []).extend(placed[:, k])
    best = sorted(places, key=lambda m: float(np.mean(places[m])) if places[m] else 1.0)
    shown = best if len(best) <= FEW else best[:COLOURED]
    # variants of a paper's method look alike; those of no paper have nothing but their look to be known by
    names = {m: base if place_of(base := parse_selector(m)[0]) is not None else m for m in shown}
    looks = looks_of(names.values())
    return {m: looks[name] for m, name in names.items()}


def slug(text: str) -> str:
    """A part's title as a piece of a file name."""
    words = "".join(c if c.isalnum() or c == "." else " " for c in text.replace("ε = ", "epsilon "))
    return "_".join(words.split())
