"""Settings of HistOfTree, one point of the grid of its methods, and public summaries of a mask that a grid shares."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.histoftree.cell_device import CELL_MECHANISMS, MAX_LOG2_CELLS, CellQuestion
from lpbench.partitions import TreePartition
from lpbench.partitions.criteria import SCORES

RULES = ("max_edge", "cart", "random")

T = TypeVar("T")


class TooManyCellsError(ConfigurationError):
    """The partition has more cells than numbers can count."""


def sensitive_count(n_features: int) -> int:
    """Return s* = ceil(ln sqrt(d)), the number of sensitive features of HistOfTree section 5.2 (at least 1)."""
    return max(1, math.ceil(math.log(math.sqrt(n_features))))


@dataclass(frozen=True)
class TreeSetting:
    """Parameters of one fit, resolved: numbers of grid features, depth, bins, label share, rule, mechanism."""

    n_grid_features: int  # s
    depth: int  # p, of the tree
    bins: int  # t, per grid feature
    label_share: float  # rho in (0, 1], share of the budget spent on the label
    rule: str
    mechanism: str
    split_score: str
    min_samples_leaf: int = 1  # fewest users in a cell of the tree; "random" looks at none

    def __post_init__(self) -> None:
        """Check all values, and refuse grids of more cells than can be numbered."""
        check_whole("depth", self.depth)
        check_whole("bins", self.bins, least=1)
        check_number("label_share", self.label_share, above=0, most=1)
        check_choice("rule", self.rule, RULES)
        check_choice("mechanism", self.mechanism, CELL_MECHANISMS)
        check_choice("split_score", self.split_score, SCORES)
        check_whole("min_samples_leaf", self.min_samples_leaf, least=1)
        log2_cells = self.n_grid_features * math.log2(self.bins) + self.depth
        if log2_cells > MAX_LOG2_CELLS:
            raise TooManyCellsError(
                f"bins={self.bins} on n_grid_features={self.n_grid_features} features and a tree of depth={self.depth} "
                f"are up to 2^{log2_cells:.0f} cells, more than 2^{MAX_LOG2_CELLS}; use fewer bins or a smaller "
                "n_grid_features"
            )

    def budgets(self, epsilon: float) -> tuple[float, float]:
        """Budgets of the label and of the cell report, which add up to ``epsilon``."""
        return self.label_share * epsilon, (1 - self.label_share) * epsilon if self.label_share < 1 else 0.0

    def question(self, tree: TreePartition, grid: np.ndarray, columns: np.ndarray, budget: float) -> CellQuestion:
        """Return round 2's question for a grown tree.

        Without noise both mechanisms report the name of the true cell.
        """
        mechanism = "grr" if math.isinf(budget) else self.mechanism
        return CellQuestion(tree, self.depth, grid, columns, self.bins, mechanism, budget)


#: Settings that were asked for before, which are checked once: a sweep asks for its grid in every replication.
setting_of = lru_cache(maxsize=1 << 12, typed=True)(TreeSetting)


def protection_order(mask: np.ndarray) -> np.ndarray:
    """Rank the features by the number of users who protect them, most protected first, ties by index."""
    return np.argsort(-np.ascontiguousarray(mask.T).sum(axis=1), kind="stable")


class PublicMask:
    """A mask, which is public, and its summaries."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape = array, array.shape
        self._known: dict = {}

    @classmethod
    def of(cls, mask: np.ndarray | PublicMask) -> PublicMask:
        """Wrap a boolean mask, unless it is wrapped already, so that its summaries are computed once a sweep."""
        return mask if isinstance(mask, PublicMask) else cls(mask)

    def remembered(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return ``compute()``, which is called once for every ``key``."""
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    @cached_property
    def order(self) -> np.ndarray:
        """Indices of the features, the most often protected first."""
        return protection_order(self.array)

    @cached_property
    def protected_by_all(self) -> int:
        """Return the number of features that every user protects."""
        return int(self.array.all(axis=0).sum())

    @cached_property
    def users_by_hidden(self) -> np.ndarray:
        """Number of users who protect h of the features beyond the s most protected: int ndarray [s, h], (d, d + 1)."""
        d = self.shape[1]
        hidden = np.cumsum(self.array[:, self.order[::-1]], axis=1)[:, ::-1]
        return np.bincount((hidden + (d + 1) * np.arange(d)).ravel(), minlength=d * (d + 1)).reshape(d, d + 1)
