"""Scikit-learn estimators trained on labels privatised by published mechanisms."""

from lpbench.estimators.any_learner.classifier import PrivateLabelsClassifier
from lpbench.estimators.any_learner.regressor import PrivateLabelsRegressor

__all__ = ["PrivateLabelsClassifier", "PrivateLabelsRegressor"]
