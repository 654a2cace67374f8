"""Claims as pages show them: statement, status, and the evidence of every check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lpbench.analysis import read_csv
from lpbench.reporting.pages.statuses import status_of
from lpbench.reporting.paper import papers


def shown_claims(folder: Path) -> list[dict[str, Any]]:
    """Read ``claims.csv`` of a report: one dictionary a claim, in the papers' order.

    Returns
    -------
    list of dict
        ``paper``, ``claim``, ``artefact``, ``statement``, ``rule``; ``status``; ``checks``: what was checked, its chart
        and its lines; ``concerns``: function(leaf) that says whether it is about an artefact.
    """
    known = {claim.name: claim for paper in papers() for claim in paper.claims}
    found = []
    for row in read_csv(folder / "claims.csv").to_dict("records"):
        claim = known.get(row["claim"])
        evidence = {"name": "", "chart": None, "lines": [row["evidence"]] if row.get("evidence") else []}
        found.append({
            **{key: row[key] for key in ("paper", "claim", "artefact", "statement")},
            "rule": claim.judged_by if claim else "", "status": status_of(row), "checks": [evidence],
            "concerns": claim.concerns if claim else lambda leaf: False,
        })  # fmt: skip
    return found
