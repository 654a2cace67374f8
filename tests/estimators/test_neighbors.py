"""Nearest rows by a product of matrices and a bound: those of scikit-learn's search over all rows, in its order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from lpbench.estimators import KNNMean, LabelLDPKNN
from lpbench.estimators.label_dp import neighbors
from lpbench.estimators.label_dp.neighbors import NearestRows

KINDS = ("continuous", "grid", "binary", "duplicates", "narrow", "constant", "outlier", "huge")


def drawn(kind: str, n: int, m: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) and queries (m, d)."""
    X, queries = rng.random((n, d)), rng.random((m, d))
    if kind == "grid":
        return np.rint(3 * X) / 3, np.rint(3 * queries) / 3
    if kind == "binary":
        return np.rint(X), np.rint(queries)
    if kind == "duplicates":
        rows = X[rng.integers(0, 1 + n // 5, n)]
        return rows, rows[rng.integers(0, n, m)]
    if kind == "narrow":  # distances differ by less than single precision tells apart
        return 0.3 + 1e-9 * X, queries
    if kind == "constant":
        return np.full((n, d), 0.3), queries
    if kind == "outlier":
        return np.vstack([np.ones((1, d)), 1e-12 * X[1:]]), 1e-12 * queries
    return (1e25 * X, queries) if kind == "huge" else (X, queries)


def of_all(X: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Search over all rows."""
    how = {"metric": "seuclidean", "metric_params": {"V": np.ones(X.shape[1])}, "algorithm": "brute"}
    with threadpool_limits(1):
        return NearestNeighbors(n_neighbors=k, **how).fit(X).kneighbors(queries, return_distance=False)


@given(
    st.sampled_from(KINDS),
    st.integers(1, 600),
    st.sampled_from([1, 2, 30, 1025]),
    st.integers(1, 40),
    st.sampled_from([1, 2, 5, 20]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_rows_and_order_of_the_search_over_all(kind, n, m, d, k, heaps, seed):
    X, queries = drawn(kind, n, m, d, np.random.default_rng(seed))
    k = min(k, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "_AT_ONCE", 1 << 12)
        if heaps:
            patch.setattr(neighbors, "_AS_LONG", 0)
        assert np.array_equal(NearestRows(X, k).kneighbors(queries), of_all(X, queries, k))


@given(st.sampled_from(KINDS[:-1]), st.integers(1, 200), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_errors_of_the_product_are_within_their_bound(kind, n, d, seed):
    X, queries = drawn(kind, n, 20, d, np.random.default_rng(seed))
    near = NearestRows(X, 1)
    centered = queries - near._center
    numbers = near._halves @ np.column_stack([-centered, np.ones(20)]).astype(np.float32).T
    exact = ((queries.astype(np.longdouble) - X.astype(np.longdouble)[:, None]) ** 2).sum(axis=2)
    exact -= ((queries - near._center.astype(np.longdouble)) ** 2).sum(axis=1)
    assert (np.abs(numbers - exact / 2) <= near._bounds(centered)).all()


@pytest.mark.parametrize("estimator", [KNNMean, LabelLDPKNN])
@pytest.mark.parametrize("kind", ["continuous", "grid", "duplicates"])
def test_predictions_are_means_over_these_rows(estimator, kind):
    X, queries = drawn(kind, 500, 40, 24, np.random.default_rng(1))
    model = estimator(k=7, y_range=(0.0, 1.0), random_state=0).fit(X, X[:, 0])
    expected = model.reports_[of_all(X, queries, 7)].mean(axis=1)
    assert np.array_equal(model.predict(queries), np.clip(expected, 0.0, 1.0))
