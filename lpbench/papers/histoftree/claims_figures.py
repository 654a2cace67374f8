"""Deciders of HistOfTree's claims about its simulations (figure 2)."""

from __future__ import annotations

import numpy as np

from lpbench.analysis import ALPHA, better, loglog_slope, spearman
from lpbench.analysis.claims import Deciders, Verdict
from lpbench.analysis.curves import Curve
from lpbench.reporting.evidence import Evidence

decider = Deciders()

METHOD = "histoftree_max_edge"
#: A difference of means counts as real beyond this many standard errors.
BEYOND = 2.0
#: Variance of the label noise in the simulation: the part of the mean squared error that no method can remove.
NOISE = 1.0


def _by_mask(results: Evidence, name: str) -> list[Curve]:
    """HistOfTree's curves, few protected features first."""
    return sorted(results.curves(name, METHOD), key=lambda line: line.parameter("n_protected", 0))


def _exceeds(line: Curve, high: int, low: int) -> bool:
    """Whether the mean at one place exceeds that at another by :data:`BEYOND` standard errors."""
    return bool(line.mean[high] - line.mean[low] > BEYOND * np.hypot(line.se[high], line.se[low]))


@decider("H1")
def falls_with_epsilon(results: Evidence) -> Verdict:
    """Every curve: Spearman(epsilon, mean) <= -0.9, and the ends differ by more than 2 standard errors."""
    verdicts, parts = [], []
    for line in _by_mask(results, "histoftree/figure2a"):
        rho = spearman(line.x, line.mean)
        verdicts.append(rho <= -0.9 and _exceeds(line, 0, -1))
        ends = f"{line.mean[0]:.3f} to {line.mean[-1]:.3f} (se {np.hypot(line.se[0], line.se[-1]):.3f})"
        parts.append(f"s* = {line.parameter('n_protected')}: Spearman {rho:.2f}, {ends}")
    return Verdict.of(all(verdicts), *parts)


@decider("H2")
def between_label_ldp_and_ldp(results: Evidence) -> Verdict:
    """At epsilon 1 to 8, LabelDT, s* = 1, ..., 4, Hist: each beats the next (one-sided paired test, level 0.05)."""
    name = "histoftree/figure2a"
    order = [results.curve(name, "label_dt"), *_by_mask(results, name), results.curve(name, "hist")]
    labels = ["LabelDT", *(f"s*={line.parameter('n_protected')}" for line in order[1:-1]), "Hist"]
    failed, tests = [], 0
    for k, epsilon in enumerate(order[0].x):
        if not 1 <= epsilon <= 8:
            continue
        for a, b, first, second in zip(order, order[1:], labels, labels[1:], strict=False):
            p = better(a.samples[:, k], b.samples[:, b.at(epsilon)], larger_is_better=False)
            tests += 1
            if not p < ALPHA:
                failed.append(f"{first} ({a.mean[k]:.3f}) against {second} ({b.mean[k]:.3f}) at {epsilon:g}: p {p:.2g}")
    shown = "; ".join(failed[:6]) + (f" and {len(failed) - 6} more" if len(failed) > 6 else "")
    return Verdict.of(
        not failed, f"{tests - len(failed)} of {tests} neighbouring pairs in order and significant", shown
    )


@decider("H3")
def falls_with_n(results: Evidence) -> Verdict:
    """Log-log slope of the error against n negative for every s*, and steeper for smaller s*."""
    lines = _by_mask(results, "histoftree/figure2b")
    slopes = np.array([loglog_slope(line.x, line.mean) for line in lines])
    excess = [loglog_slope(line.x, np.maximum(line.mean - NOISE, 1e-12)) for line in lines]
    parts = [
        f"s* = {line.parameter('n_protected')}: slope {s:.4f} (of the excess over the noise {e:.3f})"
        for line, s, e in zip(lines, slopes, excess, strict=True)
    ]
    return Verdict.of(bool((slopes < 0).all() and (np.diff(slopes) >= 0).all()), *parts)


def _by_bins(results: Evidence) -> dict[int, Curve]:
    lines = results.curves("histoftree/figure2c", METHOD)
    return dict(sorted((int(line.parameter("bins")), line) for line in lines))


@decider("H4")
def u_shape_in_depth(results: Evidence) -> Verdict:
    """For t >= 2 the minimum over p is inside the range, and both ends are higher by more than 2 standard errors."""
    verdicts, parts = [], []
    for bins, line in _by_bins(results).items():
        low = int(np.argmin(line.mean))
        inside = 0 < low < len(line.x) - 1
        shape = inside and _exceeds(line, 0, low) and _exceeds(line, -1, low)
        if bins >= 2:
            verdicts.append(shape)
        values = f"{line.mean[0]:.3f}, {line.mean[low]:.3f}, {line.mean[-1]:.3f}"
        parts.append(f"t = {bins}: best p {line.x[low]:g}, error at the first, best and last p {values}")
    return Verdict.of(bool(verdicts) and all(verdicts), *parts)


@decider("H5")
def best_bins(results: Evidence) -> Verdict:
    """The smallest error over p is reached at t = 2."""
    best = {bins: line.mean.min() for bins, line in _by_bins(results).items()}
    parts = [f"t = {bins}: {value:.4f}" for bins, value in best.items()]
    return Verdict.of(min(best, key=lambda bins: best[bins]) == 2, "smallest error over p: " + ", ".join(parts))


@decider("H6")
def best_depth_grows_with_bins(results: Evidence) -> Verdict:
    """The minimising p does not decrease in t."""
    depth = {bins: line.x[int(np.argmin(line.mean))] for bins, line in _by_bins(results).items()}
    parts = [f"t = {bins}: p = {p:g}" for bins, p in depth.items()]
    same = "the best p is the same for every t" if len(set(depth.values())) == 1 else ""
    return Verdict.of(bool((np.diff(list(depth.values())) >= 0).all()), ", ".join(parts), same)


@decider("H7")
def falls_with_gamma(results: Evidence) -> Verdict:
    """Every curve: Spearman(gamma, mean) <= -0.9."""
    lines = results.curves("histoftree/figure2d")
    rhos = {_name(line): spearman(line.x, line.mean) for line in lines}
    parts = [f"{name}: {rho:.2f}" for name, rho in rhos.items()]
    return Verdict.of(all(rho <= -0.9 for rho in rhos.values()), "Spearman " + ", ".join(parts))


def _name(line: Curve) -> str:
    selected = line.parameter("n_grid_features")
    return "adaptive" if selected is None else f"s = {selected}"


@decider("H8")
def adaptive_is_near_the_best(results: Evidence) -> Verdict:
    """The best s varies with gamma, and the adaptive choice is within 5 % of the best s at every gamma."""
    name = "histoftree/figure2d"
    fixed = sorted(results.curves(name, METHOD), key=lambda line: line.parameter("n_grid_features"))
    adaptive = results.curve(name, "adhistoftree_max_edge")
    means = np.stack([line.mean for line in fixed])
    best = [fixed[k].parameter("n_grid_features") for k in means.argmin(axis=0)]
    excess = adaptive.mean / means.min(axis=0) - 1
    choice = ", ".join(f"{s} at {g:g}" for s, g in zip(best, adaptive.x, strict=True))
    return Verdict.of(
        len(set(best)) > 1 and bool((excess <= 0.05).all()),
        f"best s (at gamma): {choice}",
        f"adaptive above the best s by {100 * excess.min():.1f} to {100 * excess.max():.1f} %",
    )
