"""PublicResidualGP: forests on the public sample, and ResidualGP on what they leave of the private labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import clone

from lpbench.estimators.base import Grid, LocalRegressor, SweepResult, Task, expand_grid
from lpbench.estimators.public_sample.public_mean import PublicMean
from lpbench.estimators.relabelled import RelabelledUsers
from lpbench.estimators.tuning_free.public_score import NOTE
from lpbench.estimators.tuning_free.residual_gp import ResidualGP
from lpbench.privacy import Records, Users
from lpbench.seeds import Streams


@dataclass(frozen=True, eq=False)
class LabelResidual:
    """What a public model leaves of the label at the complete record, clipped to [-half, half]."""

    model: PublicMean
    half: float

    def labels(self, records: Records) -> np.ndarray:
        """Clipped residuals."""
        return np.clip(records.y - records.by_row(self.model, self.model.predict), -self.half, self.half)


@dataclass(eq=False, repr=False)
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
    y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`.

    Attributes
    ----------
    public_ : PublicMean or None
    residual_ : ResidualGP
    guarantee_ : Guarantee
        That of ResidualGP: each user sends one report.
    """

    costs = (60000, 12, 20000)
    rounding = "linear algebra of the BLAS"
    uses_mask = True
    uses_public = True

    epsilon: float = 1.0

    def learn(self, users: Users) -> Self:
        """Fit on the public sample and ask the users for what it leaves."""
        streams = self._streams()
        return self._with_residuals(users, PublicMean.of(users, streams), streams)

    def _with_residuals(self, users: Users, public: PublicMean | None, streams: Streams) -> Self:
        self.public_, left, y_range = public, users, self.y_range_
        if public is not None:
            half = public.half_width(y_range)
            y_range = (-half, half)
            left = RelabelledUsers(users, LabelResidual(public, half), y_range)
            users.note(NOTE)
        self.residual_ = residual_model(self.epsilon, y_range, streams).set_params(clip=public is None and self.clip)
        self.residual_.learn_from(left)
        # The seed of the curator's choices is that of the users' noise in a simulation, and does not stay in the model.
        self.residual_.set_params(random_state=None)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete rows X of shape (m, d): ndarray of shape (m,)."""
        X = self._check_predict(X)
        return self._add(0.0 if self.public_ is None else self.public_.predict(X), X)

    def _add(self, public: np.ndarray | float, X: np.ndarray) -> np.ndarray:
        return self._finish(public + self.residual_.predict(X))

    def learn_grid(self, tasks: Sequence[Task], budgets: Sequence[float], grid: Grid) -> list[SweepResult]:
        """Score all budgets; the public forests are shared."""
        points = expand_grid(grid)
        if any(points):
            return super().learn_grid(tasks, budgets, points)
        return [self._scored(task, budgets, len(points)) for task in tasks]

    def _scored(self, task: Task, budgets: Sequence[float], n_points: int) -> SweepResult:
        model, scores = clone(self).set_params(random_state=task.streams), []
        model._meet(task.users)
        public, X = PublicMean.of(task.users, task.streams), model._to_unit_cube(task.X_test)
        predicted = 0.0 if public is None else public.predict(X)
        for epsilon in budgets:
            model.set_params(epsilon=epsilon)._with_residuals(task.users.fresh(), public, task.streams)
            scores.append(task.score(model._add(predicted, X)))
        return SweepResult(np.repeat(np.array(scores)[:, None], n_points, axis=1))


def residual_model(epsilon: float, y_range: tuple[float, float], streams: Streams) -> ResidualGP:
    """ResidualGP on labels in a range, for records in the unit cube."""
    return ResidualGP(epsilon, y_range=y_range, clip=False, domain=(0.0, 1.0), random_state=streams)
