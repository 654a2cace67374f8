"""Noise doubled: votes have twice the right noise, and the curator does not know it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lpbench.estimators.lpct.lpct_prune import LPCTPrune as RightLPCTPrune
from lpbench.estimators.lpct.votes import VoteMechanism
from lpbench.papers.mutants.patches import exchanged
from lpbench.privacy import Laplace

PLACES = ("lpbench.estimators.lpct.algorithm2.VoteMechanism",)


class LoudMechanism(VoteMechanism):
    """Mutant of LPCT's randomizer: Laplace noise of twice the scale, at the stated budget."""

    @cached_property
    def half(self) -> Any:
        """Randomizer of either half of a report (cell counts, class counts), with twice the noise."""
        right = super().half
        assert isinstance(right, Laplace)
        return replace(right, scale=2.0 * right.scale)


@dataclass(eq=False, repr=False)
class LPCTPrune(RightLPCTPrune):
    """LPCT-prune on votes with twice the noise; of LPCT, LPCT-P, LPDT and PHIST half the budget is the same."""

    learn = exchanged(RightLPCTPrune.learn, LoudMechanism, *PLACES)

    def learn_grids(self, *arguments: Any) -> Any:
        """Score grids as LPCT-prune does, with twice the noise."""
        return exchanged(super().learn_grids, LoudMechanism, *PLACES)(*arguments)
