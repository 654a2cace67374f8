"""Which function decides which claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

VERDICTS = ("holds", "fails", "not_run")


@dataclass(frozen=True)
class Verdict:
    """A verdict and the numbers it rests on."""

    verdict: str
    evidence: str

    def __post_init__(self):
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict={self.verdict!r} must be one of {', '.join(VERDICTS)}")

    @classmethod
    def of(cls, holds: bool, *evidence: str) -> Verdict:
        """``holds`` or ``fails`` by a truth value; the parts of the evidence are joined."""
        return cls("holds" if holds else "fails", "; ".join(part for part in evidence if part))


#: Claim -> function(Results) -> Verdict. A function raises NotRunError where what it needs is not there.
DECIDERS: dict[str, Callable] = {}


def decider(claim: str) -> Callable:
    """Register the decorated function for a claim of ``results/published/claims.csv``."""

    def register(function: Callable) -> Callable:
        if claim in DECIDERS:
            raise ValueError(f"claim {claim} has two deciders: {DECIDERS[claim].__name__} and {function.__name__}")
        DECIDERS[claim] = function
        return function

    return register
