"""Noisy cube means: label-CDP and full-CDP regression, and the non-private reference (label-DP Theorems 8, 12, 14)."""

import math
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from lpbench.checks import check_choice, check_number
from lpbench.estimators.base import check_epsilon
from lpbench.estimators.label_dp.cubes import BoundedRegressor, Cubes
from lpbench.estimators.label_dp.releases import MEAN_RELEASE, MeanQuestion
from lpbench.estimators.label_dp.rules import mean_sensitivity, truncation
from lpbench.privacy import Users


@dataclass(eq=False, repr=False)
class CubeMean(BoundedRegressor):
    """Cube means without any protection: the reference for the central model.

    Parameters
    ----------
    bins : int, optional
        Bins per axis; None: h = (B^2 / (L^2 N))^(1 / (2 beta + d)).

    Attributes
    ----------
    cubes_ : Cubes
    truncation_ : float
        T, about the center of the range.
    values_ : ndarray of shape (cubes,)
        Mean label of each cube, the center of the range where it is empty.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import CubeMean
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = CubeMean(y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    inf
    >>> model.predict(X).shape
    (300,)
    """

    bins: int | None = field(default=None, kw_only=True)

    uses_epsilon = False
    epsilon = math.inf

    def learn(self, users: Users) -> Self:
        """Ask for labels, locally randomized or released by a curator, and average them in each cube."""
        check_epsilon(self.epsilon)
        n, d, noise = users.n, users.n_features, self._noise_per_cube(users.n)
        center, bound = self._center_and_bound()
        self.cubes_ = Cubes(self._bins_of(self.bins, n, d, bound**2, noise, bound=bound, moment=self.moment), d)
        self.truncation_ = truncation(noise * self.cubes_.size, bound, self.moment)
        self.values_ = center + self._means(users, center)
        return self

    def _means(self, users: Users, center: float) -> np.ndarray:
        """Mean of each cube's clipped labels, minus ``center``: shape (cubes,); exact here, subclasses add noise."""
        return MEAN_RELEASE.statistic(users.reveal(), MeanQuestion(self.cubes_, None, center, self.truncation_))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Released value of each row's cube, shape (m,)."""
        X = self._check_predict(X)
        return self._finish(self.values_[self.cubes_.locate(X)])

    def _noise_per_cube(self, n: int) -> float:
        """Standard deviation of the Laplace noise of a cube of expected size, times h^d, for labels in [-1, 1].

        h^d is the cube's volume and ``n`` the number of users. Read by subclasses, which have ``epsilon``.
        """
        return math.sqrt(2.0) * 2.0 / (n * self.epsilon)


@dataclass(eq=False, repr=False)
class LabelCDPMean(CubeMean):
    """A trusted curator releases each cube's mean label plus Laplace(2T / (n_l eps)); an empty cube says 0 (25), (30).

    The printed (25) has scale 2 / (n_l eps), which is private for T = 1 only: a mean of n_l labels in [-T, T] moves by
    up to 2T / n_l with one label. Counts n_l are public, like all features. "0" is the center of ``y_range``.

    Parameters
    ----------
    epsilon : float
        Budget of a label.
    bins : int, optional
        Bins per axis. None: h = (B^2 / (L^2 N))^(1 / (2 beta + d)) or the width at which the noise equals L h^beta,
        whichever is larger (Theorem 8; for ``moment`` p Theorem 12, whose printed exponent of eps N in h lacks a
        factor p - 1).

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import LabelCDPMean
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = LabelCDPMean(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0

    uses_epsilon = True
    protects = "label"

    def _means(self, users: Users, center: float) -> np.ndarray:
        cells = self.cubes_.locate(users.public_features)
        question = MeanQuestion(self.cubes_, cells, center, self.truncation_, self.epsilon)
        return users.release(MEAN_RELEASE, question)


@dataclass(eq=False, repr=False)
class CDPMean(LabelCDPMean):
    """Sum of the labels over (n_l ∨ n_0), plus Laplace(6T / (n_0 eps)) in every cube; hides whole records (35)-(38).

    n_0 = N c h^d / 2 with c a lower bound of the density, so that n_l >= n_0 in nearly every cube; the regularity
    constant theta of the domain is 1 for cubes. N is public (neighbors replace a record).

    Parameters
    ----------
    epsilon : float
        Budget of a record.
    constants : {"paper", "tight"}
        Scale 6T / (n_0 eps) as printed, or the exact sensitivity (below 4T / n_0, see
        :func:`~lpbench.estimators.label_dp.rules.mean_sensitivity`) over eps. The paper's spends less than 2 eps / 3.
    density : float
        Public lower bound c of the density of the features on [0, 1]^d.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import CDPMean
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = CDPMean(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    1.1363636363636365
    >>> model.predict(X).shape
    (300,)
    """

    constants: str = "paper"
    density: float = 1.0

    protects = "record"

    def _means(self, users: Users, center: float) -> np.ndarray:
        """Label sums over max(n_l, n_0) plus Laplace noise in every cube, minus ``center``: shape (cubes,)."""
        least = users.n * self.density / self.cubes_.size / 2.0
        scale = 6.0 / least if self._is_paper() else mean_sensitivity(least)
        if self._is_paper():
            users.note("the constant of (38) spends less than two thirds of the stated budget")
        question = MeanQuestion(self.cubes_, None, center, self.truncation_, self.epsilon, least, scale)
        return users.release(MEAN_RELEASE, question)

    def _noise_per_cube(self, n: int) -> float:
        check_number("density", self.density, above=0, most=1, hint="a lower bound of a density on [0, 1]^d")
        # n_0 = n c h^d / 2; the exact sensitivity is close to 4 / n_0 where cubes are large.
        numerator = 6.0 if self._is_paper() else 4.0
        return math.sqrt(2.0) * numerator / (n * self.density / 2.0 * self.epsilon)

    def _is_paper(self) -> bool:
        return check_choice("constants", self.constants, ("paper", "tight")) == "paper"
