"""Claims of papers and verdicts on them: a claim is a sentence of a paper with a function that decides it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lpbench.errors import NotRunError

VERDICTS = ("holds", "fails", "not_run")


@dataclass(frozen=True)
class Verdict:
    """A verdict and the numbers it rests on."""

    verdict: str
    evidence: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict={self.verdict!r} must be one of {', '.join(VERDICTS)}")

    @classmethod
    def of(cls, holds: bool, *evidence: str) -> Verdict:
        """``holds`` or ``fails`` by a truth value; the parts of the evidence are joined."""
        return cls("holds" if holds else "fails", "; ".join(part for part in evidence if part))


#: Maps finished results to a verdict; raises :class:`NotRunError` where a result that it needs is not there.
Decider = Callable[[Any], Verdict]


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper that finished results decide.

    Attributes
    ----------
    name : str
        Short name, unique over all papers: ``H1``.
    artefact : str
        The table or figure that the sentence is about.
    statement : str
        The sentence.
    judged_by : str
        The rule in words.
    decide : callable, optional
        The rule in code: maps finished results to a :class:`Verdict`, or raises :class:`NotRunError`.
    """

    name: str
    artefact: str
    statement: str
    judged_by: str = ""
    decide: Decider | None = None

    def concerns(self, leaf: str) -> bool:
        """Whether the sentence is about an artefact, the last part of an experiment's name (``4b`` is in ``4a-b``)."""
        if "-" not in self.artefact:
            return leaf == self.artefact
        first, _, last = self.artefact.partition("-")
        return leaf[:-1] == first[:-1] and first[-1] <= leaf[-1] <= last

    def verdict(self, results: Any) -> Verdict:
        """Decide the claim; ``not_run`` where a result or the decider is missing."""
        if self.decide is None:
            return Verdict("not_run", "no decider is registered for this claim")
        try:
            return self.decide(results)
        except NotRunError as missing:
            return Verdict("not_run", str(missing))


class Deciders(dict[str, Decider]):
    """Deciders by claim; an instance is a decorator: ``decider = Deciders()``, then ``@decider("H1")``."""

    def __call__(self, claim: str) -> Callable[[Decider], Decider]:
        """Register the decorated function for a claim."""

        def register(function: Decider) -> Decider:
            if claim in self:
                raise ValueError(f"claim {claim} has two deciders: {self[claim].__name__} and {function.__name__}")
            self[claim] = function
            return function

        return register
