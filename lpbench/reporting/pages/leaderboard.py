"""The leaderboard: every method's score beside the constant predictor's and the best without privacy.

Scores come from the experiments that papers name in :attr:`lpbench.reporting.paper.Paper.leaderboard`. Methods are
compared within a task, a mask, a budget, a way of selection and, by default, a privacy model.
"""

import json
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import competitors
from lpbench.analysis.significance import DIGITS
from lpbench.analysis.standings import NONE, compare_losses, over_sets, view
from lpbench.cast import bare_name, member
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
#: Badge of the methods of the package, whose scores `lpbench verify bitwise` runs again.
PACKAGE = "in the package"
#: The rows of several data sets together: all, and those on which no choice was made.
ALL, HELD_OUT = "all data sets", "held-out data sets"
#: Name of the script beside the page, and the digits of its numbers.
SCRIPT = "leaderboard.js"
SCRIPTED = {"score": ".4g", "se": ".2g", "constant": ".4g", "best": ".4g", "rank": ".3f", "low": ".1f", "high": ".1f",
            "bits": ".5g"}  # fmt: skip
COLUMNS = [
    *("task", "mask_key", "mask", "epsilon", "selection", "dataset_key", "dataset", "method", "title", "protects"),
    *("score", "se", "constant", "best", "rank", "low", "high", "work", "bits", "sets", "experiment", "badge", "paper"),
    "command",
]


def board(table: pd.DataFrame, cards: Mapping[str, Method], submitted: Sequence[Submission] = ()) -> pd.DataFrame:
    """All rows from the standings of some experiments and submissions: a method on a data set, or on all together.

    ``score`` is the mean squared error or the accuracy in per cent; over all data sets the geometric mean of the losses
    over the best without privacy, or the mean accuracy. ``constant`` and ``best`` are losses over the references,
    ``rank`` is among the methods of one privacy model, over all data sets with its interval ``low``, ``high``.
    """
    # later papers are our own experiments, which hold the columns of the papers' tables too
    order = {name: k for k, name in enumerate(name for paper in papers() for name in reversed(paper.leaderboard))}
    sent = {f"{SUBMITTED}/{one.name}": one for one in submitted if one.name in set(table["method"])}
    rows = table[table["experiment"].isin([*order, *sent]) & (table["privacy"] != NONE)]
    competing = {name: competitors(set(part)) for name, part in rows.groupby("experiment")["method"]}
    kept = [m in competing[e] or member(m).is_constant for e, m in rows[["experiment", "method"]].to_numpy()]
    rows = rows[np.array(kept, dtype=bool)]
    rows = rows.assign(
        order=[order.get(name, len(order)) for name in rows["experiment"]],
        experiment=[sent[e].about["experiment"] if e in sent else e for e in rows["experiment"]],
    )
    badges = {one.name: one.words for one in sent.values()}
    cards = {**cards, **{one.name: one.method for one in sent.values()}}
    refuted = {m for m, words in badges.items() if words.startswith("refuted")}
    found = [pd.DataFrame(columns=COLUMNS)]
    for selection in ("fair", "oracle"):  # what a user without test rows can have comes first
        shown = view(rows, selection).sort_values("order", kind="stable")
        shown = shown.drop_duplicates(["task", "mask", "epsilon", "dataset", "method"], keep="last")
        for _, part in shown.groupby(["task", "mask", "epsilon"]):
            # data sets of the experiment with the most cells are taken together: others may have other selectors
            whole = Counter(part["experiment"]).most_common(1)[0][0]
            for model, members in _models(sorted(set(part["method"])), cards).items():
                mine = part[part["method"].isin(members)].sort_values(["method", "dataset"])
                about = {"selection": selection, "protects": PROTECTS.get(model, model)}
                found.append(_each(mine, refuted).assign(**about))
                inside = mine[mine["experiment"] == whole]
                for name, rows_of in ((ALL, inside), (HELD_OUT, inside[inside["role"] == "held out"])):
                    if rows_of["dataset"].nunique() > 1:
                        found.append(_together(rows_of, refuted).assign(dataset=name, **about))
    lines = pd.concat([part for part in found if len(part)] or found, ignore_index=True)
    known = {m: card_of(m, cards) for m in set(lines["method"])}
    lines = lines.assign(
        title=[method_title(m, cards) for m in lines["method"]],
        mask=[in_words(bare_name(m)) or "–" for m in lines["mask_key"]],
        badge=[badges.get(m, PACKAGE) for m in lines["method"]],
        paper=[card.reference if (card := known[m]) else "" for m in lines["method"]],
    )
    lines["command"] = [_command(line) for line in lines.itertuples()]
    return lines.sort_values(["task", "mask_key", "epsilon", "selection"], kind="stable", ignore_index=True)[COLUMNS]


def _command(line: Any) -> str:
    """What runs a row's numbers again, or shows what stands behind them."""
    if line.badge != PACKAGE:
        return f"lpbench verify submission results/submissions/{line.method}"
    if not line.dataset_key:
        return f"lpbench reproduce {line.experiment}"
    words = [line.dataset_key, line.method, f"{line.epsilon:g}", "--mask", line.mask_key]
    return shlex.join(["lpbench", "explain", *words, "--experiment", line.experiment])


def _each(rows: pd.DataFrame, refuted: Collection[str]) -> pd.DataFrame:
    """A row a method and data set, with its rank there."""
    ranked = rows[~rows["method"].isin(refuted)]
    losses = ranked["loss"].round(DIGITS).groupby(ranked["dataset"])
    classes = (rows["task"] == "classification").to_numpy()
    return pd.DataFrame(
        {
            **{name: rows[name] for name in ("task", "epsilon", "method", "experiment", "bits")},
            "mask_key": rows["mask"],
            "dataset_key": rows["dataset"],
            "dataset": rows["dataset"].map(dataset_title),
            "work": rows["seconds"],
            "sets": 1,
            "score": np.where(classes, 100 * (1 - rows["loss"]), rows["loss"]),
            "se": np.where(classes, 100, 1) * rows["se"],
            "constant": rows["over_constant"],
            "best": rows["over_free"],
            "rank": losses.rank().where(losses.transform("size") > 1),
            "low": np.nan,
            "high": np.nan,
        }
    )


def _together(rows: pd.DataFrame, refuted: Collection[str]) -> pd.DataFrame:
    """A row a method that was run on several data sets: all of them together."""
    sets = rows.groupby("method")["dataset"].nunique()
    several = sets.index[sets > 1]
    # a method without a loss on one of the data sets has no rank over all of them
    complete = [m for m in sets.index[sets == rows["dataset"].nunique()] if m not in refuted]
    over = over_sets(rows).set_index("method").loc[several]
    among = rows[rows["method"].isin(complete)].pivot(index="dataset", columns="method", values="loss")
    placed = (over if len(complete) == len(sets) else compare_losses(among).set_index("method")).reindex(several)
    last = rows.drop_duplicates("method", keep="last").set_index("method").loc[several]
    accuracy = 100 * (1 - rows.groupby("method")["loss"].mean())
    return pd.DataFrame(
        {
            **{name: last[name] for name in ("task", "epsilon", "experiment", "bits")},
            "mask_key": last["mask"],
            "dataset_key": "",
            "work": last["seconds"],
            "sets": sets[several],
            "score": np.where(last["task"] == "classification", accuracy[several], over["free"]),
            "se": np.nan,
            "constant": over["constant"],
            "best": over["free"],
            "rank": placed["rank"],
            "low": placed["rank_low"],
            "high": placed["rank_high"],
        }
    ).reset_index(names="method")


def _models(methods: Sequence[str], cards: Mapping[str, Method]) -> dict[str, list[str]]:
    """Privacy model -> the methods that keep it; a constant, which shows no feature, is a row of every one of them."""
    found: dict[str, list[str]] = {}
    constants = [m for m in methods if member(m).is_constant]
    for method in methods:
        card = card_of(method, cards)
        if method not in constants:
            found.setdefault(card.privacy if card else "", []).append(method)
    if not found and constants:
        found["label_ldp"] = []
    return {model: sorted([*members, *constants]) for model, members in found.items()}


def default_view(lines: pd.DataFrame) -> dict[str, str]:
    """First view of the leaderboard: task, mask, budget and model with the most methods, tuning-free."""
    if lines.empty:
        return {}
    together = lines[(lines["selection"] == "fair") & (lines["dataset"] == ALL) & lines["rank"].notna()]
    keys = ["task", "mask", "epsilon", "protects"]
    if together.empty:
        first = lines.iloc[0]
    else:
        count = together.groupby(keys, sort=False).size().rename("methods").reset_index()
        count = count.assign(regression=count["task"] == "regression", one=count["epsilon"] == 1)
        best = count.sort_values(["regression", "one", "methods"], ascending=False, kind="stable")
        first = best.iloc[0].to_dict() | {"selection": "fair", "dataset": ALL}
    return {key: print_value(first[key]) for key in (*keys, "selection", "dataset")}


def in_view(lines: pd.DataFrame, view: Mapping[str, str]) -> list[Any]:
    """Rows of a view, the best first; those without a rank at the end."""
    for key, value in view.items():
        lines = lines[lines[key].map(print_value) == value]
    return list(lines.sort_values(["rank", "title"], kind="stable").itertuples(index=False))


def as_script(lines: pd.DataFrame, view: Mapping[str, str]) -> str:
    """Write the rows down, shared parts once, numbers as the page shows them, ranks finer for the order."""
    known: tuple[dict[tuple, int], ...] = ({}, {}, {})
    groups: dict[tuple, list[list]] = {}
    for line in lines.itertuples():
        shared = (
            (line.dataset_key, line.dataset),
            (line.method, line.title, line.protects, for_script(line.work, ".5g"), line.badge, line.paper),
            (line.experiment,),
        )
        places = [known[k].setdefault(one, len(known[k])) for k, one in enumerate(shared)]
        numbers = (for_script(getattr(line, name), form) for name, form in SCRIPTED.items())
        group = (line.task, line.mask_key, line.mask, line.epsilon, line.selection)
        groups.setdefault(group, []).append([*places, int(line.sets), *numbers])
    sets, methods, experiments = map(list, known)
    content = {
        "view": dict(view),
        "sets": sets,
        "methods": methods,
        "experiments": [name for (name,) in experiments],
        "groups": [[*group, rows] for group, rows in groups.items()],
    }
    return f"const BOARD = {json.dumps(content, ensure_ascii=False, separators=(',', ':'))};\n"
