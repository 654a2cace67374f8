"""Advice on which method to use, by what is public and the budget; its tables on the page "What should I use?".

An experiment's ``settings.advice`` says for each mask which choices it can answer: what a user may read beside
privatised labels. Methods that read more are no candidates. Candidates are chosen fairly: at a setting fixed without
test rows, or at one that privatised reports chose. The best has the smallest rank sum on held-out data sets; where
these are fewer than five, on all data sets, and there is no advice on fewer than five.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from lpbench.analysis import ALPHA, Interval, is_ranked
from lpbench.analysis.standings import FAIR, FEWEST, NONE, geometric_mean, over_sets, view
from lpbench.analysis.variants import bare_name
from lpbench.datasets import describe
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.printed_names import method_title
from lpbench.selectors import parse_selector

#: Choice -> whether shown features and a public sample may be read.
GIVEN = {
    "public features": (True, False),
    "public sample": (False, True),
    "public features and sample": (True, True),
}
#: Columns of the page "What should I use?".
HEADS = ("public", "users", "ε", "use", "second choice", "loss / loss without privacy: mean [95 %], sets", "command")
#: Numbers of users that train, and those between which the data sets lie that a loss is from.
USERS = {"any number": (0, np.inf), "fewer than 1,000": (0, 1000), "1,000 or more": (1000, np.inf)}
#: Roles of data sets on which no choice was made.
HELD_OUT = ("sealed", "held out")


@dataclass(frozen=True)
class Advice:
    """What to use where a choice is public, at one budget."""

    given: str
    epsilon: float
    rows: pd.DataFrame  # standings of the method on all data sets
    sets: list[str]  # on which the advice rests
    held_out: int  # of them
    method: str
    second: str
    tied: list[str]  # methods that are not significantly different from it


def advise(experiment: Experiment, standings: pd.DataFrame) -> Iterator[Advice]:
    """Advice from an experiment's standings: none where it has no setting for it or data sets are too few."""
    rows = view(standings[(standings["privacy"] != NONE) & standings["method"].map(is_ranked)], FAIR)
    for mask, choices in experiment.settings.get("advice", {}).items():
        for given in choices:
            fitting = rows[
                (rows["mask"].map(bare_name) == mask)
                & np.array([may_use(m, given, mask) for m in rows["method"]], dtype=bool)
            ]
            for epsilon, here in fitting.groupby("epsilon"):
                held_out = sorted(here["dataset"][here["role"].isin(HELD_OUT)].unique())
                sets = held_out if len(held_out) >= FEWEST else sorted(here["dataset"].unique())
                if len(sets) < FEWEST:
                    continue
                judged = here[here["dataset"].isin(sets)]
                bits = judged.groupby("method")["bits"].first()
                ranked = over_sets(judged)
                ranked = ranked.assign(bits=ranked["method"].map(bits)).sort_values(["rank_sum", "bits"], kind="stable")
                first, *others = ranked["method"]
                found = over_sets(judged, first).set_index("method")["p"]
                tied = [m for m in others if not found[m] < ALPHA]
                mine, second = here[here["method"] == first], others[0] if others else ""
                yield Advice(given, float(epsilon), mine, sets, len(held_out), first, second, tied)


def may_use(selector: str, given: str, mask: str = "") -> bool:
    """Whether a method reads no more than a choice gives, beside privatised labels and protected features.

    Under the mask ``all_private`` there are no features to read.
    """
    features, sample = GIVEN[given]
    reads_features, reads_sample = _reads(selector)
    return (features or not reads_features or mask == "all_private") and (sample or not reads_sample)


@cache
def _reads(selector: str) -> tuple[bool, bool]:
    """Whether a method reads shown features, and whether it reads a public sample."""
    method = catalogue.method(selector)
    if inner := method.params.get("estimator"):
        return _reads(str(inner))
    kind = method.estimator_class
    return kind.uses_mask, kind.uses_public and bool(method.params.get("public", True))


def choices(
    experiments: Iterable[Experiment], standings: pd.DataFrame, cards: Mapping[str, Method]
) -> dict[str, list[tuple[str, ...]]]:
    """Answers to "What should I use?" by task: the advice with the loss over the best without privacy, and the command.

    The method is the same for any number of users; losses are of data sets with that many, where these are five.
    """
    answers: dict[str, list[tuple[str, ...]]] = {}
    for experiment in experiments:
        for found in advise(experiment, standings[standings["experiment"] == experiment.name]):
            losses = found.rows.set_index("dataset")["over_free"].dropna()
            n = np.array([describe(*parse_selector(name)).n_train or 0 for name in losses.index])
            name = found.method if "[" not in found.method else f"'{found.method}'"
            command = f"lpbench dataset=NAME method={name} epsilon={found.epsilon:g}"
            second = method_title(found.second, cards) if found.second else "–"
            second += " (not significantly different)" * (found.second in found.tied)
            for users, (low, high) in USERS.items():
                here = losses[(low <= n) & (n < high)]
                if here.size >= FEWEST:
                    row = (found.given, users, f"{found.epsilon:g}", method_title(found.method, cards), second,
                           f"{_ratio(geometric_mean(here))}, {here.size}", command)  # fmt: skip
                    answers.setdefault(str(found.rows["task"].iloc[0]).capitalize(), []).append(row)
    return answers


def _ratio(found: Interval) -> str:
    if np.isnan(found.estimate):
        return "–"
    return f"{found.estimate:.2f}" + ("" if np.isnan(found.low) else f" [{found.low:.2f}, {found.high:.2f}]")
