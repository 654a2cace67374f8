"""What fits share is what each of them would compute alone, and what is kept has an end."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import BayesianRidge

from lpbench.estimators.privatized_labels.learners import SharedBayesianRidge, SharedNystroem
from lpbench.estimators.result_cache import Shared
from lpbench.estimators.tuning_free.public_score import PublicScore


def test_the_same_inputs_are_computed_once_and_what_was_used_longest_ago_goes_first():
    shared, computed = Shared(most=3), []

    def squares(x):
        computed.append(x[0])
        return x**2

    for start in (0, 1, 0, 2, 0, 3, 1):  # three results are kept: 0 is used again and again, 1 has to go
        x = np.arange(10.0) + start
        np.testing.assert_array_equal(shared((x, "squares"), lambda x=x: squares(x)), x**2)
    assert computed == [0, 1, 2, 3, 1]


@pytest.mark.parametrize("rows", [40, 300])
def test_shared_learners_are_those_of_scikit_learn_bit_for_bit(rows):
    rng = np.random.default_rng(0)
    X, new = rng.random((rows, 60)), rng.random((9, 60))
    for scale in (0.1, 10.0):
        y = X[:, 0] + scale * rng.standard_normal(rows)
        ours, theirs = SharedBayesianRidge().fit(X, y), BayesianRidge().fit(X, y)
        for mine, other in zip(ours.predict(new, return_std=True), theirs.predict(new, return_std=True), strict=True):
            np.testing.assert_array_equal(mine, other)
        features = [kind(n_components=20, random_state=1).fit(X) for kind in (SharedNystroem, Nystroem)]
        np.testing.assert_array_equal(*(kind.transform(new) for kind in features))


def test_a_public_score_of_the_same_rows_grows_no_forest_again():
    rng = np.random.default_rng(1)
    X, new = rng.random((80, 3)), rng.random((7, 3))
    codes = (X[:, 0] > 0.5).astype(np.int64)
    first = PublicScore(X, codes, 2, seed=5)
    found = first.predict_proba(new)
    again = PublicScore(X.copy(), codes, 2, seed=5)
    np.testing.assert_array_equal(again.predict_proba(new), found)
    assert (again.broadcast_bits, "_forests" in vars(again)) == (first.broadcast_bits, False)
    assert (PublicScore(X, codes, 2, seed=6).predict_proba(new) != found).any()
