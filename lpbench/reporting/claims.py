"""Verdicts on the claims of all papers: each check on the published numbers and on ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lpbench.analysis.claims import (
    FAILS,
    HOLDS,
    MOSTLY,
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
from lpbench.reporting.paper import Paper, paper_of, papers

#: How the reason begins where a run has too few replications for a verdict.
TOO_FEW = "too few replications"


@dataclass(frozen=True)
class CheckVerdict:
    """One check of one claim on both sources."""

    claim: Claim
    check: Check
    published: Judged | None  # None where it could not be judged
    ours: Judged | None
    published_outcome: str
    ours_outcome: str
    reason: str = ""  # why there is no verdict, or why it is undecided
    configuration: str = ""  # the one that judges
    others: Mapping[str, str] = field(default_factory=dict)  # configuration that compares other cells -> our outcome

    @property
    def status(self) -> str:
        """What both outcomes say together."""
        return status(self.published_outcome, self.ours_outcome)


@dataclass(frozen=True)
class Decision:
    """A claim with the verdicts of its checks."""

    paper: str
    claim: Claim
    verdicts: tuple[CheckVerdict, ...]

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
    def depends(self) -> str:
        """Whether another configuration comes to another outcome in a check that counts: yes, no or unknown."""
        pairs = [(o, v.ours_outcome) for v in self.verdicts if v.check.counts for o in v.others.values()]
        if any((a in (HOLDS, MOSTLY)) != (b in (HOLDS, MOSTLY)) for a, b in pairs if NO_VERDICT not in (a, b)):
            return "yes"
        return "unknown" if any(NO_VERDICT in pair for pair in pairs) else "no"

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
        """The reasons of the checks that decide, each once; where none does, why."""
        if not any(v.check.counts for v in self.verdicts):
            return "; ".join(dict.fromkeys(v.check.not_counted_because for v in self.verdicts))
        return "; ".join(dict.fromkeys(v.reason for v in self.verdicts if v.reason and v.check.counts))


def decide_all(results: Evidence) -> list[Decision]:
    """Decide every claim of every paper, in the papers' order."""
    return [decided for paper in papers() for decided in decide(paper, paper.claims, results)]


def decide(paper: Paper, claims: Sequence[Claim], results: Evidence) -> list[Decision]:
    """Run the checks of a paper's claims on the published numbers and on ours, under each of its configurations."""
    evidence = {}
    for name, variants in paper.configurations.items():
        ours = results.under(variants)
        evidence[name] = (ours, Published(ours))
    return [
        Decision(paper.letter, claim, tuple(_verdict(claim, check, evidence) for check in claim.checks))
        for claim in claims
    ]


def _verdict(claim: Claim, check: Check, evidence: Mapping[str, tuple[Evidence, Published]]) -> CheckVerdict:
    judging = check.configuration or next(iter(evidence))
    results, published = evidence[judging]
    results.consulted.clear()
    others: dict[str, str] = {}
    ours, printed, there, here, why = None, None, NOT_JUDGED, NO_VERDICT, ""
    try:
        ours = judge(check, results, judges_power=True)
    except NotRunError as missing:
        return CheckVerdict(claim, check, None, None, there, here, str(missing), judging)
    try:
        printed = judge(check, published)
        there = printed.outcome
    except NotRunError:
        pass
    if not (why := _no_verdict(check, ours, results)):
        here, why = ours.outcome, ours.reason
    for name, (other, _) in evidence.items():
        if name != judging and (found := _elsewhere(check, ours, other)):
            others[name] = found
    return CheckVerdict(claim, check, printed, ours, there, here, why, judging, others)


def _elsewhere(check: Check, ours: Judged, other: Evidence) -> str:
    """Outcome under another configuration; empty where it compares the same cells."""
    try:
        instances = list(check.find(other))
    except NotRunError:
        return NO_VERDICT
    if [i.cells.keys for i in instances] == [i.cells.keys for i in ours.instances]:
        return ""
    return judge(replace(check, find=lambda _: instances), other).outcome


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
    about: dict[str, tuple[Paper, dict[str, Claim]]] = {}
    for name in experiments:
        leaf, paper = name.rpartition("/")[2], paper_of(name)
        mine = about.setdefault(paper.name, (paper, {}))[1]
        mine |= {c.name: c for c in paper.claims if c.checks and c.concerns(leaf)}
    results = Evidence(results_dir)
    return [decided for paper, claims in about.values() for decided in decide(paper, list(claims.values()), results)]
