import math

import numpy as np
import pytest

from lpbench.analysis.exponents import MODELS, public_data_exponents, reference_line, semi_feature_exponent, table_i

CASES = [(0.5, 1, 1.0), (1.0, 2, 0.5), (0.25, 3, 2.0)]


@pytest.mark.parametrize(("beta", "d", "margin"), CASES)
def test_rows_of_classification(beta, d, margin):
    known = {"beta": beta, "d": d, "margin": margin}
    gain = beta * (margin + 1)
    assert table_i("classification", "label_ldp", **known).privacy == pytest.approx(gain / (2 * beta + d))
    assert table_i("classification", "ldp", **known).privacy == pytest.approx(gain / (2 * beta + 2 * d))
    assert table_i("classification", "none", **known).sampling == pytest.approx(gain / (2 * beta + d))
    for model in ("label_cdp", "cdp"):
        rate = table_i("classification", model, **known)
        assert rate.privacy == pytest.approx(gain / (beta + d))
        assert rate.sampling == min(rate.sampling, rate.privacy) == pytest.approx(gain / (2 * beta + d))


@pytest.mark.parametrize(("beta", "d", "_"), CASES)
@pytest.mark.parametrize("p", [None, 2.0, 5.0])
def test_rows_of_regression(beta, d, _, p):
    known = {"beta": beta, "d": d, "moment": p}
    found = {model: table_i("regression", model, **known) for model in MODELS}
    assert found["none"].sampling == pytest.approx(2 * beta / (2 * beta + d))
    assert found["cdp"] == found["label_cdp"]
    if p is None:
        assert found["label_ldp"].privacy == pytest.approx(2 * beta / (d + 2 * beta))
        assert found["ldp"].privacy == pytest.approx(beta / (beta + d))
        assert found["cdp"].privacy == pytest.approx(2 * beta / (d + beta))
    else:
        assert found["label_ldp"].privacy == pytest.approx(2 * beta * (p - 1) / (2 * p * beta + d * (p - 1)))
        assert found["ldp"].privacy == pytest.approx(beta * (p - 1) / (p * beta + d * (p - 1)))
        assert found["cdp"].privacy == pytest.approx(2 * beta * (p - 1) / (p * beta + d * (p - 1)))


def test_unknown_rows_are_refused():
    with pytest.raises(ValueError, match="ranking"):
        table_i("ranking", "ldp", beta=1, d=1)


def test_exponents_of_the_theorems():
    assert [semi_feature_exponent(1.0, 5, s) for s in (1, 3)] == [2 / 8, 2 / 10]
    in_private, in_public = public_data_exponents(alpha=0.5, d=2, margin=1.0, gamma=0.5)
    assert (in_private, in_public) == (1 / 5, 1 / 2.5)


def test_reference_line_passes_through_the_middle_of_the_curve():
    x, y = np.array([1.0, 10.0, 100.0]), np.array([4.0, 2.0, 1.0])
    ends, line = reference_line(x, y, 0.5)
    np.testing.assert_array_equal(ends, [1.0, 100.0])
    assert math.sqrt(line[0] * line[1]) == pytest.approx(2.0)
    assert line[0] / line[1] == pytest.approx(10.0)
