"""``lpbench audit``: audit everything, write ``audit.csv``, ``.json`` and ``.md``, say what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lpbench.cli import options
from lpbench.experiments.config import ROOT_SEED

if TYPE_CHECKING:
    from lpbench.audit.table import Row

SAMPLES = 1_000_000
_ONLY = "This method alone, written to the screen; repeat for more.  [default: all]"


@click.command(epilog="Without --method, writes reproduced/audit.csv and audit.md into the results folder.")
@click.option("--method", type=options.NameOf("method"), multiple=True, metavar="NAME", help=_ONLY)
@options.count("--samples", "Samples of each of two values.", SAMPLES)
@options.seed("Seed of the samples.")
@options.count("--workers", "Processes.", 2)
@options.results()
def command(method: Sequence[str], samples: int, seed: int, workers: int, results: Path) -> int:
    """Check the privacy of every method, exactly and by sampling."""
    from lpbench.audit import table

    if method:
        rows = [("method", table.audit("method", name, samples, seed)) for name in method]
        for _, row in rows:
            print(
                f"{row.method} ({row.model}): promises {row.claimed_epsilon:g}, spends {row.exact_epsilon:.6g}, "
                f"at least {row.lower_bound:.6g} by {samples} samples"
            )
    else:
        rows = run(results, samples=samples, seed=seed, workers=workers)
        print(f"{len(rows)} rows audited: {results / 'reproduced' / 'audit.md'}")
    problems = table.problems(rows)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def run(results: Path, samples: int = SAMPLES, seed: int = ROOT_SEED, workers: int = 2) -> list[tuple[str, Row]]:
    """Audit every method and every known mechanism.

    Parameters
    ----------
    results : Path
        ``audit.csv``, ``audit.json`` and ``audit.md`` are written into its folder ``reproduced``.
    samples : int
        Transcripts of each of two protected values, for each row.
    seed : int
        Of the samples; results do not depend on ``workers``.
    workers : int
        Processes.

    Returns
    -------
    list of (kind, Row)
        See :func:`lpbench.audit.table.subjects`; :func:`lpbench.audit.table.problems` judges them.
    """
    from joblib import Parallel, delayed

    from lpbench.audit import table
    from lpbench.audit.findings import findings
    from lpbench.deployment import costs
    from lpbench.reporting.pages.audit import write_audit

    named = table.subjects()
    # Small batches: some methods take much longer than others.
    tasks = (delayed(table.audit)(kind, name, samples, seed) for kind, name in named)
    rows = Parallel(n_jobs=workers, batch_size=1)(tasks)
    result = [(kind, row) for (kind, _), row in zip(named, rows, strict=True)]
    target = Path(results) / "reproduced"
    target.mkdir(parents=True, exist_ok=True)
    table.write_csv([row for kind, row in result if kind == "method"], target / "audit.csv")
    measured = costs.measure_protocols(seed), costs.measure_methods(table.EPSILON, seed)
    write_audit(findings(result, samples, seed, *measured), target)
    return result
