"""Findings of the front page: a sentence of at most fifteen words, whose numbers are computed, and its chart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pandas as pd
from scipy.special import stdtrit

from lpbench.analysis import ratio_of_means
from lpbench.cast import CONSTANTS
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages.claims import Intervals, Value
from lpbench.reporting.pages.leaderboard import HELD_OUT
from lpbench.reporting.pages.names import printed_name
from lpbench.reporting.paper import page_of
from lpbench.reporting.printed_names import dataset_title

#: Budgets up to which privacy is called strong.
STRONG = 1.0


@dataclass(frozen=True)
class PageFinding:
    name: str  # also its anchor
    sentence: str
    chart: Intervals
    caveat: str  # what the chart shows, and what it does not
    source: str  # page with the numbers behind it
    command: str


def below_the_constant(wins: Sequence[Mapping[str, Any]]) -> PageFinding | None:
    """Share of published scores that a constant matches under strong privacy."""
    rows = [w for w in wins if w["epsilon"] <= STRONG and w["wins"]]
    if not rows:
        return None
    below, total = sum(w["wins_below"] for w in rows), sum(w["wins"] for w in rows)
    least, most = (sum(w[f"wins_{end}"] for w in rows) for end in ("least", "most"))
    cells, cells_below = sum(w["cells"] for w in rows), sum(w["cells_below"] for w in rows)
    scores = pd.DataFrame([(d, *counted) for w in rows for d, counted in w["by_set"].items()]).groupby(0).sum()
    share, error = ratio_of_means(scores[2].to_numpy(), scores[1].to_numpy())
    half = stdtrit(len(scores) - 1, 0.975) * error
    chart = [
        (
            ", ".join(filter(None, [printed_name(w["artefact"]), w["mask"], f"ε = {w['epsilon']:g}"])),
            [Value(100 * w["cells_below"] / w["cells"])],
        )
        for w in rows
    ]
    caveat = (
        f"Share of published scores that one private number, predicted for everyone, matches; 95 % interval over "
        f"{len(scores)} data sets: [{100 * (share - half):.0f}, {100 * (share + half):.0f}] %. Of {total} best scores "
        f"it matches {below}; if the constant's error were 5 % off, {least} to {most}."
    )
    sentence = f"At ε ≤ {STRONG:g}, one private number matches {cells_below} of {cells} published scores."
    source = f"{page_of(rows[0]['artefact'])}.html#constant"
    command = "lpbench reproduce extensions/constants_regression"
    return PageFinding("constant", sentence, Intervals(chart, " %"), caveat, source, command)


def without_tuning(lines: pd.DataFrame, entries: Sequence[ReportEntry]) -> list[PageFinding]:
    """Loss of each method without a parameter on held-out sets, as the leaderboard has it."""
    settings = {e.name: e.experiment.settings for e in entries}
    compared = {str(found["compared"]) for found in settings.values() if found.get("compared")} - {*CONSTANTS}
    rows = lines[lines["method"].isin(compared) & (lines["selection"] == "fair") & (lines["dataset"] == HELD_OUT)]
    rows = rows[rows["constant"].notna() & rows["best"].notna()].sort_values(["title", "mask", "epsilon"])
    rows = rows.drop_duplicates(["task", "title", "mask", "epsilon"], keep="last")
    found = []
    # the method that most settings show comes last
    for (task, title), mine in sorted(rows.groupby(["task", "title"], sort=False), key=lambda one: len(one[1])):
        # experiments differ in data sets and in what is public: of the first alone that has the most sets
        experiment = mine.loc[mine["sets"].idxmax(), "experiment"]
        mine = mine[mine["experiment"] == experiment]
        named = settings[experiment]["data_sets"]["conclusions"]
        ends = list(dict.fromkeys(f"{v:.2g}" for v in (mine["best"].min(), mine["best"].max())))
        caveat = (
            f"Loss over that of the best method without privacy, geometric mean over {int(mine['sets'].max())} "
            f"held-out data sets ({', '.join(map(dataset_title, named))}); 1: as good as without privacy. "
            f"Loss over that of the private constant: {mine['constant'].min():.2g} to {mine['constant'].max():.2g}."
        )
        mask = "{}, " if mine["mask"].nunique() > 1 else ""
        chart = Intervals([(f"{mask.format(r.mask)}ε = {r.epsilon:g}", [Value(r.best)]) for r in mine.itertuples()])
        view = urlencode({"task": task, "dataset": HELD_OUT, "selection": "fair"})
        sentence = f"Untuned, {title} has {' to '.join(ends)} times the loss without privacy ({task})."
        name, command = f"tuning-free-{title.lower()}", f"lpbench reproduce {experiment}"
        found.append(PageFinding(name, sentence, chart, caveat, f"leaderboard.html#{view}", command))
    return found


def findings(
    wins: Sequence[Mapping[str, Any]], lines: pd.DataFrame, entries: Sequence[ReportEntry]
) -> list[PageFinding]:
    """The three findings that the results at hand allow."""
    first, tasks = below_the_constant(wins), {one.source: one for one in without_tuning(lines, entries)}
    return [*([first] if first else []), *tasks.values()]
