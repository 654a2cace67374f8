"""PublicTreeClassifier: LPDT's regression tree on indicators of classes, which takes masks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lpbench.estimators.base import LocalRegressor
from lpbench.estimators.public_sample.indicators import IndicatorClassifier, Sample
from lpbench.estimators.public_sample.lpdt import LPDTRegressor
from lpbench.seeds import Seed, Streams


class PublicTreeClassifier(IndicatorClassifier):
    """HistOfTree with a tree of public labels, for classes: :class:`lpbench.estimators.LPDTRegressor` on indicators.

    Parameters
    ----------
    epsilon, depth, min_samples_leaf, label_share, rule, mechanism, domain, random_state
        See :class:`lpbench.estimators.LPDTRegressor`.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public.
    models_ : list of LPDTRegressor
    guarantee_ : Guarantee
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        depth: int = 2,
        min_samples_leaf: int = 10,
        label_share: float = 0.5,
        rule: str = "max_edge",
        mechanism: str = "grr",
        domain: tuple[float, float] = (0.0, 1.0),
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.depth = depth
        self.min_samples_leaf = min_samples_leaf
        self.label_share = label_share
        self.rule = rule
        self.mechanism = mechanism
        self.domain = domain
        self.classes = classes
        self.random_state = random_state

    def regressor(self, streams: Streams) -> LPDTRegressor:
        """Return the regressor of an indicator."""
        names = ("epsilon", "depth", "min_samples_leaf", "label_share", "rule", "mechanism")
        params = {name: getattr(self, name) for name in names}
        return LPDTRegressor(**params, y_range=(0.0, 1.0), domain=(0.0, 1.0), random_state=streams)

    def _regress(self, sample: Sample, k: int, users: np.ndarray, streams: Streams) -> LocalRegressor:
        given = {}
        if sample.X_public is not None and sample.public_codes is not None:
            given = {"X_public": sample.X_public, "y_public": (sample.public_codes == k).astype(float)}
        indicator = (sample.codes[users] == k).astype(float)
        return self.regressor(streams).fit(sample.X[users], indicator, mask=sample.mask[users], **given)

    def _estimate(self, k: int, X: np.ndarray, model: LocalRegressor, public: None) -> np.ndarray:
        return model.predict(X)
