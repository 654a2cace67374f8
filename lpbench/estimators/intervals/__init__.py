"""Prediction intervals, and sets of classes, that hold under local privacy: split conformal from randomised bits."""

from lpbench.estimators.intervals.classes import PrivateSets
from lpbench.estimators.intervals.numbers import PrivateIntervals

__all__ = ["PrivateIntervals", "PrivateSets"]
