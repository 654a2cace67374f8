"""Tables cut into comparisons: the methods that compete at one budget, with their means on each data set."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd

from lpbench.analysis import Summary, competitors
from lpbench.analysis.ranks import ranks
from lpbench.analysis.scores import costs
from lpbench.analysis.summary import barred
from lpbench.members import BASELINE, bare_name, is_ranked, member
from lpbench.reporting.figures.curves import looks_of, place_of
from lpbench.reporting.paper import papers
from lpbench.reporting.printed_names import in_words, mask_name

#: Up to so many methods all have a color; of more, so many have one.
FEW, COLORED = 8, 5


@dataclass(frozen=True)
class Part:
    """Scores of the methods that compete within one panel, mask and budget of an experiment.

    ``means`` and ``errors`` have a row for each data set and a column for each method; ``group`` is the mask's name.
    """

    panel: str
    group: str  # the mask in words, where an experiment has several
    epsilon: float
    metric: str
    means: pd.DataFrame  # data sets x methods; NaN where there is none
    errors: pd.DataFrame  # their standard errors

    @property
    def title(self) -> str:
        """Title of the panel: its name, group of data sets and budget."""
        budget = "" if math.isnan(self.epsilon) else f"ε = {self.epsilon:g}"
        return ", ".join(filter(None, [in_words(self.panel), self.group, budget]))

    @property
    def competing(self) -> Self:
        """Return the part with the methods that compete for ranks."""
        methods = [m for m in self.means if m in competitors(filter(is_ranked, self.means))]
        return replace(self, means=self.means[methods], errors=self.errors[methods])


def parts(summary: Summary, selection: str) -> list[Part]:
    """Split an experiment's table into comparisons with one metric; the papers' methods come in their order."""
    order = {method: k for k, method in enumerate(method for paper in papers() for method in paper.methods)}
    table = summary.table[(summary.table["selection"] == selection) & summary.table["mean"].notna()]
    table = table[~table["method"].isin(barred(summary.table))]
    several, comparisons = table["mask"].nunique() > 1, []
    for (panel, epsilon, mask), rows in table.groupby(["panel", "epsilon", "mask"], dropna=False):
        if rows["metric"].nunique() == 1:
            methods = sorted(set(rows["method"]) - {BASELINE}, key=lambda m: (order.get(bare_name(m), len(order)), m))
            means, errors = (rows.pivot(index="dataset", columns="method", values=v)[methods] for v in ("mean", "se"))
            metric = str(rows["metric"].iloc[0])
            comparisons.append(Part(panel, mask_name(mask) if several else "", epsilon, metric, means, errors))
    return comparisons


def leading(comparisons: Sequence[Part]) -> dict[str, dict[str, str]]:
    """Color and marker of methods shown in color: all few, or the best by rank; references are gray."""
    places: dict[str, list[float]] = {}
    for comparison in comparisons:
        methods = [m for m in comparison.means if not member(m).is_constant and is_ranked(m)]
        losses = costs(comparison.means[methods].dropna().to_numpy(), comparison.metric)
        for method, placed in zip(
            methods, (ranks(losses, larger_is_better=False) / max(len(methods), 1)).T, strict=True
        ):
            places.setdefault(method, []).extend(placed)
    best = sorted(places, key=lambda m: float(np.mean(places[m])) if places[m] else 1.0)
    colored = best if len(best) <= FEW else best[:COLORED]
    # variants of a paper's method look alike; those of no paper have nothing but their look to be known by
    names = {m: base if place_of(base := bare_name(m)) is not None else m for m in colored}
    looks = looks_of(names.values())
    return {m: looks[name] for m, name in names.items()}
