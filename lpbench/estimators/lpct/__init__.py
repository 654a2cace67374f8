"""LPCT family: locally private classification trees with public data, fixed (LPCT) and pruned (LPCT-prune)."""
