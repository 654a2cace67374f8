"""Prediction intervals, and sets of classes, that hold under local privacy: split conformal from randomised bits."""

from lpbench.estimators.intervals.conformal import PrivateIntervals, PrivateSets

__all__ = ["PrivateIntervals", "PrivateSets"]
