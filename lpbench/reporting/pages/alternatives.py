"""Power of a paper's printed numbers to identify its methods: alternatives and wrong implementations, by class."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis.alternatives import BUDGET, CANNOT_TELL, DIFFERENT, EQUIVALENT, METHOD, identified, wrong_in_place
from lpbench.analysis.numbers import counts, distinct_fits, judged_numbers
from lpbench.reporting.alternative_table import COLUMN
from lpbench.reporting.number_table import with_margins
from lpbench.reporting.numbers import per_cent
from lpbench.reporting.paper import Paper

#: Multiples of the print's assumed standard error under which classes are counted.
FACTORS = (0.0, 1.0, 2.0)
#: What counts, in words.
COUNTED = {METHOD: "method", BUDGET: "budget", "": "nothing"}


def telling(paper: Paper, numbers: pd.DataFrame, alternatives: pd.DataFrame, labels: Mapping[str, str]) -> dict | None:
    """Collect a page's section on alternatives: how well printed numbers tell wrong methods from the right one.

    None where no alternative was run.
    """
    judged = judged_numbers(numbers[numbers["paper"] == paper.name])
    beside = with_margins(alternatives, judged)
    if not ((beside["counted"] != "") & beside["value"].notna()).any():
        return None
    kinds = np.where(judged.set_index("artifact")["x"].groupby(level=0).first().notna(), "curves", "tables")
    kind = dict(zip(sorted(judged["artifact"].unique()), kinds, strict=True))
    beside = beside.assign(what=beside["artifact"].map(kind))
    n = counts(distinct_fits(judged))
    return {
        "fits": f"{len(judged):,} printed numbers are compared with {n['compared']:,} distinct fits of ours. "
        f"Counted once per fit, {n['method']:,} numbers identify their method, and {n['budget']:,} of these the budget",
        "kinds": sorted(set(kinds), reverse=True),
        "rows": alternative_rows(beside, sorted(set(kinds), reverse=True)),
        "artifacts": artifact_rows(beside, labels),
        "wrong": wrong_in_place(beside, list(dict.fromkeys(one.name for one in paper.alternatives if one.wrong))),
        "identified": counts(judged)["method"],
        "factors": [[f"{factor:g}", *factor_row(beside, factor)] for factor in FACTORS],
    }


def alternative_rows(beside: pd.DataFrame, kinds: Sequence[str]) -> list[list[Any]]:
    """One row per alternative: what it counts against, then for each kind of artifact its numbers by class."""
    name = beside["alternative"].mask(beside["alternative"].str.startswith(f"{COLUMN} "), "another column")
    rows = []
    for alternative, numbers in beside.assign(name=name).groupby("name", sort=False):
        row = [alternative, COUNTED[numbers["counted"].iloc[0]]]
        for what in kinds:
            counts = numbers.loc[numbers["what"] == what, "class"].value_counts()
            row += [int(counts.get(c, 0)) for c in (EQUIVALENT, CANNOT_TELL, DIFFERENT)]
        rows.append(row)
    return rows


def artifact_rows(beside: pd.DataFrame, labels: Mapping[str, str]) -> list[list[str]]:
    """One row per artifact: the share of counted alternatives that differ."""
    rivals = beside[(beside["counted"] != "") & beside["value"].notna()]
    share = (rivals["class"] == DIFFERENT).groupby(rivals["artifact"], sort=False).mean()
    return [[labels.get(artifact, artifact), per_cent(differing)] for artifact, differing in share.items()]


def factor_row(beside: pd.DataFrame, factor: float) -> list[int]:
    """Count numbers that identify method or budget or are equivalent, if printed errors were ``factor`` times ours."""
    identified_rows = identified(beside, factor=factor)
    identifies = identified_rows["identifies"]
    return [
        int((identifies != "").sum()),
        int((identifies == BUDGET).sum()),
        int((identified_rows["class"] == EQUIVALENT)[identifies == ""].sum()),
    ]
