"""The leaderboard: what private users add, or the gain over a constant, at equal inputs.

Scores come from the experiments that papers name in :attr:`lpbench.reporting.paper.Paper.leaderboard`, at settings
chosen by reports or fixed without test rows. Methods are compared within a task, a mask, a budget and their inputs.
"""

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import competitors
from lpbench.analysis.gains import UNKNOWN, beside, gain
from lpbench.analysis.significance import LOSS_DIGITS
from lpbench.analysis.standings import FAIR, NONE, compare_losses, over_sets, view
from lpbench.experiments.method import Method
from lpbench.experiments.submissions import Submission
from lpbench.members import bare_name
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
    "inputs": "Inputs",
    "task": "Task",
    "mask": "Who protects what",
    "epsilon": "Budget ε",
    "dataset": "Data sets",
}
#: Badge of the methods of the package, whose scores `lpbench verify bitwise` runs again.
PACKAGE = "in the package"
#: The rows of several data sets together: those on which no choice was made, the others, and all.
HELD_OUT, DEVELOPMENT, ALL = "held-out data sets", "development data sets", "all data sets"
#: Fewer data sets than this are named.
NAMED = 5
#: Name of the script beside the page, and the digits of its numbers.
SCRIPT = "leaderboard.js"
SCRIPTED = {"gain": ".4f", "least": ".4f", "most": ".4f", "constant": ".4g", "best": ".4g", "rank": ".3f",
            "low": ".1f", "high": ".1f", "bits": ".5g", "spent": ".4g"}  # fmt: skip
BOARD_COLUMNS = (
    "task mask_key mask epsilon inputs dataset_key dataset names method title gain least most constant best rank "
    "low high work bits spent sets experiment badge paper command"
).split()


def board(table: pd.DataFrame, cards: Mapping[str, Method], submitted: Sequence[Submission] = ()) -> pd.DataFrame:
    """Make the leaderboard's rows from standings and submissions: a method on a data set, or on several together.

    ``gain`` is what users add, 1 - loss / that of public data alone, where the inputs have a public sample, and else
    the gain over the constant; over data sets with Student's interval ``least``, ``most``. ``constant`` and ``best``
    are losses over the constant and the best without privacy, ``rank`` is among the methods of equal inputs, over data
    sets with its interval ``low``, ``high``; there is none where inputs are unknown.
    """
    # later papers are our own experiments, which hold the columns of the papers' tables too
    order = {name: k for k, name in enumerate(name for paper in papers() for name in reversed(paper.leaderboard))}
    sent = {f"{SUBMITTED}/{one.name}": one for one in submitted if one.name in set(table["method"])}
    rows = table[table["experiment"].isin([*order, *sent]) & (table["privacy"] != NONE) & (table["inputs"] != "")]
    alike = rows.groupby(["experiment", "inputs"])["method"]
    competing = {pair: competitors(set(methods)) for pair, methods in alike}
    competes = [m in competing[e, i] for e, i, m in rows[["experiment", "inputs", "method"]].to_numpy()]
    rows = view(rows[np.array(competes, dtype=bool)], FAIR)
    rows = rows.assign(
        order=[order.get(name, len(order)) for name in rows["experiment"]],
        experiment=[sent[e].about["experiment"] if e in sent else e for e in rows["experiment"]],
    ).sort_values("order", kind="stable")
    badges = {one.name: one.words for one in sent.values()}
    cards = {**cards, **{one.name: one.method for one in sent.values()}}
    refuted = {m for m, words in badges.items() if words.startswith("refuted")}
    tables = [pd.DataFrame(columns=BOARD_COLUMNS)]
    for _, group in rows.groupby(["task", "mask", "epsilon", "inputs"]):
        once = group.drop_duplicates(["dataset", "method"], keep="last")
        tables.append(_each(once.sort_values(["method", "dataset"]), refuted))
        # data sets of the experiment with the most cells are taken together: others may have other selectors
        experiment = Counter(group["experiment"]).most_common(1)[0][0]
        inside = group[group["experiment"] == experiment].drop_duplicates(["dataset", "method"], keep="last")
        inside = inside.sort_values(["method", "dataset"])
        groups = {HELD_OUT: inside["role"] == "held out", DEVELOPMENT: inside["role"] == "development", ALL: True}
        for name, chosen in groups.items():
            rows_of = inside[np.broadcast_to(chosen, len(inside))]
            if rows_of["dataset"].nunique() > 1:
                tables.append(_together(rows_of, refuted).assign(dataset=name))
    lines = pd.concat([frame for frame in tables if len(frame)] or tables, ignore_index=True)
    lines.loc[lines["inputs"] == UNKNOWN, ["rank", "low", "high"]] = np.nan
    card_by_method = {m: card_of(m, cards) for m in set(lines["method"])}
    lines = lines.assign(
        title=[method_title(m, cards) for m in lines["method"]],
        mask=[in_words(bare_name(m)) or "–" for m in lines["mask_key"]],
        badge=[badges.get(m, PACKAGE) for m in lines["method"]],
        paper=[card.reference if (card := card_by_method[m]) else "" for m in lines["method"]],
    )
    lines["command"] = [_command(line) for line in lines.itertuples()]
    return lines.sort_values(["task", "mask_key", "epsilon", "inputs"], kind="stable", ignore_index=True).reindex(
        columns=BOARD_COLUMNS
    )


def few(datasets: Iterable[str], before: str = "", after: str = "") -> str:
    """Return the titles of data sets between two texts, if there are fewer than :data:`NAMED`; else ""."""
    titles = sorted(dataset_title(bare_name(name)) for name in {*datasets})
    return before + ", ".join(titles) + after if len(titles) < NAMED else ""


def _command(line: Any) -> str:
    """Return the command that runs a row of the leaderboard again, or shows the evidence for it."""
    if line.badge != PACKAGE:
        return f"lpbench verify submission results/submissions/{line.method}"
    if not line.dataset_key:
        return f"lpbench reproduce {line.experiment}"
    words = [line.dataset_key, line.method, f"{line.epsilon:g}", "--mask", line.mask_key]
    return shlex.join(["lpbench", "explain", *words, "--experiment", line.experiment])


def _each(rows: pd.DataFrame, refuted: Collection[str]) -> pd.DataFrame:
    """Return a row for each method and data set of standings, with the rank there; ``refuted`` methods have none."""
    ranked = rows[~rows["method"].isin(refuted)]
    losses = ranked["loss"].round(LOSS_DIGITS).groupby(ranked["dataset"])
    return pd.DataFrame(
        {
            **_shared(rows),
            "dataset_key": rows["dataset"],
            "dataset": rows["dataset"].map(dataset_title),
            "names": "",
            "sets": 1,
            "gain": 1 - rows[f"over_{beside(rows['inputs'].iloc[0])}"],
            "constant": rows["over_constant"],
            "best": rows["over_free"],
            "rank": losses.rank().where(losses.transform("size") > 1),
        }
    )


def _shared(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of the board that are columns of standings."""
    same = ("task", "epsilon", "inputs", "method", "experiment", "bits")
    spent = rows["spent"] if "spent" in rows else np.nan
    return {name: rows[name] for name in same} | {"mask_key": rows["mask"], "work": rows["seconds"], "spent": spent}


def _together(rows: pd.DataFrame, refuted: Collection[str]) -> pd.DataFrame:
    """Return a row for each method that was run on several data sets, with its means and rank over them.

    A method that is ``refuted`` or lacks a data set has no rank.
    """
    sets = rows.groupby("method")["dataset"].nunique()
    several = sets.index[sets > 1]
    # a method without a loss on one of the data sets has no rank over all of them
    complete = [m for m in sets.index[sets == rows["dataset"].nunique()] if m not in refuted]
    over = over_sets(rows).set_index("method").loc[several]
    among = rows[rows["method"].isin(complete)].pivot(index="dataset", columns="method", values="loss")
    placed = compare_losses(among).set_index("method").reindex(several)
    last = rows.drop_duplicates("method", keep="last").set_index("method", drop=False).loc[several]
    ratios = rows.set_index("method")[f"over_{beside(rows['inputs'].iloc[0])}"].dropna()
    gained = pd.DataFrame([vars(gain(ratios[ratios.index == method])) for method in several], index=several)
    return pd.DataFrame(
        {
            **_shared(last),
            "dataset_key": "",
            "names": few(rows["dataset"]),
            "sets": sets[several],
            "gain": gained["estimate"],
            "least": gained["low"],
            "most": gained["high"],
            "constant": over["constant"],
            "best": over["free"],
            "rank": placed["rank"],
            "low": placed["rank_low"],
            "high": placed["rank_high"],
        }
    ).reset_index(drop=True)


def default_view(lines: pd.DataFrame) -> dict[str, str]:
    """First view of the leaderboard: the inputs, task, mask and budget with the most methods, on held-out data sets."""
    if lines.empty:
        return {}
    together = lines[lines["rank"].notna() & (lines["dataset_key"] == "")]
    count = (
        (together if len(together) else lines).groupby([*FILTERS], sort=False).size().rename("methods").reset_index()
    )
    count = count.assign(held=count["dataset"] == HELD_OUT, one=count["epsilon"] == 1)
    first = count.sort_values(["held", "one", "methods"], ascending=False, kind="stable").iloc[0]
    return {key: print_value(first[key]) for key in FILTERS}


def in_view(lines: pd.DataFrame, view: Mapping[str, str]) -> list[Any]:
    """Rows of a view, the best first; those without a rank at the end."""
    for key, value in view.items():
        lines = lines[lines[key].map(print_value) == value]
    return list(lines.sort_values(["rank", "title"], kind="stable").itertuples(index=False))


def as_script(lines: pd.DataFrame, view: Mapping[str, str]) -> str:
    """Write the leaderboard's rows as JavaScript data: repeated texts once, numbers as the page shows them."""
    numbering: tuple[dict[tuple, int], ...] = ({}, {}, {})
    groups: dict[tuple, list[list]] = {}
    for line in lines.itertuples():
        shared = (
            (line.dataset_key, line.dataset, line.names),
            (line.method, line.title, for_script(line.work, ".5g"), line.badge, line.paper),
            (line.experiment,),
        )
        places = [numbering[k].setdefault(one, len(numbering[k])) for k, one in enumerate(shared)]
        numbers = (for_script(getattr(line, name), form) for name, form in SCRIPTED.items())
        group = (line.task, line.mask_key, line.mask, line.epsilon, line.inputs)
        groups.setdefault(group, []).append([*places, int(line.sets), *numbers])
    sets, methods, experiments = map(list, numbering)
    content = {
        "view": dict(view),
        "sets": sets,
        "methods": methods,
        "experiments": [name for (name,) in experiments],
        "groups": [[*group, rows] for group, rows in groups.items()],
    }
    return f"const BOARD = {json.dumps(content, ensure_ascii=False, separators=(',', ':'))};\n"
