"""Spending: the exact budget of every user over all questions, and the guarantee that follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from lpbench.errors import PrivacyError
from lpbench.privacy.exact import rounded_up
from lpbench.privacy.guarantee import Guarantee

_WHOLE = 1 << 1074


@dataclass(frozen=True)
class Account:
    """Spending and payload of one user; epsilon and delta are exact sums, as whole numbers of a tiny unit."""

    epsilon: int = 0  # times 2^-1074, of which every float is a multiple
    delta: int = 0  # as well
    unlimited: int = 0  # answers without noise
    rounds: int = 0
    bits_up: float = 0.0
    bits_down: float = 0.0

    def after(self, epsilon: float, delta: float, bits_up: float, bits_down: float) -> Account:
        """Return the account after one more answer."""
        free = math.isinf(epsilon)
        return Account(
            self.epsilon + (0 if free else _whole(epsilon)),
            self.delta + _whole(delta),
            self.unlimited + free,
            self.rounds + 1,
            self.bits_up + bits_up,
            self.bits_down + bits_down,
        )

    @property
    def total(self) -> float:
        """Epsilon as a float, rounded up."""
        return math.inf if self.unlimited else rounded_up(self.epsilon, _WHOLE)


_NEW = Account()


def _whole(number: float) -> int:
    top, bottom = number.as_integer_ratio()
    return top * (_WHOLE // bottom)


@dataclass
class Spending:
    """Accounts of n users: sequential over a user's answers, parallel over different users.

    Users with equal histories share one account, which is kept once.
    """

    n: int
    revealed: bool = False
    central: bool = False
    shown_read: bool = False
    mask_read: bool = False
    notes: list[str] = field(default_factory=list)
    units: np.ndarray | None = None  # person of each user's row, numbered from zero: a person spends on all of them
    #: Told of what every user would have spent before an answer is drawn; what it raises ends the answer.
    checks: list[Callable[[np.ndarray], None]] = field(default_factory=list)
    _accounts: list[Account] = field(default_factory=lambda: [_NEW])
    _of_user: np.ndarray | None = None

    def charge(
        self,
        who: np.ndarray | None,
        epsilon: float | np.ndarray,
        delta: float = 0.0,
        bits_up: float = 0.0,
        bits_down: float = 0.0,
    ) -> None:
        """Enter an answer of some users (None: all), at one epsilon or one for each of them.

        Raises
        ------
        PrivacyError
            A budget is negative or no number: it would give back what was spent before.
        """
        if not (np.all(np.greater_equal(epsilon, 0)) and 0 <= delta <= 1):
            raise PrivacyError(
                f"an answer states epsilon={epsilon!r} and delta={delta!r}; what is spent is a number >= 0, and delta "
                "at most 1: check the budget and the split of the question"
            )
        before = self._accounts, self._of_user.copy() if self.checks and self._of_user is not None else self._of_user
        self._accounts = list(self._accounts)
        self._enter(who, epsilon, delta, bits_up, bits_down)
        try:
            self._check()
        except BaseException:
            self._accounts, self._of_user = before
            raise

    def reveal(self) -> None:
        """Record that the records themselves were handed out: every user's epsilon is infinite."""
        before, self.revealed = self.revealed, True
        try:
            self._check()
        except BaseException:
            self.revealed = before
            raise

    def _check(self) -> None:
        for check in self.checks:
            check(self.by_user)

    def _enter(
        self, who: np.ndarray | None, epsilon: float | np.ndarray, delta: float, bits_up: float, bits_down: float
    ) -> None:
        """Charge an answer to the users ``who`` (None: all); ``epsilon`` is one number or one for each of them.

        Users with equal histories keep sharing one account.
        """
        values = np.unique(epsilon)
        if who is None and values.size == 1:
            self._accounts = [a.after(float(values[0]), delta, bits_up, bits_down) for a in self._accounts]
            return
        if self._of_user is None:
            self._of_user = np.zeros(self.n, dtype=np.intp)
        users = np.arange(self.n) if who is None else np.asarray(who)
        if users.size == 0:
            return
        old = self._of_user[users]
        values, value = np.unique(np.broadcast_to(np.asarray(epsilon, dtype=float), users.shape), return_inverse=True)
        pairs, new = np.unique(old * values.size + value.reshape(-1), return_inverse=True)
        first = len(self._accounts)
        for pair in pairs.tolist():
            account = self._accounts[pair // values.size]
            self._accounts.append(account.after(float(values[pair % values.size]), delta, bits_up, bits_down))
        self._of_user[users] = first + new.reshape(-1)

    @property
    def accounts(self) -> list[Account]:
        """Distinct accounts; users with equal histories share one."""
        if self._of_user is None:
            return list(self._accounts)
        return [self._accounts[i] for i in np.unique(self._of_user)]

    @property
    def _of_persons(self) -> list[Account]:
        """Distinct accounts of persons; a person spends the sum over her rows (``units``)."""
        if self.units is None:
            return self.accounts
        of_user = np.zeros(self.n, dtype=np.intp) if self._of_user is None else self._of_user
        kinds, kind = np.unique(of_user, return_inverse=True)
        counts = np.zeros((self.units.max() + 1, kinds.size), dtype=np.int64)
        np.add.at(counts, (self.units, kind), 1)
        rows = [
            [(self._accounts[k], int(m)) for k, m in zip(kinds, row, strict=True) if m]
            for row in np.unique(counts, axis=0)
        ]
        return [Account(*(sum(m * getattr(a, f.name) for a, m in row) for f in fields(Account))) for row in rows]

    @property
    def by_user(self) -> np.ndarray:
        """Epsilon of every user, shape (n,); inf if records were revealed."""
        if self.revealed:
            return np.full(self.n, np.inf)
        totals = np.array([account.total for account in self._accounts])
        return totals[np.zeros(self.n, dtype=np.intp) if self._of_user is None else self._of_user]

    def _model(self, hidden: int, size: int) -> str:
        """Name the privacy model of the questions asked, where users hide ``hidden`` of ``size`` features.

        It is a key of MODELS.
        """
        shows, everything = self.shown_read and hidden < size, self.shown_read and hidden == 0 < size
        if self.central:  # of the models of a curator, that of the label alone holds of records that show a feature
            return "label_cdp" if shows else "cdp"
        return "label_ldp" if everything else "semi_feature_ldp" if shows else "ldp"

    def guarantee(self, mask: np.ndarray | None, shown_bits: float) -> Guarantee:
        """Return the guarantee of the user who spends most; ``shown_bits`` is the size of what the users show."""
        if self.revealed:
            return Guarantee("none", math.inf, bits_up=shown_bits, note=self._note())
        spent = [(a.total, a.delta, a.rounds, a.bits_up, a.bits_down) for a in self._of_persons]
        epsilon, delta, rounds, up, down = map(max, zip(*spent, strict=True))
        up += shown_bits if self.shown_read else 0.0
        delta = min(rounded_up(delta, _WHOLE), 1.0)
        hidden, size = (0, 0) if mask is None else (int(np.count_nonzero(mask)), mask.size)
        beside = self._beside(mask) if 0 < hidden < size else ""
        return Guarantee(self._model(hidden, size), epsilon, delta, rounds, up, down, self._note(), beside)

    def _beside(self, mask: Any) -> str:
        """Return the caveat that epsilon does not count the mask, if the method reads it and users differ in it."""
        if not (self.shown_read or self.mask_read) or (mask == mask[0]).all():
            return ""
        return (
            "The method reads who protects what, which epsilon does not count: a choice that depends on a secret gives "
            "it away (lpbench.datasets.masks.posterior_odds)."
        )

    def _note(self) -> str:
        most = 1 if self.units is None else int(np.bincount(self.units).max(initial=1))
        several = f"sums over the rows of a person, who has at most {most}" if most > 1 else ""
        return "; ".join(dict.fromkeys(filter(None, [*self.notes, several])))


def numeric_bits(content: Any) -> float:
    """Bits of the numbers in a question: 64 a number, 1 a truth value; objects may state theirs as ``bits``."""
    if content is None or isinstance(content, str):
        return 0.0
    if isinstance(content, (bool, np.bool_)):
        return 1.0
    if isinstance(content, (int, float, np.number)):
        return 64.0
    if isinstance(content, (list, tuple)):
        return sum(map(numeric_bits, content))
    if isinstance(content, dict):
        return sum(map(numeric_bits, content.values()))
    if isinstance(content, np.ndarray):
        return float(content.size) * (1.0 if content.dtype == bool else 64.0)
    stated = getattr(content, "broadcast_bits", None)
    if stated is not None:
        return float(stated)
    fields = getattr(content, "__dataclass_fields__", {})
    return sum(numeric_bits(getattr(content, name)) for name in fields if not name.startswith("_"))
