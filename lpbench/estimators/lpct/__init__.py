"""LPCT family: locally private classification trees with public data, fixed (LPCT) and pruned (LPCT-prune)."""

from lpbench.estimators.lpct.lpct import LPCT
from lpbench.estimators.lpct.lpct_prune import LPCTPrune

__all__ = ["LPCT", "LPCTPrune"]
