"""``lpbench rank``: the rank of one method among all; blocks of other methods are not run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lpbench.cli import options
from lpbench.errors import ConfigurationError
from lpbench.experiments.config import Runner
from lpbench.paths import COMMITTED

if TYPE_CHECKING:
    from lpbench.experiments.experiment import Experiment

#: Experiments that a method of each task is ranked in; the second one where it reads a public sample.
EXPERIMENTS = {
    "regression": ("comparison/regression", "comparison/public_sample"),
    "classification": ("comparison/classification",),
}
#: Experiments of ``--stress``: masks that give something away, users who lie, groups of people.
STRESS = {
    "regression": ("extensions/masks_strength", "extensions/liars_regression", "extensions/groups_regression"),
    "classification": (
        *("extensions/masks_strength_classification", "extensions/liars_classification"),
        "extensions/groups_classification",
    ),
}
#: The budget of a quick run.
QUICK_BUDGET = 1.0


@click.command(epilog="Next: lpbench export rank/METHOD/regression --selection fair; lpbench submit METHOD")
@click.argument("method", type=options.NameOf("method"))
@click.option(
    "--experiment",
    "experiments",
    multiple=True,
    type=options.NameOf("experiment"),
    metavar="NAME",
    help="Ranked in; repeat.  [default: of its task]",
)
@options.choice("--selection", ("fair", "oracle"), "fair")
@click.option("--epsilon", "budgets", multiple=True, type=float, metavar="E", help="Budget; repeat for more.  [all]")
@click.option("--quick", is_flag=True, help=f"The budget {QUICK_BUDGET:g} alone.")
@click.option("--stress", is_flag=True, help="Instead: masks that tell, liars, groups of people.")
@options.count("--workers", "Processes.  [default: one per core]")
@options.audit()
@options.results()
def command(
    method: str,
    experiments: Sequence[str],
    selection: str,
    budgets: Sequence[float],
    quick: bool,
    stress: bool,
    workers: int | None,
    audit: bool,
    results: Path,
) -> int:
    """Rank a method among all compared methods.

    METHOD is a name, module:Class, or a CSV of predictions. It runs alone, on the splits and seeds of the others,
    whose scores are the committed ones, or in an experiment of your own those of its last run; oracle: its best grid
    point on the test rows.
    """
    if quick and budgets:
        raise ConfigurationError("--quick is one budget: leave --epsilon out, or --quick")
    budgets = (QUICK_BUDGET,) if quick else budgets
    from lpbench.analysis.summary import barred
    from lpbench.cli import ranking
    from lpbench.experiments import catalog
    from lpbench.experiments.method import Method
    from lpbench.experiments.results import Results
    from lpbench.experiments.single_method import method_named
    from lpbench.pipeline import is_broken

    predicted = Path(method).suffix == ".csv"
    if predicted and not Path(method).is_file():
        raise ConfigurationError(f"{method}: there is no such file of predictions")
    if predicted:
        if not experiments:
            raise ConfigurationError(f"{method}: say which experiment it predicts: --experiment comparison/regression")
        ranked = Method(re.sub(r"\W+", "_", Path(method).stem), Path(method).stem, "", "", tuning_free={})
    else:
        ranked = method_named(method)
        usual = EXPERIMENTS[ranked.task][: 1 + ranked.estimator_class.uses_public]
        experiments = experiments or (STRESS[ranked.task] if stress else usual)
    broken = False
    for name in experiments:
        is_own = name in catalog.own_names("experiment")
        experiment, others = catalog.experiment(name), Results(results if is_own else COMMITTED).artifact(name)
        ran = set() if others.summary is None else {*others.summary["method"]}
        output = ranking.paper_of(name).output_of(name)
        if stress and output.read is None:
            raise ConfigurationError(f"--stress: {name} is no stress test; there are {', '.join(STRESS[ranked.task])}")
        if not stress and not ran:
            first = f": run `lpbench reproduce {name}` first" if is_own else ""
            raise ConfigurationError(f"experiment {name} has no summary in {others.results} to be ranked in{first}")
        _check_budgets(experiment, budgets)
        scored = None
        if predicted:
            scored = ranking.predicted(Path(method), ranked, experiment)
        elif stress or ranked.name not in ran:
            fair, runner = stress or selection == "fair", Runner(workers=workers)
            scored = ranking.run_alone(ranked, experiment, budgets, fair, runner, results, audit)
        bars = {} if scored is None or predicted else barred(scored.table)
        broken |= any(map(is_broken, bars.values()))
        if scored is not None and bars:
            ranking.print_barred(ranked, experiment, scored, results)
        elif scored is not None and stress:
            ranking.print_stress(ranked, scored, others, output)
        else:
            ranking.rank(ranked, experiment, others, scored, budgets, selection, results)
    return int(broken)


def _check_budgets(experiment: Experiment, budgets: Sequence[float]) -> None:
    """Refuse a budget at which no method of the experiment was run."""
    registered = sorted({float(e) for group in experiment.groups if not group.panel for e in group.epsilon})
    if unknown := [e for e in budgets if e not in registered]:
        listed = ", ".join(f"{e:g}" for e in registered)
        raise ConfigurationError(f"--epsilon {unknown[0]:g}: {experiment.name} has {listed}")
