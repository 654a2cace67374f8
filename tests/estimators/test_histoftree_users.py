import pickle

import numpy as np
import pytest
from sklearn.base import clone

from lpbench.datasets.masks import make_mask
from lpbench.errors import ConfigurationError
from lpbench.estimators import AdHistOfTree, HistOfTree, LPDTRegressor
from lpbench.estimators.histoftree import histoftree, sweep
from lpbench.problem import Problem
from lpbench.seeds import Streams
from tests.estimators.contents import arrays

N, RANGE = 83, (-4.0, 8.0)
MODELS = [
    HistOfTree(2.0, n_grid_features=2, depth=3),
    HistOfTree(2.0, n_grid_features=2, depth=3, rule="cart", bins=3),
    HistOfTree(2.0, n_grid_features=2, depth=3, rule="random", noise="discrete"),
    HistOfTree(2.0, n_grid_features=1, depth=3, mechanism="rr"),
    HistOfTree(2.0, n_grid_features=3, bins=200, depth=1),  # a grid of more cells than are numbered densely
    AdHistOfTree(8.0),
    LPDTRegressor(2.0),
]


def sample(mask="power_law"):
    rng = np.random.default_rng(0)
    X = rng.random((N, 5))
    y = np.clip(np.sin(X[:, 0]) + 2 * X[:, -1] + rng.normal(size=N), *RANGE)
    return X, y, make_mask(mask, N, 5, rng, {"gamma": 1.0} if mask == "power_law" else {})


@pytest.mark.parametrize("model", MODELS[:-1], ids=repr)
def test_what_stands_where_features_are_protected_is_never_read(model, monkeypatch):
    """The curator puts a number there; any other number leads to the same bits, in fits and in sweeps."""
    X, y, mask = sample()
    scenario, found = Problem(X, y, X, y, mask, y_range=RANGE), []
    for constant in (0.0, 0.37, 1.0):
        for module in (histoftree, sweep):
            filled = lambda users, c=constant: np.nan_to_num(users.public_features, nan=c)  # noqa: E731
            monkeypatch.setattr(module, "public_features", filled)
        fitted = clone(model).set_params(y_range=RANGE, random_state=5).fit(X, y, mask=mask)
        swept = fitted.sweep(
            scenario, [0.5, 4.0], {"label_share": [0.5, 0.7], "rule": ["max_edge", "cart"]}, Streams(1)
        )
        found.append(np.concatenate([fitted.predict(X), swept.values.ravel()]))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_fitted_model_keeps_sums_and_no_users(model):
    X, y, mask = sample()
    fitted = clone(model).set_params(y_range=RANGE, random_state=5).fit(X, y, mask=mask)
    restored = pickle.loads(pickle.dumps(fitted))
    points = np.random.default_rng(1).random((40, 5))
    np.testing.assert_array_equal(restored.predict(points), fitted.predict(points))
    by_user = [kept for kept in arrays(restored) if len(kept) == N]
    assert all((np.diff(kept) > 0).all() for kept in by_user), "reported cells in increasing order at most"


def test_bits_of_too_many_cells_are_refused_in_a_fit_and_counted_in_a_sweep():
    X, y, mask = sample()
    model = HistOfTree(2.0, n_grid_features=4, bins=30, mechanism="rr", y_range=RANGE, random_state=5)
    with pytest.raises(ConfigurationError, match="more than the 65536"):
        model.fit(X, y, mask=mask)
    swept = model.sweep(Problem(X, y, X, y, mask, y_range=RANGE), [2.0], {"bins": [3, 30]}, Streams(0))
    assert np.isfinite(swept.values).all()
    assert np.isfinite(model.set_params(epsilon=np.inf).fit(X, y, mask=mask).predict(X)).all(), "no noise, no bits"
