"""Learners that are fitted to privatised labels: a few by name, and any other of scikit-learn's kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import BayesianRidge, LogisticRegression, RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import has_fit_parameter

from lpbench.checks import check_choice
from lpbench.errors import ConfigurationError
from lpbench.seeds import Streams

#: Share of the users that a leaf of a forest holds at least: reports are noisy, and trees average within leaves.
LEAF_SHARE = 0.02
#: Landmarks of the Gaussian process, whose cost grows with their number and not with that of the users squared.
LANDMARKS = 100


#: Name -> function that builds a regressor.
REGRESSORS: Mapping[str, Callable[[], BaseEstimator]] = {
    "ridge": lambda: RidgeCV(alphas=np.logspace(-3, 4, 15)),
    "extra_trees": lambda: ExtraTreesRegressor(n_estimators=50, min_samples_leaf=LEAF_SHARE),
    "hist_gradient_boosting": lambda: HistGradientBoostingRegressor(max_iter=50, learning_rate=0.1, max_leaf_nodes=8),
    # on landmarks; its variances are fitted to the reports by marginal likelihood
    "gaussian_process": lambda: make_pipeline(Nystroem(n_components=LANDMARKS), BayesianRidge()),
}
#: Name -> function that builds a classifier with ``predict_proba``.
CLASSIFIERS: Mapping[str, Callable[[], BaseEstimator]] = {
    "ridge": lambda: LogisticRegression(C=1.0, max_iter=200),
    "extra_trees": lambda: ExtraTreesClassifier(n_estimators=50, min_samples_leaf=LEAF_SHARE),
    "hist_gradient_boosting": lambda: HistGradientBoostingClassifier(
        max_iter=50, learning_rate=0.1, max_leaf_nodes=8, early_stopping=False
    ),
    "gaussian_process": lambda: make_pipeline(Nystroem(n_components=LANDMARKS), LogisticRegression(max_iter=200)),
}


def build_learner(
    learner: str | BaseEstimator, known: Mapping[str, Callable[[], BaseEstimator]], streams: Streams, n: int
) -> BaseEstimator:
    """Return an unfitted learner, by its known name or a clone, with random states from the streams, for n users."""
    if isinstance(learner, str):
        model = known[check_choice("learner", learner, known)]()
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


def shown_features(shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns that some users show, and what is shown of them, with its means in the place of the rest."""
    hidden = np.isnan(shown)
    columns = np.flatnonzero(~hidden.all(axis=0))
    shown, hidden = shown[:, columns], hidden[:, columns]
    if not hidden.any():
        return columns, shown
    means = np.where(hidden, 0.0, shown).sum(axis=0) / (~hidden).sum(axis=0)
    return columns, np.where(hidden, means, shown)
