"""With an infinite budget every method is its non-private counterpart, HistOfTree eq. (3) and its kin."""

import math

import numpy as np
import pytest
from sklearn.base import clone

from lpbench import estimators as models
from lpbench.partitions import grid_digits

RNG = np.random.default_rng(6)
N = 3000
X, QUERIES = RNG.random((N, 2)), RNG.random((300, 2))
Y = np.clip(X[:, 0] - X[:, 1] + 0.2 * RNG.standard_normal(N), -1.0, 1.0)
CODES = (Y > 0.1).astype(int) + (Y > 0.5)
CELLS, AT = (grid_digits(points, 3) @ [3, 1] for points in (X, QUERIES))
MEANS = np.bincount(CELLS, Y) / np.bincount(CELLS)


@pytest.mark.parametrize(
    "model",
    [
        models.LabelCDPMean(bins=3),
        models.CDPMean(bins=3, density=0.5),
        models.LDPMean(bins=3, density=0.5),
        models.CubeMean(bins=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_means_of_cubes(model):
    model = clone(model).set_params(y_range=(-1.0, 1.0), random_state=0)
    if model.uses_epsilon:
        model.set_params(epsilon=math.inf)
    np.testing.assert_allclose(model.fit(X, Y).predict(QUERIES), MEANS[AT], atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        models.LabelLDPVote(bins=3),
        models.LabelLDPVote(bins=3, mechanism="krr"),
        models.LabelCDPVote(bins=3),
        models.CDPVote(bins=3),
        models.CDPVote(bins=3, constants="tight"),
        models.CubeVote(bins=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_votes_of_cubes(model):
    model = clone(model).set_params(random_state=0)
    if model.uses_epsilon:
        model.set_params(epsilon=math.inf)
    votes = np.zeros((9, 3))
    np.add.at(votes, (CELLS, CODES), 1)
    np.testing.assert_array_equal(model.fit(X, CODES).predict(QUERIES), votes.argmax(axis=1)[AT])


def test_votes_of_cubes_of_two_classes():
    share = np.bincount(CELLS, CODES > 0) / np.bincount(CELLS)
    model = models.LDPVote(math.inf, bins=3, random_state=0).fit(X, (CODES > 0).astype(int))
    np.testing.assert_array_equal(model.predict(QUERIES), (share > 0.5)[AT])


def test_nearest_neighbors():
    options = {"k": 7, "y_range": (-1.0, 1.0), "random_state": 0}
    private, plain = models.LabelLDPKNN(math.inf, **options).fit(X, Y), models.KNNMean(**options).fit(X, Y)
    distances = ((QUERIES[:, None] - X) ** 2).sum(axis=2)
    expected = Y[np.argsort(distances, axis=1)[:, :7]].mean(axis=1)
    for model in (private, plain):
        np.testing.assert_allclose(model.predict(QUERIES), expected, atol=1e-9)
