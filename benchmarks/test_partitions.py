"""Growing a max-edge tree, routing points through it, and listing the cells a user may lie in."""

from functools import cache, partial

import numpy as np
from conftest import cpu_seconds, timed
from sklearn.tree import DecisionTreeRegressor

from lpbench.partitions import TreePartition, grow_max_edge, grow_personalized_cart
from lpbench.partitions.cart import SortedFeatures


@cache
def sample(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, d))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + rng.normal(size=n)


def grow(n: int, d: int, depth: int) -> TreePartition:
    X, y = sample(n, d)
    return grow_max_edge(X, y, depth)


def test_growth(benchmark, record):
    """Within three times scikit-learn's best-split tree of the same depth on 10^6 rows of 10 features."""
    X, y = sample(10**6, 10)
    seconds = timed(benchmark, partial(grow, 10**6, 10, 8), rounds=1)
    reference = cpu_seconds(partial(DecisionTreeRegressor(max_depth=8, random_state=0).fit, X, y), rounds=1)
    setting = "10^6 x 10, depth 8"
    record.add("max-edge growth", setting, "seconds", seconds)
    record.against_memory("max-edge growth", setting, seconds, X.nbytes + y.nbytes)
    assert record.add(
        "max-edge growth", setting, "ratio", seconds / reference, against="scikit-learn tree, depth 8", at_most=3
    )


def test_growth_exponents(benchmark, record):
    """Linear in the rows, the features and the depth."""
    benchmark.pedantic(partial(grow, 10**5, 10, 8), rounds=1)
    sizes = [20_000, 60_000, 200_000]
    linear = record.exponent(
        "max-edge growth", "n", sizes, [cpu_seconds(partial(grow, n, 10, 8)) for n in sizes], at_most=1.1
    )
    features = [4, 8, 16, 32]
    record.exponent("max-edge growth", "d", features, [cpu_seconds(partial(grow, 50_000, d, 6)) for d in features])
    depths = [2, 4, 8, 12]
    record.exponent("max-edge growth", "depth", depths, [cpu_seconds(partial(grow, 10**5, 10, p)) for p in depths])
    assert linear


def test_personalized_cart(benchmark, record):
    """CART on data with protected entries; how much of it is the sorting that all labels share."""
    X, y = sample(20_000, 10)
    mask = np.random.default_rng(2).random(X.shape) < 0.2

    def grow_cart(n: int = 20_000) -> TreePartition:
        return grow_personalized_cart(X[:n], y[:n], 6, mask[:n])

    seconds = timed(benchmark, grow_cart, rounds=2)
    sorting = cpu_seconds(partial(SortedFeatures, X, mask))
    setting = "20,000 x 10, depth 6"
    record.add("personalised CART", setting, "seconds", seconds)
    record.add("personalised CART", setting, "share of the sorting", sorting / seconds)
    record.against_memory("personalised CART", setting, seconds, X.nbytes + y.nbytes + mask.nbytes)
    sizes = [2_000, 6_000, 20_000]
    record.exponent("personalised CART", "n", sizes, [cpu_seconds(partial(grow_cart, n)) for n in sizes])


def test_routing(benchmark, record):
    """Within three times scikit-learn's ``apply`` on 10^7 points (in single precision, as it compares)."""
    X, y = sample(10**5, 4)
    tree = grow_max_edge(X, y, 8)
    reference_tree = DecisionTreeRegressor(max_depth=8, random_state=0).fit(X, y)
    points = np.random.default_rng(1).random((10**7, 4))
    seconds = timed(benchmark, partial(tree.apply, points), rounds=1)
    single = points.astype(np.float32)
    reference = cpu_seconds(partial(reference_tree.apply, single), rounds=1)
    setting = "10^7 points, depth 8"
    record.add("routing", setting, "seconds", seconds)
    record.against_memory("routing", setting, seconds, points.nbytes + 8 * len(points))
    assert record.add("routing", setting, "ratio", seconds / reference, against="scikit-learn apply", at_most=3)
    sizes = [10**5, 3 * 10**5, 10**6]
    times = [cpu_seconds(partial(tree.apply, points[:n])) for n in sizes]
    assert record.exponent("routing", "n", sizes, times, at_most=1.1)


def test_compatible_cells(benchmark, record):
    """Listing the leaves a user may lie in, against a walk that is made user by user."""
    X, y = sample(20_000, 10)
    tree = grow_max_edge(X, y, 8)
    mask = np.random.default_rng(2).random(X.shape) < 0.2

    def all_users(rows: slice = slice(None)) -> int:
        *_, (users, _) = tree.spread(X[rows], mask[rows])
        return users.size

    seconds = timed(benchmark, all_users)
    few = cpu_seconds(lambda: [all_users(slice(i, i + 1)) for i in range(100)], rounds=1)
    record.add("compatible cells", "20,000 users, depth 8", "seconds", seconds)
    record.against_memory(
        "compatible cells", "20,000 users, depth 8", seconds, X.nbytes + mask.nbytes + 16 * all_users()
    )
    record.add(
        "compatible cells",
        "20,000 users, depth 8",
        "speed-up",
        few * 200 / seconds,
        against="user by user (100 users, scaled)",
    )
    sizes = [2_000, 6_000, 20_000]
    record.exponent("compatible cells", "n", sizes, [cpu_seconds(lambda n=n: all_users(slice(n))) for n in sizes])
    depths = [2, 4, 6, 8]
    times = [cpu_seconds(lambda p=p: list(tree.spread(X, mask, p))) for p in depths]
    record.exponent("compatible cells", "depth", depths, times)
