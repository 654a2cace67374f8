"""Advice on which method to use, by what is public and the budget; its tables on the page "What should I use?".

An experiment's ``settings.advice`` says for each mask which choices it can answer: what a user may read beside
privatised labels. Methods that read more are no candidates. Candidates are chosen fairly: at a setting fixed without
test rows, or at one that privatised reports chose. The best has the smallest rank sum on held-out data sets; where
these are fewer than five, on all data sets, and there is no advice on fewer than five.
"""

import inspect
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from lpbench import estimators
from lpbench.analysis import ALPHA
from lpbench.analysis.standings import FAIR, FEWEST, NONE, geometric_mean, over_sets, view
from lpbench.cast import bare_name, is_ranked, member
from lpbench.datasets import describe
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.numbers import print_ratio
from lpbench.reporting.printed_names import method_title

#: Choice -> whether shown features and a public sample may be read.
GIVEN = {"public features": (True, False), "public sample": (False, True), "public features and sample": (True, True)}
#: Choice -> the page's questions: which features are protected, and whether there is a public sample.
ASKED = {name: ("some" if features else "all", "yes" if sample else "no") for name, (features, sample) in GIVEN.items()}
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
            allowed = np.array([may_use(m, given, mask) for m in rows["method"]], dtype=bool)
            fitting = rows[(rows["mask"].map(bare_name) == mask) & allowed]
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
    """Whether a method reads no more than a choice gives; under ``all_private`` there are no features to read."""
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
) -> list[dict[str, str]]:
    """Answers to "What should I use?", with losses over both references on sets with as many users, and code."""
    answers = []
    for experiment in experiments:
        for found in advise(experiment, standings[standings["experiment"] == experiment.name]):
            rows = found.rows.dropna(subset=["over_free", "over_constant"])
            n = np.array([describe(one.name, dict(one.params)).n_train or 0 for one in map(member, rows["dataset"])])
            name = shlex.quote(found.method)
            second = method_title(found.second, cards) if found.second else "–"
            features, sample = ASKED[found.given]
            task = str(rows["task"].iloc[0]) if len(rows) else ""
            for users, (low, high) in USERS.items():
                here = rows[(low <= n) & (n < high)]
                kept = here[here["role"].isin(HELD_OUT)]["over_free"]
                mean = f"× {geometric_mean(kept).estimate:.2f} on {len(kept)}" if len(kept) else "none"
                if len(here) >= FEWEST:
                    answers.append(
                        {
                            "task": task,
                            "public": found.given,
                            "features": features,
                            "sample": sample,
                            "users": users,
                            "epsilon": f"{found.epsilon:g}",
                            "method": method_title(found.method, cards),
                            "second": second + " (not significantly different)" * (found.second in found.tied),
                            "free": print_ratio(geometric_mean(here["over_free"])),
                            "constant": print_ratio(geometric_mean(here["over_constant"])),
                            "sets": str(len(here)),
                            "held": f"{(here['role'] == 'development').sum()}; {mean}",
                            "command": f"lpbench dataset=NAME method={name} epsilon={found.epsilon:g}",
                            "code": code_of(found.method, sample == "yes"),
                        }
                    )
    return answers


def code_of(selector: str, sample: bool) -> str:
    """Code that learns from arrays of a user's own; ``EPSILON`` stands for the budget."""
    kinds = catalogue.method(selector).estimator_class.__mro__
    kind = next(kind for kind in kinds if kind.__name__ in estimators.__all__)
    name, taken = kind.__name__, inspect.signature(kind).parameters
    given = {"epsilon": "EPSILON", "y_range": "(0, 1)", "classes": "(0, 1)", "random_state": "0"}
    settings = ", ".join(f"{key}={value}" for key, value in given.items() if key in taken)
    public = ', X_public=np.load("X_public.npy"), y_public=np.load("y_public.npy")' * sample
    return f"""import numpy as np
from lpbench.estimators import {name}

X, y = np.load("X.npy"), np.load("y.npy")  # a row a user; labels
mask = np.zeros(X.shape[1], dtype=bool)
mask[[0, 1]] = True  # the protected features
model = {name}({settings})  # what is known of labels beforehand
model.fit(X, y, mask=mask{public})
print(model.guarantee_)
np.save("predictions.npy", model.predict(np.load("X_new.npy")))"""
