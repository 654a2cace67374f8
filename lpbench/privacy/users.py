"""Users: the keeper of private records, and the only interface to them.

A method is ``learn(users)``. It sees what is public and what these methods return: reports of devices
(:meth:`Users.ask`), their sums (:meth:`Users.sums`), releases of a trusted curator (:meth:`Users.release`), or, for
references without privacy, the records themselves (:meth:`Users.reveal`). Only this module knows what was spent.
"""

from __future__ import annotations

import hashlib
import math
import pickle
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lpbench.errors import ConfigurationError, PrivacyError
from lpbench.privacy.device import Device, Release, question_of
from lpbench.privacy.guarantee import Guarantee
from lpbench.privacy.payload import payload_bits
from lpbench.privacy.records import Records
from lpbench.privacy.spending import Spending, numeric_bits
from lpbench.seeds import Streams

#: Bits of one feature that a user shows.
REAL_BITS = 64.0


class PublicSample(NamedTuple):
    """Public labelled rows: features of shape (q, d), labels or class codes of shape (q,)."""

    X: np.ndarray
    y: np.ndarray


class Users(ABC):
    """The users of one sample, as a method sees them.

    Attributes
    ----------
    mask : boolean ndarray of shape (n, d)
        True where a user protects a feature; the mask itself is public.
    y_range : (float, float) or None
        Public range of the label (regression).
    classes : ndarray or None
        Public list of classes; records hold codes, the positions in this list (classification).
    """

    n: int
    n_features: int
    y_range: tuple[float, float] | None
    classes: np.ndarray | None
    public: PublicSample | None
    #: Number of the categorical feature that each column stands for a level of, (d,), -1: none; None: no column does.
    groups: np.ndarray | None = None

    @property
    @abstractmethod
    def mask(self) -> np.ndarray:
        """Who protects what, boolean ndarray of shape (n, d)."""

    @property
    @abstractmethod
    def public_features(self) -> np.ndarray:
        """Features of shape (n, d), NaN where protected. Reading them is recorded: they leave their users."""

    @property
    def shown(self) -> np.ndarray:
        """Former name of :attr:`public_features`."""
        warnings.warn("users.shown is now users.public_features", DeprecationWarning, stacklevel=2)
        return self.public_features

    @abstractmethod
    def ask(self, device: Device[Any], question: Any, who: np.ndarray | None = None) -> np.ndarray:
        """Ask users for their reports.

        Parameters
        ----------
        question : object
            What the curator broadcasts.
        who : int ndarray of shape (m,), optional
            The users asked, each at most once; None: all.

        Returns
        -------
        ndarray of shape (m,) or (m, k), one report a user

        Raises
        ------
        PrivacyError
            The same randomness has answered another question.
        """

    def ask_present(
        self, device: Device[Any], question: Any, who: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ask users of whom some may have left.

        Returns
        -------
        places, reports : ndarrays
            Positions, among the users asked, of those who answered, and their reports.
        """
        return np.arange(self.n if who is None else len(who)), self.ask(device, question, who)

    @abstractmethod
    def sums(self, device: Device[Any], question: Any, by: np.ndarray | None = None) -> np.ndarray:
        """Ask all users and return the curator's estimate from the sums of their reports, drawn by its exact law.

        ``by`` are public groups of the users, int ndarray of shape (n,): one row of sums a group.
        """

    def chain(self, device: Device[Any], question: Any) -> Any:
        """Ask users one after the other; every report moves the question by the curator's public step.

        ``question.order`` names the users, each at most once; ``question.after(report)`` is the next question, on
        randomness of its own. Returns the question after the last report.
        """
        for user in question.order:
            (report,) = self.ask(device, question, np.array([user]))
            question = question.after(report)
        return question

    @abstractmethod
    def take(self, who: np.ndarray, purpose: str | None = None, /, **axes: Any) -> Users:
        """Return some users, who spend from the same budgets; ``purpose`` and ``axes`` name their randomness."""

    @property
    @abstractmethod
    def spent(self) -> Guarantee:
        """What the user who spent most has spent, exactly, by composition over what was asked."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Add a caveat to the guarantee; public facts only are at hand to write it."""

    def sums_of_many(self, device: Device[Any], family: Any) -> Any:
        """Answer a family of questions for a sweep, with common random numbers (simulation only, nothing is sent)."""
        raise PrivacyError("many questions on the same randomness can be simulated only; real users answer one")

    def together(self, others: Sequence[Users], device: Device[Any], family: Any) -> Any:
        """Answer a family of questions for these users and those of other replications at once (simulation only)."""
        raise PrivacyError("replications can be simulated only; real users answer once")

    def release(self, release: Release[Any], question: Any) -> np.ndarray:
        """Let a trusted curator release a statistic of all records."""
        raise PrivacyError("there is no trusted curator here; use a method of the local model")

    def reveal(self) -> Records:
        """Return the records themselves, for references without privacy; the guarantee becomes "none"."""
        raise PrivacyError("users do not hand out their records; only simulations of references without privacy do")


@dataclass(eq=False)
class _Accounts:
    """What users taken from one another share: accounts, and which randomness has answered what."""

    spending: Spending
    mask: np.ndarray | None  # of the whole sample
    n_features: int
    #: Stream -> list of (device, digest of the question, users or None) that it has answered.
    used: dict[tuple[Any, ...], list[tuple[Any, bytes, np.ndarray | None]]] = field(default_factory=dict)

    def is_replay(self, keys: Iterable[tuple[Any, ...]], device: Any, question: Any, users: np.ndarray | None) -> bool:
        """Enter a question under the streams that its answer draws from; True if it is answered already."""
        replay, digest = False, content_hash(question)
        for key in keys:
            entries = self.used.setdefault(key, [])
            for device_before, digest_before, users_before in entries:
                if not _overlap(users, users_before, device.draws_for_all if isinstance(device, Device) else False):
                    continue
                same = device_before == device and _same_users(users, users_before)
                if not same or digest_before != digest:
                    raise PrivacyError(
                        f"the randomness {key[1]!r} of {type(device).__name__} has answered another question or other "
                        "users; an answer needs randomness of its own: name another `purpose`"
                    )
                replay = True
            if not replay:
                entries.append((device, digest, users))
        return replay


class SimulatedUsers(Users):
    """Users whose records are at hand, as ``fit`` and the harness simulate them.

    Parameters
    ----------
    streams : Streams
        The users' randomness.
    y_range, classes, public
        See :class:`Users`.
    notes : sequence of str
        Caveats, such as a range that was taken from protected labels.
    """

    def __init__(
        self,
        records: Records,
        streams: Streams,
        *,
        y_range: tuple[float, float] | None = None,
        classes: np.ndarray | None = None,
        public: PublicSample | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self._records, self._streams = records, streams
        self.y_range, self.classes, self.public = y_range, classes, public
        self.n, self.n_features = len(records), records.X.shape[1]
        self._accounts = _Accounts(Spending(self.n, notes=list(notes)), records.mask, self.n_features)
        self._index: np.ndarray | None = None
        self._notes = tuple(notes)

    def fresh(self) -> SimulatedUsers:
        """Return the same users before anything was asked, with the same randomness: another run of the simulation."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        old = self._accounts
        twin._accounts = _Accounts(Spending(old.spending.n, notes=list(self._notes)), old.mask, old.n_features)
        return twin

    @property
    def mask(self) -> np.ndarray:
        mask = self._records.mask
        return np.ones(self._records.X.shape, dtype=bool) if mask is None else mask

    @property
    def public_features(self) -> np.ndarray:
        self._accounts.spending.shown_read = True
        shown = self._records.remembered("shown", lambda: self._records.public_features)
        shown.setflags(write=False)
        return shown

    def ask(self, device: Device[Any], question: Any, who: np.ndarray | None = None) -> np.ndarray:
        device.check(question)
        who = None if who is None else numbered(who, self.n)
        records = self._records if who is None else self._records.take(who)
        streams = _LoggedStreams(self._streams)
        if who is not None and device.draws_for_all:
            draws = taken(device.draws(streams, self.n, question), who)
        else:
            draws = device.draws(streams, len(records), question)
        self._enter(device, question, streams.log, who, records)
        return device.report(records, question, draws)

    def sums(self, device: Device[Any], question: Any, by: np.ndarray | None = None) -> np.ndarray:
        device.check(question)
        streams = _LoggedStreams(self._streams)
        result = device.draw_sums(self._records, question, streams, by)
        self._enter(device, question, streams.log, None, self._records)
        return result

    def chain(self, device: Device[Any], question: Any) -> Any:
        device.check(question)
        streams = _LoggedStreams(self._streams)
        last = device.draw_chain(self._records, question, streams)
        self._enter(device, question, streams.log, question.order, self._records.take(question.order))
        return last

    def _enter(
        self, device: Device[Any], question: Any, log: Sequence[tuple[Any, ...]], who: Any, records: Records
    ) -> None:
        """Enter an answer into the accounts, unless it is a replay."""
        users = self._users(who)
        if self._accounts.is_replay(log, device, question, users):
            return
        of_one = question_of(question, np.arange(min(1, len(records))))
        bits_up, bits_down = _payload_bits(device, question), numeric_bits(of_one)
        budgets = device.budgets(records, question)
        self._accounts.spending.charge(users, budgets, device.delta(question), bits_up, bits_down)

    def _users(self, who: np.ndarray | None) -> np.ndarray | None:
        """Numbers of users among those of the whole sample; None: all of it."""
        if who is None:
            return self._index
        who = numbered(who, self.n)
        return who if self._index is None else self._index[who]

    def sums_of_many(self, device: Device[Any], family: Any) -> Any:
        return device.draw_many(self._records, family, self._streams)

    def together(self, others: Sequence[Users], device: Device[Any], family: Any) -> Any:
        several = [self, *others]
        records = [users._records for users in several if isinstance(users, SimulatedUsers)]
        streams = [users._streams for users in several if isinstance(users, SimulatedUsers)]
        return device.draw_together(records, family, streams)

    def release(self, release: Release[Any], question: Any) -> np.ndarray:
        streams = _LoggedStreams(self._streams)
        draws = release.draws(streams, self.n, question)
        result = release.release(self._records, question, draws)
        self._accounts.spending.central = True
        if not self._accounts.is_replay(streams.log, release, question, self._index):
            self._accounts.spending.charge(self._index, release.budget(question), release.mechanism(question).delta)
        return result

    def reveal(self) -> Records:
        self._accounts.spending.revealed = True
        return self._records

    def take(self, who: np.ndarray, purpose: str | None = None, /, **axes: Any) -> SimulatedUsers:
        who = numbered(who, self.n)
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin._records, twin._index = self._records.take(who), self._users(who)
        if twin._index is None:  # pragma: no cover - take always names users
            raise ConfigurationError("who=None: name the users")
        twin.n = len(twin._records)
        if purpose is not None:
            twin._streams = self._streams.child(purpose, **axes)
        return twin

    @property
    def spent(self) -> Guarantee:
        """What the user who spent most has spent; users taken from others report for the whole sample."""
        accounts = self._accounts
        if accounts.spending.revealed:
            shown = accounts.n_features + 1
        else:
            shown = 0 if accounts.mask is None else int((~accounts.mask).sum(axis=1).max(initial=0))
        return accounts.spending.guarantee(accounts.mask, REAL_BITS * shown)

    @property
    def spent_by_user(self) -> np.ndarray:
        """Epsilon that every user of the whole sample has spent, shape (n,); inf if records were revealed."""
        spending = self._accounts.spending
        return np.full(spending.n, np.inf) if spending.revealed else spending.of_users()

    def note(self, text: str) -> None:
        self._accounts.spending.notes.append(text)

    def __reduce__(self) -> Any:
        raise PrivacyError("users hold private records and cannot be pickled; keep what they reported")


class _LoggedStreams(Streams):
    """Streams that note the names of what is drawn."""

    __slots__ = ("log",)

    def __init__(self, streams: Streams, log: list[tuple[Any, ...]] | None = None) -> None:
        super().__init__(streams.seed)
        self.log: list[tuple[Any, ...]] = [] if log is None else log

    def generator(self, purpose: str, /, **axes: Any) -> np.random.Generator:
        self.log.append((self.seed, purpose, tuple(sorted(axes.items()))))
        return super().generator(purpose, **axes)

    def integer(self, purpose: str, /, **axes: Any) -> int:
        self.log.append((self.seed, purpose, tuple(sorted(axes.items()))))
        return super().integer(purpose, **axes)

    def child(self, purpose: str, /, **axes: Any) -> Streams:
        return _LoggedStreams(super().child(purpose, **axes), self.log)


def taken(draws: Any, who: Any) -> Any:
    """Take some users' part of the randomness of all: arrays whose last axis is the users, or tuples of them."""
    if isinstance(draws, tuple):
        return tuple(taken(part, who) for part in draws)
    if isinstance(draws, np.ndarray):
        return draws[..., who]
    if hasattr(draws, "take"):
        return draws.take(who)
    raise ConfigurationError(f"the randomness {type(draws).__name__} of all users cannot be divided among them")


def content_hash(question: Any) -> bytes:
    """Digest of everything that a question holds."""
    return hashlib.blake2b(pickle.dumps(question), digest_size=16).digest()


def numbered(who: Any, n: int) -> np.ndarray:
    """Numbers of users among ``n``, as a copy: whole numbers from 0 to n - 1, each once, or a mask of all."""
    found = np.array(who)
    if found.dtype == bool and found.shape == (n,):
        return np.flatnonzero(found)
    whole = found.ndim == 1 and (found.dtype.kind in "iu" or found.size == 0)
    inside = whole and (found.size == 0 or 0 <= found.min() <= found.max() < n)
    if not inside or np.bincount(found.astype(np.intp), minlength=1).max() > 1:
        raise PrivacyError(f"who must name users by whole numbers from 0 to {n - 1}, each once")
    return found.astype(np.intp)


def _payload_bits(device: Device[Any], question: Any) -> float:
    """Bits of a report; inf beyond the largest float, such as for the cells of thousands of features."""
    try:
        return float(payload_bits(device.fields(question)))
    except OverflowError:
        return math.inf


def _same_users(users: np.ndarray | None, others: np.ndarray | None) -> bool:
    if users is None or others is None:
        return users is others
    return np.array_equal(users, others)


def _overlap(users: np.ndarray | None, others: np.ndarray | None, own_draws: bool) -> bool:
    """Whether a stream cannot serve both: unless every user has draws of her own in it, it serves one answer."""
    if not own_draws or users is None or others is None:
        return True
    return bool(np.isin(users, others).any())
