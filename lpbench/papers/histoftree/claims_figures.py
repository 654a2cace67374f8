"""Checks of HistOfTree's claims about its simulations (figure 2), which are printed as drawings without numbers."""

import itertools
from collections.abc import Iterator

import numpy as np

from lpbench.analysis.claims import Checks, above, below
from lpbench.analysis.curves import Curve
from lpbench.analysis.instances import Instance, difference, join
from lpbench.errors import NotRunError
from lpbench.reporting.evidence import Evidence

checks = Checks()

METHOD = "histoftree_max_edge"
#: Variance of the label noise in the simulation: the part of the mean squared error that no method can remove.
NOISE = 1.0
#: Excess over the noise, relative to the best fixed s, up to which a choice is approximately the best.
NEAR = 0.1
#: The same of the mean squared error, which is what the figure draws and the sentence is about.
ERROR = 0.05
EXCESS_FIRST = (
    "the check compared the error minus the label noise, with a margin of 10 %, but the figure draws the whole error"
)
ALL_BUDGETS = "the check left out ε = 0.5, and also compared Hist with s* = 4, as a check of claim H14 now does"
OTHER_RULE = (
    "this check does not decide the claim: the paper names no cutting rule for the simulations, but the paper's "
    "Algorithm 1 cuts by max-edge"
)
ENDS_FIRST = "the check compared only the errors at both ends of the curve"
PLACE_FIRST = "the same replications chose and judged the location of the minimum, so that noise alone gave a U"
RAW_FIRST = "the check compared exponents of the whole error, which is mostly label noise"
STRICTER = (
    "this check does not decide the claim: a rule on the error minus the label noise is stricter than the paper's "
    "sentence, which is about the whole error"
)


def _by_mask(results: Evidence, name: str, method: str = METHOD) -> list[Curve]:
    """Curves of HistOfTree in a figure, in the order of the mask's number of protected features (0: unstated)."""
    return sorted(results.curves(name, method), key=lambda line: line.parameter("n_protected", 0))


def _mask(line: Curve) -> str:
    return f"s* = {line.parameter('n_protected')}"


@checks("H1", "trend", above(1, 0.1), quantifier="every")
def falls_with_epsilon(results: Evidence) -> Iterator[Instance]:
    """For every number s* of protected features, Spearman's correlation between −ε and the error is above 0.9."""
    for line in _by_mask(results, "histoftree/figure2a"):
        yield Instance(_mask(line), line.cells(), "trend", {"x": (-line.x).tolist()})


@checks("H1", "ends", above(), quantifier="every")
def falls_end_to_end(results: Evidence) -> Iterator[Instance]:
    """For every number s* of protected features, the error is larger at the smallest ε than at the largest ε."""
    for line in _by_mask(results, "histoftree/figure2a"):
        yield difference(_mask(line), line.cells([0]), line.cells([-1]))


def _neighbors(order: list[Curve]) -> Iterator[Instance]:
    for epsilon in order[0].x:
        for a, b in itertools.pairwise(order):
            title = f"{_mask(a)} before {_mask(b)} at ε = {epsilon:g}"
            yield difference(title, b.cells([b.at(epsilon)]), a.cells([a.at(epsilon)]))


@checks("H2", "neighbors", above(), rule_changes=ALL_BUDGETS)
def more_public_features_are_better(results: Evidence) -> Iterator[Instance]:
    """At each plotted ε, the error with s* protected features is smaller than with the next larger s*."""
    yield from _neighbors(_by_mask(results, "histoftree/figure2a"))


@checks("H2", "neighbors, CART", above(), not_counted_because=OTHER_RULE)
def more_public_features_are_better_under_cart(results: Evidence) -> Iterator[Instance]:
    """At each plotted ε, the error of CART with s* protected features is smaller than with the next larger s*."""
    yield from _neighbors(_by_mask(results, "histoftree/figure2a_cart", "histoftree_cart"))


def _bounded(worse: Curve, better: Curve) -> Iterator[Instance]:
    for epsilon in better.x:
        cells = worse.cells([worse.at(epsilon)]), better.cells([better.at(epsilon)])
        yield difference(f"ε = {epsilon:g}", *cells)


@checks("H14", "LabelDT", above())
def label_only_is_a_bound(results: Evidence) -> Iterator[Instance]:
    """At each plotted ε, LabelDT (no protected feature) has a smaller error than HistOfTree with s* = 1."""
    name = "histoftree/figure2a"
    yield from _bounded(_by_mask(results, name)[0], results.curve(name, "label_dt"))


@checks("H14", "Hist", above())
def all_private_is_a_bound(results: Evidence) -> Iterator[Instance]:
    """At each plotted ε, HistOfTree with s* = 4 protected features has a smaller error than Hist (all protected)."""
    name = "histoftree/figure2a"
    yield from _bounded(results.curve(name, "hist"), _by_mask(results, name)[-1])


@checks("H3", "slopes", above(), quantifier="every", rule_changes=RAW_FIRST)
def falls_with_n(results: Evidence) -> Iterator[Instance]:
    """For every s*, the error minus the label noise falls like n^(−e), with a fitted exponent e above 0."""
    for line in _by_mask(results, "histoftree/figure2b"):
        arguments = {"weights": line.decay.tolist(), "floor": NOISE}
        yield Instance(_mask(line), line.cells(), "log_linear", arguments)


@checks("H3", "order", above(), rule_changes=RAW_FIRST)
def faster_for_small_masks(results: Evidence) -> Iterator[Instance]:
    """The error minus the label noise falls faster with n at the smallest s* than at the largest s*."""
    small, *_, large = _by_mask(results, "histoftree/figure2b")
    weights = [*small.decay, *-large.decay]
    name = f"{_mask(small)} against {_mask(large)}"
    yield Instance(name, join([small.cells(), large.cells()]), "log_linear", {"weights": weights, "floor": NOISE})


def _by_bins(results: Evidence) -> dict[int, Curve]:
    lines = results.curves("histoftree/figure2c", METHOD)
    by_bins = dict(sorted((int(line.parameter("bins")), line) for line in lines))
    if len(by_bins) < 2 or any(line.x.size < 3 for line in by_bins.values()):
        raise NotRunError("histoftree/figure2c needs at least two numbers of bins and three depths")
    return by_bins


def _interior(lines: dict[int, Curve]) -> str:
    """Return a reason not to judge if the smallest error lies at an end of the p axis for every t; else an empty text.

    ``lines`` has one curve of errors over the depth p for each number of bins t.
    """
    ends = all(int(np.argmin(line.mean)) in (0, line.x.size - 1) for line in lines.values())
    return "for every t the smallest error is at an end of the axis of p" if ends else ""


@checks("H4", "U", above(), quantifier="each", rule_changes=PLACE_FIRST)
def u_shape_in_depth(results: Evidence) -> Iterator[Instance]:
    """For every number t ≥ 2 of bins, some depth p inside the plotted range has a smaller error than the end depths."""
    for bins, line in _by_bins(results).items():
        silent = "" if line.x[0] == 0 else f"the axis starts at p = {line.x[0]:g}, not at 0"
        if bins >= 2:
            yield Instance(f"t = {bins}", line.cells(), "dip", silent=silent)


@checks("H5", "best t", above(), quantifier="every")
def best_bins(results: Evidence) -> Iterator[Instance]:
    """The smallest error over the depth p is smaller with t = 2 bins than with any other number t of bins."""
    lines = _by_bins(results)
    if 2 not in lines:
        raise NotRunError("histoftree/figure2c has no curve of t = 2")
    for bins, line in lines.items():
        if bins != 2:
            cells = join([lines[2].cells(), line.cells()])
            yield Instance(f"t = {bins} against 2", cells, "gap_of_best", silent=_interior(lines))


@checks("H6", "best p", above())
def best_depth_grows_with_bins(results: Evidence) -> Iterator[Instance]:
    """The depth p with the smallest error grows with the number t of bins: the slope of best p over t is above 0."""
    lines = _by_bins(results)
    first, *others = lines.values()
    if any(not np.array_equal(line.x, first.x) for line in others):
        raise NotRunError("histoftree/figure2c has different depths for different numbers of bins")
    arguments = {"x": first.x.tolist(), "curves": len(lines)}
    cells = join([line.cells() for line in lines.values()])
    yield Instance("slope over t", cells, "trend_of_best", arguments, _interior(lines))


@checks("H7", "trend", above(1, 0.1), quantifier="every", rule_changes=ENDS_FIRST)
def falls_with_gamma(results: Evidence) -> Iterator[Instance]:
    """For AdHistOfTree and for every number s of grid features, Spearman's correlation of −γ and error exceeds 0.9."""
    for line in results.curves("histoftree/figure2d"):
        selected = line.parameter("n_grid_features")
        name = "AdHistOfTree" if selected is None else f"s = {selected}"
        yield Instance(name, line.cells(), "trend", {"x": (-line.x).tolist()})


def _fixed(results: Evidence) -> list[Curve]:
    lines = results.curves("histoftree/figure2d", METHOD)
    return sorted(lines, key=lambda line: line.parameter("n_grid_features"))


def _all_near(means: np.ndarray, floor: float, near: float) -> bool:
    """Return True if no fixed s (number of grid features) is clearly best: every s is near the best everywhere.

    ``means`` (number of s, places) are errors. ``floor`` (the noise, which no method avoids) is subtracted, and each
    rest is compared with (1 + near) times the smallest of its column.
    """
    above_floor = means - floor
    return bool((above_floor <= (1 + near) * above_floor.min(axis=0)).all())


def _no_single(results: Evidence, floor: float, near: float) -> Iterator[Instance]:
    """Yield one instance: the loss of the best single s over all γ against the best s at each, without ``floor``.

    It cannot be judged if every s is within the share ``near`` of the best at every γ.
    """
    lines = _fixed(results)
    alike = _all_near(np.stack([c.mean for c in lines]), floor, near)
    silent = f"at every γ all s are within {100 * near:g} % of the smallest error" if alike else ""
    arguments = {"curves": len(lines), "floor": floor}
    yield Instance("best single s", join([c.cells() for c in lines]), "loss_of_any_single", arguments, silent)


def _adaptive(results: Evidence, floor: float, near: float) -> Iterator[Instance]:
    """Yield an instance for each γ: relative excess of AdHistOfTree's error over that of the best fixed s.

    ``floor`` is subtracted from both first. An instance cannot be judged if every s is within the share ``near`` of the
    best, as any choice would be.
    """
    lines, adaptive = _fixed(results), results.curve("histoftree/figure2d", "adhistoftree_max_edge")
    for k, gamma in enumerate(adaptive.x):
        at_gamma = [line.cells([line.at(gamma)]) for line in lines]
        means = np.array([[cells.samples.mean()] for cells in at_gamma])
        near_all, within = _all_near(means, floor, near), f"{100 * near:g} %"
        silent = f"at this γ all s are within {within} of the smallest error" if near_all else ""
        cells = join([adaptive.cells([k]), *at_gamma])
        yield Instance(f"γ = {gamma:g}", cells, "excess_over_best", {"floor": floor}, silent)


@checks("H8", "no single s", above(0, -ERROR), rule_changes=EXCESS_FIRST)
def no_single_choice(results: Evidence) -> Iterator[Instance]:
    """For every fixed s there is a γ at which the error of s is more than 5 % above the error of the best s."""
    yield from _no_single(results, 0.0, ERROR)


@checks("H8", "no single s, excess", above(0, -NEAR), not_counted_because=STRICTER)
def no_single_choice_in_excess(results: Evidence) -> Iterator[Instance]:
    """For every fixed s, (error minus label noise) is at some γ more than 10 % above that of the best s."""
    yield from _no_single(results, NOISE, NEAR)


@checks("H8", "adaptive", below(0, ERROR), quantifier="every", rule_changes=EXCESS_FIRST)
def adaptive_is_near_the_best(results: Evidence) -> Iterator[Instance]:
    """At every γ, the error of AdHistOfTree is at most 5 % above the error of the best fixed s."""
    yield from _adaptive(results, 0.0, ERROR)


@checks("H8", "adaptive, excess", below(0, NEAR), quantifier="every", not_counted_because=STRICTER)
def adaptive_is_near_the_best_in_excess(results: Evidence) -> Iterator[Instance]:
    """At every γ, (error minus label noise) of AdHistOfTree is at most 10 % above that of the best fixed s."""
    yield from _adaptive(results, NOISE, NEAR)
