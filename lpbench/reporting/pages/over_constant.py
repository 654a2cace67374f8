"""Error over the private constant's against the budget: published methods, a Gaussian process on noisy labels, ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from lpbench.analysis.standings import FAIR, NONE, over_sets, view
from lpbench.analysis.summary import CONSTANTS
from lpbench.analysis.variants import bare_name
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures import style
from lpbench.reporting.pages.leaderboard import PROTECTS
from lpbench.reporting.paper import papers
from lpbench.reporting.printed_names import card_of, method_title
from lpbench.selectors import format_selector, parse_selector

#: Name of the figure, in the folder of the report.
FILE = "over_constant"
COLUMNS = ["task", "contender", "epsilon", "method", "protects", "mean", "low", "high", "worst", "sets",
           "over_published", "over_published_low", "over_published_high"]  # fmt: skip
#: Contenders, with the words of the legend and their colours.
PUBLISHED, NOISY, OURS = "published", "noisy labels", "ours"
_LOOKS = {
    PUBLISHED: ("best published method, tuned", style.COLOURS[1], "s"),
    NOISY: ("Gaussian process on noisy labels", style.COLOURS[0], "o"),
    OURS: ("{}, without tuning", style.OWN, "*"),
}


def published_methods(methods: Iterable[str]) -> list[str]:
    """Those of some methods that the papers compare, private ones; public samples alone count, as in the papers."""
    published = {m for p in papers() if p.claims for m in p.methods} - {*CONSTANTS}
    return sorted(m for m in set(methods) if bare_name(m) in published)


def over_constant(table: pd.DataFrame, entries: Sequence[ReportEntry], cards: Mapping[str, Method]) -> pd.DataFrame:
    """Losses over the constant's by contender and budget, geometric means over data sets with their intervals.

    Of the published methods the best by this mean at each budget stands for all, at the grid points that are best on
    the test rows. The Gaussian process has the randomiser that its experiment names first, and ours one setting fixed
    beforehand. ``over_published`` is the contender's loss over that of the best published method.
    """
    rows: list[dict] = []
    for task in ("regression", "classification"):
        experiment = _experiment(table[(table["task"] == task) & (table["privacy"] != NONE)], entries)
        if experiment is None:
            continue
        here = table[(table["experiment"] == experiment.name) & (table["privacy"] != NONE)]
        ours, noisy = str(experiment.settings["compared"]), _gaussian(experiment.methods)
        scored = pd.concat([view(here, "oracle").query("method != @ours"), view(here, FAIR).query("method == @ours")])
        for epsilon, part in scored.groupby("epsilon"):
            sets = part["dataset"].nunique()
            part = part[part.groupby("method")["dataset"].transform("size") == sets]
            published = published_methods(part["method"])
            if not published:
                continue
            best = over_sets(part[part["method"].isin(published)]).set_index("method")["constant"].idxmin()
            contenders = {PUBLISHED: best, NOISY: noisy[0] if noisy else "", OURS: ours}
            shown = part[part["method"].isin(contenders.values())]
            found = over_sets(shown, best, ("constant", "control")).set_index("method")
            for contender, method in contenders.items():
                if method in found.index:
                    row, card = found.loc[method], card_of(method, cards)
                    protects = PROTECTS.get(card.privacy, card.privacy) if card else ""
                    numbers = row[["constant", "constant_low", "constant_high", "worst", "datasets", "control",
                                   "control_low", "control_high"]]  # fmt: skip
                    rows.append(dict(zip(COLUMNS, [task, contender, epsilon, method, protects, *numbers], strict=True)))
    return pd.DataFrame(rows, columns=COLUMNS)


def _experiment(table: pd.DataFrame, entries: Sequence[ReportEntry]) -> Experiment | None:
    """The experiment in which a method of ours stands beside learners on privatised labels and most published ones."""
    found = []
    for entry in entries:
        mine = table[table["experiment"] == entry.name]
        if (
            entry.experiment.settings.get("compared")
            and _gaussian(mine["method"])
            and mine["over_constant"].notna().any()
        ):
            found.append((len(published_methods(mine["method"])), mine["dataset"].nunique(), entry.experiment))
    return max(found, key=lambda one: one[:2], default=(0, 0, None))[2]


def _gaussian(methods: Iterable[str]) -> list[str]:
    """Gaussian processes on noisy labels, as tables spell their selectors."""
    parsed = map(parse_selector, methods)
    return [format_selector(*found) for found in parsed if found[1].get("learner") == "gaussian_process"]


def sentence(table: pd.DataFrame, cards: Mapping[str, Method]) -> str:
    """Where the Gaussian process has a smaller loss than the best published method; empty without both."""
    parts: list[str] = []
    noisy = table[(table["contender"] == NOISY) & table["over_published"].notna()]
    for task, rows in noisy.groupby("task", sort=False):
        published = table[(table["task"] == task) & (table["contender"] == PUBLISHED)]
        models = " or ".join(dict.fromkeys(published["protects"]))
        rivals = " or ".join(dict.fromkeys(method_title(m, cards) for m in published["method"]))
        clear = rows[rows["over_published_high"] < 1]
        where = "at no budget" if clear.empty else "at ε = " + ", ".join(f"{e:g}" for e in clear["epsilon"])
        parts.append(f"in {task} {where}, beside {rivals} ({models})")
    protects = " or ".join(dict.fromkeys(noisy["protects"]))
    return (
        f"A Gaussian process on noisy labels ({protects}) has a clearly smaller loss than the best published method "
        f"{'; '.join(parts)}."
        if parts
        else ""
    )


def draw_over_constant(table: pd.DataFrame, cards: Mapping[str, Method], folder: Path) -> list[Path]:
    """Draw a panel a task, as wide as a small screen."""
    tasks = list(dict.fromkeys(table["task"]))
    ours = dict.fromkeys(method_title(m, cards) for m in table[table["contender"] == OURS]["method"])
    with style.look():
        figure, axes = style.pyplot().subplots(len(tasks), 1, figsize=(4.2, 1.2 + 2.5 * len(tasks)), squeeze=False)
        for ax, task in zip(axes[:, 0], tasks, strict=True):
            rows = table[table["task"] == task]
            _panel(ax, rows, " or ".join(ours))
            ax.set_title(f"{task.capitalize()}, {rows['sets'].max():g} data sets", loc="left")
        axes[-1, 0].set_xlabel("privacy budget ε")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", frameon=False)
        return style.save(figure, folder, FILE)


def _panel(ax: style.Axes, table: pd.DataFrame, ours: str) -> None:
    budgets = sorted(set(table["epsilon"]))
    ax.axhline(1, color=style.GREY, linestyle="--", linewidth=1, label="private constant")
    for contender, rows in table.groupby("contender", sort=False):
        words, colour, marker = _LOOKS[str(contender)]
        x = rows["epsilon"]
        ax.fill_between(x, rows["low"], rows["high"], color=colour, alpha=0.13, linewidth=0)
        ax.plot(x, rows["mean"], color=colour, marker=marker, label=words.format(ours))
        if contender == OURS:
            ax.plot(x, rows["worst"], color=colour, linestyle=":", linewidth=1, label=f"{ours}: worst data set")
    ax.set_xscale("log", base=2)
    ax.set_xticks(budgets, [f"{e:g}" for e in budgets])
    ax.minorticks_off()
    style.log_scale(ax, "y")
    ax.set_ylabel("loss over the constant's")
