"""Error over the private constant's against the budget: published methods, a Gaussian process on noisy labels, ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from lpbench.analysis.standings import FAIR, NONE, over_sets, view
from lpbench.analysis.summary import CONSTANTS
from lpbench.analysis.variants import bare_name
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages.leaderboard import PROTECTS
from lpbench.reporting.paper import papers
from lpbench.reporting.printed_names import card_of, method_title
from lpbench.selectors import format_selector, parse_selector

COLUMNS = ["task", "contender", "epsilon", "method", "protects", "mean", "low", "high", "sets",
           "over_published", "over_published_low", "over_published_high"]  # fmt: skip
#: Contenders.
PUBLISHED, NOISY, OURS = "published", "noisy labels", "ours"


def published_methods(methods: Iterable[str]) -> list[str]:
    """Those of some methods that the papers compare, private ones; public samples alone count, as in the papers."""
    published = {m for p in papers() if p.claims for m in p.methods} - {*CONSTANTS}
    return sorted(m for m in set(methods) if bare_name(m) in published)


def over_constant(table: pd.DataFrame, entries: Sequence[ReportEntry], cards: Mapping[str, Method]) -> pd.DataFrame:
    """Losses over the constant's by contender and budget, geometric means over data sets with their intervals.

    Of the published methods the best by this mean at each budget stands for all, at the grid points that are best on
    the test rows. The Gaussian process has the randomiser that its experiment names first, and ours one setting fixed
    beforehand. ``over_published`` is the contender's loss over that of the best published method.
    """
    rows: list[dict] = []
    for task in ("regression", "classification"):
        experiment = _experiment(table[(table["task"] == task) & (table["privacy"] != NONE)], entries)
        if experiment is None:
            continue
        here = table[(table["experiment"] == experiment.name) & (table["privacy"] != NONE)]
        ours, noisy = str(experiment.settings["compared"]), _gaussian(experiment.methods)
        scored = pd.concat([view(here, "oracle").query("method != @ours"), view(here, FAIR).query("method == @ours")])
        for epsilon, part in scored.groupby("epsilon"):
            sets = part["dataset"].nunique()
            part = part[part.groupby("method")["dataset"].transform("size") == sets]
            published = published_methods(part["method"])
            if not published:
                continue
            best = over_sets(part[part["method"].isin(published)]).set_index("method")["constant"].idxmin()
            contenders = {PUBLISHED: best, NOISY: noisy[0] if noisy else "", OURS: ours}
            shown = part[part["method"].isin(contenders.values())]
            found = over_sets(shown, best, ("constant", "control")).set_index("method")
            for contender, method in contenders.items():
                if method in found.index:
                    row, card = found.loc[method], card_of(method, cards)
                    protects = PROTECTS.get(card.privacy, card.privacy) if card else ""
                    numbers = row[["constant", "constant_low", "constant_high", "datasets", "control",
                                   "control_low", "control_high"]]  # fmt: skip
                    rows.append(dict(zip(COLUMNS, [task, contender, epsilon, method, protects, *numbers], strict=True)))
    return pd.DataFrame(rows, columns=COLUMNS)


def _experiment(table: pd.DataFrame, entries: Sequence[ReportEntry]) -> Experiment | None:
    """The experiment in which a method of ours stands beside learners on privatised labels and most published ones."""
    found = []
    for entry in entries:
        mine = table[table["experiment"] == entry.name]
        if (
            entry.experiment.settings.get("compared")
            and _gaussian(mine["method"])
            and mine["over_constant"].notna().any()
        ):
            found.append((len(published_methods(mine["method"])), mine["dataset"].nunique(), entry.experiment))
    return max(found, key=lambda one: one[:2], default=(0, 0, None))[2]


def _gaussian(methods: Iterable[str]) -> list[str]:
    """Gaussian processes on noisy labels, as tables spell their selectors."""
    parsed = map(parse_selector, methods)
    return [format_selector(*found) for found in parsed if found[1].get("learner") == "gaussian_process"]


def sentence(table: pd.DataFrame, cards: Mapping[str, Method]) -> str:
    """Where the Gaussian process has a smaller loss than the best published method; empty without both."""
    parts: list[str] = []
    noisy = table[(table["contender"] == NOISY) & table["over_published"].notna()]
    for task, rows in noisy.groupby("task", sort=False):
        published = table[(table["task"] == task) & (table["contender"] == PUBLISHED)]
        models = " or ".join(dict.fromkeys(published["protects"]))
        rivals = " or ".join(dict.fromkeys(method_title(m, cards) for m in published["method"]))
        clear = rows[rows["over_published_high"] < 1]
        where = "at no budget" if clear.empty else "at ε = " + ", ".join(f"{e:g}" for e in clear["epsilon"])
        parts.append(f"in {task} {where}, beside {rivals} ({models})")
    protects = " or ".join(dict.fromkeys(noisy["protects"]))
    return (
        f"A Gaussian process on noisy labels ({protects}) has a clearly smaller loss than the best published method "
        f"{'; '.join(parts)}."
        if parts
        else ""
    )
