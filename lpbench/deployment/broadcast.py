"""What the curator sends: settings as canonical JSON, in which partitions are packed arrays."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

import numpy as np

from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.wire import digest
from lpbench.partitions import TreePartition

#: Bytes of the longest broadcast, and depth of the deepest partition, that a device reads.
MOST_BROADCAST, MOST_DEPTH = 1 << 20, 256

_TREE = struct.Struct(">HI")


@dataclass(frozen=True)
class Broadcast:
    """The question of one round.

    Attributes
    ----------
    settings : dict
        JSON values; the keys ``campaign``, ``round``, ``device`` and, from round 2 on, ``after`` (hexadecimal digest of
        the round before) are always there.
    """

    settings: dict

    def encode(self) -> bytes:
        """Return the bytes that are sent; they determine the campaign."""
        content = json.dumps(self.settings, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
        if len(content) > MOST_BROADCAST:
            raise ProtocolError(f"a broadcast of {len(content)} bytes: devices read at most {MOST_BROADCAST}")
        return content

    @classmethod
    def decode(cls, content: bytes) -> Broadcast:
        """Inverse of :meth:`encode`; ProtocolError if the content is not one."""
        if not isinstance(content, bytes) or len(content) > MOST_BROADCAST:
            raise ProtocolError(f"the broadcast cannot be read: it must be at most {MOST_BROADCAST} bytes")
        try:
            settings = json.loads(content, parse_constant=_no_number)
            if not isinstance(settings, dict):
                raise ValueError("its content is no object")
            return cls(settings)
        except (ValueError, RecursionError) as error:
            raise ProtocolError(f"the broadcast cannot be read: {error}") from error


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def campaign_of(content: bytes) -> bytes:
    """Digest that reports to this broadcast carry."""
    return digest(content)


def encode_tree(tree: TreePartition) -> bytes:
    """Pack a partition: number of features and nodes, the feature of every node, the threshold of every cut."""
    inner = tree.feature >= 0
    feature = np.where(inner, tree.feature + 1, 0).astype(">u2")
    return _TREE.pack(tree.n_features, tree.n_nodes) + feature.tobytes() + tree.threshold[inner].astype(">f8").tobytes()


def decode_tree(content: bytes) -> TreePartition:
    """Inverse of :func:`encode_tree` on the unit cube; sample counts are not sent."""
    n_features, n_nodes = _TREE.unpack_from(content)
    feature = np.frombuffer(content, dtype=">u2", count=n_nodes, offset=_TREE.size).astype(np.intp) - 1
    inner = feature >= 0
    threshold = np.zeros(n_nodes)
    cuts = np.frombuffer(content, dtype=">f8", offset=_TREE.size + 2 * n_nodes)
    if cuts.size != inner.sum() or n_nodes != 1 + 2 * inner.sum() or feature.max(initial=-1) >= n_features:
        raise ValueError("the arrays of the partition do not fit together")
    # The r-th cut has the children 1 + 2 r and 2 + 2 r, which come after it.
    if (np.flatnonzero(inner) > 2 * np.arange(cuts.size)).any() or not np.isfinite(cuts).all():
        raise ValueError("the cuts of the partition are not a tree of finite thresholds")
    threshold[inner] = cuts
    tree = TreePartition(
        feature, threshold, np.zeros(n_nodes, dtype=np.intp), np.zeros(n_features), np.ones(n_features)
    )
    if tree.max_depth > MOST_DEPTH:
        raise ValueError(f"the partition is {tree.max_depth} cuts deep, more than {MOST_DEPTH}")
    return tree
