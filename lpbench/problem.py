"""A learning problem of one replication: what the harness hands to an estimator."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lpbench.errors import ConfigurationError, DataError, unknown_name

#: Metrics of some test rows: of the group of people that fares worst, how far groups are apart, and of the first row.
PARTIAL = ("worst_group", "group_gap", "at_point")
#: For each metric, True where a larger value is better.
METRICS = {"mse": False, "accuracy": True, "balanced_accuracy": True, "auc": True, "excess_risk": False}
METRICS |= {f"{kind_of}_mse": False for kind_of in PARTIAL}
METRICS |= {f"{kind_of}_accuracy": kind_of != "group_gap" for kind_of in PARTIAL}
#: Metrics of the probability of class 1 instead of the predicted class.
BY_PROBABILITY = ("auc",)


@dataclass(frozen=True, eq=False)
class Problem:
    """Train and test rows, mask and public sample of one replication.

    Attributes
    ----------
    X_train : ndarray of shape (n, d)
        Features of the private users; scaled so that the declared domain is [0, 1]^d.
    y_train : ndarray of shape (n,)
        Labels (float for regression, class labels for classification). Always protected.
    X_test, y_test : ndarray of shapes (m, d), (m,)
        Test rows, never seen by ``fit``.
    mask : boolean ndarray of shape (n, d) or None
        True where the feature of the user is protected. None: every feature is protected.
    X_public, y_public : ndarray of shapes (q, d), (q,) or None
        Public labeled sample.
    y_range : (float, float) or None
        Publicly known range of the label (regression).
    metric : {"mse", "accuracy", "balanced_accuracy", "auc", "excess_risk"}, or a part of :data:`PARTIAL` and "_mse"
        How predictions are scored.
    eta_test : ndarray or None
        True regression function at the test rows, shape (m,), or class probabilities, shape (m, K), where the
        distribution is known; needed by ``excess_risk``.
    classes : ndarray or None
        Class labels in the order of ``eta_test``'s columns.
    replication : int
        Index of the replication.
    context : mapping
        Facts about the draw that an experiment may need (for example the range ``a`` of LPCT figure 8).
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    mask: np.ndarray | None = None
    X_public: np.ndarray | None = None
    y_public: np.ndarray | None = None
    y_range: tuple[float, float] | None = None
    metric: str = "mse"
    eta_test: np.ndarray | None = None
    classes: np.ndarray | None = None
    replication: int = 0
    context: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fit_arguments(self) -> dict[str, Any]:
        """Keyword arguments for ``fit`` (mask, public sample, and which columns or rows belong together)."""
        together = {"groups": self.groups, "units": self.units}
        given = {name: value for name, value in together.items() if value is not None}
        return {"mask": self.mask, "X_public": self.X_public, "y_public": self.y_public, **given}

    @property
    def groups(self) -> list[list[int]] | None:
        """Columns that are the levels of one feature, for each such feature: ``levels`` of the context."""
        levels = self.context.get("levels")
        if levels is None or levels.max(initial=-1) < 0:
            return None
        return [np.flatnonzero(levels == k).tolist() for k in range(levels.max() + 1)]

    @property
    def units(self) -> np.ndarray | None:
        """Number of the person of each training row, shape (n,), where one has several: ``units`` of the context."""
        units = self.context.get("units")
        return None if units is None else np.asarray(units)

    def score(self, predictions: np.ndarray) -> np.ndarray:
        """Return the metric of predictions of the test rows.

        Parameters
        ----------
        predictions : ndarray of shape (..., m)
            Labels or classes; probabilities of class 1 for the metrics in :data:`BY_PROBABILITY`.

        Returns
        -------
        ndarray of shape (...)
            One value for each set of m predictions; NaN where one of them is missing (NaN).
        """
        if predictions is None:
            raise DataError("predict returned None: end it with `return predictions`")
        predictions = np.asarray(predictions)
        numbers = predictions.dtype.kind in "biuf"
        if numbers != (self.y_test.dtype.kind in "biuf") or predictions.shape[-1:] != self.y_test.shape:
            raise DataError(
                f"predictions have shape {predictions.shape} and type {predictions.dtype}; {len(self.y_test)} of type "
                f"{self.y_test.dtype} are expected, one a test row"
            )
        scores = self._scores(predictions)
        if predictions.dtype.kind == "f" and self.metric != "mse" and np.isnan(predictions).any():
            scores = np.where(np.isnan(predictions).any(axis=-1), np.nan, scores)
        return scores

    def _scores(self, predictions: np.ndarray) -> np.ndarray:
        """Return the metric of predictions (..., m) along their last axis, one number per row of predictions."""
        if self.metric == "mse":
            return np.mean((predictions - self.y_test) ** 2, axis=-1)
        if self.metric == "accuracy":
            return np.mean(predictions == self.y_test, axis=-1)
        if self.metric == "balanced_accuracy":
            hits, classes = predictions == self.y_test, np.unique(self.y_test)
            return np.mean([hits[..., self.y_test == c].mean(axis=-1) for c in classes], axis=0)
        if self.metric == "auc":
            return self._auc(predictions)
        if self.metric == "excess_risk":
            return self._excess_risk(predictions)
        prefix, _, kind = self.metric.rpartition("_")
        if prefix in PARTIAL:
            return self._partial(
                prefix, (predictions - self.y_test) ** 2 if kind == "mse" else predictions == self.y_test
            )
        raise unknown_name("metric", self.metric, METRICS)

    def _partial(self, prefix: str, rows: np.ndarray) -> np.ndarray:
        """Worst mean over the groups of ``context["group"]``, or largest difference of means; or the first row.

        ``prefix`` says which of these; ``rows`` (..., m) are losses or hits by test row, and the result is (...).
        """
        if prefix == "at_point":
            return np.asarray(rows[..., 0], dtype=float)
        group = self.context.get("group")
        if group is None:
            raise ConfigurationError(f"metric={self.metric!r} needs groups: name them in the manifest, `group: ...`")
        means = np.array([rows[..., group == g].mean(axis=-1) for g in np.unique(group)])
        if prefix == "group_gap":
            return np.asarray(np.ptp(means, axis=0))
        return np.asarray(means.min(axis=0) if METRICS[self.metric] else means.max(axis=0))

    def _auc(self, probabilities: np.ndarray) -> np.ndarray:
        """Share of pairs of a row of class 1 and one of another that are in the right order; ties count half."""
        # half a second of a start, which lists and stored cells do without
        from scipy.stats import rankdata

        positive = self.y_test == 1
        n = int(positive.sum())
        ranks = rankdata(probabilities, axis=-1)[..., positive].sum(axis=-1)
        return (ranks - n * (n + 1) / 2.0) / (n * (positive.size - n))

    def _excess_risk(self, predictions: np.ndarray) -> np.ndarray:
        """Return the loss in excess of the best predictor's, by the known regression function or class probabilities.

        Regression: mean (prediction - eta)^2. Classification: mean of max eta minus eta of the predicted class.
        """
        if self.eta_test is None:
            raise ConfigurationError(
                "metric='excess_risk' needs eta_test, the true regression function at the test rows"
            )
        if self.eta_test.ndim == 1:
            return np.mean((predictions - self.eta_test) ** 2, axis=-1)
        if self.classes is None:
            raise ConfigurationError(
                "metric='excess_risk' of a classifier needs classes, the labels of eta_test's columns"
            )
        index = np.searchsorted(self.classes, predictions).clip(max=len(self.classes) - 1)
        if (unknown := (self.classes[index] != predictions) & (predictions == predictions)).any():
            raise DataError(f"prediction {predictions[unknown][0]} is none of the classes {self.classes.tolist()}")
        rows = np.broadcast_to(np.arange(self.eta_test.shape[0]), index.shape)
        return np.mean(self.eta_test.max(axis=1) - self.eta_test[rows, index], axis=-1)
