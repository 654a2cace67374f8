"""The conceptual level of reproduction: the order of the methods on other data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from lpbench.cli.rows import read_summary
from lpbench.datasets import load_manifest
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment, Group
from lpbench.selectors import parse_selector


def print_orders(names: Sequence[str], results: Path, against: Path) -> None:
    """Print the order of the methods here beside the published one, experiment by experiment."""
    for name in names:
        ours = mean_ranks(read_summary(results / "conceptual", name))
        theirs = mean_ranks(read_summary(against, name))
        print_order(name, ours, theirs)
        print(f"  table: {results / 'conceptual' / name}")


def with_datasets(experiment: Experiment, datasets: Sequence[str]) -> Experiment:
    """The same methods, masks and budgets on other data.

    Raises
    ------
    ConfigurationError
        No group of the experiment has methods for the task of a data set.
    """
    groups: list[Group] = []
    for group in experiment.groups:
        task = catalogue.method(group.method[0]).task
        chosen = tuple(d for d in datasets if load_manifest(parse_selector(d)[0]).task == task)
        other = Group(dataset=chosen, mask=group.mask, method=group.method, epsilon=group.epsilon, grid=group.grid)
        if chosen and other not in groups:
            groups.append(other)
    used = {d for group in groups for d in group.dataset}
    if unused := sorted(set(datasets) - used):
        raise ConfigurationError(
            f"experiment {experiment.name} has no method for the task of data set {unused[0]}; "
            "choose another experiment (`lpbench list experiments`)"
        )
    return Experiment(
        name=f"conceptual/{experiment.name}",
        paper="conceptual",
        title=f"{experiment.title}: on {', '.join(datasets)}",
        replications=experiment.replications,
        groups=tuple(groups),
        notes=(f"the methods, masks and budgets of {experiment.name}",),
    )


def mean_ranks(summary: pd.DataFrame) -> pd.Series:
    """Mean rank of each method over its cells, oracle selection, best first."""
    table = summary.reset_index()
    table = table[table["selection"] == "oracle"].assign(rank=pd.to_numeric(table["rank"], errors="coerce"))
    return table.groupby("method")["rank"].mean().dropna().sort_values()


def print_order(name: str, ours: pd.Series, theirs: pd.Series) -> None:
    """Print mean ranks side by side, and how far the orders agree."""
    both = pd.DataFrame({"here": ours, "published": theirs}).dropna()
    agreement = stats.kendalltau(both["here"], both["published"]).statistic if len(both) > 1 else np.nan
    print(f"{name}: mean rank of {len(both)} methods; Kendall's tau with the published order {agreement:.2f}")
    for method, row in both.sort_values("here").iterrows():
        print(f"  {method:30s} {row['here']:6.2f}  published {row['published']:6.2f}")
