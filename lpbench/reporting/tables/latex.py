"""Result tables as LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from lpbench.reporting.cards import CHOSEN
from lpbench.reporting.published import published_cells
from lpbench.reporting.tables.grid import Cell, Grid


def to_latex(title: str, experiment: str, grids: Sequence[Grid], selection: str) -> str:
    """Render tables as LaTeX (needs the packages booktabs and graphicx)."""
    parts = []
    for grid in grids:
        columns = grid.layout.columns
        groups = list(dict.fromkeys(c.group for c in columns))
        spans = [(g, sum(c.group == g for c in columns)) for g in groups]
        caption = _escape(f"{title}. {_legend(grid, experiment, selection)}").replace("`", "")
        lines = [
            r"\begin{table}",
            r"\caption{" + caption + "}",
            r"\resizebox{\textwidth}{!}{%",
            r"\begin{tabular}{l" + "c" * len(columns) + "}",
            r"\toprule",
        ]
        if any(groups):
            heads = [rf"\multicolumn{{{n}}}{{c}}{{{_escape(g)}}}" for g, n in spans]
            lines.append(" & " + " & ".join(heads) + r" \\")
        lines.append(" & " + " & ".join(_escape(c.label) for c in columns) + r" \\")
        lines.append(r"\midrule")
        for (label, _), row in zip(grid.layout.datasets, grid.cells, strict=True):
            lines.append(f"{_escape(label)} & " + " & ".join(_latex_cell(c) for c in row) + r" \\")
        if grid.footer:
            lines.append(r"\midrule")
        lines += [f"{_escape(label)} & " + " & ".join(row) + r" \\" for label, row in grid.footer]
        lines += [r"\bottomrule", r"\end{tabular}}", r"\end{table}"]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _latex_cell(cell: Cell) -> str:
    ours = rf"\textbf{{{cell.reproduced}}}" if cell.bold else cell.reproduced
    ours += rf"{{\tiny$\pm${cell.se}}}" if cell.se else ""
    ours += f"$^{{{cell.mark}}}$" if cell.mark else ""
    return f"{cell.published} / {ours}" if cell.published else ours


def _escape(text: str) -> str:
    for character in "&%_#":
        text = text.replace(character, "\\" + character)
    symbols = {"±": r"$\pm$", "ρ": r"$\rho$", "λ": r"$\lambda$", "γ": r"$\gamma$", "ε": r"$\varepsilon$"}
    for symbol, command in symbols.items():
        text = text.replace(symbol, command)
    return text


def _legend(grid: Grid, experiment: str, selection: str) -> str:
    both = "published / reproduced" if len(published_cells(experiment)) else "reproduced"
    chosen = CHOSEN[selection] + (
        " (as in the papers)"
        if selection == "oracle"
        else " (the published numbers, where shown, are the best of a grid)"
    )
    return (
        f"{grid.layout.caption}. Each cell: {both} ± standard error; selection: {selection}, {chosen}. Bold: best; "
        "`*`: marked by the paper's rule with raw tests; `**`: also after Holm's correction."
    )
