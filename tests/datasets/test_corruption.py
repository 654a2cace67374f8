import numpy as np
import pytest

from lpbench.datasets import make_problem
from lpbench.datasets.corruption import HEAVY, corrupted_labels, corrupted_public
from lpbench.seeds import Streams

Y = np.random.default_rng(1).integers(0, 5, 400).astype(float)


def test_permuted_labels_are_the_same_labels_in_another_order():
    found, bounds = corrupted_labels(Y, (0.0, 4.0), "permuted", Streams(1))
    assert sorted(found) == sorted(Y) and (found != Y).any() and bounds == (0.0, 4.0)


@pytest.mark.parametrize("labels", HEAVY)
def test_heavy_tailed_labels_keep_the_order_and_their_range(labels):
    found, bounds = corrupted_labels(Y, (0.0, 4.0), labels, Streams(1))
    low, high = bounds
    assert low <= found.min() and found.max() <= high
    largest = [found[Y == value].max() for value in range(4)]
    smallest = [found[Y == value].min() for value in range(1, 5)]
    assert (np.array(largest) <= np.array(smallest)).all()


def test_ninety_nine_per_cent_are_zero_and_half_of_cauchy_labels_lie_within_one():
    zeros, cauchy = (corrupted_labels(Y, None, labels, Streams(1))[0] for labels in ("zeros", "cauchy"))
    assert (zeros > 0).sum() == 4 and (np.abs(cauchy) < 1).mean() == 0.5


def public_sample(n=4000):
    rng = np.random.default_rng(2)
    X = rng.random((n, 3))
    return X, (rng.random(n) < 0.2).astype(int)


def test_classes_swap_their_shares_under_label_shift():
    """Within six standard errors of a share."""
    X, y = public_sample()
    _, shifted = corrupted_public(X, y, "label_shift", Streams(1))
    assert shifted.size == y.size and abs(shifted.mean() - (1 - y.mean())) < 6 * 0.5 / np.sqrt(y.size)


def test_labels_are_swapped_above_the_median_under_concept_drift():
    X, y = public_sample()
    same, drifted = corrupted_public(X, y, "concept_drift", Streams(1))
    assert same is X and ((drifted != y) == (X[:, 0] > np.median(X[:, 0]))).all()


def test_a_missing_group_is_missing():
    X, y = public_sample()
    rows, labels = corrupted_public(X, y, "missing_group", Streams(1))
    assert rows.shape == X.shape and labels.shape == y.shape and (rows[:, 0] <= np.median(X[:, 0])).all()


def test_a_problem_differs_in_its_labels_alone():
    plain, heavy = (make_problem("diabetes_progression", {"labels": how}) for how in ("recorded", "cauchy"))
    assert np.array_equal(plain.X_train, heavy.X_train) and np.array_equal(plain.X_test, heavy.X_test)
    assert heavy.y_range == (-100.0, 100.0) and not np.array_equal(plain.y_train, heavy.y_train)


def test_a_problem_differs_in_its_public_sample_alone():
    plain, other = (make_problem("breast_cancer", {"public_sample": how}) for how in ("recorded", "label_shift"))
    assert np.array_equal(plain.X_train, other.X_train) and np.array_equal(plain.y_test, other.y_test)
    assert plain.X_public.shape == other.X_public.shape and not np.array_equal(plain.y_public, other.y_public)
