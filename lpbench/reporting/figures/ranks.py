"""Average ranks as dots, with the interval of Nemenyi's test; standard plots of a table experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lpbench.analysis import Summary
from lpbench.analysis.critical import LEAST_DATASETS, LEAST_METHODS, CriticalDifference, critical_difference
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.figures import style
from lpbench.reporting.figures.budgets import ACROSS, draw_budgets
from lpbench.reporting.figures.comparisons import Part, competing, is_constant, leading, parts, printed
from lpbench.reporting.printed_names import CHOSEN
from lpbench.selectors import parse_selector

#: Height of a line of names, what title and axis of a row of panels take, and width of a panel, in inches.
_LINE, _AROUND, _PANEL = 0.165, 0.85, 2.2
_WIDTH = 8.4
#: Ends of the names of the standard plots, in the order in which a page shows them.
RANKS, BUDGETS = "_ranks", "_budgets"


def draw_ranks(parts: Sequence[Part], folder: Path, name: str, selection: str) -> list[Path]:
    """Draw a panel for each part with enough data sets and methods: one row a mask, its budgets side by side."""
    rows: dict[tuple[str, str], list[Part]] = {}
    for part in parts:
        if _is_enough(part):
            rows.setdefault((part.panel, part.group), []).append(part.only(competing(part)))
    if not rows:
        return []
    found = {
        key: [critical_difference(part.costs, larger_is_better=False) for part in mine] for key, mine in rows.items()
    }
    orders = {key: _order(rows[key], found[key]) for key in rows}
    beside = max(map(len, rows.values()))
    heights = [_AROUND + _LINE * len(orders[key]) for key in rows]
    looks = leading([part for mine in rows.values() for part in mine])
    with style.look():
        paper = style.printed_width()
        width = style.WIDTHS["text"] if paper else min(_WIDTH, 4.0 + _PANEL * (beside - 1))
        figure, axes = style.pyplot().subplots(
            len(rows), beside, figsize=(width, sum(heights) + 0.35), squeeze=False, height_ratios=heights
        )
        for line, key in zip(axes, rows, strict=True):
            for ax in line[len(rows[key]) :]:
                ax.set_axis_off()
            for place, (ax, part, cd) in enumerate(zip(line, rows[key], found[key], strict=False)):
                _panel(ax, part, cd, orders[key], looks, named=place == 0)
        if paper is None:
            text = (
                f"Average ranks, 1 is best ({CHOSEN[selection]}).\n"
                "Methods whose bars do not overlap differ significantly (Nemenyi's test, 5 %); p: Friedman's test."
            )
            style.heading(figure, text)
        return style.save(figure, folder, name)


def _is_enough(part: Part) -> bool:
    """Enough methods, and enough data sets that are not variants of one another."""
    bases = {parse_selector(d)[0] for _, d in part.datasets}
    return len(competing(part)) >= LEAST_METHODS and len(bases) == len(part.datasets) >= LEAST_DATASETS


def _order(row: Sequence[Part], found: Sequence[CriticalDifference]) -> list[str]:
    """Methods of a row of panels by their mean rank, as a share of the methods of each panel."""
    places: dict[str, list[float]] = {}
    for part, cd in zip(row, found, strict=True):
        for column, rank in zip(part.columns, cd.mean_ranks, strict=True):
            places.setdefault(column.method, []).append(rank / len(part.columns))
    return sorted(places, key=lambda method: float(np.mean(places[method])))


def _panel(
    ax: style.Axes,
    part: Part,
    cd: CriticalDifference,
    order: Sequence[str],
    looks: dict[str, dict[str, str]],
    named: bool,
) -> None:
    names = {c.method: printed(c) for c in part.columns}
    for column, rank in zip(part.columns, cd.mean_ranks, strict=True):
        y, colour = order.index(column.method), looks.get(column.method, {}).get("color", style.GREY)
        ax.plot([rank - cd.width / 2, rank + cd.width / 2], [y, y], color=colour, alpha=0.45, linewidth=2)
        ax.plot(rank, y, "o", color=colour, markerfacecolor="white" if is_constant(column) else colour)
        ax.text(1.02, y, f"{rank:.1f}", transform=ax.get_yaxis_transform(), va="center", fontsize=7)
    ax.set(xlim=(1 - cd.width / 2 - 0.2, len(cd.mean_ranks) + cd.width / 2 + 0.2), ylim=(len(order) - 0.4, -0.6))
    ax.set_yticks(range(len(order)), [names.get(m, "") if named else "" for m in order], fontsize=7.5)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=7)
    ax.set_xticks(range(1, len(cd.mean_ranks) + 1, max(1, round(len(cd.mean_ranks) / 4))))
    p = "< 0.001" if cd.p_value < 0.001 else f"= {cd.p_value:.3f}"
    ax.set_title(f"{part.title}\n{cd.n_datasets} sets, p {p}".lstrip("\n"), loc="left", fontsize=8)


def draw_standard(
    experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path, stem: str, selection: str
) -> list[Path]:
    """Draw ``<stem>_ranks.svg`` and ``_budgets``; many methods on many data sets are left to the explorer."""
    found = parts(experiment, summary, cards, selection)
    written = draw_ranks(found, folder, stem + RANKS, selection)
    sets = {dataset for part in found for dataset in part.datasets}
    methods = {column.method for part in found for column in part.columns}
    if min(len(sets), len(methods)) <= ACROSS:
        written += draw_budgets(found, folder, stem + BUDGETS, selection)
    return written
