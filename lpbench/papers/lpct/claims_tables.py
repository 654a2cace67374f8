"""Checks of LPCT's claims about its tables."""

from collections.abc import Iterator, Sequence

import numpy as np

from lpbench.analysis.claims import Checks, above, within
from lpbench.analysis.instances import CellScores, Instance, difference, join, stated
from lpbench.datasets import describe
from lpbench.errors import NotRunError
from lpbench.experiments.catalog import experiment
from lpbench.members import bare_name
from lpbench.papers.lpct.published import TABLE_METHODS, printed_cells
from lpbench.reporting.evidence import CellTable, Evidence

checks = Checks()

TABLE = "lpct/table2"
EPSILONS = (0.5, 2.0, 8.0)
OURS, COMPARED = TABLE_METHODS[1:5], TABLE_METHODS[5:]
#: Bytes of the two noisy votes of one cell, and the memory at which the paper stopped a run.
CELL_BYTES, MEMORY = 16, 100e9
#: Microseconds of a fit for each number read, measured on one core, and of updating one hidden unit by it.
WORK = {
    "lpct_max_edge": 0.041,
    "lpct_cart": 0.041,
    "lpct_prune_max_edge": 0.018,
    "lpct_prune_cart": 0.018,
    "ct_w": 0.048,
    "ct_q": 0.048,
    "phist": 0.12,
    "lpdt": 0.1,
    "pglm": 0.1,
    "psgd_linear": 0.36,
    "psgd_neural": 0.36,
}
HIDDEN_UNIT = 6e-5
SECONDS_FIRST = "the check compared the seconds of a run, which depend on the machine's load (counted work does not)"


def _tables(results: Evidence, methods: tuple[str, ...] = OURS + COMPARED) -> Iterator[tuple[str, CellTable]]:
    for epsilon in EPSILONS:
        yield f"ε = {epsilon:g}", results.table(TABLE, epsilon, "", methods)


@checks("L15", "rank sum", above())
def smallest_rank_sum(results: Evidence) -> Iterator[Instance]:
    """With average ranks for ties, LPCT's best column has a smaller rank sum than every compared method."""
    for where, table in _tables(results):
        arguments = {"columns": len(table.methods), "proposed": len(OURS), "ties": "average", "sign": -1}
        yield Instance(where, table.cells, "rank_sum_gap", arguments | {"all_proposed": False})


@checks("L15", "best results", above())
def most_best_results(results: Evidence) -> Iterator[Instance]:
    """More data sets have their best result in one of LPCT's columns than in a column of a compared method."""
    for where, table in _tables(results):
        arguments = {"columns": len(table.methods), "proposed": len(OURS), "sign": -1}
        yield Instance(where, table.cells, "wins_gap", arguments)


@checks("L16", "rank sums", above())
def cart_beats_max_edge(results: Evidence) -> Iterator[Instance]:
    """For LPCT and for LPCT-prune, CART has a smaller rank sum than max-edge."""
    for family in ("lpct", "lpct_prune"):
        for where, table in _tables(results, (f"{family}_cart", f"{family}_max_edge")):
            arguments = {"columns": 2, "proposed": 1, "ties": "average", "sign": -1}
            title = "LPCT" if family == "lpct" else "LPCT-prune"
            yield Instance(f"{title}, {where}", table.cells, "rank_sum_gap", arguments)


@checks("L17", "range over ε", within(0.02), quantifier="some")
def some_are_unaffected(results: Evidence) -> Iterator[Instance]:
    """On some but not all data sets, LPCT's accuracies at the three ε lie within 0.02 of each other."""
    tables = [table for _, table in _tables(results, OURS[:2])]
    for method, title in zip(OURS[:2], ("max-edge", "CART"), strict=True):
        for dataset in tables[0].datasets:
            if all(dataset in table.datasets for table in tables):
                cells = join([table.cell(dataset, method) for table in tables])
                if not np.isnan(cells.samples).any():
                    yield Instance(f"{dataset}, {title}", cells, "spread")


#: Where methods choose their setting by privatized reports of some users, and those that have one to choose.
SELECTED = "comparison/classification"
TUNED = {"lpct_max_edge": "LPCT (max-edge)", "lpct_cart": "LPCT (CART)", "lpdt": "LPDT", "phist": "PHIST"}


def _held_out(results: Evidence, epsilon: float, methods: Sequence[str], selection: str) -> dict[str, CellScores]:
    """Scores of each method at ``epsilon`` on the data sets on which no choice was made, keyed by method.

    ``selection`` is how grid points were chosen.
    """
    held = experiment(SELECTED).settings["data_sets"]["held_out"]
    table = results.table(SELECTED, epsilon, "", methods, selection)
    datasets = [d for d in table.datasets if bare_name(d) in held]
    return {m: join([table.cell(d, m) for d in datasets]) for m in methods}


def _selected(method: str) -> str:
    return f"private_selection_classifier[estimator={method}]"


@checks("L20", "drop", above())
def tuned_methods_drop(results: Evidence) -> Iterator[Instance]:
    """On held-out data sets at ε = 0.5, 1 and 2, a method is less accurate at the setting that private reports choose
    than at the method's best setting.
    """  # noqa: D205 (the rule as pages print it)
    for epsilon in (0.5, 1.0, 2.0):
        best = _held_out(results, epsilon, tuple(TUNED), "oracle")
        private = _held_out(results, epsilon, tuple(map(_selected, TUNED)), "private")
        for method, title in TUNED.items():
            yield difference(f"{title}, ε = {epsilon:g}", best[method], private[_selected(method)])


@checks("L20", "rank sums", above(), quantifier="every")
def pruned_is_first_where_settings_are_private(results: Evidence) -> Iterator[Instance]:
    """On held-out data sets at ε = 0.5, 1 and 2, LPCT-prune has a smaller rank sum than every method whose setting
    private reports choose.
    """  # noqa: D205 (the rule as pages print it)
    methods = ("lpct_prune_max_edge", *map(_selected, TUNED))
    for epsilon in (0.5, 1.0, 2.0):
        columns = _held_out(results, epsilon, methods, "private")
        sets = len(next(iter(columns.values())).keys)
        cells = join([columns[method][[k]] for k in range(sets) for method in methods])
        arguments = {"columns": len(methods), "proposed": 1, "ties": "average", "sign": -1}
        yield Instance(f"ε = {epsilon:g}", cells, "rank_sum_gap", arguments)


def counted_work(dataset: str, method: str) -> float:
    """Work of a fit of Table 3 for each number read, in the microseconds of :data:`WORK`: no machine measures it."""
    method = bare_name(method)
    units = describe(dataset).n_features if method == "psgd_neural" else 0  # the table's ratio of hidden units is 1
    return WORK.get(method, np.nan) + HIDDEN_UNIT * units


@checks("L18", "work", above(), effect=0, rule_changes=SECONDS_FIRST)
def non_interactive_is_faster(results: Evidence) -> Iterator[Instance]:
    """On most data sets, a fit of the faster PSGD costs more seconds (in print) or counted work (in our runs) than a
    fit of the slowest of LPCT and PHIST.
    """  # noqa: D205 (the rule as pages print it)
    slow, quick = ("psgd_linear", "psgd_neural"), (*OURS, "phist")
    table = results.table("lpct/table3", 2.0, "", slow + quick)
    for dataset in table.datasets:
        cells = join([table.cell(dataset, method) for method in table.methods])
        is_measured = ~np.isnan(cells.samples.mean(axis=0))
        if is_measured[: len(slow)].any() and is_measured[len(slow) :].any():
            yield Instance(dataset, cells, "log_gap", {"first": len(slow)})


@checks("L18", "memory", above(), effect=0)
def dense_histogram_exceeds_memory(results: Evidence) -> Iterator[Instance]:
    """A dense histogram of two bins per axis has log10(size / 100 GB) above 0 where the paper prints no PHIST."""
    if results.source == "published":
        raise NotRunError("the paper's dashes are what this check explains")
    printed = printed_cells("lpct/table3")
    absent = printed[(printed["method"] == "phist") & printed["published"].isna()]
    results.summary("lpct/table3")
    for dataset in absent["dataset"]:
        features = describe(dataset).n_features
        size = np.log10(CELL_BYTES / MEMORY) + features * np.log10(2)
        key = ("lpct/table3", "", dataset, "", "phist", 2.0, float(features))
        yield stated(f"{dataset}, d = {features}", key, size, "decimal logarithms")


@checks("L19", "CT-W", above(), quantifier="every")
def non_private_is_an_upper_bound(results: Evidence) -> Iterator[Instance]:
    """CT-W has the highest accuracy on every data set and at every ε."""
    for where, table in _tables(results, ("ct_w", *OURS, *COMPARED)):
        for dataset in table.datasets:
            top = table.cell(dataset, "ct_w")
            for method in table.methods[1:]:
                cell = table.cell(dataset, method)
                if not np.isnan(cell.samples).any() and not np.isnan(top.samples).any():
                    yield difference(f"{dataset}, {method}, {where}", top, cell)


def published_above_bound() -> int:
    """Count the cells of the published table that exceed CT-W on the same data set and epsilon."""
    cells = printed_cells(TABLE)
    top = cells[cells["method"] == "ct_w"].set_index(["dataset", "epsilon"])["published"]
    others = cells[cells["method"] != "ct_w"]
    bound = top.reindex(list(zip(others["dataset"], others["epsilon"], strict=True))).to_numpy()
    return int((others["published"].to_numpy() > bound).sum())
