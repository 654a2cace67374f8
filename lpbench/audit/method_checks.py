"""Checks of whole methods, in fit and in sweep: leaks, budgets, noise and sums; and which of them catch a mutant."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from lpbench.audit import table
from lpbench.audit.accountant import overdraft, wrong_law
from lpbench.audit.known_bad_methods import KNOWN_BAD_METHODS
from lpbench.audit.leaks import Fitting, Run, Sweeping, find_leak, record
from lpbench.audit.report_sources import REPORT_SOURCES
from lpbench.audit.reruns import SEEDS, broken_runs
from lpbench.audit.samples import (
    CHANGES,
    QUERIES,
    N,
    first_sample,
    grid_ends,
    grid_points,
    other_sample,
    settings,
    spread_points,
)
from lpbench.audit.sum_laws import broken_laws
from lpbench.experiments import catalogue as registry

#: Samples of each of two values of the devices of known-bad methods.
DEVICE_SAMPLES = 20_000


@dataclass(frozen=True)
class Complaint:
    """What a check found.

    Attributes
    ----------
    check : {"device audit", "leak test", "sum law", "accountant"}
    path : {"fit", "sweep"}
    what : str
        A sentence.
    """

    check: str
    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.check} ({self.path}): {self.what}"


def complaints(selector: str, budgets: tuple[float, ...] = (1.0, 8.0)) -> Iterator[Complaint]:
    """Check a registered method at all its settings: leak test, accountant, sampled noise of labels, laws of sums.

    Parameters
    ----------
    selector : str
        ``name[param=value,...]`` of a method that protects something.
    budgets : tuple of float

    Yields
    ------
    Complaint
        None, if the method keeps its promise.
    """
    spec = registry.method(selector)
    protects = spec.privacy
    for broken in broken_laws(selector):
        yield Complaint("sum law", "sweep" if " in sweep " in broken else "fit", broken)
    for number, model in enumerate(settings(selector, budgets)):
        fitting, first = Fitting(model, QUERIES), first_sample(model)
        fitted = clone(model).fit(**first)
        yield from _of_run(fitted, fitting, protects, "fit")
        alone = []
        for point in grid_points(selector, model):
            at_point = clone(model).set_params(**point)
            run = Sweeping(model, QUERIES, [at_point.epsilon], [point])
            same = str(at_point.get_params()) == str(model.get_params())
            yield from _of_run(fitted if same else at_point.fit(**first), run, protects, "sweep")
            alone.append((point, run))
        if number == 0:
            yield from _of_reruns(model, fitting, "fit")
            yield from _of_reruns(model, alone[0][1], "sweep")
            yield from _of_grid(selector, fitted, alone, protects)
    for model in grid_ends(selector, budgets[0]):
        yield from _of_run(clone(model).fit(**first_sample(model)), Fitting(model, QUERIES), protects, "fit")


def _of_grid(
    selector: str, fitted: BaseEstimator, alone: Sequence[tuple[dict, Sweeping]], protects: str
) -> Iterator[Complaint]:
    """Check a sweep of many points and two budgets: as a whole, and that it scores points as sweeps of one do.

    The sweeps of single points were checked: what holds for them holds for every point that scores the same.
    """
    points, model = [point for point, _ in alone], clone(fitted)
    points += [point for point in spread_points(selector, model) if point not in points]
    sources, first = REPORT_SOURCES[type(model)](model), first_sample(model)
    # Noise that all budgets share can be shifted for one of them only.
    shared = any(source.reconcile for source in sources)
    budgets = [model.epsilon] if shared else [2.0 * model.epsilon, model.epsilon]
    run = Sweeping(model, QUERIES, budgets, points)
    expected, tape = record(sources, run, first)
    weak = wrong_law(tape)
    if weak:
        yield Complaint("device audit", "sweep", f"{weak} (many points)")
    leak = find_leak(sources, run, tape, expected, other_sample(first, protects, CHANGES[0]), fitted)
    if leak:
        yield Complaint("leak test", "sweep", f"{leak} (many points)")
    scores = expected[-len(budgets) * len(points) :].reshape(len(budgets), len(points))
    for k, (_, single) in enumerate(alone):
        if not np.allclose(scores[-1, k], single(first)[-1], rtol=1e-6, atol=1e-9, equal_nan=True):
            yield Complaint("sum law", "sweep", f"point {points[k]} scores otherwise in a sweep of many points")
            return


def _of_reruns(model: BaseEstimator, run: Fitting | Sweeping, path: str) -> Iterator[Complaint]:
    """Check what whole runs under several seeds have drawn."""
    sources, first = REPORT_SOURCES[type(model)](model), first_sample(model)
    if not any(source.law for source in sources):
        return
    tapes = [record(sources, run.seeded(seed), first, again=False)[1] for seed in SEEDS]
    found = broken_runs(tapes, N)
    if found:
        yield Complaint("device audit", path, f"{found} (in {len(SEEDS)} runs)")


def of_device(selector: str) -> Iterator[Complaint]:
    """Check the device that fit asks, exactly and by sampling it for single users."""
    for problem in table.problems([("method", table.audit("method", selector, DEVICE_SAMPLES, 20260303))]):
        yield Complaint("device audit", "fit", problem)


def _of_run(fitted: BaseEstimator, run: Run, protects: str, path: str) -> Iterator[Complaint]:
    sources: Sequence[Any] = REPORT_SOURCES[type(fitted)](fitted)
    first = first_sample(fitted)
    expected, tape = record(sources, run, first)
    beyond = overdraft(tape, fitted, N)
    if beyond:
        yield Complaint("accountant", path, beyond)
    weak = wrong_law(tape)
    if weak:
        yield Complaint("device audit", path, weak)
    for change in CHANGES:
        leak = find_leak(sources, run, tape, expected, other_sample(first, protects, change), fitted)
        if leak:
            yield Complaint("leak test", path, f"{leak} (labels {change})")
            return


@dataclass(frozen=True)
class MutantRow:
    """A known-bad method and the checks that catch it: one line of ``audit_mutants.csv``."""

    method: str
    mutant: str
    caught_by: str


def checked(selector: str) -> list[str]:
    """Complaints about a method, each with its name."""
    return [f"{selector}: {complaint}" for complaint in complaints(selector)]


def caught_by(name: str) -> list[Complaint]:
    """What the checks say about a known-bad method, one complaint for each check and path.

    It is checked at one budget after the other, until something is found.
    """
    mutant = KNOWN_BAD_METHODS[name]
    with mutant.applied():
        found = {(c.check, c.path): c for c in of_device(mutant.method)}
        for budget in mutant.budgets:
            found |= {(c.check, c.path): c for c in complaints(mutant.method, (budget,))}
            if found:
                break
    return [found[key] for key in sorted(found)]


def mutant_row(name: str) -> MutantRow:
    """Check a known-bad method."""
    checks = [f"{complaint.check} in {complaint.path}" for complaint in caught_by(name)]
    return MutantRow(KNOWN_BAD_METHODS[name].method, name, "; ".join(checks))


def mutants_of(methods: Iterable[str]) -> list[str]:
    """Names of the known-bad versions of the methods with the given selectors."""
    known = {selector.partition("[")[0] for selector in methods}
    return [name for name, mutant in KNOWN_BAD_METHODS.items() if mutant.method.partition("[")[0] in known]


def write_mutants(rows: Sequence[MutantRow], path: Path) -> None:
    """Write ``audit_mutants.csv``."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("method", "mutant", "caught_by"))
        writer.writerows(map(astuple, rows))


def missed(rows: Iterable[MutantRow]) -> list[str]:
    """Say which known-bad methods no check catches; the audit of their methods proves nothing then."""
    return [f"{row.method}: the known-bad method {row.mutant} was not caught" for row in rows if not row.caught_by]
