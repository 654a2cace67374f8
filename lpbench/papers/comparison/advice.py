"""``advice.csv``: which method to use, by what is public and the budget; its table on the page.

An experiment's ``settings.advice`` says for each mask which choices it can answer: what a user may read beside
privatised labels. Methods that read more are no candidates. Candidates are chosen fairly: at a setting fixed without
test rows, or at one that privatised reports chose. The best has the smallest rank sum on held-out data sets; where
these are fewer than five, on all data sets, and there is no advice on fewer than five.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import Interval, Summary, is_ranked, write_csv
from lpbench.analysis.summary import NON_PRIVATE_PANEL, best_without_privacy
from lpbench.analysis.win_probability import rank_sum_intervals, win_probability
from lpbench.datasets import describe
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.experiments.results import Artefact
from lpbench.papers.comparison.ranking import best_constants, cost_table, costs_of
from lpbench.reporting.development_sets import sets_by_kind
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.printed_names import method_title
from lpbench.seeds import Streams
from lpbench.selectors import parse_selector

FILE = "advice.csv"
#: Choice -> whether shown features and a public sample may be read.
GIVEN = {
    "public features": (True, False),
    "public sample": (False, True),
    "public features and sample": (True, True),
}
#: How many of the methods that are not significantly different the page names.
NAMED = 3
#: Columns that may be empty.
TEXTS = ("second", "not_told_apart")
#: Columns of the page "What should I use?".
HEADS = ("public", "users", "ε", "use", "second choice", "loss / loss without privacy: median [range], sets", "command")
#: Numbers of users that train, and those between which the data sets lie that a loss is from.
USERS = {"any number": (0, np.inf), "fewer than 1,000": (0, 1000), "1,000 or more": (1000, np.inf)}
#: Fewest data sets that advice rests on, and the kinds on which no choice was made.
FEWEST, HELD_OUT = 5, ("sealed", "conclusions")


def write_advice(experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path) -> list[Path]:
    """Write ``advice.csv`` into an experiment's folder; nothing if it gives no advice or has no scores."""
    rows = list(_rows(experiment, summary, cards))
    if not rows:
        return []
    path = Path(folder) / FILE
    write_csv(pd.DataFrame(rows), path)
    return [path]


def _rows(experiment: Experiment, summary: Summary, cards: Mapping[str, Method]) -> Iterator[dict[str, object]]:
    from lpbench.audit.table import report_bits  # which brings every estimator, and most commands need few

    samples, kinds = costs_of(summary, "fair"), sets_by_kind(experiment)
    oracle = costs_of(summary, "oracle")
    best = best_without_privacy(oracle)
    ours = experiment.settings.get("ours", ())
    known = [key for key in samples if key[0] != NON_PRIVATE_PANEL and is_ranked(key[3])]
    for mask, choices in experiment.settings.get("advice", {}).items():
        for given in choices:
            fitting = [key for key in known if parse_selector(key[2])[0] == mask and may_use(key[3], given, mask)]
            for epsilon in sorted({key[4] for key in fitting}):
                here = [key for key in fitting if key[4] == epsilon]
                sets, held_out = _judges(kinds, sorted({key[1] for key in here}))
                if not sets:
                    continue
                methods = list(dict.fromkeys(key[3] for key in here))
                table = cost_table(samples, sets, here[0][2], methods, epsilon)
                if table is None:
                    continue
                rng = Streams(0).generator("advice", given=given, epsilon=epsilon)
                sums = rank_sum_intervals(table)
                order = sorted(
                    range(len(methods)), key=lambda m: (sums[m].estimate, report_bits(methods[m], epsilon), m)
                )
                first, second = order[0], next(iter(order[1:]), None)
                title = [method_title(name, cards) for name in methods]
                tied = [
                    title[m]
                    for m in range(len(methods))
                    if m != first and win_probability(table[:, first], table[:, m], rng).low <= 0.5
                ]
                constant = best_constants(oracle, sets, epsilon, table.shape[2])
                non_private = np.array([best.get(s, np.full(table.shape[2], np.nan)) for s in sets])
                beats = [win_probability(table[:, first], other, rng).estimate for other in (constant, non_private)]
                yield {
                    "given": given, "epsilon": epsilon, "datasets": len(sets), "held_out": held_out,
                    "methods": len(methods), "method": methods[first], "title": title[first],
                    "ours": methods[first] in ours, "second": "" if second is None else title[second],
                    "rank_sum": sums[first].estimate,
                    "rank_sum_low": sums[first].low, "rank_sum_high": sums[first].high,
                    "not_told_apart": "; ".join(tied), "beats_floor": beats[0], "beats_non_private": beats[1],
                    "bits": report_bits(methods[first], epsilon),
                }  # fmt: skip


def _judges(kinds: Mapping[str, Sequence[str]], sets: Sequence[str]) -> tuple[Sequence[str], int]:
    """Data sets on which advice rests, none if they are too few, and how many of them are held out."""
    held_out = [name for name in sets if any(parse_selector(name)[0] in kinds.get(kind, ()) for kind in HELD_OUT)]
    if len(held_out) >= FEWEST:
        return held_out, len(held_out)
    return (sets if len(sets) >= FEWEST else ()), len(held_out)


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


def read_advice(folder: Path) -> PlainTable | None:
    """Lay out ``advice.csv`` of an experiment's folder; None without the file."""
    path = Path(folder) / FILE
    if not path.is_file():
        return None
    rows = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, object)).fillna(dict.fromkeys(TEXTS, ""))
    rows["epsilon"] = [f"{e:g}" for e in rows["epsilon"]]
    entries = tuple(
        (
            row.given,
            row.epsilon,
            row.title,
            row.second or "–",
            str(Interval(row.rank_sum, row.rank_sum_low, row.rank_sum_high)),
            first_of(row.not_told_apart),
            _share(row.beats_floor),
            _share(row.beats_non_private),
            f"{row.bits:.3g}",
            f"{row.datasets} ({row.held_out})",
        )
        for row in rows.itertuples()
    )
    return PlainTable(
        "Labels are private. Look up what is public and the budget of each user.",
        ("public", "ε", "use", "second choice", "rank sum [95 %]", "not significantly different", "beats the constant",
         "beats the best without privacy", "bits", "data sets (held out)"),
        entries,
        _conclusion(rows),
    )  # fmt: skip


def read_choices(folder: Path) -> PlainTable | None:
    """Lay out the advice as answers to "What should I use?": loss relative to no privacy, and the command.

    A loss is a mean squared error, or one minus the score of classes, over the least one of any method without privacy
    on the same data set. The method is the same for any number of users; losses are of data sets with that many, where
    these are five.
    """
    advice = Path(folder) / FILE
    table = Artefact(Path(folder), "/".join(Path(folder).parts[-2:])).summary
    if table is None or not advice.is_file():
        return None
    numbers = bool((table["metric"] == "mse").all())
    loss = table["mean"] if numbers else 1.0 - table["mean"]
    free = table["panel"] == NON_PRIVATE_PANEL
    relative = loss / table["dataset"].map(loss[free].groupby(table["dataset"]).min())
    fair = table.assign(relative=relative)[~free & (table["selection"] != "oracle")]
    sizes, rows = {name: describe(*parse_selector(name)).n_train or 0 for name in fair["dataset"].unique()}, []
    for row in pd.read_csv(advice, keep_default_na=False).itertuples():
        here = fair[(fair["method"] == row.method) & (fair["epsilon"] == row.epsilon)]
        losses = here.groupby("dataset")["relative"].min()
        n = losses.index.map(sizes)
        name = row.method if "[" not in row.method else f"'{row.method}'"
        command = f"lpbench dataset=NAME method={name} epsilon={row.epsilon:g}"
        for users, (low, high) in USERS.items():
            found = losses[(low <= n) & (n < high)]
            if found.size >= FEWEST:
                said = f"{found.median():.2f} [{found.min():.2f}, {found.max():.2f}], {found.size}"
                rows.append((row.given, users, f"{row.epsilon:g}", row.title, row.second, said, command))
    return PlainTable("Regression" if numbers else "Classification", HEADS, tuple(rows))


def first_of(names: str) -> str:
    """The first of a list of names and the number of the others; the file has all."""
    found = names.split("; ") if names else []
    rest = len(found) - NAMED
    return "; ".join(found[:NAMED]) + (f" and {rest} more" if rest > 0 else "") or "–"


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.0%}"


def _conclusion(rows: pd.DataFrame) -> str:
    """Who has the smallest rank sum among fairly selected methods, and how to read the table."""
    parts = []
    for given, part in rows.groupby("given", sort=False):
        ours = [row.epsilon for row in part.itertuples() if row.ours]
        others: dict[str, list[str]] = {}
        for row in part.itertuples():
            if not row.ours:
                others.setdefault(row.title, []).append(row.epsilon)
        said = [f"ours at ε = {', '.join(ours)}"] if ours else []
        said += [f"{title} at ε = {', '.join(budgets)}" for title, budgets in others.items()]
        parts.append(f"Smallest rank sum, {given}: {'; '.join(said)}.")
    return " ".join(parts) + (
        " Candidates read no more than what is public in their row, and their setting was fixed without test rows or "
        "chosen by privatised reports. Rank sums are over data sets, 1 the best on each, with bootstrap intervals over "
        "sets and splits. Not significantly different: the 95 % interval of the probability that the named method does "
        "better than the other on a random split of a random set reaches down to one half. Advice rests on held-out "
        f"data sets; where they are fewer than {FEWEST}, on all of them, development sets included."
    )
