"""Naive Bayes from privatised pairs of class and feature (Yilmaz, Al-Rubaie and Chang 2019), one feature a user.

Every user protects the whole record. She is asked for one feature alone, drawn in public, and answers with the pair of
her class and the bin of that feature by generalised randomised response at the whole budget; the paper's users answer
for all features and divide it. Class shares and the bins' shares within a class are unbiased estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lpbench.checks import check_whole
from lpbench.estimators.base import LocalClassifier
from lpbench.privacy import GRR, Device


@dataclass(frozen=True)
class PairQuestion:
    """Which feature each user is asked for, in how many bins, with how many classes, at which budget: all public."""

    feature: np.ndarray
    bins: int
    n_classes: int
    epsilon: float

    def take(self, users):
        """The question to some of the users."""
        return replace(self, feature=self.feature[users])


class PairDevice(Device[PairQuestion]):
    """The bin of one feature and the class, as one of bins x classes values."""

    purpose = "pair of feature and class"

    def mechanism(self, question):
        """Generalised randomised response over all pairs."""
        return GRR(question.epsilon, question.bins * question.n_classes)

    def inputs(self, records, question):
        """Number of each user's pair."""
        values = records.X[np.arange(len(question.feature)), question.feature]
        return bins_of(values, question.bins) * question.n_classes + records.y


PAIR = PairDevice()


def bins_of(values, bins):
    """Bins of equal width of the public range [0, 1]."""
    return np.clip((values * bins).astype(int), 0, bins - 1)


@dataclass(eq=False, repr=False)
class BayesByBins(LocalClassifier):
    """Naive Bayes on binned features.

    Parameters
    ----------
    epsilon : float
        Budget of one user.
    bins : int
        Bins of each feature, at least 2.
    domain, classes, random_state
        See :class:`lpbench.estimators.base.LocalClassifier`.
    """

    epsilon: float = 1.0
    bins: int = 4
    domain: Any = field(default=(0.0, 1.0), kw_only=True)

    protects = "record"

    def learn(self, users):
        """Ask each user for one feature, and estimate the shares of bins and classes."""
        check_whole("bins", self.bins, least=2)
        n_classes, d = self.classes_.size, users.n_features
        # one user more or less a feature: who answers for what is public
        feature = self._streams().generator("features").permutation(users.n) % d
        question = PairQuestion(feature, self.bins, n_classes, self.epsilon)
        n_pairs = self.bins * n_classes
        reports = users.ask(PAIR, question)
        counts = np.bincount(feature * n_pairs + reports, minlength=d * n_pairs).reshape(d, n_pairs)
        mechanism = PAIR.mechanism(question)
        joint = np.array([np.reshape(mechanism.estimate(row, row.sum()), (self.bins, n_classes)) for row in counts])
        totals = np.maximum(joint.sum(axis=(0, 1)), 1.0)
        self.prior_ = np.log(totals / totals.sum())
        smooth = np.maximum(joint, 0.0) + 1.0
        self.likelihood_ = np.log(smooth / smooth.sum(axis=1, keepdims=True))
        return self

    def predict_proba(self, X):
        """Return the estimated class probabilities: shape (m, n_classes)."""
        bins = bins_of(self._check_predict(X), self.bins)
        scores = self.prior_ + sum(self.likelihood_[j][bins[:, j]] for j in range(bins.shape[1]))
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)
