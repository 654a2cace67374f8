"""Means of noisy labels in clusters of the public features, after label privacy via clustering (Esfandiari et al. 2022).

The clusters see what users show and nothing else, so they cost no budget. Every user sends her label with Laplace
noise; the mean of a cluster is drawn towards the mean of all by the variance of its noise. The paper's curator is
trusted and resamples labels; here the labels are private before they leave the user.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpbench.checks import check_whole
from lpbench.estimators.base import LocalRegressor
from lpbench.privacy import Device, Laplace

#: Passes of Lloyd's algorithm.
PASSES = 10


@dataclass(frozen=True)
class LabelQuestion:
    """The public range of the label, and the budget."""

    y_range: tuple[float, float]
    epsilon: float


class NoisyLabel(Device[LabelQuestion]):
    """The label within its public range, with Laplace noise."""

    purpose = "noisy label"

    def mechanism(self, question):
        """Laplace noise for the range of the label."""
        low, high = question.y_range
        return Laplace.for_budget(question.epsilon, sensitivity=max(high - low, 1e-12))

    def inputs(self, records, question):
        """Each user's label."""
        return np.clip(records.y, *question.y_range)


LABEL = NoisyLabel()


@dataclass(eq=False, repr=False)
class ClusterMeans(LocalRegressor):
    """One mean a cluster of the features that everybody shows.

    Parameters
    ----------
    epsilon : float
        Budget of one user.
    clusters : int
        At least 1.
    y_range, clip, domain, random_state
        See :class:`lpbench.estimators.base.LocalRegressor`.
    """

    epsilon: float = 1.0
    clusters: int = 8

    protects = "mask"
    uses_mask = True
    rounding = "sums as wide as the processor's vectors"

    def learn(self, users):
        """Cluster what is shown, then ask everybody for a noisy label."""
        check_whole("clusters", self.clusters, least=1)
        shown = users.shown
        self.features_ = np.flatnonzero(~np.isnan(shown).any(axis=0))
        points = shown[:, self.features_]
        self.centres_ = self._centres(points)
        question = LabelQuestion(self.y_range_, self.epsilon)
        reports = users.ask(LABEL, question)
        where = nearest(points, self.centres_)
        count = np.bincount(where, minlength=len(self.centres_))
        total = np.bincount(where, weights=reports, minlength=len(self.centres_))
        overall = reports.mean()
        means = np.where(count > 0, total / np.maximum(count, 1), overall)
        # noise of a cluster's mean against the spread of the label over its range
        low, high = self.y_range_
        noise = reports.var() / np.maximum(count, 1)
        spread = max(((means - overall) ** 2 * count).sum() / count.sum() - reports.var() / count.sum() * len(count), 0.0)
        weight = spread / np.maximum(spread + noise, 1e-12)
        self.means_ = np.clip(overall + weight * (means - overall), low, high)
        return self

    def _centres(self, points):
        """Lloyd's algorithm from rows that are drawn in public."""
        n = min(self.clusters, len(points))
        centres = points[self._streams().generator("centres").choice(len(points), size=n, replace=False)]
        for _ in range(PASSES):
            where = nearest(points, centres)
            for k in range(n):
                if (where == k).any():
                    centres[k] = points[where == k].mean(axis=0)
        return centres

    def predict(self, X):
        """Predict for X of shape (m, d)."""
        X = self._check_predict(X)
        return self._finish(self.means_[nearest(X[:, self.features_], self.centres_)])


def nearest(points, centres):
    """Number of the nearest centre of each row, the first of several."""
    distances = np.zeros((len(points), len(centres)))
    for j in range(points.shape[1]):
        distances += (points[:, j, None] - centres[None, :, j]) ** 2
    return distances.argmin(axis=1)
