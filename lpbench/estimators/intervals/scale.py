"""Scale of a regressor's residuals, learned from reports: intervals are wider where labels spread more [1]_.

References
----------
.. [1] J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman, "Distribution-free predictive inference for
   regression", JASA 113, 2018, section 5.2.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lpbench.estimators.base import LocalRegressor
from lpbench.estimators.relabeled import RelabeledUsers
from lpbench.estimators.tuning_free.residual_gp import ResidualGP
from lpbench.privacy import Records, Users
from lpbench.privacy.users import Broadcast
from lpbench.seeds import Streams

#: Longest distance that is reported, in standard deviations of a label as the fitted regressor states them.
_LONGEST = 3.0
#: Smallest and largest scale, in typical ones, and the smallest typical distance in ranges of the label.
_LEAST, _MOST, _SHORTEST = 0.25, 4.0, 1e-3


@dataclass(frozen=True, eq=False)
class Distance:
    """Distance of a label from a broadcast regressor's prediction at the complete record, clipped to ``longest``."""

    model: Broadcast
    longest: float

    def labels(self, records: Records) -> np.ndarray:
        """Distance of each label from its prediction, at most the longest: shape (n,)."""
        predicted = records.by_row(self.model, self.model.content.predict)
        return np.minimum(np.abs(records.y - predicted), self.longest)


@dataclass(frozen=True, eq=False)
class ScaledRegressor:
    """Fitted regressor, and a private model of how far labels lie from its predictions; public, as both are."""

    estimator: LocalRegressor
    distance: LocalRegressor
    typical: float  # distance of scale 1
    reach: float  # width of the label's range

    @classmethod
    def to(cls, estimator: LocalRegressor, users: Users, reach: float, epsilon: float, streams: Streams) -> Self:
        """Fit the model of distances to one report, at the whole budget, of users who did not train the estimator."""
        longest = reach
        if isinstance(estimator, ResidualGP):
            longest = min(reach, max(_LONGEST * estimator.fitted_.model.residual_variance**0.5, _SHORTEST * reach))
        asked = RelabeledUsers(users, Distance(Broadcast(estimator), longest), (0.0, longest))
        distance = ResidualGP(y_range=(0.0, longest)).taught(asked, streams, epsilon=epsilon)
        return cls(estimator, distance, max(distance.fitted_.model.mean, _SHORTEST * reach), reach)

    def scale(self, X: np.ndarray) -> np.ndarray:
        """Scale of residuals at rows X (m, d) in the unit cube, about 1 on average: shape (m,)."""
        return np.clip(self.distance.predict(X) / self.typical, _LEAST, _MOST)

    def score(self, X: np.ndarray, y: np.ndarray) -> Any:
        """Residual of labels y (m,) at rows X (m, d) over its scale there, at most the reach: shape (m,)."""
        return np.minimum(np.abs(y - self.estimator.predict(X)) / self.scale(X), self.reach)
