"""``lpbench rates``: the exponent of one method's excess risk beside the theorem's, and the lower bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lpbench.cli import options
from lpbench.errors import ConfigurationError, LpbenchError

if TYPE_CHECKING:
    import pandas as pd

    from lpbench.analysis.curves import Curve
    from lpbench.experiments.config import Runner
    from lpbench.experiments.experiment import Experiment, Group
    from lpbench.experiments.method import Method
    from lpbench.papers.theory.theorems import Facts

#: Family and best constant by task.
FAMILIES = {
    "regression": ("rough_regression", "cube_mean[bins=1]"),
    "classification": ("rough_classes", "cube_vote[bins=1]"),
}
SIZES = (2048, 4096, 8192, 16384, 32768)
#: Grids in the place of a method's own, where it searches these: their ends must not be the best.
GRID = {"depth": (0, 1, 2, 3, 4, 6, 8), "bins": (1, 2, 3, 4, 6, 8)}


@click.command(epilog="Example: lpbench rates histoftree_max_edge --family sine_sum_excess --mask aligned --epsilon 16")
@click.argument("method", type=options.NameOf("method"))
@click.option(
    "--family",
    type=options.NameOf("dataset"),
    metavar="NAME",
    help="Synthetic, scored by excess risk.  [default: rough, by the task]",
)
@click.option("--mask", type=options.NameOf("mask"), metavar="NAME", help="[default: label_only or all_private]")
@options.above_0("--epsilon", "E", "Budget.", 2.0)
@click.option("--n", "sizes", multiple=True, type=click.IntRange(16), metavar="N", help="Rows; repeat for more.")
@options.count("--replications", "Draws of each size.", 10)
@options.seed()
@options.count("--workers", "Processes.  [default: one per core]")
@options.results()
def command(
    method: str,
    family: str | None,
    mask: str | None,
    epsilon: float,
    sizes: Sequence[int],
    replications: int,
    seed: int,
    workers: int | None,
    results: Path,
) -> int:
    """Fit the exponent of a method's excess risk; hold it against the lower bounds of its task.

    METHOD is a name or module:Class. Exits with 1 where a private method lies below the least risk that its privacy
    allows: it has a leak. A method that keeps its budget is named by each bound with a chance of 2.5 % at most.
    """
    from lpbench.experiments.config import Runner
    from lpbench.experiments.experiment import Group
    from lpbench.experiments.single_method import method_named
    from lpbench.papers.theory import theorems
    from lpbench.papers.theory.lower_bounds import ROWS, floor_row, hard_families

    fitted, runner = method_named(method), Runner(workers=workers)
    name, constant = FAMILIES[fitted.task]
    name, kind = family or name, fitted.estimator_class
    key = _size_of(fitted, name)
    model = fitted.privacy
    hard = hard_families(fitted.task, model)
    mask_name = mask or hard[0][1]
    places = tuple(sorted(set(sizes or SIZES)))
    if len(places) < theorems.FEWEST:
        raise ConfigurationError(f"--n {' '.join(map(str, places))}: a slope needs {theorems.FEWEST} different sizes")
    if replications < 2:
        raise ConfigurationError("--replications 1: an interval needs 2 or more")
    budget = epsilon if kind.uses_epsilon else math.inf
    searched = fitted.grid_for(mask_name.partition("[")[0])
    # some methods need two bins
    grid = {k: tuple(b for b in v if k == "depth" or b >= min(searched[k])) for k, v in GRID.items() if k in searched}
    common: dict[str, Any] = {"panel": "rate", "dataset": (name,), "x": key, "values": places}
    groups = [
        Group(**common, mask=(mask_name,), method=(fitted.name,), epsilon=(budget,), grid=grid),
        Group(**common, method=(constant,), epsilon=(math.inf,)),
    ]
    print(f"{fitted.title} on {name}, mask {mask_name}, ε = {budget:g}, {replications} draws of each size")
    try:
        _fit(
            *_run(fitted, groups, replications, seed, runner, results),
            theorems.facts_of(name, mask_name, model),
            budget,
        )
    except LpbenchError as error:
        if family or mask:
            raise
        print(f"exponent: not fitted: {error}")
    channel, leaks = "label_cdp" if model in ("label_cdp", "cdp") else "label_ldp", []
    for hard_family, hidden, most, draws in hard:
        common = {"panel": "floor", "dataset": (hard_family,), "x": "dataset.n", "values": (ROWS,)}
        strict = min(budget, most) if kind.uses_epsilon else budget
        group = Group(**common, mask=(hidden,), method=(fitted.name,), epsilon=(strict,))
        settings = math.prod(map(len, fitted.grid_for(hidden.partition("[")[0]).values()))
        try:
            bound = floor_row(channel, _run(fitted, [group], draws, seed, runner, results)[0], settings)
        except LpbenchError as error:
            if hidden == hard[0][1]:
                raise
            print(f"not held against {hard_family}, mask {hidden}: {error}")
            continue
        if bound.word == theorems.BOUND_FAILS and model != "none":
            leaks.append(f"ε = {strict:g} allows ({bound.theorem})")
        print(
            f"{bound.theorem}: {bound.found:.3g} [{bound.found - bound.reach:.3g}, {bound.found + bound.reach:.3g}] "
            f"times the least possible on {hard_family}, mask {hidden}, n = {ROWS}; {bound.remark}"
        )
    if leaks:
        print(f"LEAK: {fitted.name} lies below what {' and '.join(leaks)}: it uses more than its reports")
    return int(bool(leaks))


def _fit(
    lines: Sequence[Curve], table: pd.DataFrame, experiment: Experiment, stated: Facts | None, budget: float
) -> None:
    """Print the excess risk at each sample size, and the exponent over the sizes at which it is resolved.

    ``stated`` has the constants of a theorem, None if no theorem is known; ``table`` is the summary.
    """
    from lpbench.analysis.rates import bootstrap, loglog_slope
    from lpbench.papers.theory import theorems

    methods = experiment.methods  # the best constant is the last
    line, best = (next(c for c in lines if c.method == methods[k]) for k in (0, -1))
    clear = theorems.resolved(line, best, table, experiment)
    for n, mean, se, resolves in zip(line.x, line.mean, line.se, clear, strict=True):
        state = "" if resolves else "  unresolved"
        regime = f", {stated.regime(n, budget)}" if stated and math.isfinite(budget) else ""
        print(
            f"  n = {n:<8g} excess {mean:.4g} ± {se:.2g}, {mean / best.mean[-1]:.2f} of the constant's{regime}{state}"
        )
    run = line.x[theorems.longest(clear)]
    if len(run) < theorems.FEWEST:
        print(f"exponent: unresolved; {len(run)} of {len(clear)} sizes in a row are resolved (--n)")
    else:
        judged = line.between(run[0], run[-1])
        fitted = bootstrap(judged.samples, lambda mean: -loglog_slope(judged.x, mean))
        theory = "no theorem is known"
        if stated:
            theory = f"theorem {stated.exponent():.3f}: {theorems.level(fitted.estimate, stated.exponent())}"
        print(f"exponent: {fitted} over n = {run[0]:g} to {run[-1]:g}; {theory}")


def _size_of(method: Method, family: str) -> str:
    """Return the parameter that is a family's sample size, "dataset.n" or "dataset.n_private".

    Families of another task, or whose scores hold label noise, are refused.
    """
    from lpbench.datasets import load_manifest
    from lpbench.datasets.manifest import list_datasets
    from lpbench.selectors import parse_selector

    name, _ = parse_selector(family)
    manifests = map(load_manifest, [name, *list_datasets()])
    fit = [m.name for m in manifests if m.synthetic and m.score == "excess_risk" and m.task == method.task]
    if name not in fit:
        raise ConfigurationError(
            f"--family {family}: {method.name} is for {method.task}, and a rate needs the excess over the true "
            f"function: choose {', '.join(fit)}"
        )
    return "dataset.n" if "n" in load_manifest(name).params else "dataset.n_private"


def _run(
    method: Method, groups: Sequence[Group], replications: int, seed: int, runner: Runner, results: Path
) -> tuple[list[Curve], pd.DataFrame, Experiment]:
    """Run the blocks, under a progress bar; return the curves, the summary behind them, and the experiment."""
    from lpbench.analysis.curves import curves
    from lpbench.experiments.experiment import Experiment
    from lpbench.experiments.job import Job
    from lpbench.pipeline import summarized

    experiment = Experiment("rates/run", "rates", "figure", replications=replications, groups=tuple(groups))
    summary = summarized(Job(experiment, seed, overridden={method.name: method}), results, runner)
    lines = curves(summary.table, summary.chosen)
    if method.selection == "private":  # its users choose the setting, and nobody else
        lines += curves(summary.table, summary.chosen, "private")
    return lines, summary.table, experiment
