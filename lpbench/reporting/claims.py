"""Verdicts on the claims of all papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lpbench.analysis.claims import Claim, Verdict
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.paper import paper_of, papers

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


def decide_about(experiments: Sequence[str], results_dir: Path) -> list[tuple[Claim, Verdict]]:
    """Decide the claims about some experiments, in their order, each once; those without a rule are left out."""
    about: dict[str, Claim] = {}
    for name in experiments:
        leaf = name.rpartition("/")[2]
        about |= {c.name: c for c in paper_of(name).claims if c.decide is not None and c.concerns(leaf)}
    results = Evidence(results_dir)
    return [(claim, claim.verdict(results)) for claim in about.values()]
