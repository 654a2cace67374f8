"""Checks of the label-DP paper's claims: rates in n and epsilon (Table I), two randomizers of a class (Remark 1).

The paper proves and prints no number to compare with, so the claims are judged on ours alone.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from lpbench.analysis.claims import Checks, above, below, within
from lpbench.analysis.curves import Curve
from lpbench.analysis.instances import Instance, join
from lpbench.errors import NotRunError
from lpbench.papers.label_dp.rates import LARGEST, is_constant, largest
from lpbench.reporting.evidence import Evidence

checks = Checks()

NAME = "label_dp/table1"
VOTES = {"label_ldp": "label_ldp_vote", "ldp": "ldp_vote", "label_cdp": "label_cdp_vote", "cdp": "cdp_vote"}
MEANS = {"label_ldp": "label_ldp_knn", "ldp": "ldp_mean", "label_cdp": "label_cdp_mean", "cdp": "cdp_mean"}
PANELS = {"classification": VOTES, "regression": MEANS, "heavy_tail_4": MEANS}
#: Ratio of the printed constants of full and label CDP: with this many times the budget the same term dominates both.
CONSTANT_RATIOS = {"classification": 2.0, "regression": 6.0, "heavy_tail_4": 6.0}
#: Non-private counterparts of label LDP.
NON_PRIVATE_METHODS = {"classification": "cube_vote", "regression": "knn_mean"}
#: The largest ratio of two risks that counts as the same curve, and of a private risk whose cost has vanished.
SAME, VANISHED = 1.25, 1.1
#: Exponents within this are called equal.
EQUAL = 0.05
CONSTRUCTED = (
    "this check does not decide the claim: both methods draw the same noise from the same seeds at matched budgets, so "
    "their results are equal by construction"
)


def find(results: Evidence, panel: str, base: str, epsilon: float) -> Curve:
    """The curve of a method with the paper's constants."""
    lines = [line for line in results.curves(NAME, base, panel=panel) if np.isclose(line.epsilon, epsilon)]
    lines = [line for line in lines if line.parameter("constants", "paper") == "paper" and not is_constant(line)]
    if len(lines) != 1:
        raise NotRunError(f"{NAME} has {len(lines)} curves of {base} in {panel} at epsilon {epsilon:g}, expected one")
    return lines[0]


def budgets(results: Evidence, panel: str, base: str) -> list[float]:
    """Return the budgets at which an experiment's panel has curves of a method, in increasing order."""
    return sorted({line.epsilon for line in results.curves(NAME, base, panel=panel)})


def exponents(name: str, *terms: tuple[float, Curve]) -> Instance:
    """Make an instance: a weighted sum of curves' exponents."""
    weights = np.concatenate([factor * line.decay for factor, line in terms])
    cells = join([line.cells() for _, line in terms])
    return Instance(name, cells, "log_linear", {"weights": weights.tolist()})


@checks("Z1", "exponents", above())
def label_ldp_is_steeper_than_full_ldp(results: Evidence) -> Iterator[Instance]:
    """At the same ε, the risk has a larger exponent in n under label LDP than under full LDP."""
    for panel, methods in PANELS.items():
        for epsilon in budgets(results, panel, methods["ldp"]):
            label, full = (find(results, panel, methods[m], epsilon) for m in ("label_ldp", "ldp"))
            yield exponents(f"{panel}, ε = {epsilon:g}", (1, label), (-1, full))


def _matched(results: Evidence, *panels: str) -> Iterator[tuple[str, Curve, Curve]]:
    """Yield (name, label CDP's curve at ε, full CDP's at the budget that should match), both cut to the largest n.

    The matching budget is ε times the panel's ratio of constants in the theorems.
    """
    for panel in panels:
        methods, constant = PANELS[panel], CONSTANT_RATIOS[panel]
        small, large = (budgets(results, panel, methods[m]) for m in ("label_cdp", "cdp"))
        for epsilon, matching in itertools.product(small, large):
            if np.isclose(matching, constant * epsilon):
                label = largest(find(results, panel, methods["label_cdp"], epsilon))
                full = largest(find(results, panel, methods["cdp"], matching))
                yield f"{panel}, ε = {epsilon:g} and {matching:g}", label, full


@checks("Z2", "exponents", within(EQUAL), not_counted_because=CONSTRUCTED)
def central_models_share_a_slope(results: Evidence) -> Iterator[Instance]:
    """At the largest n, the exponents of label CDP at ε and of full CDP at 6ε lie within 0.05 of each other."""
    for name, label, full in _matched(results, "regression", "heavy_tail_4"):
        yield exponents(name, (1, label), (-1, full))


@checks("Z2", "constant", within(float(np.log(SAME))), not_counted_because=CONSTRUCTED)
def central_models_differ_by_the_constant(results: Evidence) -> Iterator[Instance]:
    """At the largest n, the mean risks of label CDP at ε and of full CDP at 6ε differ by a factor below 1.25."""
    for name, label, full in _matched(results, "regression", "heavy_tail_4"):
        weights = np.full(LARGEST, 1 / LARGEST)
        cells = join([label.cells(), full.cells()])
        yield Instance(name, cells, "log_linear", {"weights": [*weights, *-weights]})


@checks("Z2", "votes", within(EQUAL), not_counted_because=CONSTRUCTED)
def votes_are_equal_by_construction(results: Evidence) -> Iterator[Instance]:
    """At the largest n, exponents of votes under label CDP at ε and full CDP at 2ε lie within 0.05 of each other."""
    for name, label, full in _matched(results, "classification"):
        yield exponents(name, (1, label), (-1, full))


@checks("Z3", "exponents", within(EQUAL))
def label_ldp_keeps_the_non_private_slope(results: Evidence) -> Iterator[Instance]:
    """At the largest n, the exponents of label LDP and of the non-private method lie within 0.05 of each other."""
    for panel, epsilon in itertools.product(NON_PRIVATE_METHODS, (0.5, 1.0, 2.0, 8.0)):
        label = largest(find(results, panel, PANELS[panel]["label_ldp"], epsilon))
        free = largest(find(results, panel, NON_PRIVATE_METHODS[panel], np.inf))
        yield exponents(f"{panel}, ε = {epsilon:g}", (1, label), (-1, free))


@checks("Z3", "collapse", within(float(np.log(SAME))))
def budget_enters_as_its_square(results: Evidence) -> Iterator[Instance]:
    """At equal N ε², the risks of label LDP at two values of ε up to 1 differ by a factor below 1.25."""
    for panel, (small, large) in itertools.product(NON_PRIVATE_METHODS, ((0.25, 0.5), (0.5, 1.0), (0.25, 1.0))):
        a, b = (find(results, panel, PANELS[panel]["label_ldp"], e) for e in (small, large))
        places = [(i, k) for i, k in np.ndindex(a.x.size, b.x.size) if np.isclose(a.x[i] * small**2, b.x[k] * large**2)]
        for i, k in places[-LARGEST:]:
            name = f"{panel}, ε = {small:g} and {large:g}, N ε² = {a.x[i] * small**2:g}"
            yield Instance(name, join([a.cells([i]), b.cells([k])]), "log_linear", {"weights": [1.0, -1.0]})


def _heavy(results: Evidence) -> tuple[dict[int, Curve], dict[int, Curve]]:
    moments = (2, 4, 16)
    label = {p: find(results, f"heavy_tail_{p}", "label_ldp_knn", 2.0) for p in moments}
    return label, {p: find(results, f"heavy_tail_{p}", "knn_mean", np.inf) for p in moments}


@checks("Z4", "steps", above())
def exponents_rise_with_the_moment(results: Evidence) -> Iterator[Instance]:
    """At ε = 2, the exponent of label LDP grows with the number p of moments, from 2 to 4 to 16."""
    label, _ = _heavy(results)
    for a, b in itertools.pairwise(label):
        yield exponents(f"p = {b} against {a}", (1, label[b]), (-1, label[a]))


@checks("Z4", "loss", above())
def heavy_tails_cost_slope(results: Evidence) -> Iterator[Instance]:
    """With p = 2 moments and with p = 4 moments, the exponent of label LDP is below the non-private exponent."""
    label, free = _heavy(results)
    for p in (2, 4):
        yield exponents(f"p = {p}", (1, free[p]), (-1, label[p]))


@checks("Z4", "approach", above())
def the_loss_shrinks_with_the_moment(results: Evidence) -> Iterator[Instance]:
    """With each larger number p of moments, the exponent of label LDP comes closer to the non-private exponent."""
    label, free = _heavy(results)
    for a, b in itertools.pairwise(label):
        yield exponents(f"p = {b} against {a}", (1, free[a]), (-1, label[a]), (-1, free[b]), (1, label[b]))


@checks("Z5", "cost", above())
def central_cost_vanishes(results: Evidence) -> Iterator[Instance]:
    """At ε = 0.24 and 1 and large n, the risk falls faster than the non-private risk or is at most 1.1 times it."""
    for (panel, methods), model, epsilon in itertools.product(PANELS.items(), ("label_cdp", "cdp"), (0.24, 1.0)):
        line = largest(find(results, panel, methods[model], epsilon))
        free = largest(find(results, panel, "cube_vote" if panel == "classification" else "cube_mean", np.inf))
        weights = np.concatenate([line.decay, -free.decay]).tolist()
        title = f"{panel}, {'label' if model == 'label_cdp' else 'full'} CDP, ε = {epsilon:g}"
        cells = join([line.cells(), free.cells()])
        yield Instance(title, cells, "gained_or_vanished", {"weights": weights, "vanished": VANISHED})


def mechanisms(results: Evidence, epsilon: float) -> tuple[Curve, Curve]:
    """Curves of the bit vector and of K-ary randomized response against K."""
    name = "label_dp/classes"
    lines = [line for line in results.curves(name, "label_ldp_vote") if np.isclose(line.epsilon, epsilon)]
    by_mechanism = {line.parameter("mechanism", "bit_vector"): line for line in lines}
    if set(by_mechanism) != {"bit_vector", "krr"}:
        raise NotRunError(f"{name} lacks a mechanism at epsilon {epsilon:g}")
    return by_mechanism["bit_vector"], by_mechanism["krr"]


def _growth(name: str, line: Curve) -> Instance:
    """Instance: growth of the log risk from the smallest to the largest number of classes K, divided by log(ln K)'s.

    The statistic is the power of ln K with which the risk grows.
    """
    unit = float(np.log(np.log(line.x[-1]) / np.log(line.x[0])))
    return Instance(name, line.cells([0, -1]), "log_linear", {"weights": [-1 / unit, 1 / unit]})


@checks("Z6", "bit vector", below(0.5))
def bit_vectors_grow_with_the_logarithm(results: Evidence) -> Iterator[Instance]:
    """With bit vectors, the risk grows from K = 2 to K = 256 at most like (ln K)^(1/2), as Theorem 2 allows."""
    for epsilon in (1.0, 2.0):
        yield _growth(f"ε = {epsilon:g}", mechanisms(results, epsilon)[0])


@checks("Z6", "K-ary response", above(0.5))
def plain_response_grows_faster(results: Evidence) -> Iterator[Instance]:
    """With K-ary randomized response, the risk grows from K = 2 to K = 256 faster than (ln K)^(1/2)."""
    for epsilon in (1.0, 2.0):
        yield _growth(f"ε = {epsilon:g}", mechanisms(results, epsilon)[1])


@checks("Z6", "difference", above())
def plain_response_degrades_more(results: Evidence) -> Iterator[Instance]:
    """The risk grows by a larger power of K with K-ary randomized response than with bit vectors."""
    for epsilon in (1.0, 2.0):
        bits, plain = mechanisms(results, epsilon)
        yield exponents(f"ε = {epsilon:g}", (1, bits), (-1, plain))
