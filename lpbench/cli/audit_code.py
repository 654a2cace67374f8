"""``lpbench audit code``: a function, a table of reports, a command, or training code (docs/audit_code.md)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from lpbench.cli import numbers as options
from lpbench.errors import CellTimeout, ConfigurationError, DataError
from lpbench.experiments.time_limit import time_limit

if TYPE_CHECKING:
    from lpbench.audit.black_box import Subject

#: Reports of each of two values.
SAMPLES = 1_000_000
_PROTECTS = "What --learner protects: label, record  [default: record if it takes bounds of features]"
_LEAK = "a difference proves that fit reads private inputs, not only reports; it bounds no epsilon"
#: Ends of the names of tables; every other SUBJECT is a function.
TABLE_SUFFIXES = (".csv", ".parquet")


class _ManyValues(click.Command):
    """Click command whose ``--values`` takes all words up to the next option, which click's options do not."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat ``--values`` before each of its words, since click options take a fixed number, then parse."""
        words: list[str] = []
        of_values = False
        for word in args:
            if word.startswith("--"):
                of_values = word == "--values"
            elif of_values and words[-1] != "--values":
                words.append("--values")
            words.append(word)
        return super().parse_args(ctx, words)


@click.command(cls=_ManyValues)
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option("--command", "program", metavar="LINE", help="Reads a value, writes one report per line.")
@click.option("--learner", metavar="CLASS", help="Code with fit(X, y), module:Class: docs/audit_code.md.")
@click.option("--protects", type=click.Choice(("label", "record")), metavar="NAME", help=_PROTECTS)
@click.option("--reports", multiple=True, metavar="CODE", help="Function of --learner that makes reports; repeatable.")
@click.option("--epsilon", type=float, metavar="X", help="The claim.  [default: 1 of --learner]")
@click.option("--delta", type=float, default=0.0, metavar="X", help="Of the claim.  [default: 0]")
@click.option("--renyi", type=float, default=math.inf, metavar="A", help="The claim is a Renyi divergence of order A.")
@click.option("--values", multiple=True, metavar="V...", help="Values to compare, or uniform:LOW,HIGH.")
@click.option("--features", metavar="CODE", help="Function: columns of reports by name -> numbers per report.")
@options.count("--samples", "Of each of two values.", SAMPLES)
@click.option("--confidence", type=click.FloatRange(0, 1, True, True), default=0.999, metavar="X", show_default=True)
@options.seed("Seed of the samples.")
@options.above_0("--timeout", "S", "Seconds of the code; a --learner is audited in 120.  [default: 300]", 300.0)
def code(subjects: Sequence[str], program: str | None, learner: str | None, **settings: Any) -> int:
    """Audit SUBJECT (file.py:function or a table of reports), a command, or training code."""
    if len(given := [*subjects[:1], *filter(None, (program, learner))]) != 1:
        raise ConfigurationError(
            f"{' and '.join(map(repr, given)) or 'nothing'} is to be audited: name file.py:function or a table, a "
            "--command, or a --learner"
        )
    return _audit_learner(learner, **settings) if learner else _audit_reports(subjects, program, **settings)


def _audit_reports(
    subjects: Sequence[str],
    program: str | None,
    *,
    epsilon: float | None,
    delta: float,
    renyi: float,
    values: Sequence[str],
    features: str | None,
    samples: int,
    confidence: float,
    seed: int,
    timeout: float,
    **_: Any,
) -> int:
    """Audit each source of reports against the claimed privacy, print the findings and return 1 on a violation, else 0.

    ``subjects`` are functions or tables, ``program`` a command; the claim is epsilon with ``delta`` or of the Renyi
    order ``renyi``. ConfigurationError if it is missing.
    """
    if epsilon is None:
        raise ConfigurationError("the claim is missing: --epsilon NUMBER")
    from lpbench.audit.black_box import CallableSource, CommandSource, PrivacyClaim, WithFeatures, audit, parse_values
    from lpbench.audit.black_box.sources import load_function

    claim = PrivacyClaim(epsilon, delta, renyi)
    tables = [subject for subject in subjects if subject.endswith(TABLE_SUFFIXES)]
    functions = [subject for subject in subjects if not subject.endswith(TABLE_SUFFIXES)]
    if values and not (functions or program):
        raise ConfigurationError("--values: a table has a column of its own for them")
    compared = parse_values(values, seed) if functions or program else []
    sources: list[Subject] = [CommandSource(program, compared, samples, seed, timeout)] if program else []
    if tables:
        from lpbench.audit.black_box.files import FileSource

        sources += [FileSource(Path(table)) for table in tables]
    sources += [CallableSource(load_function(name), compared, seed, timeout, name) for name in functions]
    violated = False
    for source in sources:
        subject = WithFeatures(source, load_function(features), features) if features else source
        # together the bounds fail as rarely as stated
        verdict = audit(subject, claim, samples, (1 - confidence) / len(sources))
        print(verdict)
        violated |= verdict.violated
    return int(violated)


def _audit_learner(
    name: str,
    *,
    epsilon: float | None,
    delta: float,
    protects: Literal["label", "record"] | None,
    reports: Sequence[str],
    samples: int,
    confidence: float,
    seed: int,
    timeout: float,
    **_: Any,
) -> int:
    """Audit training code ``module:Class`` that claims epsilon, print what is proven, and return 1 on a violation.

    It is tried by a leak test of the functions ``reports``, by canaries and by a search of tables. DataError if
    ``timeout`` seconds are not enough.
    """
    epsilon = 1.0 if epsilon is None else epsilon
    if not 0 < epsilon < math.inf:
        raise ConfigurationError(f"--epsilon {epsilon:g} must be a finite number > 0")
    from lpbench.audit import learner as audits
    from lpbench.audit.black_box import PrivacyClaim

    learner, claim = audits.load_learner(name), PrivacyClaim(epsilon, delta)
    start, violated, audit = time.monotonic(), False, "leak test"
    try:
        with time_limit(timeout):
            protects = protects or audits.protects_by_default(learner, epsilon)
            make = partial(learner, **audits.stated_ranges(learner, epsilon)[0].public)
            if reports:
                leak = audits.leak_test(make, epsilon, reports, protects, seed=seed)
                print(f"leak: {leak or 'no difference found'}; {_LEAK}")
                violated = leak is not None
            else:
                print("leak: not tested; name the functions that make the reports with --reports")
            if not delta and hasattr(learner.kind, "predict"):  # it bounds a pure epsilon, by predictions
                audit = "canary audit"
                canaries = audits.canary_audit(make, epsilon, protects, seed=seed)
                print(canaries)
                violated |= canaries.epsilon > epsilon
            if reports and learner.seed_name is None:
                print("tables: not searched; --reports needs equal fits, and without a random_state all fits are")
            elif not violated:
                audit = "search of tables"
                seconds = max(1.0, min(audits.SEARCH_SECONDS, 0.9 * timeout) - (time.monotonic() - start))
                fits, failure = min(samples, audits.MOST_FITS), 1 - confidence
                worst = audits.worst_tables_audit(
                    learner, claim, protects, seconds=seconds, fits=fits, failure=failure, seed=seed
                )
                print(worst)
                violated = worst.violated
    except CellTimeout:
        late = (
            f"{name} did not finish within {timeout:g} s (in the {audit}): make its fit quicker, or allow more by "
            "--timeout"
        )
        if not violated:
            raise DataError(late) from None
        print(late)
    print(f"{name}: {'VIOLATED' if violated else 'no violation found'}; claims {protects} privacy at {claim}")
    return int(violated)
