"""Weight of a public score: whether reports rise or fall with what it expects of users, given what they show.

Reports say nothing of protected features. A score that is wrong about the features that are shown, because its sample
has another law, is probably wrong about the protected ones, too.
"""

import math
from collections.abc import Sequence

import numpy as np

from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage

#: Slope of labels on a score that is expected before any report.
_TRUST = 0.9
#: Standard deviation of the slope about 1 or -1, and the share of the public labels' noise that a score takes over.
_SPREAD, _TAKEN = 0.4, 0.5
#: Directions of what is shown with less than this part of the largest variance are left out.
_NEGLIGIBLE = 1e-9


def score_trust(without: Sequence[GaussianAverage], beside: Sequence[GaussianAverage], persons: int, q: int) -> float:
    """Weight of a public score: the posterior mean of labels' slope on it, or 0 where that is negative.

    The slope is about 1 (the score holds) or about -1 (it is reversed), and normal about either. Its estimate is that
    of reports on the linear part of what the score expects of a user, given what she shows; its variance comes from the
    reports' noise and from chance in the public labels. Of a score that hardly varies with what is shown, or of few
    reports, the weight is the prior's.

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
    float
        Between 0 and 1.
    """
    products = np.array([_products(*pair) for pair in zip(without, beside, strict=True)])
    agreement, size = products.sum(axis=0)
    label, noise = np.mean([(model.label_variance, model.report_variance) for model in without], axis=0)
    # Indicators sum to one: those of K classes say as much as K - 1 that are independent.
    alike = 1.0 if len(without) == 1 else len(without) / (len(without) - 1.0)
    variance = _SPREAD**2 * size + alike * ((label + noise) / persons + _TAKEN * label / q)
    return max(math.tanh(math.atanh(_TRUST) + agreement / variance), 0.0)


def _products(without: GaussianAverage, beside: GaussianAverage) -> tuple[float, float]:
    """Mean products of the linear part of the score, as expected of a user, with reports and with itself."""
    (gram, reports), (_, left) = without.linear_part(), beside.linear_part()
    score = reports - left
    coefficients = np.linalg.pinv(gram, rcond=_NEGLIGIBLE, hermitian=True) @ score
    return float(coefficients @ reports), max(float(coefficients @ score), 0.0)
