"""HistOfTree's tables 1 to 3: published cells, rank sums and layout."""

from functools import partial

import pandas as pd

from lpbench.papers.published_files import printed_rows, rank_sums_of, read, steps, table_cells, with_notes
from lpbench.reporting.paper import TableLayout
from lpbench.reporting.published import complete_cells

#: Experiment -> number and budget of the table.
TABLES = {"histoftree/table1": (1, 2.0), "histoftree/table2": (2, 1.0), "histoftree/table3": (3, 4.0)}
#: Columns of each half of a table.
TABLE_METHODS = {
    "aligned": ("histoftree_max_edge", "histoftree_cart", "par_dt", "hist", "krr"),
    "personalized": (
        *("histoftree_max_edge", "histoftree_cart", "adhistoftree_max_edge", "adhistoftree_cart"),
        *("par_dt", "hist", "krr"),
    ),
}


def cells(experiment: str) -> pd.DataFrame:
    """Published cells of a table: mean squared errors relative to the non-private tree."""
    rows = _rows("histoftree_tables.csv", experiment)
    table = table_cells(
        "H",
        rows,
        mask=rows["paradigm"].tolist(),
        epsilon=rows["epsilon"].astype(float).tolist(),
        published=rows["mse_ratio"].astype(float).tolist(),
        step=steps(rows["mse_ratio"]),
        starred=(rows["significant"] == "true").tolist(),
    )
    return with_notes(experiment, table)


def rank_sums(experiment: str) -> pd.DataFrame:
    """Return the printed rank sums of an experiment."""
    return rank_sums_of("H", _rows("histoftree_ranksums.csv", experiment))


def _rows(file: str, experiment: str) -> pd.DataFrame:
    rows = read(file)
    return rows[rows["table"] == str(TABLES[experiment][0])]


PUBLISHED = {name: partial(cells, name) for name in TABLES}
RANK_SUMS = {name: partial(rank_sums, name) for name in TABLES}
LAYOUTS = {
    name: TableLayout(
        columns=TABLE_METHODS,
        rows=printed_rows("H"),
        epsilons=(epsilon,),
        caption="Epsilon = {epsilon:g}, MSE relative to the non-private tree",
        value="ratio",
        style="three_digits",
    )
    for name, (_, epsilon) in TABLES.items()
}


def printed_cells(experiment: str) -> pd.DataFrame:
    """Published cells of one of the paper's experiments."""
    return complete_cells(PUBLISHED[experiment])
