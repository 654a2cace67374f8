"""Write results/reproduced/fit_seconds.csv: the median seconds of one fit of each method in the leaderboard.

Each method is measured on each experiment in a process of its own, on one thread: what the fits of one process share
would be paid by the first of them alone.
"""

import sys
from dataclasses import replace
from multiprocessing import get_context
from statistics import median

import pandas as pd
from threadpoolctl import threadpool_limits

from lpbench.analysis import write_csv
from lpbench.audit.contract import problem_for
from lpbench.experiments import catalog
from lpbench.experiments.single_method import at_one_setting, fit, seconds_of_a_fit
from lpbench.experiments.timing import FIT_SECONDS
from lpbench.paths import COMMITTED
from lpbench.reporting.paper import papers


def measured(task: tuple[str, str]) -> float:
    """Seconds of a fit of a method on an experiment, after a fit on other data, by which libraries are loaded."""
    method, experiment = catalog.method(task[0]), catalog.experiment(task[1])
    with threadpool_limits(1):
        model = at_one_setting(replace(method, tuning_free=method.tuning_free or {})).build()
        problem = problem_for(model)
        fit(model.for_problem(problem), problem)
        return seconds_of_a_fit(method, experiment)


def fit_seconds() -> pd.DataFrame:
    """Measure every method of the leaderboard, one after the other: the median over its experiments."""
    tasks = []
    for experiment in catalog.experiments(name for paper in papers() for name in paper.leaderboard).values():
        for method in map(catalog.method, experiment.methods):
            tasks.append((method.name, experiment.name))
            method.build()  # its module is imported here, and no process has fits of another method behind it
    found: dict[str, list[float]] = {name: [] for name, _ in sorted(tasks)}
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        for (name, experiment_name), seconds in zip(tasks, pool.imap(measured, tasks), strict=True):
            print(f"{name} in {experiment_name}: {seconds:.6f} s", file=sys.stderr, flush=True)
            found[name].append(seconds)
    rows = [(name, median(seconds)) for name, seconds in found.items()]
    return pd.DataFrame(rows, columns=["method", "seconds"])


if __name__ == "__main__":
    write_csv(fit_seconds(), COMMITTED / FIT_SECONDS)
