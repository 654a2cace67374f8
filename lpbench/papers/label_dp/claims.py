"""Deciders of the label-DP paper's claims: rates in n and epsilon (Table I), two randomisers of a class (Remark 1).

Claims that slopes *differ* need every interval to exclude zero. Claims that slopes are *equal* are several comparisons
at once: their intervals hold jointly at 95 % (Bonferroni).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from lpbench.analysis import Interval, bootstrap
from lpbench.analysis.claims import Deciders, Verdict
from lpbench.analysis.curves import Curve
from lpbench.analysis.rates import LEVEL
from lpbench.errors import NotRunError
from lpbench.papers.label_dp.rates import (
    LARGEST,
    exponent,
    is_constant,
    slope_difference,
)
from lpbench.reporting.evidence import Evidence

decider = Deciders()

NAME = "label_dp/table1"
VOTES = {"label_ldp": "label_ldp_vote", "ldp": "ldp_vote", "label_cdp": "label_cdp_vote", "cdp": "cdp_vote"}
MEANS = {"label_ldp": "label_ldp_knn", "ldp": "ldp_mean", "label_cdp": "label_cdp_mean", "cdp": "cdp_mean"}
PANELS = {"classification": VOTES, "regression": MEANS, "heavy_tail_4": MEANS}
#: The largest ratio of two risks that counts as the same curve, and of a private risk whose cost has vanished.
SAME, VANISHED = 1.25, 1.1


def find(results: Evidence, panel: str, base: str, epsilon: float) -> Curve:
    """The curve of a method with the paper's constants."""
    lines = [
        line
        for line in results.curves(NAME, base, panel=panel)
        if np.isclose(line.epsilon, epsilon) and line.parameter("constants", "paper") == "paper"
    ]
    lines = [line for line in lines if not is_constant(line)]
    if len(lines) != 1:
        raise NotRunError(f"{NAME} has {len(lines)} curves of {base} in {panel} at epsilon {epsilon:g}, expected one")
    return lines[0]


def budgets(results: Evidence, panel: str, base: str) -> list[float]:
    """Budgets at which a method was run in a panel."""
    return sorted({line.epsilon for line in results.curves(NAME, base, panel=panel)})


def is_zero(gap: Interval) -> bool:
    """Whether a difference of exponents covers zero."""
    return gap.low <= 0 <= gap.high


def jointly(intervals: int) -> float:
    """Level of each of several intervals that hold at 95 % together."""
    return 1 - (1 - LEVEL) / intervals


@decider("Z1")
def label_ldp_is_steeper_than_full_ldp(results: Evidence) -> Verdict:
    """Each task, each common budget: exponent of label LDP minus that of full LDP (all n) excludes zero from below."""
    verdicts, parts = [], []
    for panel, methods in PANELS.items():
        for epsilon in budgets(results, panel, methods["ldp"]):
            label, full = (find(results, panel, methods[m], epsilon) for m in ("label_ldp", "ldp"))
            gap = slope_difference(label, full)
            verdicts.append(gap.low > 0)
            parts.append(
                f"{panel} at epsilon {epsilon:g}: {exponent(label).estimate:.3f} against "
                f"{exponent(full).estimate:.3f}, difference {gap}"
            )
    return Verdict.of(all(verdicts), *parts)


@decider("Z2")
def central_models_share_a_slope(results: Evidence) -> Verdict:
    """Full CDP at c epsilon against label CDP at epsilon: the difference of local exponents covers zero.

    c is the ratio of the printed constants (2 for votes, 6 for means): at such budgets the same term dominates both
    curves, and "differing by a constant" means that they agree, here up to a factor 1.25 of the risk. At equal budgets
    two sums of powers have the same exponent only in the limit; those differences are given as evidence.
    """
    matched, equal = [], []
    for panel, methods in PANELS.items():
        label, full = (
            {e: find(results, panel, methods[m], e) for e in budgets(results, panel, methods[m])}
            for m in ("label_cdp", "cdp")
        )
        equal += [(f"{panel} at {e:g}", label[e], full[e]) for e in sorted(set(label) & set(full))]
        constant = 2.0 if panel == "classification" else 6.0
        for epsilon, larger in itertools.product(label, full):
            if np.isclose(larger, constant * epsilon):
                matched.append((f"{panel} at {epsilon:g} and {larger:g}", label[epsilon], full[larger]))
    if not matched:
        raise NotRunError(f"{NAME} has no pair of budgets at which full CDP should be label CDP")
    gaps = [slope_difference(a, b, LARGEST, level=jointly(len(matched))) for _, a, b in matched]
    apart = furthest([a.mean[-LARGEST:] / b.mean[-LARGEST:] for _, a, b in matched])
    beside = [slope_difference(a, b, LARGEST) for _, a, b in equal]
    return Verdict.of(
        all(map(is_zero, gaps)) and apart <= SAME,
        "label minus full exponent at the largest n, full CDP having c times the budget, c = 2 (votes) or 6 (means): "
        + ", ".join(f"{pair[0]}: {gap}" for pair, gap in zip(matched, gaps, strict=True)),
        f"the risks agree within a factor {apart:.3f}",
        f"at equal budgets {sum(map(is_zero, beside))} of {len(beside)} differences cover zero: "
        + ", ".join(f"{pair[0]}: {gap}" for pair, gap in zip(equal, beside, strict=True)),
    )


def furthest(ratios: Iterable[ArrayLike]) -> float:
    """Largest of the ratios and their inverses."""
    return float(np.exp(np.abs(np.log(np.concatenate([np.ravel(r) for r in ratios]))).max()))


@decider("Z3")
def label_ldp_is_non_private_on_a_smaller_sample(results: Evidence) -> Verdict:
    """Votes and bounded means: local exponents equal the non-private one, and curves collapse on N epsilon^2."""
    references = {"classification": "cube_vote", "regression": "knn_mean"}
    curves = {
        (panel, e): find(results, panel, PANELS[panel]["label_ldp"], e)
        for panel in references
        for e in (0.25, 0.5, 1.0, 2.0, 8.0)
    }
    equal = {key: line for key, line in curves.items() if key[1] >= 0.5}
    free = {panel: find(results, panel, base, np.inf) for panel, base in references.items()}
    level = jointly(len(equal))
    gaps = {(panel, e): slope_difference(line, free[panel], LARGEST, level) for (panel, e), line in equal.items()}
    same, apart = [], []
    for panel, (small, large) in itertools.product(references, ((0.25, 0.5), (0.5, 1.0), (0.25, 1.0))):
        a, b = curves[panel, small], curves[panel, large]
        apart.append(a.mean[-LARGEST:] / b.mean[-LARGEST:])
        places = [(i, k) for i, k in np.ndindex(a.x.size, b.x.size) if np.isclose(a.x[i] * small**2, b.x[k] * large**2)]
        same.append([a.mean[i] / b.mean[k] for i, k in places[-LARGEST:]])
    return Verdict.of(
        all(map(is_zero, gaps.values())) and furthest(same) <= SAME,
        "label minus non-private exponent at the largest n, "
        + ", ".join(f"{panel} at epsilon {e:g}: {gap}" for (panel, e), gap in gaps.items()),
        f"risks at equal N epsilon^2 (epsilon 0.25, 0.5, 1) agree within a factor {furthest(same):.3f}, at equal N "
        f"they are {np.min(apart):.2f} to {np.max(apart):.2f} times apart",
    )


@decider("Z4")
def heavy_tails_cost_slope(results: Evidence) -> Verdict:
    """Label LDP at epsilon 2, all n: exponents rise with p (each step excludes zero), the loss to non-private falls."""
    moments = (2, 4, 16)
    label = [find(results, f"heavy_tail_{p}", "label_ldp_knn", 2.0) for p in moments]
    free = [find(results, f"heavy_tail_{p}", "knn_mean", np.inf) for p in moments]
    steps = [slope_difference(b, a) for a, b in itertools.pairwise(label)]
    losses = [slope_difference(f, a) for a, f in zip(label, free, strict=True)]
    shrinks = all(b.estimate < a.estimate for a, b in itertools.pairwise(losses))
    parts = [f"p = {p}: {exponent(a)}, loss {loss}" for p, a, loss in zip(moments, label, losses, strict=True)]
    return Verdict.of(
        all(step.low > 0 for step in steps) and losses[0].low > 0 and losses[1].low > 0 and shrinks,
        "exponent and loss to the non-private one, " + ", ".join(parts),
        "steps in p " + ", ".join(str(step) for step in steps),
    )


@decider("Z5")
def central_cost_vanishes(results: Evidence) -> Verdict:
    """Epsilon 0.24 and 1: the risk over the non-private one falls towards one over the largest n.

    The local exponent must exceed the non-private one (interval above zero), unless the ratio at the largest n is at
    most 1.1 already.
    """
    verdicts, parts = [], []
    for (panel, methods), model, epsilon in itertools.product(PANELS.items(), ("label_cdp", "cdp"), (0.24, 1.0)):
        line = find(results, panel, methods[model], epsilon)
        free = find(results, panel, "cube_vote" if panel == "classification" else "cube_mean", np.inf)
        ratio = (line.mean / free.mean)[-LARGEST:]
        gain = slope_difference(line, free, LARGEST)
        verdicts.append(gain.low > 0 or ratio[-1] <= VANISHED)
        name = "label" if model == "label_cdp" else "full"
        parts.append(
            f"{panel}, {name} at epsilon {epsilon:g}: {ratio[0]:.2f} to {ratio[-1]:.2f} (exponent gained {gain})"
        )
    return Verdict.of(all(verdicts), "ratio over the largest n, " + ", ".join(parts))


@decider("Z6")
def bit_vectors_scale_with_the_logarithm_of_classes(results: Evidence) -> Verdict:
    """Growth of the risk from K = 2 to 256: the bit vector's at most that of (ln K)^e, K-ary response's above it.

    e is the exponent of the effective sample N / ln K in Theorem 2, 1/2 for the family that is run.
    """
    verdicts, parts = [], []
    for epsilon in (1.0, 2.0):
        bits, plain = mechanisms(results, epsilon)
        allowed = float((np.log(bits.x[-1]) / np.log(bits.x[0])) ** 0.5)
        of_bits, of_plain = growth(bits), growth(plain)
        verdicts.append(of_bits.high <= allowed < of_plain.low and slope_difference(bits, plain).low > 0)
        parts.append(
            f"epsilon {epsilon:g}: from K = {bits.x[0]:g} to {bits.x[-1]:g} the risk grows {of_bits} times with bit "
            f"vectors ((ln K)^(1/2) allows {allowed:.2f}) and {of_plain} times with K-ary response, as powers of K "
            f"{-exponent(bits).estimate:.3f} and {-exponent(plain).estimate:.3f}, K-ary response being better up to "
            f"K = {crossing(bits, plain):g}"
        )
    return Verdict.of(all(verdicts), *parts)


def growth(line: Curve) -> Interval:
    """Risk at the last place over that at the first."""
    return bootstrap(line.samples, lambda mean: mean[..., -1] / mean[..., 0])


def mechanisms(results: Evidence, epsilon: float) -> tuple[Curve, Curve]:
    """Curves of the bit vector and of K-ary randomised response against K."""
    name = "label_dp/classes"
    lines = [line for line in results.curves(name, "label_ldp_vote") if np.isclose(line.epsilon, epsilon)]
    found = {line.parameter("mechanism", "bit_vector"): line for line in lines}
    if set(found) != {"bit_vector", "krr"}:
        raise NotRunError(f"{name} lacks a mechanism at epsilon {epsilon:g}")
    return found["bit_vector"], found["krr"]


def crossing(bits: Curve, plain: Curve) -> float:
    """Largest K up to which K-ary randomised response has the smaller risk (0: nowhere)."""
    worse = np.flatnonzero(plain.mean >= bits.mean)
    count = int(worse[0]) if worse.size else bits.x.size
    return float(bits.x[count - 1]) if count else 0.0
