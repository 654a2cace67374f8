"""Verdicts of a run with another seed, ``claims_seed2026.csv``, and which of them differ from the committed ones."""

from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.claims import NO_VERDICT, as_verdict, weakest
from lpbench.reporting.claim_files import tabulate
from lpbench.reporting.claims import decide_all
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.numbers import per_cent

SEED = 2026
FILE = f"claims_seed{SEED}.csv"
KEYS = ["paper", "claim", "check"]
OUTCOMES = ["published_outcome", "ours_outcome"]
COLUMNS = [
    *(*KEYS, "configuration", "counts", "replications", "published", "ours", "ours_low", "ours_high"),
    *(*OUTCOMES, "stability", "power"),
]


def write_other_seed(results: Path, folder: Path) -> Path:
    """Judge all claims on a results folder of the other seed and write :data:`FILE`."""
    verdicts = tabulate(decide_all(Evidence(results))).verdicts
    write_csv(verdicts.loc[verdicts["judges"], COLUMNS], folder / FILE)
    return folder / FILE


def changes(first: Path, second: Path) -> tuple[pd.DataFrame, str]:
    """Checks that both files judge and whose outcome differs (``_other``: the second file), and how many in words."""
    tables = [pd.read_csv(p, dtype=str, keep_default_na=False) for p in (first, second)]
    one, other = (t[t["judges"] != "false"] if "judges" in t else t for t in tables)
    both, ours = one.merge(other, on=[*KEYS, "configuration"], suffixes=("", "_other")), OUTCOMES[1]
    judged = both[(both[[ours, f"{ours}_other"]] != NO_VERDICT).all(axis=1)]
    differ = np.any([judged[c] != judged[f"{c}_other"] for c in OUTCOMES], axis=0)
    claims = judged[judged["counts"] == "true"].groupby(KEYS[:2], sort=False)[[ours, f"{ours}_other"]].agg(weakest)
    moved = (claims[ours].map(as_verdict) != claims[f"{ours}_other"].map(as_verdict)).sum()
    left = len(one) - len(judged)
    said = (
        f"{differ.sum()} of {len(judged)} checks have another outcome, {moved} of the {len(claims)} claims that have "
        "a verdict under both"
    )
    return judged[differ], said + (f"; {left} checks were not judged under both seeds" if left else "")


def changes_in_words(folder: Path) -> tuple[str, list[str], list[list[str]]] | None:
    """The committed comparison: a sentence, the heads and the rows of a table; None where no other seed was run."""
    if not (folder / FILE).is_file():
        return None
    found, said = changes(folder / "verdicts.csv", folder / FILE)
    rows = [
        [
            f"{row.claim}, {row.check}",
            f"{row.published_outcome} / {row.ours_outcome}",
            f"{row.published_outcome_other} / {row.ours_outcome_other}",
            ", ".join(per_cent(float(v)) if v else "–" for v in (row.stability, row.stability_other)),
        ]
        for row in found.itertuples()
    ]
    heads = ["check", "print / ours", f"with seed {SEED}", "kept by resamples"]
    return f"With seed {SEED}, {said}.", heads, rows
