"""PublicScaler: maps the declared public range of the features to [0, 1] and learns nothing from the data."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from lpbench.checks import check_dense, check_domain


class PublicScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Clip features to a public range and map it to [0, 1], in the place of scalers that read private rows.

    Parameters
    ----------
    domain : (lo, hi), or one such pair for each feature
        Public range of the features, from public knowledge.
    """

    def __init__(self, domain: Any = (0.0, 1.0)) -> None:
        self.domain = domain

    def fit(self, X: np.ndarray, y: Any = None) -> Self:
        """Check the number of features; no value of X (n, d) is kept."""
        X = validate_data(self, check_dense(X), dtype=np.float64)
        check_domain(self.domain, X.shape[1])
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Scale X of shape (m, d): ndarray of the same shape in [0, 1]."""
        check_is_fitted(self, "n_features_in_")
        X = validate_data(self, check_dense(X), reset=False, dtype=np.float64)
        lo, hi = check_domain(self.domain, X.shape[1])
        return (np.clip(X, lo, hi) - lo) / (hi - lo)
