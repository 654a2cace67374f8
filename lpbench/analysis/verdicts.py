"""Table of verdicts, one row per check of a claim under one configuration, and what follows from it for each claim."""

from pathlib import Path

import pandas as pd

from lpbench.analysis.claims import (
    CANNOT_DECIDE,
    FAILS,
    HOLDS,
    NO_VERDICT,
    NOT_PRINTED,
    UNDECIDED,
    as_verdict,
    weakest,
)

#: ``section``: of the paper, where the sentence is quoted; ``agree``, ``undecided``, ``contradict``: instances;
#: ``mirror``: power where the contrary is true; ``judges``: whether the claim rests on this configuration; ``counts``:
#: and on this check.
VERDICT_COLUMNS = (
    "paper claim check configuration judges counts counted_apart artifact section sentence rule quantifier "
    "region_low region_high instances published published_low published_high published_outcome published_agree "
    "published_undecided published_contradict published_power published_mirror published_stability ours ours_low "
    "ours_high ours_outcome agree undecided contradict power mirror stability replications needed reason cause "
    "changed"
).split()
#: What a claim is, in print and here, the best news first.
COUNTED_OUTCOMES = (HOLDS, UNDECIDED, CANNOT_DECIDE, FAILS)


def claims_of(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Reduce verdicts of checks to one row per claim, which has the outcome of its weakest check.

    ``depends`` tells if another configuration comes to another outcome.
    """
    rows = []
    for _, checks in verdicts.groupby(["paper", "claim"], sort=False):
        counted = checks[checks["counts"].astype(bool)]
        judging, others = (counted[counted["judges"].astype(bool) == judges] for judges in (True, False))
        ours = judging["ours_outcome"].tolist()
        outcome_of = judging.set_index("check")["ours_outcome"].to_dict()
        pairs = [(outcome_of[row.check], row.ours_outcome) for row in others.itertuples()]
        differ = any(as_verdict(a) != as_verdict(b) for a, b in pairs if NO_VERDICT not in (a, b))
        reasons = (judging if ours else checks)["reason"]
        printed, final = as_verdict(weakest(judging["published_outcome"])), as_verdict(weakest(ours or [NO_VERDICT]))
        causes = "; ".join(dict.fromkeys(c for c in judging["cause"] if c)) or "no cause was found"
        rows.append(
            {
                **checks.iloc[0][["paper", "claim", "artifact", "section", "sentence", "counted_apart"]].to_dict(),
                "print": printed,
                "ours": final,
                "depends": "yes" if differ else "unknown" if any(NO_VERDICT in pair for pair in pairs) else "no",
                "reason": "; ".join(dict.fromkeys(r for r in reasons if r)),
                "cause": causes if (printed, final) == (HOLDS, FAILS) else "",
            }
        )
    columns = ["paper", "claim", "artifact", "section", "sentence", "counted_apart", "print", "ours", "depends"]
    return pd.DataFrame(rows, columns=[*columns, "reason", "cause"])


def changes(first: Path, second: Path) -> tuple[pd.DataFrame, str]:
    """Return the checks whose outcome differs between two verdict files, and a sentence that counts them.

    Columns of the second file end in ``_other``.
    """
    before, after = (pd.read_csv(path, dtype=str, keep_default_na=False) for path in (first, second))
    before, ours = before[before["judges"] == "true"], ["ours_outcome", "ours_outcome_other"]
    joined = before.merge(after, on=VERDICT_COLUMNS[:4], suffixes=("", "_other"))
    judged = joined[(joined[ours] != NO_VERDICT).all(axis=1)]
    differ = (judged["published_outcome"] != judged["published_outcome_other"]) | (judged[ours[0]] != judged[ours[1]])
    claims = (
        judged[judged["counts"] == "true"]
        .groupby(VERDICT_COLUMNS[:2])[ours]
        .agg(lambda each: as_verdict(weakest(each)))
    )
    words = (
        f"{differ.sum()} of {len(judged)} checks and {(claims[ours[0]] != claims[ours[1]]).sum()} of "
        f"{len(claims)} claims that were judged under both seeds have another outcome"
    )
    skipped = len(before) - len(judged)
    return judged[differ], words + (f". {skipped} checks were judged under one seed alone" if skipped else "")


def cross_table(claims: pd.DataFrame) -> pd.DataFrame:
    """Count claims by outcome here (rows) and in print (columns); those of later origin are left out."""
    claims = claims[~claims["counted_apart"].astype(bool)]
    counted = pd.crosstab(claims["ours"], claims["print"])
    return counted.reindex(
        index=[*COUNTED_OUTCOMES, NO_VERDICT], columns=[*COUNTED_OUTCOMES, NOT_PRINTED], fill_value=0
    )


def in_words(claims: pd.DataFrame) -> str:
    """Count claims by outcome in one sentence."""
    table = cross_table(claims)
    ours, holds = table.sum(axis=1), table.loc[HOLDS]
    first = claims[~claims["counted_apart"].astype(bool)]
    depend, unknown = ((first["depends"] == word).sum() for word in ("yes", "unknown"))
    parts = [
        f"{ours[HOLDS]} hold{'s' if ours[HOLDS] == 1 else ''} here ({holds[HOLDS]} also in print, "
        f"{holds[NOT_PRINTED]} without a printed number)",
        f"{ours[UNDECIDED]} {'is' if ours[UNDECIDED] == 1 else 'are'} undecided",
        *([f"{ours[CANNOT_DECIDE]} cannot be decided"] if ours[CANNOT_DECIDE] else []),
        f"{ours[FAILS]} fail{'s' if ours[FAILS] == 1 else ''}",
        *([f"{ours[NO_VERDICT]} without a verdict"] if ours[NO_VERDICT] else []),
    ]
    text = f"Of {len(first)} claims in words {', '.join(parts)}; "
    text += f"the outcome of {depend} depends on how an open point is interpreted"
    text += f" (not known for {unknown})" if unknown else ""
    apart = len(claims) - len(first)
    return text + (f"; {apart} more sentence{'s are' if apart > 1 else ' is'} counted apart" if apart else "")
