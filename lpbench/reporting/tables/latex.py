"""Result tables as LaTeX with booktabs."""

import math
from collections.abc import Sequence

from lpbench.reporting.printed_names import CHOSEN
from lpbench.reporting.render import in_symbols
from lpbench.reporting.tables.grid import OURS, Cell, Grid

#: What LaTeX would read as a command, and symbols of titles. A title may be somebody else's.
_ESCAPED = str.maketrans(
    {character: "\\" + character for character in "&%_#${}"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    | {"±": r"$\pm$", "ρ": r"$\rho$", "λ": r"$\lambda$", "γ": r"$\gamma$", "ε": r"$\varepsilon$"}
)


def to_latex(
    title: str,
    label: str,
    grids: Sequence[Grid],
    *,
    selection: str,
    marks: str,
    replications: int,
    ranks: bool = False,
    published: bool = False,
) -> str:
    parts = ["% \\usepackage{booktabs}   % the only package that is needed\n"]
    for k, grid in enumerate(grids):
        note = (
            f"{'published / ' * published}mean ± standard error over {replications} replications; {CHOSEN[selection]}. "
            f"Bold: best mean. *: {marks}; **: also after Holm's correction."
        )
        what = in_symbols(grid.layout.caption.replace("_", " ")).replace("mse", "mean squared error")
        caption = escape(". ".join(filter(None, [title.rstrip("."), f"{what}: {note}"])))
        heads, rows = _body(grid, ranks, published)
        lines = [
            "\\begin{table}[t]",
            "\\centering\\small",
            f"\\caption{{{caption}}}",
            f"\\label{{{label}{'-' + str(k + 1) if len(grids) > 1 else ''}}}",
            f"\\begin{{tabular}}{{l{'r' * len(heads)}}}",
            "\\toprule",
            " & ".join(["", *heads]).lstrip() + " \\\\",
            "\\midrule",
            *(f"{' & '.join(row)} \\\\" for row in rows),
            "\\bottomrule",
            "\\end{tabular}",
            "\\end{table}",
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def escape(text: str) -> str:
    return text.translate(_ESCAPED)


def _body(grid: Grid, ranks: bool, published: bool) -> tuple[list[str], list[list[str]]]:
    """Heads and rows; more than six methods stand below each other, the data sets side by side."""
    methods = [escape(f"{c.group}: {c.label}" if c.group else c.label) for c in grid.layout.columns]
    datasets = [escape(label) for label, _ in grid.layout.datasets]
    cells = [[f"{c.published} / " * bool(published and c.published) + _cell(c) for c in row] for row in grid.cells]
    if ranks:
        sums = next((line for name, line in grid.footer if name == OURS), None)
        if sums is not None and len(datasets) > 1:
            datasets, cells = [*datasets, "Rank sum"], [*cells, list(sums)]
    if len(methods) > 6:
        columns = [list(column) for column in zip(*cells, strict=True)]
        return datasets, [[name, *row] for name, row in zip(methods, columns, strict=True)]
    return methods, [[name, *row] for name, row in zip(datasets, cells, strict=True)]


def _cell(cell: Cell) -> str:
    """A number with its standard error, rounded to two digits of the error where the number has them."""
    if math.isnan(cell.value):
        return "--"
    have = len(cell.reproduced.partition(".")[2])
    error = float(cell.se or 0)
    digits = min(have, max(0, 1 - math.floor(math.log10(error)))) if error > 0 else have
    mean = cell.reproduced if digits == have else f"{cell.value:.{digits}f}"
    mean = f"\\mathbf{{{mean}}}" if cell.bold else mean
    spread = f" \\pm {error:.{digits}f}" if error > 0 else ""
    mark = f"^{{{cell.mark}}}" if cell.mark else ""
    return f"${mean}{spread}{mark}$"
