"""Probability that re-running a random part of a submission detects tampered scores."""

import math


def found_in_blocks(blocks: int, drawn: int, tampered: int = 1) -> float:
    """Probability to draw a tampered block, where all that is tampered is in as few blocks as possible."""
    return 1.0 - math.comb(blocks - tampered, drawn) / math.comb(blocks, drawn)


def found_in_cells(blocks: int, cells: int, drawn: int, share: float) -> float:
    """Probability to draw one of the cells tampered with at random, in blocks of ``cells`` (budgets) each."""
    there, tampered = blocks * cells, math.ceil(share * blocks * cells - 1e-9)
    return 1.0 - math.comb(there - drawn * cells, tampered) / math.comb(there, tampered)


def least_drawn(blocks: int, cells: int, share: float = 0.05, wanted: float = 0.99) -> int:
    """Fewest blocks to draw so that :func:`found_in_cells` is at least ``wanted``."""
    return next(k for k in range(blocks + 1) if found_in_cells(blocks, cells, k, share) >= wanted)
