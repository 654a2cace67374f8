"""The audit of every method as rows of a table, and whether each of them keeps its promise."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lpbench.audit.devices import audited_methods, method_randomizer
from lpbench.audit.empirical import LowerBound, lower_bound
from lpbench.audit.exact import exact_loss
from lpbench.audit.known_bad import KNOWN_BAD, KNOWN_GOOD
from lpbench.audit.randomizers import Randomizer
from lpbench.seeds import Streams

#: Budget of the audit, and the probability that anything that keeps its promise is accused, over all rows together.
EPSILON, FALSE_ALARM = 1.0, 1e-3
#: Rounding error allowed to an exact loss.
TOLERANCE = 1e-9

COLUMNS = (
    "method", "model", "claimed_epsilon", "exact_epsilon", "lower_bound", "confidence",
    "rounds", "bits_up", "bits_down", "device", "fit_path", "sweep_path",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One audited method or mechanism; :data:`COLUMNS` go to ``audit.csv``.

    Attributes
    ----------
    claimed_epsilon, exact_epsilon, lower_bound : float
        What is promised, what is spent at most, and what sampling proves to be spent at least.
    confidence : float
        Probability that ``lower_bound`` is one.
    rounds : int
    bits_up, bits_down : float
        Per user, in the small world of the audit.
    delta : float
    note : str
    device, fit_path, sweep_path : str
        What was sampled, and how fit and sweep come by the reports: from the device, or by a function that draws sums.
        Where nothing was sampled, why.
    """

    method: str
    model: str
    claimed_epsilon: float
    exact_epsilon: float
    lower_bound: float
    confidence: float
    rounds: int
    bits_up: float
    bits_down: float
    delta: float = field(default=0.0)
    note: str = field(default="")
    device: str = field(default="")
    fit_path: str = field(default="")
    sweep_path: str = field(default="")

    @property
    def slack(self) -> float:
        """What is promised and not used."""
        return 0.0 if math.isinf(self.claimed_epsilon) else self.claimed_epsilon - self.exact_epsilon

    @property
    def keeps_promise(self) -> bool:
        """Whether the exact loss is within the promise."""
        return self.exact_epsilon <= self.claimed_epsilon + TOLERANCE

    @property
    def accused(self) -> bool:
        """Whether the sample alone proves that the promise is broken."""
        return self.lower_bound > self.claimed_epsilon + TOLERANCE

    @property
    def consistent(self) -> bool:
        """Whether the sample agrees with the exact loss."""
        return self.lower_bound <= self.exact_epsilon + TOLERANCE


def subjects() -> list[tuple[str, str]]:
    """Everything that is audited, as pairs (kind, name): methods, then known-bad and known-good mechanisms."""
    named = [("method", name) for name in audited_methods()]
    return named + [("bad", name) for name in KNOWN_BAD] + [("good", name) for name in KNOWN_GOOD]


def subject(kind: str, name: str, epsilon: float = EPSILON) -> Randomizer:
    """Build one of :func:`subjects`."""
    if kind == "method":
        return method_randomizer(name, epsilon)
    return (KNOWN_BAD if kind == "bad" else KNOWN_GOOD)[name][1](epsilon)


def failure_per_row() -> float:
    """Failure probability of one lower bound (Bonferroni over all rows)."""
    return FALSE_ALARM / len(subjects())


def audit(kind: str, name: str, samples: int, seed: int) -> Row:
    """Audit one subject: exactly, and from ``samples`` draws of each of the two worst values."""
    randomizer = subject(kind, name)
    exact, failure = exact_loss(randomizer), failure_per_row()
    if randomizer.messages:
        bound = lower_bound(randomizer, samples, Streams(seed).child("audit", kind=kind, name=name), failure)
    else:
        bound = LowerBound(0.0, 0.0, (0, 0), (0, 0), 0)
    return Row(
        name,
        randomizer.model,
        randomizer.claimed,
        exact.epsilon,
        bound.epsilon,
        bound.confidence,
        randomizer.rounds,
        randomizer.bits_up,
        randomizer.bits_down,
        randomizer.delta,
        randomizer.note,
        *randomizer.sampled,
    )


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write the columns of the methods' rows."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([_text(getattr(row, name)) for name in COLUMNS])


def _text(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def problems(rows: Iterable[tuple[str, Row]]) -> list[str]:
    """List everything that must not be: broken promises, missed mechanisms, contradictions of the two audits."""
    found = []
    for kind, row in rows:
        if not row.consistent:
            found.append(f"{row.method}: sampled {row.lower_bound:.6g} above the exact loss {row.exact_epsilon:.6g}")
        if kind == "bad" and not row.accused:
            found.append(f"{row.method}: a known-bad mechanism was not caught (lower bound {row.lower_bound:.6g})")
        if kind == "bad" and row.keeps_promise:
            found.append(f"{row.method}: the exact audit missed a known-bad mechanism")
        if kind != "bad" and not row.keeps_promise:
            found.append(f"{row.method}: spends {row.exact_epsilon:.9g}, promises {row.claimed_epsilon:.9g}")
        if kind != "bad" and row.accused:
            found.append(f"{row.method}: sampled {row.lower_bound:.6g}, promises {row.claimed_epsilon:.6g}")
    return found
