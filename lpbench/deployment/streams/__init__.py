"""Curators whose memory does not grow with the number of users: exact sums over chunks of reports, in any order."""

from lpbench.deployment.streams.draws import SlicedStreams, UserSlice
from lpbench.deployment.streams.exact import ExactSums
from lpbench.deployment.streams.sources import read_chunks
from lpbench.deployment.streams.sums import StreamedUsers, SumStream

__all__ = ["ExactSums", "SlicedStreams", "StreamedUsers", "SumStream", "UserSlice", "read_chunks"]
