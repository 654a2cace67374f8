"""Several grids at once: for small samples the number of array operations is what costs, not their length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lpbench.estimators.histoftree.user_cells import GridCells, Query, UserGrid


class GridStack(GridCells):
    """Several grids of the same users side by side: copy k of the users lies in grid k.

    Parameters
    ----------
    grids : sequence of UserGrid
    """

    def __init__(self, grids: Sequence[UserGrid]):
        self._codes = np.cumsum([0] + [g.n_codes for g in grids])
        self._shown = np.cumsum([0] + [g.n_shown for g in grids])
        self.n_codes, self.n_shown = int(self._codes[-1]), int(self._shown[-1])
        self.truth = np.concatenate([g.truth + start for g, start in zip(grids, self._codes[:-1], strict=True)])
        self.blind = np.concatenate([g.blind + start for g, start in zip(grids, self._codes[:-1], strict=True)])
        self.shown = np.concatenate([g.shown + start for g, start in zip(grids, self._shown[:-1], strict=True)])
        self.choices = np.concatenate([g.choices for g in grids])

    def query(self, queries: Sequence[Query]) -> Query:
        """Join one query per grid; grids with fewer patterns of protected features than others have no more users."""
        codes = _shift([q.codes for q in queries], self._codes)
        n_patterns = max(len(q.shown) for q in queries)
        shown = []
        for q, width in zip(queries, np.diff(self._shown), strict=True):
            nobody = np.full(q.codes.size, width)
            shown.append(q.shown + [nobody] * (n_patterns - len(q.shown)))
        by_pattern = [_shift(parts, self._shown) for parts in zip(*shown, strict=True)]
        # Grids may differ in their number of digits, which a stack does not need.
        return Query(np.empty((codes.size, 0), dtype=np.intp), codes, by_pattern)


def _shift(codes: Sequence[np.ndarray], starts: np.ndarray) -> np.ndarray:
    """Renumber the codes of several grids; the code after the last of a grid stays that of unknown cells."""
    parts = zip(codes, starts[:-1], np.diff(starts), strict=True)
    return np.concatenate([np.where(c < width, c + start, starts[-1]) for c, start, width in parts])
