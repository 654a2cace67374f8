"""Files of claims: a row a check, a row an instance, and the cells that both are computed from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.claims import NO_VERDICT, UNDECIDED, Check, Judged
from lpbench.analysis.instances import KEY, Instance
from lpbench.analysis.rates import Interval
from lpbench.reporting.claims import CheckVerdict, Decision

CLAIM_COLUMNS = [
    *("paper", "claim", "check", "artefact", "instances", "published", "ours", "difference", "low", "high", "status"),
    *("claim_status", "statement", "rule", "counts", "reason", "cause"),
    *("published_outcome", "published_low", "published_high", "ours_outcome", "ours_low", "ours_high"),
    *("region_low", "region_high", "quantifier", "half_margin", "double_margin"),
    *("replications", "needed", "effect", "detectable"),
    *("stability", "published_stability", "power", "configuration", "others", "depends", "changed"),
]
INSTANCE_COLUMNS = [
    *("paper", "claim", "check", "instance", "source", "value", "low", "high", "outcome"),
    *("statistic", "arguments", "cells"),
]
#: Decimals of the numbers of checks.
_DECIMALS = 12
#: Name of the row of an instance file that holds the pooled value of a check.
POOLED = "pooled"
#: Detectable effect over the half-width of the interval: (1.96 + 0.84) / 1.96.
_DETECTABLE = 1.43


@dataclass
class Files:
    """The three tables beside the claims page, from which every outcome can be computed again."""

    claims: pd.DataFrame  # one row a check, columns :data:`CLAIM_COLUMNS`
    #: One row a check, instance and source, columns :data:`INSTANCE_COLUMNS`; the instance ``pooled`` comes last.
    instances: pd.DataFrame
    #: Paper -> one row a cell: its number and key, the print and its step, and the value that all replications
    #: share, if they do. The others' are the oracle's rows of the chosen replications.
    cells: Mapping[str, pd.DataFrame]

    def write(self, folder: Path) -> None:
        """Write ``claims.csv``, ``claims_instances.csv`` and a paper's ``claims_cells_<paper>.csv``."""
        for table, name in ((self.claims, "claims"), (self.instances, "claims_instances")):
            floats = table.select_dtypes("floating").round(_DECIMALS) + 0.0  # no rounding error where 0 is meant
            write_csv(table.assign(**{c: floats[c] for c in floats}), folder / f"{name}.csv")
        for paper, table in self.cells.items():
            write_csv(table, folder / f"claims_cells_{paper}.csv")


def tabulate(decisions: Sequence[Decision]) -> Files:
    """Lay out decisions as tables."""
    cells: dict[str, _Numbered] = {}
    claims: list[dict[str, Any]] = []
    instances: list[dict[str, Any]] = []
    for decision in decisions:
        for verdict in decision.verdicts:
            claims.append(_claim_row(decision, verdict))
            for source in ("published", "ours"):
                judged = getattr(verdict, source)
                if judged is not None:
                    mine = cells.setdefault(decision.paper, _Numbered())
                    instances += _instance_rows(decision, verdict.check, source, judged, mine)
    return Files(
        pd.DataFrame(claims, columns=CLAIM_COLUMNS),
        pd.DataFrame(instances, columns=INSTANCE_COLUMNS),
        {paper: mine.table() for paper, mine in cells.items()},
    )


def _claim_row(decision: Decision, verdict: CheckVerdict) -> dict[str, Any]:
    check, claim, ours, published = verdict.check, verdict.claim, verdict.ours, verdict.published
    nothing = Interval(np.nan, np.nan, np.nan)
    here, there = (judged.whole if judged else nothing for judged in (ours, published))
    apart = here.estimate - there.estimate
    half = np.hypot(here.high - here.low, there.high - there.low) / 2
    low, high = check.region.bounds()
    return {
        "paper": decision.paper,
        "claim": claim.name,
        "check": check.name,
        "artefact": claim.artefact,
        "instances": len(ours.instances) if ours else 0,
        "published": there.estimate,
        "ours": here.estimate,
        "difference": apart,
        "low": apart - half,
        "high": apart + half,
        "status": verdict.status,
        "claim_status": decision.status,
        "statement": claim.statement,
        "rule": check.rule,
        "counts": check.counts,
        "reason": verdict.reason,
        "cause": decision.explained,
        "published_outcome": verdict.published_outcome,
        "published_low": there.low,
        "published_high": there.high,
        "ours_outcome": verdict.ours_outcome,
        "ours_low": here.low,
        "ours_high": here.high,
        "region_low": low,
        "region_high": high,
        "quantifier": check.quantifier,
        "half_margin": ours.half if ours and verdict.ours_outcome != NO_VERDICT else "",
        "double_margin": ours.double if ours and verdict.ours_outcome != NO_VERDICT else "",
        "replications": ours.replications if ours else 0,
        "needed": check.replications,
        "effect": check.effect,
        "detectable": _DETECTABLE * (here.high - here.low) / 2,
        "stability": ours.stability if ours else np.nan,
        "published_stability": published.stability if published else np.nan,
        "power": ours.power if ours else np.nan,
        "configuration": verdict.configuration,
        "others": "; ".join(f"{name}: {outcome}" for name, outcome in verdict.others.items()),
        "depends": decision.depends,
        "changed": check.rule_changes,
    }


def _rounded(arguments: Any) -> Any:
    """Arguments of a statistic in 12 digits: rounding of a logarithm depends on the processor."""
    if isinstance(arguments, dict):
        return {name: _rounded(value) for name, value in arguments.items()}
    if isinstance(arguments, list):
        return [_rounded(value) for value in arguments]
    return float(f"{arguments:.12g}") if isinstance(arguments, float) else arguments


def _instance_rows(
    decision: Decision, check: Check, source: str, judged: Judged, cells: _Numbered
) -> Iterator[dict[str, Any]]:
    head = {"paper": decision.paper, "claim": decision.claim.name, "check": check.name}
    for instance, found in zip(judged.instances, judged.intervals, strict=True):
        outcome = f"{UNDECIDED}: {instance.silent}" if instance.silent else check.region.judge(found)
        yield head | {
            "instance": instance.name,
            "source": source,
            "value": found.estimate,
            "low": found.low,
            "high": found.high,
            "outcome": outcome,
            "statistic": instance.statistic,
            "arguments": json.dumps(_rounded(instance.arguments), separators=(",", ":")),
            "cells": cells.numbers(instance, source),
        }
    whole = judged.whole
    yield head | {
        "instance": POOLED,
        "source": source,
        "value": whole.estimate,
        "low": whole.low,
        "high": whole.high,
        "outcome": judged.outcome,
        "statistic": "",
        "arguments": "",
        "cells": "",
    }


class _Numbered:
    """Cells of all instances of a paper, each once, by number."""

    def __init__(self) -> None:
        self._number: dict[tuple, int] = {}
        self._constant: dict[int, float] = {}
        self._print: dict[int, tuple[float, float]] = {}

    def numbers(self, instance: Instance, source: str) -> str:
        """Note an instance's cells and return their numbers, consecutive ones as ``first:last``."""
        found = []
        for key, column, step in zip(instance.cells.keys, instance.cells.samples.T, instance.cells.step, strict=True):
            number = self._number.setdefault(tuple(str(part) for part in key), len(self._number))
            found.append(number)
            if source == "ours":
                self._constant[number] = float(column[0]) if np.ptp(column) == 0 else np.nan
            else:
                self._print[number] = (float(column.mean()), float(step))
        return _ranges(found)

    def table(self) -> pd.DataFrame:
        """Number, key, print, step and constant of every cell."""
        rows = []
        for key, number in self._number.items():
            shown = *self._print.get(number, (np.nan, np.nan)), self._constant.get(number, np.nan)
            head = [number, *("" if part == "nan" else part for part in key)]
            rows.append([*head, *(f"{v:.7g}" if v == v else "" for v in shown)])
        return pd.DataFrame(rows, columns=["cell", *KEY, "published", "step", "constant"])


def _ranges(numbers: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(str(a) if a == b else f"{a}:{b}" for a, b in parts)


def read_claims(folder: Path) -> list[dict[str, Any]]:
    """Read ``claims.csv`` and ``claims_instances.csv`` back, claim by claim.

    Each holds its ``checks``, the rows of the first file, and they their ``points``, rows of the second but the pooled.
    """
    rows, points = (_read(folder / f"{name}.csv") for name in ("claims", "claims_instances"))
    of_check: dict[tuple, list[dict[str, Any]]] = {}
    for point in points:
        if point["instance"] != POOLED:
            of_check.setdefault((point["paper"], point["claim"], point["check"]), []).append(point)
    found: dict[tuple, dict[str, Any]] = {}
    for row in rows:
        shared = {k: row[k] for k in ("paper", "claim", "artefact", "statement")} | {"status": row["claim_status"]}
        shared |= {"cause": row["cause"], "depends": row["depends"]}
        claim = found.setdefault((row["paper"], row["claim"]), shared | {"reasons": [], "checks": []})
        claim["checks"].append(row | {"points": of_check.get((row["paper"], row["claim"], row["check"]), [])})
        if row["reason"] and row["reason"] not in claim["reasons"]:
            claim["reasons"].append(row["reason"])
    return list(found.values())


def _read(path: Path) -> list[dict[str, Any]]:
    """Rows of a file, empty texts as such."""
    frame = pd.read_csv(path)
    numbers = set(frame.select_dtypes("number").columns) & _FLOATS
    return [
        {k: v if k in numbers or v == v else ("" if k not in _FLOATS else np.nan) for k, v in row.items()}
        for row in frame.to_dict("records")
    ]


_FLOATS = {
    *("published", "ours", "difference", "low", "high", "published_low", "published_high", "ours_low", "ours_high"),
    *("region_low", "region_high", "effect", "detectable", "value", "instances", "replications", "needed"),
    *("stability", "published_stability", "power"),
}
