"""Checks of HistOfTree's claims about its tables and about its randomized response (appendix A.1)."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from lpbench.analysis.claims import Checks, above, below
from lpbench.analysis.instances import Instance, join, stated
from lpbench.errors import NotRunError
from lpbench.papers.histoftree.published import TABLE_METHODS, TABLES
from lpbench.reporting.evidence import CellTable, Evidence

checks = Checks()

#: The paper's own columns of each half of a table; three compared ones follow.
PROPOSED = {mask: columns[:-3] for mask, columns in TABLE_METHODS.items()}
#: The rule by which each half of the printed tables ranks equals.
TIES = {"aligned": "max", "personalized": "min"}
#: H15's change.
BINS_ON_AVERAGE = "the check asked for 2 bins on average over the cells, not in each cell, and the claim failed, too"
BY_MECHANISM = ("histoftree_max_edge[mechanism=rr]", "histoftree_max_edge[mechanism=grr]")


def _tables(results: Evidence, mask: str) -> Iterator[tuple[str, CellTable]]:
    """Yield pairs of a name ("mask, ε = ...") and cells of Tables 1 to 3 under one mask, proposed methods first."""
    for name, (_, epsilon) in sorted(TABLES.items(), key=lambda item: item[1][1]):
        yield f"{mask}, ε = {epsilon:g}", results.table(name, epsilon, mask, TABLE_METHODS[mask])


def _rank_sums(results: Evidence, ties: dict[str, str]) -> Iterator[Instance]:
    for mask, proposed in PROPOSED.items():
        for where, table in _tables(results, mask):
            arguments = {"columns": len(table.methods), "proposed": len(proposed), "ties": ties[mask]}
            yield Instance(where, table.cells, "rank_sum_gap", arguments)


checks.add(
    "H9",
    "rank sums",
    above(),
    "At every ε and mask, the worst HistOfTree variant has a smaller rank sum than the best competitor.",
    partial(_rank_sums, ties=TIES),
    quantifier="every",
)
checks.add(
    "H9",
    "rank sums, average ties",
    above(),
    "With average ranks for ties, the worst HistOfTree variant has a smaller rank sum than the best competitor at "
    "every ε and mask.",
    partial(_rank_sums, ties=dict.fromkeys(TIES, "average")),
    quantifier="every",
)


@checks("H10", "best results", above())
def most_best_results(results: Evidence) -> Iterator[Instance]:
    """More data sets have their best result in a HistOfTree column than in a competitor's column."""
    for mask, proposed in PROPOSED.items():
        for where, table in _tables(results, mask):
            yield Instance(where, table.cells, "wins_gap", {"columns": len(table.methods), "proposed": len(proposed)})


@checks("H11", "median ratio", below(1, 0.1))
def adaptive_is_comparable(results: Evidence) -> Iterator[Instance]:
    """The median of (AdHistOfTree's error) / (HistOfTree's error) over data sets, cutting rules and ε is below 1.1."""
    pairs = [
        (table.columns(f"adhistoftree_{rule}"), table.columns(f"histoftree_{rule}"))
        for _, table in _tables(results, "personalized")
        for rule in ("max_edge", "cart")
    ]
    adaptive, tuned = (join(side) for side in zip(*pairs, strict=True))
    is_complete = ~np.isnan(adaptive.samples.mean(axis=0) + tuned.samples.mean(axis=0))
    if not is_complete.any():
        raise NotRunError("no data set has both the adaptive and the tuned method")
    places = np.flatnonzero(is_complete)
    yield Instance("personalized", join([adaptive[places], tuned[places]]), "median_ratio")


def _rules(results: Evidence, mask: str, better: str, worse: str) -> Iterator[Instance]:
    for where, table in _tables(results, mask):
        for family in [m.removesuffix("_max_edge") for m in PROPOSED[mask] if m.endswith("_max_edge")]:
            cells = table.columns(f"{family}_{better}", f"{family}_{worse}")
            arguments = {"columns": 2, "proposed": 1, "ties": "average"}
            yield Instance(f"{family}, {where}", cells, "rank_sum_gap", arguments)


checks.add(
    "H12",
    "aligned",
    above(),
    "Under aligned masks, CART has a smaller rank sum than max-edge.",
    partial(_rules, mask="aligned", better="cart", worse="max_edge"),
)
checks.add(
    "H12",
    "personalised",
    above(),
    "Under personalized masks, max-edge has a smaller rank sum than CART.",
    partial(_rules, mask="personalized", better="max_edge", worse="cart"),
)


@checks("H15", "bins", above(1.5), quantifier="every", effect=0, rule_changes=BINS_ON_AVERAGE)
def grid_on_private_features_is_used(results: Evidence) -> Iterator[Instance]:
    """In each cell of the tables, the best grid point of HistOfTree has at least 2 bins per protected feature."""
    if results.source == "published":
        raise NotRunError("the paper prints no setting")
    for mask in PROPOSED:
        for where, table in _tables(results, mask):
            for method in ("histoftree_max_edge", "histoftree_cart"):
                chosen = results.settings(table, method)
                if not all("bins" in params for params in chosen.values()):
                    raise NotRunError("a setting has no number of bins")
                for dataset, params in chosen.items():
                    bins, key = float(params["bins"]), table.cell(dataset, method).keys[0]
                    # a key of its own: that of the cell is its error's
                    yield stated(f"{dataset}, {method}, {where}", (*key[:-1], bins), bins, "bins")


@checks("H13", "gain", above())
def generalized_response_is_better(results: Evidence) -> Iterator[Instance]:
    """Plain randomized response has a larger error than generalized randomized response: log(ratio) is above 0."""
    name = "histoftree/mechanism"
    for epsilon in sorted(results.summary(name)["epsilon"].unique()):
        table = results.table(name, epsilon, "", BY_MECHANISM)
        for dataset in table.datasets:
            cells = join([table.cell(dataset, method) for method in BY_MECHANISM])
            if not np.isnan(cells.samples).any():
                yield Instance(f"{dataset}, ε = {epsilon:g}", cells, "log_linear", {"weights": [1.0, -1.0]})
