"""Checks of LPCT's claims about the public sample, the parameters and the range (figures 6 to 10)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from lpbench.analysis.claims import Checks, above, within
from lpbench.analysis.curves import Curve, slope_weights
from lpbench.analysis.instances import Instance, difference, join, linear
from lpbench.errors import NotRunError
from lpbench.papers.lpct.lines import (
    LPCT,
    ONLY_P,
    PRUNE,
    RANDOM,
    by_epsilon,
    line,
    lines,
    per_doubling,
    shared_places,
)
from lpbench.reporting.evidence import Evidence, Published
from lpbench.reporting.figures.curves import NON_PRIVATE_EPSILON

checks = Checks()

#: Public rows beyond which a curve is called flat, and the change of accuracy that still counts as flat.
KNEE, FLAT = 50, 0.02
FIFTH = "at most a fifth was our rule; the paper says that the gain is more significant up to 50 rows"
PLACE_FIRST = "the best place was looked up in the replications that it was judged on, and the ε were pooled"
#: The settings of LPCT-R that the authors searched.
AUTHORS = "min_samples_leaf=1"


@checks("L8", "trend", above(1, 0.1))
def grows_with_public_sample(results: Evidence) -> Iterator[Instance]:
    """Spearman's correlation of n_Q and accuracy is above 0.9 for LPCT and for LPCT-prune."""
    for method, title in ((LPCT, "LPCT"), (PRUNE, "LPCT-prune")):
        for epsilon, curve in by_epsilon(results, "lpct/figure6a", method).items():
            yield Instance(f"{title}, ε = {epsilon:g}", curve.cells(), "trend", {"x": curve.x.tolist()})


@checks("L8", "gap falls", above())
def pruned_comes_closer(results: Evidence) -> Iterator[Instance]:
    """The gap of LPCT-prune to LPCT falls as n_Q doubles."""
    name = "lpct/figure6a"
    both, prune = by_epsilon(results, name, LPCT), by_epsilon(results, name, PRUNE)
    for epsilon in (e for e in both if e in prune):
        a, b = both[epsilon], prune[epsilon]
        yield linear(f"ε = {epsilon:g}", (a.cells(), -per_doubling(a.x)), (b.cells(), per_doubling(b.x)))


def _knee(name: str, curve: Curve) -> Instance:
    """The slope up to the knee minus the slope beyond, per 100 rows."""
    before, beyond = curve.between(0, KNEE), curve.between(KNEE, np.inf)
    return linear(
        name,
        (before.cells(), 100 * slope_weights(before.x)),
        (beyond.cells(), -100 * slope_weights(beyond.x)),
    )


@checks("L9", "LPCT steep", above(), rule_changes=FIFTH)
def steep_then_flat(results: Evidence) -> Iterator[Instance]:
    """The slope of LPCT's accuracy in n_Q beyond 50 rows is smaller than the slope up to 50."""
    for epsilon, curve in by_epsilon(results, "lpct/figure6b", LPCT).items():
        yield _knee(f"ε = {epsilon:g}", curve)


@checks("L9", "LPCT-P steep", above(), rule_changes=FIFTH)
def private_alone_steep_then_flat(results: Evidence) -> Iterator[Instance]:
    """The slope of LPCT-P's accuracy in n_Q beyond 50 rows is smaller than the slope up to 50."""
    for epsilon, curve in by_epsilon(results, "lpct/figure6b", ONLY_P).items():
        yield _knee(f"ε = {epsilon:g}", curve)


@checks("L9", "LPCT-P flat", within(FLAT))
def private_alone_is_flat(results: Evidence) -> Iterator[Instance]:
    """From 50 to 200 public rows the fitted change of LPCT-P is within 0.02 of 0, where it is so in the print."""
    published = results if isinstance(results, Published) else Published(results)
    printed = by_epsilon(published, "lpct/figure6b", ONLY_P)
    for epsilon, curve in by_epsilon(results, "lpct/figure6b", ONLY_P).items():
        change = _change(printed[epsilon])
        silent = "" if abs(change @ printed[epsilon].between(KNEE, np.inf).mean) <= FLAT else "not flat in the print"
        yield linear(f"ε = {epsilon:g}", (curve.between(KNEE, np.inf).cells(), _change(curve)), silent=silent)


def _change(curve: Curve) -> np.ndarray:
    beyond = curve.between(KNEE, np.inf)
    return np.ptp(beyond.x) * slope_weights(beyond.x)


@checks("L10", "inverted U", above(), quantifier="each", rule_changes=PLACE_FIRST)
def inverted_u_in_depth(results: Evidence) -> Iterator[Instance]:
    """For each ε up to 8 the best accuracy at a depth inside the axis exceeds the accuracy at both ends."""
    for epsilon, curve in by_epsilon(results, "lpct/figure7a", LPCT).items():
        if epsilon <= 8:
            yield Instance(f"ε = {epsilon:g}", curve.cells(), "dip", {"sign": -1})


def _moves(curves: dict[float, Curve], axis: np.ndarray) -> Instance:
    """Slope of the best place over the budgets in their order."""
    first, *others = curves.values()
    if any(not np.array_equal(curve.x, first.x) for curve in others):
        raise NotRunError("the curves have different places")
    arguments = {"x": axis.tolist(), "curves": len(curves), "sign": -1}
    return Instance("slope over ε", join([c.cells() for c in curves.values()]), "trend_of_best", arguments)


@checks("L10", "best depth", above())
def best_depth_grows(results: Evidence) -> Iterator[Instance]:
    """The depth of the best accuracy grows over the budgets in their order."""
    curves = by_epsilon(results, "lpct/figure7a", LPCT)
    yield _moves(curves, next(iter(curves.values())).x)


@checks("L21", "rises", above())
def pruned_rises_with_depth_at_first(results: Evidence) -> Iterator[Instance]:
    """For each ε LPCT-prune is more accurate with a query of depth 2 than of depth 1."""
    for epsilon, curve in by_epsilon(results, "lpct/figure7b", PRUNE).items():
        yield difference(f"ε = {epsilon:g}", curve.cells([curve.at(2)]), curve.cells([curve.at(1)]))


@checks("L21", "beyond", above(0, FLAT))
def pruned_falls_slightly_beyond(results: Evidence) -> Iterator[Instance]:
    """For each ε LPCT-prune loses less than 0.02 from depth 5 to 7."""
    for epsilon, curve in by_epsilon(results, "lpct/figure7b", PRUNE).items():
        yield difference(f"ε = {epsilon:g}", curve.cells([curve.at(7)]), curve.cells([curve.at(5)]))


@checks("L21", "best depth", above())
def best_depth_of_the_query_grows(results: Evidence) -> Iterator[Instance]:
    """The depth of the query with the best accuracy grows over the budgets in their order, as LPCT's does."""
    curves = by_epsilon(results, "lpct/figure7b", PRUNE)
    yield _moves(curves, next(iter(curves.values())).x)


@checks("L11", "inverted U", above(), quantifier="each", rule_changes=PLACE_FIRST)
def inverted_u_in_weight(results: Evidence) -> Iterator[Instance]:
    """At each ε = 2, 4, 8 the best accuracy at a weight inside the axis exceeds the accuracy at both ends."""
    for epsilon, curve in by_epsilon(results, "lpct/figure7c", LPCT).items():
        if 1 < epsilon < NON_PRIVATE_EPSILON:
            yield Instance(f"ε = {epsilon:g}", curve.cells(), "dip", {"sign": -1})


@checks("L11", "ends", above())
def monotone_at_the_extremes(results: Evidence) -> Iterator[Instance]:
    """From the smallest to the largest weight accuracy rises at ε = 1 and falls at ε = 1000."""
    for epsilon, curve in by_epsilon(results, "lpct/figure7c", LPCT).items():
        if epsilon <= 1:
            yield difference(f"ε = {epsilon:g} rises", curve.cells([-1]), curve.cells([0]))
        elif epsilon >= NON_PRIVATE_EPSILON:
            yield difference(f"ε = {epsilon:g} falls", curve.cells([0]), curve.cells([-1]))


@checks("L11", "best weight", above())
def best_weight_falls(results: Evidence) -> Iterator[Instance]:
    """The decimal logarithm of the best weight falls over the budgets in their order."""
    curves = by_epsilon(results, "lpct/figure7c", LPCT)
    yield _moves(curves, -np.log10(next(iter(curves.values())).x))


def _ranges(results: Evidence) -> Iterator[tuple[str, dict[str, Curve]]]:
    name = "lpct/figure8"
    for panel in sorted({c.panel for c in results.curves(name, LPCT)}):
        found = {c.dataset.split("[")[0]: c for c in lines(results, name, LPCT, panel=panel)}
        absent = {"range_known", "range_estimated", "range_unknown"} - set(found)
        if absent:
            raise NotRunError(f"{name} lacks {sorted(absent)[0]}")
        yield f"({panel})", found


@checks("L12", "gap falls", above())
def estimated_range_approaches(results: Evidence) -> Iterator[Instance]:
    """The gap of the estimated to the known range falls as n_Q doubles."""
    for panel, found in _ranges(results):
        known, estimated = found["range_known"], found["range_estimated"]
        weights = per_doubling(known.x)
        yield linear(panel, (known.cells(), -weights), (estimated.cells(), weights))


@checks("L12", "unknown is worse", above())
def unknown_range_is_worse(results: Evidence) -> Iterator[Instance]:
    """Accuracy with the known range exceeds accuracy with the unknown one, averaged over n_Q."""
    for panel, found in _ranges(results):
        yield difference(panel, found["range_known"].cells(), found["range_unknown"].cells())


def _against_random(results: Evidence, authors: bool) -> Iterator[Instance]:
    name = "lpct/figure9"
    both = by_epsilon(results, name, LPCT)
    compared = [c for c in results.curves(name, RANDOM) if (AUTHORS in c.method) == authors]
    if not compared:
        raise NotRunError(f"{name} has no curve of LPCT-R on this grid")
    for curve in sorted(compared, key=lambda c: c.epsilon):
        for x, (a, b) in shared_places(both[curve.epsilon], curve):
            name = f"ε = {curve.epsilon:g}, n_Q = {x:g}"
            yield difference(name, both[curve.epsilon].cells([a]), curve.cells([b]))


@checks("L13", "authors' grid", above())
def informed_partition_is_better(results: Evidence) -> Iterator[Instance]:
    """LPCT is more accurate than LPCT-R with the settings that the authors searched, on average over the points."""
    return _against_random(results, authors=True)


@checks(
    "L13",
    "LPCT's grid",
    above(),
    not_counted_because="judged on the authors' settings of LPCT-R, this is the fair comparison",
)
def better_on_equal_terms(results: Evidence) -> Iterator[Instance]:
    """The same with all settings of LPCT for LPCT-R (shown beside)."""
    return _against_random(results, authors=False)


@checks("L14", "order", above())
def more_use_of_public_data(results: Evidence) -> Iterator[Instance]:
    """At the fractions of both panels LPCT is more accurate than LPDT and LPDT than PHIST, on average."""
    name = "lpct/figure10"
    for panel in sorted({c.panel for c in results.curves(name, LPCT)}):
        order = [(m, line(results, name, m, panel=panel)) for m in (LPCT, "lpdt", "phist")]
        for (_, a), (_, b) in itertools.pairwise(order):
            title = "LPCT, LPDT" if a is order[0][1] else "LPDT, PHIST"
            for x, (i, k) in shared_places(a, b):
                yield difference(f"({panel}) {title}, {x:g}", a.cells([i]), b.cells([k]))


@checks("L14", "0.2 for 0.6", within(0.02))
def a_third_of_the_private_rows(results: Evidence) -> Iterator[Instance]:
    """On Employee LPCT with 0.2 of the private rows is within 0.02 of PHIST with 0.6."""
    name = "lpct/figure10"
    panels = [c.panel for c in results.curves(name, LPCT) if c.dataset.startswith("employee")]
    if not panels:
        raise NotRunError(f"{name} was not run on employee")
    both, phist = (line(results, name, m, panel=panels[0]) for m in (LPCT, "phist"))
    yield difference("Employee", both.cells([both.at(0.2)]), phist.cells([phist.at(0.6)]))
