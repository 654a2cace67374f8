"""Measured convergence rates beside Table I of the label-DP paper: log-log slopes over all n, and between neighbors.

Constants and lower-order terms bend a curve; sampling error blurs it. The two are kept apart: the slope over all sample
sizes shows both, the local slope at the largest sizes is what the exponent is compared with, and its interval is the
sampling error alone (bootstrap over replications, whole curves at a time).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import Interval, bootstrap, local_slopes, loglog_slope
from lpbench.analysis.curves import Curve
from lpbench.analysis.exponents import Rate, table_i
from lpbench.datasets import load_manifest
from lpbench.experiments import catalog
from lpbench.members import bare_name, member
from lpbench.reporting.plain_table import PlainTable

#: Method -> the same estimator without privacy.
REFERENCE = {
    **dict.fromkeys(("label_ldp_vote", "ldp_vote", "label_cdp_vote", "cdp_vote"), "cube_vote"),
    **dict.fromkeys(("ldp_mean", "label_cdp_mean", "cdp_mean"), "cube_mean"),
    "label_ldp_knn": "knn_mean",
}
MODEL_NAMES = {"label_ldp": "label LDP", "ldp": "full LDP", "label_cdp": "label CDP", "cdp": "full CDP", "none": "none"}
#: Start of a panel's name -> its task in Table I.
TABLE_I_TASKS = {
    "classification": "classification",
    "regression": "regression, bounded labels",
    "heavy": "regression, heavy tails",
}
#: The local slope is fitted to this many largest sample sizes (a factor 8 in n).
LARGEST = 4
#: A term dominates where the risk is above (privacy) or below (sampling) these multiples of the non-private risk.
PRIVACY_DOMINATES, SAMPLING_DOMINATES = 2.0, 1.05
#: A curve resolves the function where its risk is below this share of that of the best constant.
RESOLVED = 0.25


def largest(line: Curve) -> Curve:
    """The part at the :data:`LARGEST` largest n, where local exponents are fitted."""
    return line.between(line.x[-LARGEST], np.inf)


def exponent(line: Curve) -> Interval:
    """Fitted exponent (minus the log-log slope) of a curve."""
    return bootstrap(line.samples, lambda mean: -loglog_slope(line.x, mean))


@cache
def row_of(method: str) -> tuple[str, str]:
    """Task and privacy model of a method, which name its row in Table I."""
    card = catalog.method(method)
    return card.task, card.privacy


def theory(line: Curve) -> tuple[str, str, Rate]:
    """Task, model and rate of a curve, by its method and the parameters of its data set."""
    task, model = row_of(line.base)
    return task, model, rate_on(model, line.dataset)


def facts(dataset: str) -> tuple[str, dict[str, Any]]:
    """Task of a data set with known exponents and its parameters; one without a margin has gamma = 0."""
    manifest = load_manifest(bare_name(dataset))
    return manifest.task, {"margin": 0.0, "moment": None, **manifest.params, **member(dataset).params}


def rate_on(model: str, dataset: str) -> Rate:
    """Return the rate that Table I states for a privacy model at a data set's smoothness and dimension."""
    task, of_data = facts(dataset)
    return table_i(task, model, **{key: of_data[key] for key in ("beta", "d", "margin", "moment")})


def is_constant(line: Curve) -> bool:
    """Return True if a curve is the constant prediction (one cube)."""
    return line.parameter("bins") == 1


def excess(line: Curve, lines: Sequence[Curve]) -> float:
    """Risk at the largest n divided by that of the non-private counterpart in ``lines`` (NaN for a reference)."""
    name = REFERENCE.get(line.base)
    places = [r for r in lines if (r.panel, r.dataset) == (line.panel, line.dataset)]
    references = [r for r in places if r.base == name and not is_constant(r)]
    return float(line.mean[-1] / references[0].mean[-1]) if references else float("nan")


def allowed(rate: Rate, ratio: float = math.nan) -> tuple[float, float]:
    """Least and largest exponent that a local slope may have, given the risk relative to the non-private one."""
    low, high = sorted((rate.sampling, rate.privacy))
    if math.isinf(high):
        high = low
    elif ratio >= PRIVACY_DOMINATES:
        low = high = rate.privacy
    elif ratio <= SAMPLING_DOMINATES:
        low = high = rate.sampling
    return low, high


def measure(line: Curve, lines: Sequence[Curve]) -> dict[str, Any]:
    """One curve beside its row of Table I, a row of ``rates.csv``; ``lines`` holds the references of its panel.

    Exponents are positive. ``slope`` is fitted over all n, ``local`` over the :data:`LARGEST` largest, and
    ``local_slopes`` are those between neighboring n.
    """
    task, model, rate = theory(line)
    constant = next(curve for curve in lines if curve.panel == line.panel and is_constant(curve))
    ratio, share = excess(line, lines), float(line.mean[-LARGEST] / constant.mean[-LARGEST])
    low, high = allowed(rate, ratio)
    row: dict[str, Any] = {
        "panel": line.panel,
        "task": task,
        "model": MODEL_NAMES[model],
        "method": line.method,
        "epsilon": line.epsilon,
        "exponent_sampling": rate.sampling,
        "exponent_privacy": rate.privacy,
        "effective_sample": rate.effective,
        "expected_low": low,
        "expected_high": high,
    }
    for name, segment in (("slope", line), ("local", largest(line))):
        fitted = exponent(segment)
        row |= {name: fitted.estimate, f"{name}_low": fitted.low, f"{name}_high": fitted.high}
    return row | {
        "covers": row["local_low"] <= high and row["local_high"] >= low,
        "resolved": share <= RESOLVED,
        "ratio_to_non_private": ratio,
        "share_of_constant": share,
        "local_slopes": " ".join(f"{-s:.2f}" for s in local_slopes(line.x, line.mean)),
    }


def rate_table(lines: Sequence[Curve]) -> pd.DataFrame:
    """Return the measured and stated exponents of all curves but the constants, one row per curve."""
    frame = pd.DataFrame([measure(line, lines) for line in lines if not is_constant(line)])
    # a term that is not there is missing, not infinite
    terms = ["exponent_sampling", "exponent_privacy"]
    frame[terms] = frame[terms].replace(np.inf, np.nan)
    frame["_order"] = frame["model"].map(list(MODEL_NAMES.values()).index)
    frame = frame.sort_values(["panel", "_order", "method", "epsilon"], kind="stable", ignore_index=True)
    return frame.drop(columns="_order")


def printed_rates(table: pd.DataFrame) -> PlainTable:
    """Return the table of rates as texts for pages."""
    heads = (
        "panel",
        "privacy",
        "method",
        "ε",
        "expected",
        "all n",
        "largest n",
        "covers",
        "÷ non-private",
        "÷ constant",
    )
    rows = []
    for row in table.itertuples():
        expected = dict.fromkeys((f"{row.expected_low:.3f}", f"{row.expected_high:.3f}"))
        rows.append(
            (
                *(row.panel, row.model, row.method, "∞" if np.isinf(row.epsilon) else f"{row.epsilon:g}"),
                " to ".join(expected),
                f"{row.slope:.3f} [{row.slope_low:.3f}, {row.slope_high:.3f}]",
                f"{row.local:.3f} [{row.local_low:.3f}, {row.local_high:.3f}]",
                "yes" if row.covers else "no" if row.resolved else "no (not resolved)",
                "" if np.isnan(row.ratio_to_non_private) else f"{row.ratio_to_non_private:.2f}",
                f"{row.share_of_constant:.2f}",
            )
        )
    remark = (
        "Expected: the theorem's exponent of the term that dominates at the largest n, which is the privacy term "
        f"where the risk is at least {PRIVACY_DOMINATES:g} times the non-private one, the sampling term up to "
        f"{SAMPLING_DOMINATES:g} times, and either in between. Largest n: our estimate from the {LARGEST} largest "
        "sample sizes. Covers: its interval contains an expected exponent. ÷ constant: the risk divided by that of a "
        f"constant at the first of these sizes; above {RESOLVED:g} the exponent cannot be measured yet. `rates.csv` "
        "has the slopes between neighboring n."
    )
    legend = "The excess risk should fall like n^(−e): e by the theorem, and e measured, with 95 % bootstrap intervals."
    return PlainTable(legend, heads, tuple(rows), remark)


def read_rates(folder: Path, *_: object) -> list[PlainTable]:
    """Lay out ``rates.csv`` of an experiment's folder; empty without the file."""
    path = folder / "rates.csv"
    if not path.is_file():
        return []
    table = pd.read_csv(path)
    return [replace(printed_rates(table), grid=rate_grid(table))]


def at_one_budget(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of :func:`rate_table` at a method's smallest budget that resolves the function, else at its largest."""
    resolved = table["resolved"].astype(bool)
    ordered = pd.concat([table[resolved].sort_values("epsilon"), table[~resolved].sort_values("epsilon")[::-1]])
    return ordered.drop_duplicates(["panel", "model", "method"]).sort_index()


def rate_grid(table: pd.DataFrame) -> dict[str, Any]:
    """Rows of ``rates.csv`` by task and model, one budget a method."""
    cells: dict[tuple[str, str], list[dict[Any, Any]]] = {}
    for row in at_one_budget(table[table["model"] != MODEL_NAMES["none"]]).to_dict("records"):
        task, _, moment = row["panel"].partition("_tail_")
        label = f"ε = {row['epsilon']:g}" + (f", {moment} moments" if moment else "")
        label += ", tight constants" if "constants=tight" in row["method"] else ""
        cells.setdefault((TABLE_I_TASKS.get(task, task), row["model"]), []).append(row | {"label": label})
    tasks, models = ({key[k] for key in cells} for k in (0, 1))
    columns = [model for model in MODEL_NAMES.values() if model in models]
    legend = (
        "In theory the excess risk falls like n^(−e). The theory's exponent e is in bold. “Measured” is our estimate "
        "of e with its 95 % interval, at the smallest ε at which e can be measured. ✓: the interval contains the "
        "theory's exponent. ▼: the risk falls more slowly than in theory. ▲: the risk falls faster than in theory. A "
        "slower fall at our sample sizes does not refute an asymptotic theorem."
    )
    rows = [
        (task, [cells.get((task, model), []) for model in columns]) for task in TABLE_I_TASKS.values() if task in tasks
    ]
    return {"legend": legend, "columns": columns, "rows": rows}
