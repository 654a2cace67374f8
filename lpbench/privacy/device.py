"""Device: what runs on the users' side in one round of a method; it answers a question that the curator broadcast.

There is one device for a method and round. The simulation asks it for all users, the audit for users with planted
values: the client's code exists once.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from lpbench.checks import check_number
from lpbench.errors import ConfigurationError
from lpbench.privacy.mechanism import Mechanism
from lpbench.privacy.payload import Field
from lpbench.privacy.records import Records
from lpbench.seeds import Streams

Q = TypeVar("Q")
K = TypeVar("K", bound=type)

#: The randomness of an answer in a simulation: ``answers(verb, who=None, after=0)``, after so many more questions.
Answers = Callable[..., Streams]

#: What anybody's device may define: the mechanism, what a record puts into it, and what the curator makes of reports.
OF_ANYBODY = frozenset({"mechanism", "inputs", "columns", "estimate", "addends", "check"})
#: Devices and releases that may state laws, budgets and shortcuts: tests and the audit hold them to their mechanisms.
_PROVEN: set[type] = set()

#: Entries of reports that are drawn at once where reports are added up.
_ENTRIES_AT_ONCE = 1 << 20


def question_of(question: Any, users: Any) -> Any:
    """Return the part of a question that concerns some of the users asked, by position.

    A question with a part for each user has a method ``take``; any other is the same for all.
    """
    take = getattr(question, "take", None)
    return question if take is None else take(users)


def proven(kind: K) -> K:
    """Class decorator: mark a device or release of this library as one that may state its own law."""
    _PROVEN.add(kind)
    return kind


def own_statements(kind: type) -> tuple[str, ...]:
    """Names of members that a class overrides although the audit relies on the library's; empty for a usual device."""
    base = Release if issubclass(kind, Release) else Device
    anew = {
        name
        for member_of in kind.__mro__
        if member_of not in base.__mro__
        for name in vars(member_of)
        if hasattr(base, name)
    }
    return tuple(sorted(name for name in anew - OF_ANYBODY if not name.startswith("_")))


def of_the_library(mechanism: Any) -> bool:
    """Return True for a mechanism of a class of :mod:`lpbench.privacy`, whose privacy maps are proven."""
    kind = type(mechanism)
    return getattr(sys.modules["lpbench.privacy"], kind.__name__, None) is kind


def stated_by_author(device: Any, question: Any) -> bool:
    """Return True if the cost of an answer is its author's word: a law, budget or mechanism of somebody's own."""
    kind = type(device)
    if kind in _PROVEN:
        return False
    return bool(own_statements(kind)) or not of_the_library(device.mechanism(question))


@dataclass(frozen=True)
class Device(ABC, Generic[Q]):
    """The client code of one method in one round; a question holds everything that the curator broadcast.

    A method writes :meth:`mechanism` and :meth:`inputs`; everything else follows. Devices are frozen and keep nothing
    between questions, and :meth:`inputs` treats every record alike and by itself: the same under subsets, other orders
    and other users' values, which the audit tests.
    """

    def mechanism(self, question: Q) -> Mechanism:
        """Return the mechanism that randomizes what :meth:`inputs` returns; by default the question's ``mechanism``.

        Parameters
        ----------
        question : object
            What the curator broadcast.

        Returns
        -------
        Mechanism
            The same for all users.
        """
        mechanism: Mechanism = question.mechanism  # type: ignore[attr-defined]
        return mechanism

    @abstractmethod
    def inputs(self, records: Records, question: Q) -> np.ndarray:
        """Return what each record puts into the mechanism, one row per record.

        Parameters
        ----------
        records : Records
            Records of the users asked, protected values included.
        question : object
            What the curator broadcast.

        Returns
        -------
        ndarray of shape (n, ...)
            Inputs in the mechanism's domain.
        """

    def draws(self, streams: Streams, n: int, question: Q) -> Any:
        """Return the randomness of the users' reports.

        Parameters
        ----------
        streams : Streams
            Randomness of this answer; names need to tell the parts of one report apart and nothing else.
        n : int
            Number of users.
        question : object
            What the curator broadcast.

        Returns
        -------
        Generator, or arrays whose last axis is the users
            What :meth:`report` draws from.
        """
        return streams.generator("report")

    def report(self, records: Records, question: Q, draws: Any) -> np.ndarray:
        """Return the reports of all users. This is what leaves the devices.

        Parameters
        ----------
        records : Records
            Records of the users asked, protected values included.
        question : object
            What the curator broadcast.
        draws : Generator or arrays
            Randomness of the users, see :meth:`draws`.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            One report per user.

        Raises
        ------
        DataError
            If an input lies outside the mechanism's domain.
        """
        mechanism, inputs = self.mechanism(question), self.inputs(records, question)
        mechanism.check_inputs(inputs)
        return mechanism.randomize(inputs, draws)

    def law(self, question: Q, records: Records) -> tuple[Mechanism, np.ndarray]:
        """Return a mechanism and inputs, one row per record, such that :meth:`report` has the mechanism's law at them.

        The records share their public part.

        Parameters
        ----------
        question : object
            What the curator broadcast.
        records : Records
            Records of the users asked, protected values included.

        Returns
        -------
        mechanism : Mechanism
            Mechanism whose exact loss is that of the report.
        inputs : ndarray of shape (n, ...)
            One row per record.
        """
        return self.mechanism(question), self.inputs(records, question)

    def to_law(self, reports: np.ndarray, question: Q, records: Records) -> np.ndarray:
        """Return reports in the numbering of :meth:`law`'s mechanism; by default they are.

        Parameters
        ----------
        reports : ndarray of shape (n,) or (n, k)
            Reports of :meth:`report`.
        question : object
            What the curator broadcast.
        records : Records
            Records of the users asked, protected values included.

        Returns
        -------
        ndarray of shape (n, ...)
            Reports of :meth:`law`'s mechanism.
        """
        return reports

    def columns(self, question: Q) -> int:
        """Entries of one report.

        Parameters
        ----------
        question : object
            What the curator broadcast.

        Returns
        -------
        int
            Entries, 1 unless a class states more.
        """
        return 1

    def fields(self, question: Q) -> tuple[Field, ...]:
        """Return the payload of one report; its length depends on the question alone.

        Parameters
        ----------
        question : object
            What the curator broadcast.

        Returns
        -------
        tuple of Field
            Payload, part by part.
        """
        return self.mechanism(question).fields(self.columns(question))

    def budget(self, question: Q) -> float:
        """Return the most epsilon that answering spends, whatever the record.

        Parameters
        ----------
        question : object
            What the curator broadcast.

        Returns
        -------
        float
            Epsilon.
        """
        return self.mechanism(question).epsilon

    def delta(self, question: Q) -> float:
        """Return the delta that answering spends.

        Parameters
        ----------
        question : object
            What the curator broadcast.

        Returns
        -------
        float
            0 for pure mechanisms.
        """
        return self.mechanism(question).delta

    def budgets(self, records: Records, question: Q) -> float | np.ndarray:
        """Return the epsilon that each user spends, a function of the records' public part; by default the largest.

        Parameters
        ----------
        records : Records
            Records of the users asked, protected values included.
        question : object
            What the curator broadcast.

        Returns
        -------
        float or ndarray of shape (n,)
            Epsilon of each user.
        """
        return self.budget(question)

    def check(self, question: Q) -> None:
        """Refuse a question that no record could answer; protected values are never looked at.

        Parameters
        ----------
        question : object
            What the curator broadcast.

        Raises
        ------
        ConfigurationError
            If the question is impossible or has no budget.
        """
        check_number("budget", self.budget(question), least=0, infinite=True)

    def addends(self, reports: np.ndarray, question: Q) -> np.ndarray:
        """Return what the curator adds up of each report; by default the reports.

        Parameters
        ----------
        reports : ndarray of shape (n,) or (n, k)
            Reports, one row per user.
        question : object
            What the curator broadcast.

        Returns
        -------
        ndarray of shape (n, k)
            One row per user.
        """
        return reports.reshape(len(reports), -1)

    def estimate(self, sums: np.ndarray, question: Q, n: Any) -> np.ndarray:
        """Return the curator's unbiased estimate from the sums of ``n`` users' reports; by default the sums.

        Parameters
        ----------
        sums : ndarray of shape (k,) or (groups, k)
            Sums of the addends.
        question : object
            What the curator broadcast.
        n : int or ndarray of shape (groups, 1)
            Users behind each sum.

        Returns
        -------
        ndarray
            The estimate, one row per group.
        """
        return sums

    # Exact shortcuts of the simulation. Each is tested in law against the reports user by user.

    def draw_sums(self, records: Records, question: Q, streams: Streams, by: np.ndarray | None = None) -> np.ndarray:
        """Draw the estimate from the sums of all users' reports, shape (k,); by default from the reports themselves.

        Parameters
        ----------
        records : Records
            Records of all users.
        question : object
            What the curator broadcast.
        streams : Streams
            Randomness of this answer.
        by : int ndarray of shape (n,), optional
            Public groups 0, ..., G - 1 of the users: one row of sums a group, shape (G, k).

        Returns
        -------
        ndarray of shape (k,) or (groups, k)
            The curator's estimate.
        """
        draws = self.draws(streams, len(records), question)
        if by is None:
            return self.estimate(self.added_up(records, question, draws), question, len(records))
        return summed(self, self.report(records, question, draws), question, by)

    def draw_chain(self, records: Records, question: Any, streams: Streams) -> Any:
        """Draw the question after the reports of all users in its order, see :meth:`.users.Users.chain`.

        Parameters
        ----------
        records : Records
            Records of the users asked, protected values included.
        question : object
            The first question, with ``order`` and ``after(report)``.
        streams : Streams
            Randomness of this answer.

        Returns
        -------
        object
            The question after the last report.
        """
        for position, user in enumerate(question.order):
            draws = self.draws(streams.child("step", place=position), 1, question)
            (report,) = self.report(records.take([user]), question, draws)
            question = question.after(report)
        return question

    def draw_many(self, records: Records, family: Any, answers: Answers) -> Any:
        """Answer a family of questions, for a sweep, as users would answer each of them; none of it is ever sent.

        Parameters
        ----------
        records : Records
            Records of the users asked, protected values included.
        family : object
            Questions that the points of a sweep ask.
        answers : callable
            Randomness of each answer, ``answers(verb, who=None, after=0)``.

        Returns
        -------
        object
            Answers, in the form that the family's owner reads.

        Raises
        ------
        ConfigurationError
            If the device has no such shortcut.
        """
        raise ConfigurationError(f"{type(self).__name__} has no shortcut for many questions; ask them one by one")

    def draw_together(self, several: Sequence[Records], family: Any, answers: Sequence[Answers]) -> Any:
        """Answer a family of questions in several replications at once; by default one after the other.

        Parameters
        ----------
        several : sequence of Records
            Records of each replication.
        family : object
            Questions that the points of a sweep ask.
        answers : sequence of callable
            Randomness of each replication's answers.

        Returns
        -------
        sequence of object
            The result of :meth:`draw_many` in each replication.
        """
        return [self.draw_many(records, family, replies) for records, replies in zip(several, answers, strict=True)]

    def added_up(self, records: Records, question: Q, draws: Any) -> np.ndarray:
        """Return the sums of all users' addends, computed for a chunk of users at a time.

        Parameters
        ----------
        records : Records
            Records of the users asked, protected values included.
        question : object
            What the curator broadcast.
        draws : Generator or arrays
            Randomness of the users; chunks need a Generator.

        Returns
        -------
        ndarray of shape (k,)
            Sums.
        """
        if not isinstance(draws, np.random.Generator):
            return self.addends(self.report(records, question, draws), question).sum(axis=0)
        width = sum(field.count for field in self.fields(question))
        step = max(1, _ENTRIES_AT_ONCE // max(width, 1))
        sums: Any = 0.0
        for start in range(0, len(records), step):
            chunk = records.take(slice(start, start + step))
            sums = sums + self.addends(self.report(chunk, question, draws), question).sum(axis=0)
        return np.asarray(sums)


def summed(device: Device[Any], reports: np.ndarray, question: Any, by: np.ndarray | None) -> np.ndarray:
    """Turn sums of reports into the curator's estimate: one row for each group of ``by``, or for all users."""
    addends = device.addends(reports, question)
    if by is None:
        return device.estimate(addends.sum(axis=0), question, len(reports))
    sizes = np.bincount(by)
    sums = np.zeros((sizes.size, addends.shape[1]))
    np.add.at(sums, by, addends)
    return device.estimate(sums, question, sizes[:, None])


@dataclass(frozen=True)
class Release(ABC, Generic[Q]):
    """Statistic of all records released by a trusted curator: the central model's counterpart of a device.

    :meth:`statistic` is computed from the records, whose neighbors move it by no more than the mechanism hides.
    """

    @abstractmethod
    def mechanism(self, question: Q) -> Mechanism:
        """Return the mechanism, whose epsilon is that of the largest change by one neighbor.

        Parameters
        ----------
        question : object
            What the curator broadcast.

        Returns
        -------
        Mechanism
            What the curator adds, or draws with.
        """

    @abstractmethod
    def statistic(self, records: Records, question: Q) -> np.ndarray:
        """Return what is randomized.

        Parameters
        ----------
        records : Records
            Records of all users.
        question : object
            What the curator broadcast.

        Returns
        -------
        ndarray
            Statistic in the mechanism's domain.
        """

    def law(self, question: Q, records: Records) -> tuple[Mechanism, np.ndarray]:
        """Return the mechanism and the inputs whose law the transformed release (:meth:`to_law`) has, for the audit.

        Parameters
        ----------
        question : object
            What the curator broadcast.
        records : Records
            Records of all users.

        Returns
        -------
        mechanism : Mechanism
            Mechanism whose exact loss is that of the release.
        inputs : ndarray
            The statistic.
        """
        return self.mechanism(question), self.statistic(records, question)

    def to_law(self, released: np.ndarray, question: Q, records: Records) -> np.ndarray:
        """Return what is released in the units of :meth:`law`, which may use what is public of the records.

        Parameters
        ----------
        released : ndarray
            What :meth:`release` returned.
        question : object
            What the curator broadcast.
        records : Records
            Records, of which only public parts may be used.

        Returns
        -------
        ndarray
            A report of :meth:`law`'s mechanism.
        """
        return released

    def budget(self, question: Q) -> float:
        """Return the exact epsilon of a record, or of a label where features are public.

        Parameters
        ----------
        question : object
            What the curator broadcast.

        Returns
        -------
        float
            Epsilon.
        """
        return self.mechanism(question).epsilon

    def draws(self, streams: Streams, n: int, question: Q) -> Any:
        """Return the curator's randomness.

        Parameters
        ----------
        streams : Streams
            Randomness of this answer.
        n : int
            Number of users.
        question : object
            What the curator broadcast.

        Returns
        -------
        Generator
            What :meth:`release` draws from.
        """
        return streams.generator("release")

    def release(self, records: Records, question: Q, draws: Any) -> np.ndarray:
        """Return what is released.

        Parameters
        ----------
        records : Records
            Records of all users.
        question : object
            What the curator broadcast.
        draws : Generator
            Randomness of the curator.

        Returns
        -------
        ndarray
            The randomized statistic.
        """
        return self.mechanism(question).randomize(self.statistic(records, question), draws)
