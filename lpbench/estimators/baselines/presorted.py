"""Regression trees grown level by level on features that are sorted once, several trees at a time."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np

from lpbench.partitions import TreePartition
from lpbench.partitions.tree import check_bounds

_BLOCK = 1 << 14  # entries that are divided and scored at a time: what is made of them stays in the processor's cache
_TOGETHER = 1 << 18  # entries of trees that are grown together: for more it saves no time
_SAMPLE = (1 << 32) - 1  # bits of an entry that say which row it is of; those above say the feature's value


def grow_presorted(
    samples: Sequence[tuple[np.ndarray, np.ndarray]], limits: Sequence[tuple[float, float]], seed: int
) -> list[SimpleNamespace]:
    """Grow a tree on each sample for each (largest depth, fewest rows of a leaf, or their share).

    The law is that of scikit-learn's ``DecisionTreeRegressor`` on features X (n, d), float32 and none missing, and
    labels y (n,): the cut with the largest decrease of the variance, of a feature's the lowest, and among the features
    that have one a feature drawn uniformly. Cuts are compared by labels rounded to whole numbers of 62 - 2 log2(n)
    bits: sums are exact in any order, so that cuts that divide a node alike are equally good, and take a fraction of
    the time of floats. Samples are of one shape, and a tree is the same whichever others are grown beside it. It is
    read as scikit-learn's are.
    """
    step = max(1, _TOGETHER // (samples[0][0].size * len(limits)))
    parts = (samples[first : first + step] for first in range(0, len(samples), step))
    return [tree for part in parts for tree in _grow(part, limits, seed)]


def _grow(
    samples: Sequence[tuple[np.ndarray, np.ndarray]], limits: Sequence[tuple[float, float]], seed: int
) -> list[SimpleNamespace]:
    (n, d), k = samples[0][0].shape, len(samples) * len(limits)
    X = np.array([features for features, _ in samples])
    bits = np.ascontiguousarray(X.swapaxes(1, 2) + np.float32(0)).view(np.int32)
    # as whole numbers, floats have the order of their values, or if negative the opposite order
    order = np.sort(((bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64) << 32) | np.arange(n), axis=2)
    # Rows of all trees are numbered through, and nodes of a level tree by tree with siblings side by side. Of the
    # entries of a feature those of a node are side by side, too, but left children stand before right ones
    # (``placed``): dividing all nodes is then two selections.
    entries = order.swapaxes(0, 1)[:, :, None] + (n * np.arange(k)).reshape(-1, len(limits), 1)
    entries, corner = entries.reshape(d, -1), np.arange(0, X.size, d)
    y, whole, corner = (
        np.repeat(np.reshape(part, (-1, 1, n)), len(limits), axis=1).reshape(-1)
        for part in ([labels for _, labels in samples], [_whole(labels) for _, labels in samples], corner)
    )
    largest = np.tile([depth for depth, _ in limits], len(samples))
    leasts = [np.ceil(least * n) if isinstance(least, float) else least for _, least in limits]
    fewest = np.tile(leasts, len(samples))
    sample, tree, placed, levels = np.arange(k * n), np.arange(k), np.arange(k), []
    node, side = np.repeat(tree, n), np.empty(k * n, dtype=np.int8)
    while placed.size:
        size, own = np.bincount(node, minlength=tree.size), y.take(sample)
        mean = np.bincount(node, own, tree.size) / size
        feature, threshold = np.full(tree.size, -1), np.zeros(tree.size)
        levels.append((tree, feature, threshold, size, mean))
        inner = (size >= 2 * fewest[tree]) & (len(levels) <= largest[tree])
        placed = placed[inner[placed]]
        if placed.size == 0:
            break
        side.fill(2)
        side[sample] = np.where(inner, np.arange(tree.size) & 1 if len(levels) > 1 else 0, 2).take(node)
        cuts = _Cuts(whole, size[placed], fewest[tree[placed]])
        entries, highest = _divided(entries, side, cuts)
        best = highest.max(axis=0)
        equal = highest == best
        chosen, tied = equal.argmax(axis=0), np.flatnonzero(equal.sum(axis=0) > 1)
        if tied.size:
            within = placed[tied] - np.searchsorted(tree, tree[placed[tied]])  # number among the nodes of the tree
            draws = np.random.default_rng((seed, len(levels))).random(tree.size)[within]
            ranks = equal[:, tied].cumsum(axis=0)
            chosen[tied] = (ranks > draws * ranks[-1]).argmax(axis=0)
        possible = best >= 0
        if (best == 0).any():  # in most of these nodes all labels are equal, which scikit-learn does not cut
            spread = np.bincount(node, (own - mean.take(node)) ** 2, tree.size) / size
            possible &= (best > 0) | (spread[placed] > np.finfo(float).eps)
        at = cuts.thresholds(entries, chosen, best)
        placed = placed[possible]
        feature[placed], threshold[placed] = chosen[possible], at[possible]
        cut = feature >= 0
        kept = np.flatnonzero(cut.take(node))
        sample, node = sample.take(kept), node.take(kept)
        right = X.take(corner.take(sample) + feature.take(node)) > threshold.take(node)
        left, tree = 2 * np.cumsum(cut) - 2, np.repeat(tree[cut], 2)
        node, placed = left.take(node) + right, np.concatenate([left[placed], left[placed] + 1])
    tree, feature, threshold, size, mean = map(np.concatenate, zip(*levels, strict=True))
    threshold = np.where(feature >= 0, np.nextafter(threshold, np.inf), 0.0)  # x < threshold goes to the left
    grown = []
    for own in (np.flatnonzero(tree == number) for number in range(k)):
        cells = TreePartition(feature[own], threshold[own], size[own], *check_bounds(None, d))
        children = {"children_left": cells.left, "children_right": cells.right}
        facts = {"node_count": cells.n_nodes, "max_depth": cells.max_depth, "partition": cells}
        grown.append(SimpleNamespace(apply=cells.apply, value=mean[own, None, None], **children, **facts))
    return grown


def _whole(y: np.ndarray) -> np.ndarray:
    centred = y - np.mean(y)
    scale = 2.0**62 / y.size**2 / max(float(np.abs(centred).max()), 1e-200)
    return np.rint(centred * scale).astype(np.int64)


def _divided(entries: np.ndarray, side: np.ndarray, cuts: _Cuts) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the samples on side 0, then of those on side 1, and the best score of each feature and node."""
    (d, m), members = entries.shape, cuts.of.size
    step, highest = max(1, _BLOCK // m), np.empty((d, cuts.begin.size))
    divided = entries.reshape(-1)[: d * members].reshape(d, members)  # overwrites what has been read
    for first in range(0, d, step):
        block, rows = entries[first : first + step], slice(first, first + step)
        sides = side.take(block & _SAMPLE)
        halves = [block.compress((sides == half).reshape(-1)).reshape(len(block), -1) for half in (0, 1)]
        np.concatenate(halves, axis=1, out=divided[rows])
        np.maximum.reduceat(cuts.scores(divided[rows]), cuts.begin, axis=1, out=highest[rows])
    return divided, highest


class _Cuts:
    """Cuts of nodes, whose entries stand side by side."""

    def __init__(self, whole: np.ndarray, size: np.ndarray, fewest: np.ndarray) -> None:
        self._whole, self._all = whole, None
        self.of, self.begin, self._last = np.arange(size.size).repeat(size), size.cumsum() - size, size.cumsum() - 1
        self._size, least = size.take(self.of), fewest.take(self.of)
        self._left = np.arange(1, self.of.size + 1) - self.begin.take(self.of)
        right = self._size - self._left
        self._factor = 1.0 / np.maximum(self._left * right, 1)
        self._impossible = (self._left < least) | (right < least)

    def scores(self, entries: np.ndarray) -> np.ndarray:
        """Decrease of the variance by the cut after each entry, up to a factor of the node; -1: it is impossible."""
        sums = self._whole.take(entries & _SAMPLE).cumsum(axis=1)
        if self._all is None:  # every row has the same samples of a node, so the same sums where it begins and ends
            before, upto = np.append(0, sums[0])[self.begin].take(self.of), sums[0, self._last].take(self.of)
            self._all = before * self._size + self._left * (upto - before)
        # size x sum of the left labels - number of left labels x sum of all
        sums *= self._size
        sums -= self._all
        score = sums.astype(float)
        score *= score
        score *= self._factor
        value, impossible = entries >> 32, np.empty(entries.shape, dtype=bool)
        impossible[:, -1] = True
        np.equal(value[:, 1:], value[:, :-1], out=impossible[:, :-1])
        impossible |= self._impossible
        np.putmask(score, impossible, -1.0)
        return score

    def thresholds(self, entries: np.ndarray, chosen: np.ndarray, best: np.ndarray) -> np.ndarray:
        """Where the first of the best cuts of the chosen feature of every node lies."""
        m = self.of.size
        own = entries.take((chosen * m).take(self.of) + np.arange(m))
        hits = np.flatnonzero(self.scores(own[None])[0] == best.take(self.of))
        at = hits[hits.searchsorted(self.begin)]
        bits = (own[[at, np.minimum(at + 1, m - 1)]] >> 32).astype(np.int32)
        low, high = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).view(np.float32).astype(float)
        middle = low / 2 + high / 2
        return np.where(middle < high, middle, low)
