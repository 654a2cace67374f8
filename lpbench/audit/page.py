"""The page of the audit, in Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lpbench.audit.costs import Cost, WireCost
from lpbench.audit.empirical import detectable
from lpbench.audit.known_bad import KNOWN_BAD, KNOWN_GOOD
from lpbench.audit.table import EPSILON, FALSE_ALARM, Row, failure_per_row


def page(
    rows: Sequence[tuple[str, Row]],
    samples: int,
    seed: int,
    costs: Sequence[Cost],
    wire: Mapping[str, WireCost],
    released: Mapping[str, Sequence] | None = None,
) -> str:
    """Write the page.

    Parameters
    ----------
    rows : sequence of (kind, Row)
    samples, seed : int
    costs : sequence of Cost
        What the protocols were measured to cost.
    wire : mapping of method -> WireCost
        What each method puts on the wire.
    released : mapping of repository -> deviations
        Where released code departs from its paper (:class:`lpbench.reporting.paper.Deviation`); those without a
        bearing on the privacy loss are left out.
    """
    parts = [
        "# Privacy audit",
        _introduction(samples, seed),
        "## Methods",
        _methods([row for kind, row in rows if kind == "method"], wire),
        "Bits and bytes are those of the audit's small world (three features, few cells); the last section has "
        "realistic sizes. *Bytes up* are all reports of a user on the wire, envelopes included; *curator* is what must "
        "be held of them (for central models, both of what is released). `none` marks references without protection. "
        "Slack is what a method promises to spend and does not; settings that use it are listed too.",
        "## Mechanisms known to be wrong",
        "Each must be caught by both audits.",
        _mechanisms([row for kind, row in rows if kind == "bad"], KNOWN_BAD, "what is wrong", "caught"),
        "## Mechanisms that keep their promise",
        "None may be accused.",
        _mechanisms([row for kind, row in rows if kind == "good"], KNOWN_GOOD, "what it spends", "accused"),
        "## Deviations in released code",
        *(part for repository, deviations in (released or {}).items() for part in _deviations(repository, deviations)),
        "## What the protocols cost",
        _costs(costs),
    ]
    return "\n\n".join(parts) + "\n"


def _deviations(repository: str, deviations: Sequence) -> list[str]:
    return [
        f"Facts about files of the public repository {repository} at the commits named (both where the record does "
        "not tell them apart), described and not copied; they say nothing about other versions. The last column names "
        "the mechanism above that rebuilds the deviation.",
        _table(
            ["where", "commit", "what the file does", "privacy loss", "rebuilt as"],
            [
                [d.place, d.commit, d.fact, d.loss, f"`{d.known_bad}`" if d.known_bad else ""]
                for d in deviations
                if d.loss
            ],
        ),
    ]


def _introduction(samples: int, seed: int) -> str:
    failure = failure_per_row()
    return (
        f"Every method at epsilon = {EPSILON:g}, from {samples:,} transcripts of each of two protected values "
        f"(seed {seed}).\n\n"
        "- *Exact*: supremum of the log-ratio over all protected values, all reports and both directions, all rounds "
        "composed; enumerated where reports are finite, analytic where they are not.\n"
        "- *Sampled*: lower bound from the transcripts alone, on the pair of values that a pilot sample tells apart "
        "best. The event is chosen on one half of the sample and tested on the other (Clopper-Pearson).\n"
        f"- Each bound is wrong with probability at most {failure:.2g}. The probability that anything on this page "
        f"that keeps its promise is accused is at most {FALSE_ALARM:g} (Bonferroni).\n"
        f"- A sample of this size can prove at most {detectable(samples, failure):.3g}."
    )


def _methods(rows: Sequence[Row], wire: Mapping[str, WireCost]) -> str:
    header = ["method", "model", "promised", "exact", "slack", "sampled"]
    header += ["rounds", "bits up", "bits down", "bytes up", "curator, bytes"]
    body = []
    for row in rows:
        losses = map(_number, (row.claimed_epsilon, row.exact_epsilon, row.slack, row.lower_bound))
        cost = wire[row.method]
        held = f"{cost.curator_bytes:g} per user" if cost.keep == "rows" else f"{cost.curator_bytes:g}"
        sizes = row.rounds, _number(row.bits_up), _number(row.bits_down), cost.user_bytes, held
        body.append([f"`{row.method}`", _model(row), *losses, *sizes, row.note])
    return _table([*header, "note"], body)


def _mechanisms(rows: Sequence[Row], notes: Mapping[str, tuple], what: str, verdict: str) -> str:
    body = []
    for row in rows:
        losses = map(_number, (row.claimed_epsilon, row.exact_epsilon, row.lower_bound))
        body.append([f"`{row.method}`", notes[row.method][0], *losses, "yes" if row.accused else "no"])
    return _table(["mechanism", what, "claimed", "exact", "sampled", verdict], body)


def _costs(costs: Sequence[Cost]) -> str:
    header = ["protocol", "users", "round", "payload, bits", "report, bytes", "down, bits", "curator, bytes", "kept"]
    body = [
        [c.protocol, c.users, c.round, c.payload_bits, c.report_bytes, c.bits_down, c.curator_bytes, c.kept]
        for c in costs
    ]
    return (
        "Measured on serialised reports of 8 features and 16 tree cells; the envelope takes "
        f"{costs[0].envelope_bytes} bytes of each. *Curator* is what must be held of the reports until the round is "
        "closed, beside 16 bytes for every user who has reported.\n\n"
        + _table(header, body)
        + "\n\nH A.2 counts d + 1 real numbers for round 1 (the wire adds one bit per feature, which says what is "
        "protected) and t^s 2^p bits for round 2: measured so for randomised response; the category of generalised "
        "randomised response takes the logarithm of that. H A.2 gives the curator O(t^s 2^p) memory. That holds for "
        "the fitted model, but not on the way: (6) and (9) multiply each user's label with the user's cell, so that "
        "the labels of round 1 must be kept, or sent again with the cells."
    )


def _table(header: Sequence[str], rows: Sequence[Sequence]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞"
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _model(row: Row) -> str:
    return row.model if row.delta == 0 else f"{row.model}, δ = {row.delta:.1g}"
