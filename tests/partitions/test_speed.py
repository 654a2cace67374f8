"""Growth and routing keep up with scikit-learn's compiled trees (at most three times their time)."""

import time

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from lpbench.partitions import grow_max_edge


def best_of_three(function):
    seconds = []
    for _ in range(3):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


@pytest.mark.slow
def test_growth_and_routing_are_within_three_times_scikit_learn():
    rng = np.random.default_rng(0)
    X, points = rng.random((200_000, 10)), rng.random((1_000_000, 10))
    y = np.sin(X).sum(axis=1) + rng.normal(size=len(X))
    model, tree = DecisionTreeRegressor(max_depth=8), grow_max_edge(X, y, 8)
    ours = best_of_three(lambda: grow_max_edge(X, y, 8))
    assert ours < 3 * best_of_three(lambda: model.fit(X, y))
    assert best_of_three(lambda: tree.apply(points)) < 3 * best_of_three(lambda: model.apply(points))
