"""Random draws of a chunk of users: the same bits however the users are chunked."""

from __future__ import annotations

import numpy as np

from lpbench.seeds import Streams


class SlicedStreams(Streams):
    """Streams whose generators hand out what users ``start``, ``start + 1``, ... get of all users' draws.

    Parameters
    ----------
    start : int
        Number of the first user.
    """

    __slots__ = ("start",)

    def __init__(self, streams: Streams, start: int) -> None:
        super().__init__(streams.seed)
        self.start = start

    def generator(self, purpose: str, /, **axes: object) -> np.random.Generator:
        return UserSlice(Streams(self.seed), purpose, self.start, **axes)  # type: ignore[return-value]


class UserSlice:
    """A generator that hands out what users ``start``, ``start + 1``, ... get when all users' draws are made at once.

    One draw takes one step of the generator, so that the draws of any user can be reached without making those before.
    (Laplace draws repeat a step with probability 2^-53.)

    Parameters
    ----------
    start : int
        Number of the first user.
    **axes
        As for :meth:`lpbench.seeds.Streams.generator`.
    """

    def __init__(self, streams: Streams, purpose: str, start: int, **axes: object):
        self._streams, self._purpose, self._start, self._axes = streams, purpose, start, axes
        self._calls = 0

    def _generator(self, shape: tuple[int, ...]) -> np.random.Generator:
        axes = self._axes if self._calls == 0 else {**self._axes, "call": self._calls}
        self._calls += 1
        generator = self._streams.generator(self._purpose, **axes)
        generator.bit_generator.advance(self._start * int(np.prod(shape[1:], dtype=np.int64)))  # type: ignore[attr-defined]
        return generator

    def random(self, size: int | tuple[int, ...]) -> np.ndarray:
        """Uniforms; the first axis of ``size`` is the users."""
        size = _shape(size)
        return self._generator(size).random(size)

    def laplace(self, size: int | tuple[int, ...]) -> np.ndarray:
        """Standard Laplace noise."""
        size = _shape(size)
        return self._generator(size).laplace(size=size)

    def geometric(self, p: float, size: int | tuple[int, ...]) -> np.ndarray:
        """Geometric variables 1, 2, ... by inversion, one uniform each (numpy's own take a random number of them)."""
        size = _shape(size)
        return np.ceil(np.log1p(-self._generator(size).random(size)) / np.log1p(-p)).clip(min=1.0)


def _shape(size: int | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size) if isinstance(size, tuple) else (int(size),)
