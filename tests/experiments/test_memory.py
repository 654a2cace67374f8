from pathlib import Path

import numpy as np
import pytest

from lpbench.experiments.memory import PeakMemory

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is known on Linux only")


def _peak(megabytes: int) -> float:
    with PeakMemory() as peak:
        np.ones(megabytes * 10**6 // 8).sum()
    assert peak.megabytes is not None
    return peak.megabytes


def test_the_peak_is_that_of_the_block_and_not_of_what_ran_before():
    small_before, large, small_after = _peak(1), _peak(400), _peak(1)
    assert large - small_before > 350
    assert large - small_after > 350
