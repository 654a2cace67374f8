"""Rows that need no curve: exact statements, coverage by simulation, counted messages, bits and work."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import scipy

from lpbench.analysis.rates import loglog_slope
from lpbench.experiments import catalogue
from lpbench.papers.theory.theorems import Row, exact
from lpbench.seeds import Streams


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


def grr_rows() -> Iterator[Row]:
    """H-T4: variance of a cell's estimate by GRR (A.1) and by a bit for each cell, exact, over |V|."""
    from lpbench.privacy import RandomizedResponse, grr_probabilities

    epsilon, sizes = 4.0, 2 ** np.arange(1, 11)
    bits = RandomizedResponse.for_budget(epsilon / 2, changed_bits=2)
    by_bits = bits.flip * (1 - bits.flip) / (bits.keep - bits.flip) ** 2
    p, q = grr_probabilities(sizes, epsilon / 2)
    ratio = q * (1 - q) / (p - q) ** 2 / by_bits
    states = "GRR is better for few compatible cells, and its variance grows with |V|"
    remark = f"variances of a cell without users, exact; GRR's is smaller up to |V| = {sizes[ratio < 1].max()}"
    yield exact("H-T4", "A.1", states, "variance of GRR over bits', |V| = 8, ε = 4", (0.0, 1.0), ratio[2], remark)
    growth, over = float(loglog_slope(sizes[5:], ratio[5:])), f"|V| = {sizes[5]} to {sizes[-1]}"
    yield Row("H-T4", "A.1", states, "order of GRR's variance in |V|", 1.0, found=growth, kind="order", over=over)
