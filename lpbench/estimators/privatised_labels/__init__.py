"""Scikit-learn estimators trained on labels privatised by published mechanisms."""

from lpbench.estimators.privatised_labels.classifier import PrivateLabelsClassifier
from lpbench.estimators.privatised_labels.regressor import PrivateLabelsRegressor

__all__ = ["PrivateLabelsClassifier", "PrivateLabelsRegressor"]
