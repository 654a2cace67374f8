"""``lpbench show``: what an experiment runs, how much of it is stored, and its table."""

from __future__ import annotations

from pathlib import Path

import click

from lpbench.cli import options
from lpbench.experiments import catalogue


@click.command(epilog="Next: lpbench plan NAME")
@click.argument("experiment", type=options.NameOf("experiment"))
@options.results()
def command(experiment: str, results: Path) -> int:
    """Print what an experiment runs, how much of it is stored, and its table.

    EXPERIMENT is a name such as histoftree/table1.
    """
    content = catalogue.experiment(experiment)
    from lpbench.cli.answers import print_tables
    from lpbench.experiments.plan import plan_experiment
    from lpbench.experiments.results import Artefact
    from lpbench.experiments.store import Store
    from lpbench.pipeline import describe_left_out, describe_missing
    from lpbench.reporting.tables.text import tables_of

    plan = plan_experiment(content)
    store = Store(results / "store")
    done = sum(store.has(b.key) for b in plan.blocks)
    if plan.missing:
        print(describe_missing(plan.missing))
    if plan.left_out:
        print(describe_left_out(plan.left_out))
    print(f"{content.name}: {content.title}")
    print(
        f"  {content.kind}, {content.replications} replications, "
        f"{len(plan.blocks)} blocks ({done} stored), {sum(b.fits for b in plan.blocks)} fits"
    )
    for group in content.groups:
        print(
            f"  {' '.join(group.dataset)}\n    mask {', '.join(group.mask)}; "
            f"epsilon {', '.join(f'{e:g}' for e in group.epsilon)}\n    {', '.join(group.method)}"
        )
    for deviation in Artefact(results / experiment, experiment).deviations:
        print(f"  its results are not of the registered experiment: {deviation}")
    for note in content.notes:
        print(f"  - {note}")
    # a checkout has the committed summary
    stored = (tables_of(Artefact(folder / experiment, experiment)) for folder in (results, results / "reproduced"))
    tables = next(filter(None, stored), [])
    print_tables(tables)
    print(
        f"\nNext: lpbench plan {experiment} (its cost), lpbench experiment={experiment} (run it)"
        + (", lpbench explain DATASET METHOD EPSILON (a cell)" if tables else "")
    )
    return 0
