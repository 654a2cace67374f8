"""Findings about HistOfTree's printed tables and data descriptions."""

from collections.abc import Callable

import pandas as pd

from lpbench.analysis import rank_sums
from lpbench.datasets import describe
from lpbench.papers.histoftree.published import RANK_SUMS, TABLES, printed_cells
from lpbench.reporting.paper import Erratum
from lpbench.reporting.published import wide_table


def histoftree_tie_rules() -> dict[str, dict[str, int]]:
    """Count, per kind of mask and tie rule, the printed rank sums of H that the printed cells give."""
    counts: dict[str, dict[str, int]] = {}
    for name in TABLES:
        cells, sums = printed_cells(name), RANK_SUMS[name]()
        for mask, group in cells.groupby("mask"):
            wide, tally = wide_table(group), counts.setdefault(mask, dict.fromkeys(("min", "average", "max", "of"), 0))
            printed = sums[sums["mask"] == mask].set_index("method")["rank_sum"].reindex(wide.columns)
            for ties in ("min", "average", "max"):
                same = rank_sums(wide.to_numpy(), larger_is_better=False, ties=ties) == printed.to_numpy()
                tally[ties] += int(same.sum())
            tally["of"] += len(printed)
    return counts


def _tie_rules() -> str:
    return "; ".join(
        f"of {c['of']} {mask} sums, {c['min']} follow if ties get the minimum rank, {c['average']} if ties get the "
        f"average rank and {c['max']} if ties get the maximum rank"
        for mask, c in sorted(histoftree_tie_rules().items())
    )


def _all_histoftree() -> pd.DataFrame:
    return pd.concat([printed_cells(name) for name in TABLES], ignore_index=True)


def _hist_pairs() -> str:
    """Count the pairs of printed Hist cells (aligned, personalized) that are equal, and list the others, as text."""
    cells = _all_histoftree()
    wide = cells[cells["method"] == "hist"].pivot(index=["epsilon", "dataset"], columns="mask", values="published")
    unequal = wide[wide["aligned"] != wide["personalized"]]
    where = "; ".join(
        f"{d} at epsilon {e:g} has {row.aligned:g} (aligned) and {row.personalized:g} (personalized)"
        for (e, d), row in zip(unequal.index, unequal.itertuples(), strict=True)
    )
    return f"{len(wide) - len(unequal)} of {len(wide)} pairs are equal; {where}"


def _copied_values() -> str:
    """List the printed cells that are equal at epsilon 1 and 2, and mark those equal at 4 too, as text."""
    cells = _all_histoftree()
    cells = cells[~cells["method"].isin(["hist"])]
    keys = ["dataset", "mask", "method"]
    wide = cells.pivot(index=keys, columns="epsilon", values="published")
    same = wide[wide[1.0] == wide[2.0]]
    where = ", ".join(
        f"{d} {k} {m} ({row[1.0]:g}{', also at 4' if row[2.0] == row[4.0] else ''})"
        for (d, k, m), row in same.iterrows()
    )
    return f"these cells have the same number at epsilon 1 and 2: {where}"


def _growing_ratios() -> str:
    """List the steps to a larger budget on which a printed error ratio grows, as text."""
    wide = _all_histoftree().pivot(index=["dataset", "mask", "method"], columns="epsilon", values="published")
    steps = [
        f"{d} {k} {m} from {row[low]:g} at epsilon {low:g} to {row[high]:g} at {high:g}"
        for (d, k, m), row in wide.iterrows()
        for low, high in ((1.0, 2.0), (2.0, 4.0))
        if row[high] > row[low]
    ]
    return f"the error grows in {len(steps)} of {2 * len(wide)} steps to the next larger budget: " + "; ".join(steps)


def _partial_stars() -> str:
    """List the rows of the tables in which one of several equal printed numbers is starred and another is not."""
    cells = _all_histoftree()
    named = []
    for (epsilon, dataset, mask), row in cells.groupby(["epsilon", "dataset", "mask"]):
        starred = set(row.loc[row["starred"], "published"])
        if (row.loc[~row["starred"], "published"].isin(starred)).any():
            named.append(f"{dataset} {mask} at epsilon {epsilon:g}")
    return ", ".join(named)


def _sizes(dataset: str) -> str:
    facts = describe(dataset)
    if facts.n_train is None or facts.n_test is None:
        return "no data at hand"
    return f"{facts.n_train + facts.n_test} rows, {facts.n_features} features"


def _own_sizes(*datasets: str) -> Callable[[], str]:
    return lambda: "; ".join(f"{d} has {_sizes(d)}" for d in datasets)


ERRATA = (
    Erratum(
        "Tables 1-3, rank sums",
        "the two halves of a row (aligned, personalized) rank ties by different rules",
        _tie_rules,
    ),
    Erratum("Tables 1-3, Hist", "Hist ignores the mask, so its numbers must agree under both masks", _hist_pairs),
    Erratum("Tables 1-2", "some numbers of one budget are repeated at the next budget", _copied_values),
    Erratum("Tables 1-3", "the error grows with the budget in some rows", _growing_ratios),
    Erratum("Table 1", "only some of the tied best numbers have the star", _partial_stars),
    Erratum(
        "App. C.2, RED", "the 4,898 instances stated for red wine are those of white wine",
        _own_sizes("red_wine", "white_wine"),
    ),
    Erratum(
        "App. C.2, AQU and FIS", "both data sets are described as 908 chemicals; FIS has 6 inputs, not 7",
        _own_sizes("aquatic_toxicity", "fish_toxicity"),
    ),
    Erratum("App. C.2, DAK", "the 10 features stated include the date and the target", _own_sizes("istanbul_stock")),
    Erratum("App. C.2, POR", "the stated 315 x 12 is not the size of the authors' copy", _own_sizes("portfolio")),
    Erratum(
        "Sec. 5.2, masks", "the printed index l starts at 1, so that everybody protects one feature too few",
        lambda: "floor(l / s*) at l = 1, ..., s* is 0, ..., 0, 1, so everybody protects only s* - 1 features. If "
        "s* = 1 (d <= 7), n/10 users protect the most sensitive feature",
    ),
)  # fmt: skip
