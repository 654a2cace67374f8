"""Reports not debiased: what users report is counted as if it were the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lpbench.estimators.histoftree.adhistoftree import AdHistOfTree as RightAdHistOfTree
from lpbench.estimators.histoftree.cell_reports import CategorySums
from lpbench.estimators.histoftree.histoftree import HistOfTree as RightHistOfTree
from lpbench.papers.mutants.patches import exchanged

PLACES = tuple(f"lpbench.estimators.histoftree.{module}.CategorySums" for module in ("cell_shortcut", "rounds"))


class RawSums(CategorySums):
    """Mutant of HistOfTree's estimates: sums of reports as they come, without the correction for randomization."""

    def __init__(
        self, codes: Any, leaf: Any, n_codes: int, cells: Any, labels: Any, budgets: Sequence[float], index: Any = None
    ) -> None:
        super().__init__(codes, leaf, n_codes, cells, labels, [0.0] * len(budgets), index)


@dataclass(eq=False, repr=False)
class HistOfTree(RightHistOfTree):
    """Mutant: HistOfTree that adds randomized reports up without correcting for the randomization."""

    learn = exchanged(RightHistOfTree.learn, RawSums, *PLACES)

    def learn_grid(self, *arguments: Any) -> Any:
        """Score the grid with the same uncorrected sums."""
        return exchanged(super().learn_grid, RawSums, *PLACES)(*arguments)


@dataclass(eq=False, repr=False)
class AdHistOfTree(RightAdHistOfTree):
    """Mutant: AdHistOfTree that adds randomized reports up without correcting for the randomization."""

    learn = exchanged(RightAdHistOfTree.learn, RawSums, *PLACES)

    def learn_grid(self, *arguments: Any) -> Any:
        """Score the grid with the same uncorrected sums."""
        return exchanged(super().learn_grid, RawSums, *PLACES)(*arguments)
