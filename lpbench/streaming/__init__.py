"""Curators whose memory does not grow with the number of users: exact sums over chunks of reports, in any order."""

from lpbench.streaming.draws import SlicedDraws, UserSlice
from lpbench.streaming.exact import ExactSums
from lpbench.streaming.histoftree import CellStream, Design, LabelStream, MaskCounts
from lpbench.streaming.lpct import VoteStream
from lpbench.streaming.sources import read_chunks

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
