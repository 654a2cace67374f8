"""Average ranks as dots, with tests against one method named beforehand; standard plots of a table experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from lpbench.analysis import ALPHA, Summary
from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.analysis.standings import FEWEST, compare_losses, least_p
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.members import bare_name, member
from lpbench.reporting.figures import style
from lpbench.reporting.figures.budgets import draw_budgets
from lpbench.reporting.figures.comparisons import Part, leading, parts
from lpbench.reporting.paper import Paper
from lpbench.reporting.printed_names import CHOSEN, method_title

#: Height of a line of names, what title and axis of a row of panels take, and width of a panel, in inches.
_LINE, _AROUND, _PANEL = 0.165, 0.85, 2.2
_WIDTH = 8.4
#: Fewer methods say nothing in a diagram of average ranks.
LEAST_METHODS = 3
#: Ends of the names of the standard plots, in the order in which a page shows them.
RANKS_SUFFIX, BUDGETS_SUFFIX = "_ranks", "_budgets"


def draw_ranks(
    parts: Sequence[Part],
    folder: Path,
    name: str,
    selection: str,
    experiment: Experiment,
    paper: Paper,
    cards: Mapping[str, Method],
) -> list[Path]:
    """Draw a panel for each part with enough data sets and methods: one row per mask, its budgets side by side.

    Nothing where data sets have roles and methods have several inputs: those are ranked on the leaderboard alone.
    """
    if experiment.settings.get("data_sets"):
        return []
    rows: dict[tuple[str, str], list[Part]] = {}
    for comparison in parts:
        if _is_enough(comparison.competing):
            rows.setdefault((comparison.panel, comparison.group), []).append(comparison.competing)
    if not rows:
        return []
    control = control_of(experiment, paper, [m for comparison in rows[next(iter(rows))] for m in comparison.means])
    compared = {
        key: [compare_losses(1 - p.means if LARGER_IS_BETTER[p.metric] else p.means, control) for p in comparisons]
        for key, comparisons in rows.items()
    }
    orders = {}
    for key, tables in compared.items():  # methods by their mean rank, as a share of the methods of each panel
        shares = pd.concat([table.set_index("method")["rank"] / len(table) for table in tables])
        orders[key] = list(shares.groupby(level=0, sort=False).mean().sort_values(kind="stable").index)
    beside = max(map(len, rows.values()))
    heights = [_AROUND + _LINE * len(orders[key]) for key in rows]
    looks = leading([comparison for comparisons in rows.values() for comparison in comparisons])
    with style.look():
        printed = style.printed_width()
        width = style.WIDTHS["text"] if printed else min(_WIDTH, 4.0 + _PANEL * (beside - 1))
        figure, axes = style.pyplot().subplots(
            len(rows), beside, figsize=(width, sum(heights) + 0.5), squeeze=False, height_ratios=heights
        )
        for line, key in zip(axes, rows, strict=True):
            for ax in line[len(rows[key]) :]:
                ax.set_axis_off()
            for position, (ax, comparison, table) in enumerate(zip(line, rows[key], compared[key], strict=False)):
                _panel(ax, comparison, table, orders[key], looks, cards if position == 0 else None)
        if printed is None:
            text = (
                f"Average ranks, 1 is best ({CHOSEN[selection]}).\n"
                f"Filled: differs from {method_title(control, cards)} (Wilcoxon over data sets, 5 % after Holm).\n"
                "p ≥: the smallest attainable p-value with so many data sets and methods."
            )
            style.heading(figure, text)
        return style.save(figure, folder, name)


def control_of(experiment: Experiment, paper: Paper, methods: Sequence[str]) -> str:
    """The method that all others are compared with: named by the experiment, else the first that its paper proposes."""
    named, proposed = experiment.settings.get("compared", ""), paper.proposed
    same = (m for m in methods if named and member(m) == member(named))
    return next(same, next((m for m in methods if proposed and m.startswith(proposed)), methods[0]))


def _is_enough(comparison: Part) -> bool:
    """Return True if there are enough methods, and enough data sets that are no variants of one another."""
    sets = comparison.means.dropna(how="all").index
    return comparison.means.shape[1] >= LEAST_METHODS and len({*map(bare_name, sets)}) == len(sets) >= FEWEST


def _panel(
    ax: style.Axes,
    comparison: Part,
    table: pd.DataFrame,
    order: Sequence[str],
    looks: dict[str, dict[str, str]],
    cards: Mapping[str, Method] | None,
) -> None:
    """Draw the mean rank of each method as a dot with its range, for one comparison; filled where significant.

    ``table`` has a row for each method, ``order`` their order from the top; with ``cards`` the methods are named at the
    left.
    """
    for row in table.itertuples():
        y, color = order.index(row.method), looks.get(row.method, {}).get("color", style.GRAY)
        ax.plot([row.rank_low, row.rank_high], [y, y], color=color, alpha=0.45, linewidth=2)
        ax.plot(row.rank, y, "o", color=color, markerfacecolor=color if row.p < ALPHA else "white")
        ax.text(1.02, y, f"{row.rank:.1f}", transform=ax.get_yaxis_transform(), va="center", fontsize=7)
    ax.set(xlim=(1 - 0.05 * len(table), 1.03 * len(table)), ylim=(len(order) - 0.4, -0.6))
    names = [
        f"{method_title(m, cards)}{' (constant)' * member(m).is_constant}" if cards is not None else "" for m in order
    ]
    ax.set_yticks(range(len(order)), names, fontsize=7.5)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=7)
    ax.set_xticks(range(1, len(table) + 1, max(1, round(len(table) / 4))))
    sets = len(comparison.means)
    text = f"{comparison.title}\n{sets} data sets, p ≥ {least_p(sets, len(table)):.2g}"
    ax.set_title(text.lstrip("\n"), loc="left", fontsize=8)


def draw_standard(
    experiment: Experiment,
    paper: Paper,
    summary: Summary,
    cards: Mapping[str, Method],
    folder: Path,
    stem: str,
    selection: str,
    *,
    ranked: bool = False,
) -> None:
    """Draw ``<stem>_ranks.svg`` and, unless ``ranked``, ``_budgets``, of up to five data sets or methods."""
    comparisons = parts(summary, selection)
    draw_ranks(comparisons, folder, stem + RANKS_SUFFIX, selection, experiment, paper, cards)
    sets, methods = (
        {name for comparison in comparisons for name in getattr(comparison.means, axis)}
        for axis in ("index", "columns")
    )
    if min(len(sets), len(methods)) <= 5 and not ranked:
        draw_budgets(comparisons, folder, stem + BUDGETS_SUFFIX, selection, cards)
