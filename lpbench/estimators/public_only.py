"""Base of the regressors that learn from the public sample alone; no private user is asked."""

from typing import Any

import numpy as np

from lpbench.estimators.base import LocalRegressor


class PublicOnlyRegressor(LocalRegressor):
    """Base of the regressors that learn from the public sample alone.

    A subclass writes ``learn``, which sets ``model_``.

    Attributes
    ----------
    model_ : object with ``predict``, or None
        Model of the public sample; None where there is no sample.
    """

    rounding = "linear algebra of the BLAS"
    uses_epsilon = False
    uses_public = True

    model_: Any

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """True if the label has a stated range, to which predictions are clipped; none is read from private labels."""
        return self.y_range is not None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict by the public model, or the middle of the label's range if there is no public sample.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Complete rows, in the units of the training rows.

        Returns
        -------
        ndarray of shape (m,)
            Predicted labels.
        """
        X = self._check_predict(X)
        if self.model_ is not None:
            return self._finish(self.model_.predict(X))
        lo, hi = self.y_range_
        return np.full(len(X), (lo + hi) / 2.0 if np.isfinite(lo) else 0.0)
