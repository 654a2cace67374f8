"""``field.csv``: rank sums, win probabilities and bits of every method, for each kind of data sets and budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import Interval, Summary, is_ranked, write_csv
from lpbench.analysis.scores import costs
from lpbench.analysis.summary import CONSTANTS, NON_PRIVATE_PANEL, Samples, best_without_privacy
from lpbench.analysis.win_probability import rank_sum_intervals, win_probability
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.development_sets import sets_by_kind
from lpbench.reporting.printed_names import method_title
from lpbench.seeds import Streams
from lpbench.selectors import SELECTIONS, parse_selector

FILE, SECONDS_FILE = "field.csv", "field_seconds.csv"


def write_field(experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path) -> list[Path]:
    """Write ``field.csv`` and ``field_seconds.csv`` into an experiment's folder; nothing if no method has a score.

    One row for each selection, kind of data sets, mask, budget and method. ``oracle`` rows have the best grid points on
    the test rows, which no user has; ``tuning_free`` rows compare methods that state a setting; ``private`` rows
    compare methods whose setting was chosen by privatised reports, and those that have nothing to choose; ``fair`` rows
    compare all methods of the two. The median seconds of a fit, which differ from run to run, have a file of their own.
    """
    rows = list(_rows(experiment, summary, cards))
    if not rows:
        return []
    path, seconds = Path(folder) / FILE, Path(folder) / SECONDS_FILE
    write_csv(pd.DataFrame(rows), path)
    measured = _seconds(folder)
    if not measured:
        return [path]
    titles = [method_title(method, cards) for method in measured]
    write_csv(pd.DataFrame({"method": list(measured), "title": titles, "seconds": list(measured.values())}), seconds)
    return [path, seconds]


def costs_of(summary: Summary, selection: str) -> Samples:
    """Replications of the chosen points, with the sign that makes smaller ones better."""
    metric = next((m for m in summary.table["metric"] if m), "mse")
    return {key: costs(values, metric) for key, values in summary.samples(selection).items()}


def _rows(experiment: Experiment, summary: Summary, cards: Mapping[str, Method]) -> Iterator[dict[str, Any]]:
    from lpbench.audit.table import report_bits  # which brings every estimator, and most commands need few

    kinds = sets_by_kind(experiment)
    oracle = costs_of(summary, "oracle")
    best = best_without_privacy(oracle)
    for selection in (*SELECTIONS, "fair"):
        samples = costs_of(summary, selection)
        ranked = [key for key in samples if key[0] != NON_PRIVATE_PANEL and is_ranked(key[3])]
        for mask, epsilon in sorted({(key[2], key[4]) for key in ranked}):
            methods = list(dict.fromkeys(key[3] for key in ranked if key[2] == mask and key[4] == epsilon))
            for kind, names in kinds.items():
                sets = sorted({key[1] for key in ranked if parse_selector(key[1])[0] in names})
                table = cost_table(samples, sets, mask, methods, epsilon)
                if table is None:
                    continue
                rng = Streams(0).generator("bootstrap", kind=kind, mask=mask, epsilon=epsilon, selection=selection)
                sums = rank_sum_intervals(table)
                constant = best_constants(oracle, sets, epsilon, table.shape[2])
                reference = np.array([best.get(name, np.full(table.shape[2], math.nan)) for name in sets])
                for m, method in enumerate(methods):
                    beats = [win_probability(table[:, m], other, rng) for other in (constant, reference)]
                    yield {
                        "selection": selection, "kind": kind, "mask": mask, "epsilon": epsilon,
                        "method": method, "title": method_title(method, cards),
                        "datasets": int((~np.isnan(table[:, m]).any(axis=1)).sum()),
                        **_named("rank_sum", sums[m]), **_named("beats_floor", beats[0]),
                        **_named("beats_non_private", beats[1]),
                        "bits": report_bits(method, epsilon),
                    }  # fmt: skip


def cost_table(
    samples: Samples, sets: Sequence[str], mask: str, methods: Sequence[str], epsilon: float
) -> np.ndarray | None:
    """Costs of shape (sets, methods, replications), NaN where a method has none; None without any data set."""
    known = {
        (k[1], k[3]): v for k, v in samples.items() if k[2] == mask and k[4] == epsilon and k[0] != NON_PRIVATE_PANEL
    }
    sets = [name for name in sets if any((name, method) in known for method in methods)]
    if not sets:
        return None
    longest = max(v.size for v in known.values())
    empty = np.full(longest, math.nan)
    return np.array([[known.get((name, method), empty)[:longest] for method in methods] for name in sets])


def best_constants(samples: Samples, sets: Sequence[str], epsilon: float, n: int) -> np.ndarray:
    """Replications of the best constant, one row a data set; constants are the same under every mask."""
    rows = []
    for name in sets:
        found = [
            values
            for (panel, dataset, _, method, budget), values in samples.items()
            if (dataset, budget) == (name, epsilon)
            and panel != NON_PRIVATE_PANEL
            and parse_selector(method)[0] in CONSTANTS
        ]
        rows.append(min(found, key=np.mean, default=np.full(n, math.nan)))
    return np.array(rows)


def _seconds(folder: Path) -> dict[str, float]:
    """Median seconds of a fit over data sets and budgets, where the scores are at hand."""
    path = Path(folder) / "scores.parquet"
    if not path.is_file():
        return {}
    scores = pd.read_parquet(path, columns=["panel", "method", "seconds"])
    ran = scores[(scores["panel"].astype(str) != NON_PRIVATE_PANEL) & scores["seconds"].notna()]
    return {str(method): float(s) for method, s in ran.groupby(ran["method"].astype(str))["seconds"].median().items()}


def _named(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
