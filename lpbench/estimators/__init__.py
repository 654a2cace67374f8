"""Estimators of the three papers as scikit-learn estimators."""

from lpbench.estimators.adhistoftree import AdHistOfTree
from lpbench.estimators.histoftree import HistOfTree
from lpbench.estimators.label_dp_knn import KNNMean, LabelLDPKNN
from lpbench.estimators.label_dp_mean import CDPMean, CubeMean, LabelCDPMean
from lpbench.estimators.label_dp_vote import CDPVote, CubeVote, LabelCDPVote, LabelLDPVote
from lpbench.estimators.lpct import LPCT
from lpbench.estimators.lpct_prune import LPCTPrune

__all__ = [
    "LPCT",
    "AdHistOfTree",
    "CDPMean",
    "CDPVote",
    "CubeMean",
    "CubeVote",
    "HistOfTree",
    "KNNMean",
    "LPCTPrune",
    "LabelCDPMean",
    "LabelCDPVote",
    "LabelLDPKNN",
    "LabelLDPVote",
]
