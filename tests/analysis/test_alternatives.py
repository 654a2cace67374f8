"""Classes by hand, and the same ones for whatever stands in place of our run."""

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.alternatives import (
    CANNOT_TELL,
    DIFFERENT,
    EQUIVALENT,
    NOT_COMPARABLE,
    NUMBER_CLASSES,
    ONE_SIDED,
    OURS,
    class_of,
    classes_beside_ours,
    identified,
    wrong_in_place,
)


def test_classes_are_two_one_sided_tests():
    """Print 2, margin 0.3, both errors 0.03: the interval is 1.645 x 0.0424 = 0.0698 on either side."""
    value = np.array([2.0, 2.23, 2.24, 2.3, 2.36, 2.37, 1.63, 1.64, np.nan])
    found = class_of(value, np.full(9, 0.03), np.full(9, 2.0), np.full(9, 0.03), np.full(9, 0.3))
    hand = [EQUIVALENT, EQUIVALENT, CANNOT_TELL, CANNOT_TELL, CANNOT_TELL, DIFFERENT, DIFFERENT, CANNOT_TELL]
    assert found.tolist() == [*hand, NOT_COMPARABLE] and set(found) == set(NUMBER_CLASSES)


def test_what_is_not_known_decides_nothing():
    one = np.ones(1)
    assert class_of(one, np.full(1, np.nan), one, one, one) == [CANNOT_TELL]  # of one replication
    assert class_of(one, one, one, one, np.full(1, np.nan)) == [NOT_COMPARABLE]  # no margin is stated
    assert class_of(one, 0 * one, one, 0 * one, 0 * one) == [EQUIVALENT]


def test_imprecision_never_shows_equivalence():
    """The print 7.22 with ours 27.9 +- 13.9, the same within noise by a test of no difference."""
    assert class_of(np.array([27.9]), np.array([13.9]), np.array([7.22]), np.array([13.9]), np.array([1.08])) == [
        CANNOT_TELL
    ]
    errors = np.linspace(0, 5, 200)
    found = class_of(np.full(200, 1.0), errors, np.full(200, 1.0), errors, np.full(200, 0.15))
    assert found[0] == EQUIVALENT and (found[errors > 0.15 / ONE_SIDED / np.sqrt(2) + 1e-9] == CANNOT_TELL).all()


def test_each_test_errs_in_one_of_twenty():
    """At the margin, where neither class is true."""
    rng, n = np.random.default_rng(0), 40_000
    ours, printed = 1.3 + 0.03 * rng.standard_normal(n), 1.0 + 0.03 * rng.standard_normal(n)
    found = class_of(ours, np.full(n, 0.03), printed, np.full(n, 0.03), np.full(n, 0.3))
    for name in (EQUIVALENT, DIFFERENT):
        assert np.mean(found == name) == pytest.approx(0.05, abs=0.005)


CONSTANT, MUTANT, HALF = "a private constant", "labels in the clear", "half the budget"


def table(**numbers):
    """Numbers with margin 0.1 about print 1, as ``name={alternative: (value, counted)}``; all errors are 0.01."""
    rows = [
        {"number": number, "alternative": name, "counted": counted, "value": value, "se": 0.01}
        for number, beside in numbers.items()
        for name, (value, counted) in beside.items()
    ]
    return pd.DataFrame(rows).assign(published=1.0, margin=0.1, rescale=1.0)


def beside(ours, constant, mutant, half):
    return {
        OURS: (ours, ""), CONSTANT: (constant, "method"), MUTANT: (mutant, "method"), HALF: (half, "budget"),
        "another column": (1.0, ""),
    }  # fmt: skip


ROWS = table(
    both=beside(1.0, 2.0, 0.5, 1.5),
    method=beside(1.0, 2.0, 0.5, 1.02),
    constant=beside(1.0, 1.01, 0.5, 1.5),
    undecided=beside(1.0, 1.1, 0.5, 1.5),  # the constant is not shown to be different
    bits=beside(1.0, 2.0, 1.0, 1.5),  # the mutant has the bits of our run
    different=beside(1.5, 2.0, 0.5, 1.0),
    wrong=beside(0.5, 2.0, 1.0, 1.5),  # the mutant would look right
    alone={OURS: (1.0, "")},
    no_budget={OURS: (1.0, ""), CONSTANT: (2.0, "method")},
)


def test_a_number_identifies_what_all_that_count_against_it_are_told_apart_from():
    found = identified(ROWS)
    expected = {"both": "budget", "method": "method", "no_budget": "method"}
    assert found["identifies"].to_dict() == {name: expected.get(name, "") for name in found.index}
    assert found["class"]["different"] == DIFFERENT and found["class"]["constant"] == EQUIVALENT
    assert found["beside"].to_dict() == dict.fromkeys(found.index, "") | {
        "constant": CONSTANT, "undecided": CONSTANT, "bits": MUTANT, "wrong": MUTANT
    }  # fmt: skip


def test_an_alternative_in_our_place_gets_its_class_by_the_same_function():
    """Exchanging the names of our run and the mutant is the same as asking for the mutant in place."""
    swapped = ROWS.assign(alternative=ROWS["alternative"].replace({OURS: MUTANT, MUTANT: OURS}))
    swapped["counted"] = swapped["counted"].mask(swapped["alternative"] == OURS, "")
    swapped.loc[swapped["alternative"] == MUTANT, "counted"] = "method"
    here, there = identified(ROWS, MUTANT), identified(swapped)
    shared = here.index
    assert set(shared) == {"both", "method", "constant", "undecided", "bits", "different", "wrong"}
    pd.testing.assert_frame_equal(here[["class", "identifies"]], there.loc[shared, ["class", "identifies"]])
    assert here["identifies"][here["identifies"] != ""].to_dict() == {"wrong": "budget"}
    assert wrong_in_place(ROWS, [MUTANT]) == [(MUTANT, 7, 2, 1)]


def test_the_class_of_ours_is_that_of_the_table():
    classes = pd.Series(classes_beside_ours(ROWS))[ROWS["alternative"] == OURS].to_numpy()
    assert classes.tolist() == identified(ROWS)["class"].tolist()


def test_what_is_in_place_sets_the_error_of_the_print():
    """A wrong implementation with a large error shows nothing, whoever stands beside it."""
    rows = ROWS.assign(se=ROWS["se"].mask(ROWS["alternative"] == MUTANT, 0.2))
    assert not (identified(rows, MUTANT)["class"] == EQUIVALENT).any()
    assert (identified(rows, factor=40.0)["class"] != EQUIVALENT).all()
    assert identified(rows, factor=0.0)["class"]["both"] == EQUIVALENT


def test_order_of_rows_changes_nothing():
    mixed = ROWS.sample(frac=1.0, random_state=1)
    here, there = identified(ROWS), identified(mixed).loc[identified(ROWS).index]
    pd.testing.assert_frame_equal(here.drop(columns="beside"), there.drop(columns="beside"))


def test_what_was_not_run_is_not_told_apart():
    """A mutant that applies and has no scores keeps a number from identifying its method."""
    rows = ROWS.assign(value=ROWS["value"].mask((ROWS["alternative"] == MUTANT) & (ROWS["number"] == "both")))
    assert identified(rows)["identifies"]["both"] == "" and identified(rows)["identifies"]["method"] == "method"
    assert "both" not in identified(rows, MUTANT).index
