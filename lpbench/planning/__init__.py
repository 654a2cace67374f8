"""Planning from a pilot sample: which budget, and how many users, for a wanted error."""

from lpbench.planning.answer import Need, need

__all__ = ["Need", "need"]
