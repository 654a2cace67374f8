import math

import numpy as np
import pytest

from lpbench.errors import ConfigurationError
from lpbench.estimators.tuning_free import level_reports as levels
from lpbench.estimators.tuning_free.level_reports import LevelReport, parts_of
from lpbench.privacy import exact_epsilon

REPORTS = [
    LevelReport(0.5, 2),
    LevelReport(2.0, 3, 2),
    LevelReport(4.0, 8),
    LevelReport(4.0, 5, 3),
    LevelReport(6.0, 3, 12),
]


def channel(report: LevelReport, residuals) -> np.ndarray:
    """Law of the reports of residuals in every bin, shape (bins * n, categories): rounding, then the mechanism."""
    position = (np.clip(residuals, -1.0, 1.0) + 1.0) / 2.0 * (report.levels - 1)
    rounding = np.maximum(0.0, 1.0 - np.abs(position[:, None] - np.arange(report.levels)))
    return np.kron(np.eye(report.bins), rounding) @ report.response.channel()


@pytest.mark.parametrize("report", REPORTS, ids=str)
def test_budget_is_exact(report):
    """The stated epsilon holds for all residuals and bins, and a smaller one does not."""
    with np.errstate(divide="ignore"):
        spent = exact_epsilon(np.log(channel(report, np.linspace(-1.5, 1.5, 61))))
    assert spent <= report.budget + 1e-9
    assert spent > report.budget - 1e-9


@pytest.mark.parametrize("report", REPORTS, ids=str)
def test_the_stated_channel_is_rounding_followed_by_randomized_response(report):
    residuals = np.array([-1.2, -0.3, 0.9])
    held = np.column_stack([np.tile(residuals, report.bins), np.repeat(np.arange(report.bins), 3)])
    np.testing.assert_allclose(report.at(held).channel(), channel(report, residuals), atol=1e-15)
    assert report.epsilon == report.budget and report.fields() == report.response.fields()


@pytest.mark.parametrize("report", REPORTS, ids=str)
def test_readings_are_unbiased(report):
    """Exactly, by the law: residual, indicators of the bins, and their products."""
    categories = np.arange(report.levels * report.bins)
    residuals = np.linspace(-1.0, 1.0, 9)
    law, bins = channel(report, residuals), np.repeat(np.arange(report.bins), residuals.size)
    truth = np.tile(residuals, report.bins)
    np.testing.assert_allclose(law @ report.residuals(categories), truth, atol=1e-12)
    one_hot = bins[:, None] == np.arange(report.bins)
    np.testing.assert_allclose(law @ report.indicators(categories), one_hot, atol=1e-12)
    np.testing.assert_allclose(law @ report.products(categories), truth[:, None] * one_hot, atol=1e-12)


@pytest.mark.parametrize("report", REPORTS, ids=str)
@pytest.mark.parametrize("width", [1.0, 2.5])
def test_noise_variance_is_that_of_the_law(report, width):
    z = np.linspace(-6.0, 6.0, 4001)
    density = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    readings = report.residuals(np.arange(report.levels * report.bins))
    unit = np.clip(z / width, -1.0, 1.0)
    second = channel(report, z / width)[: z.size] @ readings**2
    assert report.noise_variance(width) == pytest.approx(density @ (second - unit**2), rel=1e-3)


def test_without_noise_reports_are_rounded_residuals():
    report = LevelReport(math.inf, 64)
    residuals = np.linspace(-1.0, 1.0, 200)
    sent = report.randomize(np.column_stack([residuals, np.zeros(200)]), np.random.default_rng(0))
    assert np.abs(report.residuals(sent) - residuals).max() <= 2 / 63 + 1e-12


def test_levels_and_bins_grow_with_the_budget():
    chosen = [levels.best_levels(e, 2.0) for e in (0.1, 1.0, 2.0, 4.0, 8.0)]
    assert chosen == sorted(chosen) and chosen[0] == 2 < chosen[-1]
    for n in (50, 1000, 50_000):
        bins = [levels.most_bins(e, n, (2, 4, 8)) for e in (0.5, 1.0, 2.0, 4.0, 12.0)]
        assert bins == sorted(bins) and bins[0] == 1 and bins[-1] == 8
    bins = [levels.most_bins(2.0, n, (2, 4, 8)) for n in (300, 3000, 10_000, 100_000)]
    assert bins == sorted(bins) and bins[0] == 1 < bins[-1]


def test_levels_are_less_noisy_than_laplace_noise():
    """The numbers of the module's docstring: total variance in variances of the label, Laplace of scale 6 / epsilon."""
    for epsilon, stated in ((1.0, 36.0), (4.0, 2.0)):
        assert levels.total_variance(epsilon, 3.0) < 1 + 2 * (6.0 / epsilon) ** 2
        report = LevelReport(epsilon, levels.best_levels(epsilon, 3.0))
        assert 1 + 9 * report.noise_variance(3.0) == pytest.approx(stated, rel=0.05)


def test_clipping_shrinks_the_mean_by_the_stated_slope():
    z = np.random.default_rng(1).standard_normal(400_000)
    shift, width = 0.05, 1.0
    moved = np.clip(z + shift, -width, width).mean() - np.clip(z, -width, width).mean()
    assert moved / shift == pytest.approx(levels.slope_of_clipping(width), abs=0.01)


@pytest.mark.parametrize("options", [{"levels": 1}, {"levels": 2, "bins": 0}])
def test_impossible_reports_are_refused(options):
    with pytest.raises(ConfigurationError, match=f"{[*options][-1]}="):
        LevelReport(1.0, **options)


def test_what_a_joint_report_says_of_each_feature_is_unbiased():
    """Three features in 2, 3 and 2 bins: exact means over the law of the reports."""
    report, bins, residuals = LevelReport(3.0, 3, 12), np.arange(12), np.array([-0.7, 0.2])
    laws, reports = channel(report, residuals), np.arange(36)
    first, second, third = parts_of([2, 3, 2])
    values = np.array([0.5, -1.0, 2.0])
    for part in (first, second, third):
        member = np.repeat(part.of(bins)[:, None] == np.arange(part.bins), residuals.size, axis=0)
        np.testing.assert_allclose(laws @ report.indicators(reports, part), member, atol=1e-9)
        products = np.tile(residuals, 12)[:, None] * member
        np.testing.assert_allclose(laws @ report.products(reports, part), products, atol=1e-9)
    member = np.repeat(third.of(bins)[:, None] == np.arange(2), residuals.size, axis=0)
    expected = np.repeat(values[second.of(bins)], residuals.size)[:, None] * member
    np.testing.assert_allclose(laws @ report.joint_sums(reports, third, second, values), expected, atol=1e-9)
