"""Estimators of the three papers as scikit-learn estimators."""

from lpbench.estimators.baselines.ct import CT
from lpbench.estimators.baselines.hist import Hist
from lpbench.estimators.baselines.krr import KRR
from lpbench.estimators.baselines.pglm import PGLM
from lpbench.estimators.baselines.phist import PHIST
from lpbench.estimators.baselines.private_majority import PrivateMajority
from lpbench.estimators.baselines.private_mean import PrivateMean
from lpbench.estimators.baselines.trees import DT, LabelDT, ParDT
from lpbench.estimators.histoftree.adhistoftree import AdHistOfTree
from lpbench.estimators.histoftree.histoftree import HistOfTree
from lpbench.estimators.label_dp.full import LDPMean, LDPVote
from lpbench.estimators.label_dp.knn import KNNMean, LabelLDPKNN
from lpbench.estimators.label_dp.mean import CDPMean, CubeMean, LabelCDPMean
from lpbench.estimators.label_dp.vote import CDPVote, CubeVote, LabelCDPVote, LabelLDPVote
from lpbench.estimators.lpct.lpct import LPCT
from lpbench.estimators.lpct.lpct_prune import LPCTPrune
from lpbench.estimators.psgd.psgd import PSGD
from lpbench.estimators.tuning_free.calibrated_score import CalibratedScore
from lpbench.estimators.tuning_free.public_forest import PublicForest
from lpbench.estimators.tuning_free.residual_gp import ResidualGP

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
