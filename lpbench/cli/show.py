"""``lpbench show``: what experiments run, how much of it is stored, and its table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from lpbench.cli import experiments as naming
from lpbench.cli import options
from lpbench.experiments import catalogue
from lpbench.paths import REPRODUCED


@click.command(epilog="Next: lpbench plan NAME")
@naming.argument(required=True)
@options.results()
def command(experiments: Sequence[str], results: Path) -> int:
    """Print what experiments run, how much of it is stored, and their tables.

    EXPERIMENT is a name or a pattern such as 'histoftree/*'; several are added up.
    """
    names = naming.matching(experiments)
    catalogue.experiments(names)  # together, which takes less
    counts = [_show(name, results) for name in names]
    if len(names) > 1:
        blocks, stored, fits = map(sum, zip(*counts, strict=True))
        print(f"\n{naming.counted(len(names))}: {blocks} blocks ({stored} stored), {fits} fits")
    return 0


def _show(experiment: str, results: Path) -> tuple[int, int, int]:
    """Print one; return its blocks, those that are stored, and its fits."""
    content = catalogue.experiment(experiment)
    from lpbench.cli.answers import print_tables
    from lpbench.experiments.plan import plan_experiment
    from lpbench.experiments.results import Artefact
    from lpbench.experiments.store import Store
    from lpbench.pipeline import describe_left_out, describe_missing
    from lpbench.reporting.tables.text import tables_of

    plan = plan_experiment(content)
    store = Store(results / "store", writable=False)
    done, fits = sum(store.has(b.key) for b in plan.blocks), sum(b.fits for b in plan.blocks)
    if plan.missing:
        print(describe_missing(plan.missing))
    if plan.left_out:
        print(describe_left_out(plan.left_out))
    print(f"{content.name}: {content.title}")
    print(
        f"  {content.kind}, {content.replications} replications, {len(plan.blocks)} blocks ({done} stored), {fits} fits"
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
    stored = (tables_of(Artefact(folder / experiment, experiment)) for folder in (results, results / REPRODUCED))
    tables = next(filter(None, stored), [])
    print_tables(tables)
    if 0 < done < len(plan.blocks):
        print(f"{done} of {len(plan.blocks)} blocks are stored: lpbench report {experiment} shows what they hold")
    print(
        f"\nNext: lpbench plan {experiment} (its cost), lpbench experiment={experiment} (run it)"
        + (", lpbench explain DATASET METHOD EPSILON (a cell)" if tables else "")
    )
    return len(plan.blocks), done, fits
