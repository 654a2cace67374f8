"""Curators whose memory does not grow with the number of users: exact sums over chunks of reports, in any order."""

from lpbench.deployment.streams.draws import SlicedDraws, UserSlice
from lpbench.deployment.streams.exact import ExactSums
from lpbench.deployment.streams.histoftree import CellStream, Design, LabelStream, MaskCounts
from lpbench.deployment.streams.lpct import VoteStream
from lpbench.deployment.streams.sources import read_chunks

__all__ = [
    "CellStream",
    "Design",
    "ExactSums",
    "LabelStream",
    "MaskCounts",
    "SlicedDraws",
    "UserSlice",
    "VoteStream",
    "read_chunks",
]
