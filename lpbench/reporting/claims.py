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
        Columns :data:`CLAIM_COLUMNS`; ``verdict`` is holds, fails or not_run, ``evidence`` says with which numbers,
        and names the experiments among them that were not run as they are registered.
    """
    rows = []
    for paper in papers():
        for claim in paper.claims:
            results.consulted.clear()
            found = claim.verdict(results)
            deviating = [f"not as registered: {text}" for text in results.deviations()]
            evidence = "; ".join([found.evidence, *deviating])
            row = (paper.letter, claim.name, claim.artefact, claim.statement, found.verdict, evidence)
            rows.append(dict(zip(CLAIM_COLUMNS, row, strict=True)))
    return pd.DataFrame(rows, columns=CLAIM_COLUMNS)
