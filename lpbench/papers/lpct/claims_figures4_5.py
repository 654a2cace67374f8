"""Deciders of LPCT's claims about the budget, gamma and the private sample size (figures 4 and 5)."""

from __future__ import annotations

import numpy as np

from lpbench.analysis import spearman
from lpbench.analysis.claims import Deciders, Verdict
from lpbench.papers.lpct.lines import LPCT, ONLY_P, ONLY_Q, PRUNE, against, by_epsilon, gap, line, log_slope
from lpbench.reporting.evidence import Evidence

decider = Deciders()

_AGAINST_BUDGET = ("lpct/figure4a", "lpct/figure4b")


@decider("L1")
def grows_with_epsilon(results: Evidence) -> Verdict:
    """Spearman(epsilon, accuracy) >= 0.9 for every method that uses the private data.

    LPCT-Q does not read the budget: its constant curve is reported and not judged.
    """
    verdicts, parts = [], []
    for name in _AGAINST_BUDGET:
        for method in (LPCT, ONLY_P, PRUNE, ONLY_Q):
            curve = line(results, name, method)
            rho = spearman(curve.x, curve.mean)
            if np.isnan(rho):
                parts.append(f"{name} {method}: constant")
                continue
            verdicts.append(rho >= 0.9)
            parts.append(f"{name} {method}: Spearman {rho:.2f}")
    return Verdict.of(bool(verdicts) and all(verdicts), *parts)


@decider("L2")
def both_samples_beat_one(results: Evidence) -> Verdict:
    """LPCT beats LPCT-P and LPCT-Q at every budget: one-sided paired tests, Holm over all of them."""
    pairs = [
        (f"{name} against {other}", line(results, name, LPCT), line(results, name, other))
        for name in _AGAINST_BUDGET
        for other in (ONLY_P, ONLY_Q)
    ]
    family = against(pairs)
    least = min(float(np.min(a.mean - b.mean)) for _, a, b in pairs)
    return Verdict.of(family.holds, str(family), f"smallest difference of means {least:.4f}")


@decider("L3")
def high_privacy(results: Evidence) -> Verdict:
    """For epsilon <= 1: LPCT-P below 0.6, and LPCT within 0.02 of LPCT-Q."""
    verdicts, parts = [], []
    for name in _AGAINST_BUDGET:
        p, q, both = (line(results, name, m).between(0, 1) for m in (ONLY_P, ONLY_Q, LPCT))
        far = float(np.abs(both.mean - q.mean).max())
        verdicts.append(bool((p.mean < 0.6).all()) and far < 0.02)
        parts.append(f"{name}: LPCT-P at most {p.mean.max():.3f}, |LPCT - LPCT-Q| at most {far:.3f}")
    return Verdict.of(all(verdicts), *parts)


@decider("L4")
def falls_with_gamma(results: Evidence) -> Verdict:
    """Spearman(gamma, accuracy) <= -0.9 at every budget, and a smaller range at epsilon 8 than at 0.5."""
    curves = by_epsilon(results, "lpct/figure4c", LPCT)
    rho = {e: spearman(c.x, c.mean) for e, c in curves.items()}
    spread = {e: float(np.ptp(c.mean)) for e, c in curves.items()}
    least, most = min(curves), max(curves)
    parts = [f"epsilon {e:g}: Spearman {rho[e]:.2f}, range {spread[e]:.3f}" for e in curves]
    return Verdict.of(all(r <= -0.9 for r in rho.values()) and spread[most] < spread[least], *parts)


@decider("L5")
def grows_with_private_sample(results: Evidence) -> Verdict:
    """Slope per doubling of n_P: interval above 0 for epsilon >= 1 and not at 0.5; steeper for larger epsilon."""
    slopes = {e: log_slope(c) for e, c in by_epsilon(results, "lpct/figure5a", LPCT).items()}
    rising = all((s.low > 0) == (e >= 1) for e, s in slopes.items())
    steeper = bool((np.diff([s.estimate for s in slopes.values()]) >= 0).all())
    parts = [f"epsilon {e:g}: {s}" for e, s in slopes.items()]
    return Verdict.of(rising and steeper, "gain per doubling of n_P", *parts)


@decider("L6")
def gain_over_public_only(results: Evidence) -> Verdict:
    """LPCT beats LPCT-P and LPCT-Q everywhere (paired tests, Holm); mean gain over LPCT-Q grows with epsilon."""
    both, p, q = (by_epsilon(results, "lpct/figure5b", m) for m in (LPCT, ONLY_P, ONLY_Q))
    pairs = [(f"epsilon {e:g} against LPCT-P", both[e], p[e]) for e in both if e in p]
    pairs += [(f"epsilon {e:g} against LPCT-Q", both[e], q[e]) for e in both if e in q]
    family = against(pairs)
    gains = {e: float(gap(both[e], q[e]).mean.mean()) for e in both if e in q}
    growing = bool((np.diff(list(gains.values())) > 0).all())
    parts = [f"epsilon {e:g}: mean gain over LPCT-Q {g:.4f}" for e, g in gains.items()]
    return Verdict.of(family.holds and growing, str(family), *parts)


@decider("L7")
def pruned_behaves_alike(results: Evidence) -> Verdict:
    """Mean gap of LPCT-prune to LPCT at most 0.02; its accuracy rises with n_P at every budget, and with epsilon."""
    both, prune = (by_epsilon(results, "lpct/figure5c", m) for m in (LPCT, PRUNE))
    gaps = {e: float(gap(both[e], prune[e]).mean.mean()) for e in prune if e in both}
    slopes = {e: log_slope(c).estimate for e, c in prune.items()}
    levels = [float(c.mean.mean()) for c in prune.values()]
    alike = all(abs(g) <= 0.02 for g in gaps.values())
    rising = all(s > 0 for s in slopes.values()) and bool((np.diff(levels) > 0).all())
    parts = [
        f"epsilon {e:g}: mean gap {gaps[e]:.4f}, gain per doubling of n_P {slopes[e]:.4f}, mean {level:.4f}"
        for e, level in zip(gaps, levels, strict=True)
    ]
    return Verdict.of(bool(gaps) and alike and rising, *parts)
