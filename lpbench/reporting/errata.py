"""What is wrong or contradictory in the papers, each with the computation that shows it.

Everything is computed when the report is written, from the printed numbers in ``results/published``, from the
manifests of the data sets or from the printed formulas; nothing is asserted from memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lpbench.analysis import rank_sums
from lpbench.datasets import describe
from lpbench.reporting.published import HISTOFTREE_TABLES, published_cells, published_rank_sums, read

LPCT_RANKED = [
    *("lpct_max_edge", "lpct_cart", "lpct_prune_max_edge", "lpct_prune_cart", "ct_q"),
    *("phist", "lpdt", "pglm", "psgd_linear", "psgd_neural"),
]


@dataclass(frozen=True)
class Erratum:
    """One finding: where, what, and a function that computes the evidence."""

    paper: str
    where: str
    what: str
    compute: Callable[[], str]


def errata() -> list[dict[str, str]]:
    """Return all findings with their evidence: dictionaries with keys paper, where, what, computation."""
    return [
        {"paper": e.paper, "where": e.where, "what": e.what, "computation": e.compute()}
        for e in (*_HISTOFTREE, *_LPCT, *_LABEL_DP)
    ]


def _wide(cells: pd.DataFrame) -> pd.DataFrame:
    order = list(dict.fromkeys(cells["method"]))
    return cells.pivot(index="dataset", columns="method", values="published")[order]


def histoftree_tie_rules() -> dict[str, dict[str, int]]:
    """Count, per kind of mask and tie rule, the printed rank sums of H that the printed cells give."""
    counts: dict[str, dict[str, int]] = {}
    for name in HISTOFTREE_TABLES:
        cells, sums = published_cells(name), published_rank_sums(name)
        for mask, part in cells.groupby("mask"):
            wide = _wide(part)
            printed = sums[sums["mask"] == mask].set_index("method")["rank_sum"].reindex(wide.columns)
            for ties in ("min", "average", "max"):
                same = rank_sums(wide.to_numpy(), larger_is_better=False, ties=ties) == printed.to_numpy()
                counts.setdefault(mask, {}).setdefault(ties, 0)
                counts[mask][ties] += int(same.sum())
            counts[mask]["of"] = counts[mask].get("of", 0) + len(printed)
    return counts


def _tie_rules() -> str:
    counts = histoftree_tie_rules()
    return "; ".join(
        f"{mask}: min {c['min']}, average {c['average']}, max {c['max']} of {c['of']} reproduced"
        for mask, c in sorted(counts.items())
    )


def _all_histoftree() -> pd.DataFrame:
    return pd.concat([published_cells(name) for name in HISTOFTREE_TABLES], ignore_index=True)


def _hist_pairs() -> str:
    cells = _all_histoftree()
    wide = cells[cells["method"] == "hist"].pivot(index=["epsilon", "dataset"], columns="mask", values="published")
    unequal = wide[wide["aligned"] != wide["personalized"]]
    where = "; ".join(
        f"epsilon {e:g} {d}: {row.aligned:g} and {row.personalized:g}"
        for (e, d), row in zip(unequal.index, unequal.itertuples(), strict=True)
    )
    return f"{len(wide) - len(unequal)} of {len(wide)} pairs equal; {where}"


def _copied_values() -> str:
    cells = _all_histoftree()
    cells = cells[~cells["method"].isin(["hist"])]
    keys = ["dataset", "mask", "method"]
    wide = cells.pivot(index=keys, columns="epsilon", values="published")
    same = wide[wide[1.0] == wide[2.0]]
    all_three = same[same[2.0] == same[4.0]]
    where = ", ".join(f"{d} {k} {m} ({row[1.0]:g})" for (d, k, m), row in same.iterrows())
    return f"equal at epsilon 1 and 2: {where}; at 4 too: {len(all_three)}"


def _growing_ratios() -> str:
    wide = _all_histoftree().pivot(index=["dataset", "mask", "method"], columns="epsilon", values="published")
    found = [
        f"{d} {k} {m} {row[low]:g} at {low:g}, {row[high]:g} at {high:g}"
        for (d, k, m), row in wide.iterrows()
        for low, high in ((1.0, 2.0), (2.0, 4.0))
        if row[high] > row[low]
    ]
    return f"{len(found)} of {2 * len(wide)} steps: " + "; ".join(found)


def _partial_stars() -> str:
    cells = _all_histoftree()
    found = []
    for (epsilon, dataset, mask), row in cells.groupby(["epsilon", "dataset", "mask"]):
        starred = set(row.loc[row["starred"], "published"])
        if (row.loc[~row["starred"], "published"].isin(starred)).any():
            found.append(f"epsilon {epsilon:g} {dataset} {mask}")
    return ", ".join(found)


def _sizes(dataset: str) -> str:
    facts = describe(dataset)
    if facts.n_train is None:
        return "the data are not at hand"
    return f"{facts.n_train + facts.n_test} rows, {facts.n_features} features"


def _own_sizes(*datasets: str) -> Callable[[], str]:
    return lambda: "the data have " + "; ".join(f"{d}: {_sizes(d)}" for d in datasets)


def _personal_masks() -> str:
    return (
        "floor(l / s*) at l = 1, ..., s* is 0, ..., 0, 1: only s* - 1 features are protected by everybody, and with "
        "s* = 1 (d <= 7) the most sensitive one by n/10 users"
    )


_HISTOFTREE = (
    Erratum("H", "Tables 1-3, rank sums", "two tie rules in one row, so the halves cannot be compared", _tie_rules),
    Erratum("H", "Tables 1-3, Hist", "Hist ignores the mask, so both halves must agree", _hist_pairs),
    Erratum("H", "Tables 1-2", "values repeated from one budget to the next", _copied_values),
    Erratum("H", "Tables 1-3", "error grows with the budget", _growing_ratios),
    Erratum("H", "Table 1", "a star on part of a printed tie", _partial_stars),
    Erratum("H", "App. C.2, RED", "4,898 instances are those of white wine", _own_sizes("red_wine", "white_wine")),
    Erratum(
        "H", "App. C.2, AQU and FIS", "the same sentence (908 chemicals) describes both; FIS has 6 inputs, not 7",
        _own_sizes("aquatic_toxicity", "fish_toxicity"),
    ),
    Erratum("H", "App. C.2, DAK", "10 features count the date and the target", _own_sizes("istanbul_stock")),
    Erratum("H", "App. C.2, POR", "315 x 12 is not the set the authors' copy holds", _own_sizes("portfolio")),
    Erratum("H", "Sec. 5.2, masks", "counted from 1 as printed, one sensitive feature is missing", _personal_masks),
)  # fmt: skip


def _lpct_table(epsilon: float) -> pd.DataFrame:
    cells = published_cells("lpct/table2")
    return _wide(cells[cells["epsilon"] == epsilon])[LPCT_RANKED]


def lpct_reachable(epsilon: float) -> pd.DataFrame:
    """Smallest, average and largest rank sum that the printed cells of L allow, beside the printed one (``-`` last)."""
    values = _lpct_table(epsilon).to_numpy()
    sums = published_rank_sums("lpct/table2")
    printed = sums[sums["epsilon"] == epsilon].set_index("method")["rank_sum"].reindex(LPCT_RANKED)
    parts = {t: rank_sums(values, larger_is_better=True, ties=t) for t in ("min", "average", "max")}
    return pd.DataFrame({"printed": printed.to_numpy(), **parts}, index=LPCT_RANKED)


def _lpct_rank_sums() -> str:
    parts = []
    for epsilon in (0.5, 2.0, 8.0):
        table = lpct_reachable(epsilon)
        outside = int(((table["printed"] < table["min"]) | (table["printed"] > table["max"])).sum())
        parts.append(f"epsilon {epsilon:g}: {outside} of {len(table)} out of reach, sum {table['printed'].sum():g}")
    return "; ".join(parts)


def _copied_rank_sums() -> str:
    sums = published_rank_sums("lpct/table2")
    wide = sums.pivot(index="method", columns="epsilon", values=["rank_sum", "wins"])
    same = [int((wide[what][0.5] == wide[what][2.0]).sum()) for what in ("rank_sum", "wins")]
    return f"{same[0]} of {len(wide)} rank sums equal at epsilon 0.5 and 2, but {same[1]} of the No. 1 counts"


def _copied_pglm() -> str:
    a, b, c = (_lpct_table(e)["pglm"] for e in (0.5, 2.0, 8.0))
    return f"{int((a == b).sum())} of {len(a)} cells equal at 0.5 and 2, {int((b == c).sum())} at 2 and 8"


def _outlier() -> str:
    row = _lpct_table(8.0).loc["email"].sort_values(ascending=False)
    series = [_lpct_table(e).loc["email", "psgd_linear"] for e in (0.5, 2.0, 8.0)]
    return (
        f"{row.index[0]} {row.iloc[0]:.4f}, the next {row.index[1]} {row.iloc[1]:.4f}; the column at 0.5, 2, 8: "
        + ", ".join(f"{v:.4f}" for v in series)
    )


def _above_bound() -> str:
    from lpbench.reporting.claims.lpct_tables import published_above_bound

    return f"{published_above_bound()} cells exceed it"


def _wins_against_stars() -> str:
    cells, sums = published_cells("lpct/table2"), published_rank_sums("lpct/table2")
    stars = cells.groupby(["epsilon", "method"])["starred"].sum()
    parts = [
        f"{method} at {epsilon:g}: {int(stars[epsilon, method])} stars, {wins:g} printed"
        for epsilon, method, wins in sums[["epsilon", "method", "wins"]].itertuples(index=False)
        if stars[epsilon, method] != wins
    ]
    return f"{len(parts)} of {len(sums)} differ, e.g. " + "; ".join(parts[:2])


def _census() -> str:
    facts = describe("census")
    row = read("lpct_table1.csv").set_index("dataset").loc["Census"]
    printed = f"printed n_P {row['n_private']}, n_Q {row['n_public']}"
    if facts.n_train is None:
        return printed
    rows = facts.n_train + facts.n_test
    return f"{printed}; ours n_P {facts.n_train} = 0.8 x {rows} rows from outside the U.S., n_Q {facts.n_public}"


def _rice() -> str:
    facts = describe("rice")
    row = read("lpct_table1.csv").set_index("dataset").loc["Rice"]
    private, public = int(row["n_private"]), int(row["n_public"])
    printed = f"printed n_P {private} = 0.8 x 300, n_Q {public} = {public + 300} - 300"
    return f"{printed}; ours {facts.n_train}, {facts.n_public}"


def printed_eta_range() -> tuple[float, float]:
    """Range on [0, 1]^2 of eta_P exactly as L prints it."""
    axis = np.linspace(0, 1, 601)
    x1, x2 = np.meshgrid(axis, axis)
    size = np.abs((3 * x1 - 1) * (3 * x2 - 1) / 10) * np.maximum(0, 1 - np.abs(2 * x2 - 1))
    eta = 0.5 + np.sign(x1 - 1 / 3) * np.sign(x2 - 1 / 3) * size**0.1
    return float(eta.min()), float(eta.max())


def _eta() -> str:
    low, high = printed_eta_range()
    return f"on a grid of [0, 1]^2 the printed eta_P runs from {low:.3f} to {high:.3f}"


_LPCT = (
    Erratum("L", "Table 2, rank sums", "do not follow from the cells under any tie rule", _lpct_rank_sums),
    Erratum("L", "Table 2(b), rank sums", "the row is that of (a)", _copied_rank_sums),
    Erratum("L", "Table 2, No. 1", "not the number of stars (perhaps of bold cells)", _wins_against_stars),
    Erratum("L", "Table 2, PGLM", "the column is the same in (a) and (b)", _copied_pglm),
    Erratum("L", "Table 2(c), Email", "the only row without a star, and its best cell stands apart", _outlier),
    Erratum("L", "Sec. 7.2", "CT-W is called an upper bound", _above_bound),
    Erratum("L", "Table 1, Census", "n_P and n_Q exchanged", _census),
    Erratum("L", "App. C.1, Rice", "the 300 sampled rows are called public, the sizes make them private", _rice),
    Erratum("L", "Sec. 6.1", "eta_P as printed is no probability", _eta),
)


def _laplace_scale() -> str:
    T, n = 3.0, 10
    labels = np.full(n, T)
    changed = labels.copy()
    changed[0] = -T
    return f"T = {T:g}, {n} labels at T, one moved to -T: the mean moves by {labels.mean() - changed.mean():g} = 2T/n"


_LABEL_DP = (
    Erratum("Z", "Theorem 8, eq. (25)", "the noise of a cell mean is printed as 2/(n eps) without T", _laplace_scale),
)
