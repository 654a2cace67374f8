import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from lpbench.privacy import Gaussian, gaussian_delta, gaussian_epsilon, gaussian_sigma
from tests.privacy.densities import log_density
from tests.privacy.laws import assert_law

epsilons = st.floats(1e-3, 1000)
deltas = st.floats(-12, -1).map(lambda power: 10.0**power)


def hockey_stick(epsilon: float, mu: float) -> float:
    """Integral of (density of N(mu, 1) - e^eps density of N(0, 1))_+, without the closed form."""
    start = epsilon / mu + mu / 2  # where the log-ratio mu x - mu^2/2 reaches epsilon

    def gain(t):
        return stats.norm.pdf(t + start - mu) * -math.expm1(-mu * t)

    peak = max(mu - start, 0.0)
    return quad(gain, 0, peak + 1, epsabs=0, epsrel=1e-11)[0] + quad(gain, peak + 1, np.inf, epsabs=0, epsrel=1e-11)[0]


@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.5, 2.0, 8.0, 1000.0])
@pytest.mark.parametrize("mu", [0.05, 0.5, 2.0, 40.0])
def test_profile_is_the_hockey_stick_divergence(epsilon, mu):
    delta = gaussian_delta(epsilon, sigma=3.0 / mu, sensitivity=3.0)
    expected = hockey_stick(epsilon, mu)
    assert delta == pytest.approx(expected, rel=1e-7, abs=1e-290)


@given(epsilons, deltas, st.floats(1e-3, 1e3))
def test_calibration_is_tight_from_both_sides(epsilon, delta, sensitivity):
    sigma = gaussian_sigma(epsilon, delta, sensitivity)
    assert gaussian_delta(epsilon, sigma, sensitivity) <= delta * (1 + 1e-7)
    assert gaussian_delta(epsilon * (1 - 1e-3), sigma, sensitivity) > delta
    assert gaussian_delta(epsilon, sigma * (1 - 1e-3), sensitivity) > delta
    assert gaussian_epsilon(delta, sigma, sensitivity) == pytest.approx(epsilon, rel=1e-6)
    assert sigma == pytest.approx(sensitivity * gaussian_sigma(epsilon, delta), rel=1e-9)


def test_less_noise_than_the_classical_calibration():
    # Dwork & Roth's sigma = sqrt(2 ln(1.25/delta)) / eps is valid for eps < 1 and wasteful.
    classical = math.sqrt(2 * math.log(1.25 / 1e-5)) / 0.9
    assert gaussian_sigma(0.9, 1e-5) < classical
    assert gaussian_delta(0.9, classical) < 1e-5


def test_mechanism_states_its_budget():
    mechanism = Gaussian.for_budget(2.0, 1e-8, sensitivity=math.sqrt(4.5))
    assert mechanism.epsilon == pytest.approx(2.0, rel=1e-9) and mechanism.delta == 1e-8
    assert mechanism.profile(2.0) == pytest.approx(1e-8, rel=1e-6) and mechanism.profile(3.0) < 1e-8
    assert mechanism.privacy_map(0.5) < mechanism.epsilon and mechanism.privacy_map(0.0) == 0.0
    assert mechanism.exact_loss([0.0], [0.5]) == mechanism.privacy_map(0.5)  # at its delta
    assert gaussian_epsilon(0.1, sigma=100.0) == 0.0, "noise so large that delta alone covers it"


def test_reports_follow_the_law():
    mechanism = Gaussian(2.5, 1e-6)
    values = np.linspace(0, 1, 20000)
    assert_law(mechanism.randomize(values, np.random.default_rng(0)) - values, stats.norm(scale=2.5).cdf)
    reports = np.linspace(-5, 5, 11)
    assert np.allclose(log_density(mechanism, reports, 0.5), stats.norm(0.5, 2.5).logpdf(reports))


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-9, math.nan])
def test_impossible_delta(delta):
    with pytest.raises(ValueError, match=r"delta=.* must be a number in \(0, 1\)"):
        Gaussian.for_budget(1.0, delta)
