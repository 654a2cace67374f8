"""Partition of [0, 1]^d into equal cubes, and base classes of the label-DP estimators."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lpbench.checks import check_number
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import LocalClassifier, LocalRegressor
from lpbench.estimators.label_dp.rules import bins_for_width, noise_width, sampling_width
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


@dataclass(eq=False, repr=False)
class SmoothRule:
    """Public smoothness of the regression function or class probabilities, from which the rules take their widths.

    Parameters
    ----------
    beta : float
        Hölder exponent, in (0, 1].
    holder : float
        L: the function, or the gap between the best two classes, varies by about L h^beta at distance h.
    """

    beta: float = field(default=1.0, kw_only=True)  # Hölder exponent, in (0, 1]
    #: L: the function, or the gap between the best two classes, varies by about L h^beta at distance h.
    holder: float = field(default=1.0, kw_only=True)

    @property
    def _rule(self) -> dict[str, float]:
        check_number("beta", self.beta, above=0, most=1)
        check_number("holder", self.holder, above=0)
        return {"beta": self.beta, "holder": self.holder}

    def _bins_of(self, given: int | None, n: int, d: int, variance: float, noise: float = 0.0, **labels: Any) -> int:
        """Bins per axis: ``given``, or if None those of the wider of two widths, for n users and d features.

        One width balances the bias with the sampling ``variance`` of a label, the other with ``noise``, the standard
        deviation of the privacy noise of a cube's estimate at width 1. ``labels`` are passed to ``noise_width``.
        """
        if given is not None:
            return given
        rule = self._rule
        return bins_for_width(max(sampling_width(n, d, variance, **rule), noise_width(noise, d, **labels, **rule)))


@dataclass(eq=False, repr=False)
class CubeClassifier(SmoothRule, LocalClassifier):
    """Base of the label-DP classifiers, which decide once for each cube.

    Parameters
    ----------
    bins : int, optional
        Bins per axis; None: the rule of each method.
    """

    domain: Any = field(default=(0.0, 1.0), kw_only=True)
    bins: int | None = field(default=None, kw_only=True)  # per axis; None: the rule of each method

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities of shape (m, K), by post-processing of what was released."""
        X = self._check_predict(X)
        return self.scores_[self.cubes_.locate(X)]


@dataclass(eq=False, repr=False)
class BoundedRegressor(SmoothRule, LocalRegressor):
    """Base of the label-DP regressors: labels bounded by ``y_range``, or with a bounded p-th moment around zero.

    ``moment`` None: |Y - center| <= T with (center - T, center + T) = ``y_range``. ``moment`` p: the bound
    E |Y|^p <= label_bound^p is public knowledge, ``y_range`` is not used, and predictions are not clipped.

    Parameters
    ----------
    moment : float, optional
        p >= 2, the order of the bounded moment; None: labels are bounded.
    label_bound : float
        Bound of the p-th moment's root, in units of the label; read only if ``moment`` is given.
    """

    moment: float | None = field(default=None, kw_only=True)  # p >= 2
    label_bound: float = field(default=1.0, kw_only=True)  # in units of the label; read only if ``moment`` is given

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """Return True if labels lie in a public range; False if only a moment of them is bounded."""
        return self.moment is None

    def _center_and_bound(self) -> tuple[float, float]:
        """Center of the labels and their bound T about it, in units of the label.

        With bounded labels they are the middle and half the width of ``y_range_``; with a bounded p-th moment 0 and the
        bound of the moment's p-th root.
        """
        if self.moment is not None:
            check_number("moment", self.moment, least=2, hint="None: bounded labels")
            return 0.0, check_number("label_bound", self.label_bound, above=0)
        lo, hi = self.y_range_
        # A constant sample without a declared range has nothing to hide and needs some positive scale.
        return (lo + hi) / 2, (hi - lo) / 2 or 1.0
