"""Scores of a submitted method by the verifier: its code runs in places of its own, records and scores stay here.

Claims are met again with the published seed. A second time the users' noise comes from a secret seed, and rows, columns
and labels are permuted and reflected in secret: what a method has learned from its users is as good on those, what it
knew before is not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp, wilcoxon

from lpbench.audit.apart import kind_of
from lpbench.audit.keeper import Places
from lpbench.datasets import Draws
from lpbench.experiments import catalog
from lpbench.experiments.compute import method_streams
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.experiments.submissions import CLAIMED_COLUMNS
from lpbench.members import member
from lpbench.problem import METRICS, Problem

#: Probability that a method whose scores do not depend on the seed is refuted, over all its blocks and budgets.
SECRET_FALSE_ALARM = 1e-3
#: Share of the claimed loss by which a second run may be worse on top of noise: methods break ties by order.
SLACK = 0.05


def scores_apart(
    places: Places,
    method: Method,
    experiment: Experiment,
    block: str,
    budgets: Sequence[float],
    seed: int,
    secret: int | None = None,
) -> pd.DataFrame:
    """Score a block ``data set mask`` in isolated processes: columns of ``claimed.csv``.

    With ``secret`` users draw from a secret seed, and the data are reflected and reordered in secret.
    """
    estimator = kind_of(places, method.estimator, method.privacy, secret)(**method.params)
    dataset, mask = block.split(" ")
    data, masked = experiment.data_set(dataset), member(mask)
    given = {**catalog.mask(masked.name).params, **masked.params}
    mask_of = (masked.name, given) if estimator.uses_mask else ("all_private", {})
    draw = Draws(data.name, dict(data.params), *mask_of, seed).problem
    rows = []
    for replication in range(experiment.replications):
        problem, scale = draw(replication), 1.0
        if secret is not None:
            problem, scale = moved(problem, np.random.default_rng([secret, replication]))
        streams = method_streams(seed, data.name, masked.name if estimator.uses_mask else None, replication)
        values = estimator.sweep(problem, budgets, [{}], streams).values[:, 0] / scale
        rows += [(dataset, mask, e, replication, problem.metric, v) for e, v in zip(budgets, values, strict=True)]
    return pd.DataFrame(rows, columns=CLAIMED_COLUMNS)


def moved(problem: Problem, rng: np.random.Generator) -> tuple[Problem, float]:
    """Reorder and reflect a problem's rows and features, and rescale its labels (two classes swap), at random.

    The number returned is the factor by which squared losses grow.
    """
    order, flipped = rng.permutation(len(problem.y_train)), rng.random(problem.X_train.shape[1]) < 0.5
    features = {
        name: None if X is None else np.where(flipped, 1.0 - X, X)
        for name in ("X_train", "X_test", "X_public")
        for X in [getattr(problem, name)]
    }
    labels, scale, factor = _labels(problem, rng)
    new = replace(problem, **{**features, **labels}, **scale)
    mask = None if new.mask is None else new.mask[order]
    return replace(new, X_train=new.X_train[order], y_train=new.y_train[order], mask=mask), factor


def _labels(problem: Problem, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any], float]:
    """Move labels in secret: swap two classes, or reflect and rescale numbers, so that known labels are of no use.

    Returned are the changed fields of the problem, its new ``y_range`` if any, and the factor of the loss.
    """
    labels = {name: getattr(problem, name) for name in ("y_train", "y_test", "y_public")}
    if problem.y_range is None:
        classes = np.unique(problem.y_train) if problem.classes is None else np.asarray(problem.classes)
        if classes.size != 2 or problem.eta_test is not None:
            return {}, {}, 1.0
        return (
            {k: None if y is None else np.where(y == classes[0], classes[1], classes[0]) for k, y in labels.items()},
            {},
            1.0,
        )
    (low, high), a, b = problem.y_range, rng.uniform(0.5, 2.0), rng.uniform(-1.0, 1.0)
    if problem.eta_test is not None:
        labels["eta_test"] = problem.eta_test
    ends = a * low + b, a * high + b
    # rounding must not put a label outside of its range
    reflected = {k: None if y is None else np.clip(a * (low + high - y) + b, *ends) for k, y in labels.items()}
    return reflected, {"y_range": ends}, a**2


def worse_in_secret(claimed: pd.DataFrame, secret: pd.DataFrame) -> Iterator[str]:
    """A sentence for each block and budget whose loss under the secret seed is significantly above the claimed one."""
    key = ["dataset", "mask", "epsilon", "replication"]
    joined = secret.merge(claimed, on=key, suffixes=("", "_claimed"))
    groups = list(joined.groupby(key[:3]))
    for (dataset, mask, epsilon), rows in groups:
        sign = -1.0 if METRICS[rows["metric"].iloc[0]] else 1.0
        loss, stated = (sign * rows[name].to_numpy() for name in ("value", "value_claimed"))
        excess = loss - stated - SLACK * abs(stated.mean())
        if len(rows) < 2 or not excess.max() > 0:
            continue
        # of one excess and all others beside it the mean tells nothing, and of few replications the ranks
        tests = (test(excess, alternative="greater").pvalue for test in (partial(ttest_1samp, popmean=0.0), wilcoxon))
        if min(tests) < SECRET_FALSE_ALARM / 2 / len(groups):
            yield (
                f"block {dataset} {mask}, epsilon = {epsilon:g}: {abs(stated.mean()):.4g} is claimed, and with users' "
                f"noise from a secret seed and data moved in secret it is {abs(loss.mean()):.4g}"
            )
