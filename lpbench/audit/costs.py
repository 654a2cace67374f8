"""Records of what protocols and methods cost: bits up and down, bytes on the wire, memory of the curator.

They are measured where the wire is, in :mod:`lpbench.deployment.costs`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """One round of one protocol.

    Attributes
    ----------
    protocol : str
    users, round : int
    payload_bits : int
        Of one report, without padding.
    report_bytes : int
        Of one report on the wire, envelope included.
    bits_down : int
        Of the broadcast.
    curator_bytes : int
        Held by the collector for the reports.
    kept : {"rows", "sums", "counts"}
    """

    protocol: str
    users: int
    round: int
    payload_bits: int
    report_bytes: int
    bits_down: int
    curator_bytes: int
    kept: str

    @property
    def envelope_bytes(self) -> int:
        """Bytes of a report around its payload."""
        return self.report_bytes - -(-self.payload_bits // 8)


@dataclass(frozen=True)
class WireCost:
    """What a method puts on the wire and leaves with the curator, measured on serialised transcripts.

    Attributes
    ----------
    user_bytes : int
        What one user sends, all rounds and envelopes together.
    curator_bytes : float
        What is held of the reports: per user if rows are kept, otherwise in total.
    keep : {"rows", "sums", "counts"}
    """

    user_bytes: int
    curator_bytes: float
    keep: str
