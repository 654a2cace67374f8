"""Deciders of LPCT's claims about its tables."""

from __future__ import annotations

import numpy as np

from lpbench.analysis import rank_sums
from lpbench.analysis.claims import Deciders, Verdict
from lpbench.datasets import describe
from lpbench.errors import NotRunError
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.published import published_cells

decider = Deciders()

TABLE = "lpct/table2"
EPSILONS = (0.5, 2.0, 8.0)
OURS = ("lpct_max_edge", "lpct_cart", "lpct_prune_max_edge", "lpct_prune_cart")
RIVALS = ("ct_q", "phist", "lpdt", "pglm", "psgd_linear", "psgd_neural")
#: Bytes of the two noisy votes of one cell, and the memory at which the paper stopped a run.
CELL_BYTES, MEMORY = 16, 100e9


@decider("L15")
def smallest_rank_sum(results: Evidence) -> Verdict:
    """At each epsilon the smallest rank sum is an LPCT-based column's, and these are best on most data sets."""
    verdicts, parts = [], []
    for epsilon in EPSILONS:
        table = results.values(TABLE, epsilon, "", OURS + RIVALS)
        sums = rank_sums(table.to_numpy(), larger_is_better=True)
        is_best = table.to_numpy() == table.max(axis=1).to_numpy()[:, None]
        ours, others = (int(is_best[:, part].any(axis=1).sum()) for part in (slice(0, 4), slice(4, None)))
        verdicts.append(int(np.argmin(sums)) < len(OURS) and ours > others)
        shown = ", ".join(f"{m} {s:g}" for m, s in zip(table.columns, sums, strict=True))
        parts.append(f"epsilon {epsilon:g}: {shown}; best on {ours} data sets against {others}")
    return Verdict.of(all(verdicts), "rank sums, average ties", *parts)


@decider("L16")
def cart_beats_max_edge(results: Evidence) -> Verdict:
    """Paired rank sums of the two rules, for LPCT and LPCT-prune at each epsilon: CART's is smaller."""
    verdicts, parts = [], []
    for epsilon in EPSILONS:
        for family in ("lpct", "lpct_prune"):
            pair = results.values(TABLE, epsilon, "", (f"{family}_max_edge", f"{family}_cart"))
            edge, cart = rank_sums(pair.to_numpy(), larger_is_better=True)
            verdicts.append(cart < edge)
            parts.append(f"epsilon {epsilon:g} {family}: max-edge {edge:g}, CART {cart:g}")
    return Verdict.of(all(verdicts), *parts)


@decider("L17")
def some_are_unaffected(results: Evidence) -> Verdict:
    """There are data sets on which LPCT's accuracy varies by at most 1 standard error over epsilon."""
    rows = results.summary(TABLE)
    found: dict[str, list[str]] = {}
    tested = set()
    for method in ("lpct_max_edge", "lpct_cart"):
        for dataset, part in rows[rows["method"] == method].dropna(subset=["mean"]).groupby("dataset"):
            if part["epsilon"].nunique() < 2:
                continue
            tested.add(dataset)
            if np.ptp(part["mean"]) <= part["se"].max():
                found.setdefault(method, []).append(dataset)
    if not tested:
        raise NotRunError(f"{TABLE} has no data set at two budgets")
    parts = [f"{method}: {', '.join(sorted(datasets))}" for method, datasets in found.items()]
    return Verdict.of(bool(found), f"{len(tested)} data sets", *parts)


@decider("L18")
def non_interactive_is_faster(results: Evidence) -> Verdict:
    """Seconds of the faster PSGD at least 10 times those of the slowest LPCT or PHIST in the median over data sets.

    Memory: a dense PHIST with two bins an axis would need more than 100 GB for 16 x 2^d bytes; ours draws only the
    cells that are looked up.
    """
    name = "lpct/table3"
    rows = results.summary(name)
    wide = rows.pivot_table(index="dataset", columns="base", values="mean")
    quick = [m for m in (*OURS, "phist", "lpdt") if m in wide.columns]
    slow = [m for m in ("psgd_linear", "psgd_neural") if m in wide.columns]
    if not quick or not slow:
        raise NotRunError(f"{name} has no seconds of both kinds of method")
    ratio = (wide[slow].min(axis=1) / wide[quick].max(axis=1)).dropna()
    if ratio.empty:
        raise NotRunError(f"{name} has no data set with seconds of both kinds of method")
    most = np.log2(MEMORY / CELL_BYTES)
    too_large = [d for d in wide.index if describe(d.split("[")[0]).n_features > most]
    return Verdict.of(
        float(ratio.median()) >= 10,
        f"PSGD / slowest non-interactive method: median {ratio.median():.3g}, from {ratio.min():.3g} "
        f"({ratio.idxmin()}) to {ratio.max():.3g} ({ratio.idxmax()})",
        f"dense PHIST with two bins an axis over 100 GB: {', '.join(too_large) or 'none of those run'}; "
        "the lookup implementation runs on all",
    )


@decider("L19")
def non_private_is_an_upper_bound(results: Evidence) -> Verdict:
    """No private or public-only cell exceeds CT-W on the same data set."""
    rows = results.summary(TABLE)
    top = rows[rows["base"] == "ct_w"].set_index(["dataset", "epsilon"])["mean"]
    others = rows[(rows["base"] != "ct_w") & rows["mean"].notna()]
    if top.dropna().empty or others.empty:
        raise NotRunError(f"{TABLE} has no CT-W beside another method")
    bound = top.reindex(list(zip(others["dataset"], others["epsilon"], strict=True))).to_numpy()
    above = others[others["mean"].to_numpy() > bound]
    where = ", ".join(f"{d} {n}" for d, n in above.groupby("dataset").size().items())
    return Verdict.of(
        above.empty,
        f"{len(above)} of {len(others)} cells above CT-W ({where or 'none'})",
        f"in the published table {published_above_bound()}",
    )


def published_above_bound() -> int:
    """Count the cells of the published table that exceed CT-W on the same data set and epsilon."""
    cells = published_cells(TABLE)
    top = cells[cells["method"] == "ct_w"].set_index(["dataset", "epsilon"])["published"]
    others = cells[cells["method"] != "ct_w"]
    bound = top.reindex(list(zip(others["dataset"], others["epsilon"], strict=True))).to_numpy()
    return int((others["published"].to_numpy() > bound).sum())
