"""Any learner of scikit-learn's kind on labels that a randomizer of the literature has privatised."""

from lpbench.estimators.any_learner.classifier import PrivateLabelsClassifier
from lpbench.estimators.any_learner.regressor import PrivateLabelsRegressor

__all__ = ["PrivateLabelsClassifier", "PrivateLabelsRegressor"]
