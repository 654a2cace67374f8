"""Claims as pages show them: statement, status as word, sign and colour, and each check as dots with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lpbench.analysis.claims import FAILS, HOLDS, NO_VERDICT, NOT_PRINTED, UNDECIDED
from lpbench.reporting.claim_files import read_claims
from lpbench.reporting.numbers import per_cent
from lpbench.reporting.pages.charts import Intervals, Value
from lpbench.reporting.pages.names import label_of
from lpbench.reporting.paper import papers
from lpbench.reporting.render import in_symbols

#: Instances beyond these are not drawn: ``claims_instances.csv`` has all.
DRAWN = 14


@dataclass(frozen=True)
class Status:
    """An outcome of a claim, on our numbers or in print."""

    label: str  # as in ``verdicts.csv``
    tone: str  # class of the colour
    sign: str  # for those who do not see the colour


#: From the best news to none.
STATUSES = {
    s.label: s
    for s in (
        Status(HOLDS, "good", "✓"),
        Status(UNDECIDED, "open", "≈"),
        Status(FAILS, "bad", "✗"),
        Status(NO_VERDICT, "none", "○"),
        Status(NOT_PRINTED, "none", "–"),
    )
}


def counts(claims: Iterable[Mapping[str, Any]]) -> list[tuple[Status, int]]:
    """How often each outcome of ours occurs, without the claims that count apart."""
    labels = [c["status"].label for c in claims if not c["counted_apart"]]
    return [(status, labels.count(label)) for label, status in STATUSES.items() if label in labels]


def here_and_in_print(ours: str, printed: str) -> str:
    """Both outcomes of a claim: "holds here and in print"."""
    if printed == NOT_PRINTED:
        return f"{ours} here"
    return f"{ours} here and in print" if ours == printed else f"{ours} here, {printed} in print"


def shown_claims(folder: Path) -> list[dict[str, Any]]:
    """Read a report's claims: one dictionary a claim, in the papers' order."""
    known = {claim.name: claim for paper in papers() for claim in paper.claims}
    found = []
    for row in read_claims(folder):
        claim = known.get(row["claim"])
        found.append({
            **{key: row[key] for key in ("paper", "claim", "reason", "cause", "depends", "counted_apart", "print")},
            "artefact": label_of(row["artefact"]),
            "statement": in_symbols(row["sentence"]), "ours": row["ours"], "status": STATUSES[row["ours"]],
            "words": here_and_in_print(row["ours"], row["print"]),
            "checks": [_check(check) for check in row["checks"]],
            "changed": [check["changed"] for check in row["checks"] if check["changed"]],
            "concerns": claim.concerns if claim else lambda leaf: False,
        })  # fmt: skip
    return found


def _check(row: Mapping[str, Any]) -> dict[str, Any]:
    """One check: its rule, the outcomes, and a chart."""
    outcomes = f"In print: {row['published_outcome']}. Ours ({row['configuration']}): {row['ours_outcome']}."
    if row["stability"] == row["stability"]:
        outcomes += f" Bootstrap: {per_cent(row['stability'])} of resamples give the same verdict."
    if row["power"] == row["power"]:
        outcomes += f" Power of the check: {per_cent(row['power'])}."
    for other in row["others"]:
        outcomes += f" Under “{other['configuration']}”: {other['ours_outcome']}."
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
        rows.setdefault(point["instance"], []).append(Value(point["value"], point["low"], point["high"], kind))
    return Intervals(list(rows.items())[:DRAWN]) if rows else None
