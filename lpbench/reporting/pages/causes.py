"""Published numbers on pages: counts, misses, their causes, and interpretations that were tried.

Everything is a filter of ``numbers.csv``.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis.alternatives import DIFFERENT, NOT_COMPARABLE
from lpbench.analysis.numbers import (
    AFTER_THE_FACT,
    NO_CAUSE,
    NUMBER,
    SUSPECTED,
    by_configuration,
    causes_in_words,
    counts,
    in_words,
    judged_numbers,
)
from lpbench.errors import NotRunError
from lpbench.experiments.method import Method
from lpbench.experiments.results import Results
from lpbench.members import member
from lpbench.reporting.interpretations import SUPPORT, Interpretations
from lpbench.reporting.number_table import TRIED
from lpbench.reporting.numbers import per_cent
from lpbench.reporting.pages.leaderboard import NAMED
from lpbench.reporting.pages.names import sentences
from lpbench.reporting.paper import Paper
from lpbench.reporting.printed_names import dataset_title, method_title
from lpbench.reporting.render import render

#: Counts of a configuration on a page.
TOTALS = (
    *("compared", "method", "alike", "undecided", "different", "apart"),
    *("explained", "after", "chance", "suspected", "open"),
)
#: The same as heads of columns; no alternative was put beside a configuration that does not judge.
TOTAL_HEADS = (
    *("Compared", "Identify their method", "Equivalent, but not alone (or none beside it)", "Cannot tell", "Different"),
    *("Not comparable", "Met by another interpretation", "Found later by search", "By chance"),
    *("Suspected cause", "No cause"),
)
#: Ratio beyond which the largest miss is called a factor.
FACTOR = 2.0
#: A configuration in words.
SETTINGS = {
    "text": "the paper's settings",
    "code": "the authors' code",
    "inferred": "inferred settings",
    AFTER_THE_FACT: "settings found later by search",
}


def said(rows: pd.DataFrame, what: str = "The artifact") -> list[str]:
    """Say whether an artifact's numbers hold here, then why not, class by class; empty without a tolerance."""
    judged = judged_numbers(rows)
    if judged.empty:
        return []
    n, unit = counts(judged), "%" if judged["unit"].iloc[0] == "ratio" else "percentage points"
    under = SETTINGS[judged["configuration"].mode()[0]]
    missed = judged[judged["class"] == DIFFERENT]
    largest = f", by at most {_largest(missed, unit)}" if len(missed) else ""
    margin = f"the margin of {100 * judged['tolerance'].iloc[0]:g} {unit}"
    lines = why(n, what, margin, largest, judged)
    for name, numbers in rows[~rows["judges"].astype(bool) & (rows["configuration"] != TRIED)].groupby("configuration"):
        if (m := counts(numbers[numbers["class"] != ""]))["compared"]:
            others = f"{m['equivalent']:,} of {m['compared']:,} numbers are equivalent to ours"
            under += f". With {SETTINGS.get(name, name)}, {others}"
    return [*lines, f"These counts are for our runs with {under}."]


def why(
    n: Mapping[str, int],
    what: str,
    margin: str = "the margin",
    largest: str = "",
    judged: pd.DataFrame | None = None,
) -> list[str]:
    """Say whether a table, a figure or the printed numbers hold here, then why not, class by class, without zeros.

    The rows that are ``judged`` name the three causes that are suspected most often, a line each, with the numbers
    that each is suspected for, and the data sets whose numbers cannot be compared.
    """
    named: dict[str, Any] = {"suspects": [], "apart": ""}
    if judged is not None:
        suspected = judged[(judged["class"] == DIFFERENT) & (judged["cause"] == SUSPECTED)]
        hints = suspected["reason"].str.split("; ").explode().value_counts().head(3)
        sets = judged.loc[judged["class"] == NOT_COMPARABLE, "dataset"]
        counted = [f"{dataset_title(name)} {n}" for name, n in sets[sets != ""].value_counts().sort_index().items()]
        named = {
            "suspects": list(hints.items()),
            "apart": f" ({', '.join(counted)})" if 0 < len(counted) < NAMED else "",
        }
    return render("why.md.j2", n=n, what=what, margin=margin, largest=largest, **named).splitlines()


def in_plain(cause: str) -> str:
    """Return a cause's key as words for a page."""
    words = {NO_CAUSE: "without a cause", AFTER_THE_FACT: f"met by {SETTINGS[AFTER_THE_FACT]}"}
    return words.get(cause, cause)


def _largest(missed: pd.DataFrame, unit: str) -> str:
    """The largest difference between ours and print in percentage points or per cent, or the factor where it is large.

    ``unit`` "%" is per cent of the printed number.
    """
    if unit != "%":
        return f"{100 * missed['distance'].abs().max():.2g} percentage points"
    factor = float(np.exp(np.log(missed["ours"] / missed["published"]).abs().max()))
    return f"a factor of {factor:,.0f}" if factor > FACTOR else f"{100 * missed['distance'].abs().max():.0f} %"


def misses(rows: pd.DataFrame, cards: Mapping[str, Method]) -> list[tuple[str, str, int, str, str]]:
    """Cause, reason, count, methods and largest of the numbers that differ under the judging configuration."""
    missed = rows[(rows["class"] == DIFFERENT) & rows["judges"].astype(bool)]
    lines = []
    for (cause, reason), numbers in missed.groupby(["cause", "reason"], sort=False):
        methods = numbers["method"].map(lambda method: method_title(method, cards) if method else "").value_counts()
        largest = numbers.loc[numbers["distance"].abs().fillna(0.0).idxmax()]
        named = ", ".join(f"{method} {n}".strip() for method, n in methods.items())
        lines.append(
            (
                in_plain(cause),
                ". ".join(sentences(reason)) or "none found",
                len(numbers),
                named,
                _printed(largest.to_dict()),
            )
        )
    return sorted(lines, key=lambda line: -line[2])


def _printed(row: dict[str, Any]) -> str:
    """One number as text: its data set, mask and place, then "printed ..., ours ..."."""
    mask = "" if row["mask"] == "all_private" else row["mask"]
    cell = [dataset_title(row["dataset"]) if row["dataset"] else "", mask]
    cell += [f"{axis} = {row[key]:g}" for axis, key in (("ε", "epsilon"), ("x", "x")) if row[key] == row[key]]
    return f"{', '.join(filter(None, cell))}: printed {row['published']:g}, ours {row['ours']:.3g}"


def causes_of(paper: Paper, numbers: pd.DataFrame, results: Results) -> dict[str, Any] | None:
    """Causes of a paper's differences: counts, interpretations that were tried, bounds; None without any."""
    rows, evidence = numbers[numbers["paper"] == paper.name], []
    for bound in paper.differences.bounds:
        with suppress(NotRunError):
            evidence.append({"where": bound.where, "why": bound.why, "evidence": bound.compute(results)})
    if judged_numbers(rows).empty and not evidence:
        return None
    steps = [step for candidates in paper.differences.interpretations for step in candidates.steps[1:]]
    tried = {(step.interpretation, *(str(member(m).params) for m in step.method.split(" or "))) for step in steps}
    interpretations = [
        distances for candidates in paper.differences.interpretations if (distances := steps_of(candidates, rows))
    ]
    totals = [
        [
            n["what"].capitalize(),
            n["configuration"].replace("_", " ") + " (decides)" * bool(n["judges"]),
            *("–" if k == "method" and not n["beside"] else n[k] for k in TOTALS),
        ]
        for n in by_configuration(rows)
    ]
    judged = judged_numbers(rows)
    words = f"{in_words(judged)}. {causes_in_words(judged)}"
    heads = ("Printed numbers", "Configuration", *TOTAL_HEADS)
    tables = {"heads": heads, "totals": totals, "bounds": evidence, "interpretations": interpretations}
    return {"said": words, "tried": len(tried), **tables}


def steps_of(candidates: Interpretations, rows: pd.DataFrame) -> dict[str, Any] | None:
    """Each interpretation's distance from the numbers that all of them have; None where none was run."""
    numbers = rows[rows["artifact"].isin(candidates.artifacts) & (rows["method"] == candidates.method)]
    numbers = numbers[numbers["mask"] == candidates.mask] if candidates.mask else numbers
    ran = numbers["cell"].str.split("|").str[1]
    parts = {}
    for step in candidates.steps:  # in a row of its own, or what stands for a configuration
        of_step = numbers[(numbers["interpretation"] == step.interpretation) & (numbers["configuration"] == TRIED)]
        of_step = of_step if len(of_step) or step.experiment else numbers[ran == step.method].drop_duplicates(NUMBER)
        if len(of_step):
            parts[step] = of_step.dropna(subset=["ours"]).set_index(NUMBER)
    if not parts:
        return None
    shared = [k for k in next(iter(parts.values())).index if all(k in of_step.index for of_step in parts.values())]
    steps, unit = [], "%" if numbers["unit"].iloc[0] == "ratio" else "pp"
    for step, of_step in parts.items():
        of_step = of_step.loc[shared]
        apart = of_step["distance"]
        within = apart.abs() <= of_step["tolerance"] + 1e-11
        steps.append(
            {
                "interpretation": step.interpretation,
                "support": SUPPORT[step.support],
                "cells": len(of_step),
                "adopted": step.support not in (AFTER_THE_FACT, "tried", "refuted"),
                "within": per_cent(within.mean()),
                "median": f"{100 * apart.median():+.1f} {unit}",
                "size": f"{100 * apart.abs().median():.1f} {unit}",
            }
        )
    tolerance = f"{100 * numbers['tolerance'].iloc[0]:g} {unit}"
    return {"what": candidates.what, "steps": steps, "unexplained": candidates.unexplained, "tolerance": tolerance}
