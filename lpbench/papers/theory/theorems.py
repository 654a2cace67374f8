"""Theorems on trial: a row a case, with the rule that decides it.

A theorem states an order in the effective sample. What a run can show is *dependence*: how the exponent of the excess
risk moves with s*, d, beta, gamma, the moment, the model or the budget. Such a difference of exponents is paired over
replications, which share their random numbers, and is held against the theorem's and against its nearest neighbors:
the same statement without the dependence, and with it counted twice. Places outside the theorem's own inequality, and
those where a method does not resolve the function, are never judged. Only exact statements can fail.
"""

import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy

from lpbench.analysis import exponents
from lpbench.analysis.curves import Curve
from lpbench.analysis.exponents import least_leak, two_point
from lpbench.analysis.rates import LEVEL, bootstrap_means, loglog_slope
from lpbench.cast import bare_name, member
from lpbench.datasets.label_dp import sign_cubes
from lpbench.errors import NotRunError
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment
from lpbench.papers.label_dp.rates import facts
from lpbench.reporting.evidence import Evidence
from lpbench.seeds import Streams

SEEN, OPPOSITE, NOT_SEEN, CANNOT = "seen", "opposite here", "not seen", "cannot decide"
NOT_JUDGED, HOLDS, FAILS = "not judged", "holds", "fails"
SLOWER, STATED, FASTER = "slower here", "as stated", "faster here"
#: A level's slope is as stated within NEAR of the theorem's.
NEAR = 0.05
#: Power that "seen" and "not seen" need.
POWER = 0.8
#: A method resolves the function up to this share of the best constant's excess, and above this many standard errors.
RESOLVED, NOISE = 0.5, 2.0
#: Places on the axis that a slope needs.
FEWEST = 3
#: Simulated trials behind a power.
TRIALS_DRAWN = 4000
#: LPCT's simulation: Hölder exponent, dimension, margin (P(|eta - 1/2| < t) is of order t^10 but for logarithms).
ALPHA, DIMENSION, MARGIN = 0.1, 2, 10.0


@dataclass(frozen=True)
class Facts:
    """Public constants that a theorem's statement takes, and the axis along which an excess risk falls."""

    paper: str  # H, L or Z
    axis: str  # n, n_public or epsilon
    model: str = "ldp"
    task: str = "regression"
    alpha: float = 1.0  # Hölder exponent; beta in label DP
    d: int = 1
    hidden: int = 0  # s*
    margin: float = 1.0
    moment: float | None = None
    gamma: float = 0.5  # relative signal of public labels
    alpha_range: float = 0.0  # of Theorem 7's range

    @property
    def rate(self) -> exponents.Rate:
        """Exponents of sampling and of privacy that the third paper states for these constants."""
        known: dict[str, Any] = {"beta": self.alpha, "d": self.d, "margin": self.margin, "moment": self.moment}
        return exponents.table_i(self.task, self.model, **known)

    def exponent(self) -> float:
        """Exponent that the theorem states along the axis: of the term that privacy adds, where there is one."""
        power = 2.0 if self.axis == "epsilon" else 1.0
        if self.paper == "H":
            return power * exponents.semi_feature_exponent(self.alpha, self.d, self.hidden)
        if self.paper == "L":
            private, public = exponents.public_data_exponents(self.alpha, self.d, self.margin, self.gamma)
            # Theorem 7 (ii) is weaker where private data rule
            private *= (self.alpha + self.d) / (1 + self.d) if self.alpha_range else 1.0
            return public if self.axis == "n_public" else power * private
        if self.model in ("label_cdp", "cdp"):
            power = 1.0
        return power * (self.rate.sampling if self.model == "none" else self.rate.privacy)

    def regime(self, n: float, epsilon: float, n_public: float = 0.0) -> str:
        """Regime of the theorem's own inequality at one point."""
        if self.paper == "H":
            known: dict[str, Any] = {"alpha": self.alpha, "d": self.d, "n_protected": self.hidden}
            return exponents.semi_feature_regime(n, epsilon, **known)
        if self.paper == "L":
            shape: dict[str, Any] = {
                "alpha": self.alpha,
                "d": self.d,
                "gamma": self.gamma,
                "alpha_range": self.alpha_range,
            }
            return exponents.public_data_regime(n, n_public, epsilon, **shape)
        return exponents.label_dp_regime(self.model, n, epsilon, self.rate)


def facts_of(dataset: str, mask: str, model: str, axis: str = "n") -> Facts | None:
    """Facts of a model on a family under a mask; None where no theorem speaks of them."""
    name, (task, known), shape, given = bare_name(dataset), facts(dataset), bare_name(mask), member(mask).params
    hidden = given.get("n_protected", 1) if shape == "aligned" else 0
    if name.startswith("posterior_drift"):
        return Facts("L", axis, model, task, ALPHA, DIMENSION, margin=MARGIN, gamma=known["gamma"])
    local = model in ("semi_feature_ldp", "label_ldp", "ldp")
    if name.startswith("sine_sum"):
        return Facts("H", axis, model, d=5, hidden=5 if model == "ldp" else hidden) if local else None
    if model == "semi_feature_ldp":
        fits = task == "regression" and shape in ("aligned", "label_only")
        return Facts("H", axis, model, alpha=known["beta"], d=known["d"], hidden=hidden) if fits else None
    shared = {key: known[key] for key in ("d", "margin", "moment")}
    return Facts("Z", axis, model, task, known["beta"], **shared)


def points_of(line: Curve, axis: str) -> Iterator[tuple[float, float, float]]:
    """Rows, budget and public rows at each place of a curve; a method that reads no public label counts none."""
    known, public = facts(line.dataset)[1], 0.0
    rows = float(known.get("n_private", known.get("n", 0)))
    for x in line.x.tolist():
        epsilon = float(x) if axis == "epsilon" else line.epsilon
        if axis == "n_public":
            public = float(x)
        elif "prune" in line.base:
            public = float(known["n_public"])
        yield float(x) if axis == "n" else rows, epsilon, public


def longest(places: np.ndarray) -> np.ndarray:
    """The longest run of true places, the last of equals."""
    runs = np.split(np.arange(len(places)), np.flatnonzero(np.diff(places)) + 1)
    best = max((run for run in runs if places[run[0]]), key=lambda run: (len(run), run[0]), default=runs[0][:0])
    return np.isin(np.arange(len(places)), best)


def resolved(line: Curve, constant: Curve, table: pd.DataFrame, experiment: Experiment) -> np.ndarray:
    """Places where a method resolves the function, by one rule for all methods.

    Its excess lies below half of the best constant's, depth and bins of its best grid point lie strictly inside their
    grids, and the excess is above its own noise.
    """
    grids = [g.grid for g in experiment.groups if g.panel == line.panel and line.method in g.method]
    rows = table[table["selection"] == "oracle"]
    for key in ("panel", "dataset", "mask", "method", "epsilon"):
        rows = rows[rows[key] == getattr(line, key)] if getattr(line, key) == getattr(line, key) else rows
    chosen = [json.loads(p) for p in rows.sort_values("x")["params"]]
    ends = {k: (min(v), max(v)) for grid in grids for k, v in grid.items() if k in ("depth", "bins") and len(v) > 1}
    inside = [all(ends[k][0] < point[k] < ends[k][1] for k in ends if k in point) for point in chosen]
    return np.array(inside) & (line.mean <= RESOLVED * constant.mean[-1]) & (line.mean > NOISE * line.se)


@dataclass(frozen=True)
class Row:
    """Theorem on trial in one case: its statement, what is measured, and what decides."""

    theorem: str  # H-T1
    source: str  # where it stands in the paper
    states: str
    judged: str  # what is compared
    expected: float  # the theorem's value
    neighbors: tuple[float, float] = (-math.inf, math.inf)  # the nearest other statements, below and above
    found: float = math.nan
    error: float = math.nan  # standard error
    freedom: float = math.inf
    kind: str = "dependence"  # order: of a computed floor; exact: a number or a share that can fail
    regime: str = ""
    over: str = ""  # places
    unjudged: str = ""  # the reason
    slopes: str = ""  # levels beside the difference
    remark: str = ""
    legs: tuple[tuple[float, Facts, Curve], ...] = field(default=(), repr=False)  # sign, facts, judged places

    @property
    def reach(self) -> float:
        """Half width of the interval."""
        return float(scipy.stats.t.ppf((1 + LEVEL) / 2, self.freedom)) * self.error if self.error > 0 else 0.0

    def trials(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the intervals of simulated trials in which the theorem is true.

        A parametric bootstrap: log mean curves with the covariance of the pairs, on the theorem's lines. The difference
        is linear in them, so that its own normal law is drawn. It leaves out the misfit at finite n.
        """
        rng = Streams(0).generator("trials", draws=TRIALS_DRAWN)
        center = self.expected + self.error * rng.standard_normal(TRIALS_DRAWN)
        scale: Any = 1.0
        if math.isfinite(self.freedom):
            scale = np.sqrt(rng.chisquare(self.freedom, TRIALS_DRAWN) / self.freedom)
        return center - self.reach * scale, center + self.reach * scale

    def rejects(self, value: float) -> float:
        """Share of simulated trials in which another statement's value lies outside the interval."""
        low, high = self.trials()
        return float(np.mean((low > value) | (high < value)))

    @cached_property
    def power(self) -> float:
        """Share of simulated trials that reject the nearest neighbor."""
        return min(self.rejects(value) for value in self.neighbors)

    @property
    def word(self) -> str:
        """Outcome of the trial, from the interval beside the nearest other statements and the power to tell them."""
        low, high = self.found - self.reach, self.found + self.reach
        if self.unjudged:
            return NOT_JUDGED
        if self.kind == "exact":
            return FAILS if high < self.neighbors[0] or low > self.neighbors[1] else HOLDS
        if self.kind == "order":
            return level(self.found, self.expected)
        if high < self.neighbors[0]:
            return OPPOSITE
        if self.power < POWER:
            return CANNOT
        return SEEN if self.neighbors[0] < low and high < self.neighbors[1] else NOT_SEEN


def level(slope: float, stated: float) -> str:
    """Word that describes a slope beside the stated exponent."""
    return STATED if abs(slope - stated) <= NEAR else FASTER if slope > stated else SLOWER


def exact(
    theorem: str, source: str, states: str, judged: str, allowed: tuple[float, float], value: float, remark: str
) -> Row:
    """A row of a number that is computed without error, and the ends of what the statement allows."""
    return Row(theorem, source, states, judged, allowed[1], allowed, value, 0.0, kind="exact", remark=remark)


@dataclass(frozen=True)
class Case:
    """A difference of exponents: panels with their signs, and what the nearest other statements make of it.

    ``neighbors`` None: no dependence (0), and twice the dependence. ``reach`` off: the curves need not resolve the
    function, since what is judged is that they fall at all.
    """

    theorem: str
    source: str
    states: str
    judged: str
    legs: tuple[tuple[str, float], ...]
    neighbors: tuple[float, float] | None = None
    resolves: bool = True


def trial(case: Case, lines: Sequence[Curve], table: pd.DataFrame, experiment: Experiment) -> Row:
    """Judge one difference of exponents on the places that are resolved and inside the theorem's range."""
    legs, why, slopes, over, regimes = [], [], [], [], set()
    for panel, sign in case.legs:
        line = next((c for c in lines if c.panel == panel), None)
        if line is None:
            raise NotRunError(f"{experiment.name} has no panel {panel}")
        axis = axis_of(line)
        stated = facts_of(line.dataset, line.mask, catalogue.method(line.base).privacy or "none", axis)
        assert stated is not None
        if case.source == "Th. 7":
            stated = replace(stated, alpha_range=1.0)
        constant = next(c for c in lines if c.panel == "constants" and family(c) == family(line))
        points = list(points_of(line, axis))
        regime = np.array([stated.regime(*point) for point in points])
        clear = resolved(line, constant, table, experiment) if case.resolves else np.ones(len(line.x), dtype=bool)
        places = longest(clear & (regime != exponents.OUTSIDE))
        if places.sum() < FEWEST:
            why.append(f"{panel}: {clear.sum()} of {len(clear)} places resolved, {sum(regime != 'outside')} in range")
            continue
        judged = line.between(line.x[places].min(), line.x[places].max())
        slope, e = -float(loglog_slope(judged.x, judged.mean)), stated.exponent()
        legs.append((sign, stated, judged))
        regimes.update(regime[places])
        slopes.append(f"{slope:.2f} ({e:.2f}, {level(slope, e)})")
        over.append(f"{axis} = {judged.x[0]:g} to {judged.x[-1]:g}")
    if why:
        expected = math.nan
        return Row(case.theorem, case.source, case.states, case.judged, expected, unjudged="; ".join(why))
    expected = sum(sign * stated.exponent() for sign, stated, _ in legs)
    means = [bootstrap_means(line.samples) for *_, line in legs]
    drawn = sum(-sign * loglog_slope(line.x, mean) for (sign, _, line), mean in zip(legs, means, strict=True))
    found = sum(-sign * float(loglog_slope(line.x, line.mean)) for sign, _, line in legs)
    count = min(len(line.samples) for *_, line in legs)
    return Row(
        case.theorem,
        case.source,
        case.states,
        case.judged,
        expected,
        case.neighbors or (0.0, 2.0 * expected),
        found,
        float(np.std(drawn)) * math.sqrt(count / (count - 1)),
        count - 1,
        regime=", ".join(sorted(regimes)),
        over="; ".join(dict.fromkeys(over)),
        slopes=" − ".join(slopes),
        legs=tuple(legs),
    )


def axis_of(line: Curve) -> str:
    """Name the axis of a curve: private rows, public rows or the budget."""
    if math.isnan(line.epsilon):
        return "epsilon"
    return "n_public" if "public" in line.panel else "n"


def family(line: Curve) -> tuple[Any, ...]:
    """Facts that fix the best constant's excess: the distribution of the test rows."""
    task, known = facts(line.dataset)
    return task, bare_name(line.dataset), *(known.get(key) for key in ("beta", "d", "margin", "moment", "scale"))


def judged(results: Evidence, experiment: Experiment) -> Iterator[Row]:
    """Rows of an experiment's cases, and of its lower bounds."""
    lines, table = results.curves(experiment.name), results.summary(experiment.name)
    for case in CASES[experiment.name.rpartition("/")[2]]:
        yield trial(case, lines, table, experiment)
    panels = [(c.panel, c.dataset, c.epsilon) for c in lines if c.panel.startswith("floor")]
    for place in dict.fromkeys(panels):
        tried = [c for c in lines if (c.panel, c.dataset, c.epsilon) == place]
        for model in ("label_ldp", "label_cdp"):
            central = {c.method: catalogue.method(c.base).privacy in ("label_cdp", "cdp") for c in tried}
            mine = [c for c in tried if central[c.method] == (model == "label_cdp")]
            if mine:
                yield floor_row(model, mine)


UPPER = "(n ε² / log n)^(−2α / (2α + d + s*))"
LPCT_ORDER = "(n_P ε² + n_Q^((2α + 2d) / (2γα + d)))^(−α(β + 1) / (2α + 2d)), but for logarithms"
PRUNED = "LPCT-prune: (i) δ^(α(β + 1) / d) where Q dominates; (ii) to the power (α + d) / (1 + d) where P does"
CLASSES = "(N (ε² ∧ 1) / ln K)^(−β(γ + 1) / (2β + d))"
CENTRAL = "N^(−β(γ + 1) / (2β + d)) + (ε N)^(−β(γ + 1) / (β + d))"
NUMBERS = "(N (ε² ∧ 1))^(−2β / (2β + d))"
CENTRAL_NUMBERS = "N^(−2β / (2β + d)) + (ε N)^(−2β / (β + d))"
TAILS = "(N ε²)^(−2β(p − 1) / (2pβ + d(p − 1))) + N^(−2β / (2β + d))"
CENTRAL_TAILS = "N^(−2β / (2β + d)) + (ε N)^(−2β(p − 1) / (pβ + d(p − 1)))"


def against(theorem: str, source: str, states: str, judged: str, first: str, second: str, **known: Any) -> Case:
    """Exponent of the first panel less that of the second."""
    return Case(theorem, source, states, judged, ((first, 1.0), (second, -1.0)), **known)


#: Leaf of an experiment -> its cases. Panels are those of conf/experiment/theory.
CASES: dict[str, tuple[Case, ...]] = {
    "histoftree": (
        against("H-T1", "Th. 4.2, Cor. 4.4", UPPER, "s*: 0 against 1, d = 1, α = 1", "s0", "s1"),
        against("H-T1", "Th. 4.2, Cor. 4.4", UPPER, "α: 1 against ½, s* = d = 1", "s1", "rough"),
        against("H-T1", "Th. 4.2, Cor. 4.4", UPPER, "d: 1 against 2, s* = 0, α = 1", "s0", "s0_d2"),
        against("H-T1", "Th. 4.2, Cor. 4.4", UPPER, "ε² beside n, s* = d = 1, α = 1", "s1_budget", "s1"),
    ),
    "lpct": (
        against("L-T1", "Th. 3, 4", LPCT_ORDER, "γ: ½ against 2, over n_Q", "public_05", "public_2"),
        against("L-T1", "Th. 3, 4", LPCT_ORDER, "γ: ½ against 5, over n_Q", "public_05", "public_5"),
        against("L-T1", "Th. 3, 4", LPCT_ORDER, "n_Q (γ = ½) against n_P", "public_05", "private"),
        against("L-T1", "Th. 3, 4", LPCT_ORDER, "ε² beside n_P", "private_budget", "private"),
        Case("L-T5", "Th. 7", PRUNED, "it falls with n_Q, where Q dominates", (("prune_public", 1.0),), resolves=False),
        Case("L-T5", "Th. 7", PRUNED, "it falls with n_P, where P dominates", (("prune_p", 1.0),)),
    ),
    "label_dp": (
        against("Z-T1", "Th. 2, Table I", CLASSES, "label LDP against full LDP", "votes", "votes_full"),
        against("Z-T1", "Th. 2", CLASSES, "d: 1 against 2", "votes", "votes_d2"),
        against("Z-T1", "Th. 2", CLASSES, "β: 1 against ½", "votes_smooth", "votes"),
        against("Z-T1", "Th. 2", CLASSES, "γ: 2 against 1", "votes_margin", "votes"),
        against("Z-T2", "Th. 4", CENTRAL, "label CDP against label LDP", "votes_central", "votes"),
        against("Z-T3", "Th. 6, Table I", NUMBERS, "label LDP against full LDP", "means", "means_full"),
        against("Z-T3", "Th. 6", NUMBERS, "d: 1 against 2", "means", "means_d2"),
        against("Z-T3", "Th. 6", NUMBERS, "β: 1 against ½", "means_smooth", "means"),
        against("Z-T3", "Th. 6", NUMBERS, "ε² beside N", "means_budget", "means"),
        against("Z-T4", "Th. 8", CENTRAL_NUMBERS, "label CDP against label LDP", "means_central", "means"),
        against(
            *("Z-T4", "Th. 8", CENTRAL_NUMBERS, "ε as N", "central_budget", "means_central"),
            neighbors=(-2 / 3, 2 / 3),
        ),
        against("Z-T5", "Th. 10", TAILS, "p: 16 against 2", "tails_16", "tails_2"),
        against("Z-T5", "Th. 10", TAILS, "p: 4 against 2", "tails_4", "tails_2"),
        against(
            *("Z-T6", "Th. 12", CENTRAL_TAILS, "p = 2: as without privacy, a constant factor apart"),
            *("tails_central", "tails_plain"),
            neighbors=(-0.1, 0.1),
        ),
        against(
            "Z-T7", "Th. 13", CENTRAL, "full CDP as label CDP", "votes_cdp", "votes_central", neighbors=(-1 / 6, 1 / 6)
        ),
        against(
            "Z-T8",
            "Th. 14",
            CENTRAL_NUMBERS,
            "full CDP as label CDP",
            "means_cdp",
            "means_central",
            neighbors=(-1 / 6, 1 / 6),
        ),
    ),
}


def coverage_rows(seed: int) -> Iterator[Row]:
    """L-T4: how often a node's estimate leaves r_k at λ = 1, by (14) with the proof's constant and by Algorithm 2."""
    n_p, n_q, epsilon, depth, draws = 90, 10, 1.0, 3, 40_000
    rng = Streams(seed).generator("coverage of r_k")
    leaves, log_n, eta = 2**depth, math.log(n_p + n_q), 0.7
    private, public = (rng.multinomial(n, np.full(leaves, 1 / leaves), draws) for n in (n_p, n_q))
    spread = rng.standard_gamma(n_p, (2, 2, draws, leaves))
    noise = (4 / epsilon) * (spread[0] - spread[1])
    ones, ones_q = rng.binomial(private, eta), rng.binomial(public, eta)
    outside = np.zeros((2, draws), dtype=bool)
    for k in range(1, depth + 1):
        sums = (private + noise[0], ones + noise[1], public, ones_q)
        u, v, u_q, v_q = (votes.reshape(draws, 2**k, -1).sum(axis=2) for votes in sums)
        level = 2.0 ** (depth - k + 3) * n_p / epsilon**2
        both, noisy = np.abs(v + v_q - eta * (u + u_q)), level >= u
        outside[0] |= (both > np.sqrt((32 * np.maximum(level, u) + 8 * u_q) * log_n)).any(axis=1)
        # Algorithm 2 looks at P alone where the noise switch is on
        far, square = np.where(noisy, np.abs(v - eta * u), both), np.where(noisy, 4 * level, 32 * u + 4 * u_q)
        outside[1] |= (far > np.sqrt(square * log_n)).any(axis=1)
    bound = 3 / (n_p + n_q) ** 2
    for name, count in zip(("(14), C₁ = 8 log n", "Algorithm 2"), outside.sum(axis=1).tolist(), strict=True):
        low, high = scipy.stats.beta.ppf([0.025, 0.975], [count, count + 1], [draws - count + 1, draws - count])
        yield Row(
            "L-T4",
            "Prop. 6",
            "|η̃ − E η̂| > r_k with probability 3 / (n_P + n_Q)²",
            f"share outside, {name}",
            bound,
            (0.0, bound),
            count / draws,
            float(high - low) / 4 if count else 1e-9,
            kind="exact",
            over=f"n_P = {n_p}, n_Q = {n_q}, ε = {epsilon:g}, depth {depth}, {draws} draws",
        )


#: Method -> theorem, section, messages, what its paper says of a report, and the order of growing its tree.
COSTS = {
    "histoftree_max_edge": ("H-T5", "A.2", 2, "d + 1 reals, then t^s 2^p bools", "O(p n d)"),
    "lpct_max_edge": ("L-T5", "§4.2", 1, "2^p pairs of reals", "O(p n_Q d)"),
    "lpct_prune_max_edge[terminate=true]": ("L-T5", "§5.2", 2, "2^p pairs of reals", ""),
}


def labels_read(n: int, d: int, depth: int) -> float:
    """Labels that the candidate cuts of a max-edge tree read on uniform rows, of which no two are alike."""
    from lpbench.partitions import grow_max_edge

    rng = Streams(0).generator("rows of a tree", n=n, d=d)
    tree = grow_max_edge(rng.random((n, d)), rng.random(n), depth)
    inner = tree.feature >= 0
    # the longest edges of a cell: of d features in turn, those that this round has not cut
    return float(tree.n_samples[inner] @ (d - tree.depth[inner] % d))


def cost_rows(letter: str) -> Iterator[Row]:
    """H-T5, L-T5: messages and bits of a user in the audit's sample, and the labels that growing a tree reads."""
    from lpbench.audit.recorded import recorded_run
    from lpbench.audit.table import estimator_of

    settings = {
        "n": [(2000, 10, 6), (8000, 10, 6)],
        "d": [(4000, 8, 6), (4000, 32, 6)],
        "p": [(4000, 10, 2), (4000, 10, 8)],
    }
    powers, most_read = [], 0.0
    for name, pair in settings.items():
        work, whole = ([f(*place) for place in pair] for f in (labels_read, lambda *place: math.prod(place)))
        powers.append(f"{name}^{math.log(work[1] / work[0]) / math.log(whole[1] / whole[0]):.2f}")
        most_read = max(most_read, work[0] / whole[0], work[1] / whole[1])
    for method, (theorem, source, most, says, order) in COSTS.items():
        if not theorem.startswith(letter):
            continue
        run, title = recorded_run(estimator_of(method), 1.0).randomizer, catalogue.method(method).title
        bits = f"counted: {run.bits_up:g} bits in the audit's sample"
        counted = [("messages", f"{most} messages a user: {says}", most, float(len(run.messages)), bits)]
        if order:
            counted += [("labels read to grow a tree, over p n d", order, 1, most_read, "as " + ", ".join(powers))]
        for what, states, bound, count, remark in counted:
            yield exact(theorem, source, states, f"{title}: {what}", (0.0, bound), count, remark)


def mask_rows() -> Iterator[Row]:
    """H-T3: what V tells of W, exact."""
    from lpbench.estimators.histoftree.user_cells import UserLeaves
    from lpbench.partitions import SampleGroups, grow_max_edge

    masks = np.array(list(itertools.product([False, True], repeat=3)))
    tree = grow_max_edge(np.empty((0, 3)), np.empty(0), 1, rule="random", rng=Streams(0).generator("tree"))
    X = np.full(masks.shape, 0.25)
    (leaves,) = UserLeaves.at_depths([tree], [1], X, masks, SampleGroups.singletons(len(masks)))
    told = float(np.mean((leaves.choices > 1) == masks[:, tree.feature[0]]))
    yield exact(
        "H-T3",
        "§3.4 (ii)",
        "random cuts eliminate the risk of W",
        "W at a cut feature, read off V (the compatible cells)",
        (0.0, 0.5),
        told,
        "share of users; all masks of 3 features, random cuts; a guess is right in 0.5",
    )


def greatest_floor(n: int, epsilon: float, *, letter: str, n_public: int = 0) -> float:
    """Largest two-point value over widths: of H's sign cubes (d = 2, s* = alpha = 1) or L's balls (d = gamma = 1).

    L's balls of width r hold a share r^(alpha beta) of the mass; alpha = beta = 1 here. Public rows have the signal
    h^gamma, and a row lies in a ball with chance r.
    """
    values = []
    for bins in 2.0 ** np.arange(0, 4, 0.25):  # widths need not be whole for the value
        height, share = 0.5 / bins, 1.0 / bins
        known = {"n": n, "epsilon": epsilon, "height": height, "share": share}
        if letter == "H":
            values.append(two_point("label_ldp", classes=False, cubes=bins, **known))
        else:
            values.append(share * two_point("label_ldp", classes=True, cubes=1, public=(n_public, height), **known))
    return max(values)


def order_rows(letter: str) -> Iterator[Row]:
    """H-L1, L-L1: the order of the exact floors in n and in the budget beside the theorem's."""
    sizes, budgets = np.array([512, 4096]), np.array([0.25, 0.5])
    over_n = [greatest_floor(int(n), 1.0, letter=letter) for n in sizes]
    over_budget = [greatest_floor(4096, float(e), letter=letter) for e in budgets]
    cases = [("n", sizes, over_n, 1.0), ("e^ε − 1", np.expm1(budgets), over_budget, 2.0)]
    if letter == "L":
        publics = np.array([64, 256])
        cases.append(("n_Q", publics, [greatest_floor(1, 0.5, letter="L", n_public=int(n)) for n in publics], 1.5))
    source, e = {"H": ("Th. 4.2", 2 / 5), "L": ("Th. 3", 1 / 2)}[letter]
    states = "(n(e^ε − 1)²)^(−2α / (2α + d + s*))" if letter == "H" else LPCT_ORDER
    for axis, x, values, power in cases:
        # d = 1, alpha = beta = gamma = 1: over n_Q 2 / 3
        stated = 2 / 3 if axis == "n_Q" else power * e
        found = -float(loglog_slope(x, np.array(values)))
        over, known = f"{axis} = {x[0]:g} to {x[-1]:g}", "two-point values, without simulation"
        yield Row(
            f"{letter}-L1",
            source,
            states,
            f"order of the least risk in {axis}",
            stated,
            found=found,
            kind="order",
            over=over,
            remark=known,
        )


#: Model and task of a floor -> its lower bound.
LOWER = {
    ("label_ldp", "classification"): ("Z-L1", "Th. 1"),
    ("label_cdp", "classification"): ("Z-L2", "Th. 3"),
    ("label_ldp", "regression"): ("Z-L3", "Th. 5"),
    ("label_cdp", "regression"): ("Z-L4", "Th. 7"),
    ("label_ldp", "heavy"): ("Z-L5", "Th. 9"),
    ("label_cdp", "heavy"): ("Z-L6", "Th. 11"),
}


def floor_row(model: str, tried: Sequence[Curve]) -> Row:
    """The lowest of the methods against the bound: its mean over replications, each with signs of its own."""
    (task, known), n, epsilon = facts(tried[0].dataset), int(tried[0].x[-1]), tried[0].epsilon
    bins, height = sign_cubes(known | {"n": n})
    shape = {"model": model, "classes": task == "classification", "n": n, "cubes": bins ** known["d"]}
    shape |= {"height": height, "moment": known["moment"]}
    floor = two_point(epsilon=epsilon, **shape)
    values = [c.samples[:, -1] / floor for c in tried]
    errors = [v.std(ddof=1) / len(v) ** 0.5 + 1e-12 for v in values]
    lowest = int(np.argmin([(v.mean() - 1) / e for v, e in zip(values, errors, strict=True)]))
    leak = least_leak(len(values[lowest]) * shape["cubes"], epsilon, **shape)
    freedom = len(values[lowest]) - 1
    # Bonferroni: an interval at 95 % that holds for the lowest of all tried
    wide = scipy.stats.t.isf(0.025 / len(tried), freedom) / scipy.stats.t.isf(0.025, freedom)
    seen = f"an optimal method that spends {leak:.2f} would be seen" if leak < 64 else "more would not be seen"
    return Row(
        *LOWER[model, "heavy" if known["moment"] else task],
        "no method's mean over hypotheses lies below the two-point value",
        f"lowest of {len(tried)} methods over the two-point value, ε = {epsilon:g}",
        1.0,
        (1.0, math.inf),
        float(values[lowest].mean()),
        float(errors[lowest] * wide),
        freedom,
        kind="exact",
        over=f"n = {n}",
        remark=f"floor {floor:.3g}, lowest {tried[lowest].base}; {seen}",
    )


#: Leaf of an experiment -> rows that need no curve.
COMPUTED: dict[str, Callable[[], Iterator[Row]]] = {
    "histoftree": lambda: itertools.chain(order_rows("H"), mask_rows(), cost_rows("H")),
    "lpct": lambda: itertools.chain(order_rows("L"), coverage_rows(0), cost_rows("L")),
    "label_dp": lambda: iter(()),
}


def tabulate(rows: Sequence[Row]) -> pd.DataFrame:
    """One line a row with its outcome, lower bounds after upper ones."""
    found = []
    for row in sorted(rows, key=lambda row: (row.theorem[2] == "L", row.theorem)):
        names = ("theorem", "source", "states", "judged", "kind", "regime", "over", "expected")
        found.append(
            {
                **{name: getattr(row, name) for name in names},
                "below": row.neighbors[0],
                "above": row.neighbors[1],
                "ours": row.found,
                "low": row.found - row.reach,
                "high": row.found + row.reach,
                "power": row.power if row.kind == "dependence" and not row.unjudged else math.nan,
                "outcome": row.word,
                "slopes": row.slopes,
                "remark": row.unjudged or row.remark,
            }
        )
    return pd.DataFrame(found)
