"""Coverage and width of private intervals and sets, beside the same model's with exact labels.

The exact threshold is that of split conformal prediction on the scores of the same calibrating users [1]_.

References
----------
.. [1] J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman, "Distribution-free predictive inference for
   regression", JASA 113, 2018.
"""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench import estimators
from lpbench.analysis import write_csv
from lpbench.datasets import make_problem
from lpbench.errors import ClippingWarning
from lpbench.experiments.experiment import Experiment
from lpbench.problem import Problem
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.printed_names import dataset_title
from lpbench.seeds import Streams

INTERVALS_FILE = "intervals.csv"
MEASURED = ("coverage", "width", "exact_coverage", "exact_width")
#: Nominal coverage, and n epsilon^2 from which the calibrating users tell enough for a narrow interval.
COVERAGE, ENOUGH = 0.9, 1e4
#: What is asked for: coverage there, width there in exact widths, and coverage everywhere.
COVERAGE_HELD, WIDTH, LEAST = (0.88, 0.94), 1.3, 0.88


def write_intervals(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Write one row per data set and budget: mean coverage and width over the splits, private and exact."""
    rows = []
    for selector in experiment.settings["datasets"]:
        for epsilon in experiment.settings["epsilon"]:
            drawn, runs = experiment.data_set(selector), []
            for k in range(experiment.replications):
                problem = make_problem(drawn.name, drawn.params, "aligned", {}, k, seed)
                streams = Streams(seed).child("intervals", dataset=selector, replication=k)
                runs.append(measured(problem, epsilon, streams))
            n, measured_runs = len(problem.y_train), np.array(runs)
            cells = dict(zip(MEASURED, measured_runs.mean(axis=0), strict=True))
            error = measured_runs[:, 0].std(ddof=1) / math.sqrt(len(measured_runs))
            cells |= {"coverage_se": error, "ratio": cells["width"] / cells["exact_width"]}
            about = {"dataset": selector, "users": n, "epsilon": epsilon}
            rows.append(about | cells | {"enough": n * epsilon**2 >= ENOUGH})
    path = Path(folder) / INTERVALS_FILE
    write_csv(pd.DataFrame(rows), path)
    return [path]


def measured(problem: Problem, epsilon: float, streams: Streams) -> tuple[float, ...]:
    """Return coverage and mean width (of classes: size) on the test rows, private and exact."""
    from lpbench.estimators.intervals.coverage import SCORES

    numbers = problem.y_range is not None
    kind = estimators.PrivateIntervals if numbers else estimators.PrivateSets
    model: Any = kind(epsilon=epsilon, coverage=(COVERAGE,)).for_problem(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClippingWarning)  # features are scaled by public rows where there are some
        model.learn_problem(problem, streams)
    calibrating, score = model.calibrating_, SCORES["residual" if numbers else "class"]
    scores = np.sort(score(model, problem.X_train[calibrating], problem.y_train[calibrating]))
    rank = math.ceil(COVERAGE * (scores.size + 1))
    exact = float(scores[rank - 1]) if rank <= scores.size else model.curves_[COVERAGE].reach
    cells: list[float] = []
    for threshold in (model.threshold(COVERAGE), exact):
        answer = model.within(problem.X_test, threshold)
        if numbers:
            inside = (answer[:, 0] <= problem.y_test) & (problem.y_test <= answer[:, 1])
            width = np.ptp(answer, axis=1)
        else:
            inside, width = answer[np.arange(len(answer)), problem.y_test], answer.sum(axis=1)
        cells += [float(inside.mean()), float(width.mean())]
    return tuple(cells)


def read_intervals(folder: Path, *_: object) -> list[PlainTable]:
    """Lay out the written coverage and widths as a page's table; empty without a run."""
    path = Path(folder) / INTERVALS_FILE
    if not path.is_file():
        return []
    rows = pd.read_csv(path)
    rows["title"] = rows["dataset"].map(dataset_title)
    cells = tuple(
        (
            r.title,
            f"{r.users}",
            f"{r.epsilon:g}",
            f"{r.coverage:.3f} ± {r.coverage_se:.3f}",
            f"{r.exact_coverage:.3f}",
            f"{r.ratio:.2f}",
            "yes" if r.enough else "no",
        )
        for r in rows.itertuples()
    )
    heads = ("data set", "users", "ε", "coverage", "coverage, exact labels", "width / exact", f"n ε² ≥ {ENOUGH:,.0f}")
    return [PlainTable(f"Intervals and sets of nominal coverage {COVERAGE:g}", heads, cells, _conclusion(rows))]


def _conclusion(rows: pd.DataFrame) -> str:
    """State in sentences which cells have the coverage and width asked for, and name the others.

    A row of ``rows`` is a data set (``title``) at an ``epsilon`` with its ``coverage``, the ``ratio`` of its width to
    that of exact intervals, and ``enough``, True where n ε² is large.
    """
    narrow, low = rows[rows["enough"]], rows[rows["coverage"] < LEAST]
    held = narrow["coverage"].between(*COVERAGE_HELD)
    sentences = [
        f"Exact width is the width with exact labels. With n users, n ε² is at least {ENOUGH:,.0f} in {len(narrow)} "
        f"rows. Of these rows, {held.sum()} have a coverage from {COVERAGE_HELD[0]} to {COVERAGE_HELD[1]}, and "
        f"{(narrow['ratio'] <= WIDTH).sum()} have a width of at most {WIDTH} times the exact width. The coverage is at "
        f"least {LEAST} in {len(rows) - len(low)} of all {len(rows)} rows."
    ]
    where = {
        f"Rows with a coverage below {LEAST}": low,
        f"Rows with n ε² of at least {ENOUGH:,.0f} and a width above {WIDTH} times the exact width": narrow[
            narrow["ratio"] > WIDTH
        ],
        f"Rows with n ε² of at least {ENOUGH:,.0f} and a coverage outside "
        f"{COVERAGE_HELD[0]} to {COVERAGE_HELD[1]}": narrow[~held],
    }
    for word, group in where.items():
        cells = [f"{r.title} at ε = {r.epsilon:g} ({r.coverage:.3f}, {r.ratio:.2f})" for r in group.itertuples()]
        sentences += (
            [f"{word}, with coverage and width / exact width in brackets: {'; '.join(cells)}."] if cells else []
        )
    return " ".join(sentences)
