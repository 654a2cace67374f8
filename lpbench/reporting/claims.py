"""Verdicts on what the papers say in words: a small tested function for each claim.

Modules of :mod:`lpbench.papers` named ``claims`` register deciders
(:func:`lpbench.reporting.claim_registry.decider`); they are found by walking the package.
"""

from __future__ import annotations

import importlib
import pkgutil

import pandas as pd

from lpbench.reporting.claim_registry import DECIDERS, Verdict, decider
from lpbench.reporting.evidence import NotRunError, Results
from lpbench.reporting.published import read

CLAIM_COLUMNS = ["paper", "claim", "artefact", "statement", "verdict", "evidence"]


def load_deciders() -> None:
    """Import the claims of every paper."""
    papers = importlib.import_module("lpbench.papers")
    for module in pkgutil.walk_packages(papers.__path__, "lpbench.papers."):
        if "claims" in module.name:
            importlib.import_module(module.name)


def decide(results: Results) -> pd.DataFrame:
    """Decide every claim of ``results/published/claims.csv``, in its order.

    Returns
    -------
    DataFrame
        Columns :data:`CLAIM_COLUMNS`; ``verdict`` is holds, fails or not_run, ``evidence`` says with which numbers.
    """
    load_deciders()
    rows = []
    for claim in read("claims.csv").to_dict("records"):
        verdict = _decide(claim["claim"], results)
        keys = {key: claim[key] for key in ("paper", "claim", "artefact", "statement")}
        rows.append(keys | {"verdict": verdict.verdict, "evidence": verdict.evidence})
    return pd.DataFrame(rows, columns=CLAIM_COLUMNS)


def _decide(claim: str, results: Results) -> Verdict:
    if claim not in DECIDERS:
        return Verdict("not_run", "no decider is registered for this claim")
    try:
        return DECIDERS[claim](results)
    except NotRunError as missing:
        return Verdict("not_run", str(missing))


__all__ = ["CLAIM_COLUMNS", "DECIDERS", "NotRunError", "Results", "Verdict", "decide", "decider"]
