import math

import numpy as np
import pytest

from lpbench.analysis.exponents import table_i
from lpbench.estimators.label_dp import rules

SMOOTH = {"beta": 0.5, "holder": 0.4}
MOMENTS = [None, 2.0, 4.0, 16.0]


def exponent(value, low: float, high: float) -> float:
    """Log-log slope of a function between two places."""
    return math.log(value(high) / value(low)) / math.log(high / low)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("d", [1, 2])
def test_squared_bias_at_the_width_has_the_exponent_of_the_table(moment, d):
    setting = {**SMOOTH, "bound": 2.0, "moment": moment}
    wanted = {"beta": 0.5, "d": d, "moment": moment}
    central = exponent(lambda n: rules.noise_width(3.0 / n, d, **setting) ** (2 * 0.5), 1e4, 1e8)
    assert -central == pytest.approx(table_i("regression", "label_cdp", **wanted).privacy)
    local = exponent(lambda n: rules.noise_width(3.0 / math.sqrt(n), d, **setting) ** (2 * 0.5), 1e4, 1e8)
    assert -local == pytest.approx(table_i("regression", "ldp", **wanted).privacy)


@pytest.mark.parametrize("moment", MOMENTS)
def test_squared_bias_at_the_number_of_neighbors_has_the_exponent_of_the_table(moment):
    def squared_bias(n, epsilon):
        return (rules.knn_size(int(n), 1, epsilon, bound=1.0, moment=moment, **SMOOTH) / n) ** (2 * 0.5)

    wanted = table_i("regression", "label_ldp", beta=0.5, d=1, moment=moment)
    assert -exponent(lambda n: squared_bias(n, 0.5), 1e6, 1e9) == pytest.approx(wanted.privacy, abs=1e-3)
    # The budget enters as N eps^2.
    assert -exponent(lambda e: squared_bias(1e9, e), 0.01, 0.1) / 2 == pytest.approx(wanted.privacy, abs=1e-3)
    reference = table_i("regression", "none", beta=0.5, d=1)
    assert -exponent(lambda n: squared_bias(n, math.inf), 1e6, 1e9) == pytest.approx(reference.sampling, abs=1e-3)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("d", [1, 3])
def test_noise_clipping_and_bias_are_equal_at_the_chosen_width(moment, d):
    bound, per_cell = 1.7, 1e-5
    width = rules.noise_width(per_cell, d, bound=bound, moment=moment, **SMOOTH)
    noise = per_cell / width**d
    level = rules.truncation(noise, bound, moment)
    assert level * noise == pytest.approx(0.4 * width**0.5)
    if moment is not None:
        assert bound**moment * level ** (1 - moment) == pytest.approx(level * noise)


def test_printed_neighbors_of_theorem_10_miss_the_rate_in_epsilon():
    """With k ~ (N eps^2)^a as printed, the noise (k eps^2)^(-r) falls off the rate (28) by eps^(-2r) for eps < 1."""
    n, p, beta, d = 1e9, 4.0, 0.5, 1
    r, a = (p - 1) / p, 2 * p * beta / (2 * p * beta + d * (p - 1))
    rate = table_i("regression", "label_ldp", beta=beta, d=d, moment=p).privacy
    printed = exponent(lambda e: ((n * e**2) ** a * e**2) ** -r, 0.01, 0.1)
    balanced = exponent(lambda e: ((n * e**2) ** a * e**-2 * e**2) ** -r, 0.01, 0.1)
    assert -balanced / 2 == pytest.approx(rate)
    assert -printed / 2 == pytest.approx(rate + r)


def test_printed_width_of_theorem_12_misses_the_rate():
    """h ~ (eps N)^(-1/(p beta + d (p-1))) has squared bias below (31) but noise above it, unless p = 2."""
    p, beta, d = 4.0, 0.5, 1
    r, rate = (p - 1) / p, table_i("regression", "label_cdp", beta=beta, d=d, moment=p).privacy

    def squared_noise(n, power):
        return (n * (n**-power) ** d) ** (-2 * r)

    denominator = p * beta + d * (p - 1)
    assert -exponent(lambda n: squared_noise(n, (p - 1) / denominator), 1e4, 1e8) == pytest.approx(rate)
    printed_bias = 2 * beta / denominator
    assert printed_bias < rate - 0.1


@pytest.mark.parametrize("least", [0.2, 0.5, 0.99, 1, 1.2, 1.5, 1.9, 2, 2.5, 3, 5.3, 7, 7.99, 12.1])
def test_sensitivity_of_the_guarded_mean_is_exact(least):
    """Enumerate counts and extreme sums: the value of a cube is linear in the sum and in the label that joins."""
    counts = np.arange(60)
    one_cube = max(
        abs((total + label) / max(m + 1, least) - total / max(m, least))
        for m in counts
        for total in (-m, m)
        for label in (-1, 1)
    )
    relabeled = max(2 / max(m, least) for m in counts[1:])
    found = rules.mean_sensitivity(least)
    assert found == pytest.approx(max(2 * one_cube, relabeled))
    assert found <= 4 / least + 1e-12


def test_widths_are_whole_numbers_of_bins():
    assert [rules.bins_for_width(h) for h in (3.0, 1.0, 0.51, 0.5, 0.3)] == [1, 1, 1, 2, 3]
    assert rules.knn_size(5, 1, 0.001, bound=1.0, moment=None, **SMOOTH) == 5
    assert rules.truncation(0.0, 1.0, 4.0) == math.inf
