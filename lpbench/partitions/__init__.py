"""Partitions of the feature space: equal grids, max-edge trees and CART, all as arrays."""

from lpbench.partitions.max_edge import grow_max_edge
from lpbench.partitions.tree import TreePartition

__all__ = ["TreePartition", "grow_max_edge"]
