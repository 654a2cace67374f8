"""All methods as scikit-learn estimators, one package a family."""

from lpbench.estimators.any_learner import PrivateLabelsClassifier, PrivateLabelsRegressor
from lpbench.estimators.baselines import CT, DT, KRR, PGLM, PHIST, Hist, LabelDT, ParDT, PrivateMajority, PrivateMean
from lpbench.estimators.histoftree import AdHistOfTree, HistOfTree
from lpbench.estimators.label_dp import (
    CDPMean,
    CDPVote,
    CubeMean,
    CubeVote,
    KNNMean,
    LabelCDPMean,
    LabelCDPVote,
    LabelLDPKNN,
    LabelLDPVote,
    LDPMean,
    LDPVote,
)
from lpbench.estimators.lpct import LPCT, LPCTPrune
from lpbench.estimators.psgd import PSGD
from lpbench.estimators.tuning_free import CalibratedScore, PublicForest, ResidualGP

__all__ = [
    "CT",
    "DT",
    "KRR",
    "LPCT",
    "PGLM",
    "PHIST",
    "PSGD",
    "AdHistOfTree",
    "CDPMean",
    "CDPVote",
    "CalibratedScore",
    "CubeMean",
    "CubeVote",
    "Hist",
    "HistOfTree",
    "KNNMean",
    "LDPMean",
    "LDPVote",
    "LPCTPrune",
    "LabelCDPMean",
    "LabelCDPVote",
    "LabelDT",
    "LabelLDPKNN",
    "LabelLDPVote",
    "ParDT",
    "PrivateLabelsClassifier",
    "PrivateLabelsRegressor",
    "PrivateMajority",
    "PrivateMean",
    "PublicForest",
    "ResidualGP",
]
