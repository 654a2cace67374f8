"""The privacy audit of every method as rows of a table, and whether each keeps the epsilon that it states."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.audit import mutants
from lpbench.audit.accounting import TOLERANCE
from lpbench.audit.black_box import detectable, lower_bound
from lpbench.audit.foreign import complaints_of
from lpbench.audit.known_bad import KNOWN_BAD, KNOWN_GOOD
from lpbench.audit.methods import complaints
from lpbench.audit.mutants import MutantRow
from lpbench.audit.randomizers import exact_loss
from lpbench.audit.recorded import randomizer_of, recorded_run
from lpbench.derivation import remembered
from lpbench.disk import write_text
from lpbench.estimators.base import LocalEstimator
from lpbench.experiments import catalog
from lpbench.experiments.method import Method
from lpbench.experiments.spent import keeps_model
from lpbench.seeds import Streams

#: Budget of the audit, and the probability that anything that keeps its promise is accused, over all rows together.
EPSILON, AUDIT_FALSE_ALARM = 1.0, 1e-3

AUDIT_COLUMNS = (
    "method", "model", "claimed_epsilon", "exact_epsilon", "lower_bound", "confidence",
    "rounds", "bits_up", "bits_down", "devices", "shortcuts",
)  # fmt: skip


@dataclass(frozen=True)
class AuditRow:
    """One audited method or mechanism; :data:`AUDIT_COLUMNS` go to ``audit.csv``.

    It promises ``claimed_epsilon``, spends at most ``exact_epsilon`` and, as sampling proves with the ``confidence``,
    at least ``lower_bound``; bits are those of one user.
    """

    method: str
    model: str
    claimed_epsilon: float  # promised
    exact_epsilon: float  # spent at most
    lower_bound: float  # spent at least, as sampling proves
    confidence: float  # probability that ``lower_bound`` is one
    rounds: int = 0
    bits_up: float = 0.0  # per user, in the small sample of the audit
    bits_down: float = 0.0  # per user, in the small sample of the audit
    delta: float = 0.0
    note: str = ""
    devices: str = ""  # what was asked
    shortcuts: str = ""  # which answers are drawn by the exact law of the sums

    @property
    def slack(self) -> float:
        """Stated epsilon minus the exact one."""
        return 0.0 if math.isinf(self.claimed_epsilon) else self.claimed_epsilon - self.exact_epsilon

    @property
    def keeps_promise(self) -> bool:
        """True if the exact epsilon is at most the stated one."""
        return self.exact_epsilon <= self.claimed_epsilon + TOLERANCE

    @property
    def accused(self) -> bool:
        """True if the sampled lower bound alone proves that the stated epsilon is exceeded."""
        return self.lower_bound > self.claimed_epsilon + TOLERANCE


def audited_methods() -> list[str]:
    """Selectors of everything that is audited: every registered method, and the settings that its YAML names."""
    registered = catalog.methods()
    return [*registered, *(f"{name}[{setting}]" for name, method in registered.items() for setting in method.audited)]


def subjects() -> list[tuple[str, str]]:
    """List everything that is audited as pairs (kind, name): methods, then mechanisms known to be bad or good."""
    named = [("method", name) for name in audited_methods()]
    return named + [("bad", name) for name in KNOWN_BAD] + [("good", name) for name in KNOWN_GOOD]


def estimator_of(selector: str) -> LocalEstimator:
    """The estimator of a method ``name[param=value,...]`` at its tuning-free setting."""
    spec = catalog.method(selector)
    return spec.build().set_params(**(spec.tuning_free or {}))


@cache
def report_bits(method: str, epsilon: float) -> float:
    """Bits of a user's reports in the audit's small sample, without features sent in the clear; cached."""
    model = estimator_of(method)
    about = {"params": repr(model.get_params()), "epsilon": epsilon}
    code = [__name__, type(model).__module__]
    return float(remembered(f"bits of {method} {epsilon}", lambda: randomizer_of(model, epsilon).bits_up, about, code))


def method_complaints(selector: str) -> list[str]:
    """:func:`complaints_about` a method by its selector; nothing of somebody's own is imported."""
    return complaints_about(catalog.guarded_method(selector))


def complaints_about(method: Method) -> list[str]:
    """Everything that is wrong with a method, as sentences; one that is not of this library runs apart."""
    if not method.estimator.startswith("lpbench."):
        return complaints_of(method)
    model = method.build().set_params(**(method.tuning_free or {}))
    sentences = [str(complaint) for complaint in complaints(model)]
    says = method.privacy if sentences or not model.uses_epsilon else recorded_run(model, EPSILON).spent.model
    if not keeps_model(method.privacy, says, model.protects):
        sentences = [f"the YAML says privacy: {method.privacy}, the reports say {says}: write it there"]
    return [f"{method.name}: {complaint}" for complaint in dict.fromkeys(sentences)]  # one said at every budget is one


def base_methods() -> list[str]:
    """Selectors of the registered methods, of which mutants are made."""
    return catalog.method_names()


def mutant_rows(selector: str) -> list[MutantRow]:
    """Return the mutants of a registered method, each with the check that caught it."""
    return mutants.mutant_rows(selector, estimator_of(selector))


def failure_per_row() -> float:
    """Failure probability of one lower bound (Bonferroni over all rows)."""
    return AUDIT_FALSE_ALARM / len(subjects())


def audit(kind: str, name: str, samples: int, seed: int) -> AuditRow:
    """Audit one subject: exactly, and from ``samples`` draws of each of the two worst values."""
    facts: tuple[Any, ...]
    if kind == "method":
        recorded = recorded_run(estimator_of(name), EPSILON)
        randomizer, spent = recorded.randomizer, recorded.spent
        facts = spent.rounds, spent.bits_up, spent.bits_down, spent.delta, spent.note
        facts += recorded.devices, recorded.shortcuts
    else:
        randomizer = (KNOWN_BAD if kind == "bad" else KNOWN_GOOD)[name][1](EPSILON)
        facts = 0, 0.0, 0.0, randomizer.delta
    exact = math.inf if randomizer.model == "none" else exact_loss(randomizer).epsilon
    bound, confidence = 0.0, 1.0
    if randomizer.messages:
        streams = Streams(seed).child("audit", kind=kind, name=name)
        verdict = lower_bound(randomizer, samples, streams, failure_per_row())
        bound, confidence = verdict.bound, verdict.confidence
    return AuditRow(name, randomizer.model, randomizer.claimed, exact, bound, confidence, *facts)


def write_csv(rows: Sequence[AuditRow], path: Path) -> None:
    """Write the rows of an audit as ``audit.csv``."""
    table = pd.DataFrame([[getattr(row, name) for name in AUDIT_COLUMNS] for row in rows], columns=AUDIT_COLUMNS)
    write_text(table.to_csv(index=False, float_format="%.9g", lineterminator="\n"), path)


def problems(rows: Iterable[tuple[str, AuditRow]]) -> list[str]:
    """List everything that must not be: broken promises, missed mechanisms, contradictions of the two audits."""
    sentences = []
    for kind, row in rows:
        if not row.lower_bound <= row.exact_epsilon + TOLERANCE:
            sentences.append(
                f"{row.method}: sampled {row.lower_bound:.6g} above the exact loss {row.exact_epsilon:.6g}"
            )
        if kind == "bad" and not row.accused:
            sentences.append(f"{row.method}: a known-bad mechanism was not caught (lower bound {row.lower_bound:.6g})")
        if kind == "bad" and row.keeps_promise:
            sentences.append(f"{row.method}: the exact audit missed a known-bad mechanism")
        if kind != "bad" and not row.keeps_promise:
            sentences.append(f"{row.method}: spends {row.exact_epsilon:.9g}, promises {row.claimed_epsilon:.9g}")
        if kind != "bad" and row.accused:
            sentences.append(f"{row.method}: sampled {row.lower_bound:.6g}, promises {row.claimed_epsilon:.6g}")
    return sentences


def findings(rows: Sequence[tuple[str, AuditRow]], samples: int, seed: int) -> dict:
    """Return the findings of an audit as plain data: settings, power, methods, known bad and good mechanisms."""
    failure = failure_per_row()
    return {
        "epsilon": EPSILON,
        "samples": samples,
        "seed": seed,
        "failure": failure,
        "false_alarm": AUDIT_FALSE_ALARM,
        "detectable": detectable(samples, failure),
        "methods": _methods([row for kind, row in rows if kind == "method"]),
        "bad": _mechanisms([row for kind, row in rows if kind == "bad"], KNOWN_BAD, "what is wrong", "caught"),
        "good": _mechanisms([row for kind, row in rows if kind == "good"], KNOWN_GOOD, "what it spends", "accused"),
    }


def _methods(rows: Sequence[AuditRow]) -> dict:
    """Table of audited methods for the page: heads, and a row for each with promise, loss and cost."""
    heads = "method,model,promised,exact,slack,sampled,rounds,bits up,bits down,devices,note"
    body = []
    for row in rows:
        losses = row.claimed_epsilon, row.exact_epsilon, row.slack, row.lower_bound
        model = row.model if row.delta == 0 else f"{row.model}, δ = {row.delta:.1g}"
        body.append([row.method, model, *losses, row.rounds, row.bits_up, row.bits_down, row.devices, row.note])
    return _table(heads, body)


def _mechanisms(rows: Sequence[AuditRow], notes: Mapping[str, tuple], what: str, verdict: str) -> dict:
    body = []
    for row in rows:
        losses = row.claimed_epsilon, row.exact_epsilon, row.lower_bound
        body.append([row.method, notes[row.method][0], *losses, "yes" if row.accused else "no"])
    return _table(f"mechanism,{what},claimed,exact,sampled,{verdict}", body)


def _table(heads: str, rows: Sequence[Sequence]) -> dict:
    return {"heads": heads.split(","), "rows": [[_cell(value) for value in row] for row in rows]}


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    text = "∞" if math.isinf(value) else f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
