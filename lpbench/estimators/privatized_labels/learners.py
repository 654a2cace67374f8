"""Learners that are fitted to privatized labels: a few by name, and any other of scikit-learn's kind."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import BayesianRidge, LogisticRegression, RidgeCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from lpbench.checks import check_choice
from lpbench.errors import ConfigurationError
from lpbench.estimators.result_cache import Shared
from lpbench.seeds import Streams

#: Share of the users that a leaf of a forest holds at least: reports are noisy, and trees average within leaves.
LEAF_SHARE = 0.02
#: Landmarks of the Gaussian process, whose cost grows with their number and not with that of the users squared.
LANDMARKS = 100
#: Kernel features of the last samples, and the decompositions of many: budgets and randomizers have them in common.
_FEATURES, _DECOMPOSED = Shared(4), Shared(256)


class SharedNystroem(Nystroem):
    """Nystroem's features, computed once for the same landmarks and rows."""

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return Nystroem's features of X, shape (m, components), from the cache if the same were computed before."""
        of_rows = super().transform
        return _FEATURES((self.components_, self.normalization_, X), lambda: of_rows(X))


class SharedBayesianRidge(BayesianRidge):
    """scikit-learn's BayesianRidge, bit for bit, which decomposes the same features once whatever the labels are."""

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit as scikit-learn does, to the bit, but take the singular value decomposition of X from a cache.

        Fits to several privatized label vectors of the same rows differ in y alone. Weights, or n <= k, go to
        scikit-learn.
        """
        n, k = X.shape
        if sample_weight is not None or n <= k:
            return super().fit(X, y, sample_weight)
        mean, center = X.mean(axis=0), y.mean()
        Z, z = X - mean, y - center
        lengths, axes = _DECOMPOSED((X,), lambda: linalg.svd(Z, full_matrices=False)[1:])
        decomposition = Z, z, n, k, Z.T @ z, None, axes, lengths**2
        alpha, penalty, before = 1.0 / (y.var() + np.finfo(float).eps), 1.0, np.full(k, np.inf)
        for _ in range(self.max_iter):  # MacKay (1992)
            coef, loss = self._update_coef_(*decomposition, alpha, penalty)
            freedom = np.sum(alpha * lengths**2 / (penalty + alpha * lengths**2))
            penalty = (freedom + 2 * self.lambda_1) / (np.sum(coef**2) + 2 * self.lambda_2)
            alpha = (n - freedom + 2 * self.alpha_1) / (loss + 2 * self.alpha_2)
            if np.sum(np.abs(before - coef)) < self.tol:
                break
            before = coef
        self.coef_, _ = self._update_coef_(*decomposition, alpha, penalty)
        self.intercept_, self.n_features_in_, self.X_offset_ = center - mean @ self.coef_, k, mean
        self.alpha_, self.lambda_ = alpha, penalty
        self.sigma_ = axes.T @ (axes / (alpha * lengths**2 + penalty)[:, None])
        return self


def _on_landmarks(**last: BaseEstimator) -> Pipeline:
    return Pipeline([("nystroem", SharedNystroem(n_components=LANDMARKS)), *last.items()])


#: Name -> function that builds a regressor.
REGRESSORS: Mapping[str, Callable[[], BaseEstimator]] = {
    "ridge": lambda: RidgeCV(alphas=np.logspace(-3, 4, 15)),
    "extra_trees": lambda: ExtraTreesRegressor(n_estimators=50, min_samples_leaf=LEAF_SHARE),
    "hist_gradient_boosting": lambda: HistGradientBoostingRegressor(max_iter=50, learning_rate=0.1, max_leaf_nodes=8),
    # on landmarks; its variances are fitted to the reports by marginal likelihood
    "gaussian_process": lambda: _on_landmarks(bayesianridge=SharedBayesianRidge()),
}
#: Name -> function that builds a classifier with ``predict_proba``.
CLASSIFIERS: Mapping[str, Callable[[], BaseEstimator]] = {
    "ridge": lambda: LogisticRegression(C=1.0, max_iter=200),
    "extra_trees": lambda: ExtraTreesClassifier(n_estimators=50, min_samples_leaf=LEAF_SHARE),
    "hist_gradient_boosting": lambda: HistGradientBoostingClassifier(
        max_iter=50, learning_rate=0.1, max_leaf_nodes=8, early_stopping=False
    ),
    "gaussian_process": lambda: _on_landmarks(logisticregression=LogisticRegression(max_iter=200)),
}


def build_learner(
    learner: str | BaseEstimator, registered: Mapping[str, Callable[[], BaseEstimator]], streams: Streams, n: int
) -> BaseEstimator:
    """Return an unfitted learner, by its known name or a clone, with random states from the streams, for n users."""
    if isinstance(learner, str):
        model = registered[check_choice("learner", learner, registered)]()
    else:
        model = clone(learner)
    chosen: dict[str, Any] = {
        name: streams.integer("learner", parameter=name)
        for name in sorted(model.get_params())
        if name == "random_state" or name.endswith("__random_state")
    }
    if isinstance(learner, str) and "nystroem__n_components" in model.get_params():
        chosen["nystroem__n_components"] = min(LANDMARKS, n)
    return model.set_params(**chosen)


def fit_learner(
    model: BaseEstimator, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, needed: bool = False
) -> BaseEstimator:
    """Fit a learner, with sample weights if it takes them (``needed``: it must) and they differ."""
    if weights is None or np.ptp(weights) == 0:
        return model.fit(X, y)
    name, last = "sample_weight", model
    while isinstance(last, Pipeline):
        step, last = last.steps[-1]
        name = f"{step}__{name}"
    if has_fit_parameter(last, "sample_weight"):
        return model.fit(X, y, **{name: weights})
    if needed:
        raise ConfigurationError(f"learner={model!r} takes no sample_weight, which reports that are not classes need")
    return model.fit(X, y)


def shown_features(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns that some users show, and what is shown of them, with its means in the place of the rest."""
    hidden = np.isnan(features)
    columns = np.flatnonzero(~hidden.all(axis=0))
    features, hidden = features[:, columns], hidden[:, columns]
    if not hidden.any():
        return columns, features
    means = np.where(hidden, 0.0, features).sum(axis=0) / (~hidden).sum(axis=0)
    return columns, np.where(hidden, means, features)
