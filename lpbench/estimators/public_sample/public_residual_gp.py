"""PublicResidualGP: forests on the public sample, and ResidualGP on what they leave of the private labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from sklearn.base import clone

from lpbench.estimators.base import Grid, LocalRegressor, Rows, SweepResult, expand_grid
from lpbench.estimators.public_sample.public_mean import PublicMean
from lpbench.estimators.public_sample.public_rows import NOTE, public_rows
from lpbench.estimators.tuning_free.residual_gp import ResidualGP
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that does not depend on the budget.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        In the unit cube.
    labels : ndarray of shape (n,)
        On the devices: labels, or residuals of the public prediction clipped to ``y_range``.
    mask : boolean ndarray of shape (n, d)
    public : PublicMean or None
    y_range : (float, float)
        Public range of ``labels``.
    """

    X: np.ndarray
    labels: np.ndarray
    mask: np.ndarray
    public: PublicMean | None
    y_range: tuple[float, float]


class PublicResidualGP(LocalRegressor):
    """Private regression with a public sample, masks, or both, without a parameter to tune.

    Forests on the public sample (:class:`.public_mean.PublicMean`) are broadcast. Every device subtracts their
    prediction at its own complete record from its label, and :class:`lpbench.estimators.ResidualGP` asks for what is
    left, with the features that the user shows. Where no feature is shown, a mean and, if the budget allows, effects of
    protected features are learned from users; without a public sample this is ResidualGP, bit for bit.

    Residuals are clipped to the largest one among public rows that were left out, so that noise is on their scale.
    Where private labels follow another law than public ones, what exceeds it is not learned.

    Parameters
    ----------
    epsilon : float
        Budget of one user.
    y_range : (float, float)
        Public range of the label.
    clip : bool
        Clip predictions to ``y_range``.
    domain : (float, float)
        Public range of every feature.
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    public_ : PublicMean or None
    residual_ : ResidualGP
    guarantee_ : Guarantee
        That of ResidualGP: each user sends one report.
    """

    uses_mask = True
    uses_public = True

    def __init__(
        self,
        epsilon: float = 1.0,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Fit on the public sample and ask the users.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Labels within ``y_range``.
        mask : boolean ndarray of shape (n, d), optional
            True where a user protects a feature. None: all features are protected.
        X_public : ndarray of shape (q, d), optional
        y_public : ndarray of shape (q,), optional

        Returns
        -------
        self
        """
        return self._fit(self._prepare(X, y, mask, X_public, y_public))

    def _prepare(self, X: np.ndarray, y: np.ndarray, mask: Rows, X_public: Rows, y_public: Rows) -> Prepared:
        X, y, mask = self._check_fit(X, y, mask)
        given = public_rows(self, X_public, y_public)
        if given is None:
            lo, hi = self.y_range_
            # A range of a single value, taken from constant labels, is widened to have a width.
            return Prepared(X, y, mask, None, (lo, hi) if hi > lo else (lo - 0.5, hi + 0.5))
        public = PublicMean(*given, self._streams())
        half = public.half_width(self.y_range_)
        return Prepared(X, public_residuals(y, public.predict(X), half), mask, public, (-half, half))

    def _fit(self, prepared: Prepared) -> Self:
        self.public_ = prepared.public
        self.residual_ = residual_model(self.epsilon, prepared.y_range, self._streams())
        if prepared.public is None:
            self.residual_.set_params(clip=self.clip)
        # The seed of the users' noise does not stay in the model.
        self.residual_.fit(prepared.X, prepared.labels, mask=prepared.mask).set_params(random_state=None)
        spent = self.residual_.guarantee_
        bits = 0.0 if prepared.public is None else prepared.public.bits
        note = self._noted(NOTE if prepared.public is not None else "")
        self.guarantee_ = replace(spent, bits_down=spent.bits_down + bits, note=note)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete rows X of shape (m, d): ndarray of shape (m,)."""
        X = self._check_predict(X)
        return self._add(0.0 if self.public_ is None else self.public_.predict(X), X)

    def _add(self, public: np.ndarray | float, X: np.ndarray) -> np.ndarray:
        return self._finish(public + self.residual_.predict(X))

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score all budgets; the public forests are shared."""
        points = expand_grid(grid)
        if any(points):
            return super().sweep(problem, budgets, points, streams)
        model = clone(self).set_params(random_state=streams)
        prepared = model._prepare(problem.X_train, problem.y_train, **problem.fit_arguments)
        X = model._to_unit_cube(problem.X_test)
        public = 0.0 if prepared.public is None else prepared.public.predict(X)
        scores = [problem.score(model.set_params(epsilon=e)._fit(prepared)._add(public, X)) for e in budgets]
        return SweepResult(np.repeat(np.array(scores)[:, None], len(points), axis=1))


def public_residuals(y: np.ndarray, prediction: np.ndarray, half: float) -> np.ndarray:
    """What devices are asked for: labels minus the public prediction at the own record, clipped to [-half, half]."""
    return np.clip(y - prediction, -half, half)


def residual_model(epsilon: float, y_range: tuple[float, float], streams: Streams) -> ResidualGP:
    """ResidualGP on labels in a range, for records in the unit cube."""
    return ResidualGP(epsilon, y_range=y_range, clip=False, domain=(0.0, 1.0), random_state=streams)
