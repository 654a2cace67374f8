"""Rows that need no curve: exact statements, coverage by simulation, counted messages, bits and work."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from lpbench.analysis.rates import loglog_slope
from lpbench.experiments import catalog
from lpbench.papers.lpct import coverage
from lpbench.papers.theory.theorems import Row, exact
from lpbench.paths import COMMITTED
from lpbench.reporting.evidence import Evidence
from lpbench.seeds import Streams


def coverage_rows(seed: int) -> Iterator[Row]:
    """L-T4: how often a node's estimate leaves r_k at λ = 1, by (14) with the proof's constant and by Algorithm 2."""
    draws, bound = coverage.NOISE_DRAWS, 3 / (coverage.PRIVATE + coverage.PUBLIC) ** 2
    for name, count in coverage.outside(seed).items():
        share = count / draws
        yield Row(
            "L-T4",
            "Prop. 6",
            "|η̃ − E η̂| > r_k with probability at most 3 / (n_P + n_Q)²",
            f"share of estimates outside the bound: {name}",
            bound,
            (0.0, bound),
            share,
            math.sqrt(share * (1 - share) / draws),
            kind="exact",
            over=f"n_P = {coverage.PRIVATE}, n_Q = {coverage.PUBLIC}, ε = 1, depth {coverage.DEPTH}, {draws:,} draws",
        )


def reason_rows(letter: str) -> Iterator[Row]:
    """H-E1, L-E1: reasons that the papers give for what their tables show, held against committed scores."""
    results = Evidence(COMMITTED)
    if letter == "H":
        means = []
        for (k, epsilon), rule in itertools.product(((1, 2.0), (2, 1.0), (3, 4.0)), ("max_edge", "cart")):
            pair = (f"adhistoftree_{rule}", f"histoftree_{rule}")
            table = results.table(f"histoftree/table{k}", epsilon, "personalized", pair)
            means += table.cells.samples.mean(axis=0).reshape(-1, 2).tolist()
        yield exact(
            "H-E1",
            "§5.2",
            "AdHistOfTree is sometimes better than HistOfTree, mainly because HistOfTree's grid is incomplete",
            f"table cells (of {len(means)}) in which AdHistOfTree has a smaller error than HistOfTree",
            (1.0, math.inf),
            sum(a < b for a, b in means),
            "personalized masks; without such a cell, the incomplete grid explains nothing",
        )
        return
    table = results.table("lpct/table2", 8.0, "", ("lpct_cart", "psgd_linear", "psgd_neural"))
    cart, linear, neural = table.cells.samples.reshape(-1, len(table.datasets), 3).transpose(2, 0, 1)
    lag = cart - linear
    worst = int(np.nanargmax(lag.mean(axis=0)))
    share = (neural - linear)[:, worst] / lag[:, worst].mean()
    yield Row(
        "L-E1",
        "§7.3",
        "linear classifiers are poor on some data sets because these data sets are not linear",
        "share of the gap between PSGD-L and LPCT (CART) that the nonlinear PSGD-N closes",
        0.5,
        (0.5, math.inf),
        float(share.mean()),
        float(share.std(ddof=1)) / math.sqrt(len(share)),
        len(share) - 1,
        kind="exact",
        over=f"{table.datasets[worst]}, ε = 8, where this gap is largest",
        remark="PSGD-L and PSGD-N have the same mechanism and budget; the share should be at least half",
    )


#: Method -> theorem, section, messages, what its paper says of a report, and the order of growing its tree.
COSTS = {
    "histoftree_max_edge": ("H-T5", "A.2", 2, "d + 1 real numbers, then t^s 2^p booleans", "O(p n d)"),
    "lpct_max_edge": ("L-T5", "§4.2", 1, "2^p pairs of real numbers", "O(p n_Q d)"),
    "lpct_prune_max_edge[terminate=true]": ("L-T5", "§5.2", 2, "2^p pairs of real numbers", ""),
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
        work, products = ([f(*size) for size in pair] for f in (labels_read, lambda *size: math.prod(size)))
        powers.append(f"{name}^{math.log(work[1] / work[0]) / math.log(products[1] / products[0]):.2f}")
        most_read = max(most_read, work[0] / products[0], work[1] / products[1])
    for method, (theorem, source, most, says, order) in COSTS.items():
        if not theorem.startswith(letter):
            continue
        run, title = recorded_run(estimator_of(method), 1.0).randomizer, catalog.method(method).title
        bits = f"a user sends {run.bits_up:g} bits in the audit's sample"
        counted = [
            (
                "messages of a user",
                f"{most} message{'s' * (most > 1)} a user: {says}",
                most,
                float(len(run.messages)),
                bits,
            )
        ]
        if order:
            counted += [
                (
                    "labels read to grow a tree, divided by p n d",
                    order,
                    1,
                    most_read,
                    f"the number of labels read grows like {', '.join(powers)}",
                )
            ]
        for what, states, bound, count, remark in counted:
            yield exact(theorem, source, states, f"{title}: {what}", (0.0, bound), count, remark)


def mask_rows() -> Iterator[Row]:
    """Yield the row on HistOfTree section 3.4 (ii): how well the mask W can be guessed from the possible cells V.

    The share of right guesses is exact, over all masks of three features under random cuts.
    """
    from lpbench.estimators.histoftree.user_cells import UserLeaves
    from lpbench.partitions import SampleGroups, grow_max_edge

    masks = np.array(list(itertools.product([False, True], repeat=3)))
    tree = grow_max_edge(np.empty((0, 3)), np.empty(0), 1, rule="random", rng=Streams(0).generator("tree"))
    X = np.full(masks.shape, 0.25)
    (leaves,) = UserLeaves.at_depths([tree], [1], X, masks, SampleGroups.singletons(len(masks)))
    agreement = float(np.mean((leaves.choices > 1) == masks[:, tree.feature[0]]))
    yield exact(
        "H-T3",
        "§3.4 (ii)",
        "random cuts eliminate the privacy risk of the mask W",
        "share of users whose mask W at a cut feature is guessed correctly from V",
        (0.0, 0.5),
        agreement,
        "random cuts, all masks of 3 features; a random guess is right for a share of 0.5",
    )


def _bit_variance(epsilon: float) -> float:
    """Variance of one user's unbiased vote for a cell, a bit by randomized response at a quarter of ``epsilon``."""
    from lpbench.privacy import RandomizedResponse

    bits = RandomizedResponse.for_budget(epsilon / 2, changed_bits=2)
    return bits.flip * (1 - bits.flip) / (bits.keep - bits.flip) ** 2


def response_rows() -> Iterator[Row]:
    """L-T2: information of a vote over the budget by randomized response, and by Laplace noise, exact."""
    budgets = np.array([4.0, 16.0])
    information = np.array([[1 / _bit_variance(e) for e in budgets], budgets**2])
    by_bits, by_laplace = loglog_slope(np.expm1(budgets), information).tolist()
    yield Row(
        "L-T2",
        "Th. 3, 4",
        "randomized response mitigates the gap between (e^ε − 1)² and ε²",
        "exponent of e^ε − 1 in the information of a vote",
        2.0,
        found=by_bits,
        kind="order",
        over="ε = 4 to 16",
        remark=f"with Laplace noise, this exponent is {by_laplace:.2f}",
    )


def grr_rows() -> Iterator[Row]:
    """H-T4: variance of a cell's estimate by GRR (A.1) and by a bit for each cell, exact, over |V|."""
    from lpbench.privacy import grr_probabilities

    epsilon, sizes = 4.0, 2 ** np.arange(1, 11)
    p, q = grr_probabilities(sizes, epsilon / 2)
    ratio = q * (1 - q) / (p - q) ** 2 / _bit_variance(epsilon)
    states = "GRR is better for few compatible cells, and its variance grows with |V|"
    remark = f"exact variances for a cell without users; GRR has the smaller one up to |V| = {sizes[ratio < 1].max()}"
    yield exact(
        "H-T4",
        "A.1",
        states,
        "variance of GRR divided by that of bit reports, |V| = 8, ε = 4",
        (0.0, 1.0),
        ratio[2],
        remark,
    )
    growth, over = float(loglog_slope(sizes[5:], ratio[5:])), f"|V| = {sizes[5]} to {sizes[-1]:,}"
    yield Row("H-T4", "A.1", states, "exponent of |V| in GRR's variance", 1.0, found=growth, kind="order", over=over)
