"""``lpbench audit`` of anybody's code: functions, a file of reports, or a command (docs/audit_your_own.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lpbench.errors import ConfigurationError

if TYPE_CHECKING:
    from lpbench.audit.black_box import Source

TABLES = (".csv", ".parquet")


@dataclass(frozen=True)
class Request:
    """What is audited, and how; the fields are the options of the command."""

    subjects: Sequence[str]
    command: str | None
    epsilon: float | None
    delta: float
    renyi: float
    values: Sequence[str]
    samples: int
    confidence: float
    seed: int
    timeout: float
    figure: Path | None

    def __post_init__(self) -> None:
        if self.epsilon is None:
            raise ConfigurationError("the claim is missing: --epsilon NUMBER")
        if self.command and self.subjects:
            raise ConfigurationError(f"--command {self.command!r} and {self.subjects[0]!r}: give one of the two")
        if self.figure and len(self.subjects) > 1:
            raise ConfigurationError("--figure draws one audit, and there are several")


def run(request: Request) -> int:
    """Audit what is asked for and print the verdicts; returns 1 if a claim is refuted."""
    from lpbench.audit.black_box import Claim, audit

    assert request.epsilon is not None
    claim = Claim(request.epsilon, request.delta, request.renyi)
    sources = _sources(request)
    # Together the bounds fail as rarely as stated.
    failure = (1 - request.confidence) / len(sources)
    violated = False
    for source in sources:
        verdict = audit(source, claim, request.samples, failure)
        print(verdict)
        violated |= verdict.violated
        if request.figure:
            from lpbench.audit.black_box.picture import draw

            draw(verdict, request.figure)
            print(f"  drawn: {request.figure}")
    return 1 if violated else 0


def _sources(request: Request) -> list[Source]:
    from lpbench.audit.black_box import CallableSource, CommandSource, FileSource, parse_values
    from lpbench.audit.black_box.sources import load_function

    tables = [Path(subject) for subject in request.subjects if subject.endswith(TABLES)]
    functions = [subject for subject in request.subjects if not subject.endswith(TABLES)]
    found: list[Source] = [FileSource(path) for path in tables]
    if not functions and not request.command:
        if request.values:
            raise ConfigurationError("--values: a table has a column of its own for them")
        return found
    if not request.values:
        raise ConfigurationError("the values to compare are missing: --values 0 1, or --values uniform:0,1")
    values = parse_values(request.values, request.seed)
    if request.command:
        return [CommandSource(request.command, values, request.samples, request.seed, request.timeout)]
    for path in functions:
        found.append(CallableSource(load_function(path), values, request.seed, request.timeout, path))
    return found
