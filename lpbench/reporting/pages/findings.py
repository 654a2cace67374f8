"""The findings of the front page: a sentence whose numbers are computed, and the chart that shows them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.analysis.summary import REFERENCES
from lpbench.experiments.method import Method
from lpbench.reporting.cards import mask_title, method_title
from lpbench.reporting.entries import Entry
from lpbench.reporting.figures.comparisons import FLOORS
from lpbench.reporting.pages.charts import WIDTH, Bars, Intervals, Value, bars, intervals
from lpbench.reporting.pages.names import anchor_of
from lpbench.reporting.pages.statuses import AGREEING, counts
from lpbench.reporting.paper import page_of, paper_of, papers
from lpbench.reporting.render import render
from lpbench.selectors import parse_selector

#: Budgets up to which privacy is called strong.
STRONG = 1.0
#: Width of the picture of a finding.
PICTURE = 560
#: Level of the intervals.
LEVEL = 0.95


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes
    ----------
    name : str
        Its anchor, and the name of its picture.
    sentence : str
        The finding.
    measured : str
        What the chart shows.
    kind : {"bars", "intervals"}
    charts : tuple
    source : str
        Page with the numbers behind it.
    """

    name: str
    sentence: str
    measured: str
    kind: str
    charts: tuple[Bars | Intervals, ...]
    source: str


def below_the_floor(wins: Sequence[Mapping[str, Any]], width: int = WIDTH) -> Finding | None:
    """How many published wins a constant beats under strong privacy.

    Parameters
    ----------
    wins : sequence of mapping
        As in ``floors.published_wins``.
    width : int
        Of the chart.
    """
    rows = [w for w in wins if w["epsilon"] <= STRONG and w["wins"]]
    if not rows:
        return None
    below, total = sum(w["wins_below"] for w in rows), sum(w["wins"] for w in rows)
    lines = []
    for w in rows:
        paper, what = paper_of(w["artefact"]), w["artefact"].rpartition("/")[2]
        words = f"{paper.short} {what.replace('table', 'table ')}, ε = {w['epsilon']:g}"
        label = ", ".join(filter(None, [words, w["mask"]]))
        over = w["wins"] - w["wins_below"]
        lines.append((label, [("below", f"{w['wins_below']} of {w['wins']} no better than a constant", w["wins_below"],
                               str(w["wins_below"])),
                              ("above", f"{over} of {w['wins']} better", over, str(over))]))  # fmt: skip
    cells, cells_below = sum(w["cells"] for w in rows), sum(w["cells_below"] for w in rows)
    sentence = (
        f"At ε ≤ {STRONG:g} a constant is as good as {cells_below} of {cells} published scores of private methods, and "
        f"as {below} of {total} published wins."
    )
    measured = (
        "A win is the best published value of a data set, the constant one private number for everybody, which looks "
        "at no feature. Red: wins that the constant meets or beats; blue: wins that stand."
    )
    source = f"{page_of(rows[0]['artefact'])}.html#floor"
    return Finding("floor", sentence, measured, "bars", (bars(lines, width=width),), source)


def as_picture(finding: Finding) -> str:
    """A finding with bars as a picture of its own: the sentence, what is measured, the chart."""
    lines, y = [], 22
    for style, text, width, step in (("head", finding.sentence, 66, 21), ("soft", finding.measured, 96, 16)):
        for part in textwrap.wrap(text, width):
            lines.append((style, y, part))
            y += step
        y += 4
    return render("finding_svg.html.j2", chart=finding.charts[0], sentence=finding.sentence, lines=lines, top=y)


def claims_by_status(claims: Sequence[Mapping[str, Any]]) -> Finding | None:
    """How many claims the numbers of this run agree with; ``claims`` have ``paper`` and ``status``."""
    judged = [c for c in claims if c["status"].label != "no verdict"]
    if not judged:
        return None
    names = {p.letter: p.short for p in papers()}
    lines = []
    for letter in dict.fromkeys(c["paper"] for c in claims):
        found = counts(c["status"] for c in claims if c["paper"] == letter)
        parts = [(s.tone, f"{n} {s.label}", n, str(n)) for s, n in found]
        lines.append((names.get(letter, letter), parts))
    agree = sum(c["status"].label in AGREEING for c in judged)
    sentence = f"Our numbers agree with {agree} of the {len(claims)} claims that the papers make in words."
    measured = "Claims by status, a bar a paper; the same rule judges the published numbers and ours."
    return Finding("claims", sentence, measured, "bars", (bars(lines, whole=True),), "#claims")


def without_tuning(entries: Sequence[Entry], cards: Mapping[str, Method]) -> Finding | None:
    """What methods without a parameter reach, against the best published method with hindsight."""
    found: dict[str, tuple[int, Entry]] = {}
    for entry in entries:
        compared = entry.experiment.settings.get("compared")
        if compared and entry.kind == "table" and entry.was_run:
            rivals = _rivals(entry)
            if len(rivals) > found.get(compared, (0, entry))[0]:
                found[compared] = (len(rivals), entry)
    parts, charts, page = [], [], ""
    for compared, (_, entry) in sorted(found.items(), reverse=True):
        lines = gains(entry, compared, _rivals(entry), cards)
        if not lines:
            continue
        accuracy = lines[0]["larger"]
        best, worst = max(r["gain"] for r in lines), min(r["gain"] for r in lines)
        ends = dict.fromkeys(f"{v:.1f}" if accuracy else f"{v:.0f}" for v in (worst, best))
        between = " to ".join(ends)
        what = f"gains {between} points of accuracy" if accuracy else f"saves {between} % of the error"
        parts.append(f"{method_title(compared, cards)} {what}")
        rows = [(r["label"], [Value(r["gain"], r["low"], r["high"])]) for r in lines]
        charts.append(intervals(rows, " pt" if accuracy else " %"))
        page = page or f"{page_of(entry.name)}.html#{anchor_of(entry.name)}"
    if not parts:
        return None
    sentence = f"Without tuning, {' and '.join(parts)} against the best published method with hindsight."
    measured = (
        "Gain over the published method that is best with hindsight, mean over data sets with its 95 % interval: "
        "points of accuracy, or per cent of the error that are saved. Right of the line: better than the published one."
    )
    return Finding("tuning-free", sentence, measured, "intervals", tuple(charts), page)


def _rivals(entry: Entry) -> list[str]:
    """Columns of an experiment that are methods of the papers."""
    published = {m for p in papers() if p.claims for m in p.methods} - {*FLOORS, *REFERENCES}
    methods = [] if entry.summary is None else sorted(set(entry.summary["method"]))
    return [m for m in methods if parse_selector(m)[0] in published]


def gains(entry: Entry, compared: str, rivals: Sequence[str], cards: Mapping[str, Method]) -> list[dict[str, Any]]:
    """Gain of the compared method over the best rival, for each mask and budget, over the data sets of both.

    Returns
    -------
    list of dict
        ``label``; ``gain``, ``low``, ``high``: points of accuracy, or per cent of the error (geometric mean over data
        sets); ``larger``: whether the metric is an accuracy; ``rival``: the best one.
    """
    summary = entry.full
    if summary is None:
        return []
    table = summary.table
    oracle, free = summary.samples("oracle"), summary.samples("tuning_free")
    lines = []
    groups = table[table["method"] == compared].groupby(["panel", "mask", "epsilon"], sort=True)
    for (panel, mask, epsilon), part in groups:
        larger = LARGER_IS_BETTER[part["metric"].iloc[0]]
        names = sorted(set(part["dataset"]))
        found = {d: _first(free, oracle, panel, d, mask, compared, epsilon) for d in names}
        own = {d: values for d, values in found.items() if values is not None}
        best: tuple[float, str, np.ndarray] | None = None
        for rival in rivals:
            theirs = {d: oracle.get((panel, d, mask, rival, epsilon)) for d in own}
            both = [(own[d], v) for d, v in theirs.items() if v is not None and v.shape == own[d].shape]
            if len(both) < len(own):
                continue
            gain = np.mean([100 * (a - b) if larger else np.log(b / a) for a, b in both], axis=0)
            if best is None or gain.mean() < best[0]:
                best = float(gain.mean()), rival, gain
        if best is None or not np.isfinite(best[0]):
            continue
        mean, rival, gain = best
        half = (
            stdtrit(max(gain.size - 1, 1), 0.5 + LEVEL / 2) * gain.std(ddof=1) / gain.size**0.5
            if gain.size > 1
            else np.nan
        )
        ends = [mean, mean - half, mean + half]
        value, low, high = (v if larger else 100 * (1 - np.exp(-v)) for v in ends)
        label = ", ".join(filter(None, [panel, mask_title(mask) or ("" if larger else "aligned"), f"ε = {epsilon:g}"]))
        lines.append({"label": label, "gain": value, "low": low, "high": high, "larger": larger,
                      "rival": method_title(rival, cards)})  # fmt: skip
    return lines


def _first(free: Mapping, oracle: Mapping, *key: Any) -> np.ndarray | None:
    """Replications of the setting fixed without test rows, else of the only one."""
    found = free.get(key)
    return oracle.get(key) if found is None else found


def findings(
    wins: Sequence[Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]],
    entries: Sequence[Entry],
    cards: Mapping[str, Method],
) -> list[Finding]:
    """The findings that the results at hand allow."""
    found = [below_the_floor(wins), claims_by_status(claims), without_tuning(entries, cards)]
    return [f for f in found if f is not None]
