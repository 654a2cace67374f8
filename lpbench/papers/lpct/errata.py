"""Findings about LPCT's printed tables, sizes and simulation."""

import numpy as np
import pandas as pd

from lpbench.analysis import rank_sums
from lpbench.datasets import describe
from lpbench.papers.lpct.claims_tables import published_above_bound
from lpbench.papers.lpct.published import RANK_SUMS, TABLE_METHODS, printed_cells
from lpbench.papers.published_files import read
from lpbench.reporting.paper import Erratum
from lpbench.reporting.published import wide_table

#: All columns of Table 2 but CT-W.
LPCT_RANKED = [*TABLE_METHODS[1:]]


def _lpct_table(epsilon: float) -> pd.DataFrame:
    cells = printed_cells("lpct/table2")
    return wide_table(cells[cells["epsilon"] == epsilon])[LPCT_RANKED]


def lpct_reachable(epsilon: float) -> pd.DataFrame:
    """Smallest, average and largest rank sum that the printed cells of L allow, beside the printed one (``-`` last)."""
    values = _lpct_table(epsilon).to_numpy()
    sums = RANK_SUMS["lpct/table2"]()
    printed = sums[sums["epsilon"] == epsilon].set_index("method")["rank_sum"].reindex(LPCT_RANKED)
    parts = {t: rank_sums(values, larger_is_better=True, ties=t) for t in ("min", "average", "max")}
    return pd.DataFrame({"printed": printed.to_numpy(), **parts}, index=LPCT_RANKED)


def _lpct_rank_sums() -> str:
    """Count, at each ε, the printed rank sums that no ranking of the printed cells reaches, as text."""
    parts = []
    for epsilon in (0.5, 2.0, 8.0):
        table = lpct_reachable(epsilon)
        outside = int(((table["printed"] < table["min"]) | (table["printed"] > table["max"])).sum())
        parts.append(f"{outside} of {len(table)} rank sums at ε = {epsilon:g}")
    return f"{', '.join(parts)} are outside the range that the printed cells allow"


def _copied_rank_sums() -> str:
    sums = RANK_SUMS["lpct/table2"]()
    wide = sums.pivot(index="method", columns="epsilon", values=["rank_sum", "wins"])
    same = [int((wide[what][0.5] == wide[what][2.0]).sum()) for what in ("rank_sum", "wins")]
    return f"{same[0]} of {len(wide)} rank sums are equal at ε = 0.5 and 2, but only {same[1]} counts of No. 1"


def _copied_pglm() -> str:
    a, b, c = (_lpct_table(e)["pglm"] for e in (0.5, 2.0, 8.0))
    return f"{int((a == b).sum())} of {len(a)} cells are equal at ε = 0.5 and 2, {int((b == c).sum())} at ε = 2 and 8"


def _outlier() -> str:
    """State the largest accuracy on "email" at ε = 8, the next one, and that column at all ε, as text."""
    row = _lpct_table(8.0).loc["email"].sort_values(ascending=False)
    series = [_lpct_table(e).loc["email", "psgd_linear"] for e in (0.5, 2.0, 8.0)]
    return (
        f"{row.index[0]} is best with {row.iloc[0]:.4f}, before {row.index[1]} with {row.iloc[1]:.4f}. psgd_linear has "
        + ", ".join(f"{v:.4f}" for v in series)
        + " at ε = 0.5, 2 and 8"
    )


def _wins_against_stars() -> str:
    """Count the columns whose printed number of wins differs from their number of stars, with two examples, as text."""
    cells, sums = printed_cells("lpct/table2"), RANK_SUMS["lpct/table2"]()
    stars = cells.groupby(["epsilon", "method"])["starred"].sum()
    parts = [
        f"{method} at ε = {epsilon:g} ({int(stars[epsilon, method])} stars, printed count {wins:g})"
        for epsilon, method, wins in sums[["epsilon", "method", "wins"]].itertuples(index=False)
        if stars[epsilon, method] != wins
    ]
    return f"{len(parts)} of {len(sums)} counts differ, such as " + " and ".join(parts[:2])


def _census() -> str:
    """State the printed numbers of rows of the Census data beside those of the data as published, as text."""
    facts = describe("census")
    row = read("lpct_table1.csv").set_index("dataset").loc["Census"]
    printed = f"printed n_P {row['n_private']}, n_Q {row['n_public']}"
    if facts.n_train is None or facts.n_test is None:
        return printed
    rows = facts.n_train + facts.n_test
    return f"{printed}; ours n_P {facts.n_train} = 0.8 x {rows} rows from outside the U.S., n_Q {facts.n_public}"


def _rice() -> str:
    facts = describe("rice")
    row = read("lpct_table1.csv").set_index("dataset").loc["Rice"]
    private, public = int(row["n_private"]), int(row["n_public"])
    printed = f"printed n_P {private} = 0.8 x 300, n_Q {public} = {public + 300} - 300"
    return f"{printed}; ours n_P {facts.n_train}, n_Q {facts.n_public}"


def printed_eta_range() -> tuple[float, float]:
    """Range on [0, 1]^2 of eta_P exactly as L prints it."""
    axis = np.linspace(0, 1, 601)
    x1, x2 = np.meshgrid(axis, axis)
    size = np.abs((3 * x1 - 1) * (3 * x2 - 1) / 10) * np.maximum(0, 1 - np.abs(2 * x2 - 1))
    eta = 0.5 + np.sign(x1 - 1 / 3) * np.sign(x2 - 1 / 3) * size**0.1
    return float(eta.min()), float(eta.max())


ERRATA = (
    Erratum("Table 2, rank sums", "no tie rule gives the printed sums from the printed cells", _lpct_rank_sums),
    Erratum("Table 2(b), rank sums", "the row of rank sums repeats that of Table 2(a)", _copied_rank_sums),
    Erratum("Table 2, No. 1", "the printed counts are not the numbers of stars. Perhaps the authors counted bold cells",
            _wins_against_stars),
    Erratum("Table 2, PGLM", "the columns in (a) and (b) are identical", _copied_pglm),
    Erratum("Table 2(c), Email", "this row alone has no star, although its best cell is far above its other cells",
            _outlier),
    Erratum("Sec. 7.2", "the accuracy of CT-W is called an upper bound",
            lambda: f"{published_above_bound()} printed cells exceed the accuracy of CT-W"),
    Erratum("Table 1, Census", "n_P and n_Q are exchanged", _census),
    Erratum("App. C.1, Rice", "the text calls the 300 sampled rows public, but the printed sizes count them as private",
            _rice),
    Erratum("Sec. 6.1", "the printed eta_P is not a probability",
            lambda: "on a grid of [0, 1]^2 the printed eta_P runs from {:.3f} to {:.3f}".format(*printed_eta_range())),
)  # fmt: skip
