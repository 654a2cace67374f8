"""Published numbers on pages: counts, misses, their causes, interpretations that were tried, and a dot a number.

Everything is a filter of ``numbers.csv``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lpbench.analysis.numbers import (
    DIFFERENT,
    FOUND,
    IMPOSSIBLE,
    NEAR,
    NUMBER,
    SAME,
    UNEXPLAINED,
    by_configuration,
    counts,
    in_words,
    judged_numbers,
)
from lpbench.errors import NotRunError
from lpbench.experiments.method import Method
from lpbench.experiments.results import Results
from lpbench.reporting.interpretations import SUPPORT, Interpretations
from lpbench.reporting.number_table import TRIED
from lpbench.reporting.numbers import per_cent
from lpbench.reporting.pages.names import group_of, label_of
from lpbench.reporting.paper import Paper, page_of, papers
from lpbench.reporting.printed_names import dataset_title, method_title

#: The picture of all numbers: file, width, room for labels, radius of a dot.
PICTURE, WIDTH, LEFT, RADIUS = "numbers.svg", 760, 150, 1.6
#: Places on the axis, ours over print, of ratios of errors and of accuracies; beyond the last a dot stands at the end.
RATIOS, ACCURACIES = (0.5, 0.7, 0.85, 1, 1.2, 1.4, 2), (1 / 1.1, 0.95, 1, 1.05, 1.1)
#: How many numbers of one cause are named; ``numbers.csv`` has all.
NAMED = 6
#: Ratio beyond which the largest miss is called a factor.
FACTOR = 2.0


def said(rows: pd.DataFrame) -> tuple[str, str]:
    """How many numbers of an artefact are met, and what stands behind those that are not; empty without a tolerance."""
    judged = judged_numbers(rows)
    if judged.empty:
        return "", ""
    n, unit = counts(judged), "%" if judged["unit"].iloc[0] == "ratio" else "percentage points"
    [configuration] = judged["configuration"].mode()
    text = (
        f"{n['met']} of {n['compared']} numbers met under the {_of(configuration)}: {n['same']} the same within noise, "
        f"{n['met'] - n['same']} different but within {100 * judged['tolerance'].iloc[0]:g} {unit}"
    )
    missed = judged[judged["met"] == DIFFERENT]
    if len(possible := missed[missed["standing"] != IMPOSSIBLE]):
        text += f"; largest miss {_largest(possible, unit)}"
    for other, part in rows[~rows["judges"].astype(bool) & (rows["configuration"] != TRIED)].groupby("configuration"):
        m = counts(part[part["met"] != ""])
        text += f"; under {other}: {m['met']} of {m['compared']}"
    shares = [f"{len(part)} {standing}" for standing, part in missed.groupby("standing", sort=True)]
    return f"{text}.", f"{len(missed)} missed: {', '.join(shares)}." if shares else ""


def _of(configuration: str) -> str:
    return {"code": "authors' code"}.get(configuration, configuration)


def _largest(missed: pd.DataFrame, unit: str) -> str:
    """The largest difference in percentage points or per cent, or the factor where it is large."""
    if unit != "%":
        return f"{100 * missed['distance'].abs().max():.2g} percentage points"
    factor = float(np.exp(np.log(missed["ours"] / missed["published"]).abs().max()))
    return f"by a factor of {factor:,.0f}" if factor > FACTOR else f"{100 * missed['distance'].abs().max():.0f} %"


def misses(rows: pd.DataFrame, cards: Mapping[str, Method]) -> list[dict[str, Any]]:
    """Numbers that the judging configuration does not meet, by method, standing and cause."""
    missed = rows[(rows["met"] == DIFFERENT) & rows["judges"].astype(bool)]
    groups = missed.groupby(["method", "standing", "reason"], sort=False)
    return [
        {
            "method": method_title(method, cards) if method else "",
            "standing": standing,
            "cause": reason,
            "numbers": len(part),
            "where": "; ".join([*map(_printed, part.head(NAMED).to_dict("records")), *"…"[: len(part) > NAMED]]),
        }
        for (method, standing, reason), part in groups
    ]


def _printed(row: dict[str, Any]) -> str:
    """One number: where it is, print and ours."""
    place = [
        dataset_title(row["dataset"]) if row["dataset"] else "",
        "" if row["mask"] == "all_private" else row["mask"],
    ]
    place += [f"{axis} = {row[key]:g}" for axis, key in (("ε", "epsilon"), ("x", "x")) if row[key] == row[key]]
    return f"{', '.join(filter(None, place))}: {row['published']:g}, ours {row['ours']:.3g}"


def causes_of(paper: Paper, numbers: pd.DataFrame, results: Results) -> dict[str, Any] | None:
    """Why a paper's numbers differ: counts, interpretations that were tried, bounds; None without anything to show."""
    rows, evidence = numbers[numbers["paper"] == paper.name], bounds(paper, results)
    if judged_numbers(rows).empty and not evidence:
        return None
    tried = {(s.reading, s.method.partition("[")[2]) for i in paper.interpretations for s in i.steps[1:]}
    shown = [found for candidates in paper.interpretations if (found := steps_of(candidates, rows))]
    said = in_words(judged_numbers(rows))
    return {"said": said, "tried": len(tried), "totals": by_configuration(rows), "bounds": evidence,
            "interpretations": shown}  # fmt: skip


def bounds(paper: Paper, results: Results) -> list[dict[str, str]]:
    """Evidence of a paper's bounds that can be computed."""
    found = []
    for bound in paper.bounds:
        try:
            found.append({"where": bound.where, "why": bound.why, "evidence": bound.compute(results)})
        except NotRunError:
            continue
    return found


def steps_of(candidates: Interpretations, rows: pd.DataFrame) -> dict[str, Any] | None:
    """Each interpretation's distance from the numbers that all of them have; None where none was run."""
    mine = rows[rows["artefact"].isin(candidates.artefacts) & (rows["method"] == candidates.method)]
    mine = mine[mine["mask"] == candidates.mask] if candidates.mask else mine
    ran = mine["cell"].str.split("|").str[1]
    parts = {}
    for step in candidates.steps:  # in a row of its own, or what stands for a configuration
        part = mine[(mine["reading"] == step.reading) & (mine["configuration"] == TRIED)]
        part = part if len(part) or step.experiment else mine[ran == step.method].drop_duplicates(NUMBER)
        if len(part):
            parts[step] = part.dropna(subset=["ours"]).set_index(NUMBER)
    if not parts:
        return None
    shared = [k for k in next(iter(parts.values())).index if all(k in part.index for part in parts.values())]
    steps = []
    for step, part in parts.items():
        part, unit = part.loc[shared], "%" if candidates.relative else "pp"
        apart, met = part["distance"], part["met"].isin([SAME, NEAR])
        steps.append({
            "reading": step.reading, "support": SUPPORT[step.support], "cells": len(part), "met": int(met.sum()),
            "adopted": step.support not in ("found", "tried", "refuted"), "within": per_cent(met.mean()),
            "median": f"{100 * apart.median():+.1f} {unit}", "size": f"{100 * apart.abs().median():.1f} {unit}",
        })  # fmt: skip
    tolerance = f"{100 * candidates.tolerance:g} {'%' if candidates.relative else 'pp'}"
    return {"what": candidates.what, "steps": steps, "unexplained": candidates.unexplained, "tolerance": tolerance}


#: What a dot says: its class and words.
KINDS = {"met": "met", "explained": "missed with a reason", "open": "unexplained", "impossible": "impossible in print"}


class Row(NamedTuple):
    """A line of the picture: its label, the height of its axis, its artefact's address, and a path a kind of dots."""

    label: str
    y: float
    href: str
    paths: list[tuple[str, str]]


def dots(numbers: pd.DataFrame) -> dict[str, Any] | None:
    """Lay out one dot a judged number, ours over print, a line a table or figure; None without any."""
    judged = judged_numbers(numbers)
    if judged.empty:
        return None
    judged = judged.assign(kind=[_kind(row) for row in judged.to_dict("records")])
    titles = {paper.name: paper.short for paper in papers()}
    rows: list[Row] = []
    ticks: list[tuple[float, float, float, str]] = []
    y = 30.0
    figure = judged["artefact"].str.replace(r"(figure\d+)[a-z]$", r"\1", regex=True)
    for unit, whole in judged.groupby("unit", sort=False):
        places, top = RATIOS if unit == "ratio" else ACCURACIES, y
        end, half = math.log(places[-1]), (WIDTH - LEFT) / 2
        for name, part in whole.groupby(figure, sort=False):
            at = half * (1 + np.log(part["ours"] / part["published"]) / end)
            columns = (np.clip(at, 4, 2 * half - 4) / (2 * RADIUS)).round().astype(int)
            heights = part.groupby(columns).cumcount()
            y += 2 * RADIUS * (int(heights.max()) + 1) + 8
            # a stroke without length and with round ends is a dot
            spots = zip(LEFT + 2 * RADIUS * columns, y - 2 * RADIUS * heights - 4, strict=True)
            dot = [f"M{across:.1f} {up:.1f}h0" for across, up in spots]
            drawn = pd.Series(dot, index=part.index).groupby(part["kind"]).sum()
            first = part["artefact"].iloc[0]
            href = f"{page_of(first)}.html#{group_of(first)[0]}"
            rows.append(Row(f"{titles[part['paper'].iloc[0]]}, {label_of(name)}", y, href, list(drawn.items())))
        ticks += [(LEFT + half * (1 + math.log(v) / end), top, y + 2, f"× {v:.3g}") for v in places]
        y += 30
    key = [(kind, f"{(judged['kind'] == kind).sum():,} {words}") for kind, words in KINDS.items()]
    return {"rows": rows, "ticks": ticks, "width": WIDTH, "height": y, "radius": RADIUS, "key": key,
            "sentence": in_words(judged)}  # fmt: skip


def _kind(row: Mapping[str, Any]) -> str:
    if row["met"] != DIFFERENT:
        return "met"
    if row["standing"] == IMPOSSIBLE:
        return "impossible"
    return "open" if row["standing"] in (FOUND, UNEXPLAINED, "suspected") else "explained"
