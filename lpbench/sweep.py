"""``lpbench.run``: a sweep from Python, as a table of its cells."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog
from lpbench.experiments.config import ROOT_SEED, Runner
from lpbench.experiments.experiment import Group
from lpbench.experiments.job import job_of
from lpbench.pipeline import describe_missing, summarized


def run(
    dataset: str | Sequence[str],
    method: str | Sequence[str],
    mask: str | Sequence[str] = "aligned",
    epsilon: float | Sequence[float] = 2.0,
    replications: int = 10,
    seed: int = ROOT_SEED,
    results: Path | str | None = None,
) -> pd.DataFrame:
    """Run the product of data sets, methods, masks and budgets, and return the table of its cells.

    Parameters
    ----------
    dataset, method, mask : str or sequence of str
        Names as on the command line, such as ``krr[variant=text]``.
    epsilon : float or sequence of float
        Budgets.
    replications : int
        Random splits, or draws of synthetic data, that all methods share.
    seed : int
        Root seed; the numbers are those of ``lpbench -m`` with the same one.
    results : path, optional
        Results folder that keeps finished blocks, and spares them next time; by default nothing is kept.

    Returns
    -------
    DataFrame
        One row per cell and selection with the columns of ``summary.csv``: ``mean``, ``se``, ``rank``, ``best``,
        ``marked``, ``p_best_is_better`` (one-sided Wilcoxon test over the replications that the best beats it),
        ``spent``.

    Raises
    ------
    ConfigurationError
        Unknown name, impossible value, or a data set whose files are not at hand.
    """
    datasets, masks, methods = (
        (names,) if isinstance(names, str) else tuple(names) for names in (dataset, mask, method)
    )
    budgets = tuple(map(float, epsilon if isinstance(epsilon, Sequence) else (epsilon,)))
    group = Group(dataset=datasets, mask=masks, method=methods, epsilon=budgets)
    experiment = replace(catalog.single(), groups=(group,))
    job = job_of(experiment, replications=replications, seed=seed)
    if job.plan.missing:
        raise ConfigurationError(describe_missing(job.plan.missing))
    with TemporaryDirectory() as scratch:
        table = summarized(job, Path(results or scratch), Runner()).table
    return table.drop(columns=["experiment", "panel", "x"])
