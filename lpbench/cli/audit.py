"""``lpbench audit``: audit methods, write findings, print violations; ``lpbench audit code`` has :mod:`.audit_code`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lpbench.cli import options
from lpbench.cli.audit_code import TABLE_SUFFIXES, code
from lpbench.disk import write_text
from lpbench.errors import NotRunError
from lpbench.experiments.config import ROOT_SEED

if TYPE_CHECKING:
    from lpbench.audit.table import AuditRow

#: Transcripts of each of two protected values, for each row of the table.
SAMPLES = 200_000


class _MethodsOrCode(click.Command):
    """Click command that audits methods, or hands over to ``lpbench audit code ...``."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> click.Context:
        """Hand the words behind ``code``, or those that begin with a function or a table, to its own command."""
        if args[:1] == [code.name] or any(":" in word or word.endswith(TABLE_SUFFIXES) for word in args[:1]):
            return code.make_context(f"{info_name} {code.name}", args[args[0] == code.name :], *more, **extra)
        return super().make_context(info_name, args, *more, **extra)


@click.command(cls=_MethodsOrCode, epilog="Your own code: lpbench audit code --help.")
@click.argument("methods", nargs=-1, type=options.NameOf("method"), metavar="[METHOD]...")
@options.count("--samples", "Of each of two values.", SAMPLES)
@options.seed("Seed of the samples.")
@options.count("--workers", "Processes.", 2)
@options.results()
def command(methods: Sequence[str], samples: int, seed: int, workers: int, results: Path) -> int:
    """Audit every method, or METHODs alone, whose findings are shown on the screen."""
    import pandas as pd

    from lpbench.audit import table
    from lpbench.experiments import catalog

    for name in methods:
        catalog.method(name)  # before processes start
    complaints = of_each(table.method_complaints, methods or table.audited_methods(), workers, "methods")
    if methods and complaints:
        # what a method that leaks spends or breaks otherwise says nothing
        print("\n".join(complaints))
        return 1
    if methods:
        rows = [("method", table.audit("method", name, samples, seed)) for name in methods]
        for _, row in rows:
            print(
                f"{row.method} ({row.model}): states {row.claimed_epsilon:g}, loses {row.exact_epsilon:.6g}, "
                f"at least {row.lower_bound:.6g} by {samples} samples; asked: {row.devices or 'nobody'}"
            )
    else:
        rows = run(results, samples=samples, seed=seed, workers=workers)
        print(f"{len(rows)} rows audited: {results / 'reproduced' / 'audit.md'}")
    if all(row.model == "none" for _, row in rows):
        raise NotRunError(f"{', '.join(methods) or 'no method'}: nothing was audited, for nothing is promised")
    mutants = of_each(table.mutant_rows, methods or table.base_methods(), workers, "mutants")
    missed = [f"{m.method}: the mutant {m.mutant} was not caught" for m in mutants if not m.caught_by]
    applied = [m for m in mutants if not m.caught_by.startswith("does not apply")]
    caught = f"{len(applied) - len(missed)} of {len(applied)} mutants caught" if applied else "no mutant applies"
    print(f"{caught}, {len(complaints)} complaints about methods")
    if methods:
        for mutant in mutants:
            print(f"  {mutant.mutant}: {mutant.caught_by or 'NOT CAUGHT'}")
    else:
        text = pd.DataFrame(mutants).to_csv(index=False, lineterminator="\n")
        write_text(text, results / "reproduced" / "audit_mutants.csv")
    problems = [*table.problems(rows), *complaints, *missed]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def of_each(function: Callable[[str], list[Any]], named: Sequence[str], workers: int, title: str) -> list[Any]:
    """Call a function for each name in worker processes, and return all its findings in the names' order."""
    from lpbench.experiments.engines import in_order

    calls = [(name,) for name in named]
    parts = in_order(function, calls, workers, title) if len(calls) > 1 else [function(*call) for call in calls]
    return [item for findings in parts for item in findings]


def run(results: Path, samples: int = SAMPLES, seed: int = ROOT_SEED, workers: int = 2) -> list[tuple[str, AuditRow]]:
    """Audit all methods and known mechanisms, and write ``reproduced/audit.*``; rows have their kind before them."""
    from lpbench.audit import table
    from lpbench.experiments.engines import in_order
    from lpbench.reporting.pages.audit import write_audit

    named = table.subjects()
    rows = in_order(table.audit, [(kind, name, samples, seed) for kind, name in named], workers, "devices")
    result = [(kind, row) for (kind, _), row in zip(named, rows, strict=True)]
    target = Path(results) / "reproduced"
    target.mkdir(parents=True, exist_ok=True)
    table.write_csv([row for kind, row in result if kind == "method"], target / "audit.csv")
    write_audit(table.findings(result, samples, seed), target)
    return result
