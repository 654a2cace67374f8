"""Result tables as LaTeX with booktabs."""

import math
from collections.abc import Sequence

import pandas as pd

from lpbench.reporting.printed_names import CHOSEN
from lpbench.reporting.render import in_symbols
from lpbench.reporting.tables.grid import RANK_SUM_OURS, Cell, Grid

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
    """Return the LaTeX source of a table: one tabular for each grid, with title and label."""
    parts = ["% \\usepackage{booktabs}   % the only package that is needed\n"]
    for k, grid in enumerate(grids):
        note = (
            f"{'published / ' * published}mean ± standard error over {replications} replications; {CHOSEN[selection]}. "
            f"Bold: best mean. *: {marks}; **: also after Holm's correction."
        )
        what = in_symbols(grid.layout.caption.replace("_", " ")).replace("mse", "mean squared error")
        caption = escape(". ".join(filter(None, [title.rstrip("."), f"{what}: {note}"])))
        table = _table(grid, ranks, published)
        number = f"-{k + 1}" if len(grids) > 1 else ""
        parts.append(
            table.style.to_latex(
                column_format="l" + "r" * table.shape[1],
                position="t",
                position_float="centering",
                hrules=True,
                label=label + number,
                caption=caption,
            )
        )
    return "\n".join(parts)


def escape(text: str) -> str:
    """Return a text with LaTeX's special characters escaped."""
    return text.translate(_ESCAPED)


def _table(grid: Grid, ranks: bool, published: bool) -> pd.DataFrame:
    """Cells in LaTeX, data sets by methods; more than six methods stand below each other, data sets side by side.

    ``ranks`` adds a line of rank sums, ``published`` the printed number before ours.
    """
    methods = [escape(f"{c.group}: {c.label}" if c.group else c.label) for c in grid.layout.columns]
    datasets = [escape(label) for label, _ in grid.layout.datasets]
    cells = [[f"{c.published} / " * bool(published and c.published) + _cell(c) for c in row] for row in grid.cells]
    if ranks:
        sums = next((line for name, line in grid.footer if name == RANK_SUM_OURS), None)
        if sums is not None and len(datasets) > 1:
            datasets, cells = [*datasets, "Rank sum"], [*cells, list(sums)]
    table = pd.DataFrame(cells, datasets, methods)
    return table.T if len(methods) > 6 else table


def _cell(cell: Cell) -> str:
    """A number in LaTeX with its standard error, both rounded to two digits of the error where the number has them."""
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
