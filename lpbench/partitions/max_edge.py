"""The max-edge tree (HistOfTree Algorithm 1, LPCT Algorithm 1): cut the longest edges at their midpoints.

Samples that no cut can tell apart are merged first (:mod:`lpbench.partitions.groups`). All nodes of a level and their
candidate dimensions are scored together from sums over (node, candidate, side), which are collected in fixed chunks.
The order of the additions is fixed, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lpbench.partitions.criteria import SplitStatistics, choose
from lpbench.partitions.groups import SampleGroups
from lpbench.partitions.tree import Box, TreePartition, check_bounds
from lpbench.privacy.counter import hashed_uniforms

#: (group of samples, dimension) pairs summed at once: the temporaries fit the processor's cache.
_PAIRS_AT_ONCE = 1 << 16


def grow_max_edge(
    X: np.ndarray,
    y: np.ndarray,
    max_depth: int,
    *,
    criterion: str = "variance",
    n_classes: int | None = None,
    score: str = "weighted",
    mask: np.ndarray | None = None,
    min_samples_leaf: int = 1,
    rule: str = "max_edge",
    rng: np.random.Generator | None = None,
    bounds: Box | None = None,
    groups: SampleGroups | None = None,
) -> TreePartition:
    """Grow a max-edge tree level by level.

    In each cell the candidates are the dimensions whose edge is longest; the cut is at the midpoint of the candidate
    with the best score, smallest index on ties (scores within rounding error are ties). The tree of any smaller depth
    is its truncation. ``min_samples_leaf`` stops the growth but does not enter the choice of the cut.

    A node with at most one sample is a leaf, and so is one whose chosen cut would leave a child with fewer than
    ``min_samples_leaf`` samples. With ``min_samples_leaf=0`` only an empty node is a leaf above ``max_depth``.
    (HistOfTree Algorithm 1 does not treat empty children; LPCT Algorithm 1 splits "until either node has no samples".)
    Without any sample at all, ``X`` of shape (0, d), nothing can stop: the tree is full and, under ``max_edge``, cuts
    the smallest candidate index (LPCT section 3.2: feasible without public data).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples; entries that ``mask`` protects are never read.
    y : ndarray of shape (n,)
        Labels (privatized, or public): numbers for ``variance``, class codes 0, ..., n_classes - 1 otherwise. Unused
        by ``rule="random"``.
    criterion : {"variance", "gini", "entropy"}
        Impurity of the labels in a cell.
    n_classes : int, optional
        Number of classes; default: the largest code + 1.
    score : {"weighted", "algorithm1"}
        ``weighted``: decrease of the impurity, the children weighted by their share of the samples that are available
        in the dimension. ``algorithm1``: minus the plain sum of the two children's impurities, as HistOfTree
        Algorithm 1 prints it; the impurity of an empty child is undefined, so such a cut comes last.
    mask : bool ndarray of shape (n, d), optional
        True = protected. The score of a dimension uses only the samples that show it, and only those go down the cut.
    min_samples_leaf : int
        0 allows empty children, and cuts a node with a single sample.
    rule : {"max_edge", "random"}
        ``random``: uniform choice among the longest edges (LPCT-R; HistOfTree section 3.4 (ii)), reproducible
        node by node.
    rng : Generator
        Needed by ``rule="random"``.
    bounds : pair of floats or of ndarrays of shape (d,), optional
        The box to partition; default the unit cube.
    groups : SampleGroups, optional
        Groups of samples that the tree cannot tell apart, to share among growths from the same X and mask; default:
        found here.
    max_depth : int
        Greatest depth of a leaf.

    Returns
    -------
    TreePartition
        Tree over the box ``bounds``; deeper levels do not change shallower ones.

    References
    ----------
    HistOfTree (AISTATS 2025) Algorithm 1; LPCT (JMLR 2024) Algorithm 1.
    """
    [tree] = grow_max_edge_forest(
        [Sample(X, y, mask, groups, rng)],
        max_depth,
        criterion=criterion,
        n_classes=n_classes,
        score=score,
        min_samples_leaf=min_samples_leaf,
        rule=rule,
        bounds=bounds,
    )
    return tree


def grow_max_edges(
    X: np.ndarray,
    labels: Sequence[np.ndarray],
    max_depth: int,
    *,
    mask: np.ndarray | None = None,
    groups: SampleGroups | None = None,
    **options: Any,
) -> list[TreePartition]:
    """Grow one tree for each of several labels of the same samples, all trees level by level together.

    The trees are those of :func:`grow_max_edge`, where the parameters are explained; growth from few groups of samples
    costs little more for several trees than for one.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features, shared by all trees.
    labels : sequence of ndarrays of shape (n,)
        One vector for each tree.
    max_depth : int
        Greatest depth of a leaf.
    mask : bool ndarray of shape (n, d), optional
        True = protected.
    groups : SampleGroups, optional
        Groups of samples that no tree separates.
    **options : object
        Further parameters of :func:`grow_max_edge`.

    Returns
    -------
    list of TreePartition
        One tree for each vector of labels.
    """
    if groups is None and options.get("bounds") is None:
        groups = SampleGroups.for_depth(max_depth, np.asarray(X, dtype=np.float64), mask)
    return grow_max_edge_forest([Sample(X, y, mask, groups) for y in labels], max_depth, **options)


@dataclass(frozen=True, eq=False)
class Sample:
    """Data of one tree that is grown among several: features, labels, mask, groups; see :func:`grow_max_edge`."""

    X: np.ndarray
    y: np.ndarray
    mask: np.ndarray | None = None
    groups: SampleGroups | None = None
    rng: np.random.Generator | None = None


def grow_max_edge_forest(
    samples: Sequence[Sample],
    max_depth: int,
    *,
    criterion: str = "variance",
    n_classes: int | None = None,
    score: str = "weighted",
    min_samples_leaf: int = 1,
    rule: str = "max_edge",
    bounds: Box | None = None,
) -> list[TreePartition]:
    """Grow one tree for each of several samples with the same features, all trees level by level together.

    The trees are those of :func:`grow_max_edge`, where the parameters are explained.
    """
    d = np.shape(samples[0].X)[1]
    lower, upper = check_bounds(bounds, d)
    if rule not in ("max_edge", "random"):
        raise ValueError(f"rule={rule!r} must be 'max_edge' or 'random'")
    # Only the midpoints of the unit cube have the same binary digits in every cell.
    grouped = [_grouped(sample, max_depth if bounds is None else None) for sample in samples]
    # From here on a row is a group of samples in one of the trees.
    rows_of = [groups.size for _, _, groups in grouped]
    X = np.concatenate([groups.one_of_each(X) for X, _, groups in grouped])
    count = np.concatenate([groups.counts for *_, groups in grouped])
    mask = None
    if any(mask_of is not None for _, mask_of, _ in grouped):
        mask = np.concatenate(
            [np.zeros((g.size, d), bool) if mask_of is None else g.one_of_each(mask_of) for _, mask_of, g in grouped]
        )
    choice: _Random | _Best
    if rule == "random":
        choice = _Random([sample.rng for sample in samples])
    else:
        choice = _Best(samples, [groups for *_, groups in grouped], criterion, n_classes, score)
    n_trees = len(samples)
    empty = np.array(rows_of) == 0

    frontier = _Frontier(np.tile(lower, (n_trees, 1)), np.tile(upper, (n_trees, 1)))
    rows, node = np.arange(X.shape[0]), np.repeat(np.arange(n_trees), rows_of)
    tree, trees, features, thresholds, sizes = np.arange(n_trees), [], [], [], []
    for _ in range(max_depth if d else 0):
        size = np.bincount(node, weights=count[rows], minlength=frontier.size)
        cut = choice.of_nodes(frontier, tree, X, mask, rows, node)
        at = frontier.middle[np.arange(frontier.size), cut]

        entry = rows * d + cut[node]
        side = X.take(entry) >= at[node]
        visible = slice(None) if mask is None else ~mask.take(entry)
        child = (2 * node + side)[visible]
        child_sizes = np.bincount(child, weights=count[rows[visible]], minlength=2 * frontier.size).reshape(-1, 2)
        split = ((size > min(min_samples_leaf, 1)) & (child_sizes.min(axis=1) >= min_samples_leaf)) | empty[tree]
        trees.append(tree)
        features.append(np.where(split, cut, -1))
        thresholds.append(np.where(split, at, 0.0))
        sizes.append(size)
        if not split.any():
            break
        go = split[node] if mask is None else split[node] & visible
        child = 2 * (np.cumsum(split) - 1)[node] + side
        rows, node = (rows, child) if go.all() else (rows[go], child[go])
        frontier, tree = frontier.children(split, cut, at), np.repeat(tree[split], 2)
    else:
        trees.append(tree)
        features.append(np.full(frontier.size, -1))
        thresholds.append(np.zeros(frontier.size))
        sizes.append(np.bincount(node, weights=count[rows], minlength=frontier.size))

    # the nodes of a tree stand together on every level
    ends = [np.searchsorted(level, np.arange(n_trees + 1)) for level in trees]

    def of_tree(k: int, levels: list[np.ndarray]) -> list[np.ndarray]:
        return [level[end[k] : end[k + 1]] for level, end in zip(levels, ends, strict=True) if end[k] < end[k + 1]]

    return [
        TreePartition.from_levels(of_tree(k, features), of_tree(k, thresholds), of_tree(k, sizes), (lower, upper))
        for k in range(n_trees)
    ]


def _grouped(sample: Sample, max_depth: int | None) -> tuple[np.ndarray, np.ndarray | None, SampleGroups]:
    """Features, mask (None: nothing is protected) and groups of samples that no tree of the depth tells apart.

    ``max_depth`` None: every sample is a group.
    """
    X = np.ascontiguousarray(sample.X, dtype=np.float64)
    mask = None if sample.mask is None or not np.any(sample.mask) else np.ascontiguousarray(sample.mask, dtype=bool)
    if sample.groups is not None:
        return X, mask, sample.groups
    groups = SampleGroups.singletons(len(X)) if max_depth is None else SampleGroups.for_depth(max_depth, X, mask)
    return X, mask, groups


class _Random:
    """Rule that cuts one of a cell's longest edges, chosen uniformly."""

    def __init__(self, generators: Sequence[np.random.Generator | None]) -> None:
        given = [rng for rng in generators if rng is not None]
        if len(given) < len(generators):
            raise ValueError("rule='random' needs rng, a numpy Generator")
        self.seeds = [int(rng.integers(2**63)) for rng in given]

    def of_nodes(self, frontier: _Frontier, tree: np.ndarray, *_: Any) -> np.ndarray:
        """Return the dimension in which each node is cut, shape (n_nodes,), drawn among its longest edges.

        ``tree`` (n_nodes,) is the node's tree, whose seed and the node's path decide the draw.
        """
        end = np.searchsorted(tree, np.arange(len(self.seeds) + 1))
        parts = zip(self.seeds, end, end[1:], strict=False)
        # the draw belongs to the tree and the node's path, not to its position
        u = np.concatenate([hashed_uniforms(seed, frontier.path[a:b])[0] for seed, a, b in parts])
        longest = frontier.candidates()
        rank = np.floor(u * longest.sum(axis=1))[:, None]
        return (np.cumsum(longest, axis=1) > rank).argmax(axis=1)


class _Best:
    """Rule that cuts the longest edge with the best score; without ``statistics`` the first of them."""

    def __init__(
        self,
        samples: Sequence[Sample],
        groups: Sequence[SampleGroups],
        criterion: str,
        n_classes: int | None,
        score: str,
    ) -> None:
        """Join the samples' statistics, with tolerances for ties; none where no criterion is computed.

        ``criterion`` is the impurity, ``score`` "weighted" or "algorithm1"; ``n_classes`` None: labels are numbers.
        """
        self.statistics: SplitStatistics | None = None
        if all(of_sample.size == 0 for of_sample in groups):
            return
        if n_classes is None and criterion != "variance":
            n_classes = 1 + max(int(np.max(s.y, initial=0)) for s in samples)
        pairs = zip(samples, groups, strict=True)
        parts = [SplitStatistics.of(s.y, criterion, n_classes, score, of_sample) for s, of_sample in pairs]
        self.statistics, self.tolerance = (
            SplitStatistics.join(parts),
            np.array([statistic.tolerance for statistic in parts]),
        )

    def of_nodes(
        self,
        frontier: _Frontier,
        tree: np.ndarray,  # of every node
        X: np.ndarray,  # features of all rows (size, d)
        mask: np.ndarray | None,
        rows: np.ndarray,  # those that reached the level,
        node: np.ndarray,  # and their nodes
    ) -> np.ndarray:
        """Return the dimension in which each node is cut, shape (n_nodes,): the longest edge with the best score.

        ``tree`` (n_nodes,) is the node's tree; ``rows`` and ``node`` are the samples in these nodes and the node of
        each; ``X`` and ``mask`` have all samples.
        """
        longest, middle = frontier.candidates(), frontier.middle
        if self.statistics is None or longest.sum(axis=1).max() == 1:
            return longest.argmax(axis=1)
        # sums of the statistics over (node, dimension, side)
        n_nodes, d = middle.shape
        n_cells = 2 * n_nodes * d
        total = np.zeros((self.statistics.width, n_cells + 1))
        step = max(_PAIRS_AT_ONCE, n_cells) // d + 1
        for start in range(0, rows.size, step):
            block_nodes, block_rows = node[start : start + step], rows[start : start + step]
            key = (2 * d * block_nodes)[:, None] + 2 * np.arange(d) + (X[block_rows] >= middle[block_nodes])
            if mask is not None:
                np.putmask(key, mask[block_rows], n_cells)
            self.statistics.add(total, key, block_rows)
        sums = np.moveaxis(total[:, :-1].reshape(-1, n_nodes, d, 2), 0, -1)
        return choose(self.statistics.score(sums), longest, self.tolerance[tree][:, None])


class _Frontier:
    """Cells of the level at which trees are growing: their boxes, edges and the path from the root to each."""

    def __init__(
        self, lower: np.ndarray, upper: np.ndarray, edges: np.ndarray | None = None, path: np.ndarray | None = None
    ):
        self.lower, self.upper = lower, upper
        # Edges are halved exactly, never recomputed as upper - lower, so that equal edges stay equal.
        self.edges = self.upper - self.lower if edges is None else edges
        self.size = self.lower.shape[0]
        # 1 for a root, 2k and 2k + 1 below k
        self.path = np.ones(self.size, dtype=np.uint64) if path is None else path

    def candidates(self) -> np.ndarray:
        """Tell which edges are longest: boolean ndarray (size, d)."""
        return self.edges == self.edges.max(axis=1, keepdims=True)

    @cached_property
    def middle(self) -> np.ndarray:
        """Midpoints of the edges, shape (size, d)."""
        return self.lower + (self.upper - self.lower) / 2

    def children(self, split: np.ndarray, cut: np.ndarray, at: np.ndarray) -> _Frontier:
        """The two halves of every cell marked by ``split`` (size,), siblings adjacent.

        ``cut`` and ``at`` (size,) are the feature and threshold of each cell's cut.
        """
        lower, upper, edges = (np.repeat(a[split], 2, axis=0) for a in (self.lower, self.upper, self.edges))
        cut, at = cut[split], at[split]
        left = 2 * np.arange(cut.size)
        upper[left, cut] = at
        lower[left + 1, cut] = at
        edges[left, cut] /= 2
        edges[left + 1, cut] /= 2
        path = np.repeat(self.path[split] * np.uint64(2), 2)
        path[1::2] += np.uint64(1)
        return _Frontier(lower, upper, edges, path)
