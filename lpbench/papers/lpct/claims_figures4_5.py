"""Checks of LPCT's claims about the budget, gamma and the private sample size (figures 4 and 5)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from lpbench.analysis.claims import Checks, above, below, within
from lpbench.analysis.curves import Curve
from lpbench.analysis.instances import CellScores, Instance, difference, join, linear
from lpbench.papers.lpct.lines import LPCT, ONLY_P, ONLY_Q, PRUNE, by_epsilon, line, per_doubling, shared_places
from lpbench.reporting.evidence import Evidence

checks = Checks()

_AGAINST_BUDGET = ("lpct/figure4a", "lpct/figure4b")
_NAMES = {LPCT: "LPCT", ONLY_P: "LPCT-P", ONLY_Q: "LPCT-Q", PRUNE: "LPCT-prune"}


def _leaf(name: str) -> str:
    return f"{name[-2:-1]}({name[-1]})"


@checks("L1", "trend", above(1, 0.1), quantifier="every")
def grows_with_epsilon(results: Evidence) -> Iterator[Instance]:
    """For each method that reads the private data Spearman's correlation of ε and accuracy is above 0.9."""
    for name, method in itertools.product(_AGAINST_BUDGET, (LPCT, ONLY_P, PRUNE)):
        curve = line(results, name, method)
        yield Instance(f"{_NAMES[method]}, {_leaf(name)}", curve.cells(), "trend", {"x": curve.x.tolist()})


@checks("L2", "gain", above())
def both_samples_beat_one(results: Evidence) -> Iterator[Instance]:
    """At the points of both panels LPCT is more accurate than LPCT-P and LPCT-Q, on average over the points."""
    for name, other in itertools.product(_AGAINST_BUDGET, (ONLY_P, ONLY_Q)):
        yield from _gains(line(results, name, LPCT), line(results, name, other), f"{_NAMES[other]}, {_leaf(name)}, ε")


def _gains(both: Curve, other: Curve, name: str) -> Iterator[Instance]:
    for x, (a, b) in shared_places(both, other):
        yield difference(f"{name} = {x:g}", both.cells([a]), other.cells([b]))


@checks("L3", "LPCT-P", below(0.5, 0.1))
def private_sample_alone_says_little(results: Evidence) -> Iterator[Instance]:
    """For ε up to 1 the accuracy of LPCT-P is below 0.6."""
    for name in _AGAINST_BUDGET:
        curve = line(results, name, ONLY_P).between(0, 1)
        for k, epsilon in enumerate(curve.x):
            yield linear(f"{_leaf(name)}, ε = {epsilon:g}", (curve.cells([k]), [1.0]))


@checks("L3", "LPCT-Q", within(0.02))
def both_samples_are_close_to_public(results: Evidence) -> Iterator[Instance]:
    """For ε up to 1 the accuracy of LPCT is within 0.02 of that of LPCT-Q."""
    for name in _AGAINST_BUDGET:
        both, public = (line(results, name, method).between(0, 1) for method in (LPCT, ONLY_Q))
        yield from _gains(both, public, f"{_leaf(name)}, ε")


@checks("L4", "trend", above(1, 0.1), quantifier="every")
def falls_with_gamma(results: Evidence) -> Iterator[Instance]:
    """For each ε below 8 Spearman's correlation of γ and accuracy, its sign changed, is above 0.9."""
    for epsilon, curve in by_epsilon(results, "lpct/figure4c", LPCT).items():
        if epsilon < 8:
            yield Instance(f"ε = {epsilon:g}", curve.cells(), "trend", {"x": (-curve.x).tolist()})


@checks("L4", "small at 8", below(1))
def gamma_matters_less_at_large_budgets(results: Evidence) -> Iterator[Instance]:
    """The range of accuracy over γ at ε = 8 is smaller than at ε = 0.5: their ratio is below 1."""
    curves = by_epsilon(results, "lpct/figure4c", LPCT)
    least, most = curves[min(curves)], curves[max(curves)]
    places = [k for _, k in shared_places(least, most)]
    first, second = (curve.cells([k[i] for k in places]) for i, curve in enumerate((least, most)))
    yield Instance("ε = 8 over 0.5", join([first, second]), "ratio_of_spreads")


def _slopes(results: Evidence, name: str, method: str) -> dict[float, tuple[CellScores, np.ndarray]]:
    return {e: (curve.cells(), per_doubling(curve.x)) for e, curve in by_epsilon(results, name, method).items()}


@checks("L5", "rises", above())
def grows_with_private_sample(results: Evidence) -> Iterator[Instance]:
    """For ε of at least 4 accuracy gained per doubling of n_P is above 0."""
    for epsilon, slope in _slopes(results, "lpct/figure5a", LPCT).items():
        if epsilon >= 4:
            yield linear(f"ε = {epsilon:g}", slope)


@checks("L5", "flat at 0.5", within(0.003))
def flat_at_small_budget(results: Evidence) -> Iterator[Instance]:
    """At ε = 0.5 accuracy gained per doubling of n_P is within 0.003 of 0."""
    for epsilon, slope in _slopes(results, "lpct/figure5a", LPCT).items():
        if epsilon == 0.5:
            yield linear("ε = 0.5", slope)


@checks("L5", "order", above())
def faster_at_large_budgets(results: Evidence) -> Iterator[Instance]:
    """Accuracy gained per doubling of n_P is larger at each ε than at the one before, on average."""
    slopes = _slopes(results, "lpct/figure5a", LPCT)
    for (a, (first, w)), (b, (second, v)) in itertools.pairwise(slopes.items()):
        yield linear(f"ε = {b:g} against {a:g}", (second, v), (first, -w))


@checks("L6", "gain", above(), quantifier="every")
def always_better_than_one_sample(results: Evidence) -> Iterator[Instance]:
    """At every point LPCT is more accurate than LPCT-P and LPCT-Q."""
    name = "lpct/figure5b"
    both = by_epsilon(results, name, LPCT)
    for other in (ONLY_P, ONLY_Q):
        for epsilon, curve in by_epsilon(results, name, other).items():
            if epsilon in both:
                yield from _gains(both[epsilon], curve, f"{_NAMES[other]}, ε = {epsilon:g}, n_P")


@checks("L6", "order", above())
def gain_over_public_grows(results: Evidence) -> Iterator[Instance]:
    """LPCT's mean gain over LPCT-Q is larger at each ε than at the one before, on average."""
    name = "lpct/figure5b"
    both, public = by_epsilon(results, name, LPCT), by_epsilon(results, name, ONLY_Q)
    budgets = [e for e in both if e in public]
    for a, b in itertools.pairwise(budgets):
        parts = [(both[b], 1), (public[b], -1), (both[a], -1), (public[a], 1)]
        yield linear(
            f"ε = {b:g} against {a:g}",
            *((curve.cells(), np.full(curve.x.size, sign / curve.x.size)) for curve, sign in parts),
        )


@checks("L7", "gap", within(0.02))
def pruned_behaves_alike(results: Evidence) -> Iterator[Instance]:
    """The accuracy of LPCT minus that of LPCT-prune, averaged over n_P, is within 0.02 of 0."""
    name = "lpct/figure5c"
    both, prune = by_epsilon(results, name, LPCT), by_epsilon(results, name, PRUNE)
    for epsilon in (e for e in prune if e in both):
        yield difference(f"ε = {epsilon:g}", both[epsilon].cells(), prune[epsilon].cells())


@checks("L7", "rises with n_P", above())
def pruned_grows_with_private_sample(results: Evidence) -> Iterator[Instance]:
    """LPCT-prune gains accuracy per doubling of n_P, on average over ε."""
    for epsilon, slope in _slopes(results, "lpct/figure5c", PRUNE).items():
        yield linear(f"ε = {epsilon:g}", slope)


@checks("L7", "rises with ε", above())
def pruned_grows_with_epsilon(results: Evidence) -> Iterator[Instance]:
    """The mean accuracy of LPCT-prune over n_P is larger at each ε than at the one before, on average."""
    curves = by_epsilon(results, "lpct/figure5c", PRUNE)
    for (a, first), (b, second) in itertools.pairwise(curves.items()):
        yield difference(f"ε = {b:g} against {a:g}", second.cells(), first.cells())
