"""Mutant: a registered method with one promise broken, as patches of its estimator's functions.

Patches that hold only while ``fit`` or ``sweep`` (or another method) runs are written with :func:`during`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import numpy as np

Change = Callable[[], AbstractContextManager]
_ROOT = "lpbench.estimators."


@dataclass(frozen=True)
class Mutant:
    """A method with one promise broken.

    Attributes
    ----------
    method : str
        Selector of the registered method.
    what : str
    changes : tuple of callables
        Each returns a context manager that patches one attribute.
    budgets : tuple of float
        Budgets at which the method is checked, until it is caught.
    """

    method: str
    what: str
    changes: tuple[Change, ...]
    budgets: tuple[float, ...] = (1.0, 8.0)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Patch the estimator while the block runs."""
        with ExitStack() as stack:
            for change in self.changes:
                stack.enter_context(change())
            yield


def wrapped(path: str, make: Callable[[Callable], Callable]) -> Change:
    """Patch the function at a dotted path by ``make(original)``."""

    def change() -> AbstractContextManager:
        owner_path, _, name = (_ROOT + path).rpartition(".")
        owner = resolve_name(owner_path)
        attribute = vars(owner)[name]
        if isinstance(attribute, (classmethod, staticmethod)):
            return patch.object(owner, name, staticmethod(make(getattr(owner, name))))
        return patch.object(owner, name, wraps(attribute)(make(attribute)))

    return change


def during(path: str, *changes: Change) -> Change:
    """Apply changes only while the function at a dotted path runs."""

    def make(original: Callable) -> Callable:
        def inside(*args: Any, **kwargs: Any) -> Any:
            with ExitStack() as stack:
                for change in changes:
                    stack.enter_context(change())
                return original(*args, **kwargs)

        return inside

    return wrapped(path, make)


def with_raw_labels(check: Callable) -> Callable:
    """Take the public range from the labels, whatever was declared."""

    def checks(self: Any, y: np.ndarray) -> Any:
        return (float(y.min()), float(y.max())), ""

    return checks


def scaled_epsilon(factor: float) -> Callable[[Callable], Callable]:
    """Multiply the argument ``epsilon`` or ``budget`` that follows two or three others."""

    def make(randomise: Callable) -> Callable:
        def randomises(*args: Any, **kwargs: Any) -> Any:
            place = next(k for k, value in enumerate(args) if isinstance(value, float))
            return randomise(*args[:place], factor * args[place], *args[place + 1 :], **kwargs)

        return randomises

    return make


def multiplied(given: Any, **factors: float) -> Any:
    """A dataclass with some of its numbers multiplied."""
    return replace(given, **{name: factor * getattr(given, name) for name, factor in factors.items()})


#: HistOfTree spends the whole budget on the label, and then the cell's share.
FULL_BUDGET = wrapped(
    "histoftree.rounds.Setting.budgets",
    lambda budgets: lambda self, epsilon: (epsilon, budgets(self, epsilon)[1]),
)


def halved_label(label: Callable) -> Callable:
    """Halve the noise of labels."""
    return lambda self, records, question, draws: (records.y + label(self, records, question, draws)) / 2.0


def twice_the_levels_budget(report: Callable) -> Callable:
    """Randomise the levels of residuals at twice the budget."""

    def reports(self: Any, records: Any, question: Any, draws: np.ndarray) -> np.ndarray:
        return report(self, records, replace(question, report=multiplied(question.report, budget=2.0)), draws)

    return reports
