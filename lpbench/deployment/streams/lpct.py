"""LPCT's curator on a stream of reports (LPCT section 3): the sums of the votes are all it keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from lpbench.deployment.collector import SUM_STEP
from lpbench.deployment.lpct import LPCTCurator
from lpbench.deployment.streams.draws import UserSlice
from lpbench.deployment.streams.exact import ExactSums
from lpbench.estimators import LPCT
from lpbench.estimators.lpct.votes import VOTE
from lpbench.privacy import Records
from lpbench.privacy.payload import unpack
from lpbench.seeds import Streams

#: Table entries that are in memory at once: the temporaries stay in the processor's cache.
_ENTRIES = 1 << 18
#: Reports whose real numbers are added at once without overflow, whatever a malicious user sends.
_ROWS = 1 << 10


class VoteStream:
    """Sums of the reports of any number of users.

    Sums are whole multiples of ``SUM_STEP``, as those of :class:`~lpbench.deployment.collector.Collector`: the order of
    the reports, their chunks and the way in which streams are merged do not change a bit of the model.

    Parameters
    ----------
    curator : LPCTCurator
        Has grown the partition from the public sample.
    """

    def __init__(self, curator: LPCTCurator):
        self.curator = curator
        self._fields = VOTE.fields(curator.question)
        self._sums = ExactSums(curator.question.entries)
        #: Number of users who have reported.
        self.accepted = 0

    def add(self, reports: np.ndarray) -> None:
        """Take reports of shape (m, n_classes, n_cells) or (m, n_classes * n_cells)."""
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
            If one of them is not a report to this curator's question.
        """
        values, legal = unpack(self._fields, payloads)
        if not legal.all():
            raise ValueError(f"{np.count_nonzero(~legal)} of {len(legal)} payloads have impossible values")
        self.add(values)

    def add_users(self, X: np.ndarray, codes: np.ndarray, streams: Streams, start: int = 0) -> None:
        """Simulate users ``start``, ``start + 1``, ...: their tables are randomised and added up, then forgotten.

        Parameters
        ----------
        X : ndarray of shape (m, d)
        codes : int ndarray of shape (m,)
            Classes 0, ..., n_classes - 1.
        streams : Streams
            Root of all users' randomness. With that of a model the reports are those of its ``fit`` with
            ``noise="per_user"``.
        start : int
        """
        records, question = Records(X, codes), self.curator.question
        step = max(1, _ENTRIES // self._sums.n_cells)
        for first in range(0, len(records), step):
            draws: Any = UserSlice(streams, "counts", start + first, **question.axes)
            self.add(VOTE.report(records.take(slice(first, first + step)), question, draws))

    def merge(self, other: VoteStream) -> None:
        """Add what another stream of the same campaign has collected."""
        if other.curator.first != self.curator.first:
            raise ValueError("cannot merge streams of different campaigns")
        self._sums.merge(other._sums)
        self.accepted += other.accepted

    def sums(self) -> np.ndarray:
        """Return the sums of the reports: ndarray of shape (n_classes * n_cells,)."""
        return self._sums.floats() * SUM_STEP

    def fit(self) -> LPCT:
        """Return the fitted model; the stream may go on."""
        return self.curator.fit(self)

    @property
    def nbytes(self) -> int:
        """Bytes held, whatever the number of users."""
        return self._sums.nbytes
