"""The findings of the front page: a sentence whose numbers are computed, and the chart that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.special import stdtrit

from lpbench.analysis import ratio_of_means
from lpbench.analysis.standings import FAIR, FEWEST, NONE, over_sets, view
from lpbench.analysis.variants import bare_name
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures import style
from lpbench.reporting.pages.charts import Intervals, Value
from lpbench.reporting.pages.names import anchor_of, printed_name
from lpbench.reporting.pages.over_constant import FILE as OVER_CONSTANT
from lpbench.reporting.pages.over_constant import published_methods, sentence
from lpbench.reporting.paper import page_of
from lpbench.reporting.printed_names import card_of, dataset_title, mask_title, method_title

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
    """Where a standard learner on noisy labels beats the papers' methods, with the picture of :mod:`.over_constant`."""
    said = sentence(table, cards)
    if not said:
        return None
    measured = (
        "Loss (mean squared error, share of wrong classes) over that of the private constant, geometric mean over "
        "data sets with a 95 % interval over them. Published: the best method at its best grid point on the test "
        "rows, both chosen afterwards. The others: one setting, fixed beforehand. Clearly: the 95 % interval over data "
        "sets of the ratio of the two losses lies below 1. In brackets: what is protected."
    )
    return PageFinding("noisy-labels", said, measured, source, picture=f"{OVER_CONSTANT}.svg")


def without_tuning(
    table: pd.DataFrame, entries: Sequence[ReportEntry], cards: Mapping[str, Method]
) -> PageFinding | None:
    """Loss of methods without a parameter over that of the best other one under oracle selection, on held-out sets."""
    parts, charts, source = [], [], ""
    for compared, entry in _fullest(table, entries, cards).items():
        found = gains(table[table["experiment"] == entry.name], compared)
        held_out = found[found["role"] == "held out"]
        if held_out.empty:
            continue
        low, high = (f"{v:.2f}" for v in (held_out["ratio"].min(), held_out["ratio"].max()))
        said = f"{method_title(compared, cards)} has {low if low == high else f'{low} to {high}'} times the loss on "
        if held_out["sets"].min() < FEWEST:
            said += f"the held-out data sets {' and '.join(map(dataset_title, held_out['names'].iloc[0]))}"
        else:
            open_ = int((held_out["high"] >= 1).sum())
            said += f"{held_out['sets'].min()} held-out data sets"
            said += f" (no clear difference in {open_} of {len(held_out)} settings)" * bool(open_)
        parts.append(said)
        drawn = found[(found["role"] == "") | (found["sets"] >= FEWEST)]
        charts.append(Intervals([(_label(r, cards), [_saved(r)]) for r in drawn.to_dict("records")], " %"))
        source = source or f"{page_of(entry.name)}.html#{anchor_of(entry.name)}"
    if not parts:
        return None
    sentence = f"Without tuning, beside the best method of the papers' tables: {'; '.join(parts)}."
    measured = (
        "Per cent of the loss (mean squared error, share of wrong classes) saved against the private method, "
        "published or a baseline, that is best under oracle selection on its paper's full grid; Gaussian processes on "
        "noisy labels are not among them. Geometric mean over all data sets, which are mostly those of the "
        f"development, and over the held-out ones where they are {FEWEST} or more, with a 95 % interval over data "
        "sets. Right of the line: better."
    )
    return PageFinding("tuning-free", sentence, measured, source, charts=tuple(charts))


def _fullest(
    table: pd.DataFrame, entries: Sequence[ReportEntry], cards: Mapping[str, Method]
) -> dict[str, ReportEntry]:
    """Method compared by an experiment -> the one that has most published methods, all on their papers' full grids."""
    found: dict[str, tuple[int, ReportEntry]] = {}
    for entry in entries:
        compared, methods = (
            entry.experiment.settings.get("compared"),
            table["method"][table["experiment"] == entry.name],
        )
        rivals = published_methods(methods)
        if compared and len(rivals) > found.get(compared, (0, entry))[0]:
            if not cut_grids(entry.experiment, rivals, cards):
                found[compared] = (len(rivals), entry)
    return {compared: entry for compared, (_, entry) in sorted(found.items(), reverse=True)}


def cut_grids(experiment: Experiment, methods: Sequence[str], cards: Mapping[str, Method]) -> list[str]:
    """Those of some methods that an experiment searches over less than their own grid."""
    return [
        method
        for group in experiment.groups
        for method in methods
        if method in group.method and (card := card_of(method, cards)) is not None
        if any({*map(str, card.grid.get(name, ()))} - {*map(str, values)} for name, values in group.grid.items())
    ]


def gains(rows: pd.DataFrame, compared: str) -> pd.DataFrame:
    """Loss of a method of one experiment over the best other one's, by role of the data sets (empty: all) and place."""
    rows = rows[rows["privacy"] != NONE]
    others = view(rows, "oracle")
    others = others[others["method"].map(bare_name) != compared]
    rows = pd.concat([view(rows, FAIR).query("method == @compared"), others])
    found = []
    for (panel, mask, epsilon), part in rows.groupby(["panel", "mask", "epsilon"]):
        for role in ("", "held out"):
            here = part[part["role"] == role] if role else part
            names = list(here["dataset"][here["method"] == compared])
            here = here[here["dataset"].isin(names)]
            here = here[here.groupby("method")["dataset"].transform("size") == len(names)]
            if here["method"].nunique() > 1:
                beside = over_sets(here, compared).set_index("method").drop(compared)["control"]
                pair = over_sets(
                    here[here["method"].isin([compared, rival := str(beside.idxmin())])], rival, ("control",)
                )
                ratio = pair.set_index("method").loc[compared, ["control", "control_low", "control_high"]]
                found.append([role, panel, mask, epsilon, len(names), names, rival, *ratio])
    return pd.DataFrame(
        found, columns=["role", "panel", "mask", "epsilon", "sets", "names", "rival", "ratio", "low", "high"]
    )


def _saved(row: Mapping[str, Any]) -> Value:
    return Value(100 * (1 - row["ratio"]), 100 * (1 - row["high"]), 100 * (1 - row["low"]))


def _label(row: Mapping[str, Any], cards: Mapping[str, Method]) -> str:
    mask = mask_title(row["mask"]) or ("aligned" if row["mask"] == "aligned" else "")
    over = f"over {method_title(row['rival'], cards)}"
    kept = "held-out data sets" if row["role"] else ""
    return ", ".join(filter(None, [row["panel"], mask, f"ε = {row['epsilon']:g}", over, kept]))


def findings(
    wins: Sequence[Mapping[str, Any]],
    table: pd.DataFrame,
    over: pd.DataFrame,
    entries: Sequence[ReportEntry],
    cards: Mapping[str, Method],
) -> list[PageFinding]:
    """The findings that the results at hand allow."""
    found = [below_the_constant(wins), on_noisy_labels(over, cards, "field.html")]
    found.append(without_tuning(table, entries, cards))
    return [f for f in found if f is not None]
