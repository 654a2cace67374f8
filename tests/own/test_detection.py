"""The probability that a second run of random blocks finds tampering: computed, and simulated."""

import math

import numpy as np
import pytest

from lpbench.submission.verify import draw, found_in_blocks, found_in_cells, least_drawn

DRAWS = 20_000


def allowed(p):
    """Half-width of an interval around p that a simulation leaves with probability 1e-6."""
    return 4.9 * math.sqrt(p * (1 - p) / DRAWS) + 1e-9


@pytest.mark.parametrize(
    ("blocks", "drawn", "tampered"), [(14, 10, 1), (14, 10, 2), (12, 3, 1), (12, 12, 1), (14, 0, 1)]
)
def test_whole_blocks_are_the_worst_placement(blocks, drawn, tampered):
    rng, names = np.random.default_rng(1), [str(k) for k in range(blocks)]
    bad = set(names[:tampered])
    found = np.mean([bool(bad & set(draw(names, [], drawn, int(s)))) for s in rng.integers(2**62, size=DRAWS // 10)])
    p = found_in_blocks(blocks, drawn, tampered)
    assert abs(found - p) <= allowed(p) * math.sqrt(10)
    # the same number of tampered cells, in as many blocks as there are cells, is found more often
    assert found_in_cells(blocks, 5, drawn, 5 * tampered / (5 * blocks)) >= p


@pytest.mark.parametrize(("blocks", "cells"), [(14, 5), (12, 5), (6, 5), (24, 5), (14, 1)])
def test_five_per_cent_of_cells_at_random_are_found_at_the_default_share(blocks, cells):
    drawn = least_drawn(blocks, cells)
    p = found_in_cells(blocks, cells, drawn, 0.05)
    assert p >= 0.99 and (drawn == 0 or found_in_cells(blocks, cells, drawn - 1, 0.05) < 0.99)
    rng, tampered = np.random.default_rng(2), -(-blocks * cells // 20)
    where = rng.permuted(np.tile(np.arange(blocks * cells), (DRAWS, 1)), axis=1)[:, :tampered] // cells
    found = np.mean((where < drawn).any(axis=1))
    assert abs(found - p) <= allowed(p)


def test_repeated_verifications_reach_every_block():
    names, before = [str(k) for k in range(14)], []
    for night in range(5):
        now = draw(names, before, 3, night)
        assert len(set(now) - set(before)) == min(3, 14 - len(before))
        before = list(dict.fromkeys([*before, *now]))
    assert set(before) == set(names)
