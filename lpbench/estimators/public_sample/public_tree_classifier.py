"""PublicTreeClassifier: LPDT's regression tree on indicators of classes, which takes masks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from lpbench.estimators.public_sample.lpdt import LPDTRegressor
from lpbench.estimators.relabelled import Indicator, RelabelledUsers
from lpbench.estimators.tuning_free.indicators import IndicatorClassifier
from lpbench.estimators.tuning_free.public_score import NOTE
from lpbench.privacy import PublicSample, Users
from lpbench.seeds import Streams

#: Parameters of the regressor.
_TREE = ("epsilon", "depth", "min_samples_leaf", "label_share", "rule", "mechanism")


@dataclass(eq=False, repr=False)
class PublicTreeClassifier(IndicatorClassifier):
    """HistOfTree with a tree of public labels, for classes: :class:`lpbench.estimators.LPDTRegressor` on indicators.

    Parameters
    ----------
    epsilon, depth, min_samples_leaf, label_share, rule, mechanism
        See :class:`lpbench.estimators.LPDTRegressor`.
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public.
    models_ : list of LPDTRegressor
    guarantee_ : Guarantee
    """

    rounding = "sums as wide as the processor's vectors"

    epsilon: float = 1.0
    depth: int = field(default=2, kw_only=True)
    min_samples_leaf: int = field(default=10, kw_only=True)
    label_share: float = field(default=0.5, kw_only=True)
    rule: str = field(default="max_edge", kw_only=True)
    mechanism: str = field(default="grr", kw_only=True)
    domain: Any = field(default=(0.0, 1.0), kw_only=True)

    _cheap = _TREE

    def _asked(self, users: Users, public: None, streams: Streams) -> Self:
        self.public_, n_classes = public, self.classes_.size
        if self._reads(users):
            users.note(NOTE)
        if n_classes == 2:
            self.models_ = [self._regress(users, 1, streams)]
            return self
        # Of more classes the users are divided evenly at random, so that each answers for one at the whole budget.
        order = streams.generator("class groups").permutation(users.n)
        groups = np.array_split(order, n_classes) if n_classes > 2 else []
        self.models_ = [
            self._regress(users.take(group), k, streams.child("class", number=k)) for k, group in enumerate(groups)
        ]
        return self

    def _regress(self, users: Users, k: int, streams: Streams) -> LPDTRegressor:
        """Return a regressor that has learned users' indicators of class k; ``streams`` is the curator's."""
        model = LPDTRegressor(**{name: getattr(self, name) for name in _TREE}, random_state=streams)
        rows = users.public
        labels = None if rows is None else PublicSample(rows.X, (rows.y == k).astype(float))
        model.learn_from(RelabelledUsers(users, Indicator(k), (0.0, 1.0), labels))
        return model.set_params(random_state=None)  # no seed stays in a model

    def _estimate(self, k: int, X: np.ndarray, model: LPDTRegressor, public: None) -> np.ndarray:
        return model.predict(X)
