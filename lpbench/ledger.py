"""PrivacyLedger: what all fits inside a block cost a user together, and a limit on it."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import is_classifier

from lpbench.checks import check_number
from lpbench.errors import PrivacyError, SpendingWarning

#: Ledgers whose block is open; the fits of all threads are entered.
_OPEN: list[PrivacyLedger] = []
#: Whether what is learned here is part of something that is entered as a whole.
_ENTERED: ContextVar[bool] = ContextVar("entered", default=False)


@dataclass(frozen=True)
class Payment:
    """One fit: the estimator's class, the number of users, and what the user who spent most has spent on it."""

    method: str
    n: int
    epsilon: float
    delta: float


@dataclass(eq=False)
class PrivacyLedger:
    """Add up what every fit inside a ``with`` block costs each user, and every ``learn_from``.

    The users of a DataFrame are known by its index. The rows of an array have no names, so that its fits count for
    every user. Grid searches run in threads inside the block: fits in other processes could not be entered.

    Parameters
    ----------
    limit : float, optional
        Largest epsilon of a user; the fit that would exceed it is refused before anything is asked.

    Attributes
    ----------
    payments : list of Payment
        One for each fit.

    Examples
    --------
    >>> with PrivacyLedger(limit=2.0) as ledger:
    ...     model.fit(X, y)
    >>> print(ledger)
    """

    limit: float | None = None
    payments: list[Payment] = field(default_factory=list, init=False)
    _everyone: float = field(default=0.0, init=False, repr=False)
    _named: dict[Any, float] = field(default_factory=lambda: defaultdict(float), init=False, repr=False)
    _lock: Any = field(default_factory=Lock, init=False, repr=False)
    _threads: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.limit is not None:
            check_number("limit", self.limit, above=0)

    def __enter__(self) -> Self:
        self._threads = joblib.parallel_config(backend="threading")
        self._threads.__enter__()
        _OPEN.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _OPEN.remove(self)
        self._threads.__exit__(*error)
        repeated = [name for name in dict.fromkeys(p.method for p in self.payments) if self._count(name) > 1]
        if repeated:
            warnings.warn(f"{self}; PrivateSelectionRegressor and PrivateSelectionClassifier choose among the settings "
                          "of a method within the budget of one fit", SpendingWarning, stacklevel=2)  # fmt: skip

    @property
    def epsilon(self) -> float:
        """What the user who spent most has spent."""
        return self._everyone + max(self._named.values(), default=0.0)

    @property
    def delta(self) -> float:
        """The sum over all fits, at most 1."""
        return min(math.fsum(p.delta for p in self.payments), 1.0)

    def of(self, user: Any) -> float:
        """Return what one user has spent, by her label in the index of the DataFrames."""
        return self._everyone + self._named.get(user, 0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return fits and spending as plain numbers, for a paper or a log."""
        return {
            "fits": {name: self._count(name) for name in dict.fromkeys(p.method for p in self.payments)},
            "epsilon": self.epsilon,
            "delta": self.delta,
            "limit": self.limit,
        }

    def __str__(self) -> str:
        names = dict.fromkeys(p.method for p in self.payments)
        fits = ", ".join(f"{n} fit{'s' * (n > 1)} of {name}" for name in names for n in [self._count(name)])
        delta = f" and delta = {self.delta:.3g}" if self.delta else ""
        return f"{fits or 'no fit'} paid for: a user spent at most epsilon = {self.epsilon:.6g}{delta}"

    def _count(self, method: str) -> int:
        return sum(p.method == method for p in self.payments)

    def _admit(self, model: Any, labels: list[Any] | None) -> None:
        """Refuse a fit whose budget is more than is left to one of its users."""
        if self.limit is None:
            return
        bounded = model.uses_epsilon and not model.exceeds_budget
        cost = float(model.fit_epsilon) if bounded else math.inf
        before = self.epsilon if labels is None else max(map(self.of, labels), default=0.0)
        if before + cost > self.limit * (1.0 + 1e-9):
            raise PrivacyError(
                f"this fit of {type(model).__name__} costs epsilon = {cost:g}, and a user has "
                f"{self.limit - before:.6g} left of limit={self.limit:g}; lower its epsilon, raise the limit, "
                f"or choose settings by PrivateSelection{'Classifier' if is_classifier(model) else 'Regressor'}"
            )

    def _enter(self, model: Any, labels: list[Any] | None, spent: np.ndarray, delta: float) -> None:
        if labels is None:
            self._everyone += float(spent.max(initial=0.0))
        else:
            for label, epsilon in zip(labels, spent.tolist(), strict=True):
                self._named[label] += epsilon
        self.payments.append(Payment(type(model).__name__, len(spent), float(spent.max(initial=0.0)), float(delta)))


@contextmanager
def accounted(model: Any, users: Any, table: Any = None) -> Iterator[None]:
    """Enter what users spend on learning into the open ledgers, also if it fails half-way; once for nested methods."""
    if not _OPEN or _ENTERED.get():
        yield
        return
    ledgers, labels = list(_OPEN), list(table.index) if hasattr(table, "columns") else None
    for ledger in ledgers:
        with ledger._lock:
            ledger._admit(model, labels)
    before, delta = users.spent_by_user, users.spent.delta
    try:
        with unaccounted():
            yield
    finally:
        after = users.spent_by_user
        spent = np.where(np.isinf(after), np.inf, after - np.where(np.isinf(before), 0.0, before))
        for ledger in ledgers:
            with ledger._lock:
                ledger._enter(model, labels, spent, users.spent.delta - delta)


@contextmanager
def unaccounted() -> Iterator[None]:
    """Enter nothing: the sweeps of a benchmark ask simulated users again and again."""
    token = _ENTERED.set(True)
    try:
        yield
    finally:
        _ENTERED.reset(token)
