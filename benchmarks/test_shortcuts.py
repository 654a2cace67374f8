"""What each shortcut that makes code longer buys: a sweep with it and without it."""

from functools import partial
from itertools import count

import numpy as np
import pytest
from conftest import cpu_seconds, timed
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree._splitter import BestSplitter

from lpbench.datasets import make_problem
from lpbench.estimators import LPCT, HistOfTree, LabelLDPVote
from lpbench.estimators.base import LocalEstimator, expand_grid
from lpbench.estimators.baselines.tree_growth import cut_class_trees
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.experiments.compute import method_streams
from lpbench.partitions import SampleGroups, grow_max_edge
from lpbench.partitions.max_edge import grow_max_edge_forest

HISTOFTREE_GRID = {"depth": [1, 2, 4, 6], "bins": [1, 2, 3], "label_share": [0.5, 0.7, 0.9]}


def sweep(model: LocalEstimator, dataset: str, params: dict, mask: str, budgets, grid, replications: int = 1):
    """A call that sweeps the replications of a scenario together."""
    problems = [make_problem(dataset, params, mask, {}, r, 2025) for r in range(replications)]
    streams = [method_streams(2025, dataset, mask, r) for r in range(replications)]
    return partial(model.sweep_many, problems, budgets, expand_grid(grid), streams)


def singletons(cls, depth, X, mask=None) -> SampleGroups:
    """Groups of one sample each."""
    return cls.singletons(len(X))


def one_by_one(X, labels, depth, **options) -> list:
    """One max-edge tree after the other from several labels."""
    return [grow_max_edge(X, y, depth, **options) for y in labels]


def forest_one_by_one(samples, depth, **options) -> list:
    """One max-edge tree after the other from several samples."""
    return [grow_max_edge_forest([sample], depth, **options)[0] for sample in samples]


def histoftree(n: int):
    budgets = [1.0, 2.0, 4.0]
    return sweep(HistOfTree(), "sine_sum", {"n": n}, "aligned", budgets, HISTOFTREE_GRID)


def lpct():
    grid = {"depth": list(range(1, 9)), "public_weight": [1.0, 10.0, 100.0]}
    return sweep(LPCT(), "posterior_drift", {"n_private": 10_000, "n_public": 50}, "all_private", [1.0, 8.0], grid, 25)


def public_score():
    """The score of 200 public rows."""
    rng, seeds = np.random.default_rng(0), count()  # scores of one seed are computed once
    X, codes = rng.random((200, 6)), rng.integers(2, size=200)
    return lambda: PublicScore(X, codes, 2, next(seeds))


def checked_forest(splitter, leaf_size, X, codes, n_classes, bags):
    """scikit-learn's forests, as they are."""
    forest = RandomForestClassifier if splitter is BestSplitter else ExtraTreesClassifier
    options = {"max_samples": codes.size, "bootstrap": True, "oob_score": True, "random_state": 0}
    fitted = forest(len(bags), min_samples_leaf=leaf_size, **options).fit(X, codes)
    return [], fitted.oob_decision_function_


def votes():
    return sweep(LabelLDPVote(), "rough_classes", {"n": 65_536}, "all_private", [0.5, 1.0, 2.0, 4.0], {})


def sparse_trees():
    """Trees on 3,000 columns of which few entries differ from 0, as on words of e-mails."""
    rng = np.random.default_rng(0)
    X = ((rng.random((4_000, 3_000)) < 0.06) * rng.random((4_000, 3_000))).astype(np.float32)
    codes, seeds = rng.integers(2, size=4_000), count()  # trees of one seed are grown once
    return lambda: cut_class_trees(X, codes, [4, 8], next(seeds))


@pytest.mark.parametrize(
    ("shortcut", "setting", "make", "replaced", "plain"),
    [
        (
            "samples that no cut tells apart as groups",
            "HistOfTree, sine_sum, 10,000 users",
            partial(histoftree, 10_000),
            (SampleGroups, "for_depth"),
            classmethod(singletons),
        ),
        (
            "max-edge trees of several labels together",
            "HistOfTree, sine_sum, 500 users",
            partial(histoftree, 500),
            "lpbench.estimators.histoftree.rounds.grow_max_edges",
            one_by_one,
        ),
        (
            "max-edge trees of several replications together",
            "LPCT, posterior_drift, 25 replications",
            lpct,
            "lpbench.estimators.lpct.partition.grow_max_edge_forest",
            forest_one_by_one,
        ),
        (
            "plain arrays not checked again by scikit-learn",
            "label-DP votes, rough_classes, 65,536 users",
            votes,
            "lpbench.estimators.base._is_plain",
            lambda array, ndim: False,
        ),
        (
            "forests without scikit-learn's checks of every tree",
            "public score, 200 rows",
            public_score,
            "lpbench.estimators.tuning_free.public_score._forest",
            checked_forest,
        ),
        (
            "sparse columns for classification trees",
            "4,000 rows x 3,000 columns, 6 % not 0",
            sparse_trees,
            "lpbench.estimators.baselines.tree_growth._SPARSE",
            0.0,
        ),
    ],
)
def test_shortcut(benchmark, record, monkeypatch, shortcut, setting, make, replaced, plain):
    call = make()
    seconds = timed(benchmark, call, rounds=7)
    with monkeypatch.context() as patch:
        patch.setattr(*((replaced, plain) if isinstance(replaced, str) else (*replaced, plain)))
        without = cpu_seconds(call, rounds=7)
    record.add(shortcut, setting, "seconds", seconds)
    record.add(shortcut, setting, "speed-up", without / seconds, against="without the shortcut")
