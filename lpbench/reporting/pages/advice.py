"""Advice on which method to use, by inputs and budget; its tables on the page "What should I use?".

An experiment's ``settings.advice`` names the masks whose runs answer. Methods are compared at equal inputs and at a
setting that no test row chose. The best has the smallest rank sum on held-out data sets, two at least; development sets
are never counted with them. It is advised only if the interval of what private users add, or of its gain over a private
constant without a public sample, lies above 0 there: else the advice is to ask nobody, or the constant.
"""

import inspect
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from lpbench import estimators
from lpbench.analysis import ALPHA
from lpbench.analysis.gains import DEVELOPED, HELD, SAMPLE, comparable, numbers
from lpbench.analysis.standings import SHOWN, over_sets
from lpbench.datasets import describe
from lpbench.datasets.masks import default_n_protected
from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.members import CONSTANTS, PUBLIC_ONLY, bare_name, member
from lpbench.reporting.pages.leaderboard import HELD_OUT, few
from lpbench.reporting.printed_names import method_title

#: Held-out data sets below which there is no interval, and no advice.
_LEAST = 2
#: Keys of an answer that the page asks for.
ASKED = ("task", "asked", "features", "sample", "epsilon")

#: The one rule by which a method is advised, as pages state it.
RULE = (
    "We recommend the method with the best average rank on held-out data sets, among methods with the same inputs. Of "
    "methods with equal ranks, the one whose users send fewer bits comes first. With a public sample, we advise to ask "
    "nobody unless the 95 % interval of what private users add lies above 0. Without a public sample, we advise a "
    "private constant unless the 95 % interval of the gain lies above 0."
)


@dataclass(frozen=True)
class Advice:
    """Recommended method for some inputs at one budget, with its standings.

    ``rows`` are the method's standings on all data sets, ``sets`` the held-out ones on which the advice rests;
    ``second`` is the next method, ``tied`` those not significantly different, and ``instead`` is "public" or "constant"
    where asking users does not pay, else empty.
    """

    inputs: str
    mask: str
    epsilon: float
    rows: pd.DataFrame  # standings of the method on all data sets
    sets: list[str]  # held out, on which the advice rests
    method: str
    second: str
    tied: list[str]  # methods that are not significantly different from it
    instead: str  # "public" or "constant", the reference that is advised instead; empty: the method


def advise(experiment: Experiment, standings: pd.DataFrame) -> Iterator[Advice]:
    """Advise from an experiment's standings: nothing where it has no setting for it or data sets are too few."""
    rows = comparable(standings)
    rows = rows[rows["mask"].map(bare_name).isin(experiment.settings.get("advice", {}))]
    for (mask, inputs, epsilon), group in rows.groupby(["mask", "inputs", "epsilon"]):
        judged = group[group["role"] == HELD]
        sets = sorted(judged["dataset"].unique())
        if len(sets) < _LEAST:
            continue
        bits = judged.groupby("method")["bits"].first()
        ranked = over_sets(judged)
        ranked = ranked.assign(bits=ranked["method"].map(bits)).sort_values(["rank_sum", "bits"], kind="stable")
        first, *others = ranked["method"]
        p_values = over_sets(judged, first).set_index("method")["p"]
        tied, rows_of_first = [m for m in others if not p_values[m] < ALPHA], group[group["method"] == first]
        added, second = numbers(rows_of_first, HELD), others[0] if others else ""
        instead = "" if added["low"] > 0 else added["beside"]
        yield Advice(inputs, mask, float(epsilon), rows_of_first, sets, first, second, tied, instead)


def in_per_cent(added: Mapping[str, Any]) -> str:
    """Print a gain with its interval: ``12 % [3, 21]``."""
    if not added["sets"]:
        return "not measured"
    ends = f" [{round(100 * added['low'])}, {round(100 * added['high'])}]" if np.isfinite(added["low"]) else ""
    return f"{round(100 * added['gain'])} %{ends}"


def as_error(added: Mapping[str, Any]) -> str:
    """Print a gain as a change of the error: ``12 % less error [3, 21]``, ``18 % more error [2, 36]``."""
    word = "less"
    if added["sets"] and round(100 * added["gain"]) < 0:
        turned = {"gain": -added["gain"], "low": -added["high"], "high": -added["low"]}
        added, word = {**added, **turned}, "more"
    return in_per_cent(added).replace("%", f"% {word} error")


def choices(
    experiments: Iterable[Experiment], standings: pd.DataFrame, cards: Mapping[str, Method]
) -> list[dict[str, str]]:
    """Answer "What should I use?" at each of the inputs, with what users add or the gain, the four lines, and code."""
    answers: dict[tuple[str, ...], tuple[tuple[bool, int], dict[str, str]]] = {}
    for experiment in experiments:
        for advice in advise(experiment, standings[standings["experiment"] == experiment.name]):
            answer = _answer(advice, cards)
            # of several runs that in which users show nothing because they must, then that on most data sets
            order = SHOWN in advice.inputs or advice.mask == "all_private", advice.rows["dataset"].nunique()
            question = tuple(answer[key] for key in ASKED)
            if question not in answers or order > answers[question][0]:
                answers[question] = order, answer
    return [answer for _, (_, answer) in sorted(answers.items())]


def sizes(answers: Sequence[Mapping[str, str]], standings: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Return the fewest and the most users, and protected features where some are, of the held-out data sets."""
    tasks = {answer["task"] for answer in answers}
    names = standings.loc[standings["task"].isin(tasks) & (standings["role"] == HELD), "dataset"].unique()
    of = [describe(one.name, one.params) for one in map(member, names)]
    users, features = (sorted(filter(None, (getattr(d, key) for d in of))) for key in ("n_train", "n_features"))
    protected = [*map(default_n_protected, features)]
    return {"users": (users[0], users[-1]), "protected": (protected[0], protected[-1])} if users else {}


#: Users and budget of the worked example.
EXAMPLE = {"users": 5000, "epsilon": "2"}


def worked(answers: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Answers for users who protect some features, at the example's budget."""
    return [a for a in answers if (a["features"], a["epsilon"]) == ("some", EXAMPLE["epsilon"])]


def _answer(advice: Advice, cards: Mapping[str, Method]) -> dict[str, str]:
    """Return a row of answers: the recommended method, the next one, what private users add, how to call it."""
    rows, sample, held = advice.rows, SAMPLE in advice.inputs, numbers(advice.rows, HELD)
    task = str(rows["task"].iloc[0])
    references = {"public": PUBLIC_ONLY, "constant": CONSTANTS[:2]}.get(advice.instead, ())  # one constant a task
    methods = [name for name in references if catalog.method(name).task == task] or [advice.method]
    title = ", ".join(method_title(method, cards) for method in methods)
    words = f"dataset=NAME method={shlex.quote(','.join(methods))} epsilon={advice.epsilon:g}"
    second = advice.method if advice.instead else advice.second
    tied = " (not significantly different from the first)" * (advice.second in advice.tied and not advice.instead)
    lines = (f"{held[name]:.3g}" if np.isfinite(held[name]) else "–" for name in ("constant", "public", "private"))
    view = {"inputs": advice.inputs, "task": task, "mask": advice.mask, "epsilon": f"{advice.epsilon:g}"}
    return {
        "task": task,
        "asked": advice.inputs.partition(", ")[0],
        "features": "some" if SHOWN in advice.inputs else "all",
        "sample": "yes" if sample else "no",
        "epsilon": f"{advice.epsilon:g}",
        "method": f"ask nobody, and use the best of {title}" if advice.instead == "public" else title,
        "instead": advice.instead,
        "second": (method_title(second, cards) if second else "–") + tied,
        "change": f"{as_error(held)} on {held['sets']} sets{few(held['names'].split(), ': ')}",
        "development": as_error(numbers(rows, DEVELOPED)),
        "lines": " ".join(lines),
        "link": f"leaderboard.html#{urlencode(view | {'dataset': HELD_OUT})}",
        "command": f"lpbench {'-m ' * (len(methods) > 1)}{words}",
        "code": code_of(methods[0], sample),
    }


def code_of(selector: str, sample: bool) -> str:
    """Code that learns from arrays of a user's own; ``EPSILON`` stands for the budget."""
    kinds = catalog.method(selector).estimator_class.__mro__
    kind = next(kind for kind in kinds if kind.__name__ in estimators.__all__)
    name, taken = kind.__name__, inspect.signature(kind).parameters
    given = {"epsilon": "EPSILON", "y_range": "(0, 1)", "classes": "(0, 1)", "random_state": "0"}
    given |= {key: repr(value) for key, value in catalog.method(selector).params.items()}
    settings = ", ".join(f"{key}={value}" for key, value in given.items() if key in taken)
    public = ', X_public=np.load("X_public.npy"), y_public=np.load("y_public.npy")' * sample
    return f"""import numpy as np
from lpbench.estimators import {name}

X, y = np.load("X.npy"), np.load("y.npy")  # one row per user; labels
mask = np.zeros(X.shape[1], dtype=bool)
mask[[0, 1]] = True  # the protected features
model = {name}({settings})  # what is known of labels beforehand
model.fit(X, y, mask=mask{public})
print(model.guarantee_)
np.save("predictions.npy", model.predict(np.load("X_new.npy")))"""
