"""Regression trees grown level by level on features that are sorted once, several trees at a time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lpbench.partitions import TreePartition
from lpbench.partitions.cart import ranges

_BLOCK = 1 << 14  # entries that are divided and scored at a time: what is made of them stays in the processor's cache
_TOGETHER = 1 << 18  # entries of trees that are grown together: for more it saves no time
_SHARED = 1 << 22  # entries of trees on one label vector beyond which they share no nodes, in less memory
_SAMPLE = (1 << 32) - 1  # bits of an entry that say which row it is of; those above say the feature's value


class PresortedTree:
    """Grown regression tree with the attributes that scikit-learn's have (``apply``, ``children_left``, ...)."""

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
    the time of floats. Samples are of one shape, and a tree is the same whichever others are grown beside it. Trees on
    the same labels share the nodes that hold the same rows, where fewer than d features of all their samples differ
    from those of the first one, as in a grid of bins.
    """
    alike: dict[bytes, list[int]] = {}
    for number, (_, labels) in enumerate(samples):
        alike.setdefault(labels.tobytes(), []).append(number)
    families: dict[int, list[_Family]] = {}
    for members in alike.values():
        few = len(members) * samples[0][0].size * len(limits) <= _SHARED
        parts = [members] if few else [[number] for number in members]
        for family in (family for indices in parts for family in _families(samples, indices)):
            families.setdefault(len(family.columns), []).append(family)
    trees: list[list[PresortedTree]] = [[] for _ in samples]
    for width, equally in families.items():
        step = max(1, _TOGETHER // (width * samples[0][1].size * len(limits)))
        for batch in (equally[first : first + step] for first in range(0, len(equally), step)):
            members = [number for family in batch for _ in limits for number in family.members]
            for number, tree in zip(members, _grow(batch, limits, seed), strict=True):
                trees[number].append(tree)
    return [tree for of_sample in trees for tree in of_sample]


class _Family(NamedTuple):
    """Samples of n rows with the same labels, whose trees share the nodes that hold the same rows.

    ``members`` are the numbers of the samples, ``columns`` (c, n) their distinct feature columns, ``own``
    (len(members), d) the columns of each sample, and ``y`` (n,) the labels.
    """

    members: list[int]  # numbers of the samples
    columns: np.ndarray  # different features of all of them (c, n)
    own: np.ndarray  # which of these are a sample's, (len(members), d)
    y: np.ndarray  # labels (n,)


def _families(samples: Sequence[tuple[np.ndarray, np.ndarray]], members: list[int]) -> list[_Family]:
    """Put samples with equal labels into one family, or each into its own where they share few columns.

    ``samples`` are pairs (X, y), of which ``members`` numbers those with these labels and equally shaped X.
    """
    y = samples[members[0]][1]
    if len(members) == 1:
        columns = samples[members[0]][0].T
        return [_Family(members, columns, np.arange(len(columns))[None], y)]
    X = np.array([samples[number][0].T for number in members])
    d, differs = X.shape[1], (X != X[0]).any(axis=2)
    if (n_other := np.count_nonzero(differs)) >= d:
        return [_Family([number], each, np.arange(d)[None], y) for number, each in zip(members, X, strict=True)]
    columns = np.tile(np.arange(d), (len(members), 1))
    columns[differs] = np.arange(d, d + n_other)
    return [_Family(members, np.concatenate([X[0], X[differs]]), columns, y)]


def _grow(families: Sequence[_Family], limits: Sequence[tuple[float, float]], seed: int) -> list[PresortedTree]:
    """Grow the trees of every family, limit and member, in this order; families have equally many columns.

    ``limits`` are pairs (greatest depth, fewest rows of a leaf, or their share if below 1); ``seed`` breaks ties
    between equal cuts.
    """
    of_tree = [(family, limit) for family in families for limit in limits for _ in family.members]
    n, k = families[0].y.size, len(of_tree)
    times = [len(family.members) * len(limits) for family in families]
    y, centered = (
        np.array([values(family.y) for family in families]).repeat(times, axis=0).reshape(-1)
        for values in (np.asarray, _whole)
    )
    column_of = np.concatenate([family.own for family in families for _ in limits])
    largest = np.array([depth for _, (depth, _) in of_tree])
    fewest = np.array([np.ceil(least * n) if isinstance(least, float) else least for _, (_, least) in of_tree])
    # Nodes of a family's trees that hold the same rows share a cell, and the first of the trees leads it: row i of the
    # cell has the number i + n times that of its lead.
    members = np.array([len(family.members) for family in families for _ in limits])
    tree, lead, cell = np.arange(k), members.cumsum() - members, np.arange(members.size).repeat(members)
    size, node = np.full(lead.size, n), np.full(k * n, lead.size)  # a row's cell; one more than the last is none
    node.reshape(k, n)[lead] = np.arange(lead.size)[:, None]
    # Cells of a level are numbered by their leads, with siblings side by side. Of the entries of a column those of a
    # cell are side by side, too, but left children stand before right ones (``placed``): dividing all cells is then two
    # selections.
    entries = _sorted(families)
    if lead.size > 1:
        entries = (entries[:, :, None] + n * lead.reshape(-1, len(limits), 1)).reshape(len(entries), -1)
    entries = entries.reshape(len(entries), -1)
    scores = np.empty(entries.shape)
    placed, levels = np.arange(lead.size), []
    while True:
        mean = np.bincount(node, y, lead.size + 1)[:-1] / size
        feature, around = np.full(tree.size, -1), np.zeros((tree.size, 2), dtype=np.int64)
        levels.append((tree, feature, around, size[cell], mean[cell]))
        inner = (size >= 2 * fewest[lead]) & (len(levels) <= largest[lead])
        placed = placed[inner[placed]]
        if placed.size == 0:
            break
        sizes, side = size[placed], np.full(lead.size + 1, 2, dtype=np.int8)
        side[placed] = placed & 1 if len(levels) > 1 else 0
        of_row = side.take(node) if len(levels) > 1 or placed.size < lead.size else None
        entries, scores, highest = _divided(entries, scores, of_row, centered, sizes, fewest[lead[placed]])
        # the nodes of these cells, where each cell is placed, and the columns of each node's sample
        (cut_nodes,), where = inner[cell].nonzero(), np.empty(lead.size, dtype=np.intp)
        where[placed] = np.arange(placed.size)
        at, columns = where[cell[cut_nodes]], column_of[tree[cut_nodes]].T
        highest = highest[columns, at]
        best = np.maximum.reduce(highest)
        equal = highest == best
        chosen = equal.argmax(axis=0)
        if np.count_nonzero(equal) > best.size:
            within = cut_nodes - tree.searchsorted(tree[cut_nodes])  # number among the nodes of the tree
            draws = np.random.default_rng((seed, len(levels))).random(tree.size)[within]
            ranks = equal.cumsum(axis=0)
            chosen = (ranks > draws * ranks[-1]).argmax(axis=0)
        possible = best >= 0
        if np.count_nonzero(best) < best.size:  # in most of these nodes all labels are equal: scikit-learn cuts none
            spread = np.bincount(node, (y - np.append(mean, 0.0).take(node)) ** 2)[: lead.size] / size
            possible &= (best > 0) | (spread[cell[cut_nodes]] > np.finfo(float).eps)
        if not possible.any():
            break
        cut = (at * len(entries) + columns[chosen, np.arange(best.size)])[possible]
        cut_nodes, chosen, best = cut_nodes[possible], chosen[possible], best[possible]
        # the different cuts, cell by cell, and the first node of each: children are numbered in the order of these
        cut, first, which = np.unique(cut, return_index=True, return_inverse=True)
        number = np.empty_like(first)
        number[first.argsort()] = np.arange(first.size)
        at, column = np.divmod(cut, len(entries))
        begin, sizes = (sizes.cumsum() - sizes)[at], sizes[at]
        # the entries of the column, and where the first of its best cuts lies; another tree may lead them now
        source, moved = ranges(begin, sizes), n * (tree[cut_nodes[first]] - lead[placed[at]])
        ordered = (column * entries.shape[1]).repeat(sizes)
        ordered += source
        (hits,) = (scores.take(ordered) == best[first].repeat(sizes)).nonzero()
        begin = sizes.cumsum() - sizes
        last, ordered = hits[hits.searchsorted(begin)], entries.take(ordered)
        del hits
        ordered += moved.repeat(sizes)
        feature[cut_nodes], around[cut_nodes] = chosen, ordered.take(last[:, None] + np.arange(2))[which]
        if moved.any() or at.size > np.unique(at).size:
            entries = entries.take(source, axis=1)
            entries += moved.repeat(sizes)
            scores = np.empty(entries.shape)
        del source
        tree, cell = tree[cut_nodes].repeat(2), (2 * number[which][:, None] + np.arange(2)).reshape(-1)
        lead = np.sort(tree[2 * first]).repeat(2)
        node.fill(lead.size)
        child = (2 * number).repeat(sizes)
        child += np.arange(ordered.size) > last.repeat(sizes)
        ordered &= _SAMPLE
        node[ordered] = child
        del ordered, child
        placed, size = np.concatenate([2 * number, 2 * number + 1]), np.empty(lead.size, dtype=np.intp)
        size[placed] = np.concatenate([last + 1 - begin, begin + sizes - last - 1])
    del entries, scores, node, y, centered  # nodes are up to twice as many as rows
    fields = [list(field) for field in zip(*levels, strict=True)]
    del levels
    mean, size, around, feature, tree = (np.concatenate(fields.pop()) for _ in range(5))
    threshold = _thresholds(feature, around)
    del around
    if k == 1:
        return [_tree(feature, threshold, size, mean, column_of.shape[1])]
    return [
        _tree(feature[nodes], threshold[nodes], size[nodes], mean[nodes], column_of.shape[1])
        for nodes in (np.flatnonzero(tree == number) for number in range(k))
    ]


def _thresholds(feature: np.ndarray, around: np.ndarray) -> np.ndarray:
    """Threshold of each node's cut between the entries ``around`` (nodes, 2); 0 where ``feature`` is -1: no cut."""
    bits = (around >> 32).astype(np.int32)
    low, high = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).view(np.float32).astype(float).T
    middle = low / 2 + high / 2
    # x < threshold goes to the left
    return np.where(feature >= 0, np.nextafter(np.where(middle < high, middle, low), np.inf), 0.0)


def _tree(feature: np.ndarray, threshold: np.ndarray, size: np.ndarray, mean: np.ndarray, d: int) -> PresortedTree:
    """Tree of nodes with the given features, thresholds, numbers of rows and mean labels, all (nodes,)."""
    return PresortedTree(TreePartition(feature, threshold, size, np.zeros(d), np.ones(d)), mean[:, None, None])


def _sorted(families: Sequence[_Family]) -> np.ndarray:
    """Sorted entries (c, families, n) of each family's columns: a value's bits, and the number of its row."""
    c, n = families[0].columns.shape
    entries, step = np.empty((c, len(families), n), dtype=np.int64), max(1, _TOGETHER // n)
    for number, family in enumerate(families):
        for first in range(0, c, step):
            bits = (family.columns[first : first + step] + np.float32(0)).view(np.int32)
            # as whole numbers, floats have the order of their values, or if negative the opposite order
            some = entries[first : first + step, number]
            some[:] = bits ^ ((bits >> 31) & 0x7FFFFFFF)
            some <<= 32
            some |= np.arange(n)
            some.sort(axis=1)
    return entries


def _whole(y: np.ndarray) -> np.ndarray:
    centered = y - y.mean()
    scale = 2.0**62 / y.size**2 / max(float(np.abs(centered).max()), 1e-200)
    return np.rint(centered * scale).astype(np.int64)


def _divided(
    entries: np.ndarray,
    scores: np.ndarray,
    side: np.ndarray | None,
    centered: np.ndarray,
    sizes: np.ndarray,
    fewest: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divide the sorted row lists of a level's cells into children, and score the cuts between their rows.

    Returned are the entries (rows on side 0 of each cell, then those on side 1; without ``side`` as they were), the
    scores of the cut after each entry, and the best score of each column and cell: decrease of the variance up to a
    factor of the cell, -1 where no cut is possible. ``sizes`` are the cells' numbers of rows, ``fewest`` the fewest
    rows of a leaf.
    """
    (d, m), ends = entries.shape, sizes.cumsum()
    begin, members, size = ends - sizes, ends[-1], sizes.repeat(sizes)
    left = np.arange(1, members + 1)
    left -= begin.repeat(sizes)
    right = size - left
    few = np.minimum(left, right) < fewest.repeat(sizes)
    left *= right
    del right
    factor = 1.0 / np.maximum(left, 1, out=left)
    del left
    step, highest, apart = max(1, _BLOCK // m), np.empty((d, sizes.size)), np.empty_like(centered)
    # overwrites what has been read
    divided, scores = (array.reshape(-1)[: d * members].reshape(d, members) for array in (entries, scores))
    for first in range(0, d, step):
        rows = slice(first, first + step)
        block, score, moved = entries[rows], scores[rows], divided[rows]
        if side is not None:
            sides = side.take(block & _SAMPLE).reshape(-1)
            halves = [block.compress(sides == half).reshape(len(block), -1) for half in (0, 1)]
            np.concatenate(halves, axis=1, out=moved)
        rows_of = moved & _SAMPLE
        if first == 0:  # every column has the same rows of a cell
            labels = centered.take(rows_of[0])
            totals = np.add.reduceat(labels, begin)
            labels *= size
            del size
            labels -= totals.repeat(sizes)
            apart[rows_of[0]] = labels
            del labels
        # size x sum of the left labels - number of left labels x sum of all, which is 0 where a node ends
        score[:] = apart.take(rows_of).cumsum(axis=1)
        score *= score
        score *= factor
        value, impossible = moved >> 32, np.ones(moved.shape, dtype=bool)
        np.equal(value[:, 1:], value[:, :-1], out=impossible[:, :-1])
        impossible |= few
        np.putmask(score, impossible, -1.0)
        np.maximum.reduceat(score, begin, axis=1, out=highest[rows])
    return divided, scores, highest
