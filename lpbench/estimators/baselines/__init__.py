"""Baselines: trees, histograms, randomised features, linear models, feature-free predictors, non-private references."""

from lpbench.estimators.baselines.constant_baselines import PrivateConstant, PrivateMajority, PrivateMean
from lpbench.estimators.baselines.ct import CT
from lpbench.estimators.baselines.hist import Hist
from lpbench.estimators.baselines.krr import KRR
from lpbench.estimators.baselines.pglm import PGLM
from lpbench.estimators.baselines.phist import PHIST
from lpbench.estimators.baselines.trees import DT, LabelDT, ParDT

__all__ = ["CT", "DT", "KRR", "PGLM", "PHIST", "Hist", "LabelDT", "ParDT", "PrivateConstant", "PrivateMajority",
           "PrivateMean"]  # fmt: skip
