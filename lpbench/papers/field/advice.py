"""``advice.csv``: which method to use, by what is public, the number of users and the budget; its table on the page.

An experiment's ``settings.advice`` says for each mask which choices it can answer: what a user may read beside
privatised labels. Methods that read more are no candidates. Candidates are chosen fairly: at a setting fixed without
test rows, or at one that privatised reports chose. The best has the smallest rank sum on sealed data sets, else on
held-out ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import Interval, Summary, is_ranked, write_csv
from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.analysis.summary import CONSTANTS, NON_PRIVATE, best_without_privacy
from lpbench.analysis.win_probability import rank_sum_intervals, win_probability
from lpbench.audit.table import report_bits
from lpbench.datasets import describe
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.papers.field.ranking import references, score_table
from lpbench.reporting.cards import method_title
from lpbench.reporting.development_sets import sets_by_kind
from lpbench.reporting.plain_table import PlainTable
from lpbench.seeds import Streams
from lpbench.selectors import parse_selector

FILE = "advice.csv"
#: Choice -> whether shown features and a public sample may be read.
GIVEN = {
    "public features": (True, False),
    "public sample": (False, True),
    "public features and sample": (True, True),
}
#: Users from which a data set counts as large.
MANY = 1500
USERS = {"any number": (0, np.inf), f"under {MANY}": (0, MANY), f"{MANY} or more": (MANY, np.inf)}
#: How many of the methods that are not significantly different the page names.
NAMED = 3
#: Columns that may be empty.
TEXTS = ("not_told_apart", "first_build", "second_build")
#: Versions of our methods that are compared: before and after their second development.
BUILDS = ("first", "second")
#: Kinds of data sets that advice is judged on, the first that there are.
JUDGED_ON = ("sealed", "conclusions", "development")


def write_advice(experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path) -> list[Path]:
    """Write ``advice.csv`` into an experiment's folder; nothing if it gives no advice or has no scores.

    Returns
    -------
    list of Path
    """
    metric = next((m for m in summary.table["metric"] if m), "")
    rows = list(_rows(experiment, summary, cards, LARGER_IS_BETTER[metric])) if metric else []
    if not rows:
        return []
    path = Path(folder) / FILE
    write_csv(pd.DataFrame(rows), path)
    return [path]


def _rows(
    experiment: Experiment, summary: Summary, cards: Mapping[str, Method], larger: bool
) -> Iterator[dict[str, object]]:
    samples, kinds = summary.samples("fair"), sets_by_kind(experiment)
    oracle = summary.samples("oracle")
    floors = {k: v for k, v in oracle.items() if parse_selector(k[3])[0] in CONSTANTS.values()}
    best = best_without_privacy(oracle, larger)
    builds = experiment.settings.get("builds", {})
    known = [key for key in samples if key[0] != NON_PRIVATE and is_ranked(key[3])]
    for mask, choices in experiment.settings.get("advice", {}).items():
        for given in choices:
            fitting = [key for key in known if parse_selector(key[2])[0] == mask and may_use(key[3], given, mask)]
            for users, epsilon in ((u, e) for u in USERS for e in sorted({key[4] for key in fitting})):
                here = [key for key in fitting if key[4] == epsilon]
                kind, sets = _judges(kinds, sorted({key[1] for key in here}), USERS[users])
                everybody = _judges(kinds, sorted({key[1] for key in here}), USERS["any number"])
                if not sets or (users != "any number" and (kind, sets) == everybody):
                    continue
                methods = list(dict.fromkeys(key[3] for key in here))
                table = score_table(samples, sets, here[0][2], methods, epsilon)
                if table is None:
                    continue
                rng = Streams(0).generator("advice", given=given, users=users, epsilon=epsilon)
                sums = rank_sum_intervals(table, larger_is_better=larger)
                first = min(range(len(methods)), key=lambda m: (sums[m].estimate, report_bits(methods[m], epsilon)))
                title = [method_title(name, cards) for name in methods]
                tied = [
                    title[m]
                    for m in range(len(methods))
                    if m != first
                    and win_probability(table[:, first], table[:, m], rng, larger_is_better=larger).low <= 0.5
                ]
                floor = references(floors, sets, here[0][2], epsilon, table.shape[2])
                non_private = np.array([best.get(s, np.full(table.shape[2], np.nan)) for s in sets])
                beats = [
                    win_probability(table[:, first], other, rng, larger_is_better=larger).estimate
                    for other in (floor, non_private)
                ]
                yield {
                    "given": given, "users": users, "epsilon": epsilon, "judged_on": kind, "datasets": len(sets),
                    "methods": len(methods), "method": methods[first], "title": title[first],
                    "ours": any(methods[first] in names for names in builds.values()),
                    "rank_sum": sums[first].estimate,
                    "rank_sum_low": sums[first].low, "rank_sum_high": sums[first].high,
                    "not_told_apart": "; ".join(tied), "beats_floor": beats[0], "beats_non_private": beats[1],
                    "bits": report_bits(methods[first], epsilon),
                    **_builds(builds, methods, title, sums, table, rng, larger),
                }  # fmt: skip


def _builds(
    builds: Mapping[str, Sequence[str]],
    methods: Sequence[str],
    title: Sequence[str],
    sums: Sequence[Interval],
    table: np.ndarray,
    rng: np.random.Generator,
    larger: bool,
) -> dict[str, object]:
    """Rank sums of both versions of our methods, and the probability that the best of version 2 beats that of 1."""
    places = {build: [methods.index(name) for name in builds.get(build, ()) if name in methods] for build in BUILDS}
    texts = {
        f"{build}_build": "; ".join(f"{title[m]}: {_with_interval(sums[m])}" for m in found)
        for build, found in places.items()
    }
    beats = Interval(np.nan, np.nan, np.nan)
    if all(places.values()):
        first, second = (min(found, key=lambda m: sums[m].estimate) for found in places.values())
        beats = win_probability(table[:, second], table[:, first], rng, larger_is_better=larger)
    name = "second_beats_first"
    return {**texts, name: beats.estimate, f"{name}_low": beats.low, f"{name}_high": beats.high}


def _with_interval(found: Interval) -> str:
    return f"{found.estimate:.3g} [{found.low:.3g}, {found.high:.3g}]"


def _judges(
    kinds: Mapping[str, Sequence[str]], sets: Sequence[str], users: tuple[float, float]
) -> tuple[str, list[str]]:
    """The kind of data sets that advice for so many users is judged on, and the sets."""
    fitting = [name for name in sets if users[0] <= n_users(name) < users[1]]
    for kind in JUDGED_ON:
        found = [name for name in fitting if parse_selector(name)[0] in kinds.get(kind, ())]
        if found:
            return kind, found
    return "", []


@cache
def n_users(dataset: str) -> int:
    """Private training rows of a data set's selector; 0 where they are not known."""
    name, params = parse_selector(dataset)
    return describe(name, params).n_train or 0


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
            row.users,
            row.epsilon,
            row.title,
            _with_interval(Interval(row.rank_sum, row.rank_sum_low, row.rank_sum_high)),
            first_of(row.not_told_apart),
            _share(row.beats_floor),
            _share(row.beats_non_private),
            f"{row.bits:.3g}",
            f"{row.judged_on} ({row.datasets})",
            row.first_build or "–",
            row.second_build or "–",
        )
        for row in rows.itertuples()
    )
    return PlainTable(
        "Labels are private. Find what else is known of users, how many they are, and the budget of each: use the "
        "method beside it.",
        ("public", "users", "ε", "use", "rank sum [95 %]", "not significantly different", "beats the constant",
         "beats the best without privacy", "bits", "judged on (sets)", "version 1", "version 2"),
        entries,
        _conclusion(rows),
    )  # fmt: skip


def read_choices(folder: Path) -> PlainTable | None:
    """Lay out the advice as answers to "What should I use?": loss relative to no privacy, and the command.

    A loss is a mean squared error, or one minus the score of classes, over the least one of any method without privacy
    on the same data set.
    """
    advice, scores = Path(folder) / FILE, Path(folder) / "summary.csv"
    if not (advice.is_file() and scores.is_file()):
        return None
    table = pd.read_csv(scores)
    numbers = bool((table["metric"] == "mse").all())
    loss = table["mean"] if numbers else 1.0 - table["mean"]
    free = table["panel"] == NON_PRIVATE
    relative = loss / table["dataset"].map(loss[free].groupby(table["dataset"]).min())
    fair = table.assign(relative=relative)[~free & (table["selection"] != "oracle")]
    rows = []
    for row in pd.read_csv(advice).itertuples():
        here = fair[(fair["method"] == row.method) & (fair["epsilon"] == row.epsilon)]
        found = here.groupby("dataset")["relative"].min()
        said = f"{found.median():.2f} [{found.min():.2f}, {found.max():.2f}], {found.size}"
        name = row.method if "[" not in row.method else f"'{row.method}'"
        command = f"lpbench dataset=NAME method={name} epsilon={row.epsilon:g}"
        rows.append((row.given, row.users, f"{row.epsilon:g}", row.title, said, command))
    heads = ("public", "users", "ε", "use", "loss / loss without privacy: median [range], sets", "command")
    return PlainTable("Numbers" if numbers else "Classes", heads, tuple(rows))


def first_of(names: str) -> str:
    """The first of a list of names and the number of the others; the file has all."""
    found = names.split("; ") if names else []
    rest = len(found) - NAMED
    return "; ".join(found[:NAMED]) + (f" and {rest} more" if rest > 0 else "") or "–"


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.0%}"


def _second(rows: pd.DataFrame) -> str:
    """How version 2 does beside version 1, where both are candidates; nothing where none was compared."""
    if "second_beats_first" not in rows:
        return ""
    both = rows[rows["second_beats_first"].notna()]
    if both.empty:
        return ""
    better, worse = both["second_beats_first_low"] > 0.5, both["second_beats_first_high"] < 0.5
    outcomes = {"better": better, "worse": worse, "not significantly different": ~better & ~worse}
    said = [f"{word} at ε = {', '.join(both.loc[where, 'epsilon'])}" for word, where in outcomes.items() if where.any()]
    return f" Version 2 of our methods beside version 1: {'; '.join(said)}."


def _conclusion(rows: pd.DataFrame) -> str:
    """Who has the smallest rank sum among fairly selected methods, and how to read the table."""
    parts = []
    for given, part in rows[rows["users"] == "any number"].groupby("given", sort=False):
        ours = [row.epsilon for row in part.itertuples() if row.ours]
        others: dict[str, list[str]] = {}
        for row in part.itertuples():
            if not row.ours:
                others.setdefault(row.title, []).append(row.epsilon)
        said = [f"ours at ε = {', '.join(ours)}"] if ours else []
        said += [f"{title} at ε = {', '.join(budgets)}" for title, budgets in others.items()]
        parts.append(f"Smallest rank sum, {given}: {'; '.join(said)}.{_second(part)}")
    return " ".join(parts) + (
        " Candidates read no more than what is public in their row, and their setting was fixed without test rows or "
        "chosen by privatised reports. Rank sums are over data sets, 1 the best on each, with bootstrap intervals over "
        "sets and splits. Not significantly different: the 95 % interval of the probability that the named method is "
        "better than the other on a random split of a random set reaches down to one half. Versions 1 and 2 are "
        "our methods before and after their second development, with their rank sums, compared by the same interval."
    )
