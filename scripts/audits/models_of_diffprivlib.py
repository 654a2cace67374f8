"""Models of diffprivlib with public bounds, for ``lpbench audit code --learner``, where the library is installed.

``lpbench audit code --learner scripts/audits/models_of_diffprivlib.py:linear_regression --protects record --epsilon 1``
"""

from typing import Any

from diffprivlib import models


def linear_regression(epsilon: float, random_state: int) -> Any:
    """Bounds that begin at 0, where the released code takes the sensitivity of a sum of squares to be 0."""
    return models.LinearRegression(epsilon=epsilon, bounds_X=(0, 100), bounds_y=(0, 100), random_state=random_state)


def standard_scaler(epsilon: float, random_state: int) -> Any:
    """Means and variances of features between 0 and 1."""
    return models.StandardScaler(epsilon=epsilon, bounds=(0, 1), random_state=random_state)


def gaussian_nb(epsilon: float, random_state: int) -> Any:
    """Classes 0 and 1, features between 0 and 1."""
    return models.GaussianNB(epsilon=epsilon, bounds=(0, 1), random_state=random_state)
