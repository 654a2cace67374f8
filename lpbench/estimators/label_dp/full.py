"""Full-LDP references of label-DP Table I: the histograms PHIST and Hist at the width that the rates prescribe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lpbench.checks import check_number
from lpbench.estimators.base import check_epsilon
from lpbench.estimators.baselines.hist import Hist
from lpbench.estimators.baselines.phist import PHIST
from lpbench.estimators.label_dp.cubes import BoundedRegressor, CubeClassifier
from lpbench.estimators.label_dp.rules import bins_for_width, noise_width, sampling_width, truncation
from lpbench.seeds import Seed, Streams

#: Standard deviation of 2 V - U and a bound of that of V - eta U, times eps / sqrt(n), where U and V are the noisy
#: counts and label sums of a cell: one user's Laplace noise has scale 4 / eps in each of them (labels in [-1, 1]).
VOTE_NOISE, MEAN_NOISE = 4 * math.sqrt(2 * 5), 4 * math.sqrt(2 * 2)


class LDPVote(CubeClassifier):
    """Binary vote in the cubes of a histogram, features and label private (Berrett and Butucea 2019).

    Parameters
    ----------
    epsilon : float
        Budget of a user.
    beta : float in (0, 1]
        Hölder exponent of the class probabilities (public).
    holder : float
        Constant L: the gap between the two classes varies by about L h^beta in a cube of side h (public).
    bins : int, optional
        Bins per axis. None: h ~ (N eps^2)^(-1 / (2 beta + 2 d)), the width at which the noise of the gap equals
        L h^beta, or that of the non-private rule if it is larger.
    domain : (float, float)
        Public range of the features.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    random_state : int, Generator, Streams or None

    Attributes
    ----------
    histogram_ : PHIST
        The fitted classifier.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        beta: float = 1.0,
        holder: float = 1.0,
        bins: int | None = None,
        domain: tuple[float, float] = (0.0, 1.0),
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.beta = beta
        self.holder = holder
        self.bins = bins
        self.domain = domain
        self.classes = classes
        self.random_state = random_state

    def _learn(self, X: np.ndarray, codes: np.ndarray, note: str) -> None:
        n, d = X.shape
        bins = self._bins(n, d, check_epsilon(self.epsilon)) if self.bins is None else self.bins
        self.histogram_ = PHIST(
            self.epsilon, bins, classes=range(self.classes_.size), random_state=self._streams()
        ).fit(X, codes)
        # The seed of the users' noise does not stay in the model.
        self.histogram_.set_params(random_state=None)
        self.guarantee_ = replace(self.histogram_.guarantee_, note=note)

    def _bins(self, n: int, d: int, epsilon: float) -> int:
        rule = {"beta": self.beta, "holder": self.holder}
        noise = noise_width(VOTE_NOISE / (epsilon * math.sqrt(n)), d, **rule)
        return bins_for_width(max(noise, sampling_width(n, d, math.log(2), **rule)))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict classes for X of shape (m, d)."""
        X = self._check_predict(X)
        return self.classes_[self.histogram_.predict(X)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities, shape (m, K)."""
        X = self._check_predict(X)
        return self.histogram_.predict_proba(X)


class LDPMean(BoundedRegressor):
    """Histogram regression, features and label private (Berrett et al. 2021; Györfi and Kroll 2022).

    Cells with less than half of the share that a density of ``density`` gives them say 0, the centre of the range.

    Parameters
    ----------
    epsilon : float
        Budget of a user.
    density : float
        Public lower bound of the density of the features on [0, 1]^d.
    bins : int, optional
        Bins per axis. None: the width at which the noise equals L h^beta, of order (N eps^2)^(-1 / (2 beta + 2 d)) for
        bounded labels, or that of the non-private rule if it is larger.
    beta, holder, moment, label_bound, y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.label_dp.knn.LabelLDPKNN`.

    Attributes
    ----------
    histogram_ : Hist
        The fitted regressor, for labels about the centre.
    truncation_ : float
        T: labels are clipped to [-T, T] about the centre on the device.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        density: float = 1.0,
        beta: float = 1.0,
        holder: float = 1.0,
        moment: float | None = None,
        label_bound: float = 1.0,
        bins: int | None = None,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.density = density
        self.beta = beta
        self.holder = holder
        self.moment = moment
        self.label_bound = label_bound
        self.bins = bins
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def _learn(self, X: np.ndarray, y: np.ndarray) -> None:
        check_number("density", self.density, above=0, most=1, hint="a lower bound of a density on [0, 1]^d")
        n, d = X.shape
        self.centre_, bound = self._centre_and_bound()
        per_cell = MEAN_NOISE / (check_epsilon(self.epsilon) * math.sqrt(n))
        bins = self._bins(n, d, per_cell, bound) if self.bins is None else self.bins
        labels = y - self.centre_
        T = truncation(per_cell * float(bins) ** d, bound, self.moment)
        # Without a privacy limit nothing is clipped and nothing protected; Hist wants a finite range all the same.
        self.truncation_ = T = T if math.isfinite(T) else max(float(np.abs(labels).max()), bound)
        least = min(1.0, self.density / float(bins) ** d / 2.0)
        hist = Hist(self.epsilon, bins, least, (-T, T), clip=self.clip, random_state=self._streams())
        self.histogram_ = hist.fit(X, np.clip(labels, -T, T)).set_params(random_state=None)
        self.guarantee_ = self.histogram_.guarantee_

    def _bins(self, n: int, d: int, per_cell: float, bound: float) -> int:
        noise = noise_width(per_cell, d, bound=bound, moment=self.moment, **self._smoothness)
        return bins_for_width(max(noise, sampling_width(n, d, bound**2, **self._smoothness)))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for X of shape (m, d)."""
        X = self._check_predict(X)
        return self.centre_ + self.histogram_.predict(X)
