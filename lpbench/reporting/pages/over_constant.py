"""Error over the private constant's against the budget: published methods, a Gaussian process on noisy labels, ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.rates import student_half_width
from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.analysis.summary import CONSTANTS, NON_PRIVATE_PANEL
from lpbench.analysis.variants import bare_name
from lpbench.experiments.method import Method
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures import style
from lpbench.reporting.headlines import published_methods
from lpbench.reporting.paper import papers
from lpbench.reporting.printed_names import method_title
from lpbench.selectors import parse_selector

#: Name of the table and of the figure, in the folder of the report.
FILE = "over_constant"
COLUMNS = ["task", "contender", "epsilon", "method", "mean", "low", "high", "worst", "sets"]
#: Contenders, with the words of the legend and their colours.
PUBLISHED, NOISY, OURS = "published", "noisy labels", "ours"
_LOOKS = {
    PUBLISHED: ("best published method, tuned", style.COLOURS[1], "s"),
    NOISY: ("Gaussian process on noisy labels", style.COLOURS[0], "o"),
    OURS: ("{}, without tuning", style.OWN, "*"),
}


def over_constant(entries: Sequence[ReportEntry]) -> pd.DataFrame:
    """Errors over the constant's by contender and budget, geometric means over data sets.

    Of the published methods, and of the Gaussian processes, the best by this mean at each budget stands for all;
    published ones at the grid point that is best on the test rows, ours at one setting fixed without them. Accuracies
    are compared as error rates. ``low``, ``high`` are Student's 95 % interval over data sets, of the logarithms.
    """
    rows: list[dict] = []
    for task in ("regression", "classification"):
        entry = _entry(entries, task)
        if entry is None:
            continue
        ours = str(entry.experiment.settings["compared"])
        ratios = _ratios(entry, ours)
        uncounted = {name for paper in papers() for name in paper.uncounted}
        published = [m for m in published_methods(entry) if bare_name(m) not in uncounted]
        groups = {PUBLISHED: published, NOISY: _gaussian(ratios.columns), OURS: [ours]}
        for epsilon, found in ratios.groupby(level="epsilon"):
            for contender, methods in groups.items():
                logs = found.reindex(columns=methods).dropna(axis="columns")
                if logs.empty or len(logs) < 2:
                    continue
                best = logs.mean().idxmin()
                values = logs[best].to_numpy()
                half = student_half_width(values)
                ends = np.exp([values.mean(), values.mean() - half, values.mean() + half, values.max()])
                rows.append(dict(zip(COLUMNS, [task, contender, epsilon, best, *ends, values.size], strict=True)))
    return pd.DataFrame(rows, columns=COLUMNS)


def _entry(entries: Sequence[ReportEntry], task: str) -> ReportEntry | None:
    """The experiment in which a method of ours stands beside learners on privatised labels and most published ones."""
    found = [
        e
        for e in entries
        if e.kind == "table" and e.was_run and e.summary is not None and e.experiment.settings.get("compared")
        if _task(e) == task and {*CONSTANTS} & {*_table(e)["method"]} and _gaussian(_table(e)["method"])
    ]
    return max(found, key=lambda e: (len(published_methods(e)), _table(e)["dataset"].nunique()), default=None)


def _task(entry: ReportEntry) -> str:
    return "classification" if LARGER_IS_BETTER[str(_table(entry)["metric"].iloc[0])] else "regression"


def _table(entry: ReportEntry) -> pd.DataFrame:
    return pd.DataFrame(entry.summary)


def _ratios(entry: ReportEntry, ours: str) -> pd.DataFrame:
    """Logarithms of errors over the best private constant's: a row a data set, mask and budget; a column a method."""
    table = _table(entry).dropna(subset=["mean"])
    table = table[table["panel"] != NON_PRIVATE_PANEL]
    table = table.assign(error=1 - table["mean"] if _task(entry) == "classification" else table["mean"])
    wide = {
        selection: part.pivot_table(index=["epsilon", "dataset", "mask"], columns="method", values="error")
        for selection, part in table.groupby("selection")
    }
    errors = wide["oracle"]
    if ours in wide.get("tuning_free", ()):
        errors = errors.assign(**{ours: wide["tuning_free"][ours]})
    with np.errstate(divide="ignore"):
        return np.log(errors.div(errors[errors.columns.intersection(CONSTANTS)].min(axis="columns"), axis="index"))


def _gaussian(methods: Iterable[str]) -> list[str]:
    return [m for m in methods if parse_selector(m)[1].get("learner") == "gaussian_process"]


def sentence(table: pd.DataFrame) -> str:
    """Where the Gaussian process on noisy labels beats the best published method of each task; empty without both."""
    parts: list[str] = []
    for _, rows in table.groupby("task", sort=False):
        mean = rows.pivot(index="epsilon", columns="contender", values="mean")
        if not {PUBLISHED, NOISY} <= set(mean.columns):
            continue
        mean, methods = mean.dropna(subset=[PUBLISHED, NOISY]), set(rows[rows["contender"] == PUBLISHED]["method"])
        short = next(p.short for p in papers() if p.claims and {bare_name(m) for m in methods} <= set(p.methods))
        better = mean.index[mean[NOISY] < mean[PUBLISHED]]
        where = (
            "at no budget"
            if better.empty
            else "at every budget"
            if len(better) == len(mean)
            else f"from ε = {better[0]:g} on"
            if list(better) == list(mean.index[-len(better) :])
            else "at ε = " + ", ".join(f"{e:g}" for e in better)
        )
        parts.append(f"{short}'s{'' if parts else ' tuned methods'} {where}")
    return f"On average, a Gaussian process on noisy labels beats {' and '.join(parts)}." if parts else ""


def draw_over_constant(table: pd.DataFrame, cards: Mapping[str, Method], folder: Path) -> list[Path]:
    """Draw a panel a task, as wide as a small screen; write the numbers beside it."""
    write_csv(table, folder / f"{FILE}.csv")
    tasks = list(dict.fromkeys(table["task"]))
    ours = dict.fromkeys(method_title(m, cards) for m in table[table["contender"] == OURS]["method"])
    with style.look():
        figure, axes = style.pyplot().subplots(len(tasks), 1, figsize=(4.2, 1.2 + 2.5 * len(tasks)), squeeze=False)
        for ax, task in zip(axes[:, 0], tasks, strict=True):
            rows = table[table["task"] == task]
            _panel(ax, rows, " or ".join(ours))
            ax.set_title(f"{task.capitalize()}, {rows['sets'].max()} data sets", loc="left")
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
            ax.plot(x, rows["worst"], color=colour, linestyle=":", linewidth=1, label="the latter's worst data set")
    ax.set_xscale("log", base=2)
    ax.set_xticks(budgets, [f"{e:g}" for e in budgets])
    ax.minorticks_off()
    style.log_scale(ax, "y")
    ax.set_ylabel("error over the constant's")
