"""Findings of the front page: a sentence whose numbers are computed, and its chart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd
from scipy.special import stdtrit

from lpbench.analysis import ratio_of_means
from lpbench.analysis.gains import DEVELOPED, GAIN_COLUMNS, HELD, comparable, gains, in_words
from lpbench.analysis.standings import SHOWN
from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures.four_lines import draw_four_lines
from lpbench.reporting.pages.claims import Intervals, Value
from lpbench.reporting.pages.leaderboard import HELD_OUT, few
from lpbench.reporting.pages.names import printed_name
from lpbench.reporting.pages.units import picture
from lpbench.reporting.paper import page_of
from lpbench.reporting.printed_names import method_title

#: Budgets up to which privacy is called strong.
STRONG = 1.0


@dataclass(frozen=True)
class PageFinding:
    """Finding on the home page: a sentence, its chart and caveat, and the command that repeats it."""

    name: str  # also its anchor
    sentence: str
    chart: Intervals
    caveat: str  # what the chart shows, and what it does not
    source: str  # page with the numbers behind it
    command: str
    pictures: Sequence[Mapping[str, Any]] = ()
    share: float = 0.0  # of the published results that it puts in doubt
    inputs: str = ""  # of the method that was measured


def below_the_constant(wins: Sequence[Mapping[str, Any]]) -> PageFinding | None:
    """Share of published scores that a constant matches under strong privacy."""
    rows = [w for w in wins if w["epsilon"] <= STRONG and w["wins"]]
    if not rows:
        return None
    below, total = sum(w["wins_below"] for w in rows), sum(w["wins"] for w in rows)
    least, most = (sum(w[f"wins_{end}"] for w in rows) for end in ("least", "most"))
    cells, cells_below = sum(w["cells"] for w in rows), sum(w["cells_below"] for w in rows)
    low, high, sets = _share(rows)
    chart = [
        (
            ", ".join(filter(None, [printed_name(w["artifact"]), w["mask"], f"ε = {w['epsilon']:g}"])),
            [Value(round(100 * w["cells_below"] / w["cells"], 1), *_share([w])[:2])],
        )
        for w in rows
    ]
    caveat = (
        f"A dot is the share of published scores that are no better than the constant. The constant is PrivateMean: "
        "one privately estimated number, predicted for everyone. HistOfTree's grid contains this constant. The share "
        f"of all scores has the 95 % interval [{low:.0f}, {high:.0f}] % over {sets} data sets. {total} scores are the "
        f"best on a data set of a table, and {below} of these are no better than the constant. If the constant's error "
        f"were 5 % larger or smaller, {least} to {most} of the {total} would be no better than the constant."
    )
    sentence = f"At ε ≤ {STRONG:g}, {cells_below} of {cells} published scores are no better than a constant."
    source = f"{page_of(rows[0]['artifact'])}.html#constant"
    command = "lpbench reproduce extensions/constants_regression"
    return PageFinding("constant", sentence, Intervals(chart, " %"), caveat, source, command, share=cells_below / cells)


def _share(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float, int]:
    """Return the ends of the 95 % interval, in per cent, of the share of scores a constant matches, and the data sets.

    A row has ``by_set``: data set to (scores, matched ones).
    """
    scores = pd.DataFrame([(d, *counted) for w in rows for d, counted in w["by_set"].items()]).groupby(0).sum()
    share, error = ratio_of_means(scores[2].to_numpy(), scores[1].to_numpy())
    half = stdtrit(len(scores) - 1, 0.975) * error
    return round(100 * max(share - half, 0), 1), round(100 * min(share + half, 1), 1), len(scores)


def users_add(table: pd.DataFrame, entries: Sequence[ReportEntry], folder: Path) -> list[PageFinding]:
    """Say what private users add to public data: our methods that read a public sample, at each of their inputs.

    A task has the findings of its first experiment; a figure is drawn for the compared method.
    """
    gained = gains(table) if len(table) else pd.DataFrame(columns=GAIN_COLUMNS)
    by_task: dict[str, list[PageFinding]] = {}
    for entry in sorted((e for e in entries if e.experiment.settings.get("compared")), key=lambda e: e.name):
        found: list[PageFinding] = []
        for method in our_methods(entry.experiment):
            held, development = (over_public(gained, entry.name, method, role) for role in (HELD, DEVELOPED))
            if len(held) and (task := str(held["task"].iloc[0])) not in by_task:
                found.append(_of_method(entry, held, development, gained, table, None if found else folder))
        if found:
            by_task[task] = found
    return [finding for task in sorted(by_task) for finding in by_task[task]]


def over_public(gained: pd.DataFrame, experiment: str, method: str, role: str = HELD) -> pd.DataFrame:
    """Return a method's rows of :func:`gains` over public data alone, one a budget, under the first of its masks."""
    rows = gained.query("experiment == @experiment and method == @method and role == @role and beside == 'public'")
    return rows[rows["mask"] == rows["mask"].min()]


def our_methods(experiment: Experiment) -> list[str]:
    """Methods of an experiment's setting ``ours``, the compared one first."""
    return [*dict.fromkeys([experiment.settings["compared"], *experiment.settings.get("ours", ())])]


def sent(inputs: str) -> str:
    """Say what users send, for inputs as on the leaderboard."""
    asked = inputs.partition(", ")[0]
    if asked == "label":
        return "label alone sent"
    which = "private" if SHOWN in inputs else "all"
    return f"{asked.replace('features', f'{which} features')} sent"


def _of_method(
    entry: ReportEntry,
    held: pd.DataFrame,
    beside: pd.DataFrame,
    gained: pd.DataFrame,
    table: pd.DataFrame,
    folder: Path | None,
) -> PageFinding:
    """Return a finding: what private users add to public data by one method, on held-out sets, with its caveat.

    ``held`` are the method's gains by budget on held-out sets, ``beside`` those on the others, ``gained`` all methods'
    gains, ``table`` the standings; a figure is drawn into ``folder``, if there is one.
    """
    task, inputs, method, mask = (str(held[k].iloc[0]) for k in ("task", "inputs", "method", "mask"))
    title, n = method_title(method, catalog.methods()), int(held["sets"].max())
    rows = comparable(table[(table["experiment"] == entry.name) & (table["mask"] == mask)])
    held_rows = rows[(rows["method"] == method) & (rows["role"] == HELD)]
    beside_it = table[table["experiment"] == entry.name]
    drawn = draw_four_lines(held_rows, beside_it, f"{title}: {inputs}", folder / f"lines_{task}") if folder else []
    named = few(held["names"].iloc[0].split(), " (", ")")
    rivals = gained[(gained["experiment"] == entry.name) & (gained["inputs"] == inputs) & (gained["mask"] == mask)]
    rivals = rivals[(rivals["role"] == HELD) & (rivals["method"] != method)]
    above = sorted({method_title(m, catalog.methods()) for m in rivals.loc[rivals["low"] > 0, "method"]})
    caveat = (
        f"The method is {title}, whose inputs on the leaderboard are “{inputs}”. A dot is what private users add: "
        f"1 − (loss of the method) / (loss of the best learner on public rows alone). Private users help if the dot is "
        f"right of 0. The ratio is a geometric mean over {n} held-out sets{named}, with a 95 % interval over the sets. "
        f"Other methods with these inputs and an interval above 0 at some ε: {', '.join(above) or 'none'}."
    )
    chart = [(f"ε = {r.epsilon:g}", [_value(r, "held")]) for r in held.itertuples()]
    gray = {r.epsilon: _value(r, "aside") for r in beside.itertuples()}
    for (_, values), epsilon in zip(chart, held["epsilon"], strict=True):
        values += [gray[epsilon]] if epsilon in gray else []
    sentence = f"{task.capitalize()}, {sent(inputs)}: {in_words(held, '; ')}."
    view = urlencode({"inputs": inputs, "task": task, "mask": mask, "dataset": HELD_OUT})
    return PageFinding(
        f"users-add-{task}{'' if folder else '-' + method.replace('_', '-')}",
        sentence,
        Intervals(chart, " %"),
        caveat,
        f"leaderboard.html#{view}",
        f"lpbench reproduce {entry.name}",
        [picture(path, path.name, sentence) for path in drawn if path.suffix == ".svg"],
        inputs=inputs,
    )


def _value(row: Any, kind: str) -> Value:
    value, low, high = (round(100 * v, 1) for v in (row.gain, row.low, row.high))
    return Value(value, low, high, kind)


def findings(
    wins: Sequence[Mapping[str, Any]], table: pd.DataFrame, entries: Sequence[ReportEntry], folder: Path
) -> list[PageFinding]:
    """Return the findings that the results at hand allow, those on private users first."""
    first = below_the_constant(wins)
    return [*users_add(table, entries, folder), *([first] if first else [])]
