"""The findings of the front page: a sentence whose numbers are computed, and the chart that shows them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy.special import stdtrit

from lpbench.analysis import ratio_of_means
from lpbench.experiments.method import Method
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.headlines import headline_gains
from lpbench.reporting.pages.charts import WIDTH, Bars, Intervals, Value, bars, intervals
from lpbench.reporting.pages.names import anchor_of
from lpbench.reporting.pages.over_constant import sentence
from lpbench.reporting.paper import page_of, paper_of
from lpbench.reporting.printed_names import mask_title, method_title
from lpbench.reporting.render import render

#: Budgets up to which privacy is called strong.
STRONG = 1.0
#: Data sets below which no interval over data sets is drawn.
FEWEST = 3
#: Width of the picture of a finding.
PICTURE = 560


@dataclass(frozen=True)
class PageFinding:
    """One finding."""

    name: str  # also its anchor and its picture
    sentence: str
    measured: str  # what the chart shows
    kind: str
    charts: tuple[Bars | Intervals, ...]
    source: str  # page with the numbers behind it


def below_the_constant(wins: Sequence[Mapping[str, Any]], width: int = WIDTH) -> PageFinding | None:
    """How many published wins a constant beats under strong privacy."""
    rows = [w for w in wins if w["epsilon"] <= STRONG and w["wins"]]
    if not rows:
        return None
    below, total = sum(w["wins_below"] for w in rows), sum(w["wins"] for w in rows)
    least, most = (sum(w[f"wins_{end}"] for w in rows) for end in ("least", "most"))
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
    scores = pd.DataFrame([(d, *counted) for w in rows for d, counted in w["by_set"].items()]).groupby(0).sum()
    share, error = ratio_of_means(scores[2].to_numpy(), scores[1].to_numpy())
    half = stdtrit(len(scores) - 1, 0.975) * error
    measured = (
        f"The share of scores is {100 * share:.0f} %, with a 95 % interval over {len(scores)} data sets of "
        f"[{100 * (share - half):.0f}, {100 * (share + half):.0f}]. "
        f"With an error 5 % larger or smaller it would be as good as {least} to {most} of the wins. "
        "A win is a data set's best published score. The constant is one privately estimated number, predicted for "
        "everyone. Red: wins that the constant matches or beats; blue: wins that are better than it."
    )
    source = f"{page_of(rows[0]['artefact'])}.html#floor"
    return PageFinding("floor", sentence, measured, "bars", (bars(lines, width=width),), source)


def as_picture(finding: PageFinding) -> str:
    """A finding with bars as a picture of its own: the sentence, what is measured, the chart."""
    lines, y = [], 22
    for style, text, width, step in (("head", finding.sentence, 66, 21), ("soft", finding.measured, 88, 16)):
        for part in textwrap.wrap(text, width):
            lines.append((style, y, part))
            y += step
        y += 4
    return render("finding_svg.html.j2", chart=finding.charts[0], sentence=finding.sentence, lines=lines, top=y)


def on_noisy_labels(table: pd.DataFrame, source: str) -> PageFinding | None:
    """Where a standard learner on noisy labels beats the papers' methods, with the picture of :mod:`.over_constant`."""
    said = sentence(table)
    if not said:
        return None
    measured = (
        "Error over that of the private constant, geometric mean over data sets with a 95 % interval over data sets; "
        "of classes, shares of wrong ones. Published: the best method at its best grid point on the test rows. The "
        "others: one setting, fixed beforehand; the Gaussian process with its best randomiser."
    )
    return PageFinding("noisy-labels", said, measured, "picture", (), source)


def without_tuning(entries: Sequence[ReportEntry], cards: Mapping[str, Method]) -> PageFinding | None:
    """Gain of methods without a parameter over the best method of the papers' tables, under oracle selection."""
    table = headline_gains(entries, cards)
    parts, charts, held = [], [], []
    for compared, rows in table.groupby("method", sort=False):
        accuracy = rows["unit"].iloc[0] == "points"
        what = "gains {} percentage points" if accuracy else "saves {} % of the error"
        whole, held_out = (rows[rows["kind"] == kind] for kind in ("all", "conclusions"))
        said = what.format(_between(whole, accuracy))
        open_ = int((whole["low"] <= 0).sum())
        if open_:
            said += f" (not distinguishable from no gain in {open_} of {len(whole)} settings)"
        parts.append(f"{method_title(compared, cards)} {said}")
        if len(held_out):
            gains = f"{_between(held_out, accuracy)} {'pp' if accuracy else '%'}"
            held.append(f"{method_title(compared, cards)} {gains} (n = {held_out['sets'].min()})")
        drawn = rows[(rows["kind"] == "all") | (rows["kind"] == "conclusions") & (rows["sets"] >= FEWEST)]
        lines = [(_label(r, cards), [Value(r["gain"], r["low"], r["high"])]) for r in drawn.to_dict("records")]
        charts.append(intervals(lines, " pp" if accuracy else " %"))
    if not parts:
        return None
    sentence = f"Without tuning, {' and '.join(parts)} over the best method of the papers' tables."
    measured = (
        "Gain over the method, published or a baseline, that is best under oracle selection on its paper's full grid; "
        "Gaussian processes on noisy labels are not among them. Percentage points (pp) of accuracy, or per cent of the "
        "error saved; mean over data sets, with a 95 % interval over data sets. Right of the line: better than it."
        + f" Held-out data sets alone: {'; '.join(held)}."
        * bool(held)
    )
    first = table["experiment"].iloc[0]
    return PageFinding(
        "tuning-free", sentence, measured, "intervals", tuple(charts), f"{page_of(first)}.html#{anchor_of(first)}"
    )


def _between(rows: pd.DataFrame, accuracy: bool) -> str:
    ends = dict.fromkeys(f"{v:.1f}" if accuracy else f"{v:.0f}" for v in (rows["gain"].min(), rows["gain"].max()))
    return " to ".join(ends)


def _label(row: Mapping[str, Any], cards: Mapping[str, Method]) -> str:
    kept = "held-out data sets" if row["kind"] == "conclusions" else ""
    mask = mask_title(row["mask"]) or ("" if row["unit"] == "points" else "aligned")
    over = f"over {method_title(row['rival'], cards)}"
    return ", ".join(filter(None, [row["panel"], mask, f"ε = {row['epsilon']:g}", over, kept]))


def findings(
    wins: Sequence[Mapping[str, Any]],
    over: pd.DataFrame,
    entries: Sequence[ReportEntry],
    cards: Mapping[str, Method],
) -> list[PageFinding]:
    """The findings that the results at hand allow."""
    found = [below_the_constant(wins), on_noisy_labels(over, "field.html"), without_tuning(entries, cards)]
    return [f for f in found if f is not None]
