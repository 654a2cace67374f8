"""Rank of one method on the committed scores of the others: scores, table, page, and what is printed."""

import json
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.analysis import Summary, selected_of, summary_of
from lpbench.analysis.gains import HELD, ROLES, UNKNOWN, numbers
from lpbench.analysis.selection import Setting
from lpbench.analysis.standings import NONE, Run, geometric_mean, over_sets, view
from lpbench.analysis.summary import CELL_KEYS, summarize
from lpbench.audit.inputs import inputs_of_model
from lpbench.audit.recorded import randomizer_of
from lpbench.cli.printed_results import cost_of, print_cell, print_tables
from lpbench.datasets import Draws
from lpbench.datasets.readers import read_table
from lpbench.disk import write_text
from lpbench.errors import ConfigurationError
from lpbench.experiments.config import ROOT_SEED, Runner
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.experiments.plan import by_name, registered_methods
from lpbench.experiments.results import RECORD, Artifact, Results
from lpbench.experiments.single_method import alone, at_one_setting, seconds_of_a_fit
from lpbench.experiments.summaries import keep_summary
from lpbench.paths import COMMITTED
from lpbench.pipeline import print_gaps, summarized
from lpbench.reporting.figures.budgets import slug
from lpbench.reporting.figures.comparisons import parts
from lpbench.reporting.figures.four_lines import draw_four_lines
from lpbench.reporting.figures.ranks import draw_ranks
from lpbench.reporting.pages.leaderboard import few
from lpbench.reporting.paper import Output, paper_of
from lpbench.reporting.printed_names import CHOSEN, dataset_title, mask_name, method_title
from lpbench.reporting.render import write_page
from lpbench.reporting.standings import run_of, standings_of_runs

#: Experiments of learners without privacy.
FREE = ("comparison/free_regression", "comparison/free_classification")
#: Columns of a CSV of predictions; ``row`` counts the test rows of a split from 0.
PREDICTIONS = ("dataset", "mask", "epsilon", "replication", "row", "prediction")


def _folder(method: Method, experiment: Experiment) -> str:
    name = re.sub(r"[^\w.=-]+", "_", method.name).strip("_")
    return f"rank/{name}/{experiment.name.rpartition('/')[2]}"


def run_alone(
    method: Method,
    experiment: Experiment,
    budgets: Sequence[float],
    fair: bool,
    runner: Runner,
    results: Path,
    audit: bool,
) -> Summary:
    """Run one method's blocks of an experiment, audit it unless told not to, and return the summary."""
    job = alone(method, experiment, _folder(method, experiment), budgets, fair=fair)
    print_gaps(job.plan)
    return summarized(job, results, runner, audit)


def print_barred(method: Method, experiment: Experiment, summary: Summary, results: Path) -> None:
    """Print the scores of a method that may not be ranked, and delete the page of its former rank."""
    shutil.rmtree(results / _folder(method, experiment), ignore_errors=True)
    print(f"{method.title} in {experiment.name}: no rank")
    scored = summary.table[summary.table["mean"].notna()]
    if len(scored):
        print_cell(scored, scored["selection"].iloc[0], False)


def print_stress(method: Method, tested: Summary, others: Artifact, output: Output) -> None:
    """Print the table and finding of a stress test for one method, beside learners without privacy."""
    cards = by_name(registered_methods(others.experiment.methods)) | {method.name: method}
    runs = [Run(others.name, tested.chosen.assign(experiment=others.name), {method.name: method.privacy}, {})]
    if others.is_finished:
        run = run_of(others, cards)
        runs.append(replace(run, chosen=run.chosen[run.chosen["method"] != method.name]))
    rows = standings_of_runs(runs, {})
    assert output.read is not None
    tables = output.read(COMMITTED, rows[(rows["method"] == method.name) | (rows["privacy"] == NONE)], cards)
    finding = tables[0].finding if tables else "nothing can be compared"  # empty on too few data sets
    print(": ".join(filter(None, (f"{method.title} in {others.name}", finding))))
    print_tables(tables)


def predicted(path: Path, method: Method, experiment: Experiment) -> Summary:
    """Score a CSV of predictions on the experiment's splits."""
    table = read_table(path, ("replication", "epsilon", "row", "prediction"))
    if missing := [c for c in PREDICTIONS if c not in table]:
        raise ConfigurationError(f"{path}: column {missing[0]!r} is missing; it needs {', '.join(PREDICTIONS)}")
    if table.empty:
        raise ConfigurationError(f"{path} has a head and no row: there is no prediction to rank")
    groups = [group for group in experiment.groups if not group.panel]
    cells = {(d, m) for group in groups for d in group.dataset for m in group.mask}
    _check_predictions(path, table, experiment, {float(e) for group in groups for e in group.epsilon}, len(cells))
    rows = []
    for (dataset, mask), predictions in table.groupby(["dataset", "mask"]):
        if (dataset, mask) not in cells:
            raise ConfigurationError(f"{path}: {experiment.name} has no data set {dataset} under mask {mask}")
        parsed = experiment.data_set(str(dataset))
        draws = Draws(parsed.name, dict(parsed.params), None, {}, ROOT_SEED)
        for replication, split in predictions.groupby("replication"):
            problem = draws.problem(int(replication))
            for epsilon, one in split.groupby("epsilon"):
                one = one.sort_values("row")
                if one["row"].tolist() != list(range(len(problem.y_test))):
                    raise ConfigurationError(
                        f"{path}: {dataset}, replication {replication}, epsilon {epsilon:g} needs rows 0 to "
                        f"{len(problem.y_test) - 1}, each once"
                    )
                value = float(problem.score(one["prediction"].to_numpy()))
                rows.append((dataset, mask, epsilon, value, replication, problem.metric))
    scores = pd.DataFrame(rows, columns=["dataset", "mask", "epsilon", "value", "replication", "metric"])
    same = {"experiment": experiment.name, "method": method.name, "panel": "", "params": "{}", "reason": ""}
    scores = scores.assign(**same, status="ok", x=math.nan, seconds=math.nan)
    return summarize(scores, {("", mask, method.name): Setting("{}") for _, mask in cells})


def _check_predictions(path: Path, table: pd.DataFrame, experiment: Experiment, budgets: set[float], n: int) -> None:
    """Refuse predictions of a budget or split that the experiment lacks, or that are no numbers; print what is missing.

    ``table`` is read from ``path``; ``n`` is the number of pairs of data set and mask.
    """
    expected: dict[str, set[float]] = {"epsilon": budgets, "replication": set(range(experiment.replications))}
    for column, of_all in expected.items():
        for value in pd.to_numeric(table[column], errors="coerce").unique():
            if value not in of_all:
                among = f"{min(of_all):g} to {max(of_all):g}" if column == "replication" else sorted(of_all)
                raise ConfigurationError(f"{path}: {column}={value:g}: {experiment.name} has {among}")
    numbers = pd.to_numeric(table["prediction"], errors="coerce")
    if (bad := ~numbers.abs().lt(math.inf)).any():
        row = int(bad.to_numpy().argmax())
        raise ConfigurationError(f"{path}: line {row + 2}: prediction {table['prediction'][row]!r} is no finite number")
    have = {"pairs of data set and mask": (table.groupby(["dataset", "mask"]).ngroups, n)}
    have |= {f"{c}s": (table[c].nunique(), len(of_all)) for c, of_all in expected.items()}
    lacking = [f"{count} of {of_all} {what}" for what, (count, of_all) in have.items() if count < of_all]
    if lacking:
        print(f"{path} predicts {', '.join(lacking)}; the other methods are ranked by all of theirs")


def rank(
    method: Method,
    experiment: Experiment,
    others: Artifact,
    scored: Summary | None,
    budgets: Sequence[float],
    selection: str,
    results: Path,
) -> None:
    """Rank a method among all compared ones; write its page and artifact, and print the result.

    ``others`` is the artifact of the experiment. Without scores of its own (None) the method is taken from there.
    """
    compared = replace(experiment, groups=tuple(group for group in experiment.groups if not group.panel))
    cards = {method.name: method} | by_name(registered_methods(compared.methods))
    run = run_of(others, cards)
    if scored is not None:
        own_costs = scored.table.drop_duplicates(CELL_KEYS)
        run = replace(run, costs=own_costs if run.costs is None else pd.concat([run.costs, own_costs]))
    own_scores = run.chosen if scored is None else scored.chosen.assign(experiment=experiment.name)
    own_scores = own_scores[(own_scores["method"] == method.name) & (own_scores["panel"] == "")]
    own_scores = own_scores[own_scores["epsilon"].isin(budgets)] if budgets else own_scores
    run_at = {*own_scores["epsilon"]}
    field_scores = run.chosen[run.chosen["method"] != method.name]
    chosen = pd.concat(
        [field_scores[field_scores["epsilon"].isin(run_at) | (field_scores["panel"] != "")], own_scores],
        ignore_index=True,
    )
    # what was run without privacy in other experiments is the reference everywhere
    free = [run_of(a, cards) for name in FREE if (a := Results(COMMITTED).artifact(name)).is_finished]
    model = at_one_setting(replace(method, tuning_free=method.tuning_free or {})).build() if method.estimator else None
    reads = {} if scored is None else {method.name: partial(inputs_of_model, model) if model else lambda mask: UNKNOWN}
    table = standings_of_runs([replace(run, chosen=chosen), *free], reads, experiment.name)
    is_method = (table["method"] == method.name) & (table["panel"] == "")
    if model is not None and scored is not None:
        bits = {e: randomizer_of(model, e).bits_up for e in run_at}
        table.loc[is_method, "bits"] = table.loc[is_method, "epsilon"].map(bits)
        table.loc[is_method, "seconds"] = seconds_of_a_fit(method, compared)
    rows = view(table[(table["panel"] == "") & (table["privacy"] != NONE)], selection)
    if method.name not in set(rows["method"]):
        selections = ", ".join(sorted(set(own_scores["selection"])))
        raise ConfigurationError(f"{method.name} has no {selection} score, only {selections}: --selection")
    inputs = rows.loc[rows["method"] == method.name, ["mask", "inputs"]].drop_duplicates()
    if UNKNOWN in set(inputs["inputs"]):
        return _print_unknown(method, experiment, rows[rows["method"] == method.name])
    rows = rows.merge(inputs, on=["mask", "inputs"])  # like with like
    rows = on_shared_sets(rows, method.name)
    held = rows["role"] == HELD
    judged = held | ~held.any()
    ranks = []
    for (mask, epsilon), competing in rows.groupby(["mask", "epsilon"]):
        competing = competing[competing["dataset"].isin(competing["dataset"][competing["method"] == method.name])]
        counted, aside = competing[judged[competing.index]], competing[~judged[competing.index]]
        if len(counted):
            ranking = over_sets(counted, method.name)
            cost = competing.drop_duplicates("method").set_index("method")[["inputs", "bits", "seconds"]]
            ranking = ranking.join(cost, on="method").assign(mask=mask, epsilon=epsilon, of=len(ranking))
            of_each = [competing[competing["method"] == m] for m in ranking["method"]]
            for role in ROLES[:2]:
                added = pd.DataFrame([numbers(one, role) for one in of_each]).add_prefix(f"{role.replace(' ', '_')}_")
                ranking = ranking.join(added)
            beside = over_sets(aside).set_index("method")["rank"] if len(aside) else {}
            ranking = ranking.assign(own=ranking["method"] == method.name, aside=ranking["method"].map(beside))
            sets = counted["dataset"]
            words = f"{sets.nunique()} {'held-out ' * bool(held.any())}data sets{few(sets, ' (', ')')}"
            ranks.append(ranking.assign(sets=words))
    board = pd.concat(ranks, ignore_index=True)
    board.insert(0, "title", [method_title(m, cards) for m in board["method"]])
    name = _folder(method, experiment)
    groups = (*compared.groups, replace(compared.groups[0], method=(method.name,)))
    settings = {**compared.settings, "compared": method.name, "data_sets": {}}
    narrowed = replace(
        compared,
        name=name,
        paper="rank",
        groups=groups,
        settings=settings,
        title=f"{method.title} in {experiment.name}",
    )
    folder = results / name
    folder.mkdir(parents=True, exist_ok=True)
    keys = ["dataset", "mask", "method", "epsilon", "params"]
    joined = chosen[chosen["panel"] == ""].merge(rows[judged].rename(columns={"setting": "params"})[keys], on=keys)
    joined = joined.drop_duplicates([*keys, "replication"]).assign(experiment=name, selections=selection, reason="")
    summary = summary_of(selected_of(joined), costs=run.costs)
    keep_summary(summary, folder)
    write_text(board.to_csv(index=False, lineterminator="\n"), folder / "rank.csv")
    record = {
        "name": name,
        "config": {"experiment": asdict(narrowed)},
        "files": {},
        "methods": {method.name: asdict(method)},
    }
    write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", folder / RECORD)
    page = write_rank(narrowed, summary, method, board, rows, selection, cards, folder, table)
    _print(method, experiment, board, selection)
    costs = map(cost_of, rows[rows["method"] == method.name].to_dict("records"))
    for cost in dict.fromkeys(costs) if method.estimator else ["may have spent anything, not audited"]:
        print(f"a user {cost}")
    print(f"page: {page}\nexport: lpbench export {name} --selection {selection}")


def on_shared_sets(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the rows on data sets that both the method and another one ran on; its own rows if there is none."""
    of_method, others = (set(rows["dataset"][same]) for same in (rows["method"] == method, rows["method"] != method))
    return rows[rows["dataset"].isin(of_method & others or of_method)]


def _print_unknown(method: Method, experiment: Experiment, rows: pd.DataFrame) -> None:
    """Print the losses of a method whose inputs (label, features, public rows) are unknown, without a comparison."""
    print(f"{method.title} in {experiment.name}: no rank, unknown inputs: data can enter beside users.public")
    for (mask, epsilon), group in rows.groupby(["mask", "epsilon"]):
        ratios = [f"{geometric_mean(group[f'over_{name}']).estimate:.3g}" for name in ("constant", "free")]
        print(f"{mask}, epsilon = {epsilon:g}: loss over constant, best non-private {', '.join(ratios)}")


def _print(method: Method, experiment: Experiment, ranks: pd.DataFrame, selection: str) -> None:
    """Print ranks, wins and gains: a line for each mask and budget."""
    of_method = ranks[ranks["own"]]
    print(f"{method.title} in {experiment.name}, {of_method['sets'].iloc[0]}, {CHOSEN[selection]}")
    one = of_method.iloc[0]
    adds = "users add to public data" if one["held_out_beside"] == "public" else "gain over the constant"
    print(f"inputs: {one['inputs']}; {adds}, 1 - (loss) / (loss of the reference), in per cent [95 % over data sets]")
    heads = (
        "epsilon  rank [95 %] of n, development won:lost  loss over constant, non-private       bits  s a fit  first"
    )
    print(f"{heads}; {adds}")
    for row in of_method.itertuples():
        group = ranks[(ranks["mask"] == row.mask) & (ranks["epsilon"] == row.epsilon)]
        others = group[~group["own"]]
        position = f"{row.rank:.1f} [{row.rank_low:.1f}, {row.rank_high:.1f}] of {row.of}, {row.aside:.1f}"
        against = f"{row.constant:.3g}, {row.free:.3g}"
        print(
            f"{row.epsilon:<8g} {position:<30}{others['wins'].sum()}:{others['losses'].sum():<8}"
            f"{against:<37}{row.bits:<5g} {row.seconds:<8.2g} {group['title'].iloc[0]}; "
            f"held out {_per_cent(row, 'held_out')}, development {_per_cent(row, 'development')}"
        )


def _per_cent(row: Any, group: str) -> str:
    """Print a gain over one ``group`` of data sets, "held_out" or "development", with interval and number of sets."""
    gained, low, high, sets = (getattr(row, f"{group}_{key}") for key in ("gain", "low", "high", "sets"))
    return f"{100 * gained:.0f} [{100 * low:.0f}, {100 * high:.0f}] on {sets}" if sets else "not measured"


def write_rank(
    experiment: Experiment,
    summary: Summary,
    method: Method,
    ranks: pd.DataFrame,
    rows: pd.DataFrame,
    selection: str,
    cards: Mapping[str, Method],
    folder: Path,
    standings: pd.DataFrame,
) -> Path:
    """Write ``index.html``, the figure of ranks of all methods with its inputs, and its four lines."""
    paper = paper_of(experiment.name)
    drawn = draw_ranks(parts(summary, selection), folder, "ranks", selection, experiment, paper, cards)
    four = []
    for (mask, inputs), of_method in rows[rows["method"] == method.name].groupby(["mask", "inputs"]):
        held, words = of_method[of_method["role"] == HELD], f"{method.title}, {mask_name(mask)}: {inputs}"
        four += draw_four_lines(held, standings, words, folder / f"lines_{slug(str(mask))}") if len(held) else []
    boards = [
        {"mask": mask_name(mask), "epsilon": epsilon, "rows": group.to_dict("records")}
        for (mask, epsilon), group in ranks.groupby(["mask", "epsilon"], sort=True)
    ]
    wide: dict[tuple[str, str], dict] = {}
    for (mask, dataset, epsilon), group in rows.groupby(["mask", "dataset", "epsilon"], sort=True):
        losses = group.set_index("method")["loss"]
        if method.name in losses and len(losses) > 1:
            loss, others = losses[method.name], losses.drop(method.name)
            line = wide.setdefault(
                (mask, dataset), {"dataset": dataset_title(dataset), "mask": mask_name(mask), "cells": {}}
            )
            best = others.idxmin()
            line["cells"][epsilon] = (
                int((others < loss).sum()) + 1,
                len(losses),
                loss / others[best],
                method_title(best, cards),
            )
    return write_page(
        "rank.html.j2",
        folder / "index.html",
        title=experiment.title,
        here="index.html",
        pages=[("index.html", "Where it stands")],
        method=method,
        boards=boards,
        wide=list(wide.values()),
        budgets=sorted(set(ranks["epsilon"])),
        chosen=CHOSEN[selection],
        selection=selection,
        pictures=[path.name for path in drawn],
        lines=[path.name for path in four],
    )
