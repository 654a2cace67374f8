"""Label-DP family: cube votes, cube means and nearest neighbours under label DP, with full-DP and non-private peers."""

from lpbench.estimators.label_dp.full import LDPMean, LDPVote
from lpbench.estimators.label_dp.knn import KNNMean, LabelLDPKNN
from lpbench.estimators.label_dp.mean import CDPMean, CubeMean, LabelCDPMean
from lpbench.estimators.label_dp.vote import CDPVote, CubeVote, LabelCDPVote, LabelLDPVote

__all__ = [
    "CDPMean",
    "CDPVote",
    "CubeMean",
    "CubeVote",
    "KNNMean",
    "LDPMean",
    "LDPVote",
    "LabelCDPMean",
    "LabelCDPVote",
    "LabelLDPKNN",
    "LabelLDPVote",
]
