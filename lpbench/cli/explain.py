"""``lpbench explain``: selected setting, budget spent and replications of one cell of a table."""

from __future__ import annotations

import json
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lpbench.cli import options
from lpbench.cli.cells import Row, compared_lines, named, place_of, replications_of
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog as registry
from lpbench.paths import REPRODUCED, RUNS
from lpbench.selectors import Selector, parse_selector

if TYPE_CHECKING:
    import pandas as pd

#: Cells that are printed; of more, those of the first experiment, and where the others are.
MOST = 6
#: Replications that are printed before the last one.
_VALUES = 8


def _is(selector: str, wanted: str) -> bool:
    """Return True if a selector is the wanted one, or the wanted word is its name without parameters."""
    return wanted in (selector, Selector.parse(selector).name)


#: Options that choose among the cells of a data set, method and budget -> whether a cell has the wanted value.
_NARROWING: dict[str, Callable[[Any, Any], bool]] = {
    "mask": _is,
    "experiment": operator.eq,
    "panel": operator.eq,
    "x": lambda x, wanted: f"{x:g}" == f"{wanted:g}",  # pages print a place on the axis with six digits
}


@click.command()
@click.argument("dataset", type=options.NameOf("dataset"), required=False)
@click.argument("method", type=options.NameOf("method"), required=False)
@click.argument("epsilon", type=click.FloatRange(0, min_open=True), required=False)
@click.option("--why", metavar="NAME", help="Instead: is each result of this experiment or data set current?")
@click.option("--mask", type=options.NameOf("mask"), metavar="MASK", help="Only this mask.")
@click.option("--experiment", type=options.NameOf("experiment"), metavar="NAME", help="Only this table or figure.")
@click.option("--panel", metavar="PANEL", help="Only this panel of a figure.")
@click.option("--x", type=float, metavar="X", help="Only this place on a figure's axis.")
@options.seed("Root seed of the fit that says what is spent.")
@options.results()
@click.pass_context
def command(
    context: click.Context,
    dataset: str,
    method: str,
    epsilon: float,
    why: str,
    seed: int,
    results: Path,
    **narrowing: Any,
) -> int:
    """Print what was run, selected and spent for one cell, with its replications.

    With two methods, as in A,B: print the p-value of method A against method B in each cell that has both.

    With --why: which results of an experiment, or of a data set, are current, and which input changed.
    """
    if why:
        from lpbench.cli.why import lines

        print(*lines(why, results), sep="\n")
        return 0
    for argument in context.command.params:
        if isinstance(argument, click.Argument) and context.params[str(argument.name)] is None:
            raise click.MissingParameter(ctx=context, param=argument)
    from lpbench.cli.printed_results import cost_of
    from lpbench.datasets import load_manifest

    name, methods = Selector.parse(dataset).name, named(method)
    load_manifest(name)
    names = [registry.method(Selector.parse(one).name).name for one in methods]
    if len(methods) == 2:
        compared = compared_lines(
            [_narrowed(_matching_cells(results, dataset, m, epsilon), narrowing) for m in methods]
        )
        if not compared:
            raise ConfigurationError(f"{results} has no scores of {' and '.join(methods)} in one cell")
        print(*compared, sep="\n")
        return 0
    cells = _matching_cells(results, dataset, method, epsilon)
    if not cells:
        raise ConfigurationError(
            f"no stored result for dataset={dataset} method={method} epsilon={epsilon:g} in {results}; "
            f"run it: lpbench dataset={name} method={names[0]} epsilon={epsilon:g}"
        )
    cells = sorted(_narrowed(cells, narrowing), key=_papers_first)
    printed = [row for row in cells if len(cells) <= MOST or row["experiment"] == cells[0]["experiment"]][:MOST]
    for row in printed:
        _print_cell(row)
        if row.get("audit"):
            print(f"  its run: {cost_of(row)}")
        spent = _guarantee(row, seed)
        if row is printed[-1] or not spent.startswith("unknown"):  # why it is unknown is said once
            print(f"  spent: {spent}")
    if more := Counter(row["experiment"] for row in cells if row not in printed):
        places = ", ".join(f"{name} ({count})" for name, count in more.items())
        print(f"{sum(more.values())} more cells: {places}")
        words = f"{dataset} {method} {epsilon:g} --experiment {next(iter(more))}"
        print(f"Next: lpbench explain {words} (with --mask, --panel, --x)")
    return 0


def _papers_first(row: Row) -> int:
    """Sort key of a cell: 0 in a paper's printed table, 1 in another of a paper's experiments, else 2."""
    from lpbench.reporting.paper import paper_of

    paper = paper_of(row["experiment"])
    return 0 if row["experiment"] in paper.tables else 1 if paper.citation else 2


def _print_cell(row: Row) -> None:
    """Print one cell: setting, mean with error, rank or why it has none, the printed number, its replications."""
    print(place_of(row, row["method"]))
    print(f"  selection {row['selection']}: {row['params']}")
    numbers = f"  {row['metric']} mean {row['mean']:.6g}, se {row['se']:.3g}, n {row['n']:g}"
    numbers += "" if math.isnan(row["ratio"]) else f", ratio {row['ratio']:.4g}"
    numbers += _beside(row)
    if math.isnan(row["rank"]):
        print(f"{numbers}; no rank: {_why_no_rank(row)}")
    else:
        print(f"{numbers}, rank {row['rank']:g}")
    for line in _beside_print(row) if row["selection"] == "oracle" else ():
        print(f"  {line}")
    scores = replications_of(row)
    if scores is None:
        print(f"  replications are not at hand; to make them: lpbench experiment={row['experiment']}")
    else:
        values = scores.tolist()
        more = f" ... {values[-1]:.6g}" if len(values) > _VALUES else ""
        print(f"  replications {' '.join(f'{v:.6g}' for v in values[:_VALUES])}{more}")


def _beside_print(row: Row) -> list[str]:
    """Lines on the printed number of a cell, its class under each configuration, and the cause of a difference.

    Empty where nothing is printed.
    """
    from lpbench.experiments.results import Artifact
    from lpbench.reporting.number_table import cell_name, numbers_about

    artifact = Artifact(row["folder"], row["experiment"])
    report = artifact.results if REPRODUCED in artifact.results.parts else artifact.results / REPRODUCED
    numbers = numbers_about(artifact, report)
    lines = []
    for number in numbers[numbers["cell"] == cell_name(row)].to_dict("records"):
        why = ": ".join(filter(None, [number["cause"], number["reason"]]))
        apart = f"ours {number['ours']:.6g}, {number['class'] or 'not judged'} under {number['configuration']}"
        lines.append(f"printed {number['published']:.6g}; {apart}" + (f"; {why}" if why else ""))
    return lines


def _beside(row: Row) -> str:
    """Text with a cell's loss over the best private constant's and the best non-private one's, from the standings.

    It is empty where the cell has no standing.
    """
    from lpbench.reporting.standings import read_standings

    table = read_standings(row["folder"].parents[row["experiment"].count("/")])
    keys = ["experiment", "panel", "mask", "dataset", "method", "epsilon"]
    same = (table[keys] == [row[key] for key in keys]).all(axis=1) & (table["setting"] == row["params"])
    ratios = []
    for standing in table[same].to_dict("records")[:1]:
        for name, words in (("constant", "the best private constant's"), ("free", "the best without privacy's")):
            ratio, error = standing[f"over_{name}"], standing[f"over_{name}_se"]
            ratios += [f"loss {ratio:.4g} +- {error:.2g} times {words}"] if ratio == ratio else []
    return "".join(f", {words}" for words in ratios)


def _why_no_rank(row: Row) -> str:
    """Return the reason why a cell has no rank: a method that never competes, or another variant stands for it."""
    from lpbench.analysis.summary import KEPT
    from lpbench.members import is_ranked

    if row.get("audit", "") not in KEPT:
        return str(row["audit"])
    if not is_ranked(row["method"]):
        return "it competes with no method, as a reference"
    name = Selector.parse(row["method"]).name
    return f"another variant competes, shown by lpbench explain {row['dataset']} {name} {row['epsilon']:g}"


def _matching_cells(results: Path, dataset: str, method: str, epsilon: float) -> list[Row]:
    """Rows of summaries for one data set, method and budget: of the runs, else of the committed results.

    Each has its ``folder`` in addition.
    """
    runs: list[Row] = []
    committed: list[Row] = []
    for folder, table in _summaries(results, dataset, Selector.parse(method).name):
        table = table[(table["epsilon"] == epsilon) & table["mean"].notna()]
        hit = table[
            [_is(d, dataset) and _is(m, method) for d, m in zip(table["dataset"], table["method"], strict=True)]
        ]
        cells = committed if REPRODUCED in folder.relative_to(results).parts else runs
        cells += [{**row, "folder": folder} for row in hit.to_dict("records")]
    return runs or committed


def _summaries(results: Path, dataset: str, method: str) -> Iterator[tuple[Path, pd.DataFrame]]:
    """Yield (folder, summary) of all summaries that may hold a cell; MLflow's copies and nested results are skipped."""
    from lpbench.analysis import read_csv
    from lpbench.experiments.results import Results

    for path in sorted(results.rglob("summary.csv")):
        between = [folder for folder in path.parents if results in folder.parents]
        if not any(folder.name in ("mlartifacts", RUNS) or (folder / "store").is_dir() for folder in between):
            yield path.parent, read_csv(path)
    for folder in (results, results / REPRODUCED):  # of some the scores alone are committed
        for a in Results(folder).finished():
            # to summarize all that is committed takes seconds
            held = (g for g in a.record["config"]["experiment"]["groups"] if any(_is(d, dataset) for d in g["dataset"]))
            same = any(Selector.parse(m).name == method for g in held for m in g["method"])
            if same and not a.summary_file.is_file() and a.summary is not None:
                yield a.folder, a.summary


def _narrowed(cells: list[Row], narrowing: dict[str, Any]) -> list[Row]:
    """Keep the cells of one mask, experiment, panel and position on the axis, as far as these are given.

    ``narrowing`` has a value or None for each option. ConfigurationError if no cell is left.
    """
    for option, same in _NARROWING.items():
        wanted = narrowing[option]
        if wanted is None:
            continue
        matches = [row for row in cells if same(row[option], wanted)]
        if not matches:
            values = dict.fromkeys(f"{row[option]:g}" if option == "x" else row[option] for row in cells)
            stored = ", ".join(repr(v) for v in values)
            raise ConfigurationError(f"--{option} {wanted}: the stored results have {stored}")
        cells = matches
    return cells


def _guarantee(row: Row, seed: int) -> str:
    """Fit replication 0 at the selected setting of a cell and return as text what users spent.

    It says "unknown" and why where the data are not at hand.
    """
    from lpbench.datasets import describe, make_problem
    from lpbench.experiments.compute import method_streams
    from lpbench.experiments.single_method import fit

    spec = registry.method(row["method"])
    is_registered = row["experiment"] in registry.experiment_names()
    drawn = (
        registry.experiment(row["experiment"]).data_set(row["dataset"])
        if is_registered
        else Selector.parse(row["dataset"])
    )
    dataset, params = drawn.name, dict(drawn.params)
    mask, mask_params = parse_selector(row["mask"])
    description = describe(dataset, params)
    if not description.available:
        return f"unknown, for data set {dataset} is not at hand: {description.how_to_get}"
    cls = spec.estimator_class
    try:
        problem = make_problem(dataset, params, mask, mask_params, 0, seed)
    except ConfigurationError as error:
        return f"unknown: {error}"
    model = spec.build().for_problem(problem).set_params(**json.loads(row["params"]))
    model.set_params(random_state=method_streams(seed, dataset, mask if cls.uses_mask else None, 0))
    if cls.uses_epsilon:
        model.set_params(epsilon=row["epsilon"])
    fit(model, problem)
    spent = model.guarantee_
    text = f"{spent.model}, epsilon {spent.epsilon:.6g}, delta {spent.delta:.3g}, {spent.rounds} round(s)"
    if rows := problem.context.get("rows_per_unit"):
        text += f" of one {problem.context['unit']}, who has up to {rows} rows with {row['epsilon']:g} each"
    return text + (f"; {spent.note}" if spent.note else "")
