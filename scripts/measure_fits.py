"""Write results/reproduced/fit_seconds.csv: the median seconds of one fit of each method in the leaderboard.

Each method is measured in a process of its own, on one thread: what the fits of one process share would be paid by the
method that comes first.
"""

from dataclasses import replace
from multiprocessing import get_context
from statistics import median

import pandas as pd
from threadpoolctl import threadpool_limits

from lpbench.analysis import write_csv
from lpbench.experiments import catalogue
from lpbench.experiments.single_method import at_one_setting, fit, seconds_of_a_fit
from lpbench.experiments.timing import FIT_SECONDS
from lpbench.paths import COMMITTED
from lpbench.reporting.paper import papers
from lpbench.testing import problem_for


def measured(name: str, experiments: list[str]) -> float:
    """Median over experiments of the seconds of a fit, after one on other data, by which libraries are loaded."""
    method = catalogue.method(name)
    with threadpool_limits(1):
        model = at_one_setting(replace(method, tuning_free=method.tuning_free or {})).build()
        problem = problem_for(model)
        fit(model.for_problem(problem), problem)
        return median(seconds_of_a_fit(method, experiment) for experiment in map(catalogue.experiment, experiments))


def fit_seconds() -> pd.DataFrame:
    """Measure every method of the leaderboard, one after the other."""
    wanted: dict[str, list[str]] = {}
    for experiment in catalogue.experiments(name for paper in papers() for name in paper.leaderboard).values():
        for method in map(catalogue.method, experiment.methods):
            wanted.setdefault(method.name, []).append(experiment.name)
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        rows = pool.starmap(measured, sorted(wanted.items()), chunksize=1)
    return pd.DataFrame({"method": sorted(wanted), "seconds": rows})


if __name__ == "__main__":
    write_csv(fit_seconds(), COMMITTED / FIT_SECONDS)
