"""Claims as pages show them: statement, status, and the evidence of every check as dots with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lpbench.reporting.claim_files import read_claims
from lpbench.reporting.pages.charts import Intervals, Value, intervals
from lpbench.reporting.pages.names import label_of
from lpbench.reporting.pages.statuses import STATUSES
from lpbench.reporting.paper import papers
from lpbench.reporting.render import in_symbols

#: Instances beyond these are not drawn: ``claims_instances.csv`` has all.
DRAWN = 14


def shown_claims(folder: Path) -> list[dict[str, Any]]:
    """Read a report's claims: one dictionary a claim, in the papers' order.

    Returns
    -------
    list of dict
        ``paper``, ``claim``, ``artefact``, ``statement``, ``reasons``, ``cause``; ``status``; ``checks``: what was
        checked, its chart and its lines; ``changed``: rules that were changed after results were known; ``concerns``:
        function(leaf) that says whether it is about an artefact.
    """
    known = {claim.name: claim for paper in papers() for claim in paper.claims}
    found = []
    for row in read_claims(folder):
        claim = known.get(row["claim"])
        found.append({
            **{key: row[key] for key in ("paper", "claim", "reasons", "cause", "depends")},
            "artefact": label_of(row["artefact"]),
            "statement": in_symbols(row["statement"]), "status": STATUSES[row["status"]],
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
        outcomes += f" {100 * row['stability']:.0f} % of resamples of the replications keep ours."
    if row["power"] == row["power"]:
        outcomes += f" If the sentence is true, the check says so in {100 * row['power']:.0f} % of runs like this one."
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
