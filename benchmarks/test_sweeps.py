"""Sweeps against refitting for every grid point and budget."""

from functools import cache, partial

import numpy as np
import pytest
from conftest import cpu_seconds, timed

from lpbench.datasets import make_problem
from lpbench.errors import MissingDataError
from lpbench.estimators import LPCT, PSGD
from lpbench.estimators.base import LocalEstimator, expand_grid
from lpbench.experiments import catalog
from lpbench.experiments.compute import method_streams
from lpbench.problem import Problem

#: Grid points that stand for all of them on the slow side.
DRAWN = 60
#: Replications that are swept together, about as many as in a run.
REPLICATIONS = 25
BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0, 1000.0)


def method(name: str) -> tuple[LocalEstimator, dict]:
    spec = catalog.method(name)
    return spec.build(), dict(spec.grid)


@cache
def posterior_drift(replication: int = 0) -> Problem:
    return make_problem("posterior_drift", {"n_public": 50, "gamma": 0.5}, "all_private", {}, replication, 2025)


def refit(model: LocalEstimator, problem: Problem, cells, streams) -> None:
    """One fit and one prediction for each (budget, point)."""
    for epsilon, point in cells:
        LocalEstimator.sweep(model, problem, [epsilon], [point], streams)


def draw(budgets, points, seed: int = 0) -> list[tuple]:
    rng = np.random.default_rng(seed)
    total = len(budgets) * len(points)
    chosen = rng.choice(total, min(DRAWN, total), replace=False)
    return [(budgets[i // len(points)], points[i % len(points)]) for i in chosen]


@pytest.mark.parametrize("mask", ["personalized", "aligned"])
def test_histoftree_block(benchmark, record, mask):
    """One replication of a block of H's tables."""
    try:
        problem = make_problem("abalone", {}, mask, {}, 0, 2025)
    except MissingDataError as error:
        pytest.skip(str(error))
    model, grid = method("histoftree_max_edge")
    if mask == "personalized":
        grid |= {"n_grid_features": ["all"]}
    model = model.for_problem(problem)
    points = expand_grid(model.resolve_grid(grid, problem))
    streams = method_streams(2025, "abalone", mask, 0)
    seconds = timed(benchmark, partial(model.sweep, problem, [2.0], points, streams), rounds=2)
    cells = draw([2.0], points)
    naive = cpu_seconds(partial(refit, model, problem, cells, streams), rounds=1) / len(cells) * len(points)
    setting = f"abalone {mask}, {len(points)} points, epsilon 2"
    record.add("HistOfTree sweep", setting, "seconds", seconds)
    against = f"a fit per point ({len(cells)} drawn, scaled)"
    record.add("HistOfTree sweep", setting, "speed-up", naive / seconds, against=against)


def test_figure4a_sweep(benchmark, record):
    """A replication of LPCT in figure 4(a) against fitting every point by itself with every user's noise drawn."""
    model, grid = method("lpct_max_edge")
    points, streams = expand_grid(grid), method_streams(2025, "posterior_drift", None, 0)
    problem, many = posterior_drift(), [posterior_drift(r) for r in range(REPLICATIONS)]
    cells, n_cells = draw(BUDGETS, points), len(BUDGETS) * len(points)
    setting = f"figure 4(a), {len(points)} points x {len(BUDGETS)} budgets"
    alone = cpu_seconds(partial(model.sweep, problem, BUDGETS, points, streams))
    record.add("LPCT sweep", setting, "seconds of one replication by itself", alone)
    own = [method_streams(2025, "posterior_drift", None, r) for r in range(REPLICATIONS)]
    seconds = timed(benchmark, partial(model.sweep_many, many, BUDGETS, points, own)) / REPLICATIONS
    record.add("LPCT sweep", setting, f"seconds of one of {REPLICATIONS} replications", seconds)
    fits = cpu_seconds(partial(refit, model, problem, cells, streams), rounds=1) / DRAWN * n_cells
    record.add("LPCT sweep", setting, "speed-up", fits / seconds, against=f"a fit per point ({DRAWN} drawn, scaled)")
    model.set_params(noise="per_user")
    users = cpu_seconds(partial(refit, model, problem, cells, streams), rounds=1) / DRAWN * n_cells
    against = f"a fit per point, noise of every user ({DRAWN} drawn, scaled)"
    assert record.add("LPCT sweep", setting, "speed-up per user", users / seconds, against=against, at_least=2000)


def test_another_weight_or_budget(benchmark, record):
    """What one more public weight or budget adds to a sweep over the depths, as a share of the first."""
    problem = posterior_drift()
    model, _ = method("lpct_max_edge")
    streams = method_streams(2025, "posterior_drift", None, 0)
    depths = list(range(1, 9))

    def sweep(budgets: int, weights: int) -> None:
        grid = {"depth": depths, "public_weight": list(np.geomspace(0.1, 2000, weights))}
        model.sweep(problem, list(np.geomspace(0.5, 8, budgets)), grid, streams)

    first = timed(benchmark, partial(sweep, 1, 1), rounds=5)
    for name, many in (("public weight", (1, 101)), ("budget", (101, 1))):
        share = (cpu_seconds(partial(sweep, *many), rounds=3) - first) / 100 / first
        assert record.add("LPCT sweep", f"depths 1-8, one more {name}", "share of the first", share, at_most=0.02)


def test_psgd_recursion(benchmark, record):
    """All budgets and rates of PSGD-L in one pass over 2,000 users."""
    rng = np.random.default_rng(0)
    X, y = rng.random((4_000, 10)), rng.integers(2, size=4_000)
    rates = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]

    def problem(n: int) -> Problem:
        return Problem(X[:n], y[:n], X[:100], y[:100], metric="accuracy")

    def sweep(n: int) -> None:
        PSGD().sweep(problem(n), [0.5, 2.0, 8.0], {"learning_rate": rates}, method_streams(0, "psgd", None, 0))

    seconds = timed(benchmark, partial(sweep, 2_000), rounds=2)
    alone = cpu_seconds(
        lambda: PSGD(learning_rate=0.01, random_state=0).fit(X[:2_000], y[:2_000]).predict(X[:100]), rounds=2
    )
    record.add("PSGD recursion", "2,000 users, 18 runs", "seconds", seconds)
    record.add("PSGD recursion", "2,000 users, 18 runs", "speed-up", 18 * alone / seconds, against="a pass per run")
    sizes = [1_000, 2_000, 4_000]
    record.exponent("PSGD recursion", "n", sizes, [cpu_seconds(partial(sweep, n), rounds=2) for n in sizes])


def test_lpct_sweep_exponents(benchmark, record):
    """LPCT's sweep as a function of the number of private users."""
    model = LPCT()
    points = expand_grid({"depth": list(range(1, 9)), "public_weight": [1.0, 10.0, 100.0]})
    streams = method_streams(2025, "posterior_drift", None, 0)
    sizes = [10_000, 40_000, 160_000]
    problems = [make_problem("posterior_drift", {"n_private": n, "n_public": 50}, None, {}, 0, 2025) for n in sizes]
    times = [cpu_seconds(partial(model.sweep, p, [1.0], points, streams)) for p in problems]
    benchmark.pedantic(partial(model.sweep, problems[0], [1.0], points, streams), rounds=1)
    record.exponent("LPCT sweep", "n", sizes, times)
