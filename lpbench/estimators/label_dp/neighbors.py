"""Nearest rows in many dimensions: few candidates from a product of matrices, then exact distances among them."""

import numpy as np
from sklearn.metrics._pairwise_distances_reduction import ArgKmin
from sklearn.neighbors._kd_tree import NeighborsHeap64
from threadpoolctl import threadpool_limits

#: Approximate distances that are held at once, and rows of which at first only the least one is looked at.
_AT_ONCE, _TOGETHER = 1 << 21, 16
#: Norms from which products are in double precision.
_MOST = 1e15
#: Squared differences that take as long as to put one of the k rows of a query into the heap.
_AS_LONG = 1 << 14
#: Most queries that scikit-learn searches with a heap of each block of rows, which matters to ties alone.
_HEAP_OF_HEAPS = 1024


class NearestRows:
    """The k nearest of many rows, as scikit-learn's search over all of them finds and orders them.

    A distance is the sum, feature by feature, of squared differences in double precision; which of equally distant rows
    are taken, and in which order, follows from the order in which they enter scikit-learn's heap. To compute all of
    these distances takes long. Half the squared distance less what depends on the query alone is ``|y|^2 / 2 - q y``,
    one product of matrices in single precision, whose error has a proven bound b (:meth:`_bounds`). Let a be the
    k-th least of these numbers or more. Then k distances are at most a + b, and a row that is one of the k nearest, or
    as near as the last of them, has a number of at most a + 2 b: exact distances of these candidates decide. Of rows
    that enter the heap and leave it later the same holds among the rows up to theirs.
    """

    def __init__(self, rows: np.ndarray, k: int) -> None:
        """Keep rows (n, d), of which the ``k`` <= n nearest will be sought."""
        self.k, self._columns = k, np.ascontiguousarray(rows.T)
        self._center = rows.mean(axis=0)  # numbers, and with them their errors, are least about the mean
        centered = rows - self._center
        halves = np.einsum("ij,ij->i", centered, centered) / 2.0
        self._norm = float(np.sqrt(2.0 * halves.max()))
        self._halves = np.column_stack([centered, halves]).astype(np.float32 if self._norm < _MOST else np.float64)

    def kneighbors(self, X: np.ndarray) -> np.ndarray:
        """Indices (m, k) of the nearest rows of each query in X (m, d), nearest first."""
        step = max(64, _AT_ONCE // len(self._halves))
        halves = self._halves if np.abs(X).max(initial=0.0) < _MOST else self._halves.astype(np.float64)
        two_heaps = len(X) <= min(len(self._halves), _HEAP_OF_HEAPS)
        if len(self._halves) < 8 * self.k:  # too many of the rows are candidates
            return self._of_all(X, two_heaps)
        blocks = [self._block(halves, X[first : first + step], two_heaps) for first in range(0, len(X), step)]
        return np.concatenate(blocks) if blocks else np.empty((0, self.k), dtype=np.intp)

    def _block(self, halves: np.ndarray, X: np.ndarray, two_heaps: bool) -> np.ndarray:
        centered = X - self._center
        numbers = halves @ np.column_stack([-centered, np.ones(len(X))]).astype(halves.dtype).T
        slack = 2.0 * self._bounds(centered)
        together = min(_TOGETHER, len(numbers) // (8 * self.k))
        whole = len(numbers) - len(numbers) % together
        least = np.minimum.reduce(numbers[:whole].reshape(-1, together, len(X)), axis=1)
        most = np.partition(least.T, self.k - 1, axis=1)[:, self.k - 1] + slack
        query, row = _at_most(numbers, least, together, most)
        distance = self._distances(X, query, row)
        order = np.lexsort((row, distance, query))
        query, row, distance = query[order], row[order], distance[order]
        first = query.searchsorted(np.arange(len(X)))
        nearest = row[first[:, None] + np.arange(self.k)]
        # among the first k + 1 of a query
        (equal,) = ((np.diff(distance) == 0) & (np.diff(query) == 0)).nonzero()
        tied = np.unique(query[equal[equal - first[query[equal]] < self.k]])
        if tied.size:
            if halves[:, 1:].size < _AS_LONG * self.k:
                nearest[tied] = self._of_all(X[tied], two_heaps)
            else:
                numbers, least, slack = numbers[:, tied], least[:, tied], slack[tied]
                nearest[tied] = self._entered(X[tied], numbers, least, together, slack, two_heaps)
        return nearest

    def _of_all(self, X: np.ndarray, two_heaps: bool) -> np.ndarray:
        """Nearest rows (m, k) of queries X (m, d) by scikit-learn's search over all rows."""
        rows, ones = np.ascontiguousarray(self._columns.T), np.ones(X.shape[1])
        strategy = "parallel_on_Y" if two_heaps else "parallel_on_X"
        with threadpool_limits(1, "openmp"):  # the same rows on every machine
            return ArgKmin.compute(X, rows, self.k, "seuclidean", metric_kwargs={"V": ones}, strategy=strategy)

    def _bounds(self, centered: np.ndarray) -> np.ndarray:
        """Bound of the errors (m,) of numbers, against halves of the distances in double precision.

        With u = 2^-24, two factors and a term rounded to single precision and a sum of d + 1 products err by at most
        (d + 4) u (|q| |y| + |y|^2 / 2) to the first order in u; means that were subtracted, and distances themselves,
        err by at most (d + 4) 2^-52 (|q| + |y|)^2. Twice as much covers the higher orders, and 1e-37 for each feature
        the numbers too small for single precision.
        """
        norm, farthest = np.sqrt(np.einsum("ij,ij->i", centered, centered)), self._norm
        single = farthest * (norm + farthest / 2.0)
        return (centered.shape[1] + 4) * (2.0**-23 * single + 2.0**-51 * (norm + farthest) ** 2 + 1e-37)

    def _distances(self, X: np.ndarray, query: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Squared distances (p,) of pairs of a query in X (m, d) and a row, summed from the first feature on."""
        total = np.zeros(row.size)
        for column, values in zip(self._columns, X.T, strict=True):
            apart = values.take(query) - column.take(row)
            apart *= apart
            total += apart
        return total

    def _entered(
        self,
        X: np.ndarray,
        numbers: np.ndarray,
        least: np.ndarray,
        together: int,
        slack: np.ndarray,
        two_heaps: bool,
    ) -> np.ndarray:
        """Nearest rows (m, k) of queries X (m, d) as scikit-learn's heap keeps them, row by row.

        Of ``numbers`` (n, m) those of the first rows decide which of the next ones, as many again, may enter.
        ``two_heaps``: rows that one heap keeps enter a second one.
        """
        begin = min(2 * self.k * together, len(numbers))
        most = np.full((begin, len(X)), np.inf)
        for start in _doubled(self.k, begin):
            most[start : 2 * start] = np.partition(numbers[:start], self.k - 1, axis=0)[self.k - 1] + slack
        query, row = (numbers[:begin] <= most).T.nonzero()
        pairs = [(query, row)]
        for start in _doubled(begin, len(numbers)):
            groups = slice(start // together, min(2 * start // together, len(least)))
            most = np.partition(least[: start // together], self.k - 1, axis=0)[self.k - 1] + slack
            query, row = _at_most(numbers[start : 2 * start], least[groups], together, most)
            pairs.append((query, start + row))
        query, row = map(np.concatenate, zip(*pairs, strict=True))
        distance = self._distances(X, query, row)
        order = np.lexsort((row, query))
        heap = _pushed(len(X), self.k, query[order], distance[order], row[order])
        if two_heaps:
            distance, row = heap.get_arrays(sort=False)
            heap = _pushed(len(X), self.k, np.arange(len(X)).repeat(self.k), distance.reshape(-1), row.reshape(-1))
        return heap.get_arrays(sort=True)[1]


def _doubled(first: int, end: int) -> list[int]:
    """List the numbers first, 2 first, 4 first, ... below ``end``."""
    return [first << times for times in range((max(end - 1, 0) // first).bit_length())]


def _at_most(numbers: np.ndarray, least: np.ndarray, together: int, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """List pairs (query, row) with numbers (n, m) of at most ``most`` (m,).

    ``least`` has the least number of each ``together`` rows; a rest of rows follows them.
    """
    group, query = (least <= most).nonzero()
    row = (group[:, None] * together + np.arange(together)).reshape(-1)
    query = query.repeat(together)
    few = numbers[row, query] <= most[query]
    begin = len(least) * together
    last, also = (numbers[begin:] <= most).nonzero()
    return np.concatenate([query[few], also]), np.concatenate([row[few], begin + last])


def _pushed(m: int, k: int, query: np.ndarray, distance: np.ndarray, row: np.ndarray) -> NeighborsHeap64:
    """Heaps of m queries that each keep k rows, after the rows were pushed one by one in their order."""
    heap = NeighborsHeap64(m, k)
    for entry in zip(query.tolist(), distance.tolist(), row.tolist(), strict=True):
        heap.push(*entry)
    return heap
