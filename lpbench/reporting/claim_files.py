"""Files of claims: ``verdicts.csv``, one row per instance of each check, and the cells that both are computed from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.claims import UNDECIDED, Check, Judged
from lpbench.analysis.instances import KEY, Instance
from lpbench.analysis.rates import Interval
from lpbench.analysis.verdicts import VERDICT_COLUMNS, claims_of
from lpbench.reporting.claims import CheckVerdict, Decision

INSTANCE_COLUMNS = [
    *("paper", "claim", "check", "instance", "source", "value", "low", "high", "outcome"),
    *("statistic", "arguments", "cells"),
]
#: Name of the table of verdicts, without its ending.
VERDICTS = "verdicts"
#: What the instances of a check say, in the order of their counts.
COUNTED = ("agree", "undecided", "contradict")
#: Decimals of the numbers of checks.
_DECIMALS = 12
_NOTHING = Judged((), (), Interval(np.nan, np.nan, np.nan), "")
#: Name of the row of an instance file that holds the pooled value of a check.
POOLED = "pooled"


@dataclass
class Files:
    """Tables from which every verdict can be computed again: verdicts, instances, and cells by paper."""

    verdicts: pd.DataFrame  # columns :data:`lpbench.analysis.verdicts.VERDICT_COLUMNS`
    #: One row per check, instance and source, columns :data:`INSTANCE_COLUMNS`; the instance ``pooled`` comes last.
    instances: pd.DataFrame
    #: Paper -> one row per cell: its number and key, the print and its step, and the value that all replications
    #: share, if they do. The others' are the oracle's rows of the chosen replications.
    cells: Mapping[str, pd.DataFrame]

    def write(self, folder: Path) -> list[Path]:
        """Write ``verdicts.csv``, ``claims_instances.csv`` and a paper's ``claims_cells_<paper>.csv``."""
        for table, name in ((self.verdicts, VERDICTS), (self.instances, "claims_instances")):
            floats = table.select_dtypes("floating").round(_DECIMALS) + 0.0  # no rounding error where 0 is meant
            write_csv(table.assign(**{c: floats[c] for c in floats}), folder / f"{name}.csv")
        for paper, table in self.cells.items():
            write_csv(table, folder / f"claims_cells_{paper}.csv")
        names = (VERDICTS, "claims_instances", *(f"claims_cells_{paper}" for paper in self.cells))
        return [folder / f"{name}.csv" for name in names]


def tabulate(decisions: Sequence[Decision]) -> Files:
    """Return the three tables of decisions: verdicts, their instances, and the numbered cells behind them."""
    cells: dict[str, _Numbered] = {}
    verdicts: list[dict[str, Any]] = []
    instances: list[tuple[Any, ...]] = []
    for decision in decisions:
        for verdict in decision.verdicts:
            verdicts += [
                _row(decision, verdict, True),
                *(_row(decision, configured, False) for configured in verdict.others),
            ]
            for source in ("published", "ours"):
                judged = getattr(verdict, source)
                if judged is not None:
                    numbered = cells.setdefault(decision.paper, _Numbered())
                    instances += _instance_rows(decision, verdict.check, source, judged, numbered)
    return Files(
        pd.DataFrame(verdicts, columns=VERDICT_COLUMNS),
        pd.DataFrame(instances, columns=INSTANCE_COLUMNS),
        {paper: numbered.table() for paper, numbered in cells.items()},
    )


def _row(decision: Decision, verdict: CheckVerdict, judges: bool) -> dict[str, Any]:
    """Return the line of a verdict in the table of verdicts; ``judges`` is True for the configuration that decides.

    Columns of the printed numbers' verdict begin with ``published``.
    """
    check, claim = verdict.check, decision.claim
    ours, printed = verdict.ours or _NOTHING, verdict.published or _NOTHING
    row: dict[str, Any] = {
        "paper": decision.paper,
        "claim": claim.name,
        "check": check.name,
        "configuration": verdict.configuration,
        "judges": judges,
        "counts": check.counts,
        "counted_apart": claim.counted_apart,
        "artifact": claim.artifact,
        "section": claim.section,
        "sentence": claim.statement,
        "rule": check.rule,
        "quantifier": check.quantifier,
        "region_low": check.region.low,
        "region_high": check.region.high,
        "instances": len(ours.instances),
        "replications": ours.replications,
        "needed": check.replications,
        "reason": verdict.reason if check.counts else check.not_counted_because,
        "cause": verdict.cause,
        "changed": check.rule_changes,
    }
    for source, judged in (("published", printed), ("ours", ours)):
        overall = judged.overall
        row |= {source: overall.estimate, f"{source}_low": overall.low, f"{source}_high": overall.high}
        of = "published_" * (source == "published")
        row |= {f"{of}power": judged.power, f"{of}mirror": judged.mirror, f"{of}stability": judged.stability}
        row |= {f"{of}{word}": n for word, n in zip(COUNTED, judged.counts, strict=True)}
    return row | {"published_outcome": verdict.published_outcome, "ours_outcome": verdict.ours_outcome}


def _rounded(arguments: Any) -> Any:
    """Round numbers in a statistic's arguments (nested lists, mappings) to 12 digits.

    The last digits of a logarithm depend on the processor.
    """
    if isinstance(arguments, dict):
        return {name: _rounded(value) for name, value in arguments.items()}
    if isinstance(arguments, list):
        return [_rounded(value) for value in arguments]
    return float(f"{arguments:.12g}") if isinstance(arguments, float) else arguments


def _instance_rows(
    decision: Decision, check: Check, source: str, judged: Judged, cells: _Numbered
) -> Iterator[tuple[Any, ...]]:
    """Yield a check's lines in the table of instances: one an instance, then the pooled one, for one source.

    ``source`` is "ours" or "published". Each has the interval, the outcome, the statistic with its arguments, and the
    numbers of its cells.
    """
    head = decision.paper, decision.claim.name, check.name
    for instance, interval in zip(judged.instances, judged.intervals, strict=True):
        outcome = f"{UNDECIDED}: {instance.silent}" if instance.silent else check.region.judge(interval)
        arguments = json.dumps(_rounded(instance.arguments), separators=(",", ":"))
        computed = instance.statistic, arguments, cells.numbers(instance, source)
        yield *head, instance.name, source, interval.estimate, interval.low, interval.high, outcome, *computed
    overall = judged.overall
    yield *head, POOLED, source, overall.estimate, overall.low, overall.high, judged.outcome, "", "", ""


class _Numbered:
    """Registry of the cells behind a paper's instances, each with a number."""

    def __init__(self) -> None:
        self._number: dict[tuple, int] = {}
        self._constant: dict[int, float] = {}
        self._print: dict[int, tuple[float, float]] = {}

    def numbers(self, instance: Instance, source: str) -> str:
        """Note an instance's cells and return their numbers as text, consecutive ones as ``first:last``.

        ``source`` says if their values are printed ones or ours.
        """
        numbers = []
        for key, column, step in zip(instance.cells.keys, instance.cells.samples.T, instance.cells.step, strict=True):
            number = self._number.setdefault(tuple(str(word) for word in key), len(self._number))
            numbers.append(number)
            if source == "ours":
                self._constant[number] = float(column[0]) if np.ptp(column) == 0 else np.nan
            else:
                self._print[number] = (float(column.mean()), float(step))
        return _ranges(numbers)

    def table(self) -> pd.DataFrame:
        """Table of the registered cells: number, key, printed value, rounding step and constant."""
        rows = []
        for key, number in self._number.items():
            values = *self._print.get(number, (np.nan, np.nan)), self._constant.get(number, np.nan)
            head = [number, *("" if word == "nan" else word for word in key)]
            rows.append([*head, *(f"{v:.7g}" if v == v else "" for v in values)])
        return pd.DataFrame(rows, columns=["cell", *KEY, "published", "step", "constant"])


def _ranges(numbers: Sequence[int]) -> str:
    # along consecutive numbers the distance from their places stays the same
    runs = ([n for _, n in run] for _, run in groupby(enumerate(numbers), lambda one: one[1] - one[0]))
    return " ".join(f"{run[0]}:{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def read_claims(folder: Path) -> list[dict[str, Any]]:
    """Read both files back, claim by claim: ``checks`` that judge, with ``points`` and ``others`` (configurations)."""
    rows, points = (_read(folder / f"{name}.csv") for name in (VERDICTS, "claims_instances"))
    key = itemgetter("claim", "check")
    checks: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["judges"]:
            others = [configured for configured in rows if key(configured) == key(row) and not configured["judges"]]
            of_check = [point for point in points if key(point) == key(row) and point["instance"] != POOLED]
            checks.setdefault(row["claim"], []).append(row | {"points": of_check, "others": others})
    claims = claims_of(pd.DataFrame(rows, columns=VERDICT_COLUMNS))
    return [claim | {"checks": checks[claim["claim"]]} for claim in claims.to_dict("records")]


def _read(path: Path) -> list[dict[str, Any]]:
    """Rows of a CSV file as dictionaries; empty texts stay texts, empty numbers are NaN."""
    # a section is a name, such as 5.1, also where no other row has letters
    table = pd.read_csv(path, keep_default_na=False, na_values=dict.fromkeys(_FLOATS, ""), dtype={"section": str})
    return table.to_dict("records")


_FLOATS = {
    *("published", "ours", "low", "high", "published_low", "published_high", "ours_low", "ours_high"),
    *("region_low", "region_high", "value", "instances", "replications", "needed"),
    *("stability", "published_stability", "power", "mirror", "published_power", "published_mirror"),
    *COUNTED,
    *(f"published_{word}" for word in COUNTED),
}
