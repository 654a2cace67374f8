"""Share the cases of a costly test between each run of the suite and the slow tests."""

from collections.abc import Iterable

import pytest


def slow_but(cases: Iterable[str], *fast: str) -> list[object]:
    """Mark all cases slow but those named, which every run of the suite tries."""
    cases = list(cases)
    assert set(fast) <= set(cases), f"no such case: {sorted(set(fast) - set(cases))}"
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in cases]
