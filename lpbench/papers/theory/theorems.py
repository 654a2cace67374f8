"""Theorems on trial: a row a case, with the rule that decides it; the rules were fixed before the final run.

A theorem states an order in the effective sample. What a run can show is the exponent of the excess risk, where the
method is resolved: its best grid point is not at an end of the grid and the excess exceeds its noise; methods without a
grid lie below half of the best constant's excess. Elsewhere a row is *unresolved*, never "holds".
"""

import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy

from lpbench.analysis.curves import Curve
from lpbench.analysis.exponents import least_leak, public_data_exponents, semi_feature_exponent, two_point
from lpbench.analysis.rates import LEVEL, Interval, bootstrap, bootstrap_means, loglog_slope, slope
from lpbench.analysis.significance import holm
from lpbench.cast import bare_name, member
from lpbench.datasets import make_problem
from lpbench.datasets.label_dp import sign_cubes
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment
from lpbench.papers.label_dp.rates import MODEL_NAMES, allowed, excess, facts, is_constant, rate_on
from lpbench.reporting.evidence import Evidence
from lpbench.seeds import Streams

HOLDS, FAILS, UNDECIDED, UNRESOLVED = "holds", "fails", "undecided", "unresolved"
#: An exponent is sharp within NEAR of the theorem's, with its interval within WIDE; beyond NEAR it fails, or is faster.
NEAR, WIDE = 0.05, 0.10
#: Other powers agree within this share of the theorem's.
SHARE = 0.2
#: Methods without a grid are resolved up to this share of the best constant's excess.
RESOLVED = 0.5
#: Places on the axis that a slope needs.
FEWEST = 3
#: LPCT's simulation: Hölder exponent, dimension, margin (P(|eta - 1/2| < t) is of order t^10 but for logarithms).
ALPHA, DIMENSION, MARGIN = 0.1, 2, 10.0
NOTHING = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Row:
    theorem: str  # H-T1
    source: str  # where it stands in the paper
    case: str
    order: str  # what it states
    kind: str  # rate: a lower bound of the exponent; power: an equality; above, below; counted: without error
    expected: tuple[float, float]  # ends of what the theorem allows
    found: Interval = NOTHING
    freedom: float = math.inf  # degrees of freedom behind the interval
    over: str = ""  # the range
    unresolved: str = ""  # why, and from which n on it would not be
    remark: str = ""
    lines: tuple[Curve, ...] = ()
    resolved: tuple[bool, ...] = ()  # places of the first line
    tests: int = 1  # the smallest of how many estimates it is

    def options(self) -> list[tuple[float, str, str]]:
        """p-value (one-sided), verdict and word for each verdict that the estimate allows."""
        low, high = self.expected
        estimate = self.found.estimate
        quantile = float(scipy.stats.t.ppf((1 + LEVEL) / 2, self.freedom))
        error = max((self.found.high - self.found.low) / 2 / quantile, 1e-12)

        def above(base: float) -> float:
            return min(1.0, self.tests * float(scipy.stats.t.sf((estimate - base) / error, self.freedom)))

        def below(base: float) -> float:
            return min(1.0, self.tests * float(scipy.stats.t.cdf((estimate - base) / error, self.freedom)))

        def inside(least: float, most: float) -> float:
            return max(above(least), below(most))

        if self.kind == "counted":
            return [(0.0, HOLDS if low <= estimate <= high else FAILS, "")]
        if self.kind == "rate":
            found = [(below(low - NEAR), FAILS, "slower"), (above(high + NEAR), HOLDS, "faster here")]
            if low - NEAR <= estimate <= high + NEAR:
                found.append((inside(low - WIDE, high + WIDE), HOLDS, "sharp"))
            return found
        ends = {"above": (low, math.inf), "below": (-math.inf, high), "power": (low * (1 - SHARE), high * (1 + SHARE))}
        least, most = ends[self.kind]
        return [(inside(least, most), HOLDS, ""), (min(above(most), below(least)), FAILS, "")]


def exact(theorem: str, source: str, case: str, order: str, bound: tuple[float, float], value: float, says: str) -> Row:
    """A row of a number that is computed without error."""
    return Row(theorem, source, case, order, "counted", bound, Interval(value, value, value), remark=says)


def judge(rows: Sequence[Row]) -> list[tuple[str, str, float]]:
    """Verdict, word and p-value of each row after Holm's correction over the rows of one paper that are resolved."""
    best = [(math.nan, UNRESOLVED, "") if row.unresolved else min(row.options()) for row in rows]
    p = holm(np.array([raw for raw, *_ in best]))
    words = [(UNDECIDED, "") if q >= (1 - LEVEL) / 2 else said for (_, *said), q in zip(best, p, strict=True)]
    return [(verdict, word, q) for (verdict, word), q in zip(words, p.tolist(), strict=True)]


def interior(table: pd.DataFrame, line: Curve, experiment: Experiment) -> np.ndarray:
    """Places of a curve where depth and bins of the best grid point lie strictly inside their grids."""
    grids = [g.grid for g in experiment.groups if g.panel == line.panel and line.method in g.method]
    rows = table[table["selection"] == "oracle"]
    for key in ("panel", "dataset", "mask", "method", "epsilon"):
        rows = rows[rows[key] == getattr(line, key)]
    points = [json.loads(p) for p in rows.sort_values("x")["params"]]
    ends = {k: (min(v), max(v)) for grid in grids for k, v in grid.items() if k in ("depth", "bins")}
    return np.array([all(ends[k][0] < point[k] < ends[k][1] for k in ends if k in point) for point in points])


def longest(places: np.ndarray) -> np.ndarray:
    """The longest run of true places, the last of equals."""
    runs = np.split(np.arange(len(places)), np.flatnonzero(np.diff(places)) + 1)
    best = max((run for run in runs if places[run[0]]), key=lambda run: (len(run), run[0]), default=runs[0][:0])
    return np.isin(np.arange(len(places)), best)


def rate(
    line: Curve,
    expected: tuple[float, float],
    resolved: np.ndarray,
    needed: float,
    theorem: str = "T",
    source: str = "",
    case: str = "",
    order: str = "",
    remark: str = "",
) -> Row:
    """A row of an upper bound: the exponent over the longest resolved run of sizes."""
    places = longest(resolved & (line.mean > 2 * line.se) & (line.mean > 0))
    row = Row(
        theorem, source, case, order, "rate", expected, remark=remark, lines=(line,), resolved=tuple(places.tolist())
    )
    if places.sum() < FEWEST:
        need = f"{places.sum()} of {len(places)} sizes are resolved; three would be from n = {needed:.2g} on"
        return replace(row, unresolved=need)
    x = line.x[places]
    if theorem.startswith(("H", "L")):
        with_log = f"{-loglog_slope(x / np.log(x), line.mean[places]):.3f} against n / log n"
        row = replace(row, remark="; ".join(filter(None, [remark, with_log])))
    found = bootstrap(line.samples, lambda mean: -loglog_slope(x, mean[..., places]))
    return replace(row, found=found, freedom=len(line.samples) - 1, over=f"n = {x[0]:g} to {x[-1]:g}")


def histoftree(results: Evidence, experiment: Experiment) -> Iterator[Row]:
    """H-T1 to H-T4 on their curves; the personalised masks by (11)."""
    lines = results.curves(experiment.name)
    first: dict[str, tuple[float, float]] = {}  # where the mask before this one was resolved first, and its exponent
    for line in (c for c in lines if c.panel in ("aligned", "rough") and not is_constant(c)):
        smooth, d = (0.5, line.parameter("d")) if line.panel == "rough" else (1.0, 5)
        s = line.parameter("n_protected")
        e = semi_feature_exponent(smooth, d, s)
        inside = interior(results.summary(line.experiment), line, experiment)
        family = f"{line.panel}, {line.dataset}, {line.method}, {line.epsilon:g}"
        start, before = first.get(family, (line.x[-1], e))
        # the number of cells grows like n^(e / (2 alpha)): one more protected feature asks for 2 times as many rows
        start = float(line.x[inside][0]) if inside.any() else start * 2.0 ** (2 * smooth * (1 / e - 1 / before)) * 2
        first[family] = start, e
        rough = f"rough, α = ½, d = {d}, " if line.panel == "rough" else ""
        mechanism = "RR, " if line.parameter("mechanism") == "rr" else ""
        yield rate(
            line,
            (e, e),
            inside,
            4 * start,
            "H-T1",
            "Th. 4.2, Cor. 4.4",
            f"{rough}{mechanism}s* = {s}, ε = {line.epsilon:g}",
            "(n ε² / log n)^(−2α / (2α + d + s*))",
        )
    constants = {c.panel: c for c in lines if is_constant(c)}
    for line in (c for c in lines if c.panel == "personal"):
        stars = [star(line, n) for n in line.x]
        exponents = [2.0 / (2.0 + 5 + s + share * (5 - s)) for s, share in stars]
        resolved = line.mean <= RESOLVED * constants["aligned"].mean[-1]
        lack = line.mean[-1] / constants["aligned"].mean[-1] / RESOLVED
        yield rate(
            line,
            (min(exponents), max(exponents)),
            resolved,
            4 * line.x[-1] * max(lack, 1.0) ** (1 / min(exponents)),
            "H-T2",
            "Th. 4.3",
            f"γ = {line.parameter('gamma'):g}, ε = {line.epsilon:g}",
            "(n ε² / log n)^(−2α / (2α + d + s + λ*(d − s)))",
            "s, λ* = " + ", ".join(dict.fromkeys(f"{s}, {share:.2f}" for s, share in stars)),
        )
    hidden = [c for c in lines if c.panel == "hidden"]
    for line in (c for c in hidden if c.parameter("rule") == "random"):
        other = next(c for c in hidden if c.mask == line.mask and c.parameter("rule") is None)
        both = np.stack([line.samples[:, -1], other.samples[:, -1]], axis=1)
        yield Row(
            "H-T3",
            "§3.4 (ii)",
            f"{line.mask}, ε = {line.epsilon:g}",
            "hiding W by random cuts has a price",
            "above",
            (1.0, 1.0),
            bootstrap(both, lambda mean: mean[..., 0] / mean[..., 1]),
            len(both) - 1,
            f"n = {line.x[-1]:g}",
            remark="excess with random cuts over that with max-edge cuts",
            lines=(line, other),
        )


def star(line: Curve, n: float) -> tuple[int, float]:
    """s and λ* = log2 δ(p*) / p* that (11) and (15) give under a curve's mask at one size."""
    from lpbench.estimators.histoftree.adhistoftree import choose_partition, mean_inflation

    given = member(line.mask)
    mask = np.asarray(make_problem("sine_sum_excess", {"n": int(n)}, given.name, given.params).mask)
    s, depth, _ = choose_partition(mask, line.epsilon)
    return s, float(np.log2(mean_inflation(mask, np.array([float(depth)]))[s, 0]) / depth)


def lpct(results: Evidence, experiment: Experiment) -> Iterator[Row]:
    """L-T1 to L-T3 and L-T5 on their curves."""
    lines = results.curves(experiment.name)
    order = "(n_P ε² + n_Q^((2α + 2d) / (2γα + d)))^(−α(β + 1) / (2α + 2d)), but for logarithms"
    for line in (c for c in lines if c.panel in ("private", "public")):
        gamma = line.parameter("gamma", 0.5)
        e = public_data_exponents(ALPHA, DIMENSION, MARGIN, gamma)[line.panel == "public"]
        case = f"n_Q, γ = {gamma:g}" if line.panel == "public" else f"n_P, ε = {line.epsilon:g}{by_response(line)}"
        inside = interior(results.summary(line.experiment), line, experiment)
        start = float(line.x[inside.argmax() if inside.any() else -1])
        yield rate(line, (e, e), inside, 16 * start, "L-T1", "Th. 3, 4", case, order)
    yield from effective_sample([c for c in lines if c.panel in ("private", "public")])
    for line in (c for c in lines if c.panel == "range"):
        dip = bootstrap(
            line.samples, lambda mean: np.log(mean[..., [0, -1]].min(-1) / (mean[..., 1:-1].min(-1) + 1e-4))
        )
        yield Row(
            "L-T3",
            "§4.3",
            f"ε = {line.epsilon:g}",
            "r^(2d) / (n ε²) and the mass outside: a U over r",
            "above",
            (0.0, 0.0),
            dip,
            len(line.samples) - 1,
            f"r = {line.x[0]:g} to {line.x[-1]:g}",
            remark=f"log of the lower end over the least, at r = {line.x[int(np.argmin(line.mean))]:g}",
            lines=(line,),
        )
    constants = {c.panel: c for c in lines if is_constant(c)}
    for line in (c for c in lines if c.panel.startswith("prune") and not is_constant(c)):
        private = line.panel == "prune_private"
        e = public_data_exponents(ALPHA, DIMENSION, MARGIN, 0.5)[not private]
        e *= (ALPHA + DIMENSION) / (1 + DIMENSION) if private else 1.0
        share = line.mean / constants[line.panel].mean
        needed = line.x[-1] * max(share[-1] / RESOLVED, 1.0) ** (1 / e) * 16
        yield rate(
            line,
            (e, e),
            share <= RESOLVED,
            needed,
            "L-T5",
            "Th. 7",
            "P dominates: n_P" if private else "Q dominates: n_Q",
            "δ^(α(α + d)(β + 1) / (d(1 + d)))" if private else "δ^(α(β + 1) / d)",
        )


def public_power(gamma: float) -> float:
    """Power of n_Q in the effective sample of LPCT's simulation."""
    return 2 * (ALPHA + DIMENSION) / (2 * gamma * ALPHA + DIMENSION)


def by_response(line: Curve) -> str:
    return ", RR" if line.parameter("mechanism") == "rr" else ""


def equals(private: np.ndarray, x: np.ndarray, risks: np.ndarray) -> np.ndarray:
    """Private rows that give each risk, by the falling curve (..., k) on log axes; NaN outside it."""
    falling = np.minimum.accumulate(private, axis=-1)
    out = np.full((*risks.shape,), np.nan)
    for place in np.ndindex(falling.shape[:-1]):
        curve = np.log(falling[place])[::-1]
        out[place] = np.exp(np.interp(np.log(risks[place]), curve, np.log(x)[::-1], left=np.nan, right=np.nan))
    return out


def worth(private: Curve, public: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Private rows in the place of each n_Q public ones: estimate (k,) and draws (B, k)."""
    risks, drawn = bootstrap_means(public.samples), bootstrap_means(private.samples)
    estimate = equals(private.mean[None], private.x, public.mean[None])[0]
    return estimate, equals(drawn, private.x, risks)


def effective_sample(lines: Sequence[Curve]) -> Iterator[Row]:
    """L-T2: how the private rows that equal n_Q public ones grow with n_Q, and fall with ε."""
    publics = {c.parameter("gamma", 0.5): c for c in lines if c.panel == "public"}
    for kind in ("", ", RR"):
        private = {c.epsilon: c for c in lines if c.panel == "private" and by_response(c) == kind}
        for gamma, public in publics.items():
            order = "n_Q^((2α + 2d) / (2γα + d)) private rows are worth n_Q public ones"
            pair, case = (private[1.0], public), f"n_Q, γ = {gamma:g}{kind}"
            yield power(np.log(public.x), worth(*pair), public_power(gamma), case, order, pair)
        budgets, curves = np.array(sorted(private)), (*private.values(), publics[0.5])
        both = [np.stack(v, axis=-2) for v in zip(*(worth(private[e], publics[0.5]) for e in budgets), strict=True)]
        # the geometric mean over the n_Q that all budgets reach
        reach = np.isfinite(both[0]).all(axis=0)
        means = [np.exp(np.log(v)[..., reach].mean(axis=-1)) if reach.any() else v[..., 0] * np.nan for v in both]
        for axis, text in ((np.log(np.expm1(budgets)), "(e^ε − 1)^−2"), (np.log(budgets), "ε^−2")):
            order = f"{text} private rows are worth one public"
            yield power(-axis, means, 2.0, f"{text}, γ = 0.5{kind}", order, curves)


def power(
    x: np.ndarray, rows: Sequence[np.ndarray], theory: float, case: str, order: str, lines: tuple[Curve, ...]
) -> Row:
    """L-T2: slope of the logarithm of private rows, by estimate (k,) and draws (B, k), over the finite places."""
    estimate, drawn = rows
    places = np.isfinite(estimate)
    kept = drawn[np.isfinite(drawn[:, places]).all(axis=1)][:, places]
    most = max(line.x[-1] for line in lines)
    row = Row("L-T2", "Th. 3, (10)", case, order, "power", (theory, theory), over=f"n_P up to {most:g}", lines=lines)
    if places.sum() < FEWEST or len(kept) < len(drawn) / 2:
        why = f"{places.sum()} places lie on the private curve, in {len(kept) / len(drawn):.0%} of the resamples"
        return replace(row, unresolved=f"{why}; all would up to n_P = {16 * most:.2g}")
    fit, fits = (slope(x[places], np.log(v)) for v in (estimate[places], kept))
    low, high = np.quantile(fits, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return replace(row, found=Interval(float(fit), float(low), float(high)), freedom=len(lines[0].samples) - 1)


def grr_rows(seed: int) -> Iterator[Row]:
    """H-T4: the variance of a cell's estimate by GRR (A.1) and by bits, simulated by the mechanisms over |V|."""
    from lpbench.privacy import GRR, RandomizedResponse

    epsilon, users, repeats, sizes = 4.0, 2000, 400, 2 ** np.arange(1, 11)
    rng = Streams(seed).generator("variance of GRR")
    found = np.empty((2, len(sizes), repeats))
    for k, size in enumerate(sizes):
        grr, bits = GRR(epsilon / 2, int(size)), RandomizedResponse.for_budget(epsilon / 2, changed_bits=2)
        counts = np.zeros(size, dtype=int)
        counts[0] = users
        for r in range(repeats):  # another cell than the users': its estimate is noise
            found[0, k, r] = grr.estimate(grr.sum_of_reports(counts, rng), users)[1]
            found[1, k, r] = bits.estimate(bits.sum_of_reports(0, users, rng), users)
    square = np.moveaxis(found**2 / users, -1, 0)
    large = slice(5, None)
    growth = bootstrap(square[:, 0], lambda mean: loglog_slope(sizes[large], mean[..., large]))
    about = ("H-T4", "A.1")
    ratio = square.mean(axis=0)[0] / square.mean(axis=0)[1]
    few = sizes[ratio < 1].max() if (ratio < 1).any() else 0
    crossing = f"GRR has the smaller variance up to |V| = {few}, by 1, 2, 4 …"
    yield Row(
        *about,
        f"variance of GRR, ε = {epsilon:g}",
        "|V|^1",
        "power",
        (1.0, 1.0),
        growth,
        repeats - 1,
        f"|V| = {sizes[5]} to {sizes[-1]}",
        remark=crossing,
    )
    near = bootstrap(square[:, :, 2], lambda mean: mean[..., 0] / mean[..., 1])
    case = f"variance of GRR over that of bits, |V| = {sizes[2]}, ε = {epsilon:g}"
    yield Row(*about, case, "GRR is better for few cells", "below", (1.0, 1.0), near, repeats - 1, remark=crossing)


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
        found = Interval(count / draws, 0.0 if count == 0 else float(low), float(high))
        yield Row(
            "L-T4",
            "Prop. 6",
            f"{name}: share outside, n_P = {n_p}, n_Q = {n_q}, ε = {epsilon:g}",
            "|η̃ − E η̂| > r_k with probability 3 / (n_P + n_Q)²",
            "below",
            (bound, bound),
            found,
            over=f"{draws} draws, depth {depth}",
            remark=f"stated: {bound:.1e}",
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
            yield exact(theorem, source, f"{title}: {what}", states, (0.0, bound), count, remark)


def mask_rows() -> Iterator[Row]:
    """H-T3: what V tells of W; H-T6: section 6's bounds for equal and unequal numbers of protected features. Exact."""
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
        "W at a cut feature, read off V (the compatible cells)",
        "random cuts eliminate the risk of W",
        (0.0, 0.5),
        told,
        "share of users; all masks of 3 features, random cuts; a guess is right in 0.5",
    )
    n, d = 10_000, 5
    for what, says, counts, wanted in (
        ("equal", "bounds match", np.full(n, 2), (-1e-9, 1e-9)),
        ("unequal", "bounds do not match", np.where(np.arange(n) < n / 100, 0, 4), (1e-9, math.inf)),
    ):
        apart = math.log(unequal_rate(counts, d, upper=True) / unequal_rate(counts, d, upper=False))
        case = f"{what} numbers of protected features, n = {n}, ε = 1"
        remark = "logarithm of the upper over the lower bound, α = 1, without constants"
        yield exact("H-T6", "§6", case, says, wanted, apart, remark)


def unequal_rate(counts: np.ndarray, d: int, *, upper: bool) -> float:
    """Excess at ε = 1 by section 6, α = 1: sum E^power is 1, or sum E^-power is n^2; power (2 + d + s) / 2."""
    powers, sizes = np.unique((2.0 + d + counts) / 2.0, return_counts=True)
    sign, total = (-1, counts.size**2) if upper else (1, 1)
    return math.exp(scipy.optimize.brentq(lambda e: math.log(sizes @ np.exp(sign * powers * e) / total), -60, 5))


#: Model and task of a method -> its upper and its lower bound.
LABEL_DP = {
    ("label_ldp", "classification"): ("Z-T1", "Th. 2", "Z-L1", "Th. 1"),
    ("label_cdp", "classification"): ("Z-T2", "Th. 4", "Z-L2", "Th. 3"),
    ("label_ldp", "regression"): ("Z-T3", "Th. 6", "Z-L3", "Th. 5"),
    ("label_cdp", "regression"): ("Z-T4", "Th. 8", "Z-L4", "Th. 7"),
    ("label_ldp", "heavy"): ("Z-T5", "Th. 10", "Z-L5", "Th. 9"),
    ("label_cdp", "heavy"): ("Z-T6", "Th. 12", "Z-L6", "Th. 11"),
    ("cdp", "classification"): ("Z-T7", "Th. 13", "", ""),
    ("cdp", "regression"): ("Z-T8", "Th. 14", "", ""),
    ("cdp", "heavy"): ("Z-T8", "Th. 14", "", ""),
}
#: Effective sample of a model, as orders print it.
EFFECTIVE = {"label_ldp": "N ε²", "ldp": "N ε²", "label_cdp": "N, N ε", "cdp": "N, N ε", "none": "N"}


def expected_of(model: str, dataset: str, mask: str) -> tuple[float, float] | None:
    """Least and largest exponent that a theorem states for a model on a family under a mask; None without one."""
    name, (_, known), shape, given = bare_name(dataset), facts(dataset), bare_name(mask), member(mask).params
    hidden = given.get("n_protected", 1) if shape == "aligned" else 0
    if model == "semi_feature_ldp" and shape not in ("aligned", "label_only"):
        return None
    if name.startswith("sine_sum"):
        e = semi_feature_exponent(1.0, 5, 5 if model == "ldp" else hidden)
    elif name.startswith("posterior_drift"):
        e = public_data_exponents(ALPHA, DIMENSION, MARGIN, known["gamma"])[0]
    elif model == "semi_feature_ldp" and hidden:
        e = semi_feature_exponent(known["beta"], known["d"], hidden)
    else:
        return allowed(rate_on("label_ldp" if model == "semi_feature_ldp" else model, dataset))
    return (e, e) if model in ("ldp", "label_ldp", "semi_feature_ldp") else None


def label_dp(results: Evidence, experiment: Experiment) -> Iterator[Row]:
    """Z-T1 to Z-T8, with full LDP and no privacy beside them, and Z-L1 to Z-L6."""
    lines, names = results.curves(experiment.name), MODEL_NAMES | {"none": "no privacy"}
    for line in lines:
        if line.panel.startswith("floor") or is_constant(line):
            continue
        (task, known), model = facts(line.dataset), catalogue.method(line.base).privacy
        task = "heavy" if known["moment"] else task
        theorem, source, *_ = LABEL_DP.get((model, task), ("", "Table I"))
        places = [c for c in lines if (c.panel, c.dataset) == (line.panel, line.dataset)]
        constant = next(c for c in places if is_constant(c))
        ratio = excess(line, lines)
        expected = allowed(rate_on(model, line.dataset), ratio)
        share = line.mean / constant.mean
        case = [f"d = {known['d']}", f"β = {known['beta']:g}"]
        case += [f"γ = {known['margin']:g}"] if task == "classification" else []
        case += [f"p = {known['moment']:g}"] if task == "heavy" else []
        case += [] if math.isinf(line.epsilon) else [f"ε = {line.epsilon:g}"]
        yield rate(
            line,
            expected,
            share <= RESOLVED,
            line.x[-1] * max(share[-FEWEST] / RESOLVED, 1.0) ** (1 / expected[0]),
            theorem,
            source,
            ", ".join([task, names[model], *case]),
            f"({EFFECTIVE[model]})^−" + " or ".join(dict.fromkeys(f"{e:.3f}" for e in expected)),
            "" if math.isnan(ratio) else f"{ratio:.2f} times the risk without privacy",
        )
    panels = [(c.panel, c.dataset, c.epsilon) for c in lines if c.panel.startswith("floor")]
    for place in dict.fromkeys(panels):
        tried = [c for c in lines if (c.panel, c.dataset, c.epsilon) == place]
        for model in ("label_ldp", "label_cdp"):
            central = {c.method: catalogue.method(c.base).privacy in ("label_cdp", "cdp") for c in tried}
            mine = [c for c in tried if central[c.method] == (model == "label_cdp")]
            if mine:
                yield floor_row(model, mine)


def floor_row(model: str, tried: Sequence[Curve]) -> Row:
    """The lowest of the methods against the bound: its mean over replications, each with signs of its own."""
    (task, known), n, epsilon = facts(tried[0].dataset), int(tried[0].x[-1]), tried[0].epsilon
    task = "heavy" if known["moment"] else task
    bins, height = sign_cubes(known | {"n": n})
    family = {
        "model": model,
        "classes": task == "classification",
        "n": n,
        "cubes": bins ** known["d"],
        "height": height,
        "moment": known["moment"],
    }
    *_, theorem, source = LABEL_DP[model, task]
    floor = two_point(epsilon=epsilon, **family)
    values = [c.samples[:, -1] / floor for c in tried]
    scores = [float((v.mean() - 1) / (v.std(ddof=1) / len(v) ** 0.5 + 1e-12)) for v in values]
    lowest = int(np.argmin(scores))
    leak = least_leak(len(values[lowest]) * family["cubes"], epsilon, **family)
    under = [c.base for c, v in zip(tried, values, strict=True) if v.mean() < 1]
    return Row(
        theorem,
        source,
        f"{task}, ε = {epsilon:g}, {len(tried)} methods",
        "no method's mean over hypotheses lies below the two-point value",
        "above",
        (1.0, 1.0),
        bootstrap(values[lowest][:, None], lambda mean: mean[..., 0]),
        len(values[lowest]) - 1,
        f"n = {n}",
        remark=f"floor {floor:.3g}, lowest {tried[lowest].base}; an optimal method that spends "
        + (f"{leak:.2f} instead of {epsilon:g} would be seen" if leak < 64 else "more would not be seen")
        + (f"; means below: {', '.join(under)}" if under else ""),
        lines=tuple(tried),
        tests=len(tried),
    )


#: Leaf of an experiment (its long range has ``_long`` behind it) -> rows on its curves, and those that need none.
TRIALS: dict[str, tuple[Callable[[Evidence, Experiment], Iterator[Row]], Callable[[int], Iterator[Row]]]] = {
    "histoftree": (histoftree, lambda seed: itertools.chain(grr_rows(seed), mask_rows(), cost_rows("H"))),
    "lpct": (lpct, lambda seed: itertools.chain(coverage_rows(seed), cost_rows("L"))),
    "label_dp": (label_dp, lambda seed: iter(())),
}


def tabulate(rows: Sequence[Row]) -> pd.DataFrame:
    """One line a row, judged; references, which are drawn alone, are left out."""
    # lower bounds after upper ones
    rows = sorted((row for row in rows if row.theorem), key=lambda row: (row.theorem[2] == "L", row.theorem))
    found = []
    for row, (verdict, word, p) in zip(rows, judge(rows), strict=True):
        found.append(
            {
                **{name: getattr(row, name) for name in ("theorem", "source", "case", "order", "kind")},
                "expected_low": row.expected[0],
                "expected_high": row.expected[1],
                "ours": row.found.estimate,
                "low": row.found.low,
                "high": row.found.high,
                "range": row.over,
                "verdict": verdict,
                "word": word,
                "p_holm": p,
                "unresolved": row.unresolved,
                "remark": row.remark,
            }
        )
    return pd.DataFrame(found)
