"""HistOfTree family: a grid on protected features times a tree on public ones, with a given or a chosen partition."""

from lpbench.estimators.histoftree.adhistoftree import AdHistOfTree
from lpbench.estimators.histoftree.histoftree import HistOfTree

__all__ = ["AdHistOfTree", "HistOfTree"]
