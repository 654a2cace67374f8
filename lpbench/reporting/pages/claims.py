"""Claims as pages show them: statement, status as word, sign and colour, and each check as dots with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lpbench.reporting.claim_files import read_claims
from lpbench.reporting.numbers import per_cent
from lpbench.reporting.pages.charts import Intervals, Value, intervals
from lpbench.reporting.pages.names import label_of
from lpbench.reporting.paper import papers
from lpbench.reporting.render import in_symbols

#: Instances beyond these are not drawn: ``claims_instances.csv`` has all.
DRAWN = 14


@dataclass(frozen=True)
class Status:
    """A status of a claim."""

    label: str  # as in ``claims.csv``
    tone: str  # class of the colour
    sign: str  # for those who do not see the colour


#: From the best news to none.
SHOWN_STATUSES = {
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


def counts(found: Iterable[Status]) -> list[tuple[Status, int]]:
    """How often each status occurs, from the best news to none; those that do not occur are left out."""
    labels = [s.label for s in found]
    known = {**SHOWN_STATUSES, **{s: Status(s, "none", "○") for s in labels if s not in SHOWN_STATUSES}}
    return [(status, labels.count(label)) for label, status in known.items() if label in labels]


def shown_claims(folder: Path) -> list[dict[str, Any]]:
    """Read a report's claims: one dictionary a claim, in the papers' order."""
    known = {claim.name: claim for paper in papers() for claim in paper.claims}
    found = []
    for row in read_claims(folder):
        claim = known.get(row["claim"])
        found.append({
            **{key: row[key] for key in ("paper", "claim", "reasons", "cause", "depends")},
            "artefact": label_of(row["artefact"]),
            "statement": in_symbols(row["statement"]), "status": SHOWN_STATUSES[row["status"]],
            "checks": [_check(check) for check in row["checks"]],
            "changed": [check["changed"] for check in row["checks"] if check["changed"]],
            "concerns": claim.concerns if claim else lambda leaf: False,
        })  # fmt: skip
    return found


def _check(row: Mapping[str, Any]) -> dict[str, Any]:
    """One check: its rule, the outcomes, and a chart."""
    outcomes = f"In the paper's numbers: {row['published_outcome']}. Ours: {row['ours_outcome']}."
    if row["half_margin"] and (row["half_margin"], row["double_margin"]) != (row["ours_outcome"],) * 2:
        outcomes += f" With half the margin: {row['half_margin']}, with twice the margin: {row['double_margin']}."
    if row["stability"] == row["stability"]:
        outcomes += f" {per_cent(row['stability'])} of resamples of the replications keep ours."
    if row["power"] == row["power"]:
        outcomes += f" If the sentence is true, the check says so in {per_cent(row['power'])} of runs like this one."
    if row["others"]:
        outcomes += f" Judged under “{row['configuration']}”; under other configurations: {row['others']}."
    changed = f"Changed after results were known: {row['changed']}." if row["changed"] else ""
    more = len({point["instance"] for point in row["points"]}) - DRAWN
    rest = f"{more} more instances are in claims_instances.csv." if more > 0 else ""
    return {
        "name": row["check"],
        "chart": _chart(row["points"]),
        "lines": [line for line in (row["rule"], outcomes, row["reason"], changed, rest) if line],
    }


def _chart(points: Sequence[Mapping[str, Any]]) -> Intervals | None:
    rows: dict[str, list[Value]] = {}
    for point in points:
        kind = "ours" if point["source"] == "ours" else "theirs"
        low, high = (v if math.isfinite(v) else math.nan for v in (point["low"], point["high"]))
        rows.setdefault(point["instance"], []).append(Value(point["value"], low, high, kind))
    return intervals(list(rows.items())[:DRAWN]) if rows else None
