"""Collecting the reports of a round: in any order, in chunks, at several places; what is wrong is refused and counted.

Neither the order of arrival nor the way in which collectors are merged changes a bit of what they hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lpbench.deployment.wire import VERSION, Envelope, open_envelope
from lpbench.errors import LpbenchError
from lpbench.privacy.payload import Field, payload_bytes, unpack

#: Why a report may be refused.
REASONS = {
    "malformed": "not in the format: too short, wrong magic or version, an impossible value, padding that is not zero",
    "wrong_campaign": "answers another broadcast",
    "out_of_round": "answers a round that is not open here",
    "over_long": "longer than the round's payload",
    "truncated": "shorter than the round's payload",
    "forged": "the tag is not that of the user it names",
    "wrong_collector": "belongs to another collector",
    "replayed": "the same bytes were counted before",
    "duplicate": "the user has already reported in this round",
    "impossible": "contradicts what the user's public features say",
}


class ProtocolError(LpbenchError, ValueError):
    """The parties do not follow the protocol: a client is asked too much, or collectors do not fit together."""


@dataclass(frozen=True)
class Round:
    """What a collector must know about a round.

    Attributes
    ----------
    number : int or mapping of int to int
        1, 2, ...; each user's own, where some were asked more often than others.
    campaign : bytes or mapping of int to bytes
        Digest of the broadcast that the reports answer; of each user's own, where questions differ.
    fields : tuple of Field
        The payload.
    """

    number: int | Mapping[int, int]
    campaign: bytes | Mapping[int, bytes]
    fields: tuple[Field, ...]

    def number_of(self, user: int) -> int | None:
        """Round of a user; None: the user was not asked."""
        return self.number if isinstance(self.number, int) else self.number.get(user)

    def campaign_of(self, user: int) -> bytes | None:
        """Digest of the broadcast to a user; None: the user was not asked."""
        return self.campaign if isinstance(self.campaign, bytes) else self.campaign.get(user)


class Collector:
    """Collect the reports of one round.

    Parameters
    ----------
    secret : bytes
        Key of the enrolment tokens.
    shard, n_shards : int
        The collector takes users with ``user % n_shards == shard``; users that reported to two collectors could not be
        recognised once reports are summed.
    possible : callable (users, values) -> boolean array, optional
        Which rows agree with what is public about their users.

    Attributes
    ----------
    accepted : int
    rejected : Counter
        Reason -> number of reports; keys of :data:`REASONS`.
    """

    def __init__(
        self,
        round: Round,
        secret: bytes,
        shard: int = 0,
        n_shards: int = 1,
        possible: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    ):
        self.round, self.shard, self.n_shards = round, shard, n_shards
        self._secret, self._possible = secret, possible
        self._length = payload_bytes(round.fields)
        self._tags: dict[int, bytes] = {}
        self._rows: dict[int, np.ndarray] = {}
        self.rejected: Counter[str] = Counter()

    @property
    def accepted(self) -> int:
        """Number of reports counted."""
        return len(self._tags)

    def add(self, reports: Iterable[bytes]) -> list[str]:
        """Take a chunk of reports; returns for each "" if it was counted, else the reason of the refusal.

        No report raises. A refused one changes nothing but :attr:`rejected`.
        """
        screened = [self._screen(report) for report in reports]
        reasons = [reason for reason, _ in screened]
        opened = [(i, envelope) for i, (_, envelope) in enumerate(screened) if envelope is not None]
        if opened:
            self._count(opened, reasons)
        self.rejected.update(reason for reason in reasons if reason)
        return reasons

    def _screen(self, report: bytes) -> tuple[str, Envelope | None]:
        """Check the envelope: ("", envelope) or (reason, None)."""
        envelope = open_envelope(bytes(report)) if isinstance(report, (bytes, bytearray, memoryview)) else None
        if envelope is None or envelope.version != VERSION:
            return "malformed", None
        if self.round.number_of(envelope.user) not in (envelope.round, None):
            return "out_of_round", None
        if envelope.campaign != self.round.campaign_of(envelope.user):
            return "wrong_campaign", None
        if len(envelope.payload) != self._length:
            return ("over_long" if len(envelope.payload) > self._length else "truncated"), None
        if not envelope.is_authentic(self._secret):
            return "forged", None
        if envelope.user % self.n_shards != self.shard:
            return "wrong_collector", None
        return "", envelope

    def _count(self, opened: Sequence[tuple[int, Envelope]], reasons: list[str]) -> None:
        """Check values, then users, one by one in the order of arrival; count what is left."""
        envelopes = [envelope for _, envelope in opened]
        payloads = np.frombuffer(b"".join(e.payload for e in envelopes), dtype=np.uint8)
        values, legal = unpack(self.round.fields, payloads.reshape(len(envelopes), self._length))
        possible = legal.copy()
        if self._possible is not None and legal.any():
            users = np.array([e.user for e in envelopes], dtype=np.uint64)
            possible[legal] = self._possible(users[legal], values[legal])
        for i, (place, envelope) in enumerate(opened):
            known = self._tags.get(envelope.user)
            if not legal[i]:
                reasons[place] = "malformed"
            elif not possible[i]:
                reasons[place] = "impossible"
            elif known is not None:
                reasons[place] = "replayed" if known == envelope.tag else "duplicate"
            else:
                self._tags[envelope.user] = envelope.tag
                self._rows[envelope.user] = values[i]

    def merge(self, other: Collector) -> None:
        """Take over what another collector of the same round has counted.

        Raises
        ------
        ProtocolError
            If the other belongs to another round or campaign, or a user reported to both.
        """
        if (other.round.number, other.round.campaign) != (self.round.number, self.round.campaign):
            raise ProtocolError("cannot merge collectors of different rounds or campaigns")
        common = self._tags.keys() & other._tags.keys()
        if common:
            raise ProtocolError(
                f"{len(common)} users (one is {min(common)}) reported to both collectors; give collectors different "
                "shards so that every user has one"
            )
        self._tags |= other._tags
        self._rows |= other._rows
        self.rejected += other.rejected

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the users, increasing, and their reports: ndarrays of shapes (n,), (n, columns)."""
        users = np.array(sorted(self._rows), dtype=np.uint64)
        values = [self._rows[int(user)] for user in users]
        return users, np.array(values).reshape(len(users), sum(f.columns for f in self.round.fields))

    def state(self) -> tuple:
        """Everything that a refused report must not change, in comparable form."""
        rows = tuple((user, row.tobytes()) for user, row in sorted(self._rows.items()))
        return tuple(sorted(self._tags.items())), rows
