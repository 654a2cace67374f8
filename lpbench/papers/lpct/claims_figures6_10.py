"""Deciders of LPCT's claims about the public sample, the parameters and the range (figures 6 to 10)."""

from __future__ import annotations

import numpy as np

from lpbench.analysis import better, spearman
from lpbench.analysis.claims import Deciders, Verdict
from lpbench.analysis.curves import Curve
from lpbench.errors import NotRunError
from lpbench.papers.lpct.lines import (
    LPCT,
    NON_PRIVATE,
    ONLY_P,
    PRUNE,
    RANDOM,
    Family,
    against,
    by_epsilon,
    gap,
    line,
    lines,
    log_slope,
)
from lpbench.reporting.evidence import Evidence

decider = Deciders()

#: Change of accuracy over the flat part of a curve that still counts as flat.
FLAT = 0.01
#: A difference of means counts as real beyond this many standard errors.
BEYOND = 2.0


@decider("L8")
def grows_with_public_sample(results: Evidence) -> Verdict:
    """Spearman(n_Q, accuracy) >= 0.9 for LPCT and LPCT-prune; the gap between them falls as n_Q doubles."""
    name = "lpct/figure6a"
    both, prune = by_epsilon(results, name, LPCT), by_epsilon(results, name, PRUNE)
    verdicts, parts = [], []
    for epsilon in both.keys() & prune.keys():
        rho = [spearman(c[epsilon].x, c[epsilon].mean) for c in (both, prune)]
        trend = log_slope(gap(both[epsilon], prune[epsilon]))
        verdicts.append(min(rho) >= 0.9 and trend.estimate < 0)
        parts.append(f"epsilon {epsilon:g}: Spearman {rho[0]:.2f} and {rho[1]:.2f}, gap per doubling {trend}")
    return Verdict.of(bool(verdicts) and all(verdicts), *sorted(parts))


@decider("L9")
def steep_then_flat(results: Evidence) -> Verdict:
    """LPCT: larger slope per row for n_Q <= 50 than beyond. LPCT-P: rises up to 50, changes by < 0.01 beyond."""
    name = "lpct/figure6b"
    verdicts, parts = [], []
    for epsilon, curve in by_epsilon(results, name, LPCT).items():
        steep, rest = _per_row(curve.between(0, 50)), _per_row(curve.between(50, np.inf))
        only = by_epsilon(results, name, ONLY_P)[epsilon]
        before, after = only.between(0, 50), only.between(50, np.inf)
        rise, drift = before.mean[-1] - before.mean[0], _per_row(after) * np.ptp(after.x)
        verdicts.append(steep > rest and rise > 0 and abs(drift) < FLAT)
        parts.append(
            f"epsilon {epsilon:g}: LPCT {1e4 * steep:.2f} then {1e4 * rest:.2f} per 10^4 rows, "
            f"LPCT-P {rise:+.4f} up to 50, {drift:+.4f} beyond"
        )
    return Verdict.of(bool(verdicts) and all(verdicts), *parts)


def _per_row(curve: Curve) -> float:
    return float(np.polyfit(curve.x, curve.mean, 1)[0])


def _inverted_u(curve: Curve) -> bool:
    """The maximum is inside, and both ends are lower by more than 2 standard errors."""
    top = int(np.argmax(curve.mean))
    if not 0 < top < len(curve.x) - 1:
        return False
    ends = np.array([0, -1])
    return bool((curve.mean[top] - curve.mean[ends] > BEYOND * np.hypot(curve.se[top], curve.se[ends])).all())


@decider("L10")
def inverted_u_in_depth(results: Evidence) -> Verdict:
    """Inverted U in the depth at every budget; the best depth does not decrease in epsilon."""
    curves = by_epsilon(results, "lpct/figure7a", LPCT)
    best = {e: float(c.x[np.argmax(c.mean)]) for e, c in curves.items()}
    shapes = {e: _inverted_u(c) for e, c in curves.items()}
    growing = bool((np.diff(list(best.values())) >= 0).all())
    parts = [f"epsilon {e:g}: best depth {best[e]:g}{'' if shapes[e] else ' (no inverted U)'}" for e in curves]
    return Verdict.of(all(shapes.values()) and growing, *parts)


@decider("L11")
def shape_in_weight(results: Evidence) -> Verdict:
    """Inverted U in lambda at 2, 4, 8; Spearman >= 0.9 at 1 and <= -0.9 at 1000; best lambda falls with epsilon."""
    curves = by_epsilon(results, "lpct/figure7c", LPCT)
    verdicts, parts = [], []
    for epsilon, curve in curves.items():
        rho = spearman(curve.x, curve.mean)
        if epsilon >= NON_PRIVATE:
            right = rho <= -0.9
        elif epsilon <= 1:
            right = rho >= 0.9
        else:
            right = _inverted_u(curve)
        verdicts.append(right)
        best = curve.x[np.argmax(curve.mean)]
        shape = "as stated" if right else "another shape"
        parts.append(f"epsilon {epsilon:g}: best lambda {best:g}, Spearman {rho:.2f}, {shape}")
    best = [float(c.x[np.argmax(c.mean)]) for c in curves.values()]
    return Verdict.of(all(verdicts) and bool((np.diff(best) <= 0).all()), *parts)


@decider("L12")
def range_from_public_data(results: Evidence) -> Verdict:
    """The gap of the estimated to the known range falls as n_Q doubles; the unknown range is worse (Holm)."""
    name = "lpct/figure8"
    verdicts, parts = [], []
    for panel in sorted({c.panel for c in results.curves(name, LPCT)}):
        found = {c.dataset.split("[")[0]: c for c in lines(results, name, LPCT, panel=panel)}
        absent = {"range_known", "range_estimated", "range_unknown"} - set(found)
        if absent:
            raise NotRunError(f"{name} lacks {sorted(absent)[0]}")
        known = found["range_known"]
        estimated = gap(known, found["range_estimated"])
        trend = log_slope(estimated)
        family = against([(panel, known, found["range_unknown"])])
        verdicts.append(trend.estimate < 0 and family.holds)
        ends = f"{estimated.mean[0]:.4f} to {estimated.mean[-1]:.4f}"
        parts.append(f"({panel}) gap of the estimated range {ends}, per doubling of n_Q {trend}")
        loss = gap(known, found["range_unknown"]).mean.mean()
        parts.append(f"unknown range below the known one by {loss:.4f}: {family}")
    return Verdict.of(bool(verdicts) and all(verdicts), *parts)


@decider("L13")
def informed_partition_is_better(results: Evidence) -> Verdict:
    """At each budget LPCT beats LPCT-R in the mean over n_Q (one-sided paired test, Holm).

    Decided on every grid of LPCT-R that was run: its own 68 settings, and LPCT's.
    """
    name = "lpct/figure9"
    both = by_epsilon(results, name, LPCT)
    families, parts = [], []
    rivals = sorted({c.method for c in results.curves(name, RANDOM)})
    for rival in rivals:
        labels, p_values = [], []
        for curve in (c for c in results.curves(name, RANDOM) if c.method == rival):
            difference = gap(both[curve.epsilon], curve)
            labels.append(f"epsilon {curve.epsilon:g} ({difference.mean.mean():+.4f})")
            p_values.append(better(difference.samples.mean(axis=1), np.zeros(len(difference.samples)),
                                   larger_is_better=True))  # fmt: skip
        family = Family(tuple(labels), np.array(p_values))
        families.append(family.holds)
        parts.append(f"against {rival}, mean difference {', '.join(labels)}: {family}")
    return Verdict.of(bool(families) and all(families), *parts)


@decider("L14")
def more_use_of_public_data(results: Evidence) -> Verdict:
    """LPCT > LPDT > PHIST at each fraction; on Employee LPCT with 0.2 of the private rows reaches PHIST with 0.6.

    "Reaches" means within 1 standard error of the paired difference, or above.
    """
    name = "lpct/figure10"
    verdicts, parts = [], []
    for panel in sorted({c.panel for c in results.curves(name, LPCT)}):
        both, lpdt, phist = (line(results, name, m, panel=panel) for m in (LPCT, "lpdt", "phist"))
        ordered = (both.mean > lpdt.mean) & (lpdt.mean > phist.mean)
        verdicts.append(bool(ordered.all()))
        parts.append(f"({panel}) {both.dataset.split('[')[0]}: in order at {ordered.sum()} of {ordered.size} fractions")
        if both.dataset.startswith("employee"):
            difference = both.samples[:, both.at(0.2)] - phist.samples[:, phist.at(0.6)]
            se = difference.std(ddof=1) / np.sqrt(difference.size)
            verdicts.append(difference.mean() >= -se)
            parts.append(f"LPCT at 0.2 minus PHIST at 0.6: {difference.mean():+.4f} (se {se:.4f})")
    return Verdict.of(bool(verdicts) and all(verdicts), *parts)
