import math
import pickle

import numpy as np
import pytest
from scipy.stats import binned_statistic_dd, ks_2samp

from lpbench.estimators import PHIST, Hist
from lpbench.estimators.baselines import grid_sums
from lpbench.estimators.baselines.grid_sums import NamedCells, NoisyGrid
from lpbench.estimators.baselines.hist import GRID_CELL, GridCellQuestion
from lpbench.partitions import GridCells
from lpbench.privacy import Laplace, Records
from lpbench.privacy.users import Simulation
from lpbench.seeds import Streams
from tests.estimators.contents import arrays

RNG = np.random.default_rng(2)
X = RNG.random((300, 2))
Y = np.clip(X[:, 0] + 0.2 * RNG.standard_normal(300), -1.0, 2.0)
TEST = RNG.random((80, 2))
Y_RANGE = (-1.0, 2.0)


def hist(epsilon=2.0, **params):
    return Hist(epsilon=epsilon, y_range=Y_RANGE, random_state=5, **params).fit(X, Y)


def test_without_noise_cells_predict_their_mean_or_the_midpoint():
    threshold = 0.06
    edges = [np.linspace(0, 1, 5)] * 2
    means = binned_statistic_dd(X, Y, "mean", bins=edges).statistic
    counts = binned_statistic_dd(X, Y, "count", bins=edges).statistic
    cell = tuple((TEST * 4).astype(int).T)
    expected = np.where(counts >= threshold * 300, means, 0.5)[cell]
    assert (expected == 0.5).any() and (expected != 0.5).any()
    np.testing.assert_allclose(hist(math.inf, bins=4, threshold=threshold).predict(TEST), expected)


@pytest.mark.parametrize("noise", ["laplace", "discrete"])
def test_queries_may_come_in_any_order_and_number(noise):
    model = hist(bins=4, threshold=0.0, noise=noise)
    whole = model.predict(TEST)
    np.testing.assert_array_equal(model.predict(TEST[::-1])[::-1], whole)
    np.testing.assert_array_equal(np.concatenate([model.predict(row[None]) for row in TEST]), whole)


def test_summed_noise_has_the_law_of_the_sum_over_users():
    """Two-sample Kolmogorov-Smirnov test at level 1e-6, and the variance 2 n of a sum of n unit Laplace draws."""
    n = 5
    simulate, cells = Simulation(Records(RNG.random((n, 2)), np.zeros(n)), Streams(1)), GridCells(100, 2)
    asked = [
        (GridCellQuestion(cells, mechanism), GridCellQuestion(cells, mechanism, (-1.0, 1.0)))
        for mechanism in (Laplace(1.0), Laplace(0.0))
    ]
    noisy, true = simulate(GRID_CELL, NamedCells(asked, cells.centers()))
    noise = noisy - true
    per_user = np.random.default_rng(3).laplace(size=(n, 20000)).sum(axis=0)
    assert ks_2samp(noise.ravel(), per_user).pvalue > 1e-6
    # Excess kurtosis 3 / n: the variance of 20000 draws has a relative standard deviation of 0.013.
    assert noise.var() == pytest.approx(2 * n, rel=0.07)
    assert abs(np.corrcoef(noise)[0, 1]) < 6 / np.sqrt(10000)


def test_partitions_have_noise_of_their_own():
    noise = [(hist(bins=t).histogram_.at(TEST) - hist(math.inf, bins=t).histogram_.at(TEST)) for t in (2, 3)]
    assert not np.isclose(*noise).any()


def test_cells_that_are_not_stored_are_those_of_the_table(monkeypatch):
    """A look-up by the users gives the bits of the table, and so does its pickle."""
    table = hist(bins=4).histogram_
    monkeypatch.setattr(grid_sums, "TABLE_CELLS", 15)
    hidden = hist(bins=4).histogram_
    np.testing.assert_array_equal(hidden.at(TEST), table.at(TEST))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(hidden)).at(TEST), table.at(TEST))
    assert table._hidden == [] and isinstance(table, NoisyGrid)
    sizes = [array.shape[-1] for part in hidden._hidden for array in arrays(part)]
    assert sizes and 300 not in sizes, "sums of cells, and nothing of single users"


def test_guarantees_are_exact():
    assert hist(2.0, bins=3).guarantee_.epsilon == 2.0
    assert hist(2.0, bins=1).guarantee_.epsilon == 1.0, "one cell: the one-hot vector is constant"
    assert hist(2.0, bins=3).guarantee_.bits_up == 64 * 2 * 9


def labels(n_classes: int) -> np.ndarray:
    return np.floor(n_classes * np.clip(X[:, 0] + 0.1 * RNG.standard_normal(300), 0, 0.999)).astype(int)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_without_noise_phist_is_the_vote_of_the_cell(n_classes):
    codes = labels(n_classes)
    model = PHIST(epsilon=math.inf, bins=3, random_state=0).fit(X, codes)
    grid = (X * 3).astype(int)
    for row, predicted, probability in zip(TEST, model.predict(TEST), model.predict_proba(TEST), strict=True):
        counts = np.bincount(codes[(grid == (row * 3).astype(int)).all(axis=1)], minlength=n_classes)
        assert predicted == counts.argmax()
        np.testing.assert_allclose(probability, counts / counts.sum())


def test_phist_runs_where_dense_cells_do_not_fit():
    wide = RNG.random((60, 3000))
    model = PHIST(epsilon=1.0, bins=6, random_state=0).fit(wide, np.arange(60) % 2)
    first = model.predict(wide)
    np.testing.assert_array_equal(model.predict(wide[::-1])[::-1], first)
    assert model.guarantee_.epsilon == 1.0 and model.guarantee_.bits_up == math.inf


def test_points_outside_belong_to_the_outermost_bins():
    model = PHIST(epsilon=1.0, bins=3, random_state=0).fit(X, labels(2))
    np.testing.assert_array_equal(model.predict([[-5.0, 0.5], [7.0, 0.5]]), model.predict([[0.0, 0.5], [1.0, 0.5]]))


def test_phist_spends_what_its_votes_reveal():
    assert PHIST(epsilon=1.0, bins=3).fit(X, labels(4)).guarantee_.epsilon == 1.0
    # One cell and two classes: U is constant and V moves in one entry.
    assert PHIST(epsilon=1.0, bins=1).fit(X, labels(2)).guarantee_.epsilon == 0.25
