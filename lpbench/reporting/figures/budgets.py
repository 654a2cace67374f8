"""Scores against the budget, a panel a data set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lpbench.analysis.summary import REFERENCES
from lpbench.analysis.variants import bare_name
from lpbench.experiments.method import Method
from lpbench.reporting.figures import style
from lpbench.reporting.figures.comparisons import Part, is_constant, leading
from lpbench.reporting.printed_names import CHOSEN, dataset_title, in_words, method_title

#: Half-width of the bands in standard errors.
BAND = 2.0
LOG_FROM = 1.5
#: Inches, so that the title and the legend of a single panel are not cut off.
LEAST_WIDTH = 6.5
#: Panels in a row.
ACROSS = 5
_NAMES = {"mse": "mean squared error", "accuracy": "accuracy (%)"}
_SCALES = {"accuracy": 100.0}
#: Look of methods that are not among the leading ones.
_REST = {"color": "#D0D0D0", "linestyle": "-", "linewidth": 0.7, "zorder": 1}


def draw_budgets(
    parts: Sequence[Part], folder: Path, name: str, selection: str, cards: Mapping[str, Method]
) -> list[Path]:
    """Draw a file for each panel and mask that was run at two budgets or more."""
    sets: dict[tuple[str, str], list[Part]] = {}
    for part in parts:
        if not math.isnan(part.epsilon):
            sets.setdefault((part.panel, part.group), []).append(part)
    sets = {key: sorted(found, key=lambda p: p.epsilon) for key, found in sets.items() if len(found) > 1}
    written = []
    for key, found in sets.items():
        title = ", ".join(filter(None, key))
        end = f"_{slug(title)}" if len(sets) > 1 else ""
        written += _draw(found, title, folder, name + end, selection, cards)
    return written


def slug(text: str) -> str:
    """A title as a piece of a file name."""
    words = "".join(c if c.isalnum() or c == "." else " " for c in text.replace("ε = ", "epsilon "))
    return "_".join(words.split())


def _draw(
    found: Sequence[Part], title: str, folder: Path, name: str, selection: str, cards: Mapping[str, Method]
) -> list[Path]:
    datasets = list(dict.fromkeys(d for p in found for d in p.means.index))
    paper = style.printed_width()
    most = ACROSS if paper is None else 2 if paper <= style.WIDTHS["column"] else 4
    across = min(most, len(datasets))
    rows = -(-len(datasets) // across)
    looks = _looks(found)
    entries = {f"{method_title(m, cards)}{' (constant)' * is_constant(m)}": look
               for m, look in looks.items() if look is not _REST}  # fmt: skip
    if rest := len(looks) - len(entries):
        entries[f"{rest} other methods"] = _REST
    with style.look():
        names = list(entries)
        beside = style.legend_columns(names, paper) if paper else min(len(names), 3)
        height = 2.05 * rows + 0.5 + 0.17 * -(-len(names) // beside)
        width = max(2.1 * across + 0.6, LEAST_WIDTH)
        if paper:
            width, height = paper, 1.05 * paper / across * rows + 0.15 * -(-len(names) // beside)
        figure, axes = style.pyplot().subplots(rows, across, figsize=(width, height), squeeze=False)
        for ax in axes.flat[len(datasets) :]:
            ax.set_axis_off()
        for ax, dataset in zip(axes.flat, datasets, strict=False):
            _panel(ax, found, dataset, looks)
            ax.set_title(dataset_title(dataset), loc="left", fontsize=8.5)
        handles = [style.pyplot().Line2D([], [], label=name, **look) for name, look in entries.items()]
        figure.legend(handles=handles, loc="outside lower left", ncols=beside, frameon=False, fontsize=7.5,
                      handlelength=2.6)  # fmt: skip
        metric = _NAMES.get(found[0].metric, found[0].metric)
        if paper:  # its caption says the rest
            for ax in axes[:, 0]:
                ax.set_ylabel(metric)
            return style.save(figure, folder, name)
        text = f"{metric} against the privacy budget ε ({CHOSEN[selection]}, ± {BAND:g} standard errors)"
        style.heading(figure, ", ".join(filter(None, [in_words(title), text])))
        return style.save(figure, folder, name)


def _looks(found: Sequence[Part]) -> dict[str, dict[str, Any]]:
    """Look of each method: the leading ones in colour, constants and references as grey lines, the rest thin."""
    known = leading(found)
    looks: dict[str, dict[str, Any]] = {}
    for method in dict.fromkeys(m for p in found for m in p.means):
        if is_constant(method):
            looks[method] = {"color": style.GREY, "linestyle": "--", "linewidth": 2.2}
        elif bare_name(method) in REFERENCES:
            looks[method] = {"color": style.GREY, "linestyle": ":", "linewidth": 1.6}
        elif method not in known:
            looks[method] = _REST
        else:
            # variants of a method share its colour and marker: their lines differ
            look = known[method]
            turn = sum((other.get("color"), other.get("marker")) == tuple(look.values()) for other in looks.values())
            line = {"linestyle": style.LINES[turn % len(style.LINES)], "linewidth": 1.3, "markersize": 3.2}
            looks[method] = look | line
    return looks


def _panel(ax: style.Axes, found: Sequence[Part], dataset: str, looks: dict) -> None:
    scale, drawn = _SCALES.get(found[0].metric, 1.0), []
    for method, look in looks.items():
        here = [p for p in found if method in p.means and dataset in p.means.index]
        x = np.array([p.epsilon for p in here])
        mean, se = (scale * np.array([getattr(p, k).at[dataset, method] for p in here]) for k in ("means", "errors"))
        if not np.isnan(mean).all():
            drawn.append(mean)
            if look is not _REST:
                band = BAND * np.nan_to_num(se)
                ax.fill_between(x, mean - band, mean + band, color=look["color"], alpha=0.15, linewidth=0)
            ax.plot(x, mean, **look)
    ax.set_xscale("log", base=2)
    budgets = [p.epsilon for p in found]
    ax.set_xticks(budgets, [f"{e:g}" for e in budgets])
    ax.minorticks_off()
    ax.set_xlabel("privacy budget ε", fontsize=7.5)
    ax.tick_params(labelsize=7)
    values = np.concatenate(drawn) if drawn else np.ones(1)
    values = values[~np.isnan(values)]
    if found[0].metric == "mse" and values.min() > 0 and np.ptp(np.log(values)) > LOG_FROM:
        style.log_scale(ax, "y")
