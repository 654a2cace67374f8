"""List the verdicts that another seed changes.

``python scripts/compare_seeds.py results/reproduced/claims.csv FOLDER/claims.csv``
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from lpbench.files import write_text
from lpbench.paths import ROOT

OUTPUT = ROOT / "results" / "reproduced" / "claims_seed2026.csv"
KEYS = ["paper", "claim", "check"]
COLUMNS = ["counts", "ours_outcome", "status", "claim_status", "stability", "power"]
#: Of these a difference is a change of verdict.
VERDICT = ["ours_outcome", "status", "claim_status"]


def changes(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Checks whose outcome or whose claim's status differs, a row each, and how many were compared in a sentence."""
    both = first.set_index(KEYS)[COLUMNS].join(second.set_index(KEYS)[COLUMNS].add_suffix("_other"), how="inner")
    judged = both[(both["ours_outcome"] != "no verdict") & (both["ours_outcome_other"] != "no verdict")]
    changed = judged[[(row[VERDICT].to_numpy() != row[[f"{c}_other" for c in VERDICT]].to_numpy()).any()
                      for _, row in judged.iterrows()]]  # fmt: skip
    own = (judged["ours_outcome"] != judged["ours_outcome_other"]).sum()
    claims = judged.groupby(KEYS[:2])[["claim_status", "claim_status_other"]].first()
    moved = (claims["claim_status"] != claims["claim_status_other"]).sum()
    said = f"{own} of {len(judged)} checks have another outcome and {moved} of {len(claims)} claims another status"
    return changed.reset_index(), said


def main(first: str, second: str) -> None:
    """Compare two ``claims.csv``, write what changed, and say how many were compared."""
    table, said = changes(*(pd.read_csv(path, dtype=str, keep_default_na=False) for path in (first, second)))
    write_text(OUTPUT, table.to_csv(index=False))
    print(f"{said}: {OUTPUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main(*map(str, map(Path, sys.argv[1:])))
