"""Methods for numbers that read a public sample, and methods for classes that take masks: the rest of the matrix."""

from lpbench.estimators.public_sample.lpdt import LPDTRegressor
from lpbench.estimators.public_sample.public_tree_classifier import PublicTreeClassifier

__all__ = ["LPDTRegressor", "PublicTreeClassifier"]
