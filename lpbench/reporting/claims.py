"""Verdicts on the claims of all papers."""

from __future__ import annotations

import pandas as pd

from lpbench.reporting.evidence import Evidence
from lpbench.reporting.paper import papers

CLAIM_COLUMNS = ["paper", "claim", "artefact", "statement", "verdict", "evidence"]


def decide(results: Evidence) -> pd.DataFrame:
    """Decide every claim of every paper, in the papers' order.

    Returns
    -------
    DataFrame
        Columns :data:`CLAIM_COLUMNS`; ``verdict`` is holds, fails or not_run, ``evidence`` says with which numbers.
    """
    rows = []
    for paper in papers():
        for claim in paper.claims:
            found = claim.verdict(results)
            row = (paper.letter, claim.name, claim.artefact, claim.statement, found.verdict, found.evidence)
            rows.append(dict(zip(CLAIM_COLUMNS, row, strict=True)))
    return pd.DataFrame(rows, columns=CLAIM_COLUMNS)
