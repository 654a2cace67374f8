"""Full-LDP references of label-DP Table I: the histograms PHIST and Hist at the width that the rates prescribe."""

import math
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from lpbench.checks import check_number
from lpbench.estimators.base import check_epsilon
from lpbench.estimators.baselines.grid_sums import NoisyGrid
from lpbench.estimators.baselines.hist import GRID_CELL, cell_means, cell_questions
from lpbench.estimators.baselines.phist import PHIST
from lpbench.estimators.label_dp.cubes import BoundedRegressor, CubeClassifier
from lpbench.estimators.label_dp.rules import truncation
from lpbench.partitions import GridCells
from lpbench.privacy import Users

#: Standard deviation of 2 V - U and a bound of that of V - eta U, times eps / sqrt(n), where U and V are the noisy
#: counts and label sums of a cell: one user's Laplace noise has scale 4 / eps in each of them (labels in [-1, 1]).
VOTE_NOISE, MEAN_NOISE = 4 * math.sqrt(2 * 5), 4 * math.sqrt(2 * 2)


@dataclass(eq=False, repr=False)
class LDPVote(CubeClassifier):
    """Binary vote in the cubes of a histogram, features and label private (Berrett and Butucea 2019).

    Parameters
    ----------
    epsilon : float
        Budget of a user.
    bins : int, optional
        Bins per axis. None: h ~ (N eps^2)^(-1 / (2 beta + 2 d)), the width at which the noise of the gap equals
        L h^beta, or that of the non-private rule if it is larger.

    Attributes
    ----------
    histogram_ : PHIST
        The fitted classifier.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import LDPVote
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = LDPVote(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    0.5
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0

    protects = "record"

    def learn(self, users: Users) -> Self:
        """Ask users for noisy votes (cube, class), and keep the class shares of each cube."""
        noise = VOTE_NOISE / (check_epsilon(self.epsilon) * math.sqrt(users.n))
        bins = self._bins_of(self.bins, users.n, users.n_features, math.log(2), noise)
        self.histogram_ = PHIST(self.epsilon, bins).learn_from(users)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict the class with the larger estimated share in each row's cell."""
        X = self._check_predict(X)
        return self.histogram_.predict(X)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for complete X of shape (m, d): ndarray of shape (m, n_classes)."""
        X = self._check_predict(X)
        return self.histogram_.predict_proba(X)


@dataclass(eq=False, repr=False)
class LDPMean(BoundedRegressor):
    """Histogram regression, features and label private (Berrett et al. 2021; Györfi and Kroll 2022).

    Cells with less than half of the share that a density of ``density`` gives them say 0, the center of the range.

    Parameters
    ----------
    epsilon : float
        Budget of a user.
    density : float
        Public lower bound of the density of the features on [0, 1]^d.
    bins : int, optional
        Bins per axis. None: the width at which the noise equals L h^beta, of order (N eps^2)^(-1 / (2 beta + 2 d)) for
        bounded labels, or that of the non-private rule if it is larger.

    Attributes
    ----------
    histogram_ : NoisyGrid
        The curator's counts and label sums, of labels about the center.
    truncation_ : float
        T: labels are clipped to [-T, T] about the center on the device; inf where a bounded moment is all that is
        known and nothing is protected.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import LDPMean
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = LDPMean(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0
    density: float = 1.0
    bins: int | None = field(default=None, kw_only=True)

    protects = "record"

    def learn(self, users: Users) -> Self:
        """Ask users for noisy counts and label sums of the cubes, and add the reports up."""
        check_number("density", self.density, above=0, most=1, hint="a lower bound of a density on [0, 1]^d")
        n, d = users.n, users.n_features
        self.center_, bound = self._center_and_bound()
        per_cell = MEAN_NOISE / (check_epsilon(self.epsilon) * math.sqrt(n))
        bins = self._bins_of(self.bins, n, d, bound**2, per_cell, bound=bound, moment=self.moment)
        cells = GridCells(bins, d)
        self.truncation_ = T = truncation(per_cell * float(cells.bins) ** d, bound, self.moment)
        self._threshold = min(1.0, self.density / float(cells.bins) ** d / 2.0)
        questions = cell_questions(cells, self.epsilon, (-T, T), center=self.center_)
        self.histogram_ = NoisyGrid(cells, n, *(users.sums(GRID_CELL, question) for question in questions))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict the noisy mean label of each row's cell, or the center of the range where the count is small."""
        X = self._check_predict(X)
        means = cell_means(self.histogram_.at(X), self.histogram_.n, self._threshold)
        return self.center_ + (np.clip(means, -self.truncation_, self.truncation_) if self.clip else means)
