"""The rough families: known truth, Hölder exponent, margin and moment, as the label-DP theorems assume them."""

import numpy as np
import pytest

from lpbench.datasets import describe, make_problem
from lpbench.datasets.label_dp import SCALES, TAIL_MARGIN, _pareto, design, rough_wave


def waves(count: int, beta: float, places: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(11)
    return np.array([rough_wave(places, rng.random((1, SCALES)), beta) for _ in range(count)])


@pytest.mark.parametrize(("beta", "factor"), [(0.25, 1.1), (0.5, 1.15), (0.75, 1.4)])
def test_the_bias_of_a_cube_is_of_order_h_to_the_beta_at_every_scale(beta, factor):
    places = design(2**14, 1)
    found = waves(60, beta, places)
    ratio = []
    for bins in (4, 9, 23, 64, 150):
        cell = (places[:, 0] * bins).astype(int)
        means = np.array([np.bincount(cell, w) / np.bincount(cell) for w in found])
        ratio.append(np.sqrt(np.mean((found - means[:, cell]) ** 2)) * bins**beta)
    # The coarsest cubes see fewer waves than the limit; the nearer beta is to 1, the more they miss.
    assert max(ratio) / min(ratio) < factor


def test_a_symmetric_neighborhood_has_a_bias_of_that_order_too():
    places = design(2**14, 1)
    found = waves(60, 0.5, places)
    ratio = []
    for width in (2**11, 2**9, 2**7, 2**5):
        total = np.cumsum(np.pad(found, ((0, 0), (1, 0))), axis=1)
        means = (total[:, width:] - total[:, :-width]) / width
        centers = found[:, width // 2 : width // 2 + means.shape[1]]
        ratio.append(np.sqrt(np.mean((centers - means) ** 2)) * (2**14 / width) ** 0.5)
    assert max(ratio) / min(ratio) < 1.25


def test_waves_stay_in_the_unit_interval_and_are_hoelder_continuous():
    places = design(2**12, 1)
    for beta in (0.3, 0.5, 1.0):
        found = waves(20, beta, places)
        assert np.abs(found).max() <= 1
        if beta < 1:
            for gap in (1, 16, 256):
                steps = np.abs(found[:, gap:] - found[:, :-gap]).max()
                # |tri(s) - tri(t)| <= min(2, 4 |s - t|), summed over the scales.
                assert steps <= 8 / (1 - 2.0 ** (beta - 1)) * (gap / 2**12) ** beta


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_design_is_spread_evenly(d):
    points = design(4096, d)
    assert points.shape == (4096, d) and points.min() >= 0 and points.max() < 1
    np.testing.assert_allclose(points.mean(axis=0), 0.5, atol=2e-3)
    np.testing.assert_allclose((points**2).mean(axis=0), 1 / 3, atol=2e-3)
    counts = np.bincount((points * 4).astype(int) @ 4 ** np.arange(d), minlength=4**d)
    assert counts.min() > 0.7 * 4096 / 4**d


@pytest.mark.parametrize("moment", [None, 2, 4])
def test_labels_have_the_stated_mean(moment):
    """z-scores of the mean label in 16 cubes; |z| < 6 fails by chance with probability < 16 * 2e-9 (bounded labels).

    The heavy tail of moment 2 has no fourth moment and converges slowly: twice the distance.
    """
    problem = make_problem("rough_regression", {"n": 200_000, "moment": moment, "n_test": 4096}, seed=1)
    cell, test_cell = (np.minimum((X[:, 0] * 16).astype(int), 15) for X in (problem.X_train, problem.X_test))
    eta = np.bincount(test_cell, problem.eta_test) / np.bincount(test_cell)
    y = problem.y_train
    counts = np.bincount(cell)
    mean = np.bincount(cell, y) / counts
    spread = np.sqrt((np.bincount(cell, y**2) / counts - mean**2) / counts)
    tolerance = 6 if moment != 2 else 12
    assert (np.abs(mean - eta) < tolerance * spread + 1e-3).all()
    if moment is None:
        assert set(np.unique(y)) == {-1.0, 1.0} and problem.y_range == (-1.0, 1.0)
    else:
        assert problem.y_range is None


@pytest.mark.parametrize("moment", [2.0, 4.0, 16.0])
def test_the_noise_is_a_centered_pareto_variable_with_the_stated_moment(moment):
    tail = moment + TAIL_MARGIN
    u = np.linspace(0, 0.999999, 1001)
    least = (1 - moment / tail) ** (1 / moment)
    mean = least * tail / (tail - 1)
    value = _pareto(u, moment) + mean
    # The distribution function of a Pareto law, whose p-th moment is tail least^p / (tail - p).
    np.testing.assert_allclose(1 - (least / value) ** tail, u, atol=1e-9)
    assert tail * least**moment / (tail - moment) == pytest.approx(1.0)
    # |V - E V| <= V everywhere, so the p-th norm of the noise is at most 1.
    assert (np.abs(value - mean) <= value + 1e-12).all()


@pytest.mark.parametrize("margin", [1.0, 2.0])
def test_the_margin_exponent_is_attained(margin):
    gaps = []
    for replication in range(40):
        eta = make_problem("rough_classes", {"n": 10, "margin": margin}, replication=replication, seed=2).eta_test
        gaps.append(np.abs(eta[:, 1] - eta[:, 0]))
    t = np.array([0.02, 0.04, 0.08, 0.16]) ** (1 / margin)
    share = np.array([(np.array(gaps) < level).mean() for level in t])
    slope = np.polyfit(np.log(t), np.log(share), 1)[0]
    assert slope == pytest.approx(margin, rel=0.15)


def test_the_gap_does_not_depend_on_the_number_of_classes():
    gaps = []
    for K in (2, 5, 64):
        problem = make_problem("rough_classes", {"n": 50, "classes": K, "pair_mass": 0.8}, seed=3)
        np.testing.assert_allclose(problem.eta_test.sum(axis=1), 1.0)
        assert (problem.eta_test >= 0).all()
        ordered = np.sort(problem.eta_test, axis=1)
        gaps.append(ordered[:, -1] - ordered[:, -2])
        np.testing.assert_array_equal(problem.classes, np.arange(K))
    np.testing.assert_allclose(gaps[0], gaps[1], atol=1e-12)
    np.testing.assert_allclose(gaps[0], gaps[2], atol=1e-12)


def test_classes_are_drawn_with_the_stated_probabilities():
    """Counts of 6 classes in 8 cubes: 48 z-scores, |z| < 6 fails by chance with probability < 1e-7."""
    problem = make_problem("rough_classes", {"n": 200_000, "classes": 6, "pair_mass": 0.7, "n_test": 4096}, seed=4)
    cell, test_cell = ((X[:, 0] * 8).astype(int) for X in (problem.X_train, problem.X_test))
    for k in range(8):
        expected = problem.eta_test[test_cell == k].mean(axis=0)
        rows = problem.y_train[cell == k]
        share = np.bincount(rows, minlength=6) / rows.size
        assert (np.abs(share - expected) < 6 * np.sqrt(expected * (1 - expected) / rows.size) + 1e-3).all()


def test_the_excess_risk_of_the_truth_is_zero():
    regression = make_problem("rough_regression", {"n": 10}, seed=1)
    assert regression.metric == "excess_risk" and regression.score(regression.eta_test) == 0
    classes = make_problem("rough_classes", {"n": 10, "classes": 4, "pair_mass": 0.8}, seed=1)
    assert classes.score(classes.y_test) == 0 and classes.score(np.zeros_like(classes.y_test)) > 0


def test_facts_are_known_without_drawing():
    info = describe("rough_classes", {"n": 77, "d": 3})
    assert (info.n_train, info.n_features, info.metric, info.task) == (77, 3, "excess_risk", "classification")
