"""Deciders of HistOfTree's claims about its tables and about its randomised response (appendix A.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from lpbench.analysis import ALPHA, rank_sums, signed_rank, wins
from lpbench.analysis.claims import Deciders, Verdict
from lpbench.errors import NotRunError
from lpbench.papers.histoftree.published import TABLES
from lpbench.reporting.evidence import Evidence

decider = Deciders()

RIVALS = ("par_dt", "hist", "krr")
PROPOSED = {
    "aligned": ("histoftree_max_edge", "histoftree_cart"),
    "personalized": ("histoftree_max_edge", "histoftree_cart", "adhistoftree_max_edge", "adhistoftree_cart"),
}


def _tables(results: Evidence, mask: str) -> Iterator[tuple[float, pd.DataFrame]]:
    """Yield (epsilon, table of the mask's columns) for the three tables."""
    for name, (_, epsilon) in TABLES.items():
        yield epsilon, results.values(name, epsilon, mask, PROPOSED[mask] + RIVALS)


@decider("H9")
def smallest_rank_sums(results: Evidence) -> Verdict:
    """At every epsilon and for both kinds of mask, every proposed column has a smaller rank sum than every rival."""
    verdicts, parts = [], []
    for mask, proposed in PROPOSED.items():
        for epsilon, table in _tables(results, mask):
            sums = rank_sums(table.to_numpy(), larger_is_better=False)
            ours, others = sums[: len(proposed)], sums[len(proposed) :]
            verdicts.append(ours.max() < others.min())
            parts.append(f"{mask} {epsilon:g}: proposed {_list(ours)}, rivals {_list(others)} ({len(table)} data sets)")
    return Verdict.of(all(verdicts), "rank sums, average ties", *parts)


@decider("H10")
def most_best_results(results: Evidence) -> Verdict:
    """At every epsilon and for both kinds of mask, the proposed columns are best more often than the rivals."""
    verdicts, parts = [], []
    for mask, proposed in PROPOSED.items():
        for epsilon, table in _tables(results, mask):
            is_best = table.to_numpy() == table.min(axis=1).to_numpy()[:, None]
            ours = int(is_best[:, : len(proposed)].any(axis=1).sum())
            others = int(is_best[:, len(proposed) :].any(axis=1).sum())
            verdicts.append(ours > others)
            parts.append(f"{mask} {epsilon:g}: {ours} against {others}")
    return Verdict.of(all(verdicts), "data sets whose best result is proposed or a rival's", *parts)


@decider("H11")
def adaptive_is_comparable(results: Evidence) -> Verdict:
    """The median over data sets, rules and epsilon of error(adaptive) / error(best parameters) is at most 1.1."""
    ratios = []
    for _, table in _tables(results, "personalized"):
        for rule in ("max_edge", "cart"):
            ratios.append((table[f"adhistoftree_{rule}"] / table[f"histoftree_{rule}"]).dropna().to_numpy())
    ratio = np.concatenate(ratios)
    if not ratio.size:
        raise NotRunError("no data set has both the adaptive and the tuned method")
    return Verdict.of(
        float(np.median(ratio)) <= 1.1,
        f"median ratio {np.median(ratio):.3f}, 90 % of {ratio.size} cells below {np.quantile(ratio, 0.9):.3f}, "
        f"largest {ratio.max():.3f}",
    )


@decider("H12")
def cart_against_max_edge(results: Evidence) -> Verdict:
    """CART has the smaller paired rank sum under aligned masks, max-edge under personalised ones."""
    totals = {}
    for mask, proposed in PROPOSED.items():
        families = [(m, m.replace("max_edge", "cart")) for m in proposed if m.endswith("max_edge")]
        pairs = [t[[a, b]].to_numpy() for _, t in _tables(results, mask) for a, b in families]
        totals[mask] = (
            rank_sums(np.concatenate(pairs), larger_is_better=False),
            wins(np.concatenate(pairs), larger_is_better=False),
        )
    (aligned, aligned_wins), (personal, personal_wins) = totals["aligned"], totals["personalized"]
    return Verdict.of(
        bool(aligned[1] < aligned[0] and personal[0] < personal[1]),
        f"aligned: rank sums max-edge {aligned[0]:g}, CART {aligned[1]:g} (best {_list(aligned_wins)})",
        f"personalised: max-edge {personal[0]:g}, CART {personal[1]:g} (best {_list(personal_wins)})",
    )


@decider("H13")
def generalised_response_is_slightly_better(results: Evidence) -> Verdict:
    """Signed-rank test, over data sets and separately at each epsilon, that GRR has the smaller error.

    Holds if no budget contradicts it and at least one shows it (level 0.05 in the test over the data sets).
    """
    name = "histoftree/mechanism"
    rows = results.summary(name)
    rows = rows.assign(mechanism=rows["method"].str.extract(r"mechanism=(\w+)", expand=False)).dropna(
        subset=["mechanism"]
    )
    verdicts, parts = [], []
    for epsilon, part in rows.groupby("epsilon"):
        wide = part.pivot(index="dataset", columns="mechanism", values="mean").dropna()
        if wide.empty or not {"grr", "rr"} <= set(wide.columns):
            raise NotRunError(f"{name} lacks one of the two mechanisms at epsilon {epsilon:g}")
        gain = np.log(wide["rr"] / wide["grr"]).to_numpy()
        p, reverse = signed_rank(gain), signed_rank(-gain)
        verdicts.append((p < ALPHA, reverse < ALPHA))
        parts.append(
            f"epsilon {epsilon:g}: GRR better on {int((gain > 0).sum())} of {gain.size} data sets, median gain "
            f"{100 * np.expm1(np.median(gain)):.2f} %, p {p:.3g}"
        )
    return Verdict.of(any(v[0] for v in verdicts) and not any(v[1] for v in verdicts), *parts)


def _list(values: Iterable[float]) -> str:
    return "/".join(f"{v:g}" for v in values)
