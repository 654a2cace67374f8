"""Result tables as LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from lpbench.experiments import catalogue
from lpbench.reporting.cards import CHOSEN
from lpbench.reporting.paper import mark_words
from lpbench.reporting.published import published_cells
from lpbench.reporting.tables.grid import Cell, Grid

#: What LaTeX would read as a command, and symbols of titles. A title may be somebody else's.
_ESCAPED = str.maketrans(
    {character: "\\" + character for character in "&%_#${}"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    | {"±": r"$\pm$", "ρ": r"$\rho$", "λ": r"$\lambda$", "γ": r"$\gamma$", "ε": r"$\varepsilon$"}
)


def to_latex(title: str, experiment: str, grids: Sequence[Grid], selection: str) -> str:
    """Render tables as LaTeX (needs the packages booktabs and graphicx)."""
    parts = []
    for grid in grids:
        columns = grid.layout.columns
        groups = list(dict.fromkeys(c.group for c in columns))
        spans = [(g, sum(c.group == g for c in columns)) for g in groups]
        caption = escape(f"{title}. {_legend(grid, experiment, selection)}").replace("`", "")
        lines = [
            r"\begin{table}",
            r"\caption{" + caption + "}",
            r"\resizebox{\textwidth}{!}{%",
            r"\begin{tabular}{l" + "c" * len(columns) + "}",
            r"\toprule",
        ]
        if any(groups):
            heads = [rf"\multicolumn{{{n}}}{{c}}{{{escape(g)}}}" for g, n in spans]
            lines.append(" & " + " & ".join(heads) + r" \\")
        lines.append(" & " + " & ".join(escape(c.label) for c in columns) + r" \\")
        lines.append(r"\midrule")
        for (label, _), row in zip(grid.layout.datasets, grid.cells, strict=True):
            lines.append(f"{escape(label)} & " + " & ".join(_latex_cell(c) for c in row) + r" \\")
        if grid.footer:
            lines.append(r"\midrule")
        lines += [f"{escape(label)} & " + " & ".join(row) + r" \\" for label, row in grid.footer]
        lines += [r"\bottomrule", r"\end{tabular}}", r"\end{table}"]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _latex_cell(cell: Cell) -> str:
    ours = rf"\textbf{{{cell.reproduced}}}" if cell.bold else cell.reproduced
    ours += rf"{{\tiny$\pm${cell.se}}}" if cell.se else ""
    ours += f"$^{{{cell.mark}}}$" if cell.mark else ""
    return f"{cell.published} / {ours}" if cell.published else ours


def escape(text: str) -> str:
    """Text for LaTeX."""
    return text.translate(_ESCAPED)


def _legend(grid: Grid, experiment: str, selection: str) -> str:
    both = "published / reproduced" if len(published_cells(experiment)) else "reproduced"
    both = "mean" if experiment in catalogue.own_experiment_names() else both
    chosen = CHOSEN[selection] + (
        " (as in the papers)"
        if selection == "oracle"
        else " (the published numbers, where shown, are the best of a grid)"
    )
    return (
        f"{grid.layout.caption}. Each cell: {both} ± standard error; selection: {selection}, {chosen}. Bold: best; "
        f"`*`: {mark_words(experiment)}; `**`: also after Holm's correction."
    )
