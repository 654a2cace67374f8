"""ResidualScore: a public score, and ResidualGP on what it leaves of the private class indicators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lpbench.checks import check_choice
from lpbench.estimators.base import LocalRegressor
from lpbench.estimators.public_sample.class_process import ClassProcess
from lpbench.estimators.public_sample.indicators import IndicatorClassifier, Sample
from lpbench.estimators.public_sample.public_residual_gp import public_residuals, residual_model
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.seeds import Seed, Streams

REPORTS = ("residuals", "labels")


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
    domain : (float, float)
        Public range of every feature, to which features are clipped.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    random_state : int, Generator, RandomState, Streams or None

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

    def __init__(
        self,
        epsilon: float = 1.0,
        public: bool = True,
        reports: str = "residuals",
        domain: tuple[float, float] = (0.0, 1.0),
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.public = public
        self.reports = reports
        self.domain = domain
        self.classes = classes
        self.random_state = random_state

    def _learn_public(self, sample: Sample) -> PublicScore | None:
        if not self.public or sample.X_public is None or sample.public_codes is None:
            return None
        seed = self._streams().integer("tree")
        return PublicScore(sample.X_public, sample.public_codes, self.classes_.size, seed)

    def _reads(self, sample: Sample) -> bool:
        return sample.public is not None

    def _public_at(self, X: np.ndarray) -> np.ndarray | None:
        return None if self.public_ is None else self.public_.predict_proba(X)

    def _regress(self, sample: Sample, k: int, users: np.ndarray, streams: Streams) -> LocalRegressor:
        check_choice("reports", self.reports, REPORTS)
        labels, y_range, X = (sample.codes[users] == k).astype(float), (0.0, 1.0), sample.X[users]
        if self.reports == "labels":
            process = ClassProcess(self.epsilon, y_range=y_range, clip=False, domain=(0.0, 1.0), random_state=streams)
            return process.ask(X, labels, sample.mask[users], self._scored(sample, k))
        if sample.public is not None:
            labels, y_range = public_residuals(labels, sample.public.predict_proba(X)[:, k], 1.0), (-1.0, 1.0)
        return residual_model(self.epsilon, y_range, streams).fit(X, labels, mask=sample.mask[users])

    @staticmethod
    def _scored(sample: Sample, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Public rows and their scores of class k."""
        if sample.public is None or sample.X_public is None:
            return None
        return sample.X_public, sample.public.predict_proba(sample.X_public)[:, k]

    def _estimate(self, k: int, X: np.ndarray, model: LocalRegressor, public: np.ndarray | None) -> np.ndarray:
        return model.predict(X) + (0.0 if public is None else public[:, k])

    def _public_bits(self) -> float:
        broadcast = self.public_ is not None and self.reports == "residuals"
        return score_bits(self.public_) if broadcast else 0.0


def score_bits(score: PublicScore) -> float:
    """Bits of the broadcast forests: feature and threshold of each cut, class shares of each leaf."""
    trees = [tree for forest in score._forests for tree, _ in forest._trees]
    cuts = sum(tree.node_count // 2 for tree in trees)
    return 64.0 * (2 * cuts + (cuts + len(trees)) * (score.n_classes - 1)) + 64.0
