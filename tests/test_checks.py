import math

import numpy as np
import pytest

from lpbench.checks import check_choice, check_flag, check_number, check_range, check_whole
from lpbench.errors import ConfigurationError
from lpbench.privacy import GRR


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_a_whole_number_comes_back_as_int(value):
    assert check_whole("k", value, least=1, most=3) == 3 and type(check_whole("k", value)) is int


@pytest.mark.parametrize("value", [True, np.True_, 3.0, "3", None, -1, math.nan, [3]])
def test_other_things_are_no_whole_number(value):
    with pytest.raises(ConfigurationError, match=r"^k=.* must be a whole number >= 0$"):
        check_whole("k", value)


def test_whole_numbers_know_their_limits_and_the_meaning_of_none():
    with pytest.raises(ConfigurationError, match="k=5 must be a whole number from 0 to 4"):
        check_whole("k", 5, most=4)
    with pytest.raises(ConfigurationError, match=r"k=0 must be a whole number >= 1 \(None: no limit\)"):
        check_whole("k", 0, least=1, none="no limit")
    assert check_whole("k", None, none="no limit") is None
    assert check_whole("k", -7, least=None) == -7


@pytest.mark.parametrize(
    ("interval", "inside", "outside", "words"),
    [
        ({"above": 0}, [1e-300, 7], [0, -1, math.inf], "a finite number > 0"),
        ({"above": 0, "infinite": True}, [1, math.inf], [0, -math.inf], "a number > 0"),
        ({"least": 0}, [0, 2.5], [-1e-9, math.inf], "a finite number >= 0"),
        ({"above": 0, "most": 1}, [0.5, 1], [0, 1.5], r"a number in \(0, 1\]"),
        ({"least": 0, "below": 1}, [0, 0.9], [1, -1], r"a number in \[0, 1\)"),
        ({"below": 0}, [-1], [0, 1, -math.inf], "a finite number < 0"),
        ({}, [-1, 1e300], [math.inf], "a finite number"),
    ],
)
def test_a_number_lies_in_its_interval(interval, inside, outside, words):
    for value in inside:
        assert check_number("r", value, **interval) == value and type(check_number("r", value, **interval)) is float
    for value in [*outside, math.nan, True, "1", None, [1.0], 10**400]:
        with pytest.raises(ConfigurationError, match=rf"^r=.* must be {words}$"):
            check_number("r", value, **interval)


def test_a_hint_says_the_way_out():
    with pytest.raises(ConfigurationError, match=r"r=0 must be a finite number > 0 \(try 1\)"):
        check_number("r", 0, above=0, hint="try 1")


def test_choices_and_flags():
    assert check_choice("rule", "a", {"a": 1, "b": 2}) == "a"
    with pytest.raises(ConfigurationError, match="rule='c' must be one of 'a', 'b'"):
        check_choice("rule", "c", ("a", "b"))
    assert check_flag("clip", np.True_) is True
    with pytest.raises(ConfigurationError, match="clip=1 must be True or False"):
        check_flag("clip", 1)


@pytest.mark.parametrize("value", [
    (1, 0), (0, 0), (0, math.inf), (math.nan, 1), (0, 1, 2), 3, None, ("a", "b"), "01", b"01", ("0", "1"), {0, 1},
    {0: 1, 1: 2}, (False, True), (0, 1j), (0, 10**400), [[0, 1]], (), (0, None),
])  # fmt: skip
def test_a_range_is_an_increasing_pair(value):
    assert check_range("domain", (0, np.float32(1))) == (0.0, 1.0)
    with pytest.raises(ConfigurationError, match=r"domain=.* must be a pair \(lo, hi\)"):
        check_range("domain", value)


def test_an_argument_that_was_renamed_is_taken_by_its_old_name_with_a_warning():
    mechanism = GRR(1.0, 3)
    with pytest.warns(DeprecationWarning, match="exact_loss: other is now second"):
        assert mechanism.exact_loss(0, other=1) == mechanism.exact_loss(0, second=1)
