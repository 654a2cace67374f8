"""Gains over four lines at equal inputs: a private constant, public data alone, private users, and no privacy.

With a public sample, *what private users add* is 1 - GM(private / public only); without one, the *gain over the
constant* is 1 - GM(private / constant). GM is the geometric mean over data sets of ratios that are paired over
replications; intervals are Student's, on the logarithms. Held-out, development and sealed sets are never taken
together.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from lpbench.analysis.rates import Interval
from lpbench.analysis.standings import FAIR, NONE, view
from lpbench.members import bare_name, is_ranked, member

#: Part of the inputs of a method that reads labeled public rows, and the inputs of one that asks nobody.
SAMPLE, NOBODY = "public sample", "nothing"
#: Inputs of a method whose constructor can bring in data that no account holds: it has no rank.
UNKNOWN = "unknown inputs"
#: Roles of data sets, which are never taken together.
HELD, DEVELOPED, SEALED = ROLES = ("held out", "development", "sealed")
#: One comparison at equal inputs.
GAIN_KEYS = ["task", "experiment", "mask", "inputs", "epsilon"]
GAIN_COLUMNS = [
    *(*GAIN_KEYS, "method", "role", "sets", "names", "beside", "gain", "low", "high"),
    *("constant", "public", "private"),
]


def mean_logarithm(ratios: Iterable[float]) -> tuple[float, float]:
    """Return the mean logarithm of ratios over data sets, and half of its Student's 95 % interval (NaN: too few)."""
    logs = np.log(np.fromiter(ratios, dtype=float))
    half = np.nan if logs.size < 2 else stdtrit(logs.size - 1, 0.975) * logs.std(ddof=1) / logs.size**0.5
    return logs.mean() if logs.size else np.nan, half


def gain(ratios: Iterable[float]) -> Interval:
    """Return 1 - the geometric mean of ratios of losses, with Student's 95 % interval from two data sets on."""
    mean, half = mean_logarithm(ratios)
    return Interval(*(float(1 - np.exp(mean + move)) for move in (0.0, half, -half)))


def shown_signs(gained: pd.DataFrame) -> pd.Series:
    """Return 1 where private users are shown to lower the error, -1 where to raise it, 0 where the interval has 0."""
    return np.sign(gained["low"]).where(gained["low"] * gained["high"] > 0, 0.0)


def in_words(gained: pd.DataFrame, between: str = ", ") -> str:
    """Say what private users change in the error of public data alone, budget by budget, from gains and intervals.

    A difference counts where its interval leaves out 0: ``6 % more error than public data alone at ε = 0.5, no
    difference shown at 1 and 2, 5 to 8 % less error at 4 and 8``. ``gained`` has rows of :func:`gains`, one a budget;
    ``between`` separates the budgets' findings.
    """
    signs = shown_signs(gained)
    if not signs.any():
        return "no difference from public data alone is shown at any ε"
    spans: list[str] = []
    for _, span in gained.groupby((signs != signs.shift()).cumsum()):
        sizes = sorted({round(100 * abs(value)) for value in span["gain"]})
        size = " to ".join(map(str, dict.fromkeys([sizes[0], sizes[-1]])))
        more = "less" if span["gain"].iloc[0] > 0 else "more"
        words = ("no difference", "from") if not signs[span.index[0]] else (f"{size} % {more} error", "than")
        what = f"{words[0]}{'' if spans else f' {words[1]} public data alone'}"
        *first, last = (f"{epsilon:g}" for epsilon in span["epsilon"])
        budgets = " and ".join(filter(None, [", ".join(first), last]))
        spans.append(f"{what}{'' if words[1] == 'than' else ' shown'} at {'' if spans else 'ε = '}{budgets}")
    return between.join(spans)


def beside(inputs: str) -> str:
    """Return the reference at equal inputs: ``public`` with a public sample, else ``constant``."""
    return "public" if SAMPLE in inputs else "constant"


def comparable(standings: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that take part in comparisons: private methods at a fair setting whose inputs are known.

    Constants and learners on public rows alone are references.
    """
    places = standings[["privacy", "method", "inputs"]].astype(str).itertuples(index=False, name=None)
    takes_part = [
        privacy != NONE
        and is_ranked(method)
        and not member(method).is_constant
        and inputs.partition(", ")[0] not in ("", "nan", UNKNOWN, NOBODY)
        for privacy, method, inputs in places
    ]
    return view(standings[np.array(takes_part, dtype=bool)], FAIR)


def gains(standings: pd.DataFrame) -> pd.DataFrame:
    """Tabulate both numbers: one row per method, inputs, budget and role of data sets; columns :data:`GAIN_COLUMNS`.

    ``constant``, ``public`` and ``private`` are geometric means of losses over those of the best without privacy.
    """
    keys = [*GAIN_KEYS, "method", "role"]
    compared = [
        dict(zip(keys, (*key, role), strict=True)) | numbers(group, role)
        for key, group in comparable(standings).groupby(keys[:-1])
        for role in sorted(ROLES)
    ]
    return pd.DataFrame([row for row in compared if row["sets"]], columns=GAIN_COLUMNS)


def numbers(rows: pd.DataFrame, role: str) -> dict[str, Any]:
    """Return the columns of :data:`GAIN_COLUMNS` that follow from one method's standings on the data sets of a role."""
    reference = beside(str(rows["inputs"].iloc[0]))
    of_role = rows[rows["role"] == role].dropna(subset=[f"over_{reference}"])
    gained, free = gain(of_role[f"over_{reference}"]), of_role["over_free"]
    lines = {"constant": free / of_role["over_constant"], "public": of_role["public_over_free"], "private": free}
    return {
        "sets": len(of_role),
        "names": " ".join(sorted(map(bare_name, of_role["dataset"]))),
        "beside": reference,
        "gain": gained.estimate,
        "low": gained.low,
        "high": gained.high,
        **{name: float(np.exp(np.log(line).mean())) for name, line in lines.items()},
    }
