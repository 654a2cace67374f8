"""Users who report as a stream: a method that asks for sums learns from any number of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lpbench.deployment.streams.draws import SlicedStreams
from lpbench.deployment.streams.exact import ExactSums
from lpbench.errors import PrivacyError
from lpbench.privacy import Device, Guarantee, PublicSample, Records, Users
from lpbench.privacy.payload import payload_bits, unpack
from lpbench.privacy.spending import Spending, numeric_bits
from lpbench.privacy.users import same_content
from lpbench.seeds import Streams

#: Sums are kept in multiples of this; discrete noise on a coarser grid (a power of two) is summed without rounding.
SUM_STEP = 2.0**-30
#: Entries of reports that are in memory at once: the temporaries stay in the processor's cache.
_ENTRIES = 1 << 18
#: Reports whose real numbers are added at once without overflow, whatever a malicious user sends.
_ROWS = 1 << 10


class SumStream:
    """Sums of the reports of any number of users to one question.

    Sums are whole multiples of ``SUM_STEP``: the order of the reports, their chunks and the way in which streams are
    merged do not change a bit of them.

    Parameters
    ----------
    question : object
    """

    def __init__(self, device: Device[Any], question: Any) -> None:
        self.device, self.question = device, question
        self._fields = device.fields(question)
        self._sums = ExactSums(sum(field.columns for field in self._fields))
        #: Number of users who have reported.
        self.accepted = 0

    def add(self, reports: np.ndarray) -> None:
        """Take reports of m users, shape (m, ...)."""
        entries = self._sums.n_cells
        step = min(max(1, _ENTRIES // entries), _ROWS)
        for start in range(0, len(reports), step):
            part = reports[start : start + step].reshape(-1, entries)
            if part.dtype == bool:
                self._sums.add_rows(np.count_nonzero(part, axis=0)[None] / SUM_STEP)
            else:
                self._sums.add_rows(np.rint(part / SUM_STEP))
            self.accepted += len(part)

    def add_payloads(self, payloads: np.ndarray) -> None:
        """Take reports as they are sent, without their envelopes: uint8 of shape (m, bytes).

        Raises
        ------
        ValueError
            If one of them is not a report to this question.
        """
        values, legal = unpack(self._fields, payloads)
        if not legal.all():
            raise ValueError(f"{np.count_nonzero(~legal)} of {len(legal)} payloads have impossible values")
        self.add(values)

    def add_users(self, X: np.ndarray, y: np.ndarray, streams: Streams, start: int = 0) -> None:
        """Simulate users ``start``, ``start + 1``, ...: their reports are made and added up, then forgotten.

        Parameters
        ----------
        X : ndarray of shape (m, d)
        y : ndarray of shape (m,)
            Labels, or codes of classes.
        streams : Streams
            Root of all users' randomness: the reports are those of a ``fit`` that draws them user by user from it.
        """
        records = Records(X, y)
        step = max(1, _ENTRIES // self._sums.n_cells)
        for first in range(0, len(records), step):
            part = records.take(slice(first, first + step))
            draws = self.device.draws(SlicedStreams(streams, start + first), len(part), self.question)
            self.add(self.device.report(part, self.question, draws))

    def merge(self, other: SumStream) -> None:
        """Add what another stream has collected for the same question."""
        if not same_content(self.question, other.question):
            raise ValueError("cannot merge streams of different campaigns")
        self._sums.merge(other._sums)
        self.accepted += other.accepted

    def sums(self) -> np.ndarray:
        """Return the sums of the reports: ndarray of shape (columns,)."""
        return self._sums.floats() * SUM_STEP

    @property
    def nbytes(self) -> int:
        """Bytes held, whatever the number of users."""
        return self._sums.nbytes


class StreamedUsers(Users):
    """Users of whom the curator keeps sums alone.

    Parameters
    ----------
    collect : callable (SumStream) -> None
        Adds the reports of all users to the question of an empty stream.
    n, n_features : int
        Public numbers of users and of their features.
    y_range, classes, public
        Public knowledge, see :class:`lpbench.privacy.Users`.
    """

    def __init__(
        self,
        collect: Callable[[SumStream], None],
        n: int,
        n_features: int,
        *,
        y_range: tuple[float, float] | None = None,
        classes: np.ndarray | None = None,
        public: PublicSample | None = None,
    ) -> None:
        self._collect, self.n, self.n_features = collect, n, n_features
        self.y_range, self.public = y_range, public
        self.classes = None if classes is None else np.asarray(classes)
        self._spending = Spending(1)

    @property
    def mask(self) -> np.ndarray:
        raise PrivacyError("streamed users report sums alone; a method that looks at each mask cannot learn from them")

    @property
    def public_features(self) -> np.ndarray:
        raise PrivacyError("streamed users report sums alone; a method that reads features cannot learn from them")

    def ask(self, device: Device[Any], question: Any, who: np.ndarray | None = None) -> np.ndarray:
        raise PrivacyError("streamed users report sums alone; a method that reads each report cannot learn from them")

    def sums(self, device: Device[Any], question: Any, by: np.ndarray | None = None) -> np.ndarray:
        if by is not None:
            raise PrivacyError("streamed users report sums alone; they are not divided into groups")
        device.check(question)
        stream = SumStream(device, question)
        self._collect(stream)
        bits = payload_bits(device.fields(question)), numeric_bits(question)
        self._spending.charge(None, device.budget(question), device.delta(question), *bits)
        return device.estimate(stream.sums(), question, stream.accepted)

    def take(self, who: np.ndarray, purpose: str | None = None, /, **axes: Any) -> Users:
        raise PrivacyError("streamed users report sums alone; some of them cannot be asked alone")

    @property
    def spent(self) -> Guarantee:
        return self._spending.guarantee(None, 0.0)

    def note(self, text: str) -> None:
        self._spending.notes.append(text)
