"""Checks of whole methods, in fit and in sweep: leaks, budgets, noise and sums; and which of them catch a mutant."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import chain
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
    for stage in stages(selector, budgets):
        yield from stage


def stages(selector: str, budgets: tuple[float, ...]) -> Iterator[Iterator[Complaint]]:
    """The checks of :func:`complaints`, to be run one after the other; what costs little and finds much comes first."""
    checks = _Checks(selector)
    first, *others = settings(selector, budgets)
    tuning_free, *ends = grid_points(selector, first)
    yield chain(checks.of_fit(first), checks.of_points(first, [tuning_free]))
    yield (
        Complaint("sum law", "sweep" if " in sweep " in broken else "fit", broken) for broken in broken_laws(selector)
    )
    yield checks.of_points(first, ends)
    yield chain(_of_reruns(Fitting(first, QUERIES), "fit"), _of_reruns(_alone(first, tuning_free), "sweep"))
    yield checks.of_grid(first)
    for model in others:
        yield chain(checks.of_fit(model), checks.of_points(model, grid_points(selector, model)))
    for model in grid_ends(selector, budgets[0]):
        yield checks.of_fit(model)


def _alone(model: BaseEstimator, point: Mapping[str, Any]) -> Sweeping:
    """A sweep of one point at the model's budget."""
    return Sweeping(model, QUERIES, [clone(model).set_params(**point).epsilon], [point])


class _Checks:
    """Checks of single runs of a method, which remember what honest fits and sweeps of single points gave."""

    def __init__(self, selector: str):
        self.selector, self.protects = selector, registry.method(selector).privacy
        self._fitted: dict[str, BaseEstimator] = {}
        self._scores: list[tuple[Mapping[str, Any], float]] = []

    def fitted(self, model: BaseEstimator) -> BaseEstimator:
        """The model fitted to the first sample, once for each setting."""
        setting = str(model.get_params())
        if setting not in self._fitted:
            self._fitted[setting] = clone(model).fit(**first_sample(model))
        return self._fitted[setting]

    def of_fit(self, model: BaseEstimator) -> Iterator[Complaint]:
        """Check a fit."""
        _, found = self._of_run(self.fitted(model), Fitting(model, QUERIES), "fit")
        yield from found

    def of_points(self, model: BaseEstimator, points: Iterable[Mapping[str, Any]]) -> Iterator[Complaint]:
        """Check sweeps of one point each."""
        for point in points:
            run = _alone(model, point)
            scores, found = self._of_run(self.fitted(clone(model).set_params(**point)), run, "sweep")
            self._scores.append((point, float(scores[-1])))
            yield from found

    def of_grid(self, model: BaseEstimator) -> Iterator[Complaint]:
        """Check a sweep of many points and two budgets: as a whole, and that it scores points as sweeps of one do.

        The sweeps of single points were checked: what holds for them holds for every point that scores the same.
        """
        points = [point for point, _ in self._scores]
        points += [point for point in spread_points(self.selector, model) if point not in points]
        sources, first = REPORT_SOURCES[type(model)](model), first_sample(model)
        # Noise that all budgets share can be shifted for one of them only.
        shared = any(source.reconcile for source in sources)
        budgets = [model.epsilon] if shared else [2.0 * model.epsilon, model.epsilon]
        run = Sweeping(model, QUERIES, budgets, points)
        expected, tape = record(sources, run, first)
        weak = wrong_law(tape)
        if weak:
            yield Complaint("device audit", "sweep", f"{weak} (many points)")
        leak = find_leak(
            sources, run, tape, expected, other_sample(first, self.protects, CHANGES[0]), self.fitted(model)
        )
        if leak:
            yield Complaint("leak test", "sweep", f"{leak} (many points)")
        scores = expected[-len(budgets) * len(points) :].reshape(len(budgets), len(points))
        for k, (point, single) in enumerate(self._scores):
            if not np.allclose(scores[-1, k], single, rtol=1e-6, atol=1e-9, equal_nan=True):
                yield Complaint("sum law", "sweep", f"point {point} scores otherwise in a sweep of many points")
                return

    def _of_run(self, fitted: BaseEstimator, run: Run, path: str) -> tuple[np.ndarray, Iterator[Complaint]]:
        """What a run on the first sample returns, and what is wrong with the run."""
        sources, first = REPORT_SOURCES[type(fitted)](fitted), first_sample(fitted)
        expected, tape = record(sources, run, first)

        def found() -> Iterator[Complaint]:
            beyond = overdraft(tape, fitted, N)
            if beyond:
                yield Complaint("accountant", path, beyond)
            weak = wrong_law(tape)
            if weak:
                yield Complaint("device audit", path, weak)
            for change in CHANGES:
                leak = find_leak(sources, run, tape, expected, other_sample(first, self.protects, change), fitted)
                if leak:
                    yield Complaint("leak test", path, f"{leak} (labels {change})")
                    return

        return expected, found()


def _of_reruns(run: Fitting | Sweeping, path: str) -> Iterator[Complaint]:
    """Check what whole runs under several seeds have drawn."""
    sources, first = REPORT_SOURCES[type(run.model)](run.model), first_sample(run.model)
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

    Its device, and then stage after stage of the checks, are tried at one budget after the other, until a stage has
    found something: later ones, which might find more, are left out.
    """
    mutant = KNOWN_BAD_METHODS[name]
    with mutant.applied():
        found = {(c.check, c.path): c for c in of_device(mutant.method)}
        for budget in mutant.budgets:
            for stage in stages(mutant.method, (budget,)):
                found |= {(c.check, c.path): c for c in stage}
                if found:
                    return [found[key] for key in sorted(found)]
    return []


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
