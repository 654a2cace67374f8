"""Write results/reproduced/fit_seconds.csv: the median seconds of one fit of each method in the leaderboard.

Usage: python scripts/measure_fits.py [METHOD...]  (those named replace their rows; default: all)
"""

from __future__ import annotations

import sys
from statistics import median

import pandas as pd

from lpbench.analysis import write_csv
from lpbench.experiments import catalogue
from lpbench.experiments.single_method import seconds_of_a_fit
from lpbench.experiments.timing import FIT_SECONDS, fit_seconds
from lpbench.paths import COMMITTED
from lpbench.reporting.paper import papers


def main(named: list[str]) -> None:
    """Measure on the data sets of every leaderboard experiment that has the method."""
    found: dict[str, list[float]] = {}
    for experiment in catalogue.experiments(name for paper in papers() for name in paper.leaderboard).values():
        for selector in experiment.methods:
            method = catalogue.method(selector)
            if not named or method.name in named:
                found.setdefault(method.name, []).append(seconds_of_a_fit(method, experiment))
    seconds = (fit_seconds() if named else {}) | {name: median(values) for name, values in found.items()}
    write_csv(pd.DataFrame(sorted(seconds.items()), columns=["method", "seconds"]), COMMITTED / FIT_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1:])
