"""ResidualScore: private classification with masks, a public sample, both or neither."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from lpbench.estimators.base import check_epsilon
from lpbench.estimators.tuning_free.calibration import Calibration, Design
from lpbench.estimators.tuning_free.class_process import fit_indicators
from lpbench.estimators.tuning_free.indicators import IndicatorClassifier
from lpbench.estimators.tuning_free.public_score import NOTE, PublicScore
from lpbench.estimators.tuning_free.residual_gp import Fitted
from lpbench.estimators.tuning_free.rounds import Enrolled
from lpbench.privacy import Users
from lpbench.seeds import Streams


@dataclass(eq=False, repr=False)
class ResidualScore(IndicatorClassifier):
    """Private classification with masks, a public sample, both or neither, without a parameter to tune.

    Where users show features, each sends its class by randomised response. Gaussian processes and a forest on what is
    shown are fitted to unbiased indicators, less the part of a public score that follows from what is shown; the
    prediction adds the score of the complete record, and is a mixture with the private constant, weighted by reports
    that the parts have not seen (:mod:`.class_process`).

    Where users show nothing, each sends its cell of the public score and its class, hidden in a subset of pairs, and
    the posterior of the drift from the score is predicted (:mod:`.calibration`); without a public sample, the estimated
    class shares.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public.
    public_ : PublicScore or None
    models_ : list of Fitted, or Calibration
        Models of the second of two classes, else of each; where nothing is shown, a calibration of the score.
    guarantee_ : Guarantee
        ``semi_feature_ldp``, or ``ldp`` where nothing is shown: epsilon of the one report that a user sends. Public
        rows are not protected.
    """

    costs = (150000, 0.1, 30000)
    rounding = "linear algebra of the BLAS"

    epsilon: float = 1.0
    domain: Any = field(default=(0.0, 1.0), kw_only=True)

    #: Ablations change these.
    _design: ClassVar[Design] = Design()

    def _learn_public(self, users: Users, streams: Streams) -> PublicScore | None:
        if not self._reads(users) or users.public is None:
            return None
        return PublicScore(*users.public, self.classes_.size, streams.integer("tree"), self._design.leaf_sizes)

    def _reads(self, users: Users) -> bool:
        return self.uses_public and super()._reads(users)

    def _shows(self, users: Users) -> bool:
        """Whether users show any feature."""
        return not users.mask.all()

    def _public_at(self, X: np.ndarray) -> np.ndarray | None:
        return None if self.public_ is None else self.public_.predict_proba(X)

    def _asked(self, users: Users, public: PublicScore | None, streams: Streams) -> Self:
        check_epsilon(self.epsilon)
        self.public_, n_classes = public, self.classes_.size
        if public is not None:
            users.note(NOTE)
        if not self._shows(users):
            seed = streams.integer("tree")
            self.models_ = Calibration.of(users, public, self.epsilon, n_classes, seed, self._design)
        else:
            self.models_ = fit_indicators(users, n_classes, self.epsilon, Enrolled.of(users, streams), public)
        return self

    def _probabilities(self, X: np.ndarray, public: np.ndarray | None) -> np.ndarray:
        if isinstance(self.models_, Calibration):
            return self.models_.probabilities(public, X)
        return super()._probabilities(X, public)

    def _estimate(self, k: int, X: np.ndarray, model: Fitted, public: np.ndarray | None) -> np.ndarray:
        return model.at(X, None if public is None else public[:, k])
