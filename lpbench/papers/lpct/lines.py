"""What the deciders of LPCT's figures share: picking curves and testing one against another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpbench.analysis import ALPHA, better, bootstrap, holm, slope
from lpbench.analysis.curves import Curve
from lpbench.analysis.rates import Interval
from lpbench.errors import NotRunError
from lpbench.reporting.evidence import Evidence
from lpbench.selectors import parse_selector

LPCT, ONLY_P, ONLY_Q = "lpct_max_edge", "lpct_p", "lpct_q"
PRUNE, RANDOM = "lpct_prune_max_edge", "lpct_random"
NON_PRIVATE = 512.0


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
    """Curves of a method by budget."""
    return {curve.epsilon: curve for curve in lines(results, name, base, panel=panel)}


@dataclass(frozen=True)
class Family:
    """One-sided paired tests that belong together, adjusted by Holm's method."""

    labels: tuple[str, ...]
    p_values: np.ndarray

    @property
    def adjusted(self) -> np.ndarray:
        """Holm-adjusted p-values."""
        return holm(self.p_values)

    @property
    def holds(self) -> bool:
        """Whether every test is significant after the adjustment."""
        return bool(len(self.labels)) and bool((self.adjusted < ALPHA).all())

    def __str__(self) -> str:
        failed = [f"{t} (p {p:.2g})" for t, p in zip(self.labels, self.adjusted, strict=True) if not p < ALPHA]
        count = f"{len(self.labels) - len(failed)} of {len(self.labels)} paired tests significant after Holm"
        shown = ", ".join(failed[:5]) + (f" and {len(failed) - 5} more" if len(failed) > 5 else "")
        return count + (f"; not: {shown}" if failed else "")


def against(pairs: list[tuple[str, Curve, Curve]]) -> Family:
    """Test at every common place that the first curve of each pair is more accurate than the second."""
    labels, p_values = [], []
    for name, a, b in pairs:
        for k, x in enumerate(a.x):
            if np.isclose(b.x, x).any():
                labels.append(f"{name} at {x:g}")
                p_values.append(better(a.samples[:, k], b.samples[:, b.at(x)], larger_is_better=True))
    if not labels:
        raise NotRunError("the curves have no place in common")
    return Family(tuple(labels), np.array(p_values))


def gap(a: Curve, b: Curve) -> Curve:
    """The curve ``a - b``, paired by replication; both must have the same places."""
    if not np.allclose(a.x, b.x):
        raise NotRunError(f"{a.method} and {b.method} were not run at the same places")
    values = a.samples - b.samples
    se = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full(a.x.shape, np.nan)
    return Curve(a.panel, a.dataset, a.mask, a.method, a.epsilon, a.x, values.mean(axis=0), se, values)


def log_slope(curve: Curve) -> Interval:
    """Change of the score when x doubles, with a 95 % bootstrap interval."""
    axis = np.log2(curve.x)
    return bootstrap(curve.samples, lambda mean: slope(axis, mean))
