"""PrivacyLedger: what all fits inside a block cost a user together, and a limit on it."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import count
from numbers import Real
from pickle import PicklingError
from threading import Lock
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import is_classifier

from lpbench.checks import check_number, names_nobody
from lpbench.errors import LimitError, PrivacyError, SpendingWarning
from lpbench.privacy.guarantee import believed

#: Ledgers whose block is open; the fits of all threads are entered.
_OPEN: list[PrivacyLedger] = []
#: Rows a distinct row, beyond which users who are alike are to be expected.
_COARSE = 10
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

    The users of a DataFrame are known by its index, or by ``units`` where ``fit`` was given them. The rows of an array,
    or of a table whose index misses a name, have no names, so that its fits count for every user; rows that are the
    same are taken for one, unless a table has so few categories that users are alike. A copy of a ledger starts from
    what was spent and counts on its own. Different fits draw randomness of their own, by their seed and their number in
    the ledger: noise that two fits at two budgets shared could be subtracted. What a fit may spend is reserved before
    it begins, so that the limit holds in threads. Grid searches run in threads inside the block: other processes could
    not be entered.

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
    _begun: dict[Any, int] = field(default_factory=lambda: defaultdict(count().__next__), init=False, repr=False)
    _lock: Any = field(default_factory=Lock, init=False, repr=False)
    _threads: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.limit is not None:
            check_number("limit", self.limit, above=0)

    def __copy__(self) -> Self:
        """Return a ledger that starts from what was spent and counts on its own; copy.deepcopy does the same."""
        twin = replace(self)
        with self._lock:
            twin.payments, twin._everyone = list(self.payments), self._everyone
            twin._named.update(self._named)
            twin._begun = defaultdict(count(len(self._begun)).__next__, self._begun)
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
        return self

    def __exit__(self, *error: Any) -> None:
        _OPEN.remove(self)
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
            "limit": None if self.limit is None else float(self.limit),
        }

    def __str__(self) -> str:
        names = dict.fromkeys(p.method for p in self.payments)
        fits = ", ".join(f"{n} fit{'s' * (n > 1)} of {name}" for name in names for n in [self._count(name)])
        delta = f" and delta = {self.delta:.3g}" if self.delta else ""
        told = f"; {believed(self.epsilon, self.delta, 'all of them')}" if self.payments else ""
        return f"{fits or 'no fit'} paid for: a user spent at most epsilon = {self.epsilon:.6g}{delta}{told}"

    def _count(self, method: str) -> int:
        return sum(p.method == method for p in self.payments)

    def _reserve(self, model: Any, rows: _Owners) -> None:
        """Set aside what a fit may cost; refused if that is more than is left to one of its users."""
        if self.limit is None:
            return
        bounded = model.uses_epsilon and not model.exceeds_budget
        costs = rows.by_user(np.full(rows.user.size, float(model.fit_epsilon) if bounded else math.inf))
        with self._lock:
            before = self._before(rows)
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
        """What users have spent, or others have reserved of them, shape (users of the rows,)."""
        everyone, named = self._everyone, defaultdict(float, self._named)
        for others, costs in self._reserved.items():
            if others.labels is None:
                everyone += float(costs.max(initial=0.0))
            else:
                for label, cost in zip(others.labels, costs.tolist(), strict=True):
                    named[label] += cost
        if rows.labels is None:
            return np.full(rows.n_users, everyone + max(named.values(), default=0.0))
        return everyone + np.array([named[label] for label in rows.labels])

    def _settle(self, rows: _Owners, payment: Payment | None, spent: np.ndarray) -> None:
        """Enter what a fit has cost its users in the place of what was reserved; nothing if it did not begin."""
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
    """Whose the rows of a fit are: users with labels, or, without names, rows that are the same are one user's."""

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
        said = f"a row stands {times} times and is taken for "
        if not indexed and len(contents) > n / _COARSE:
            said += (
                "one user, who pays for each; where these are different users, pass a DataFrame, whose index says so"
            )
            return cls(rows, None, len(contents), said)
        said += f"{times} users; where it is one user's, say so by the index of a DataFrame"
        # in a table of few categories different users are alike
        told = len(contents) > n / _COARSE or not indexed
        return cls(users, named, len(labels), said if told else "")

    @classmethod
    def named(cls, units: Any) -> _Owners:
        """Users who are named by their rows."""
        users, labels = _numbered(np.asarray(units).tolist())
        return cls(users, labels, len(labels))

    def by_user(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.user, weights=values, minlength=self.n_users)


def _numbered(names: Iterable[Any]) -> tuple[np.ndarray, list[Any]]:
    """Number of each name, in the order in which they are met, and the names."""
    places: dict[Any, int] = {}
    return np.array([places.setdefault(name, len(places)) for name in names], dtype=np.intp), list(places)


def numbers_of_fit(model: Any, seed: int, *data: Any) -> tuple[int, ...]:
    """Number of a fit among the different ones in each open ledger; the same fit again is entered again."""
    if not _OPEN:
        return ()
    params = {name: _as_floats(v) for name, v in model.get_params(deep=False).items() if name != "random_state"}
    try:
        content: Any = joblib.hash([type(model).__qualname__, params, seed, *data])
    except (TypeError, AttributeError, PicklingError):  # of what cannot be compared no two are the same
        content = object()
    numbers = tuple(ledger._begun[content] for ledger in tuple(_OPEN))
    return numbers if any(numbers) else ()


def _as_floats(value: Any) -> Any:
    """Equal numbers of any type as one."""
    if isinstance(value, (list, tuple)):
        return [_as_floats(v) for v in value]
    return float(value) if isinstance(value, Real) else value


def accounted(
    model: Any, users: Any, table: Any = None, y: Any = None, units: Any = None
) -> AbstractContextManager[None]:
    """Enter what users spend on learning into the open ledgers, also if it fails half-way; once for nested methods."""
    return nullcontext() if not _OPEN or _ENTERED.get() else _entered(model, users, table, y, units)


@contextmanager
def _entered(model: Any, users: Any, table: Any, y: Any, units: Any) -> Iterator[None]:
    before, delta, begun, asked = users.spent_by_user, users.spent.delta, False, list[PrivacyLedger]()
    rows = _Owners.of(table, y, before.size) if units is None else _Owners.named(units)
    try:
        for ledger in tuple(_OPEN):
            ledger._reserve(model, rows)
            asked.append(ledger)
        begun = True
        with unaccounted():
            yield
    finally:
        after = users.spent_by_user
        spent = rows.by_user(np.where(np.isinf(after), np.inf, after - np.where(np.isinf(before), 0.0, before)))
        most, more = float(spent.max(initial=0.0)), float(users.spent.delta - delta)
        for ledger in asked:
            ledger._settle(rows, Payment(type(model).__name__, len(after), most, more) if begun else None, spent)
        if begun and rows.copies:
            warnings.warn(rows.copies, SpendingWarning, stacklevel=4)


@contextmanager
def unaccounted() -> Iterator[None]:
    """Enter nothing: the sweeps of a benchmark ask simulated users again and again."""
    token = _ENTERED.set(True)
    try:
        yield
    finally:
        _ENTERED.reset(token)
