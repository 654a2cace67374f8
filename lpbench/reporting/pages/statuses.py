"""Statuses of claims as pages show them: a word, a sign and a colour, and how often each occurs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Status:
    """A status of a claim.

    Attributes
    ----------
    label : str
        As in ``claims.csv``.
    tone : str
        Class of the colour.
    sign : str
        For those who do not see the colour.
    """

    label: str
    tone: str
    sign: str


#: From the best news to none.
STATUSES = {
    s.label: s
    for s in (
        Status("reproduced", "good", "✓"),
        Status("supported", "good", "✓"),
        Status("holds here, not in the paper's numbers", "here", "◐"),
        Status("not distinguishable here", "open", "≈"),
        Status("not distinguishable", "open", "≈"),
        Status("not reproduced", "bad", "✗"),
        Status("not supported here", "bad", "✗"),
        Status("not supported by either", "neither", "⊘"),
        Status("no verdict", "none", "○"),
    )
}
#: Statuses of claims that our numbers agree with.
AGREEING = frozenset({"reproduced", "supported", "holds here, not in the paper's numbers"})


def counts(found: Iterable[Status]) -> list[tuple[Status, int]]:
    """How often each status occurs, from the best news to none; those that do not occur are left out."""
    labels = [s.label for s in found]
    known = {**STATUSES, **{s: Status(s, "none", "○") for s in labels if s not in STATUSES}}
    return [(status, labels.count(label)) for label, status in known.items() if label in labels]
