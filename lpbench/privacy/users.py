"""Users, who keep their private records: the only way to reports, sums and releases, and what each of them spent.

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache, cached_property
from io import BytesIO
from typing import Any, NamedTuple, Self

import numpy as np

from lpbench.checks import names_nobody
from lpbench.errors import DataError, NotPublicError, PrivacyError
from lpbench.privacy.device import Device, Release, question_of, stated_by_author
from lpbench.privacy.guarantee import Guarantee
from lpbench.privacy.payload import payload_bits
from lpbench.privacy.records import Records
from lpbench.privacy.spending import Spending, numeric_bits
from lpbench.seeds import Streams

#: Bits of one feature that a user shows.
REAL_BITS = 64.0


class PublicSample(NamedTuple):
    """Public labeled rows: features of shape (q, d), labels or class codes of shape (q,).

    Parameters
    ----------
    X : ndarray of shape (q, d)
        Features.
    y : ndarray of shape (q,)
        Labels, or class codes.
    """

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
    #: Number of the person whose each row is, (n,), where one has several; None: everybody has one.
    units: np.ndarray | None = None

    def __getattr__(self, name: str) -> Any:
        raise NotPublicError(
            f"users.{name} is not public: a method sees n, mask, public_features, public, y_range, classes and what "
            "ask, sums or release return; compute with private values inside a Device"
        )

    @property
    @abstractmethod
    def mask(self) -> np.ndarray:
        """Protection mask, bool ndarray of shape (n, d): True where a user protects a feature."""

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
        device : Device
            The users' side of the question.
        question : object
            What the curator broadcasts.
        who : int ndarray of shape (m,), optional
            The users asked, each at most once; None: all.

        Returns
        -------
        ndarray of shape (m,) or (m, k)
            One report per user, in the order of ``who``.

        Notes
        -----
        The same device, question and users again give the same reports and cost nothing. Anything else is drawn anew
        and charged.
        """

    @abstractmethod
    def sums(self, device: Device[Any], question: Any, by: np.ndarray | None = None) -> np.ndarray:
        """Ask all users and return the curator's estimate from the sums of their reports, drawn by its exact law.

        Parameters
        ----------
        device : Device
            The users' side of the question.
        question : object
            What the curator broadcasts.
        by : int ndarray of shape (n,), optional
            Public groups of the users; None: all are one group.

        Returns
        -------
        ndarray of shape (k,) or (groups, k)
            Unbiased estimate, one row per group.
        """

    def chain(self, device: Device[Any], question: Any) -> Any:
        """Ask users one after the other; every report moves the question by the curator's public step.

        Parameters
        ----------
        device : Device
            The users' side of the question.
        question : object
            The first question. ``order`` names the users, each at most once; ``after(report)`` is the next question, on
            randomness of its own.

        Returns
        -------
        object
            The question after the last report.
        """
        for user in question.order:
            (report,) = self.ask(device, question, np.array([user]))
            question = question.after(report)
        return question

    def take(self, who: np.ndarray, *former: Any, **former_axes: Any) -> Self:
        """Return some users, who spend from the same budgets.

        Parameters
        ----------
        who : int ndarray of shape (m,)
            Numbers of the users, each at most once.
        *former, **former_axes
            Purpose and axes of an earlier version; they have no effect.

        Returns
        -------
        Users
            The users named, in that order.
        """
        if former or former_axes:
            warnings.warn("take(who) needs no purpose: every answer is drawn anew", DeprecationWarning, stacklevel=2)
        return self._part(numbered(who, self.n))

    @abstractmethod
    def _part(self, who: np.ndarray) -> Self:
        """Return the users at the given indices, whose accounts stay those of the whole sample."""

    @property
    @abstractmethod
    def spent(self) -> Guarantee:
        """Guarantee of the user who spent most, exactly, by composition over the questions asked."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Add a caveat to the guarantee; public facts only are at hand to write it.

        Parameters
        ----------
        text : str
            The caveat, a sentence.
        """

    def release(self, release: Release[Any], question: Any) -> np.ndarray:
        """Let a trusted curator release a statistic of all records.

        Parameters
        ----------
        release : Release
            The statistic and its mechanism.
        question : object
            What the curator broadcasts.

        Returns
        -------
        ndarray
            The released statistic.

        Raises
        ------
        PrivacyError
            If there is no trusted curator: outside simulations of the central model.
        """
        raise PrivacyError("there is no trusted curator here; use a method of the local model")

    def reveal(self) -> Records:
        """Return the records themselves, for references without privacy; the guarantee becomes "none".

        Returns
        -------
        Records
            All records, protected values included.

        Raises
        ------
        PrivacyError
            Outside simulations of references without privacy.
        """
        raise PrivacyError("users do not hand out their records; only simulations of references without privacy do")


@dataclass(eq=False)
class _Accounts:
    """Spending and answers of the whole sample, shared by users taken from one another."""

    spending: Spending
    mask: np.ndarray | None  # of the whole sample
    n_features: int
    questions: np.ndarray  # how many different questions each user has answered, (n,), or (1,) while all are alike
    answered: dict[tuple[Any, ...], int] = field(default_factory=dict)  # question -> greatest number among its users'


def answer_streams(root: Streams, verb: str, number: int, users: Any = None, by: Any = None) -> Streams:
    """Return the randomness of one answer; None: all users, or no groups.

    ``number`` is how many different questions the users had answered before, the greatest among them, so that no two
    questions to the same users have the same. Neither budgets nor the question's content are part of the key: fits of
    one seed that ask alike are compared on common random numbers.
    """
    return root.child(verb, users=_digest_of_numbers(users), by=_digest_of_numbers(by), question=number)


def _digest_of_numbers(numbers: Any) -> str | None:
    """Digest of an array of whole numbers, the same under any numpy version; a digest or None is returned as it is."""
    if numbers is None or isinstance(numbers, str):
        return numbers
    array = np.ascontiguousarray(numbers, dtype="<i8")
    digest = hashlib.blake2b(f"ndarray[('', '<i8')]{array.shape}:".encode(), digest_size=16)
    digest.update(array.data)
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Simulation:
    """Users of one replication in a sweep, who answer for the fits of a whole grid at once; nothing is charged.

    A sweep meets the questions of :meth:`learn` in their order: a family stands for one question of each fit, and
    ``simulate.after()`` answers the next. So the number that keys the draws is counted, as accounts count it. It is the
    harness's own, and no method that learns from users can reach it.
    """

    _records: Records
    _root: Streams
    #: Different questions that the users have answered, as their accounts count them.
    _answered: int = 0
    #: Of all users, whom families ask again.
    _known: dict[tuple[str, int], Streams] = field(default_factory=dict)

    def after(self, questions: int = 1) -> Simulation:
        """Return the same users as they are once ``questions`` more questions were answered."""
        return replace(self, _answered=self._answered + questions)

    def _answers(self, verb: str, users: Any = None, after: int = 0) -> Streams:
        """Random streams of an answer by its verb, the users asked, and the questions answered before.

        ``after`` counts questions in between.
        """
        number = self._answered + after
        if users is not None:
            return answer_streams(self._root, verb, number, users)
        if (verb, number) not in self._known:
            self._known[verb, number] = answer_streams(self._root, verb, number)
        return self._known[verb, number]

    def __call__(self, device: Device[Any], family: Any) -> Any:
        """Answer a family of questions, one of each fit, with the draws that the single fits would get.

        The answer has the form that the device gives to the family, such as one row of reports a question.
        """
        return self.together([], device, family)[0]

    def together(self, others: Sequence[Simulation], device: Device[Any], family: Any) -> Any:
        """Answer a family of questions for these users and those of other replications at once."""
        several = [self, *others]
        answers = [simulation._answers for simulation in several]
        return device.draw_together([simulation._records for simulation in several], family, answers)


class SimulatedUsers(Users):
    """Users whose records are at hand, as ``fit`` and the harness simulate them.

    Parameters
    ----------
    records : Records
        What the users know about themselves; no method can reach it.
    root : Streams
        The users' randomness. A draw's key is this root, the verb, the set of users asked, how many different questions
        they have answered before, and its name within the answer.
    y_range, classes, public
        See :class:`Users`.
    notes : sequence of str
        Caveats, such as a range that was taken from protected labels.
    """

    def __init__(
        self,
        records: Records,
        root: Streams,
        *,
        y_range: tuple[float, float] | None = None,
        classes: np.ndarray | None = None,
        public: PublicSample | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Open an account for each user; nothing is drawn or spent yet."""
        self._records, self._root = records, root
        self.y_range, self.classes, self.public = y_range, classes, public
        self.n, self.n_features = len(records), records.X.shape[1]
        self._index: np.ndarray | None = None  # numbers in the whole sample; None: all of it
        self._notes = tuple(notes)
        self._accounts = self._opened(records.mask, self.n)

    def _opened(self, mask: np.ndarray | None, n: int) -> _Accounts:
        """Accounts of the whole sample before anything was asked."""
        return _Accounts(Spending(n, notes=list(self._notes)), mask, self.n_features, np.zeros(1, dtype=np.intp))

    def tell(self, groups: np.ndarray | None, units: Any) -> None:
        """State which columns are levels of one feature, and which rows are one person's; both are public.

        Parameters
        ----------
        groups : int ndarray of shape (d,), optional
            Categorical feature that each column is a level of; -1: none.
        units : array_like of shape (n,), optional
            Name of the person whose each row is.

        Raises
        ------
        DataError
            If ``units`` has another shape or an empty name.
        """
        self.groups = groups
        if units is not None:
            labels = np.asarray(units)
            if labels.shape != (self.n,):
                raise DataError(f"units has shape {labels.shape}, expected ({self.n},), whose each row is")
            if nameless := [row for row, label in enumerate(labels.tolist()) if names_nobody(label)]:
                column = getattr(units, "name", None)
                raise DataError(
                    f"units{'' if column is None else f' (column {column!r})'} has no name in row {nameless[0]}, "
                    f"{str(labels[nameless[0]])!r}: name every person, or leave out the rows of nobody"
                )
            self.units = self._accounts.spending.units = np.unique(labels, return_inverse=True)[1]

    def fresh(self) -> SimulatedUsers:
        """Return the same users before anything was asked, with the same randomness: another run of the simulation.

        Returns
        -------
        SimulatedUsers
            Users who have spent nothing.
        """
        twin = self._twin()
        twin._accounts = self._opened(self._accounts.mask, self._accounts.spending.n)
        twin._accounts.spending.units = self._accounts.spending.units
        return twin

    def _twin(self) -> Self:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    @property
    def mask(self) -> np.ndarray:
        """Protection mask, bool ndarray of shape (n, d); reading it is recorded."""
        mask, self._accounts.spending.mask_read = self._records.mask, True
        return np.ones(self._records.X.shape, dtype=bool) if mask is None else mask

    @property
    def public_features(self) -> np.ndarray:
        """Features of shape (n, d), NaN where protected, read-only; reading them is recorded."""
        self._accounts.spending.shown_read = True
        visible = self._records.remembered("shown", lambda: self._records.public_features)
        visible.setflags(write=False)
        return visible

    def ask(self, device: Device[Any], question: Any, who: np.ndarray | None = None) -> np.ndarray:
        """Draw the reports of users on the key of this answer, and charge them to the users asked."""
        device.check(question)
        index, order, records, question = self._in_order(question, None if who is None else numbered(who, self.n))
        streams = self._entered("ask", device, question, index, records)
        reports = device.report(records, question, device.draws(streams, len(records), question))
        return reports if order is None else reports[np.argsort(order)]

    def sums(self, device: Device[Any], question: Any, by: np.ndarray | None = None) -> np.ndarray:
        """Draw the estimate from the sums of all users' reports by its exact law, and charge the users."""
        device.check(question)
        index, order, records, question = self._in_order(question)
        by = by if by is None or order is None else np.asarray(by)[order]
        streams = self._entered("sums", device, question, index, records, by)
        return device.draw_sums(records, question, streams, by)

    def chain(self, device: Device[Any], question: Any) -> Any:
        """Draw the answers to a chain of questions by the device's shortcut, and charge the users.

        Each question of a chain depends on the answer before.
        """
        device.check(question)
        order = numbered(question.order, self.n)
        index = order if self._index is None else self._index[order]
        streams = self._entered("chain", device, question, index, self._records.take(order), self._index)
        return device.draw_chain(self._records, question, streams)

    def release(self, release: Release[Any], question: Any) -> np.ndarray:
        """Draw a trusted curator's release, and note that the guarantee is one of the central model."""
        streams = self._entered("release", release, question, self._index, self._records, self._index)
        self._accounts.spending.central = True
        return release.release(self._records, question, release.draws(streams, self.n, question))

    def _in_order(
        self, question: Any, who: np.ndarray | None = None
    ) -> tuple[np.ndarray | None, np.ndarray | None, Records, Any]:
        """Sort the asked users by number, the order in which they draw randomness whatever the order of ``who``.

        Returned are their numbers (None: the whole sample), their positions among those asked (None: as asked), records
        and question.
        """
        index = self._index if who is None else who if self._index is None else self._index[who]
        if index is None or (np.diff(index) > 0).all():
            return index, None, self._records if who is None else self._records.take(who), question
        order = np.argsort(index)
        records = self._records.take(order if who is None else who[order])
        return index[order], order, records, question_of(question, order)

    def _entered(
        self, verb: str, device: Any, question: Any, index: np.ndarray | None, records: Records, by: Any = None
    ) -> Streams:
        """Charge an answer to the users' accounts, unless it repeats a question; return its random streams.

        ``verb`` is how it is asked ("ask", "sums" ...), ``index`` the users (None: all), and ``by`` the groups of sums.
        A repeated question gets the streams of the first.
        """
        accounts = self._accounts
        users = None if index is None or index.size == accounts.spending.n else np.sort(index)
        digests = _digest_of_numbers(users), _digest_of_numbers(by)
        # the kind of question tells itself; pickling names classes, which takes as long as to hash small questions
        identity = (verb, type(device), type(question), content_hash((_held(device), _held(question), *digests)))
        if identity not in accounts.answered:
            if users is not None and accounts.questions.size == 1:
                accounts.questions = accounts.questions.repeat(accounts.spending.n)
            number = int(accounts.questions[... if users is None else users].max(initial=0))
            if stated_by_author(device, question):
                accounts.spending.notes.append(f"what {type(device).__name__} spends is stated by its author")
            if isinstance(device, Release):
                accounts.spending.charge(index, device.budget(question), device.mechanism(question).delta)
            else:
                of_one = question_of(question, np.arange(1)[: len(records)])
                bits = _payload_bits(device, question), numeric_bits(of_one)
                accounts.spending.charge(index, device.budgets(records, question), device.delta(question), *bits)
            accounts.questions[... if users is None else users] += 1
            accounts.answered[identity] = number
        return answer_streams(self._root, verb, accounts.answered[identity], *digests)

    def reveal(self) -> Records:
        """Return the records; the guarantee becomes "none"."""
        self._accounts.spending.reveal()
        return self._records

    def _part(self, who: np.ndarray) -> Self:
        twin = self._twin()
        twin._records, twin._index = self._records.take(who), who if self._index is None else self._index[who]
        twin.n, twin.units = len(who), None if self.units is None else self.units[who]
        return twin

    @property
    def spent(self) -> Guarantee:
        """Guarantee of the user who spent most; users taken from others report for the entire sample."""
        accounts, columns_shown = self._accounts, 0
        if accounts.spending.revealed:
            columns_shown = accounts.n_features + 1
        elif accounts.spending.shown_read and accounts.mask is not None:
            columns_shown = accounts.n_features
            if np.count_nonzero(accounts.mask):
                columns_shown = int((~accounts.mask @ np.ones(columns_shown)).max(initial=0))
        return accounts.spending.guarantee(accounts.mask, REAL_BITS * columns_shown)

    @property
    def spent_by_user(self) -> np.ndarray:
        """Epsilon that every user of the whole sample has spent, shape (n,); inf if records were revealed."""
        return self._accounts.spending.by_user

    @contextmanager
    def charged(self, check: Callable[[np.ndarray], None]) -> Iterator[None]:
        """Tell a check what every user of the whole sample would have spent before each answer of a ``with`` block.

        Parameters
        ----------
        check : callable
            Called with the epsilon of each user, an ndarray of shape (n,); an error keeps the answer from being drawn.

        Yields
        ------
        None
            The block is run.
        """
        checks = self._accounts.spending.checks
        checks.append(check)
        try:
            yield
        finally:
            checks.remove(check)

    def note(self, text: str) -> None:
        """Add a caveat to the guarantee."""
        self._accounts.spending.notes.append(text)

    def __reduce__(self) -> Any:
        raise PrivacyError("users hold private records and cannot be pickled; keep what they reported")


@cache
def _cached_properties(kind: Any) -> frozenset[str]:
    members = (member for base in kind.__mro__ for member in vars(base).items())
    return frozenset(name for name, value in members if type(value) is cached_property)


# of each kind once: a forest has hundreds of objects, and the text of its nodes' dtype takes long to write
_dtype_text, _is_dataclass = cache(str), cache(is_dataclass)


class _Content(pickle.Pickler):
    """Pickler for content hashes: it leaves cached properties out and writes arrays as digests."""

    def reducer_override(self, value: Any) -> Any:
        """Pickle broadcasts and arrays by their digests, and dataclasses without cached properties."""
        if type(value) is Broadcast:
            return bytes, (value.digest,)
        if type(value) is np.ndarray and not value.dtype.hasobject:
            content = value.ravel().view(np.uint8).data
            return bytes, (_dtype_text(value.dtype), value.shape, hashlib.sha256(content).digest())
        kind: Any = type(value)
        if issubclass(kind, type):
            return NotImplemented
        held = _held(value)
        if held is not value:
            return kind, (), held
        cached = _cached_properties(kind)
        if not cached or cached.isdisjoint(vars(value)):
            return NotImplemented
        made, arguments, state, *more = value.__reduce_ex__(4)
        return made, arguments, {name: attribute for name, attribute in state.items() if name not in cached}, *more


def _held(value: Any) -> Any:
    """Return a dataclass's fields without cached properties as a dict; any other object unchanged."""
    kind: Any = type(value)
    if not _is_dataclass(kind) or not hasattr(value, "__dict__"):
        return value
    cached = _cached_properties(kind)
    return {name: content for name, content in vars(value).items() if name not in cached}


def content_hash(value: Any) -> bytes:
    """Digest of an object's content, field by field: equal for an equal object, a copy or an unpickled one."""
    pickled = BytesIO()
    pickler = _Content(pickled, 4)
    pickler.fast = True
    pickler.dump(value)
    return hashlib.blake2b(pickled.getvalue()).digest()


@dataclass(frozen=True, eq=False)
class Broadcast:
    """Content that the curator sends to users in many questions, such as a fitted model: a copy and its digest."""

    content: Any
    digest: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", pickle.loads(pickle.dumps(self.content)))
        object.__setattr__(self, "digest", content_hash(self.content))

    @property
    def broadcast_bits(self) -> float:
        """Bits of the content: 64 a number, 1 a truth value, 0 a text."""
        return numeric_bits(self.content)


def numbered(who: Any, n: int) -> np.ndarray:
    """Convert ``who`` to distinct indices among ``n`` users: from whole numbers 0, ..., n - 1 or a boolean mask."""
    numbers = np.array(who)
    if numbers.dtype == bool and numbers.shape == (n,):
        return np.flatnonzero(numbers)
    is_list = numbers.ndim == 1 and (numbers.dtype.kind in "iu" or numbers.size == 0)
    inside = is_list and (numbers.size == 0 or 0 <= numbers.min() <= numbers.max() < n)
    if not inside or np.bincount(numbers.astype(np.intp), minlength=1).max() > 1:
        raise PrivacyError(f"who must name users by whole numbers from 0 to {n - 1}, each once")
    return numbers.astype(np.intp)


def _payload_bits(device: Device[Any], question: Any) -> float:
    """Bits of a user's report to a question; inf beyond the largest float, as for cells of thousands of features."""
    try:
        return float(payload_bits(device.fields(question)))
    except OverflowError:
        return math.inf
