import numpy as np
import pytest

from lpbench.datasets import eta_p, eta_q, make_problem
from lpbench.datasets.synthetic import TAXI_BLOCKS

SMALL_TAXI = {"n_private": 3000, "n_public": 400, "n_test": 2000}


def arrays(problem):
    names = ("X_train", "y_train", "X_test", "y_test", "X_public", "y_public", "eta_test")
    return {k: getattr(problem, k) for k in names if getattr(problem, k) is not None}


@pytest.mark.parametrize(
    ("name", "small", "large"),
    [
        ("sine_sum", {"n": 50}, {"n": 400}),
        ("posterior_drift", {"n_private": 50, "n_public": 20}, {"n_private": 400, "n_public": 100}),
        ("range_known", {"n_private": 50, "n_public": 20}, {"n_private": 400, "n_public": 100}),
        ("range_unknown", {"n_private": 50, "n_public": 20}, {"n_private": 400, "n_public": 100}),
        ("sine_wave", {"n_private": 50, "n_public": 20}, {"n_private": 400, "n_public": 100}),
        ("synthetic_taxi", SMALL_TAXI, {"n_private": 5000, "n_public": 900, "n_test": 2000}),
        ("rough_regression", {"n": 64}, {"n": 500}),
        ("rough_classes", {"n": 64}, {"n": 500}),
    ],
)
def test_samples_are_nested_and_test_rows_are_fixed(name, small, large):
    few, many = (arrays(make_problem(name, params, replication=2, seed=5)) for params in (small, large))
    for key in few:
        np.testing.assert_array_equal(few[key], many[key][: len(few[key])])
        if key in ("X_test", "y_test", "eta_test"):
            assert few[key].shape == many[key].shape


@pytest.mark.parametrize("name", ["sine_sum", "posterior_drift"])
def test_replications_and_seeds_differ_and_repeat(name):
    base = make_problem(name, replication=1, seed=1)
    np.testing.assert_array_equal(base.X_train, make_problem(name, replication=1, seed=1).X_train)
    assert not np.isin(base.X_train, make_problem(name, replication=2, seed=1).X_train).any()
    assert not np.isin(base.X_train, make_problem(name, replication=1, seed=2).X_train).any()
    assert not np.isin(base.X_train, base.X_test).any()


@pytest.mark.parametrize(
    ("name", "params", "eta"),
    [
        ("sine_sum", {"n": 20000}, lambda X: np.sin(X[:, 0]) + np.sin(X[:, 1]) + np.sin(X[:, 4])),
        ("sine_wave", {"n_private": 20000, "n_public": 20000}, lambda X: np.sin(16 * X[:, 0])),
    ],
)
def test_laws_of_the_sines(name, params, eta):
    problem = make_problem(name, params, seed=3)
    np.testing.assert_allclose(problem.eta_test, eta(problem.X_test), rtol=1e-12)
    samples = [(problem.X_train, problem.y_train), (problem.X_public, problem.y_public)]
    for X, y in samples[: 1 + (problem.X_public is not None)]:
        noise = y - eta(X)
        # Mean and variance of 20000 standard normals: six standard errors, two-sided 2e-9 each.
        assert abs(noise.mean()) < 6 / np.sqrt(20000)
        assert abs(noise.var() - 1) < 6 * np.sqrt(2 / 20000)
        assert X.min() >= 0 and X.max() <= 1
    assert problem.y_range == (problem.y_train.min(), problem.y_train.max())


def test_noise_scale():
    quiet = make_problem("sine_sum", {"n": 100, "noise": 0.0})
    np.testing.assert_allclose(quiet.y_test, quiet.eta_test)


def test_eta_by_hand():
    """At (1, 1/2): g = (5/2) * |2 * 1/2 / 10| * 1 = 1/4, both signs positive."""
    x = np.array([[1.0, 0.5], [0.0, 0.5], [1 / 3, 0.7], [0.5, 0.0]])
    signal = 0.25**0.1
    left = (2.5 * 1 * 0.5 / 10) ** 0.1  # at (0, 1/2) the product is -1/2 and one sign is negative
    np.testing.assert_allclose(eta_p(x), [0.5 + 0.4 * signal, 0.5 - 0.4 * left, 0.5, 0.5], rtol=1e-12)
    np.testing.assert_allclose(eta_q(x, 2.0), [0.5 + 0.4 * signal**2, 0.5 - 0.4 * left**2, 0.5, 0.5], rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 5.0])
def test_the_link_of_the_paper(gamma):
    """eta_Q - 1/2 = (2/5) ((5/2)(eta_P - 1/2))^gamma with the sign kept, and both lie in [1/10, 9/10]."""
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101)), axis=-1)
    p, q = eta_p(grid), eta_q(grid, gamma)
    centered = 2.5 * (p - 0.5)
    np.testing.assert_allclose(q - 0.5, 0.4 * np.sign(centered) * np.abs(centered) ** gamma, atol=1e-12)
    for eta in (p, q):
        assert eta.min() >= 0.1 - 1e-12 and eta.max() <= 0.9 + 1e-12
    assert ((p - 0.5) * (q - 0.5) >= 0).all()
    if gamma == 1.0:
        np.testing.assert_allclose(p, q)


def test_posterior_drift_labels_follow_their_laws():
    problem = make_problem("posterior_drift", {"n_private": 40000, "n_public": 40000, "gamma": 5.0}, seed=2)
    for X, y, eta in [
        (problem.X_train, problem.y_train, eta_p(problem.X_train)),
        (problem.X_public, problem.y_public, eta_q(problem.X_public, 5.0)),
    ]:
        # Six standard errors of a sum of 40000 independent bits, two-sided 2e-9 each.
        error = (y - eta).sum() / np.sqrt((eta * (1 - eta)).sum())
        above = eta > 0.5
        assert abs(error) < 6
        assert abs((y - eta)[above].sum()) < 6 * np.sqrt((eta * (1 - eta))[above].sum())
        assert X.shape == (40000, 2)
    np.testing.assert_allclose(problem.eta_test[:, 1], eta_p(problem.X_test))
    np.testing.assert_allclose(problem.eta_test.sum(axis=1), 1)
    assert problem.metric == "accuracy"
    # The best accuracy of the paper's simulation is about 0.786.
    best = problem.score(problem.eta_test.argmax(axis=1))
    assert abs(best - 0.786) < 6 * np.sqrt(0.25 / 2000)


def test_gamma_changes_nothing_but_public_labels():
    one, two = (make_problem("posterior_drift", {"gamma": gamma}, seed=2) for gamma in (0.5, 5.0))
    for key, value in arrays(one).items():
        if key != "y_public":
            np.testing.assert_array_equal(value, arrays(two)[key])


def test_the_three_range_cases_share_their_samples():
    known, estimated, unknown = (make_problem(f"range_{k}", replication=4) for k in ("known", "estimated", "unknown"))
    scale = known.context["scale"]
    assert 1 <= scale <= 5
    assert estimated.context["scale"] == unknown.context["scale"] == scale
    np.testing.assert_array_equal(known.y_train, unknown.y_train)
    np.testing.assert_allclose(unknown.X_train, known.X_train * scale)
    low, high = known.X_public.min(axis=0), known.X_public.max(axis=0)
    np.testing.assert_allclose(estimated.X_train, (known.X_train - low) / (high - low))
    assert estimated.X_train.min() < 0 < 1 < estimated.X_train.max()
    np.testing.assert_array_equal(known.X_train, make_problem("posterior_drift", replication=4).X_train)


def test_scale_is_uniform_over_replications():
    scales = [make_problem("range_known", {"n_private": 1, "n_public": 1, "n_test": 1}, replication=r).context["scale"]
              for r in range(400)]  # fmt: skip
    # Mean of 400 draws from U[1, 5], standard deviation 4 / sqrt(12): six standard errors.
    assert abs(np.mean(scales) - 3) < 6 * 4 / np.sqrt(12 * 400)


def test_assumed_range_and_raw_features():
    known = make_problem("range_unknown", {"scale": 2.9, "assumed_range": 1.5})
    raw = make_problem("range_unknown", {"scale": 2.9, "assumed_range": None})
    np.testing.assert_allclose(raw.X_train, known.X_train * 1.5)
    assert raw.X_train.max() > 2.8 and raw.context["scale"] == 2.9


def test_synthetic_taxi_has_the_layout_of_the_taxi_data():
    problem = make_problem("synthetic_taxi", SMALL_TAXI)
    start = dict(zip(TAXI_BLOCKS, np.cumsum([0, *TAXI_BLOCKS.values()]), strict=False))
    X = problem.X_train
    assert X.shape == (3000, 93) and X.min() >= 0 and X.max() <= 1
    for block in ("pickup", "day"):
        np.testing.assert_array_equal(X[:, start[block] : start[block] + TAXI_BLOCKS[block]].sum(axis=1), 1)
    np.testing.assert_array_equal(np.argsort(-problem.eta_test, axis=1)[:, 0], problem.eta_test[:, 1] > 0.5)
    assert problem.score(problem.eta_test.argmax(axis=1)) > 0.9
