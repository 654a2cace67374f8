"""The table of numbers by hand: three classes, causes on the same replications, what permuted columns meet."""

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.alternatives import BUDGET, CANNOT_TELL, DIFFERENT, EQUIVALENT, METHOD, NOT_COMPARABLE
from lpbench.analysis.numbers import (
    AFTER_THE_FACT,
    NO_CAUSE,
    NOTHING,
    Sample,
    cause_of,
    causes_in_words,
    counts,
    distance_of,
    distinct_fits,
    in_words,
    judged_numbers,
    met_by_chance,
)


def sample(*values, first=0, base=None):
    values = np.array(values, dtype=float)
    return Sample(np.arange(first, first + len(values)), values, None if base is None else np.array(base, dtype=float))


def test_distances_are_in_the_unit_or_relative_to_the_print():
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
    chance = met_by_chance(published, [(judged, np.ones(9))], 0.15, True)
    # one of three changes is the right one
    np.testing.assert_allclose(chance, 1 / 3, atol=0.06)
    assert met_by_chance(published, [(judged, judged)], 0.15, True).tolist() == [0.0] * 9
    # the changes of one column are the same: the wrong data set is as good
    assert met_by_chance(published[:3], [(np.full(3, 2.0), np.ones(3))], 0.15, True).tolist() == [1.0] * 3


def test_chance_is_that_of_any_interpretation():
    """Two interpretations that mend different misses meet the union; the same one twice, or none, adds nothing."""
    published, judged = np.ones(9), np.array([2.0, 4.0, 8.0] * 3)
    halves = judged / 2, judged / 4
    one, other = (met_by_chance(published, [(judged, ours)], 0.15, True) for ours in halves)
    both = met_by_chance(published, [(judged, ours) for ours in halves], 0.15, True)
    np.testing.assert_allclose(both, one + other)
    nothing = (judged, np.full(9, np.nan))
    again = met_by_chance(published, [(judged, np.ones(9)), (judged, np.ones(9)), nothing], 0.15, True)
    np.testing.assert_array_equal(again, met_by_chance(published, [(judged, np.ones(9))], 0.15, True))


CLASSES = [EQUIVALENT, EQUIVALENT, EQUIVALENT, CANNOT_TELL, NOT_COMPARABLE, *[DIFFERENT] * 4, "", EQUIVALENT]
ROWS = pd.DataFrame(
    {
        "judges": [True] * 10 + [False],
        "class": CLASSES,
        "identifies": [BUDGET, METHOD, *[NOTHING] * 8, ""],
        "cause": [*[""] * 4, "our target is a guess", "met by code", AFTER_THE_FACT, "suspected", NO_CAUSE, "", ""],
        "chance": [np.nan] * 6 + [0.6] + [np.nan] * 4,
    }
)


def test_classes_are_disjoint_and_add_up():
    n = counts(judged_numbers(ROWS))
    assert n == {
        "compared": 9, "beside": 9, "equivalent": 3, "method": 2, "budget": 1, "alike": 1, "undecided": 1,
        "different": 4, "apart": 1, "explained": 1, "after": 1, "suspected": 1, "open": 1, "chance": 1,
    }  # fmt: skip
    assert n["method"] + n["alike"] + n["undecided"] + n["different"] + n["apart"] == n["compared"]
    assert n["explained"] + n["after"] + n["suspected"] + n["open"] == n["different"]


def test_the_headline_counts_once_what_is_judged():
    assert in_words(judged_numbers(ROWS)) == (
        "2 of 9 printed numbers identify their method, and 1 of these identify the budget, too. 1 more are equivalent, "
        "but not alone: a constant or another method may be equivalent, too. 4 are different. 1 are undecided. 1 "
        "cannot be compared"
    )
    # where no alternative was run nothing is said of what a number identifies
    alone = in_words(judged_numbers(ROWS.assign(identifies="")))
    assert alone.startswith("3 of 9 printed numbers are equivalent to ours. 4 are different")
    assert causes_in_words(judged_numbers(ROWS)) == (
        "Of the 4 that differ, another interpretation of the paper reproduces 1, and settings found later by "
        "search reproduce 1 (1 expected by chance). A cause is suspected for 1, and no cause is known for 1"
    )


def test_a_fit_behind_several_prints_is_one():
    cells = ["a|hist|aligned|1||", "a|hist|personalized|1||", "a|krr|aligned|1||", "a|hist|aligned|2||"]
    rows = pd.DataFrame({"cell": cells, "x": np.nan, "ours": [1.0, 1.0, 1.0, 2.0], "se": 0.1})
    assert distinct_fits(rows)["cell"].tolist() == [cells[0], *cells[2:]]
