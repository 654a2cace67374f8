"""Models of OpenDP, for ``lpbench audit code``, where the library is installed with scikit-learn and randomgen.

Both have fit(X, y) and noise of the operating system, so that two runs of an audit differ.

``lpbench audit code --learner scripts/audits/models_of_opendp.py:TheilSen --protects record --epsilon 1``
"""

from functools import cache
from typing import Any, Self

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")


@cache
def theil_sen(epsilon: float, changed: int) -> Any:
    """OpenDP's linear regression of labels on a feature, both in [0, 1], whose own map says what it spends.

    Parameters
    ----------
    epsilon : float
        What it is to spend.
    changed : int
        Records that are added or removed: 1, or 2 where one is replaced.
    """
    model = dp.sklearn.linear_model.LinearRegression(
        dp.max_divergence(), x_bounds=[(0.0, 1.0)], y_bounds=(0.0, 1.0), scale=2.0 * changed / epsilon
    )
    assert model.measurement.map(changed) <= epsilon * (1 + 1e-9)
    return model


class TheilSen:
    """Linear regression of the first feature at a budget for the replacement of one record."""

    def __init__(self, epsilon: float = 1.0, bounds_X: Any = (0.0, 1.0), bounds_y: Any = (0.0, 1.0)):
        self.epsilon, self.bounds_X, self.bounds_y = epsilon, (0.0, 1.0), (0.0, 1.0)

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Fit, and publish slope and intercept."""
        model = theil_sen(self.epsilon, 2).fit(np.clip(X[:, :1], 0, 1), np.clip(y, 0, 1))
        self.coef_, self.intercept_ = model.coef_, float(model.intercept_)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict from the first feature."""
        return X[:, 0] * self.coef_[0] + self.intercept_


#: Records, of which an even number is paired; the first table has one record less than the second.
_RECORDS = np.vstack([np.column_stack([np.linspace(0, 0.1, 48), np.zeros(48)]), [[0.26, 1.0], [0.26, 1.0]]])


def theil_sen_with_another_record(value: int, epsilon: float = 1.0) -> list[float]:
    """Values that OpenDP's linear regression predicts at 0.25 and 0.75, at epsilon 1 for one record more or less.

    Of 49 records the last is left out before the others are paired. The 50th brings it back, and both are paired with
    records that were a pair before: three lines differ, where the stability of the library's map is one.
    """
    table = _RECORDS[: 49 + value]
    model = theil_sen(epsilon, 1).fit(table[:, :1], table[:, 1])
    return [float(model.intercept_ + model.coef_[0] * x) for x in (0.25, 0.75)]


def theil_sen_with_another_record_mended(value: int) -> list[float]:
    """The same at a third of epsilon, since three lines differ."""
    return theil_sen_with_another_record(value, 1 / 3)


class PCA:
    """Principal components of rows of norm 1 at most, at epsilon for the replacement of one record (n_changes=1)."""

    def __init__(self, epsilon: float = 1.0, row_norm: float = 1.0):
        self.epsilon, self.row_norm = epsilon, row_norm

    def fit(self, X: np.ndarray, y: np.ndarray | None = None) -> Self:
        """Fit, and publish mean, components and variances."""
        n, d = X.shape
        model = dp.sklearn.decomposition.PCA(
            epsilon=self.epsilon, row_norm=self.row_norm, n_samples=n, n_features=d
        ).fit(X)
        self.mean_, self.components_, self.variance_ = model.mean_, model.components_, model.explained_variance_
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Project rows to the components."""
        return (X - self.mean_) @ self.components_.T


if __name__ == "__main__":
    pca = dp.sklearn.decomposition.PCA(epsilon=1.0, row_norm=1.0, n_samples=100, n_features=2)
    print(f"PCA(epsilon=1, n_changes=1): its own map says {pca.measurement().map(2):.4g} for one changed record")
