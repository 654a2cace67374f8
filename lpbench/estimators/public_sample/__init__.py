"""LPDT with masks, for regression and classification: trees of a public sample, filled by private reports."""

from lpbench.estimators.public_sample.lpdt import LPDTRegressor, PublicTreeClassifier

__all__ = ["LPDTRegressor", "PublicTreeClassifier"]
