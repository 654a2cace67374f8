"""Models of diffprivlib with public bounds, for ``lpbench audit code --learner``, where the library is installed.

``lpbench audit code --learner scripts/audits/models_of_diffprivlib.py:linear_regression --protects record --epsilon 1``
"""

import inspect
import sys
from functools import cache
from types import ModuleType
from typing import Any, Self

import numpy as np
from diffprivlib import models


@cache
def mended(kind: type, *changes: tuple[str, str]) -> type:
    """A class of the library whose module's source is changed: the twin of a finding, which must not be accused."""
    source, module = inspect.getsource(sys.modules[kind.__module__]), ModuleType(f"{kind.__module__}_mended")
    for before, after in changes:
        assert before in source, f"{kind.__module__} is another version: {before}"
        source = source.replace(before, after)
    module.__package__ = kind.__module__.rpartition(".")[0]
    sys.modules[module.__name__] = module
    exec(compile(source, module.__name__, "exec"), vars(module))
    return getattr(module, kind.__name__)


def linear_regression(epsilon: float, random_state: int) -> Any:
    """Bounds that begin at 0, where the released code takes the sensitivity of a sum of squares to be 0."""
    return models.LinearRegression(epsilon=epsilon, bounds_X=(0, 100), bounds_y=(0, 100), random_state=random_state)


def linear_regression_through_0(epsilon: float, random_state: int) -> Any:
    """Bounds that begin at 0, and no intercept: the sum of squares is released without noise."""
    return models.LinearRegression(
        epsilon=epsilon, bounds_X=(0, 100), bounds_y=(0, 100), fit_intercept=False, random_state=random_state
    )


def linear_regression_mended(epsilon: float, random_state: int) -> Any:
    """The sensitivity of a sum of squares is that of the larger bound, and records are always clipped."""
    kind = mended(
        models.LinearRegression,
        ("[bounds_X[0][i], bounds_X[0][i]]", "[bounds_X[0][i], bounds_X[1][i]]"),
        (
            "    else:\n        X_offset",
            "    else:\n        X, y = clip_to_bounds(X, bounds_X), clip_to_bounds(y, bounds_y)\n        X_offset",
        ),
    )
    return kind(epsilon=epsilon, bounds_X=(0, 100), bounds_y=(0, 100), random_state=random_state)


def linear_regression_through_0_mended(epsilon: float, random_state: int) -> Any:
    """The same without an intercept."""
    return linear_regression_mended(epsilon, random_state).set_params(fit_intercept=False)


def logistic_regression(epsilon: float, random_state: int) -> Any:
    """Classes 0 and 1, rows of norm 1 at most."""
    return models.LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=random_state)


def gaussian_nb(epsilon: float, random_state: int) -> Any:
    """Classes 0 and 1, features between 0 and 1."""
    return models.GaussianNB(epsilon=epsilon, bounds=(0, 1), random_state=random_state)


def gaussian_nb_away_from_0(epsilon: float, random_state: int) -> Any:
    """Classes 0 and 1, features between 10 and 11: a record that leaves a class moves its sum by 10 at least."""
    return models.GaussianNB(epsilon=epsilon, bounds=(10, 11), random_state=random_state)


def gaussian_nb_mended(epsilon: float, random_state: int) -> Any:
    """The sensitivity of a sum is the larger end of the range, at half of epsilon: two classes may change."""
    kind = mended(models.GaussianNB, ("local_diameter = upper - lower", "local_diameter = max(abs(lower), abs(upper))"))
    return kind(epsilon=epsilon / 2, bounds=(10, 11), random_state=random_state)


def k_means(epsilon: float, random_state: int) -> Any:
    """Two clusters of features between 0 and 1."""
    return models.KMeans(n_clusters=2, epsilon=epsilon, bounds=(0, 1), random_state=random_state)


class KMeansCenters:
    """Two clusters of features between 10 and 11, of which the centers alone are published, in order."""

    kind, share = models.KMeans, 1.0

    def __init__(self, epsilon: float = 1.0, random_state: int | None = None):
        self.epsilon, self.random_state, self.bounds = epsilon, random_state, (10.0, 11.0)

    def fit(self, X: np.ndarray, y: np.ndarray | None = None) -> Self:
        """Fit, and publish the centers."""
        model = self.kind(
            n_clusters=2, epsilon=self.epsilon * self.share, bounds=self.bounds, random_state=self.random_state
        ).fit(X)
        self.centers_ = np.sort(model.cluster_centers_, axis=0)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Distances to the centers in the first feature."""
        return np.abs(X[:, :1] - self.centers_[:, 0])


class KMeansCentersMended(KMeansCenters):
    """The sensitivity of a sum is the larger end of the range, and empty clusters get noise; half of epsilon."""

    share = 0.5
    kind = mended(
        models.KMeans,
        ("sensitivity=self.bounds[1][i] - self.bounds[0][i]", "sensitivity=max(abs(ends[i]) for ends in self.bounds)"),
        ("if cluster not in labels:\n                continue\n", ""),
    )


def decision_tree(epsilon: float, random_state: int) -> Any:
    """Classes 0 and 1, features between 0 and 1, one cut."""
    return models.DecisionTreeClassifier(
        max_depth=1, epsilon=epsilon, bounds=(0, 1), classes=[0, 1], random_state=random_state
    )


def decision_tree_mended(epsilon: float, random_state: int) -> Any:
    """Noise for counts of which one falls and another rises."""
    kind = mended(models.DecisionTreeClassifier, ("monotonic=True", "monotonic=False"))
    return kind(max_depth=1, epsilon=epsilon, bounds=(0, 1), classes=[0, 1], random_state=random_state)


def random_forest(epsilon: float, random_state: int) -> Any:
    """Two trees of one cut, classes 0 and 1, features between 0 and 1."""
    return models.RandomForestClassifier(
        n_estimators=2, max_depth=1, epsilon=epsilon, bounds=(0, 1), classes=[0, 1], random_state=random_state
    )


def pca(epsilon: float, random_state: int) -> Any:
    """One component of features between 0 and 1, rows of norm 1 at most."""
    return models.PCA(n_components=1, epsilon=epsilon, bounds=(0, 1), data_norm=1.0, random_state=random_state)


def pca_centered(epsilon: float, random_state: int) -> Any:
    """One component of rows of norm 1 at most, whose mean is 0 by assumption."""
    return models.PCA(n_components=1, epsilon=epsilon, centered=True, data_norm=1.0, random_state=random_state)


def standard_scaler(epsilon: float, random_state: int) -> Any:
    """Means and variances of features between 0 and 1."""
    return models.StandardScaler(epsilon=epsilon, bounds=(0, 1), random_state=random_state)
