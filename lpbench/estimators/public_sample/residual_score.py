"""ResidualScore: a public score, and ResidualGP on what it leaves of the private class indicators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lpbench.checks import check_choice
from lpbench.estimators.base import LocalRegressor
from lpbench.estimators.public_sample.class_process import ClassProcess
from lpbench.estimators.public_sample.indicators import IndicatorClassifier
from lpbench.estimators.public_sample.public_residual_gp import residual_model
from lpbench.estimators.relabelled import Indicator, RelabelledUsers
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.privacy import PublicSample, Records, Users
from lpbench.seeds import Streams

REPORTS = ("residuals", "labels")


@dataclass(frozen=True, eq=False)
class IndicatorResidual:
    """What a public score leaves of the indicator of a class at the complete record."""

    score: PublicScore
    code: int

    def labels(self, records: Records) -> np.ndarray:
        """Residuals in [-1, 1]."""
        probabilities = records.by_row(self.score, self.score.predict_proba)
        return np.clip((records.y == self.code) - probabilities[:, self.code], -1.0, 1.0)


@dataclass(eq=False, repr=False)
class ResidualScore(IndicatorClassifier):
    """Private classification with masks, a public sample, or both, without a parameter to tune.

    The class probabilities of forests on the public sample (those of :class:`lpbench.estimators.PublicForest`) are
    broadcast; every device subtracts them from the indicator of its class, and
    :class:`lpbench.estimators.ResidualGP` asks for what is left, with the features that the user shows. Without a
    public sample it asks for the indicator itself.

    Parameters
    ----------
    epsilon : float
        Budget of one user.
    public : bool
        False: a public sample is not read, as if there were none.
    reports : {"residuals", "labels"}
        ``labels``: the second build. Devices send the indicator itself by randomised response (:mod:`.class_process`),
        and the curator subtracts what it knows of the public score.
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public.
    public_ : PublicScore or None
    models_ : list of ResidualGP
        Of the second of two classes, else of each.
    guarantee_ : Guarantee
        ``semi_feature_ldp``: epsilon of the one report that a user sends.
    """

    costs = (150000, 26, 60000)
    rounding = "linear algebra of the BLAS"

    epsilon: float = 1.0
    public: bool = True
    reports: str = "residuals"
    domain: Any = field(default=(0.0, 1.0), kw_only=True)

    _cheap = ("reports",)

    def _learn_public(self, users: Users, streams: Streams) -> PublicScore | None:
        if not self._reads(users) or users.public is None:
            return None
        return PublicScore(*users.public, self.classes_.size, streams.integer("tree"))

    def _reads(self, users: Users) -> bool:
        return self.public and super()._reads(users)

    def _public_at(self, X: np.ndarray) -> np.ndarray | None:
        return None if self.public_ is None else self.public_.predict_proba(X)

    def _regress(self, users: Users, k: int, public: PublicScore | None, streams: Streams) -> LocalRegressor:
        check_choice("reports", self.reports, REPORTS)
        if self.reports == "labels":
            scored = None
            if public is not None and users.public is not None:
                scored = PublicSample(users.public.X, public.predict_proba(users.public.X)[:, k])
            process = ClassProcess(self.epsilon, clip=False, random_state=streams)
            return process.learn_from(RelabelledUsers(users, Indicator(k), (0.0, 1.0), scored))
        if public is None:
            left = RelabelledUsers(users, Indicator(k), (0.0, 1.0))
        else:
            left = RelabelledUsers(users, IndicatorResidual(public, k), (-1.0, 1.0))
        return residual_model(self.epsilon, left.range, streams).learn_from(left)

    def _estimate(self, k: int, X: np.ndarray, model: LocalRegressor, public: np.ndarray | None) -> np.ndarray:
        return model.predict(X) + (0.0 if public is None else public[:, k])
