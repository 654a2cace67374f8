"""The leaderboard: every method's score against the constant and the non-private best, like compared with like.

Scores come from the experiments that papers name in :attr:`lpbench.reporting.paper.Paper.leaderboard`. Methods are
compared within a task, a mask, a budget, a way of selection and, by default, a privacy model.
"""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lpbench.analysis import competitors
from lpbench.analysis.significance import DIGITS
from lpbench.analysis.standings import NONE, over_sets, view
from lpbench.analysis.summary import CONSTANTS
from lpbench.analysis.variants import bare_name
from lpbench.experiments.method import Method
from lpbench.experiments.submissions import Submission
from lpbench.reporting.numbers import for_script, print_value
from lpbench.reporting.paper import papers
from lpbench.reporting.printed_names import card_of, dataset_title, in_words, method_title
from lpbench.reporting.standings import SUBMITTED

#: Privacy model of a method -> what it protects, in the words of the badges.
PROTECTS = {
    "label_ldp": "label",
    "semi_feature_ldp": "label and protected features",
    "ldp": "whole record",
    "label_cdp": "label, trusted curator",
    "cdp": "record, trusted curator",
    "none": "nothing",
    "": "not stated",
}
#: What can be chosen, and how it is called.
FILTERS = {
    "task": "Task",
    "dataset": "Data set",
    "epsilon": "Budget ε",
    "mask": "Who protects what",
    "protects": "Protects",
    "selection": "Selection",
}
#: What a user without test rows can have comes first; the other is oracle selection.
COMPARED_SELECTIONS = ("fair", "oracle")
#: Badge of the methods of the package, whose scores `lpbench verify bitwise` runs again.
PACKAGE = "in the package"
#: The row of all data sets together.
ALL = "all data sets"
#: Name of the script beside the page.
SCRIPT = "leaderboard.js"


@dataclass(frozen=True)
class Line:
    """One row of the leaderboard."""

    task: str
    mask: str
    epsilon: float
    selection: str
    dataset: str
    method: str
    title: str
    protects: str
    #: Mean squared error or accuracy in per cent; over all data sets the geometric mean of the errors
    #: relative to the non-private best, or the mean accuracy.
    score: float
    se: float
    #: Loss over that of the best private constant, and of the best without privacy; geometric means over data sets.
    constant: float
    best: float
    #: Average rank among the methods of the same privacy model, with its 95 % interval over data sets where there
    #: are several.
    rank: float
    low: float
    high: float
    #: Seconds of one fit alone, and bits of one user's reports (in the audit's
    #: small sample, what is shown in the clear left out); of a submission as its verification found them; NaN
    #: where they are not known.
    work: float
    bits: float
    sets: int  # data sets behind the row
    experiment: str
    #: Selectors, as the command line takes them; no data set for all of them together.
    mask_key: str
    dataset_key: str
    badge: str  # whether and when somebody else ran it again
    paper: str  # whose method it is

    @property
    def command(self) -> str:
        """What runs the row's numbers again, or shows what stands behind them."""
        if self.badge != PACKAGE:
            return f"lpbench verify submission results/submissions/{self.method}"
        if not self.dataset_key:
            return f"lpbench reproduce {self.experiment}"
        words = [self.dataset_key, self.method, f"{self.epsilon:g}", "--mask", self.mask_key]
        return shlex.join(["lpbench", "explain", *words, "--experiment", self.experiment])


def board(table: pd.DataFrame, cards: Mapping[str, Method], submitted: Sequence[Submission] = ()) -> list[Line]:
    """Collect all rows from the standings of some experiments and submissions."""
    # later papers are our own experiments, which hold the columns of the papers' tables too
    order = {name: k for k, name in enumerate(name for paper in papers() for name in reversed(paper.leaderboard))}
    sent = {f"{SUBMITTED}/{one.name}": one for one in submitted if one.name in set(table["method"])}
    rows = table[table["experiment"].isin([*order, *sent]) & (table["privacy"] != NONE)]
    competing = {name: competitors(set(part)) for name, part in rows.groupby("experiment")["method"]}
    kept = [
        m in competing[e] or bare_name(m) in CONSTANTS for e, m in zip(rows["experiment"], rows["method"], strict=True)
    ]
    rows = rows[np.array(kept, dtype=bool)]
    rows = rows.assign(
        order=[order.get(name, len(order)) for name in rows["experiment"]],
        experiment=[sent[e].about["experiment"] if e in sent else e for e in rows["experiment"]],
    )
    badges = {one.name: one.words for one in sent.values()}
    cards = {**cards, **{one.name: one.method for one in sent.values()}}
    lines: list[Line] = []
    for selection in COMPARED_SELECTIONS:
        found = view(rows, selection).sort_values("order", kind="stable")
        found = found.drop_duplicates(["task", "mask", "epsilon", "dataset", "method"], keep="last")
        for key, part in found.groupby(["task", "mask", "epsilon"]):
            lines += _lines((*key, selection), part, cards, badges)
    return sorted(lines, key=lambda line: (line.task, line.mask_key, line.epsilon, line.selection))


def _lines(key: tuple, part: pd.DataFrame, cards: Mapping[str, Method], badges: Mapping[str, str]) -> Iterator[Line]:
    task, mask, epsilon, selection = key
    shared = (task, in_words(bare_name(mask)) if mask else "–", epsilon, selection)
    # data sets of the experiment with the most cells are taken together: others may have them under another selector
    whole = Counter(part["experiment"]).most_common(1)[0][0]
    refuted = [m for m, words in badges.items() if words.startswith("refuted")]
    for model, members in _models(sorted(set(part["method"])), cards).items():
        mine = part[part["method"].isin(members)]
        ranked = mine[~mine["method"].isin(refuted)]
        ranks = ranked.assign(loss=ranked["loss"].round(DIGITS)).groupby("dataset")["loss"].rank()
        ranks = ranks.where(ranked.groupby("dataset")["loss"].transform("size") > 1)
        together = mine[mine["experiment"] == whole]
        # a method without a loss on one of the data sets has no rank over all of them
        sets = together.groupby("method")["dataset"].nunique()
        complete = [m for m in sets.index[sets == together["dataset"].nunique()] if m not in refuted]
        over = over_sets(together).set_index("method").to_dict("index")
        placed = over_sets(together[together["method"].isin(complete)]).set_index("method").to_dict("index")
        by_method = {m: rows.sort_values("dataset") for m, rows in mine.assign(place=ranks).groupby("method")}
        for method in members:
            card, badge = card_of(method, cards), badges.get(method, PACKAGE)
            about = (method, method_title(method, cards), PROTECTS.get(model, model))
            rows, end = by_method[method].to_dict("records"), (badge, card.reference if card else "")
            for row in rows:
                score, scale = (100 * (1 - row["loss"]), 100) if task == "classification" else (row["loss"], 1)
                yield Line(
                    *shared, dataset_title(row["dataset"]), *about, score, scale * row["se"], row["over_constant"],
                    row["over_free"], row["place"], math.nan, math.nan, row["seconds"], row["bits"], 1,
                    row["experiment"], mask, row["dataset"], *end,
                )  # fmt: skip
            inside = [row for row in rows if row["experiment"] == whole]
            if len(inside) > 1:
                found, rank = (
                    over[method],
                    placed.get(method, dict.fromkeys(("rank", "rank_low", "rank_high"), math.nan)),
                )
                accuracy = 100 * (1 - float(np.mean([row["loss"] for row in inside])))
                yield Line(
                    *shared, ALL, *about, accuracy if task == "classification" else found["free"], math.nan,
                    found["constant"], found["free"], rank["rank"], rank["rank_low"], rank["rank_high"],
                    inside[-1]["seconds"], inside[-1]["bits"], len(inside), whole, mask, "", *end,
                )  # fmt: skip


def _models(methods: Sequence[str], cards: Mapping[str, Method]) -> dict[str, list[str]]:
    """Privacy model -> the methods that keep it; a constant, which shows no feature, is a row of every one of them."""
    found: dict[str, list[str]] = {}
    constants = [m for m in methods if bare_name(m) in CONSTANTS]
    for method in methods:
        card = card_of(method, cards)
        if method not in constants:
            found.setdefault(card.privacy if card else "", []).append(method)
    if not found and constants:
        found["label_ldp"] = []
    return {model: sorted([*members, *constants]) for model, members in found.items()}


def default_view(lines: Sequence[Line]) -> dict[str, str]:
    """First view of the leaderboard: task, mask, budget and model with the most methods, tuning-free."""
    if not lines:
        return {}
    count: dict[tuple, int] = {}
    for line in lines:
        if line.selection == "fair" and line.dataset == ALL and not math.isnan(line.rank):
            key = (line.task == "regression", line.epsilon == 1, line.task, line.mask, line.epsilon, line.protects)
            count[key] = count.get(key, 0) + 1
    if not count:
        first = lines[0]
        chosen = (first.task, first.mask, first.epsilon, first.protects)
        selection, dataset = first.selection, first.dataset
    else:
        chosen, selection, dataset = max(count, key=lambda k: (k[:2], count[k]))[2:], "fair", ALL
    task, mask, epsilon, protects = chosen
    return {"task": task, "mask": mask, "epsilon": f"{epsilon:g}", "protects": protects, "selection": selection,
            "dataset": dataset}  # fmt: skip


def in_view(lines: Sequence[Line], view: Mapping[str, str]) -> list[Line]:
    """Rows of a view, the best first; those without a rank at the end."""
    wanted = [line for line in lines if all(print_value(getattr(line, k)) == v for k, v in view.items())]
    return sorted(wanted, key=lambda line: (math.isnan(line.rank), line.rank, line.title))


def as_script(lines: Sequence[Line], view: Mapping[str, str]) -> str:
    """Write the rows down, what rows share once: data sets, methods and experiments in lists, rows by comparison.

    Numbers have the digits that the page shows; a rank has more of them, since rows are sorted by it.
    """
    sets: dict[tuple, int] = {}
    methods: dict[tuple, int] = {}
    experiments: dict[str, int] = {}
    groups: dict[tuple, list[list]] = {}
    for line in lines:
        dataset = (line.dataset_key, line.dataset)
        method = (line.method, line.title, line.protects, for_script(line.work, ".5g"), line.badge, line.paper)
        group = (line.task, line.mask_key, line.mask, line.epsilon, line.selection)
        groups.setdefault(group, []).append(
            [
                sets.setdefault(dataset, len(sets)),
                methods.setdefault(method, len(methods)),
                experiments.setdefault(line.experiment, len(experiments)),
                line.sets,
                for_script(line.score, ".4g"),
                for_script(line.se, ".2g"),
                *(for_script(v, ".4g") for v in (line.constant, line.best)),
                for_script(line.rank, ".3f"),
                *(for_script(v, ".1f") for v in (line.low, line.high)),
                for_script(line.bits, ".5g"),
            ]
        )
    board = {
        "view": dict(view),
        "sets": list(sets),
        "methods": list(methods),
        "experiments": list(experiments),
        "groups": [[*group, rows] for group, rows in groups.items()],
    }
    return f"const BOARD = {json.dumps(board, ensure_ascii=False, separators=(',', ':'))};\n"
