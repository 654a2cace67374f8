"""Labels in the clear: no label has noise, everything else is right."""

from dataclasses import dataclass

from lpbench.estimators.baselines.hist import Hist as RightHist
from lpbench.estimators.baselines.krr import KRR as RightKRR
from lpbench.estimators.baselines.trees import ParDT as RightParDT
from lpbench.estimators.histoftree.adhistoftree import AdHistOfTree as RightAdHistOfTree
from lpbench.estimators.histoftree.histoftree import HistOfTree as RightHistOfTree
from lpbench.papers.mutants.patches import WrongLabels


class ClearLabels(WrongLabels):
    """Mixin of methods whose labels have no noise."""

    times = 0.0
    exceeds_budget = True


@dataclass(eq=False, repr=False)
class HistOfTree(ClearLabels, RightHistOfTree):
    """HistOfTree on labels in the clear."""


@dataclass(eq=False, repr=False)
class AdHistOfTree(ClearLabels, RightAdHistOfTree):
    """AdHistOfTree on labels in the clear."""


@dataclass(eq=False, repr=False)
class ParDT(ClearLabels, RightParDT):
    """ParDT on labels in the clear."""


@dataclass(eq=False, repr=False)
class KRR(ClearLabels, RightKRR):
    """KRR on labels in the clear."""


@dataclass(eq=False, repr=False)
class Hist(ClearLabels, RightHist):
    """Hist whose label sums have no noise."""
