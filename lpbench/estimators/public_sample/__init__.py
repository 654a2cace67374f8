"""LPDT with masks, for regression and classification: trees of a public sample, filled by private reports."""

from lpbench.estimators.public_sample.lpdt import LPDTRegressor
from lpbench.estimators.public_sample.public_tree_classifier import PublicTreeClassifier

__all__ = ["LPDTRegressor", "PublicTreeClassifier"]
