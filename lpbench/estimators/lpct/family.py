"""Votes of a whole sweep: several partitions at several budgets in one answer, with common random numbers."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lpbench.estimators.lpct.partition import PublicTree
from lpbench.estimators.lpct.votes import VoteMechanism, noisy_votes, unit_noise
from lpbench.privacy import Laplace
from lpbench.seeds import Streams


@dataclass(frozen=True, eq=False)
class VoteFamily:
    """Round-1 questions of a sweep: several public partitions, their leaves end to end, and several mechanisms.

    ``leaves`` are pairs (tree, node numbers of the leaves of all partitions cut from it), ``start`` (n_partitions + 1,)
    the first leaf of each partition among all, and ``axes`` the names of each partition's noise stream.
    """

    leaves: Sequence[tuple[PublicTree, np.ndarray]]  # nodes that are the cells of partitions, end to end
    start: np.ndarray  # partition t owns the leaves start[t], ..., start[t + 1] - 1 of all; (n_partitions + 1,)
    #: Axes of each partition's draws "counts". Partitions with equal ones share draws: each takes the first cells'.
    axes: Sequence[Mapping[str, int]]
    mechanisms: Sequence[VoteMechanism]
    n_classes: int

    @cached_property
    def partitions(self) -> list[tuple[tuple[tuple[str, int], ...], slice]]:
        """For each partition the axes that key its draws, and the slice of its leaves."""
        edges = itertools.pairwise(self.start.tolist())
        return [(tuple(axes.items()), slice(*edge)) for axes, edge in zip(self.axes, edges, strict=True)]

    def total(self, per_leaf: np.ndarray) -> np.ndarray:
        """Sum over the leaves of each partition: (..., n_leaves) -> (..., n_partitions)."""
        return np.add.reduceat(per_leaf, self.start[:-1], axis=-1)

    def noisy(self, votes: np.ndarray, n: int, streams: Streams) -> np.ndarray:
        """Estimates of ``n`` users' votes under every mechanism (first axis), as :func:`.votes.noisy_votes` of each."""
        halves = [m.half for m in self.mechanisms]
        scale = np.array([half.scale for half in halves if isinstance(half, Laplace)])
        if scale.size:
            return votes + scale[:, None, None] * self._unit_noise(votes, n, streams)
        result = np.empty((len(halves), *votes.shape))
        for b, mechanism in enumerate(self.mechanisms):
            for axes, leaves in self.partitions:
                result[b, :, leaves] = noisy_votes(votes[:, leaves], n, mechanism, streams, **dict(axes))
        return result

    def _unit_noise(self, votes: np.ndarray, n: int, streams: Streams) -> np.ndarray:
        """Unit-scale noise of the votes of every leaf for ``n`` users, shaped as ``votes`` (n_classes, n_leaves).

        It has the memory order of ``votes``. Partitions with equal axes share draws: the narrower takes the first of
        the wider's.
        """
        widest: dict[tuple, int] = {}
        for axes, leaves in self.partitions:
            widest[axes] = max(widest.get(axes, 0), leaves.stop - leaves.start)
        drawn = {
            axes: unit_noise(n, cells, len(votes), streams.generator("counts", **dict(axes)))
            for axes, cells in widest.items()
        }
        unit = np.empty_like(votes)
        for axes, leaves in self.partitions:
            unit[:, leaves] = drawn[axes][:, : leaves.stop - leaves.start]
        return unit
