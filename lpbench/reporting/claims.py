"""Verdicts on the claims of all papers: each check on the published numbers and on ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import pandas as pd

from lpbench.analysis.claims import (
    CONTRADICTS,
    FAILS,
    NO_VERDICT,
    NOT_PRINTED,
    POWER,
    Check,
    Claim,
    Judged,
    judge,
    weakest,
)
from lpbench.analysis.instances import KEY, Instance
from lpbench.analysis.rates import Interval
from lpbench.derivation import remembered
from lpbench.errors import NotRunError
from lpbench.paths import COMMITTED
from lpbench.privacy.users import content_hash
from lpbench.reporting.evidence import Evidence, Published
from lpbench.reporting.paper import Paper, paper_of, papers

#: Instances of claims under the other seed, where it was run: columns of ``claims_instances.csv``.
OTHER_SEED_INSTANCES = "claims_instances_seed2026.csv"
#: How the reason begins where a run has too few replications for a verdict.
TOO_FEW = "too few replications"


@dataclass(frozen=True)
class CheckVerdict:
    """One check of one claim under one configuration, on both sources: printed numbers and our scores.

    ``published`` and ``ours`` are what was judged on each (None: not at hand), with the outcome beside; ``reason`` says
    why there is no verdict, ``cause`` why it fails if that is known, and ``others`` are verdicts under other
    configurations.
    """

    check: Check
    configuration: str
    published: Judged | None = None  # None where it could not be judged
    ours: Judged | None = None
    published_outcome: str = NOT_PRINTED
    ours_outcome: str = NO_VERDICT
    reason: str = ""  # why there is no verdict, or why it is undecided
    cause: str = ""  # tested causes of differences that concern a cell of a check that fails
    others: tuple[CheckVerdict, ...] = ()  # the same under the configurations that compare other cells


@dataclass(frozen=True)
class Decision:
    """A claim with the verdicts of its checks under the configuration that judges it."""

    paper: str
    claim: Claim
    verdicts: tuple[CheckVerdict, ...]

    @property
    def outcomes(self) -> tuple[str, str]:
        """Published and ours: as weak as the weakest check that counts."""
        counted = [v for v in self.verdicts if v.check.counts]
        ours = [v.ours_outcome for v in counted] or [NO_VERDICT]
        return weakest(v.published_outcome for v in counted), weakest(ours)

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
        ours = Evidence(results.results, variants, paper)  # files are read once
        evidence[name] = (ours, Published(ours))
    decisions = []
    for claim in claims:
        judging = paper.judge_of(claim.artifact)
        verdicts = []
        for check in claim.checks:
            first = _verdict(paper, claim.name, check, judging, evidence)
            names = [name for name in evidence if name != judging and first.ours]
            beside = (_elsewhere(paper, claim.name, first, name, evidence) for name in names)
            verdicts.append(replace(first, others=tuple(verdict for verdict in beside if verdict is not None)))
        decisions.append(Decision(paper.letter, claim, tuple(verdicts)))
    return decisions


def _verdict(
    paper: Paper, claim: str, check: Check, name: str, evidence: Mapping[str, tuple[Evidence, Published]]
) -> CheckVerdict:
    """Judge a check on our scores and on the printed numbers, under the configuration ``name``.

    ``evidence`` has for each configuration our scores and the printed numbers. Without our scores the verdict has only
    the reason.
    """
    results, published = evidence[name]
    results.consulted.clear()
    try:
        instances = tuple(check.find(results))
        ours = _judged(check, instances, confirmed(claim, check) if _is_own_seed(results) else ())
    except NotRunError as missing:
        return CheckVerdict(check, name, reason=str(missing))
    try:
        printed = _judged(check, tuple(check.find(published)), ())
    except NotRunError:
        printed = None
    why = _no_verdict(check, ours, results)
    outcome = NO_VERDICT if why else ours.outcome
    cells = [dict(zip(KEY, key, strict=True)) for i in ours.instances for key in i.cells.keys]
    causes = "; ".join(paper.differences.causes_of(*cells)) if outcome == FAILS else ""
    in_print = printed.outcome if printed else NOT_PRINTED
    return CheckVerdict(check, name, printed, ours, in_print, outcome, why or ours.reason, causes)


def _judged(check: Check, instances: tuple[Instance, ...], twice: Sequence[str]) -> Judged:
    """Return :func:`judge` of a check on instances, cached by their numbers, as it takes a tenth of a second.

    ``twice`` names the instances that a run with another seed contradicts as well.
    """
    about = content_hash((instances, check.region, check.quantifier, check.effect, tuple(twice))).hex()
    judged = lambda: asdict(replace(judge(check, instances, twice), instances=()))  # noqa: E731
    stored = remembered(f"judged {about}", judged, {}, [Judged.__module__])
    each, overall = tuple(Interval(**one) for one in stored["intervals"]), Interval(**stored["overall"])
    counts = tuple(stored["counts"])
    return Judged(**stored | {"instances": instances, "intervals": each, "overall": overall, "counts": counts})


def confirmed(claim: str, check: Check) -> tuple[str, ...]:
    """Names of a check's instances that the committed run of the other seed contradicts.

    Only a contradiction that both seeds give refutes a claim about every instance; empty for other claims.
    """
    path = COMMITTED / OTHER_SEED_INSTANCES
    if check.quantifier != "every" or not path.is_file():
        return ()
    rows = pd.read_csv(path)
    rows = rows[(rows["claim"] == claim) & (rows["check"] == check.name) & (rows["outcome"] == CONTRADICTS)]
    return tuple(rows["instance"])


def _is_own_seed(results: Evidence) -> bool:
    """Return True unless an experiment used here was run with another seed than registered."""
    artifacts = (results.results.artifact(name) for name in results.consulted)
    return not any(change.startswith("seed:") for artifact in artifacts for change in artifact.deviations)


def _elsewhere(
    paper: Paper, claim: str, first: CheckVerdict, name: str, evidence: Mapping[str, tuple[Evidence, Published]]
) -> CheckVerdict | None:
    """Return a check's verdict under another configuration ``name``; None where it compares the same cells.

    ``first`` is the verdict that decides.
    """
    try:
        instances = list(first.check.find(evidence[name][0]))
    except NotRunError as missing:
        return CheckVerdict(first.check, name, reason=str(missing))
    if first.ours and [i.cells.keys for i in instances] == [i.cells.keys for i in first.ours.instances]:
        return None
    return _verdict(paper, claim, first.check, name, evidence)


def _no_verdict(check: Check, ours: Judged, results: Evidence) -> str:
    """Return the reasons why a run is too small or too different for a verdict; empty if there is none."""
    reasons = []
    if ours.replications < check.replications:
        reasons.append(
            f"{TOO_FEW}: {ours.replications} were run, and an effect of {check.effect:g} standard deviations of a "
            f"replication is found in {POWER:.0%} of runs only with {check.replications}"
        )
    deviating = [f"{name} ({'; '.join(changes)})" for name, changes in results.deviations().items()]
    return "; ".join([*reasons, *([f"not run as registered: {', '.join(deviating)}"] if deviating else [])])


def claims_about(paper: Paper, *leaves: str) -> list[Claim]:
    """Claims of a paper about some of its artifacts, in their order, each once; those without a check are left out."""
    return list({c.name: c for leaf in leaves for c in paper.claims if c.checks and c.concerns(leaf)}.values())


def by_paper(experiments: Sequence[str]) -> list[tuple[Paper, list[Claim]]]:
    """The papers of some experiments, each with its claims about them."""
    leaves: dict[Paper, list[str]] = {}
    for name in experiments:
        leaves.setdefault(paper_of(name), []).append(name.rpartition("/")[2])
    return [(paper, claims_about(paper, *names)) for paper, names in leaves.items()]


def decide_about(experiments: Sequence[str], results: Evidence) -> list[Decision]:
    """Decide the claims that are about some experiments, by the scores of a results folder."""
    return [decided for paper, claims in by_paper(experiments) for decided in decide(paper, claims, results)]
