"""Models of diffprivlib with public bounds, for ``lpbench audit code --learner``, where the library is installed.

``lpbench audit code --learner scripts/audits/models_of_diffprivlib.py:linear_regression --protects record --epsilon 1``
"""

from typing import Any, Self

import numpy as np
from diffprivlib import models


def linear_regression(epsilon: float, random_state: int) -> Any:
    """Bounds that begin at 0, where the released code takes the sensitivity of a sum of squares to be 0."""
    return models.LinearRegression(epsilon=epsilon, bounds_X=(0, 100), bounds_y=(0, 100), random_state=random_state)


def linear_regression_through_0(epsilon: float, random_state: int) -> Any:
    """Bounds that begin at 0, and no intercept: the sum of squares is released without noise."""
    return models.LinearRegression(
        epsilon=epsilon, bounds_X=(0, 100), bounds_y=(0, 100), fit_intercept=False, random_state=random_state
    )


def logistic_regression(epsilon: float, random_state: int) -> Any:
    """Classes 0 and 1, rows of norm 1 at most."""
    return models.LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=random_state)


def gaussian_nb(epsilon: float, random_state: int) -> Any:
    """Classes 0 and 1, features between 0 and 1."""
    return models.GaussianNB(epsilon=epsilon, bounds=(0, 1), random_state=random_state)


def gaussian_nb_away_from_0(epsilon: float, random_state: int) -> Any:
    """Classes 0 and 1, features between 10 and 11: a record that leaves a class moves its sum by 10 at least."""
    return models.GaussianNB(epsilon=epsilon, bounds=(10, 11), random_state=random_state)


def k_means(epsilon: float, random_state: int) -> Any:
    """Two clusters of features between 0 and 1."""
    return models.KMeans(n_clusters=2, epsilon=epsilon, bounds=(0, 1), random_state=random_state)


class KMeansCenters:
    """Two clusters of features between 10 and 11, of which the centers alone are published, in order."""

    def __init__(self, epsilon: float = 1.0, random_state: int | None = None):
        self.epsilon, self.random_state, self.bounds = epsilon, random_state, (10.0, 11.0)

    def fit(self, X: np.ndarray, y: np.ndarray | None = None) -> Self:
        """Fit, and publish the centers."""
        model = models.KMeans(
            n_clusters=2, epsilon=self.epsilon, bounds=self.bounds, random_state=self.random_state
        ).fit(X)
        self.centers_ = np.sort(model.cluster_centers_, axis=0)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Distances to the centers in the first feature."""
        return np.abs(X[:, :1] - self.centers_[:, 0])


def decision_tree(epsilon: float, random_state: int) -> Any:
    """Classes 0 and 1, features between 0 and 1, one cut."""
    return models.DecisionTreeClassifier(
        max_depth=1, epsilon=epsilon, bounds=(0, 1), classes=[0, 1], random_state=random_state
    )


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
