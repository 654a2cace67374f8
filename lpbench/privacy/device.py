"""Device: what runs on the users' side in one round of a method; it answers a question that the curator broadcast.

There is one device for a method and round. ``fit`` asks it for all users, the audit for one user with planted values,
the wire client for its owner, a stream chunk by chunk: nobody writes the client code a second time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from lpbench.errors import ConfigurationError
from lpbench.privacy.mechanism import Mechanism, check_epsilon
from lpbench.privacy.payload import Field
from lpbench.seeds import Streams

Q = TypeVar("Q")

#: Entries of reports that are drawn at once where reports are added up.
_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class Records:
    """Records of n users, protected values included.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features as the partition or model takes them.
    y : ndarray of shape (n,)
        Labels, or class codes 0, ..., K - 1.
    mask : boolean ndarray of shape (n, d), optional
        True where the user protects the feature; None: all are protected.
    """

    X: np.ndarray
    y: np.ndarray
    mask: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, users: Any) -> Records:
        """Return the records of some users, by an index, slice or mask."""
        return Records(self.X[users], self.y[users], None if self.mask is None else self.mask[users])

    def repeated(self, user: int, n: int) -> Records:
        """Return ``n`` users who all hold the record of one."""
        return self.take(np.full(n, user))


@dataclass(frozen=True)
class Device(ABC, Generic[Q]):
    """The client code of one method in one round; a question holds everything that the curator broadcast.

    Parameters
    ----------
    round : int
        1, 2, ...
    """

    round: int = 1

    @abstractmethod
    def draws(self, streams: Streams, n: int, question: Q) -> Any:
        """Return the randomness of ``n`` users, at unit scale: arrays whose last axis is the users, or a Generator."""

    @abstractmethod
    def report(self, records: Records, question: Q, draws: Any) -> np.ndarray:
        """Return the reports of all users: ndarray of shape (n,) or (n, k). This is what leaves the devices."""

    @abstractmethod
    def law(self, question: Q, records: Records) -> tuple[Mechanism, np.ndarray]:
        """Return the mechanism that randomises, and what each record puts into it, one row a record.

        The records share their public part; :meth:`report` must have the law of the mechanism at these inputs.
        """

    @abstractmethod
    def fields(self, question: Q) -> tuple[Field, ...]:
        """Return the payload of one report; its length depends on the question alone."""

    @abstractmethod
    def budget(self, question: Q) -> float:
        """Return the epsilon that answering spends, whatever the record."""

    def check(self, question: Q) -> None:
        """Refuse a question that no record could answer; protected values are never looked at.

        Raises
        ------
        ConfigurationError
            If the question is impossible or has no budget.
        """
        check_epsilon(self.budget(question))

    def addends(self, reports: np.ndarray, question: Q) -> np.ndarray:
        """Return what the curator adds up of each report, shape (n, k); by default the reports."""
        return reports.reshape(len(reports), -1)

    def estimate(self, sums: np.ndarray, question: Q, n: int) -> np.ndarray:
        """Return the curator's unbiased reading of the sums of ``n`` users' reports; by default the sums."""
        return sums

    def added_up(self, records: Records, question: Q, draws: Any) -> np.ndarray:
        """Return the sums of all users' reports, shape (k,), a chunk of users at a time; ``draws`` is a Generator."""
        if not isinstance(draws, np.random.Generator):
            raise ConfigurationError("draws must be a Generator, which is read on from chunk to chunk of the users")
        width = sum(field.columns for field in self.fields(question))
        step = max(1, _CHUNK // width)
        sums: Any = 0.0
        for start in range(0, len(records), step):
            part = records.take(slice(start, start + step))
            sums = sums + self.addends(self.report(part, question, draws), question).sum(axis=0)
        return np.asarray(sums)
