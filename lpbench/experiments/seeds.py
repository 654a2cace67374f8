"""Which named axes a method's random stream derives from."""

from __future__ import annotations

from lpbench.seeds import Streams


def method_streams(seed: int, dataset: str, mask: str | None, replication: int) -> Streams:
    """Streams of the methods in one replication.

    The method's name is not an axis: methods that privatise the label share its unit-scale noise, which pairs them for
    the signed-rank test. ``mask`` is None for methods that ignore the mask, so that their results are the same under
    every mask.
    """
    axes = {"dataset": dataset, "replication": replication}
    if mask is not None:
        axes["mask"] = mask
    return Streams(seed).child("method", **axes)
