"""Known reasons why a reproduced number differs from the published one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class _Reason:
    applies: Callable[[Mapping], bool]
    text: str


_REASONS = (
    _Reason(
        lambda r: r["experiment"].startswith("histoftree/") and r["method"] == "krr",
        "our KRR divides the budget over the label and the protected features (the paper is silent)",
    ),
    _Reason(
        lambda r: r["experiment"].startswith("histoftree/table") and r["dataset"] == "building",
        "the published column cannot be V-9 or V-10 of the data as found: target or preprocessing must differ",
    ),
    _Reason(
        lambda r: r["experiment"].startswith("histoftree/") and r["method"] == "par_dt" and r["mask"] == "personalized",
        "the paper does not say what the tree sees of a protected entry; ours sees a missing value",
    ),
    _Reason(
        lambda r: r["method"] in ("psgd_linear", "psgd_neural"),
        "the paper's code spends the budget once a parameter tensor; ours spends it once",
    ),
    _Reason(
        lambda r: r["method"] == "pglm",
        "the paper's code adds too little noise to a sum of reports, and prints the same column at ε = 0.5 and 2",
    ),
    _Reason(
        lambda r: r["method"] == "phist",
        "the paper's code draws one Laplace variable of the sum's scale, with a fixed seed",
    ),
    _Reason(
        lambda r: r["method"].startswith("lpct_prune"),
        "Algorithm 2 leaves its constants open; the code behind the figures differs from it",
    ),
    _Reason(
        lambda r: r["experiment"] == "lpct/table3",
        "printed seconds have one digit, and ratios of seconds depend on the implementations",
    ),
)


def explain(row: Mapping) -> str:
    """Return what is known about a difference: the cell's erratum, else a known deviation, else nothing."""
    reasons = [reason.text for reason in _REASONS if reason.applies(row)]
    return "; ".join([*([row["note"]] if row["note"] else []), *reasons])
