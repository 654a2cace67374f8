"""Private selection: the setting of a method is chosen by privatised reports alone, and paid for in users."""

from lpbench.estimators.private_selection.selection import PrivateSelectionClassifier, PrivateSelectionRegressor

__all__ = ["PrivateSelectionClassifier", "PrivateSelectionRegressor"]
