"""Noisy cube means: label-CDP and full-CDP regression, and the non-private reference (label-DP Theorems 8, 12, 14)."""

from __future__ import annotations

import math

import numpy as np

from lpbench.checks import check_choice, check_number
from lpbench.estimators.base import check_epsilon
from lpbench.estimators.label_dp.cubes import BoundedRegressor, Cubes
from lpbench.estimators.label_dp.releases import MEAN_RELEASE, MeanReleaseQuestion
from lpbench.estimators.label_dp.rules import (
    bins_for_width,
    mean_sensitivity,
    noise_width,
    sampling_width,
    truncation,
)
from lpbench.privacy import Records
from lpbench.privacy.guarantee import Guarantee
from lpbench.seeds import Seed, Streams


class LabelCDPMean(BoundedRegressor):
    """A trusted curator releases each cube's mean label plus Laplace(2T / (n_l eps)); an empty cube says 0 (25), (30).

    The printed (25) has scale 2 / (n_l eps), which is private for T = 1 only: a mean of n_l labels in [-T, T] moves by
    up to 2T / n_l with one label. Counts n_l are public, like all features. "0" is the centre of ``y_range``.

    Parameters
    ----------
    epsilon : float
        Budget of a label.
    bins : int, optional
        Bins per axis. None: h = (B^2 / (L^2 N))^(1 / (2 beta + d)) or the width at which the noise equals L h^beta,
        whichever is larger (Theorem 8; for ``moment`` p Theorem 12, whose printed exponent of eps N in h lacks a
        factor p - 1).
    beta, holder, moment, label_bound, y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.label_dp.knn.LabelLDPKNN`.

    Attributes
    ----------
    cubes_ : Cubes
    truncation_ : float
        T, about the centre of the range.
    values_ : ndarray of shape (cubes,)
        The released values.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
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
        epsilon = check_epsilon(self.epsilon)
        centre, bound = self._centre_and_bound()
        n, d = X.shape
        self.cubes_ = Cubes(self._bins(n, d, epsilon, bound), d)
        noise = self._noise_per_cube(n, epsilon) * self.cubes_.size
        self.truncation_ = truncation(noise, bound, self.moment)
        cell = self.cubes_.locate(X)
        counts = np.bincount(cell, minlength=self.cubes_.size)
        labels = np.clip(y - centre, -self.truncation_, self.truncation_)
        sums = np.bincount(cell, labels, minlength=self.cubes_.size)
        question = self._question(n)
        draws = MEAN_RELEASE.draws(self._streams(), self.cubes_.size, question)
        records = Records(np.column_stack([sums, counts]), np.empty(self.cubes_.size))
        self.values_ = centre + MEAN_RELEASE.report(records, question, draws)
        self.guarantee_ = self._promise(n, epsilon)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Released value of each row's cube, shape (m,)."""
        X = self._check_predict(X)
        return self._finish(self.values_[self.cubes_.locate(X)])

    def _bins(self, n: int, d: int, epsilon: float, bound: float) -> int:
        if self.bins is not None:
            return self.bins
        widths = [sampling_width(n, d, bound**2, **self._smoothness)]
        if math.isfinite(epsilon):
            per_cube = self._noise_per_cube(n, epsilon)
            widths.append(noise_width(per_cube, d, bound=bound, moment=self.moment, **self._smoothness))
        return bins_for_width(max(widths))

    def _noise_per_cube(self, n: int, epsilon: float) -> float:
        """Noise of a cube of expected size for labels in [-1, 1]: its standard deviation times the volume h^d."""
        return math.sqrt(2.0) * 2.0 / (n * epsilon)

    def _question(self, n: int) -> MeanReleaseQuestion:
        """What the curator releases of every cube of ``n`` samples; their numbers are public."""
        return MeanReleaseQuestion(
            self.truncation_, self.epsilon, int(self.cubes_.bins), None, 2.0, float(self.epsilon)
        )

    def _promise(self, n: int, epsilon: float) -> Guarantee:
        return Guarantee("label_cdp", epsilon, note=self._leak_note)


class CubeMean(LabelCDPMean):
    """Cube means without any protection: the reference for the central model.

    Parameters
    ----------
    beta, holder, moment, label_bound, bins, y_range, clip, domain, random_state
        See :class:`LabelCDPMean` at epsilon = inf.
    """

    uses_epsilon = False

    def __init__(
        self,
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
        super().__init__(math.inf, beta, holder, moment, label_bound, bins, y_range, clip, domain, random_state)

    def _promise(self, n: int, epsilon: float) -> Guarantee:
        return Guarantee("none", math.inf)


class CDPMean(LabelCDPMean):
    """Sum of the labels over (n_l ∨ n_0), plus Laplace(6T / (n_0 eps)) in every cube; hides whole records (35)-(38).

    n_0 = N c h^d / 2 with c a lower bound of the density, so that n_l >= n_0 in nearly every cube; the regularity
    constant theta of the domain is 1 for cubes. N is public (neighbours replace a record).

    Parameters
    ----------
    epsilon : float
        Budget of a record.
    constants : {"paper", "tight"}
        Scale 6T / (n_0 eps) as printed, or the exact sensitivity (below 4T / n_0, see
        :func:`~lpbench.estimators.label_dp.rules.mean_sensitivity`) over eps. The paper's spends less than 2 eps / 3.
    density : float
        Public lower bound c of the density of the features on [0, 1]^d.
    beta, holder, moment, label_bound, bins, y_range, clip, domain, random_state
        See :class:`LabelCDPMean`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        constants: str = "paper",
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
        super().__init__(epsilon, beta, holder, moment, label_bound, bins, y_range, clip, domain, random_state)
        self.constants = constants
        self.density = density

    def _least(self, n: int) -> float:
        """n_0 of (35)."""
        check_number("density", self.density, above=0, most=1, hint="a lower bound of a density on [0, 1]^d")
        return n * self.density / self.cubes_.size / 2.0

    def _noise_per_cube(self, n: int, epsilon: float) -> float:
        # n_0 = n c h^d / 2; the exact sensitivity is close to 4 / n_0 where cubes are large.
        numerator = 6.0 if self._is_paper() else 4.0
        return math.sqrt(2.0) * numerator / (n * self.density / 2.0 * epsilon)

    def _is_paper(self) -> bool:
        return check_choice("constants", self.constants, ("paper", "tight")) == "paper"

    def _unit_scale(self, n: int) -> float:
        """Scale of the noise for T = 1 and epsilon = 1."""
        least = self._least(n)
        return 6.0 / least if self._is_paper() else mean_sensitivity(least)

    def _question(self, n: int) -> MeanReleaseQuestion:
        least, scale, bins = self._least(n), self._unit_scale(n), int(self.cubes_.bins)
        return MeanReleaseQuestion(self.truncation_, self.epsilon, bins, least, scale, self._spent(n))

    def _spent(self, n: int) -> float:
        """Exact epsilon of a record."""
        return self.epsilon * mean_sensitivity(self._least(n)) / self._unit_scale(n)

    def _promise(self, n: int, epsilon: float) -> Guarantee:
        slack = "the constant of (38) spends less than two thirds of the stated budget" if self._is_paper() else ""
        return Guarantee("cdp", self._spent(n), note="; ".join(filter(None, [slack, self._leak_note])))
