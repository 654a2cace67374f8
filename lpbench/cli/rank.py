"""``lpbench rank``: the rank of one method among all; blocks of other methods are not run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lpbench.cli import options
from lpbench.errors import ConfigurationError
from lpbench.experiments.config import Runner
from lpbench.paths import COMMITTED

if TYPE_CHECKING:
    import pandas as pd

    from lpbench.analysis import Summary
    from lpbench.experiments.experiment import Experiment
    from lpbench.experiments.method import Method

#: Experiments that a method of each task is ranked in; the last one where it reads a public sample.
EXPERIMENTS = {"regression": "field/regression", "classification": "field/classification"}
WITH_PUBLIC = {"regression": ("field/public_sample",), "classification": ()}
#: The budget of a quick run.
QUICK = 1.0
#: Columns of a CSV of predictions; ``row`` counts the test rows of a split from 0.
PREDICTIONS = ("dataset", "mask", "epsilon", "replication", "row", "prediction")


@click.command(epilog="Next: lpbench export rank/METHOD/regression --selection fair; lpbench submit METHOD")
@click.argument("method", type=options.NameOf("method"))
@click.option("--experiment", "experiments", multiple=True, type=options.NameOf("experiment"), metavar="NAME",
              help="Ranked in; repeat for more.  [default: the comparison of its task]")  # fmt: skip
@options.choice("--selection", ("fair", "oracle"), "fair")
@click.option("--epsilon", "budgets", multiple=True, type=float, metavar="E", help="Budget; repeat for more.  [all]")
@click.option("--quick", is_flag=True, help=f"The budget {QUICK:g} alone.")
@options.count("--workers", "Processes.  [default: one per core]")
@options.results()
def command(
    method: str, experiments: Sequence[str], selection: str, budgets: Sequence[float], quick: bool,
    workers: int | None, results: Path,
) -> int:  # fmt: skip
    """Rank a method among all compared methods.

    METHOD is a name, module:Class, or a CSV of predictions. It runs alone, on the splits and seeds of the others,
    whose scores are the committed ones; oracle: its best grid point on the test rows.
    """
    if quick and budgets:
        raise ConfigurationError("--quick is one budget: leave --epsilon out, or --quick")
    budgets = (QUICK,) if quick else budgets
    from lpbench.experiments import catalogue
    from lpbench.experiments.method import Method
    from lpbench.experiments.results import Results
    from lpbench.experiments.single_method import method_named

    predicted = Path(method).suffix == ".csv"
    if predicted:
        if not experiments:
            raise ConfigurationError(f"{method}: say which experiment it predicts: --experiment field/regression")
        found = Method(re.sub(r"\W+", "_", Path(method).stem), Path(method).stem, "", "", tuning_free={})
    else:
        found = method_named(method)
        public = found.estimator_class.uses_public
        experiments = experiments or (EXPERIMENTS[found.task], *(WITH_PUBLIC[found.task] if public else ()))
    for name in experiments:
        experiment = catalogue.experiment(name)
        others = Results(COMMITTED).artefact(name)
        if others.summary is None:
            raise ConfigurationError(f"experiment {name} has no committed summary to be ranked in")
        if predicted:
            mine = _predicted(Path(method), found, experiment)
        elif found.name in set(others.summary["method"]):
            mine = _committed(found.name, others.summary, budgets)
        else:
            mine = _run(found, experiment, budgets, selection == "fair", Runner(workers=workers), results)
        _write(found, experiment, mine, selection, results)
    return 0


def _folder(method: Method, experiment: Experiment) -> str:
    name = re.sub(r"[^\w.=-]+", "_", method.name).strip("_")
    return f"rank/{name}/{experiment.name.rpartition('/')[2]}"


def _run(
    method: Method, experiment: Experiment, budgets: Sequence[float], fair: bool, runner: Runner, results: Path
) -> Summary:
    """Run the method's own blocks and summarise them."""
    from lpbench.experiments.assemble import assemble
    from lpbench.experiments.run import run_blocks
    from lpbench.experiments.single_method import alone
    from lpbench.experiments.store import Store
    from lpbench.pipeline import describe_left_out, describe_missing
    from lpbench.reporting.artefact import summarise_experiment

    job, store = alone(method, experiment, _folder(method, experiment), budgets, fair=fair), Store(results / "store")
    for text in filter(None, (describe_missing(job.plan.missing), describe_left_out(job.plan.left_out))):
        print(text, flush=True)
    run = run_blocks(job.plan.blocks, store, runner)
    scores = assemble(job.plan.entries, store)
    if run.failed or not scores["value"].notna().any():
        raise ConfigurationError("; ".join(o.line() for o in run.failed) or "nothing can be run without these data")
    return summarise_experiment(job.experiment, scores, job.methods)


def _committed(method: str, table: pd.DataFrame, budgets: Sequence[float]) -> Summary:
    """The committed rows of a method that is there already."""
    import pandas as pd

    from lpbench.analysis import SUMMARY_COLUMNS, Summary
    from lpbench.analysis.scores import CELL

    rows = table[(table["method"] == method) & (table["panel"].fillna("") == "")]
    rows = rows[rows["epsilon"].isin(budgets)] if budgets else rows
    # without a row, but with the types of the table's columns
    chosen = rows.iloc[:0].reindex(columns=[*CELL, "metric", "selection", "params", "replication", "value"])
    none = rows.iloc[:0].reindex(columns=[*CELL, "selection", "reason"])
    return Summary(rows[SUMMARY_COLUMNS].reset_index(drop=True), chosen, none, pd.Series(False, index=range(len(rows))))


def _predicted(path: Path, method: Method, experiment: Experiment) -> Summary:
    """Score a CSV of predictions on the experiment's splits."""
    import pandas as pd

    from lpbench.analysis.selection import Setting
    from lpbench.analysis.summary import summarise
    from lpbench.datasets import Draws
    from lpbench.datasets.readers import read_table
    from lpbench.experiments.config import ROOT_SEED

    table = read_table(path, ("replication", "epsilon", "row", "prediction"))
    if missing := [c for c in PREDICTIONS if c not in table]:
        raise ConfigurationError(f"{path}: column {missing[0]!r} is missing; it needs {', '.join(PREDICTIONS)}")
    groups = [group for group in experiment.groups if not group.panel]
    known = {(d, m) for group in groups for d in group.dataset for m in group.mask}
    _check_predictions(path, table, experiment, {float(e) for group in groups for e in group.epsilon}, len(known))
    rows: list[dict[str, Any]] = []
    for (dataset, mask), part in table.groupby(["dataset", "mask"]):
        if (dataset, mask) not in known:
            raise ConfigurationError(f"{path}: {experiment.name} has no data set {dataset} under mask {mask}")
        parsed = experiment.data_set(str(dataset))
        draws = Draws(parsed.name, dict(parsed.params), None, {}, ROOT_SEED)
        for replication, split in part.groupby("replication"):
            problem = draws.problem(int(replication))
            for epsilon, one in split.groupby("epsilon"):
                one = one.sort_values("row")
                if one["row"].tolist() != list(range(len(problem.y_test))):
                    raise ConfigurationError(
                        f"{path}: {dataset}, replication {replication}, epsilon {epsilon:g} needs rows 0 to "
                        f"{len(problem.y_test) - 1}, each once"
                    )
                value = float(problem.score(one["prediction"].to_numpy()))
                rows.append({"dataset": dataset, "mask": mask, "epsilon": float(epsilon), "value": value,
                             "replication": int(replication), "metric": problem.metric})  # fmt: skip
    same = {"experiment": experiment.name, "panel": "", "method": method.name, "x": math.nan, "params": "{}",
            "status": "ok", "reason": "", "seconds": math.nan}  # fmt: skip
    scores = pd.DataFrame(rows).assign(**same)
    return summarise(scores, {("", mask, method.name): Setting("{}") for _, mask in known})


def _check_predictions(path: Path, table: pd.DataFrame, experiment: Experiment, budgets: set[float], n: int) -> None:
    """Refuse predictions of a budget or split that the experiment has not, or that are no numbers; say what lacks."""
    import pandas as pd

    whole: dict[str, set[float]] = {"epsilon": budgets, "replication": set(range(experiment.replications))}
    for column, of_all in whole.items():
        for value in pd.to_numeric(table[column], errors="coerce").unique():
            if value not in of_all:
                among = f"{min(of_all):g} to {max(of_all):g}" if column == "replication" else sorted(of_all)
                raise ConfigurationError(f"{path}: {column}={value:g}: {experiment.name} has {among}")
    numbers = pd.to_numeric(table["prediction"], errors="coerce")
    if (bad := ~numbers.abs().lt(math.inf)).any():
        row = int(bad.to_numpy().argmax())
        raise ConfigurationError(f"{path}: line {row + 2}: prediction {table['prediction'][row]!r} is no finite number")
    have = {"pairs of data set and mask": (table.groupby(["dataset", "mask"]).ngroups, n)}
    have |= {f"{c}s": (table[c].nunique(), len(of_all)) for c, of_all in whole.items()}
    lacking = [f"{some} of {of_all} {what}" for what, (some, of_all) in have.items() if some < of_all]
    if lacking:
        print(f"{path} predicts {', '.join(lacking)}; the other methods are ranked by all of theirs")


def _write(method: Method, experiment: Experiment, mine: Summary, selection: str, results: Path) -> None:
    """Rank, write page and artefact, and print."""
    import pandas as pd

    from lpbench.analysis.scores import LARGER_IS_BETTER
    from lpbench.audit.table import bits_of
    from lpbench.experiments.plan import by_name, registered_methods
    from lpbench.experiments.results import RECORD, Results, keep_summary
    from lpbench.experiments.single_method import at_one_setting, seconds_of_a_fit
    from lpbench.experiments.timing import fit_seconds
    from lpbench.papers.comparison.standing import joined, standing, where_it_wins

    others = Results(COMMITTED).artefact(experiment.name)
    table = others.summary
    assert table is not None
    compared = replace(experiment, groups=tuple(group for group in experiment.groups if not group.panel))
    cards = {method.name: method} | by_name(registered_methods(compared.methods))
    own = set(mine.table["selection"])
    if not own & ({"tuning_free", "private"} if selection == "fair" else {"oracle"}):
        raise ConfigurationError(f"{method.name} has no {selection} score, only {', '.join(sorted(own))}: --selection")
    costs = fit_seconds()
    ranking = pd.read_csv(others.folder / "field.csv")
    bits = {(r.method, r.epsilon): r.bits for r in ranking.itertuples()}
    if method.estimator and method.name not in set(table["method"]):
        costs[method.name] = seconds_of_a_fit(method, compared)
        model = at_one_setting(replace(method, tuning_free=method.tuning_free or {})).build()
        bits |= {(method.name, e): bits_of(model, e) for e in sorted(set(mine.table["epsilon"]))}
    ranks = standing(table, mine.table, selection, cards, costs, bits)
    if method.name in set(table["method"]):  # its ranks are there already, by more digits than the summary keeps
        there = ranking[(ranking["kind"] == "all") & (ranking["selection"] == selection)]
        known = there.set_index(["mask", "epsilon", "method"])["rank_sum"]
        ranks["rank_sum"] = known[list(zip(ranks["mask"], ranks["epsilon"], ranks["method"], strict=True))].to_numpy()
        ranks["rank"] = ranks["rank_sum"] / ranks["datasets"].max()
    places = where_it_wins(table, mine.table, selection)
    name = _folder(method, experiment)
    groups = (*compared.groups, replace(compared.groups[0], method=(method.name,)))
    shown = replace(compared, name=name, paper="rank", groups=groups, title=f"{method.title} in {experiment.name}")
    folder = results / name
    folder.mkdir(parents=True, exist_ok=True)
    summary = joined(table, others.chosen, mine, selection, name)
    keep_summary(summary, folder)
    ranks.to_csv(folder / "rank.csv", index=False, lineterminator="\n")
    record = {
        "name": name,
        "config": {"experiment": asdict(shown)},
        "files": {},
        "methods": {method.name: asdict(method)},
    }
    (folder / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    page = write_rank(shown, summary, method, ranks, places, selection, cards, folder)
    _print(method, experiment, ranks, selection, LARGER_IS_BETTER[str(mine.table["metric"].iloc[0])])
    print(f"page: {page}\nexport: lpbench export {name} --selection {selection}")


def _print(method: Method, experiment: Experiment, ranks: pd.DataFrame, selection: str, larger: bool) -> None:
    """A line for each mask and budget."""
    own = ranks[ranks["own"]]
    what = (
        "one setting or private selection"
        if selection == "fair"
        else "oracle selection: best grid points on the test rows"
    )
    print(f"{method.title} in {experiment.name}, {int(own['datasets'].min())} data sets, {what}")
    if method.privacy == "label_ldp":
        print("it protects the label alone; most others here protect features, too, and are at a disadvantage")
    beside = "points above" if larger else "error over"
    print(f"epsilon  rank [95 %] of n         won:lost  {beside} constant, best non-private  bits  s a fit  first")
    for row in own.itertuples():
        here = ranks[(ranks["mask"] == row.mask) & (ranks["epsilon"] == row.epsilon)]
        others = here[~here["own"]]
        place = f"{row.rank:.1f} [{row.low:.1f}, {row.high:.1f}] of {row.of}"
        against = f"{row.constant:.3g}, {row.non_private:.3g}"
        print(
            f"{row.epsilon:<8g} {place:<25}{others['wins'].sum()}:{others['losses'].sum():<8}"
            f"{against:<38}{row.bits:<5g} {row.seconds:<8.2g} {here['title'].iloc[0]}"
        )


def write_rank(
    experiment: Experiment, summary: Summary, method: Method, ranks: pd.DataFrame, places: pd.DataFrame,
    selection: str, cards: Mapping[str, Method], folder: Path,
) -> Path:  # fmt: skip
    """Write ``index.html`` and the diagram of critical differences, of all methods under one selection."""
    from lpbench.analysis.scores import LARGER_IS_BETTER
    from lpbench.files import write_text
    from lpbench.reporting.figures.comparisons import parts
    from lpbench.reporting.figures.ranks import draw_ranks
    from lpbench.reporting.printed_names import CHOSEN, dataset_title, mask_name, method_title
    from lpbench.reporting.render import render

    drawn = draw_ranks(parts(experiment, summary, cards, selection), folder, "ranks", selection)
    boards = [
        {"mask": mask_name(mask), "epsilon": epsilon, "rows": rows.to_dict("records")}
        for (mask, epsilon), rows in ranks.groupby(["mask", "epsilon"], sort=True)
    ]
    wide = [
        {"dataset": dataset_title(dataset), "mask": mask_name(mask),
         "cells": {r.epsilon: (r.rank, r.of, r.ratio, method_title(r.best, cards)) for r in rows.itertuples()}}
        for (mask, dataset), rows in places.groupby(["mask", "dataset"], sort=True)
    ]  # fmt: skip
    text = render(
        "rank.html.j2", title=experiment.title, here="index.html", pages=[("index.html", "Where it stands")],
        stored=False, method=method, boards=boards, wide=wide, budgets=sorted(set(places["epsilon"])),
        larger=LARGER_IS_BETTER[str(summary.table["metric"].iloc[0])], chosen=CHOSEN[selection],
        selection=selection, pictures=[path.name for path in drawn],
    )  # fmt: skip
    write_text(text, folder / "index.html")
    return folder / "index.html"
