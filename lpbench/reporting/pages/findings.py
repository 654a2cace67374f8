"""The findings of the front page: a sentence whose numbers are computed, and the chart that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd
from scipy.special import stdtrit

from lpbench.analysis import ratio_of_means
from lpbench.analysis.standings import FEWEST
from lpbench.experiments.method import Method
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures import style
from lpbench.reporting.pages.charts import Intervals, Value
from lpbench.reporting.pages.leaderboard import HELD_OUT
from lpbench.reporting.pages.names import printed_name
from lpbench.reporting.pages.over_constant import PUBLISHED, sentence
from lpbench.reporting.paper import page_of
from lpbench.reporting.printed_names import dataset_title, method_title

#: Budgets up to which privacy is called strong.
STRONG = 1.0
#: Picture of the wins that a constant matches.
BELOW = "finding-floor"


@dataclass(frozen=True)
class PageFinding:
    """One finding."""

    name: str  # also its anchor
    sentence: str
    measured: str  # what the chart shows
    source: str  # page with the numbers behind it
    picture: str = ""  # file in the folder of the pages, or
    charts: tuple[Intervals, ...] = ()


def below_the_constant(wins: Sequence[Mapping[str, Any]]) -> PageFinding | None:
    """How many published wins a constant beats under strong privacy."""
    rows = [w for w in wins if w["epsilon"] <= STRONG and w["wins"]]
    if not rows:
        return None
    below, total = sum(w["wins_below"] for w in rows), sum(w["wins"] for w in rows)
    least, most = (sum(w[f"wins_{end}"] for w in rows) for end in ("least", "most"))
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
    return PageFinding("floor", sentence, measured, source, picture=f"{BELOW}.svg")


def draw_below(wins: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Draw a bar a table and mask under strong privacy: wins that the constant matches or beats, and the others."""
    rows = [w for w in wins if w["epsilon"] <= STRONG and w["wins"]]
    names = [", ".join(filter(None, [printed_name(w["artefact"]), w["mask"], f"ε = {w['epsilon']:g}"])) for w in rows]
    below = [w["wins_below"] for w in rows]
    with style.look():
        figure, ax = style.pyplot().subplots(figsize=(5.2, 0.7 + 0.34 * len(rows)))
        above = [w["wins"] - w["wins_below"] for w in rows]
        for lengths, left, colour in ((below, 0, style.COLOURS[1]), (above, below, style.COLOURS[0])):
            bars = ax.barh(names, lengths, left=left, color=colour)
            ax.bar_label(bars, label_type="center", color="white", fontsize=8)
        ax.set_xlabel("published wins")
        ax.invert_yaxis()
        ax.grid(False)
        style.save(figure, folder, BELOW)


def on_noisy_labels(table: pd.DataFrame, cards: Mapping[str, Method], source: str) -> PageFinding | None:
    """Where a standard learner on noisy labels beats the papers' methods."""
    said = sentence(table, cards)
    if not said:
        return None
    rows = table[(table["contender"] != PUBLISHED) & table["over_published"].notna()]
    chart = []
    for r in rows.itertuples():
        saved = (100 * (1 - v) for v in (r.over_published, r.over_published_high, r.over_published_low))
        chart.append((f"{method_title(r.method, cards)}, {r.task}, ε = {r.epsilon:g}", [Value(*saved)]))
    measured = (
        "Per cent saved of the best published method's loss (mean squared error, share of wrong classes), geometric "
        "mean over data sets with a 95 % interval over them. Published: the best method at its best grid point on the "
        "test rows, both chosen afterwards. The others: one setting, fixed beforehand. Clearly smaller: the interval "
        "lies above 0. In brackets: what is protected."
    )
    return PageFinding("noisy-labels", said, measured, source, charts=(Intervals(chart, " %"),))


def without_tuning(lines: pd.DataFrame, entries: Sequence[ReportEntry]) -> PageFinding | None:
    """Rank and loss of methods without a parameter on held-out sets, as the leaderboard has them."""
    settings = {e.name: e.experiment.settings for e in entries}
    compared = {str(found["compared"]) for found in settings.values() if found.get("compared")}
    rows = lines[lines["method"].isin(compared) & (lines["selection"] == "fair") & (lines["dataset"] == HELD_OUT)]
    rows = rows[rows["constant"].notna() & rows["best"].notna()].sort_values(["title", "mask", "epsilon"])
    if rows.empty:
        return None
    parts = []
    for title, mine in rows.groupby("title", sort=False):
        constant, best = (f"{mine[k].min():.2g} to {mine[k].max():.2g}" for k in ("constant", "best"))
        named = settings[mine["experiment"].iloc[0]]["data_sets"]["conclusions"]
        sets = f"{len(named)}" if len(named) >= FEWEST else " and ".join(map(dataset_title, named))
        parts.append(f"{title} ({sets}): {constant} times the loss of the constant, {best} of the best without privacy")
    measured = (
        "Loss (mean squared error, share of wrong classes) over that of the best method without privacy, geometric "
        "mean over the held-out data sets, on which no choice was made. 1: as good as without privacy."
    )
    chart = [(f"{r.title}, {r.mask}, ε = {r.epsilon:g}", [Value(r.best)]) for r in rows.itertuples()]
    source = f"leaderboard.html#{urlencode({'task': rows['task'].iloc[0], 'dataset': HELD_OUT, 'selection': 'fair'})}"
    sentence = f"Without tuning, on held-out data sets, {'; '.join(parts)}."
    return PageFinding("tuning-free", sentence, measured, source, charts=(Intervals(chart),))


def findings(
    wins: Sequence[Mapping[str, Any]],
    lines: pd.DataFrame,
    over: pd.DataFrame,
    entries: Sequence[ReportEntry],
    cards: Mapping[str, Method],
) -> list[PageFinding]:
    """The findings that the results at hand allow."""
    found = [below_the_constant(wins), on_noisy_labels(over, cards, "field.html"), without_tuning(lines, entries)]
    return [f for f in found if f is not None]
