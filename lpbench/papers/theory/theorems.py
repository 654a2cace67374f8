"""Theorems on trial: one row per case, with the rule that decides it.

A theorem states an order in the effective sample. What a run can show is *dependence*: how the exponent of the excess
risk moves with s*, d, beta, gamma, the moment, the model or the budget. Such a difference of exponents is paired over
replications, which share their random numbers, and is held against the theorem's and against its nearest neighbors:
the same statement without the dependence, and with it counted twice. Places outside the theorem's own inequality, and
those where a method does not resolve the function, are never judged. Only exact statements can fail.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy

from lpbench.analysis import exponents
from lpbench.analysis.curves import Curve
from lpbench.analysis.rates import LEVEL, bootstrap_means, loglog_slope
from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment
from lpbench.members import bare_name, member
from lpbench.papers.label_dp.rates import facts
from lpbench.seeds import Streams

SEEN, OPPOSITE, NOT_SEEN, CANNOT = "seen", "opposite here", "not seen", "cannot decide"
NOT_JUDGED, BOUND_HOLDS, BOUND_FAILS = "not judged", "holds", "fails"
SLOWER, STATED, FASTER = "slower here", "as stated", "faster here"
#: Symbols of the axes along which an excess risk falls.
AXES = {"n": "n", "n_public": "n_Q", "epsilon": "ε", "classes": "K"}
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
LPCT_ORDER = "(n_P ε² + n_Q^((2α + 2d) / (2γα + d)))^(−α(β + 1) / (2α + 2d)), up to logarithms"


@dataclass(frozen=True)
class Facts:
    """Public constants that a theorem's statement takes, and the axis along which an excess risk falls.

    ``paper`` is H, L or Z (HistOfTree, LPCT, label DP); ``axis`` is n, n_public, epsilon or classes; ``alpha`` the
    Hölder exponent, ``d`` and ``hidden`` the numbers of features and of protected ones, ``margin`` and ``gamma`` the
    constants of the classification problem.
    """

    paper: str  # H, L or Z
    axis: str  # n, n_public, epsilon or classes
    model: str = "ldp"
    task: str = "regression"
    alpha: float = 1.0  # Hölder exponent; beta in label DP
    d: int = 1
    hidden: int = 0  # s*
    margin: float = 1.0
    moment: float | None = None
    gamma: float = 0.5  # relative signal of public labels
    alpha_range: float = 0.0  # of Theorem 7's range
    spread: float = 0.0  # power of K in the variance of a report: 1 for plain randomized response

    @property
    def rate(self) -> exponents.Rate:
        """Exponents of sampling and of privacy that the third paper states for these constants."""
        return exponents.table_i(
            self.task, self.model, beta=self.alpha, d=self.d, margin=self.margin, moment=self.moment
        )

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
        if self.axis == "classes":
            power = -self.spread
        return power * (self.rate.sampling if self.model == "none" else self.rate.privacy)

    def regime(self, n: float, epsilon: float, n_public: float = 0.0) -> str:
        """Regime of the theorem's own inequality at one point."""
        if self.paper == "H":
            return exponents.semi_feature_regime(n, epsilon, alpha=self.alpha, d=self.d, n_protected=self.hidden)
        if self.paper == "L":
            return exponents.public_data_regime(
                *(n, n_public, epsilon), alpha=self.alpha, d=self.d, gamma=self.gamma, alpha_range=self.alpha_range
            )
        return exponents.label_dp_regime(self.model, n, epsilon, self.rate)


def facts_of(dataset: str, mask: str, model: str, axis: str = "n") -> Facts | None:
    """Facts of a model on a family under a mask; None where no theorem speaks of them."""
    name, (task, of_data), shape, given = bare_name(dataset), facts(dataset), bare_name(mask), member(mask).params
    hidden = given.get("n_protected", 1) if shape == "aligned" else 0
    if name.startswith("posterior_drift"):
        return Facts("L", axis, model, task, ALPHA, DIMENSION, margin=MARGIN, gamma=of_data["gamma"])
    local = model in ("semi_feature_ldp", "label_ldp", "ldp")
    if name.startswith("sine_sum"):
        return Facts("H", axis, model, d=5, hidden=5 if model == "ldp" else hidden) if local else None
    if model == "semi_feature_ldp" and (task, shape) == ("classification", "label_only"):
        model = "label_ldp"
    if model == "semi_feature_ldp":
        fits = task == "regression" and shape in ("aligned", "label_only")
        return Facts("H", axis, model, alpha=of_data["beta"], d=of_data["d"], hidden=hidden) if fits else None
    shared = {key: of_data[key] for key in ("d", "margin", "moment")}
    return Facts("Z", axis, model, task, of_data["beta"], **shared)


def points_of(line: Curve, axis: str) -> Iterator[tuple[float, float, float]]:
    """Yield private rows, budget and public rows at each point of a curve.

    A method that reads no public label has 0 public rows.
    """
    of_data, public = facts(line.dataset)[1], 0.0
    rows = float(of_data.get("n_private", of_data.get("n", 0)))
    for x in line.x.tolist():
        epsilon = float(x) if axis == "epsilon" else line.epsilon
        if axis == "n_public":
            public = float(x)
        elif "prune" in line.base:
            public = float(of_data["n_public"])
        yield float(x) if axis == "n" else rows, epsilon, public


def longest(places: np.ndarray) -> np.ndarray:
    """Mask of the longest run of True in a boolean array; of equally long runs the last one."""
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
    for key in ("panel", "dataset", "mask", "method"):  # a panel has one budget, or its axis is the budget
        rows = rows[rows[key] == getattr(line, key)]
    chosen = [json.loads(p) for p in rows.sort_values("x")["params"]]
    ends = {k: (min(v), max(v)) for grid in grids for k, v in grid.items() if k in ("depth", "bins") and len(v) > 1}
    inside = [all(ends[k][0] < point[k] < ends[k][1] for k in ends if k in point) for point in chosen]
    # a method whose users choose has no best grid point
    resolves = (line.mean <= RESOLVED * constant.mean[-1]) & (line.mean > NOISE * line.se)
    return np.array(inside or [not ends] * len(line.x)) & resolves


@dataclass(frozen=True)
class Row:
    """One theorem in one case: its statement, our estimate with its error, and the quantities that decide.

    ``expected`` is the theorem's value, ``neighbors`` the nearest other statements below and above it, ``found`` and
    ``error`` our estimate and its standard error on ``freedom`` degrees, and ``unjudged`` a reason for no verdict.
    """

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
        """Half width of the estimate's 95 % interval."""
        return float(scipy.stats.t.ppf((1 + LEVEL) / 2, self.freedom)) * self.error if self.error > 0 else 0.0

    def trials(self, center: float, error: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the intervals of simulated trials around a center.

        A parametric bootstrap: log mean curves with the covariance of the pairs. The difference is linear in them, so
        that its own normal law is drawn.
        """
        rng = Streams(0).generator("trials", draws=TRIALS_DRAWN)
        drawn = center + error * rng.standard_normal(TRIALS_DRAWN)
        scale: Any = 1.0
        if math.isfinite(self.freedom):
            scale = np.sqrt(rng.chisquare(self.freedom, TRIALS_DRAWN) / self.freedom)
        return drawn - self.reach * scale, drawn + self.reach * scale

    def rejects(self, value: float) -> float:
        """Share of trials in which another statement's value lies outside the interval, the theorem being true."""
        low, high = self.trials(self.expected, self.error)
        return float(np.mean((low > value) | (high < value)))

    def repeats(self) -> float:
        """Share of simulated fresh runs that reach this run's conclusion about the theorem.

        A fresh run has the same finite-sample bias, and varies around this run's value with twice the variance.
        """
        trials = self.side(*self.trials(self.found, self.error * math.sqrt(2.0)))
        return float(np.mean((trials == 1) == (self.side(self.found - self.reach, self.found + self.reach) == 1)))

    def side(self, low: Any, high: Any) -> Any:
        """Position of intervals relative to the nearest other statements: -1 below them, 1 between them, else 0."""
        below, above = self.neighbors
        return np.where(high < below, -1, (below < low) & (high < above))

    @cached_property
    def power(self) -> float:
        """The smaller of two shares of simulated trials.

        Of trials in which the theorem is true exactly, those that reject the nearest neighbor; of trials that repeat
        this run with fresh numbers, misfit at finite n included, those that see it, or do not, as this run.
        """
        return min(*(self.rejects(value) for value in self.neighbors), self.repeats())

    @property
    def word(self) -> str:
        """Outcome of the trial, from the interval beside the nearest other statements and the power to tell them."""
        low, high = self.found - self.reach, self.found + self.reach
        if self.unjudged:
            return NOT_JUDGED
        if self.kind == "exact":
            return BOUND_FAILS if high < self.neighbors[0] or low > self.neighbors[1] else BOUND_HOLDS
        if self.kind == "order":
            return level(self.found, self.expected)
        side = int(self.side(low, high))
        return OPPOSITE if side < 0 else CANNOT if self.power < POWER else SEEN if side else NOT_SEEN


def level(slope: float, stated: float) -> str:
    """Describe a slope beside the exponent that a theorem states, in a word."""
    return STATED if abs(slope - stated) <= NEAR else FASTER if slope > stated else SLOWER


def exact(
    theorem: str, source: str, states: str, judged: str, allowed: tuple[float, float], value: float, remark: str
) -> Row:
    """A row of a number that is computed without error, and the ends of what the statement allows."""
    return Row(theorem, source, states, judged, allowed[1], allowed, value, 0.0, kind="exact", remark=remark)


@dataclass(frozen=True)
class Case:
    """Difference of two panels' exponents that a theorem states, and the nearest other statements to tell it from.

    The panels are ``first`` and ``second`` (empty: the exponent of one). The other statements are no dependence (0) and
    twice the dependence; with a ``width``, that much more or less than none. ``resolves`` off: the curve need not
    resolve the function, since what is judged is that it falls at all.
    """

    theorem: str
    source: str
    states: str
    judged: str
    first: str
    second: str = ""
    width: float = 0.0
    resolves: bool = True


def trial(case: Case, lines: Sequence[Curve], table: pd.DataFrame, experiment: Experiment) -> Row:
    """Judge one difference of exponents on the places that are resolved and inside the theorem's range."""
    legs, why, slopes, over, regimes = [], [], [], [], set()
    statement = case.theorem, case.source, case.states, case.judged
    sides = ((case.first, "first: " * bool(case.second), 1.0), (case.second, "second: ", -1.0))
    for panel, side, sign in sides[: 1 + bool(case.second)]:
        line = next((c for c in lines if c.panel == panel), None)
        if line is None:
            why.append(f"{side}not run")
            continue
        axis = axis_of(line)
        stated = facts_of(line.dataset, line.mask, catalog.method(line.base).privacy or "none", axis)
        assert stated is not None
        if case.source == "Th. 7":
            stated = replace(stated, alpha_range=1.0)
        stated = replace(stated, spread=float(line.parameter("mechanism") == "krr"))
        constant = next(c for c in lines if c.panel == "constants" and family(c) == family(line))
        points = list(points_of(line, axis))
        regime = np.array([stated.regime(*point) for point in points])
        clear = resolved(line, constant, table, experiment) if case.resolves else np.ones(len(line.x), dtype=bool)
        places = longest(clear & (regime != exponents.OUTSIDE_RANGE))
        if places.sum() < FEWEST:
            why.append(
                f"{side}{clear.sum()} of {len(clear)} points are resolved, {sum(regime != 'outside')} are in range"
            )
            continue
        judged = line.between(line.x[places].min(), line.x[places].max())
        slope, e = -float(loglog_slope(judged.x, judged.mean)), stated.exponent()
        legs.append((sign, stated, judged))
        regimes.update(regime[places])
        slopes.append(f"{round(slope, 2) + 0.0:.2f} (theorem {e + 0.0:.2f}, {level(slope, e)})")
        over.append(f"{AXES[axis]} = {judged.x[0]:,.7g} to {judged.x[-1]:,.7g}")
    if why:
        return Row(*statement, math.nan, unjudged="; ".join(why))
    expected = sum(sign * stated.exponent() for sign, stated, _ in legs)
    means = [bootstrap_means(line.samples) for *_, line in legs]
    drawn = sum(-sign * loglog_slope(line.x, mean) for (sign, _, line), mean in zip(legs, means, strict=True))
    difference = sum(-sign * float(loglog_slope(line.x, line.mean)) for sign, _, line in legs)
    count = min(len(line.samples) for *_, line in legs)
    return Row(
        *statement,
        expected,
        (-case.width, case.width or 2.0 * expected),
        difference,
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
    if line.panel.startswith("classes"):
        return "classes"
    return "n_public" if "public" in line.panel else "n"


def family(line: Curve) -> tuple[Any, ...]:
    """Facts that fix the best constant's excess: the distribution of the test rows."""
    task, of_data = facts(line.dataset)
    return task, bare_name(line.dataset), *(of_data.get(key) for key in ("beta", "d", "margin", "moment", "pair_mass"))


def tabulate(rows: Sequence[Row]) -> pd.DataFrame:
    """One line per row with its outcome: upper bounds, lower ones, and reasons."""
    lines = []
    for row in sorted(rows, key=lambda row: ("TLE".index(row.theorem[2]), row.theorem)):
        names = ("theorem", "source", "states", "judged", "kind", "regime", "over", "expected")
        lines.append(
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
    return pd.DataFrame(lines)
