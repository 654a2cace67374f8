"""Named random streams: every draw is keyed by what it is for, never by when it happens.

A stream derives from a root seed and a set of named axes through a stable, length-prefixed hash and
`numpy.random.SeedSequence`. Two draws with equal keys are the same bits whatever the number of workers, the order of
work or an interruption; two draws with different keys are independent. Because the key and not the call order decides,
`estimator.sweep` (the whole grid in one pass) and the loop of `estimator.learn_from` (one grid point) on the same
streams draw the same noise.
"""

from __future__ import annotations

import hashlib
import numbers
import secrets
from functools import lru_cache
from typing import Any

import numpy as np

from lpbench.checks import check_whole

Seed = int | np.random.Generator | np.random.RandomState | None


def _encode(value: Any) -> bytes:
    """Encode one axis value so that values of different types or lengths never collide."""
    # the exact types first: what a number is among others takes long to ask
    if type(value) is str:
        tag, body = b"s", value.encode()
    elif type(value) is int:
        tag, body = b"i", str(value).encode()
    elif value is None:
        tag, body = b"n", b""
    elif isinstance(value, (tuple, list)):
        tag, body = b"t", b"".join([_encode(v) for v in value])
    elif isinstance(value, (bool, np.bool_)):
        tag, body = b"b", str(bool(value)).encode()
    elif isinstance(value, numbers.Integral):
        tag, body = b"i", str(int(value)).encode()
    elif isinstance(value, numbers.Real):
        tag, body = b"f", float(value).hex().encode()
    elif isinstance(value, str):
        tag, body = b"s", value.encode()
    else:
        raise TypeError(f"stream axis value {value!r} must be None, bool, int, float, str or a tuple of these")
    return tag + str(len(body)).encode() + b":" + body


def stable_hash(**axes: Any) -> int:
    """Hash named values to an integer that depends on nothing else: not on their order, process or platform.

    Parameters
    ----------
    **axes : None, bool, int, float, str or tuple
        Names and values; tuples and lists hold values of these types.

    Returns
    -------
    int
        Of 128 bits.

    Raises
    ------
    TypeError
        If a value has another type.
    """
    h = hashlib.blake2b(digest_size=16)
    for key in sorted(axes):
        h.update(_encode(key))
        h.update(_encode(axes[key]))
    return int.from_bytes(h.digest(), "little")


def _hash(purpose: str, axes: tuple[tuple[str, Any], ...]) -> int:
    return stable_hash(purpose=purpose, axes=axes)


#: Types of values that are equal only if they are encoded alike: what is drawn in every fit is hashed once.
_PLAIN = {str, int, type(None)}
_plain_hash = lru_cache(maxsize=4096)(_hash)
_WORD = np.dtype("<u4")


class Streams:
    """A family of independent random streams under one root seed.

    Parameters
    ----------
    seed : int
        Non-negative root seed of the family.

    Examples
    --------
    >>> s = Streams(7)
    >>> s.generator("label").random() == s.generator("label").random()
    True
    >>> s.generator("label").random() == s.generator("report", bins=2).random()
    False
    """

    __slots__ = ("seed",)
    seed: int

    def __init__(self, seed: int):
        self.seed = check_whole("seed", seed)

    @classmethod
    def from_random_state(cls, random_state: Seed | Streams) -> Streams:
        """Make a family of streams from scikit-learn's ``random_state``.

        Parameters
        ----------
        random_state : int, Generator, RandomState, Streams or None
            A seed; a numpy source, from which one number is drawn; streams, which are returned; None: fresh entropy.

        Returns
        -------
        Streams
            Family under that seed.
        """
        if isinstance(random_state, Streams):
            return random_state
        if random_state is None:
            return cls(secrets.randbits(128))
        if isinstance(random_state, np.random.Generator):
            return cls(int(random_state.integers(2**63)))
        if isinstance(random_state, np.random.RandomState):
            return cls(int(random_state.randint(2**31 - 1)))
        return cls(check_whole("random_state", random_state))

    def generator(self, purpose: str, /, **axes: Any) -> np.random.Generator:
        """Return a fresh generator at the start of a named stream.

        Parameters
        ----------
        purpose : str
            Use of the draws, such as "noise".
        **axes : object
            Further keys, such as the replication. Equal names and values give equal draws.

        Returns
        -------
        numpy.random.Generator
            PCG64 at the start of the stream.
        """
        return np.random.Generator(np.random.PCG64(self._sequence(purpose, axes)))

    def integer(self, purpose: str, /, **axes: Any) -> int:
        """Return a seed for libraries that take an integer, such as scikit-learn's ``random_state``.

        Parameters
        ----------
        purpose : str
            Use of the draws.
        **axes : object
            Further keys.

        Returns
        -------
        int
            Of 31 bits.
        """
        return int(self._sequence(purpose, axes).generate_state(1)[0] >> 1)

    def child(self, purpose: str, /, **axes: Any) -> Streams:
        """Return an independent family of streams.

        Parameters
        ----------
        purpose : str
            Use of the draws.
        **axes : object
            Further keys.

        Returns
        -------
        Streams
            Family under a seed of 128 bits of its own.
        """
        words = self._sequence(purpose, axes).generate_state(4, np.uint32)
        return Streams(int.from_bytes(words.astype(_WORD).tobytes(), "little"))

    def party(self, name: str) -> Streams:
        """Return the root of one party to a protocol.

        The party's seed is a one-way hash of this seed, from which neither this seed nor another party's can be
        computed: a curator cannot draw the users' noise again.

        Parameters
        ----------
        name : str
            Party, at most 16 bytes, such as "curator".

        Returns
        -------
        Streams
            Root of the party's streams.
        """
        digest = hashlib.blake2b(str(self.seed).encode(), digest_size=16, person=name.encode()).digest()
        return Streams(int.from_bytes(digest, "little"))

    def _sequence(self, purpose: str, axes: dict[str, Any]) -> np.random.SeedSequence:
        """Seed sequence of a stream: a hash of root seed, purpose and axes, in whatever order axes are given."""
        named = tuple(sorted(axes.items()))
        hash_of = _plain_hash if _PLAIN.issuperset(map(type, axes.values())) else _hash
        parts = self.seed, hash_of(purpose, named)
        # SeedSequence takes numbers as words of 32 bits, of which it makes these one by one
        words = b"".join([word.to_bytes(max(4, -(-word.bit_length() // 32) * 4), "little") for word in parts])
        return np.random.SeedSequence(np.frombuffer(words, dtype=_WORD))

    def __repr__(self) -> str:
        return f"Streams({self.seed})"

    def __eq__(self, value: object) -> bool:
        return isinstance(value, Streams) and value.seed == self.seed

    def __hash__(self) -> int:
        return hash(("Streams", self.seed))
