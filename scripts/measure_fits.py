"""Write results/reproduced/fit_seconds.csv: the median seconds of one fit of each method in the leaderboard."""

from statistics import median

import pandas as pd

from lpbench.analysis import write_csv
from lpbench.experiments import catalogue
from lpbench.experiments.single_method import seconds_of_a_fit
from lpbench.experiments.timing import FIT_SECONDS
from lpbench.paths import COMMITTED
from lpbench.reporting.paper import papers

if __name__ == "__main__":
    found: dict[str, list[float]] = {}
    for experiment in catalogue.experiments(name for paper in papers() for name in paper.leaderboard).values():
        for method in map(catalogue.method, experiment.methods):
            found.setdefault(method.name, []).append(seconds_of_a_fit(method, experiment))
    rows = sorted((name, median(seconds)) for name, seconds in found.items())
    write_csv(pd.DataFrame(rows, columns=["method", "seconds"]), COMMITTED / FIT_SECONDS)
