"""Partition of [0, 1]^d into equal cubes, and base classes of the label-DP estimators."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np

from lpbench.checks import check_number
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import LocalClassifier, LocalRegressor, Rows
from lpbench.partitions import GridCells

#: More cubes than this are refused: the theory never asks for more cubes than samples.
MOST_CUBES = 2**24


@dataclass(frozen=True)
class Cubes(GridCells):
    """Equal cubes of [0, 1]^d of a number that an array can hold; parameters as in GridCells."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d * math.log2(self.bins) > math.log2(MOST_CUBES):
            raise ConfigurationError(
                f"bins={self.bins} per axis in dimension {self.d} are more than {MOST_CUBES} cubes; lower bins"
            )


class CubeClassifier(LocalClassifier):
    """Base of the label-DP classifiers: a public list of classes and one decision per cube.

    Subclasses set ``cubes_`` and ``scores_``, of shape (cubes, K), in ``_learn``, or predict by a model of their own.
    """

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Fit to features X (n, d) and classes y (n,); mask and public sample are not used."""
        X, codes, _, _ = self._check_fit(X, y, mask)
        self._learn(X, codes, self._leak_note)
        return self

    @abstractmethod
    def _learn(self, X: np.ndarray, codes: np.ndarray, note: str) -> None:
        """Ask the users, or their trusted curator; ``note`` says what was taken from protected labels."""

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities of shape (m, K), by post-processing of what was released."""
        X = self._check_predict(X)
        return self.scores_[self.cubes_.locate(X)]


class BoundedRegressor(LocalRegressor):
    """Base of the label-DP regressors: labels bounded by ``y_range``, or with a bounded p-th moment around zero.

    ``moment`` None: |Y - centre| <= T with (centre - T, centre + T) = ``y_range``. ``moment`` p: the bound
    E |Y|^p <= label_bound^p is public knowledge, ``y_range`` is not used, and predictions are not clipped.
    """

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Fit to features X (n, d) and labels y (n,); mask and public sample are not used."""
        X, y, _ = self._check_fit(X, y, mask)
        self._learn(X, y)
        return self

    @abstractmethod
    def _learn(self, X: np.ndarray, y: np.ndarray) -> None:
        """Ask the users, or their trusted curator, and set the fitted attributes; X is checked and in [0, 1]."""

    def _public_range(self, y: np.ndarray) -> tuple[tuple[float, float], str]:
        if self.moment is None:
            return super()._public_range(y)
        check_number("moment", self.moment, least=2, hint="None: bounded labels")
        check_number("label_bound", self.label_bound, above=0)
        return (-math.inf, math.inf), ""

    def _centre_and_bound(self) -> tuple[float, float]:
        """Centre of the labels, and T (bounded labels) or the bound of the p-th moment's p-th root."""
        if self.moment is not None:
            return 0.0, float(self.label_bound)
        lo, hi = self.y_range_
        # A constant sample without a declared range has nothing to hide and needs some positive scale.
        return (lo + hi) / 2, (hi - lo) / 2 or 1.0

    @property
    def _smoothness(self) -> dict:
        check_number("beta", self.beta, above=0, most=1)
        check_number("holder", self.holder, above=0)
        return {"beta": self.beta, "holder": self.holder}
