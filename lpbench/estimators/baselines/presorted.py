"""Regression trees grown level by level on features that are sorted once, several trees at a time."""

from collections.abc import Sequence

import numpy as np

from lpbench.partitions import TreePartition

_BLOCK = 1 << 14  # entries that are divided and scored at a time: what is made of them stays in the processor's cache
_TOGETHER = 1 << 18  # entries of trees that are grown together: for more it saves no time
_SAMPLE = (1 << 32) - 1  # bits of an entry that say which row it is of; those above say the feature's value


class PresortedTree:
    """Read as scikit-learn's trees are."""

    def __init__(self, partition: TreePartition, value: np.ndarray) -> None:
        self.partition, self.value, self.apply = partition, value, partition.apply

    # most trees are only read at their leaves
    node_count = property(lambda self: self.partition.n_nodes)
    max_depth = property(lambda self: self.partition.max_depth)
    children_left = property(lambda self: self.partition.left)
    children_right = property(lambda self: self.partition.right)


def grow_presorted(
    samples: Sequence[tuple[np.ndarray, np.ndarray]], limits: Sequence[tuple[float, float]], seed: int
) -> list[PresortedTree]:
    """Grow a tree on each sample for each (largest depth, fewest rows of a leaf, or their share).

    The law is that of scikit-learn's ``DecisionTreeRegressor`` on features X (n, d), float32 and none missing, and
    labels y (n,): the cut with the largest decrease of the variance, of a feature's the lowest, and among the features
    that have one a feature drawn uniformly. Cuts are compared by labels rounded to whole numbers of 62 - 2 log2(n)
    bits: sums are exact in any order, so that cuts that divide a node alike are equally good, and take a fraction of
    the time of floats. Samples are of one shape, and a tree is the same whichever others are grown beside it.
    """
    step = max(1, _TOGETHER // (samples[0][0].size * len(limits)))
    parts = (samples[first : first + step] for first in range(0, len(samples), step))
    return [tree for part in parts for tree in _grow(part, limits, seed)]


def _grow(
    samples: Sequence[tuple[np.ndarray, np.ndarray]], limits: Sequence[tuple[float, float]], seed: int
) -> list[PresortedTree]:
    (n, d), k = samples[0][0].shape, len(samples) * len(limits)
    X = np.array([features for features, _ in samples])
    bits = np.ascontiguousarray(X.swapaxes(1, 2) + np.float32(0)).view(np.int32)
    # as whole numbers, floats have the order of their values, or if negative the opposite order
    order = np.sort(((bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64) << 32) | np.arange(n), axis=2)
    # Rows of all trees are numbered through, and nodes of a level tree by tree with siblings side by side. Of the
    # entries of a feature those of a node are side by side, too, but left children stand before right ones
    # (``placed``): dividing all nodes is then two selections.
    entries = order.swapaxes(0, 1)[:, :, None] + (n * np.arange(k)).reshape(-1, len(limits), 1)
    entries, scores = entries.reshape(d, -1), np.empty((d, k * n))
    y, whole = (
        np.array(part).repeat(len(limits), axis=0).reshape(-1)
        for part in ([labels for _, labels in samples], [_whole(labels) for _, labels in samples])
    )
    largest = np.array([depth for depth, _ in limits] * len(samples))
    leasts = [np.ceil(least * n) if isinstance(least, float) else least for _, least in limits]
    fewest = np.array(leasts * len(samples))
    tree, placed, levels = np.arange(k), np.arange(k), []
    node = np.repeat(tree, n)
    while True:
        # the number after the last one is that of rows whose leaf is above
        size = np.bincount(node, minlength=tree.size + 1)[:-1]
        mean = np.bincount(node, y, tree.size + 1)[:-1] / size
        feature, around = np.full(tree.size, -1), np.zeros((tree.size, 2), dtype=np.int64)
        levels.append((tree, feature, around, size, mean))
        inner = (size >= 2 * fewest[tree]) & (len(levels) <= largest[tree])
        placed = placed[inner[placed]]
        if placed.size == 0:
            break
        side = np.full(tree.size + 1, 2, dtype=np.int8)
        side[placed] = placed & 1 if len(levels) > 1 else 0
        sizes = size[placed]
        entries, scores, highest = _divided(entries, scores, side.take(node), whole, sizes, fewest[tree[placed]])
        best = np.maximum.reduce(highest)
        equal = highest == best
        chosen = equal.argmax(axis=0)
        if np.count_nonzero(equal) > best.size:
            within = placed - tree.searchsorted(tree[placed])  # number among the nodes of the tree
            draws = np.random.default_rng((seed, len(levels))).random(tree.size)[within]
            ranks = equal.cumsum(axis=0)
            chosen = (ranks > draws * ranks[-1]).argmax(axis=0)
        possible = best >= 0
        if np.count_nonzero(best) < best.size:  # in most of these nodes all labels are equal: scikit-learn cuts none
            spread = np.bincount(node, (y - np.append(mean, 0.0).take(node)) ** 2)[: tree.size] / size
            possible &= (best > 0) | (spread[placed] > np.finfo(float).eps)
        # of every node the entries of the chosen feature, and where the first of its best cuts lies
        place = np.arange(len(entries[0]))
        own = (chosen * place.size).repeat(sizes) + place
        (hits,) = (scores.take(own) == best.repeat(sizes)).nonzero()
        last, own = hits[hits.searchsorted(sizes.cumsum() - sizes)], entries.take(own)
        around[placed] = own.take(last[:, None] + np.arange(2), mode="clip")
        feature[placed], last[~possible] = np.where(possible, chosen, -1), place.size
        cut = feature >= 0
        left, tree = 2 * cut.cumsum() - 2, tree[cut].repeat(2)
        left[~cut] = tree.size
        node.fill(tree.size)
        node[own & _SAMPLE] = left[placed].repeat(sizes) + (place > last.repeat(sizes))
        placed = placed[possible]
        placed = np.concatenate([left[placed], left[placed] + 1])
    tree, feature, around, size, mean = map(np.concatenate, zip(*levels, strict=True))
    bits = (around >> 32).astype(np.int32)
    low, high = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).view(np.float32).astype(float).T
    middle = low / 2 + high / 2
    # x < threshold goes to the left
    threshold = np.where(feature >= 0, np.nextafter(np.where(middle < high, middle, low), np.inf), 0.0)
    grown = []
    for own in (np.flatnonzero(tree == number) for number in range(k)):
        cells = TreePartition(feature[own], threshold[own], size[own], np.zeros(d), np.ones(d))
        grown.append(PresortedTree(cells, mean[own, None, None]))
    return grown


def _whole(y: np.ndarray) -> np.ndarray:
    centred = y - y.mean()
    scale = 2.0**62 / y.size**2 / max(float(np.abs(centred).max()), 1e-200)
    return np.rint(centred * scale).astype(np.int64)


def _divided(
    entries: np.ndarray, scores: np.ndarray, side: np.ndarray, whole: np.ndarray, sizes: np.ndarray, fewest: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries of the samples on side 0, then of those on side 1: nodes of some sizes, and fewest rows of their leaves.

    With them the scores of the cuts after each entry, and the best of each feature and node: decrease of the variance
    up to a factor of the node; -1: the cut is impossible.
    """
    (d, m), ends = entries.shape, sizes.cumsum()
    begin, members, size = ends - sizes, ends[-1], sizes.repeat(sizes)
    left = np.arange(1, members + 1) - begin.repeat(sizes)
    right = size - left
    factor, few = 1.0 / np.maximum(left * right, 1), np.minimum(left, right) < fewest.repeat(sizes)
    step, highest, apart = max(1, _BLOCK // m), np.empty((d, sizes.size)), np.empty_like(whole)
    # overwrites what has been read
    divided, scores = (array.reshape(-1)[: d * members].reshape(d, members) for array in (entries, scores))
    for first in range(0, d, step):
        rows = slice(first, first + step)
        block, score, part = entries[rows], scores[rows], divided[rows]
        sides = side.take(block & _SAMPLE).reshape(-1)
        halves = [block.compress(sides == half).reshape(len(block), -1) for half in (0, 1)]
        np.concatenate(halves, axis=1, out=part)
        own = part & _SAMPLE
        if first == 0:  # every feature has the same samples of a node
            labels = whole.take(own[0])
            apart[own[0]] = labels * size - np.add.reduceat(labels, begin).repeat(sizes)
        # size x sum of the left labels - number of left labels x sum of all, which is 0 where a node ends
        score[:] = apart.take(own).cumsum(axis=1)
        score *= score
        score *= factor
        value, impossible = part >> 32, np.ones(part.shape, dtype=bool)
        np.equal(value[:, 1:], value[:, :-1], out=impossible[:, :-1])
        impossible |= few
        np.putmask(score, impossible, -1.0)
        np.maximum.reduceat(score, begin, axis=1, out=highest[rows])
    return divided, scores, highest
