"""Estimators of the three papers as scikit-learn estimators."""

from lpbench.estimators.adhistoftree import AdHistOfTree
from lpbench.estimators.calibrated_score import CalibratedScore
from lpbench.estimators.ct import CT
from lpbench.estimators.hist import Hist
from lpbench.estimators.histoftree import HistOfTree
from lpbench.estimators.krr import KRR
from lpbench.estimators.label_dp_full import LDPMean, LDPVote
from lpbench.estimators.label_dp_knn import KNNMean, LabelLDPKNN
from lpbench.estimators.label_dp_mean import CDPMean, CubeMean, LabelCDPMean
from lpbench.estimators.label_dp_vote import CDPVote, CubeVote, LabelCDPVote, LabelLDPVote
from lpbench.estimators.lpct import LPCT
from lpbench.estimators.lpct_prune import LPCTPrune
from lpbench.estimators.pglm import PGLM
from lpbench.estimators.phist import PHIST
from lpbench.estimators.private_majority import PrivateMajority
from lpbench.estimators.private_mean import PrivateMean
from lpbench.estimators.psgd import PSGD
from lpbench.estimators.public_forest import PublicForest
from lpbench.estimators.residual_gp import ResidualGP
from lpbench.estimators.trees import DT, LabelDT, ParDT

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
    "PrivateMajority",
    "PrivateMean",
    "PublicForest",
    "ResidualGP",
]
