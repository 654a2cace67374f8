"""Scores of a table's best methods against the budget, one panel per data set."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lpbench.analysis.curves import Curve
from lpbench.experiments.method import Method
from lpbench.members import member
from lpbench.reporting.figures import style
from lpbench.reporting.figures.comparisons import Part, leading
from lpbench.reporting.figures.lines import BAND, draw_panels
from lpbench.reporting.printed_names import CHOSEN, dataset_title, in_words, method_title


def draw_budgets(
    parts: Sequence[Part], folder: Path, name: str, selection: str, cards: Mapping[str, Method]
) -> list[Path]:
    """Draw a file for each panel and mask that was run at two budgets or more, of many methods the best."""
    sets: dict[tuple[str, str], list[Part]] = {}
    for table in sorted(parts, key=lambda p: p.epsilon):
        if not math.isnan(table.epsilon):
            sets.setdefault((table.panel, table.group), []).append(table)
    sets = {key: grouped for key, grouped in sets.items() if len(grouped) > 1}
    written = []
    for key, grouped in sets.items():
        title = ", ".join(filter(None, key))
        end = f"_{slug(title)}" if len(sets) > 1 else ""
        written += _draw(grouped, in_words(title), folder / (name + end), selection, cards)
    return written


def _draw(tables: Sequence[Part], title: str, path: Path, selection: str, cards: Mapping[str, Method]) -> list[Path]:
    """Draw the curves of the paper's own methods, constants and references against ε, a panel for each data set.

    ``tables`` are scores, one for each budget; ``selection`` is how grid points were chosen. Returned are the files.
    """
    colored, paper = leading(tables), style.printed_width()
    looks: dict[str, dict[str, Any]] = {}
    curves = []
    methods, datasets = (
        list(dict.fromkeys(name for p in tables for name in getattr(p.means, axis))) for axis in ("columns", "index")
    )
    for method in methods:
        one = member(method)
        if method in colored or one.is_constant or one.is_reference:
            label = f"{method_title(method, cards)}{' (constant)' * one.is_constant}"
            look = colored.get(method, {"color": style.GRAY, "marker": ""})
            # variants of a method share its color and marker: their lines differ
            turn = sum(look.items() <= look_before.items() for look_before in looks.values())
            looks[label] = look | {"linestyle": style.LINES[turn % len(style.LINES)]}
            curves += [_curve(tables, method, dataset, label) for dataset in datasets]
    panels = {d: (dataset_title(d), "epsilon") for d in datasets}
    count = f"{len(looks)} of {len(methods)} methods" if len(looks) < len(methods) else ""
    text = f"{CHOSEN[selection]}, ± {BAND:g} standard errors"
    most = 3 if paper is None else 2 if paper <= style.WIDTHS["column"] else 4
    handles = [style.pyplot().Line2D([], [], label=label, **look) for label, look in looks.items()]
    heading = ", ".join(filter(None, [title, count, text]))
    return draw_panels(curves, panels, tables[0].metric, lambda c: looks[c.label], handles, most, heading, path)


def _curve(tables: Sequence[Part], method: str, dataset: str, label: str) -> Curve:
    """Scores of one method on one data set over the budgets of ``tables``, as a curve named ``label``; no gaps."""
    means, errors = (
        [getattr(p, k).get(method, {}).get(dataset, math.nan) for p in tables] for k in ("means", "errors")
    )
    ran = ~np.isnan(means)
    x, mean, se = (np.array(v)[ran] for v in ([p.epsilon for p in tables], means, errors))
    return Curve(dataset, dataset, "", method, math.nan, x, mean, se, label=label)


def slug(text: str) -> str:
    """A title as a piece of a file name."""
    words = "".join(c if c.isalnum() or c == "." else " " for c in text.replace("ε = ", "epsilon "))
    return "_".join(words.split())
