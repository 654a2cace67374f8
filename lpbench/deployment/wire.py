"""Binary reports: a payload (:mod:`lpbench.privacy.payload`) between a header that says what it answers and a tag.

A report is ``header (20 bytes) | payload | tag (8 bytes)``, big-endian:

====== ===== ==========================================================
offset bytes meaning
====== ===== ==========================================================
0      2     magic ``LP``
2      1     version of the format
3      1     round, from 1
4      8     campaign: digest of the broadcast that the report answers
12     8     user number, assigned at enrolment
20     ...   payload: the fields in order, padded with zeros to a byte
-8     8     keyed digest of everything before it
====== ===== ==========================================================

The length of a payload is fixed by the broadcast, so that it cannot depend on protected values.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass

MAGIC, VERSION = b"LP", 1
_HEADER = struct.Struct(">2sBB8sQ")
HEADER_BYTES, TAG_BYTES, DIGEST_BYTES = _HEADER.size, 8, 8


def digest(content: bytes, key: bytes = b"") -> bytes:
    """Keyed 8-byte digest (BLAKE2b)."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES, key=key).digest()


def user_token(secret: bytes, user: int) -> bytes:
    """Key that the curator hands to a user at enrolment, so that nobody else can report in the user's name."""
    return hashlib.blake2b(struct.pack(">Q", user), digest_size=16, key=secret).digest()


def seal(campaign: bytes, round_number: int, user: int, payload: bytes, token: bytes) -> bytes:
    """Put a payload into an envelope."""
    body = _HEADER.pack(MAGIC, VERSION, round_number, campaign, user) + payload
    return body + digest(body, token)


@dataclass(frozen=True)
class Envelope:
    """A report taken apart, nothing of it trusted yet."""

    version: int
    round: int
    campaign: bytes
    user: int
    payload: bytes
    tag: bytes
    body: bytes

    def is_authentic(self, secret: bytes) -> bool:
        """Whether the tag was made with the user's token."""
        return hmac.compare_digest(digest(self.body, user_token(secret, self.user)), self.tag)


def open_envelope(report: bytes) -> Envelope | None:
    """Take a report apart; None if it is not in the format at all."""
    if len(report) < HEADER_BYTES + TAG_BYTES:
        return None
    magic, version, round_number, campaign, user = _HEADER.unpack_from(report)
    if magic != MAGIC:
        return None
    body, tag = report[:-TAG_BYTES], report[-TAG_BYTES:]
    return Envelope(version, round_number, campaign, user, body[HEADER_BYTES:], tag, body)
