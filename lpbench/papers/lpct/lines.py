"""What the checks of LPCT's figures share: names of the methods and picking of curves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lpbench.analysis.curves import Curve, slope_weights
from lpbench.errors import NotRunError
from lpbench.reporting.evidence import Evidence
from lpbench.selectors import parse_selector

LPCT, ONLY_P, ONLY_Q = "lpct_max_edge", "lpct_p", "lpct_q"
PRUNE, RANDOM = "lpct_prune_max_edge", "lpct_random"


def lines(results: Evidence, name: str, base: str, *, panel: str | None = None) -> list[Curve]:
    """Curves of a method with no other parameter than its variant, in the order of the budget."""
    found = results.curves(name, base, panel=panel)
    plain = [line for line in found if set(parse_selector(line.method)[1]) <= {"variant"}]
    if not plain:
        raise NotRunError(f"{name} has no curve of {base} in its default setting")
    return sorted(plain, key=lambda line: line.epsilon)


def line(results: Evidence, name: str, base: str, *, panel: str | None = None) -> Curve:
    """The one such curve where the budget is on the axis, or there is one budget."""
    found = lines(results, name, base, panel=panel)
    if len(found) != 1:
        raise NotRunError(f"{name} has {len(found)} curves of {base}, expected one")
    return found[0]


def by_epsilon(results: Evidence, name: str, base: str, *, panel: str | None = None) -> dict[float, Curve]:
    """Curves of a method by budget, the smallest first."""
    return {curve.epsilon: curve for curve in lines(results, name, base, panel=panel)}


def shared_places(*curves: Curve) -> Iterator[tuple[float, list[int]]]:
    """Places that all curves have, with their number on each curve."""
    for x in curves[0].x:
        if all(np.isclose(c.x, x).any() for c in curves):
            yield float(x), [c.at(x) for c in curves]


def per_doubling(x: np.ndarray) -> np.ndarray:
    """Weights of the least-squares slope against the logarithm to base 2."""
    return slope_weights(np.log2(x))
