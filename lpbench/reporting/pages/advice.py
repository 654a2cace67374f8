"""Advice on which method to use, by what is public and the budget; its tables on the pages.

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
from lpbench.analysis.standings import FAIR, FEWEST, NONE, geometric_mean, least_p, over_sets, view
from lpbench.analysis.variants import bare_name
from lpbench.datasets import describe
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.printed_names import method_title
from lpbench.selectors import parse_selector

#: Choice -> whether shown features and a public sample may be read.
GIVEN = {
    "public features": (True, False),
    "public sample": (False, True),
    "public features and sample": (True, True),
}
#: How many of the methods that are not significantly different the page names.
NAMED = 3
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
    least_p: float
    rank_sum: Interval
    bits: float


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
                second = others[0] if others else ""
                sums = Interval(*(len(sets) * ranked.loc[ranked.index[0], ["rank", "rank_low", "rank_high"]]))
                yield Advice(
                    given, float(epsilon), here[here["method"] == first], sets, len(held_out), first, second, tied,
                    least_p(len(sets), len(ranked)), sums, float(bits[first]),
                )  # fmt: skip


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


def advice_table(experiment: Experiment, standings: pd.DataFrame, cards: Mapping[str, Method]) -> PlainTable | None:
    """Lay out an experiment's advice; None without any."""
    entries, smallest = [], dict[str, dict[str, list[str]]]()
    for found in advise(experiment, standings):
        over = over_sets(found.rows[found.rows["dataset"].isin(found.sets)], intervals=("constant", "free")).iloc[0]
        title, tied = method_title(found.method, cards), first_of([method_title(m, cards) for m in found.tied])
        entries.append((
            found.given, f"{found.epsilon:g}", title, method_title(found.second, cards) if found.second else "–",
            str(found.rank_sum), tied if found.least_p < ALPHA else f"cannot be told (p ≥ {found.least_p:.2g})",
            *(_ratio(Interval(*over[[name, f"{name}_low", f"{name}_high"]])) for name in ("constant", "free")),
            f"{found.bits:.3g}", f"{len(found.sets)} ({found.held_out})",
        ))  # fmt: skip
        who = "ours" if found.method in experiment.settings.get("ours", ()) else title
        smallest.setdefault(found.given, {}).setdefault(who, []).append(f"{found.epsilon:g}")
    if not entries:
        return None
    said = []
    for given, names in smallest.items():
        where = "; ".join(f"{who} at ε = {', '.join(budgets)}" for who, budgets in names.items())
        said.append(f"Smallest rank sum, {given}: {where}.")
    return PlainTable(
        "Labels are private. Look up what is public and the budget of each user.",
        ("public", "ε", "use", "second choice", "rank sum [95 %]", "not significantly different",
         "loss over the constant's [95 %]", "over the best without privacy [95 %]", "bits", "data sets (held out)"),
        tuple(entries),
        " ".join(said)
        + " Candidates read no more than what is public in their row, and their setting was fixed without test rows or "
        "chosen by privatised reports. Rank sums are over data sets, 1 the best on each, with Student's "
        "interval. Losses are geometric means over the same data sets with intervals over them. Not significantly "
        "different: two-sided Wilcoxon test over data sets against the method, level 0.05 after Holm. Advice rests on "
        f"held-out data sets; where they are fewer than {FEWEST}, on all of them, development sets included.",
    )  # fmt: skip


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
            second = method_title(found.second, cards) if found.second else ""
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


def first_of(names: list[str]) -> str:
    """The first of a list of names and the number of the others."""
    rest = len(names) - NAMED
    return "; ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "") or "–"
