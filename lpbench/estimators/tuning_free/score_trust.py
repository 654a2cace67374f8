"""Weight of a public score: whether reports rise or fall with what it expects of users, given what they show.

Reports say nothing of protected features. A score that is wrong about the features that are shown, because its sample
has another law, is probably wrong about the protected ones, too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage

#: Slope of labels on a score that is expected before any report.
_TRUST = 0.9
#: Standard deviation of the slope about 1 or -1, and the share of the public labels' noise that a score takes over.
_SPREAD, _TAKEN = 0.4, 0.5
#: Half of a 90 % interval, in standard deviations.
_NORMAL = 1.6449
#: Directions of what is shown with less than this part of the largest variance are left out.
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class SlopeAgreement:
    """Diagnosis of a public score: the slope of labels on what the score expects of users, given what they show.

    The slope is about 1 if the score holds, 0 if it tells nothing, and -1 if it is reversed. ``low`` and ``high``
    enclose it with probability ``level`` (normal approximation, which counts the noise of reports and chance in the
    public labels).
    """

    slope: float  # unbiased estimate; NaN where the score does not vary with what is shown
    low: float
    high: float
    users: int  # how many persons reported
    weight: float  # of the score in predictions, between 0 and 1
    level: float = 0.9

    @property
    def used(self) -> bool:
        """Return True if predictions build on the public score."""
        return self.weight > 0.0

    def __str__(self) -> str:
        """One line for a reader."""
        verb = f"is used with weight {self.weight:.2f}" if self.used else "is not used"
        if math.isnan(self.slope):
            return (
                f"the public sample {verb}; its score does not vary with what users show, so that no report checks it"
            )
        return (
            f"the public sample {verb}: the slope of labels on its score is {self.slope:.2f} ({self.level:.0%} "
            f"interval {self.low:.2f} to {self.high:.2f}; 1 if the score holds, -1 if it is reversed), by {self.users} "
            "reports"
        )


def slope_agreement(
    without: Sequence[GaussianAverage], beside: Sequence[GaussianAverage], persons: int, q: int
) -> SlopeAgreement:
    """Estimate labels' slope on a public score, and the weight of the score: the posterior mean of the slope.

    The slope is about 1 (the score holds) or about -1 (it is reversed), and normal about either. Its estimate is that
    of reports on the linear part of what the score expects of a user, given what she shows; its variance comes from the
    reports' noise and from chance in the public labels. Of a score that hardly varies with what is shown, or of few
    reports, the weight is the prior's. Where the posterior mean is negative, the weight is 0.

    Parameters
    ----------
    without, beside : sequence of GaussianAverage
        Regressions of indicators of classes and of what the score leaves of them, for the second of two classes or for
        all of three and more. All reports have the same noise.
    persons : int
        Number of persons who reported.
    q : int
        Rows of the public sample.

    Returns
    -------
    SlopeAgreement
        Slope, interval and weight.
    """
    products = np.array([_products(*pair) for pair in zip(without, beside, strict=True)])
    agreement, size = products.sum(axis=0)
    label, noise = np.mean([(model.label_variance, model.report_variance) for model in without], axis=0)
    # Indicators sum to one: those of K classes say as much as K - 1 that are independent.
    alike = 1.0 if len(without) == 1 else len(without) / (len(without) - 1.0)
    by_chance = alike * ((label + noise) / persons + _TAKEN * label / q)
    weight = max(math.tanh(math.atanh(_TRUST) + agreement / (_SPREAD**2 * size + by_chance)), 0.0)
    if size <= 0.0:
        return SlopeAgreement(math.nan, -math.inf, math.inf, persons, weight)
    slope, half = float(agreement / size), _NORMAL * math.sqrt(by_chance / size)
    return SlopeAgreement(slope, slope - half, slope + half, persons, weight)


def _products(without: GaussianAverage, beside: GaussianAverage) -> tuple[float, float]:
    """Mean products of the linear part of the score, as expected of a user, with reports and with itself."""
    (gram, reports), (_, left) = without.linear_part(), beside.linear_part()
    score = reports - left
    coefficients = np.linalg.pinv(gram, rcond=_NEGLIGIBLE, hermitian=True) @ score
    return float(coefficients @ reports), max(float(coefficients @ score), 0.0)
