"""``lpbench audit``: audit every method or your own code, write findings, print violations."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lpbench.cli import black_box, options
from lpbench.cli.learner import audit_learner
from lpbench.errors import ConfigurationError
from lpbench.experiments.config import ROOT_SEED

if TYPE_CHECKING:
    from lpbench.audit.mutants import MutantRow
    from lpbench.audit.table import Row

#: Transcripts of each of two values: of SUBJECT, and of each row of the table.
SAMPLES, ROW_SAMPLES = 1_000_000, 200_000
_ONLY = "Registered method, shown on the screen; repeat for more."
_VALUES = "Values of SUBJECT to compare, or uniform:LOW,HIGH."
_PROTECTED = click.Choice(["label", "record"])
_PROTECTS = "What --learner protects: label or record.  [default: label]"


class _Audit(click.Command):
    """``--values`` takes all words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before every value."""
        words: list[str] = []
        of_values = False
        for word in args:
            if word.startswith("--"):
                of_values = word == "--values"
            elif of_values and words[-1] != "--values":
                words.append("--values")
            words.append(word)
        return super().parse_args(ctx, words)


@click.command(cls=_Audit)
@click.argument("subject", nargs=-1)
@click.option("--method", type=options.NameOf("method"), multiple=True, metavar="NAME", help=_ONLY)
@click.option("--command", "program", metavar="LINE", help="Reads a value, writes a report a line.")
@click.option("--learner", metavar="CLASS", help="Code with fit(X, y), module:Class: docs/audit_code.md.")
@click.option("--protects", type=_PROTECTED, default="label", metavar="WHAT", help=_PROTECTS)
@click.option("--reports", multiple=True, metavar="CODE", help="Function of --learner that makes reports; repeatable.")
@click.option("--epsilon", type=float, metavar="X", help="Claim about SUBJECT.")
@click.option("--delta", type=float, default=0.0, metavar="X", help="Of the claim.  [default: 0]")
@click.option("--renyi", type=float, default=math.inf, metavar="A", help="The claim is a Renyi divergence of order A.")
@click.option("--values", multiple=True, metavar="V...", help=_VALUES)
@options.count("--samples", f"Of each of two values.  [default: {SAMPLES} of SUBJECT, {ROW_SAMPLES} of a method]")
@click.option("--confidence", type=click.FloatRange(0, 1, True, True), default=0.999, metavar="X", show_default=True)
@options.seed("Seed of the samples.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    metavar="S",
    help="Seconds of SUBJECT.  [default: 300]",
)
@click.option("--figure", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Picture of SUBJECT.")
@options.count("--workers", "Processes.", 2)
@options.results()
def command(
    subject: Sequence[str], method: Sequence[str], program: str | None, learner: str | None, protects: str,
    reports: Sequence[str], epsilon: float | None, delta: float,
    renyi: float, values: Sequence[str], samples: int | None, confidence: float, seed: int, timeout: float,
    figure: Path | None, workers: int, results: Path,
) -> int:  # fmt: skip
    """Audit SUBJECT (file.py:function or a table of reports), or every method."""
    if learner:
        if subject or program or method:
            raise ConfigurationError("--learner audits one thing; SUBJECT or another option asks for a second")
        return audit_learner(learner, 1.0 if epsilon is None else epsilon, protects, reports, seed, timeout)
    if subject or program:
        if method:
            raise ConfigurationError(f"--method {method[0]} and {(*subject, program)[0]!r}: give one of the two")
        asked = black_box.Request(
            subject, program, epsilon, delta, renyi, values, samples or SAMPLES, confidence, seed, timeout, figure
        )
        return black_box.run(asked)
    if epsilon is not None or values or figure:
        raise ConfigurationError("--epsilon, --values and --figure are about code of your own, and none is named")
    from lpbench.audit import table

    samples = samples or ROW_SAMPLES
    found = check_methods(method or table.audited_methods(), workers)
    if method and found:
        # what a method that leaks spends or breaks otherwise says nothing
        print("\n".join(found))
        return 1
    if method:
        rows = [("method", table.audit("method", name, samples, seed)) for name in method]
        for _, row in rows:
            print(
                f"{row.method} ({row.model}): states {row.claimed_epsilon:g}, loses {row.exact_epsilon:.6g}, "
                f"at least {row.lower_bound:.6g} by {samples} samples; asked: {row.devices or 'nobody'}"
            )
    else:
        rows = run(results, samples=samples, seed=seed, workers=workers)
        print(f"{len(rows)} rows audited: {results / 'reproduced' / 'audit.md'}")
    mutants = check_mutants(method or table.base_methods(), workers)
    missed = [f"{m.method}: the mutant {m.mutant} was not caught" for m in mutants if not m.caught_by]
    applied = [m for m in mutants if not m.caught_by.startswith("does not apply")]
    print(f"{len(applied) - len(missed)} of {len(applied)} mutants caught, {len(found)} complaints about methods")
    if method:
        for mutant in mutants:
            print(f"  {mutant.mutant}: {mutant.caught_by or 'NOT CAUGHT'}")
    else:
        write_mutants(mutants, results / "reproduced" / "audit_mutants.csv")
    problems = [*table.problems(rows), *found, *missed]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def check_methods(named: Sequence[str], workers: int = 2) -> list[str]:
    """Audit whole methods by what their users answer; returns complaints."""
    from lpbench.audit.table import method_complaints
    from lpbench.experiments.engines import in_order

    found = in_order(method_complaints, [(name,) for name in named], workers, "methods")
    return [complaint for complaints in found for complaint in complaints]


def check_mutants(named: Sequence[str], workers: int = 2) -> list[MutantRow]:
    """Break one promise of each method in every way of :data:`lpbench.audit.mutants.MUTANTS`; who catches it?"""
    from lpbench.audit.table import mutant_rows
    from lpbench.experiments.engines import in_order

    rows = in_order(mutant_rows, [(name,) for name in named], workers, "mutants")
    return [row for part in rows for row in part]


def write_mutants(rows: Sequence[MutantRow], path: Path) -> None:
    """Write ``audit_mutants.csv``."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["method", "mutant", "caught_by"])
        writer.writerows([row.method, row.mutant, row.caught_by] for row in rows)


def run(results: Path, samples: int = ROW_SAMPLES, seed: int = ROOT_SEED, workers: int = 2) -> list[tuple[str, Row]]:
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
    from lpbench.audit import table
    from lpbench.audit.findings import findings
    from lpbench.experiments.engines import in_order
    from lpbench.reporting.pages.audit import write_audit

    named = table.subjects()
    rows = in_order(table.audit, [(kind, name, samples, seed) for kind, name in named], workers, "devices")
    result = [(kind, row) for (kind, _), row in zip(named, rows, strict=True)]
    target = Path(results) / "reproduced"
    target.mkdir(parents=True, exist_ok=True)
    table.write_csv([row for kind, row in result if kind == "method"], target / "audit.csv")
    write_audit(findings(result, samples, seed), target)
    return result
