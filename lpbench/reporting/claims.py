"""Verdicts on the claims of all papers: each check on the published numbers and on ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lpbench.analysis.claims import (
    FAILS,
    NO_VERDICT,
    NOT_JUDGED,
    NOT_REPRODUCED,
    POWER,
    Check,
    Claim,
    Judged,
    judge,
    status,
    weakest,
)
from lpbench.analysis.instances import KEY
from lpbench.errors import NotRunError
from lpbench.reporting.evidence import Evidence, Published
from lpbench.reporting.paper import paper_of, papers

#: How the reason begins where a run has too few replications for a verdict.
TOO_FEW = "too few replications"


@dataclass(frozen=True)
class Verdict:
    """One check of one claim on both sources.

    Attributes
    ----------
    claim, check : Claim, Check
    published, ours : Judged or None
        None where it could not be judged.
    published_outcome, ours_outcome, status : str
    reason : str
        Why there is no verdict, or why it is undecided.
    """

    claim: Claim
    check: Check
    published: Judged | None
    ours: Judged | None
    published_outcome: str
    ours_outcome: str
    reason: str = ""

    @property
    def status(self) -> str:
        """What both outcomes say together."""
        return status(self.published_outcome, self.ours_outcome)


@dataclass(frozen=True)
class Decision:
    """A claim with the verdicts of its checks."""

    paper: str
    claim: Claim
    verdicts: tuple[Verdict, ...]

    @property
    def outcomes(self) -> tuple[str, str]:
        """Published and ours: as weak as the weakest check that counts."""
        counted = [v for v in self.verdicts if v.check.counts]
        ours = [v.ours_outcome for v in counted]
        together = NO_VERDICT if NO_VERDICT in ours or not ours else weakest(ours)
        return weakest(v.published_outcome for v in counted), together

    @property
    def status(self) -> str:
        """Status of the claim."""
        return status(*self.outcomes)

    @property
    def causes(self) -> list[str]:
        """Tested causes of differences that concern a cell of a check that fails, where the claim is not reproduced."""
        if self.status != NOT_REPRODUCED:
            return []
        failed = [v.ours for v in self.verdicts if v.check.counts and v.ours_outcome == FAILS and v.ours]
        keys = {key for judged in failed for instance in judged.instances for key in instance.cells.keys}
        rows = [dict(zip(KEY, key, strict=True)) for key in keys]
        known = [cause for paper in papers() if paper.letter == self.paper for cause in paper.causes]
        return [cause.text for cause in known if any(cause.applies(row) for row in rows)]

    @property
    def explained(self) -> str:
        """Sentence on the causes of a claim that is not reproduced; empty for others."""
        if self.status != NOT_REPRODUCED:
            return ""
        return f"tested causes: {'; '.join(self.causes)}" if self.causes else "no cause was found"

    @property
    def reason(self) -> str:
        """The reasons of the checks that decide, each once."""
        return "; ".join(dict.fromkeys(v.reason for v in self.verdicts if v.reason and v.check.counts))


def decide_all(results: Evidence) -> list[Decision]:
    """Decide every claim of every paper, in the papers' order."""
    published = Published(results)
    return [decide(paper.letter, claim, results, published) for paper in papers() for claim in paper.claims]


def decide(letter: str, claim: Claim, results: Evidence, published: Published) -> Decision:
    """Run the checks of a claim on the published numbers and on ours."""
    return Decision(letter, claim, tuple(_verdict(claim, check, results, published) for check in claim.checks))


def _verdict(claim: Claim, check: Check, results: Evidence, published: Published) -> Verdict:
    results.consulted.clear()
    try:
        ours = judge(check, results)
    except NotRunError as missing:
        return Verdict(claim, check, None, None, NOT_JUDGED, NO_VERDICT, str(missing))
    try:
        printed = judge(check, published)
    except NotRunError:
        printed = None
    there = printed.outcome if printed else NOT_JUDGED
    if why := _no_verdict(check, ours, results):
        return Verdict(claim, check, printed, ours, there, NO_VERDICT, why)
    return Verdict(claim, check, printed, ours, there, ours.outcome, ours.reason)


def _no_verdict(check: Check, ours: Judged, results: Evidence) -> str:
    """Why a run is too small or too different for a verdict; empty where it is not."""
    reasons = []
    if ours.replications < check.replications:
        reasons.append(
            f"{TOO_FEW}: {ours.replications}, and an effect of {check.effect:g} standard deviations of a replication "
            f"needs {check.replications} to be seen with a chance of {POWER:.0%}"
        )
    deviating = [f"{name} ({'; '.join(changes)})" for name, changes in results.deviations().items()]
    return "; ".join([*reasons, *([f"not run as registered: {', '.join(deviating)}"] if deviating else [])])


def decide_about(experiments: Sequence[str], results_dir: Path) -> list[Decision]:
    """Decide the claims about some experiments, in their order, each once; those without a check are left out."""
    about: dict[str, tuple[str, Claim]] = {}
    for name in experiments:
        leaf, paper = name.rpartition("/")[2], paper_of(name)
        about |= {c.name: (paper.letter, c) for c in paper.claims if c.checks and c.concerns(leaf)}
    results = Evidence(results_dir)
    published = Published(results)
    return [decide(letter, claim, results, published) for letter, claim in about.values()]
