"""The table of numbers by hand: three classes, causes on the same replications, what permuted columns meet."""

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.numbers import (
    DIFFERENT,
    NEAR,
    SAME,
    Sample,
    cause_of,
    counts,
    distance_of,
    in_words,
    judged_numbers,
    met_by_chance,
    met_class,
)


def sample(*values, first=0, base=None):
    values = np.array(values, dtype=float)
    return Sample(np.arange(first, first + len(values)), values, None if base is None else np.array(base, dtype=float))


def test_a_number_is_the_same_within_the_tolerance_or_different():
    """Nine numbers, print 2: three distances (0.1, 0.25, 0.5) by three standard errors, tolerance 15 %."""
    ours, se = np.meshgrid([2.1, 2.25, 2.5], [0.01, 0.1, 0.2], indexing="ij")
    found = met_class(ours.ravel(), np.full(9, 2.0), se.ravel(), 0.15, True).reshape(3, 3)
    # two standard errors of the difference of two numbers as precise as ours: 0.028, 0.283, 0.566
    assert found.tolist() == [[NEAR, SAME, SAME], [NEAR, SAME, SAME], [DIFFERENT, DIFFERENT, SAME]]
    assert met_class(np.array([2.5, np.nan]), np.full(2, 2.0), np.zeros(2), np.nan, True).tolist() == ["", ""]
    assert distance_of(2.5, 2.0, True) == 0.25 and distance_of(2.5, 2.0, False) == 0.5


def test_a_ratio_is_that_of_the_means_with_its_paired_error():
    one = sample(2.0, 4.0, 6.0, base=[1.0, 2.0, 3.0])
    assert one.mean() == 2.0 and one.se == pytest.approx(0.0) and one.mean(np.array([0, 1])) == 2.0
    assert sample(1.0, 3.0).se == 1.0 and np.isnan(sample(1.0).se)


def test_a_cause_is_found_on_the_replications_of_the_miss():
    """Print 1; judged 2 in the first two replications and 1 in the last two."""
    judged = sample(2.0, 2.0, 1.0, 1.0)
    assert cause_of(1.0, judged, [(name, sample(1.0, 1.0)) for name in ("text", "code")], 0.15, True) == "text"
    # on the last two the judged one is no miss; without a shared replication nothing is known; a miss explains nothing
    for other in (sample(1.0, 1.0, first=2), sample(1.0, 1.0, first=9), sample(3.0, 3.0)):
        assert cause_of(1.0, judged, [("x", other)], 0.15, True) is None


def test_the_configuration_that_is_judged_is_no_cause_on_fewer_replications():
    """Missed on four replications, met by the same scores on the first two."""
    judged = sample(1.0, 1.0, 3.0, 3.0)
    assert cause_of(1.0, judged, [("itself", sample(1.0, 1.0))], 0.15, True) is None


def test_chance_is_what_the_same_changes_meet_on_the_wrong_data_sets():
    """Nine data sets: each number misses by a factor of its own, which the interpretation mends."""
    published = np.ones(9)
    judged = np.array([2.0, 4.0, 8.0] * 3)
    chance = met_by_chance(published, judged, np.ones(9), 0.15, True)
    # one of three changes is the right one
    np.testing.assert_allclose(chance, 1 / 3, atol=0.06)
    assert met_by_chance(published, judged, judged, 0.15, True).tolist() == [0.0] * 9
    # the changes of one column are the same: the wrong data set is as good
    assert met_by_chance(published[:3], np.full(3, 2.0), np.ones(3), 0.15, True).tolist() == [1.0] * 3


def test_numbers_are_counted_once_under_what_judges_them():
    rows = pd.DataFrame(
        {
            "judges": [True] * 6 + [False],
            "met": [SAME, NEAR, DIFFERENT, DIFFERENT, DIFFERENT, "", SAME],
            "standing": ["", "", "impossible in print", "met by code", "met by what was found afterwards", "", ""],
            "chance": [np.nan] * 4 + [0.6] + [np.nan] * 2,
        }
    )
    found = counts(judged_numbers(rows))
    assert found == {"compared": 5, "met": 2, "same": 1, "impossible": 1, "explained": 1, "found": 1,
                     "unexplained": 0, "chance": 1}  # fmt: skip
    assert in_words(judged_numbers(rows)) == (
        "5 printed numbers compared: 2 met (1 of them the same within noise), 2 missed with a reason (1 impossible in "
        "print), 1 unexplained; a search after the fact reproduces 1 of them, chance alone 1"
    )
