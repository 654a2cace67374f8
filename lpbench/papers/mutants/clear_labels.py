"""Labels in the clear: no label has noise, everything else is right."""

from dataclasses import dataclass

from lpbench.estimators.baselines.hist import Hist as RightHist
from lpbench.estimators.baselines.krr import KRR as RightKRR
from lpbench.estimators.baselines.trees import ParDT as RightParDT
from lpbench.estimators.histoftree.adhistoftree import AdHistOfTree as RightAdHistOfTree
from lpbench.estimators.histoftree.histoftree import HistOfTree as RightHistOfTree
from lpbench.papers.mutants.patches import WrongLabels


class ClearLabels(WrongLabels):
    """Mixin of mutants whose label reports have no noise at all, at the stated budget; the audit must catch them."""

    times = 0.0
    exceeds_budget = True


@dataclass(eq=False, repr=False)
class HistOfTree(ClearLabels, RightHistOfTree):
    """Mutant: HistOfTree on labels without noise."""


@dataclass(eq=False, repr=False)
class AdHistOfTree(ClearLabels, RightAdHistOfTree):
    """Mutant: AdHistOfTree on labels without noise."""


@dataclass(eq=False, repr=False)
class ParDT(ClearLabels, RightParDT):
    """Mutant: ParDT on labels without noise."""


@dataclass(eq=False, repr=False)
class KRR(ClearLabels, RightKRR):
    """Mutant: KRR on labels without noise."""


@dataclass(eq=False, repr=False)
class Hist(ClearLabels, RightHist):
    """Mutant: Hist whose label sums have no noise."""
