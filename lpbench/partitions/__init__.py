"""Partitions of the feature space: equal grids, max-edge trees and CART, all as arrays."""

from lpbench.partitions.cart import grow_cart, grow_personalized_cart, grow_personalized_carts
from lpbench.partitions.cells import Cells, GridCells, TreeCells
from lpbench.partitions.grid import CellSums, KeyIndex, cell_keys, grid_digits
from lpbench.partitions.groups import SampleGroups
from lpbench.partitions.max_edge import grow_max_edge, grow_max_edges
from lpbench.partitions.tree import Forest, TreePartition

__all__ = [
    "CellSums",
    "Cells",
    "Forest",
    "GridCells",
    "KeyIndex",
    "SampleGroups",
    "TreeCells",
    "TreePartition",
    "cell_keys",
    "grid_digits",
    "grow_cart",
    "grow_max_edge",
    "grow_max_edges",
    "grow_personalized_cart",
    "grow_personalized_carts",
]
