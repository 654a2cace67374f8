"""Experiments: their catalog and plan, the computing and storing of blocks, and the reading of results."""
