"""First fits and predictions: nothing of them is in a cache that the fits of one process share."""

import time
from collections.abc import Callable

import numpy as np
import pytest

from lpbench.estimators import KRR, HistOfTree, LabelLDPKNN, ResidualScore

#: Rows of the public sample.
N_PUBLIC = 500
ROUNDS = 3


def drawn(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, d) and labels in [0, 1]."""
    rng = np.random.default_rng((n, d, seed))
    X = rng.random((n, d))
    return X, np.clip((X[:, 0] + 0.5 * X[:, 1]) / 1.5 + rng.normal(0.0, 0.2, n), 0.0, 1.0)


def first(call: Callable[[int], object]) -> float:
    """Least processor time of calls, each on data of its own."""
    seconds = []
    for seed in range(ROUNDS):
        start = time.process_time()
        call(seed)
        seconds.append(time.process_time() - start)
    return min(seconds)


def first_of(benchmark, call: Callable[[int], object]) -> float:
    """Least processor time of calls, which the benchmark times, too."""
    return float(benchmark.pedantic(lambda: first(call), rounds=1))


@pytest.mark.parametrize(("n", "d", "at_most"), [(100_000, 5, 2.0), (10_000, 500, 12.0)])
def test_residual_score(benchmark, record, n, d, at_most):
    """Half of the features protected, and a public sample."""

    def fit(seed: int) -> None:
        X, y = drawn(n + N_PUBLIC, d, seed)
        labels, mask = (y > 0.5).astype(int), np.arange(d) < d // 2
        public = {"X_public": X[n:], "y_public": labels[n:]}
        ResidualScore(epsilon=1.0, classes=(0, 1), random_state=0).fit(X[:n], labels[:n], mask=mask, **public)

    seconds = first_of(benchmark, fit)
    record.add("first fit", f"ResidualScore, n = {n}, d = {d}", "seconds", seconds, at_most=at_most)


@pytest.mark.parametrize("method", [KRR, HistOfTree])
def test_trees(benchmark, record, method):
    def fit(seed: int) -> None:
        X, y = drawn(100_000, 5, seed)
        method(epsilon=2.0, y_range=(0.0, 1.0), random_state=0).fit(X, y, mask=[0])

    record.add("first fit", f"{method.__name__}, n = 100000, d = 5", "seconds", first_of(benchmark, fit))


def test_growth_from_four_million_entries_on(benchmark, record):
    def fit(n: int) -> Callable[[int], None]:
        def fitted(seed: int) -> None:
            X, y = drawn(n, 5, seed)
            KRR(epsilon=2.0, max_depth=8, y_range=(0.0, 1.0), random_state=0).fit(X, y, mask=[0])

        return fitted

    few, many = first(fit(830_000)), first_of(benchmark, fit(850_000))
    record.add("first fit", "KRR, n = 850000, d = 5", "ratio", many / few, against="n = 830000", at_most=1.3)


def test_nearest_neighbors(benchmark, record):
    """Predictions of 1,000 rows among 10,000 in 64 features."""
    X, y = drawn(11_000, 64, 0)
    model = LabelLDPKNN(epsilon=1.0, y_range=(0.0, 1.0), random_state=0).fit(X[:10_000], y[:10_000])
    seconds = first_of(benchmark, lambda seed: model.predict(X[10_000:]))
    record.add("prediction", "LabelLDPKNN, n = 10000, d = 64, 1000 rows", "seconds", seconds)
