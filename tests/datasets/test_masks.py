"""Masks: exact counts from the papers' formulas, random order of users, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbench.datasets import make_mask, make_problem
from lpbench.datasets.masks import default_n_protected
from lpbench.errors import ConfigurationError, DataError
from lpbench.seeds import Streams


def draw(name, n, d, seed=1, **params):
    return make_mask(name, n, d, Streams(seed).generator("mask"), params)


@pytest.mark.parametrize(("d", "expected"), [(1, 1), (2, 1), (5, 1), (8, 2), (27, 2), (68, 3), (107, 3), (3000, 5)])
def test_number_of_sensitive_features(d, expected):
    assert default_n_protected(d) == expected  # ceil(ln sqrt d)


def test_aligned():
    np.testing.assert_array_equal(draw("aligned", 3, 8), [[1, 1, 0, 0, 0, 0, 0, 0]] * 3)
    np.testing.assert_array_equal(draw("aligned", 2, 4, n_protected=3), [[1, 1, 1, 0]] * 2)
    assert not draw("aligned", 2, 4, n_protected=0).any()


def test_personalized_counts_as_printed():
    """W_i^l = 1 iff i <= n / 10^floor(l / s*), l = 1..d."""
    mask = draw("personalized", 1000, 7, n_protected=2)
    np.testing.assert_array_equal(mask.sum(axis=0), [1000, 100, 100, 10, 10, 1, 1])
    shifted = draw("personalized", 1000, 7, n_protected=2, personalized_index=0)
    np.testing.assert_array_equal(shifted.sum(axis=0), [1000, 1000, 100, 100, 10, 10, 1])
    assert (draw("personalized", 1000, 5).sum(axis=0) == [100, 10, 1, 0, 0]).all()  # s* = 1


@pytest.mark.parametrize("gamma", [0.25, 1.0, 4.0])
def test_power_law_counts(gamma):
    mask = draw("power_law", 10000, 5, gamma=gamma)
    expected = [np.floor(10000 / level**gamma * (1 + 1e-12)) for level in range(1, 6)]
    np.testing.assert_array_equal(mask.sum(axis=0), expected)


def test_label_only_and_all_private():
    assert not draw("label_only", 4, 3).any()
    assert draw("all_private", 4, 3).all()


@given(n=st.integers(1, 60), d=st.integers(1, 8), name=st.sampled_from(["personalized", "power_law", "aligned"]))
def test_protection_is_nested_over_features(n, d, name):
    """A user who protects a feature protects every more sensitive one."""
    mask = draw(name, n, d)
    assert mask.shape == (n, d) and mask.dtype == bool
    assert (mask[:, :-1] >= mask[:, 1:]).all()


def test_users_come_in_random_order_from_the_stream():
    first, again, other = (draw("power_law", 500, 4, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    # Position carries no information: among 50 draws, the chance that user 0 protects feature 2 in none or all
    # is 2 * 2^-50.
    flags = [draw("power_law", 10, 2, seed=s)[0, 1] for s in range(50)]
    assert 0 < sum(flags) < 50


@pytest.mark.parametrize(
    ("name", "params", "reason"),
    [
        ("alined", {}, "aligned"),
        ("aligned", {"n_protecte": 1}, "n_protected"),
        ("aligned", {"n_protected": 6}, "n_protected=6 must be a whole number from 0 to 5"),
        ("aligned", {"n_protected": True}, "whole number"),
        ("power_law", {"gamma": -1.0}, "gamma=-1.0 must be >= 0"),
        ("personalized", {"personalized_index": 2}, "must be 0 or 1"),
        ("label_only", {"gamma": 1}, "gamma"),
    ],
)
def test_impossible_requests(name, params, reason):
    with pytest.raises(ConfigurationError, match=reason):
        draw(name, 10, 5, **params)


class TestFile:
    def problem(self, path, **params):
        return make_problem("diabetes_progression", params, "file", {"path": str(path)}, replication=3, seed=4)

    def test_rows_of_the_data_set_follow_split_and_order(self, tmp_path):
        """A mask that marks one person's age protects age in that person's training row and nothing else."""
        plain = make_problem("diabetes_progression", {}, replication=3, seed=4)
        person = plain.context["rows"][7]
        whole = np.zeros((442, 10), dtype=int)
        whole[person, 0] = 1  # age comes first in the file
        np.savetxt(tmp_path / "mask.csv", whole, delimiter=",", fmt="%d")
        mask = self.problem(tmp_path / "mask.csv").mask
        assert mask.sum() == 1
        assert mask[7, plain.context["columns"].index("age")]

    def test_rows_of_the_training_sample_are_taken_as_they_are(self, tmp_path):
        mask = np.arange(309 * 10).reshape(309, 10) % 3 == 0
        np.save(tmp_path / "mask.npy", mask)
        np.testing.assert_array_equal(self.problem(tmp_path / "mask.npy").mask, mask)

    @pytest.mark.parametrize(
        ("content", "name", "reason"),
        [
            ("1,0\n0,1\n", "m.csv", r"has shape \(2, 2\), expected \(309, 10\)"),
            ("1,0\n0,2\n", "m.csv", "other than 0"),
            ("1,a\n", "m.csv", "not a table of 0 and 1"),
            ("1,0\n", "m.txt", "must end in"),
        ],
    )
    def test_wrong_files(self, tmp_path, content, name, reason):
        (tmp_path / name).write_text(content)
        with pytest.raises(DataError, match=reason):
            self.problem(tmp_path / name)

    def test_missing_file_and_missing_path(self, tmp_path):
        with pytest.raises(DataError, match="does not exist"):
            self.problem(tmp_path / "none.csv")
        with pytest.raises(ConfigurationError, match="give `path`"):
            make_problem("sine_sum", {"n": 10}, "file", {"path": None})
