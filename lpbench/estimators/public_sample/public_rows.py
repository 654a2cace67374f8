"""Checks of a regressor's public sample."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators.base import LocalRegressor, Rows

#: What every guarantee says where a public sample was read.
NOTE = "rows of the public sample are not protected"


def public_rows(model: LocalRegressor, X_public: Rows, y_public: Rows) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the public features in the unit cube and the labels clipped to the public range; None without a sample.

    Parameters
    ----------
    model : LocalRegressor
        Its private rows were checked.
    X_public : ndarray of shape (q, d), optional
    y_public : ndarray of shape (q,), optional

    Raises
    ------
    ConfigurationError
        One of the two is missing.
    DataError
        Their lengths differ.
    """
    if (X_public is None) != (y_public is None):
        raise ConfigurationError("X_public and y_public must be given together")
    if X_public is None or y_public is None:
        return None
    X = validate_data(model, X_public, reset=False, dtype=np.float64)
    y = check_array(y_public, ensure_2d=False, dtype=np.float64, input_name="y_public")
    if y.shape != (len(X),):
        raise DataError(f"y_public has shape {y.shape}, expected ({len(X)},), one label a row of X_public")
    return model._to_unit_cube(X), np.clip(y, *model.y_range_)
