"""Groups of samples that no max-edge tree tells apart: what is done once per group is what would be done per sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbench.partitions import SampleGroups, grow_max_edge


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 7), st.integers(0, 2**32), st.sampled_from([0.0, 0.4]))
def test_a_group_shares_every_node_of_every_tree(n, d, depth, seed, share):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n, d)) / 8  # on and beside the cuts
    mask = rng.random((n, d)) < share
    groups = SampleGroups.for_depth(depth, X, mask)
    member = np.arange(n) if groups.member is None else groups.member
    tree = grow_max_edge(X, rng.normal(size=n), depth, min_samples_leaf=0, groups=SampleGroups.singletons(n))
    leaf = tree.compatible(X, mask)
    assert (leaf == groups.to_samples(groups.one_of_each(leaf))).all()
    assert (mask == groups.to_samples(groups.one_of_each(mask))).all()
    assert (member == groups.to_samples(groups.one_of_each(member))).all()


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("score", ["weighted", "algorithm1"])
def test_growth_from_groups_is_growth_from_samples(share, score):
    rng = np.random.default_rng(0)
    X, y, mask = rng.random((4000, 3)), rng.laplace(size=4000), rng.random((4000, 3)) < share
    groups = SampleGroups.for_depth(7, X, mask)
    assert groups.size < 1000
    first = grow_max_edge(X, y, 7, mask=mask, score=score, groups=SampleGroups.singletons(4000))
    second = grow_max_edge(X, y, 7, mask=mask, score=score, groups=groups)
    assert (first.feature == second.feature).all() and (first.n_samples == second.n_samples).all()
    assert (first.threshold == second.threshold).all()


def test_protected_values_are_not_read():
    rng = np.random.default_rng(0)
    X, mask = rng.random((500, 3)), rng.random((500, 3)) < 0.5
    first, second = SampleGroups.for_depth(4, X, mask), SampleGroups.for_depth(4, np.where(mask, np.nan, X), mask)
    assert (first.member == second.member).all()


@pytest.mark.parametrize("n_keys", [7, 10**6])  # counted, and sorted
def test_groups_by_key(n_keys):
    keys = np.array([5, 0, 5, 3, 0, 5])
    groups = SampleGroups.by_key(keys, n_keys)
    assert groups.member.tolist() == [2, 0, 2, 1, 0, 2]
    assert groups.counts.tolist() == [2, 1, 3]
    assert groups.sums(np.arange(6.0)).tolist() == [5, 3, 7]
    assert groups.one_of_each(keys).tolist() == [0, 3, 5]


def test_samples_that_share_nothing_stay_alone():
    X = np.random.default_rng(0).random((200, 100))
    groups = SampleGroups.for_depth(6, X)
    assert groups.size == 200 and groups.member is None
    assert (groups.one_of_each(X) == X).all() and (groups.counts == 1).all()
