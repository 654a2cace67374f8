"""Alias of :mod:`lpbench.planning`, for one version."""

from lpbench.planning import Need, need

__all__ = ["Need", "need"]
