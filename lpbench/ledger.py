"""PrivacyLedger: what all fits inside a block cost a user together, and a limit on it."""

from __future__ import annotations

import math
import os
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import is_classifier

from lpbench.checks import check_number, names_nobody
from lpbench.errors import LimitError, PrivacyError, SpendingWarning
from lpbench.privacy.guarantee import believed
from lpbench.process_marks import mark, marked_above

#: Ledgers whose block is open; the fits of all threads are entered.
_OPEN: list[PrivacyLedger] = []
#: Rows a distinct row, beyond which users who are alike are to be expected.
_COARSE = 10
#: Whether what is learned here is part of something that is entered as a whole.
_ENTERED: ContextVar[bool] = ContextVar("entered", default=False)


@dataclass(frozen=True)
class Payment:
    """One fit: the estimator's class, the number of users, and what the user who spent most has spent on it.

    Parameters
    ----------
    method : str
        Class of the estimator.
    n : int
        Number of users.
    epsilon, delta : float
        Spending of the user who spent most on this fit.
    """

    method: str
    n: int
    epsilon: float
    delta: float


@dataclass(eq=False)
class PrivacyLedger:
    """Add up what every fit inside a ``with`` block costs each user, and every ``learn_from``.

    The users of a DataFrame are known by its index, or by ``units`` where ``fit`` was given them. The rows of an array,
    or of a table whose index misses a name, have no names, so that its fits count for every user; rows that are the
    same are taken for one, unless a table has so few categories that users are alike. A copy of a ledger starts from
    what was spent and counts on its own. What a fit says that it may spend is reserved before it begins, so that the
    limit holds in threads, and what it asks is refused where it would spend more than is left. Grid searches run in
    threads inside the block: a fit in another process, which could not be entered, is refused.

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
    _reserved: dict[_Owners, np.ndarray] = field(default_factory=dict, init=False, repr=False)
    _lock: Any = field(default_factory=Lock, init=False, repr=False)
    _threads: Any = field(default=None, init=False, repr=False)
    _process: int = field(default=0, init=False, repr=False)
    _mark: Path = field(default=Path(), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.limit is not None:
            check_number("limit", self.limit, above=0)

    def __copy__(self) -> Self:
        """Return a ledger that starts from what was spent and counts on its own; copy.deepcopy does the same."""
        twin = replace(self)
        with self._lock:
            twin.payments, twin._everyone = list(self.payments), self._everyone
            twin._named.update(self._named)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise PrivacyError(
            "a PrivacyLedger cannot be pickled: it would not know what another process spends; keep its numbers "
            "by ledger.as_dict(), or a copy that counts on its own by copy.copy(ledger)"
        )

    def __enter__(self) -> Self:
        self._threads = joblib.parallel_config(backend="threading")
        self._threads.__enter__()
        _OPEN.append(self)
        self._process, self._mark = os.getpid(), mark("ledger")
        return self

    def __exit__(self, *error: Any) -> None:
        """Close the ledger, and warn of several fits of a method: choosing among them costs the sum of budgets."""
        _OPEN.remove(self)
        if self._process == os.getpid():
            self._mark.unlink(missing_ok=True)
        self._threads.__exit__(*error)
        repeated = [name for name in dict.fromkeys(p.method for p in self.payments) if self._count(name) > 1]
        if repeated:
            paid = str(self).partition(";")[0]
            warnings.warn(
                f"{paid}; PrivateSelectionRegressor and PrivateSelectionClassifier choose among the settings "
                "of a method within the budget of one fit",
                SpendingWarning,
                stacklevel=2,
            )

    @property
    def epsilon(self) -> float:
        """Return the epsilon of the user who spent most over all fits of the block."""
        return self._everyone + max(self._named.values(), default=0.0)

    @property
    def delta(self) -> float:
        """The sum over all fits, at most 1."""
        return min(math.fsum(p.delta for p in self.payments), 1.0)

    def of(self, user: Any) -> float:
        """Return what one user has spent, by her label in the index of the DataFrames.

        Parameters
        ----------
        user : hashable
            Label in the index of DataFrames that were fitted to; one never seen counts as a user without a name.

        Returns
        -------
        float
            Epsilon by composition over all fits, those of users without names included: any of them may be hers.
        """
        return self._everyone + self._named.get(user, 0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return fits and spending as plain numbers, for a paper or a log.

        Returns
        -------
        dict
            ``fits`` (number by method), ``epsilon`` and ``delta`` (of the user who spent most), and ``limit`` (None: no
            limit).
        """
        return {
            "fits": {name: self._count(name) for name in dict.fromkeys(p.method for p in self.payments)},
            "epsilon": self.epsilon,
            "delta": self.delta,
            "limit": None if self.limit is None else float(self.limit),
        }

    def __str__(self) -> str:
        names = dict.fromkeys(p.method for p in self.payments)
        fits = ", ".join(f"{n} fit{'s' * (n > 1)} of {name}" for name in names for n in [self._count(name)])
        delta = f" and delta = {self.delta:.3g}" if self.delta else ""
        belief = f"; {believed(self.epsilon, self.delta, 'all of them')}" if self.payments else ""
        return f"{fits or 'no fit'} paid for: a user spent at most epsilon = {self.epsilon:.6g}{delta}{belief}"

    def _count(self, method: str) -> int:
        return sum(p.method == method for p in self.payments)

    def _reserve(self, model: Any, rows: _Owners, costs: np.ndarray) -> None:
        """Set aside what a fit costs, or more than before; LimitError if a user of it has less left.

        ``rows`` are the owners of the fit's rows and ``costs`` (users,) their epsilon. PrivacyError in another process.
        """
        if self._process != os.getpid():
            raise _elsewhere(type(model).__name__, self._process)
        if self.limit is None:
            return
        with self._lock:
            before, costs = self._before(rows), np.maximum(costs, self._reserved.get(rows, 0.0))
            worst = int(np.argmax(before + costs))
            if before[worst] + costs[worst] > self.limit * (1.0 + 1e-9):
                selection = f"PrivateSelection{'Classifier' if is_classifier(model) else 'Regressor'}"
                raise LimitError(
                    f"this fit of {type(model).__name__} costs epsilon = {costs[worst]:g}, and a user has "
                    f"{self.limit - before[worst]:.6g} left of limit={self.limit:g}; lower its epsilon, raise the "
                    f"limit, or choose settings by {selection}"
                )
            self._reserved[rows] = costs

    def _before(self, rows: _Owners) -> np.ndarray:
        """Return the epsilon that each user has spent, or open fits have reserved, (users of the rows,)."""
        everyone, named = self._everyone, defaultdict(float, self._named)
        for others, costs in self._reserved.items():
            if others is rows:
                continue
            if others.labels is None:
                everyone += float(costs.max(initial=0.0))
            else:
                for label, cost in zip(others.labels, costs.tolist(), strict=True):
                    named[label] += cost
        if rows.labels is None:
            return np.full(rows.n_users, everyone + max(named.values(), default=0.0))
        return everyone + np.array([named[label] for label in rows.labels])

    def _settle(self, rows: _Owners, payment: Payment | None, spent: np.ndarray) -> None:
        """Enter what a fit has cost its users, ``spent`` (users,), in the place of what was reserved.

        ``payment`` None: the fit did not begin, and nothing is entered.
        """
        with self._lock:
            self._reserved.pop(rows, None)
            if payment is None:
                return
            if rows.labels is None:
                self._everyone += float(spent.max(initial=0.0))
            else:
                for label, epsilon in zip(rows.labels, spent.tolist(), strict=True):
                    self._named[label] += epsilon
            self.payments.append(payment)


@dataclass(frozen=True, eq=False)
class _Owners:
    """Whose the rows of a fit are: users with labels, or, without names, rows that are the same are one user's.

    ``user`` (n,) is the number of each row's user, ``labels`` the names by number (None: nameless), and ``copies`` a
    warning about equal rows.
    """

    user: np.ndarray  # shape (n,), number of each row's user
    labels: list[Any] | None  # of the users
    n_users: int
    copies: str = ""  # a sentence if one row stands for several users, or several times for one without a name

    @classmethod
    def of(cls, table: Any, y: Any, n: int) -> _Owners:
        """Tell the users of a table by its index, those of an array by its rows, and those of no table by number."""
        if table is None:
            return cls(np.arange(n), None, n)
        X = np.asarray(table)
        cells = map(repr, X.tolist()) if X.dtype == object else (row.tobytes() for row in np.ascontiguousarray(X))
        rows, contents = _numbered(zip(cells, np.asarray(y).tolist(), strict=True))
        indexed = hasattr(table, "columns") and hasattr(table, "index")
        names = list(table.index if indexed else range(n))
        nameless = [k for k, name in enumerate(names) if indexed and names_nobody(name)]
        for k in nameless:
            names[k] = (None, rows[k] if len(contents) > n / _COARSE else k)
        users, labels = _numbered(names)
        named = labels if indexed and not nameless else None
        # one row under several labels, or without any
        times = int(np.bincount(rows[np.unique(rows * n + users, return_index=True)[1]]).max(initial=1))
        if times == 1:
            return cls(users, named, len(labels))
        warning = f"a row stands {times} times and is taken for "
        if not indexed and len(contents) > n / _COARSE:
            warning += (
                "one user, who pays for each; where these are different users, pass a DataFrame, whose index says so"
            )
            return cls(rows, None, len(contents), warning)
        warning += f"{times} users; where it is one user's, say so by the index of a DataFrame"
        # in a table of few categories different users are alike
        is_doubtful = len(contents) > n / _COARSE or not indexed
        return cls(users, named, len(labels), warning if is_doubtful else "")

    @classmethod
    def named(cls, units: Any) -> _Owners:
        """Make the owners of rows that are named by ``units``, such as persons."""
        users, labels = _numbered(np.asarray(units).tolist())
        return cls(users, labels, len(labels))

    def by_user(self, values: np.ndarray) -> np.ndarray:
        """Add up the rows' numbers by user: (n,) to (users,)."""
        return np.bincount(self.user, weights=values, minlength=self.n_users)


def _numbered(names: Iterable[Any]) -> tuple[np.ndarray, list[Any]]:
    """Number of each name, in the order in which they are met, and the names."""
    places: dict[Any, int] = {}
    return np.array([places.setdefault(name, len(places)) for name in names], dtype=np.intp), list(places)


def accounted(
    model: Any, users: Any, table: Any = None, y: Any = None, units: Any = None
) -> AbstractContextManager[None]:
    """Enter what users spend on learning into the open ledgers, also if it fails half-way; once for nested methods.

    Raises
    ------
    LimitError
        A user would spend more than is left, by what the fit says at first or by what it asks.
    PrivacyError
        A ledger is open in a process that has started this one, and could not be entered from here.
    """
    if _ENTERED.get() or not (table is None or _OPEN):  # a fit learns from users, where the marks are read
        return nullcontext()
    if process := marked_above("ledger"):
        raise _elsewhere(type(model).__name__, process)
    return _entered(model, users, table, y, units) if _OPEN else nullcontext()


def _elsewhere(method: str, process: int) -> PrivacyError:
    return PrivacyError(
        f"a PrivacyLedger is open in process {process}, which this fit of {method} in process {os.getpid()} could not "
        "enter; fit in threads, as joblib does inside the block, or close the block before"
    )


@contextmanager
def _entered(model: Any, users: Any, table: Any, y: Any, units: Any) -> Iterator[None]:
    """Context of a fit: reserve its stated cost in all open ledgers, and enter at the end what it has really spent.

    ``table``, ``y`` and ``units`` tell whose the rows are. Ledgers within the fit are not charged again. A fit that
    stops early pays for what was asked until then.
    """
    before, delta, started, open_ledgers = users.spent_by_user, users.spent.delta, False, list[PrivacyLedger]()
    rows = _Owners.of(table, y, before.size) if units is None else _Owners.named(units)
    bounded = model.uses_epsilon and not model.exceeds_budget
    stated = rows.by_user(np.full(rows.user.size, float(model.fit_epsilon) if bounded else math.inf))

    def spent_at(after: np.ndarray) -> np.ndarray:
        return rows.by_user(np.where(np.isinf(after), np.inf, after - np.where(np.isinf(before), 0.0, before)))

    def charged(after: np.ndarray) -> None:
        for ledger in open_ledgers:
            ledger._reserve(model, rows, spent_at(after))

    try:
        for ledger in tuple(_OPEN):
            ledger._reserve(model, rows, stated)
            open_ledgers.append(ledger)
        started = True
        with unaccounted(), users.charged(charged):
            yield
    finally:
        spent = spent_at(users.spent_by_user)
        most, more = float(spent.max(initial=0.0)), float(users.spent.delta - delta)
        for ledger in open_ledgers:
            ledger._settle(rows, Payment(type(model).__name__, before.size, most, more) if started else None, spent)
        if started and rows.copies:
            warnings.warn(rows.copies, SpendingWarning, stacklevel=4)


@contextmanager
def unaccounted() -> Iterator[None]:
    """Enter nothing: the sweeps of a benchmark ask simulated users again and again."""
    token = _ENTERED.set(True)
    try:
        yield
    finally:
        _ENTERED.reset(token)
