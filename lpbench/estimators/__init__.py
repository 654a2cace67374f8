"""All methods as scikit-learn estimators, one package a family; a family is imported when a name of it is asked for."""
# ruff: noqa: F403

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lpbench.estimators.baselines import *
    from lpbench.estimators.histoftree import *
    from lpbench.estimators.intervals import *
    from lpbench.estimators.label_dp import *
    from lpbench.estimators.lpct import *
    from lpbench.estimators.private_selection import *
    from lpbench.estimators.privatised_labels import *
    from lpbench.estimators.psgd import *
    from lpbench.estimators.public_sample import *
    from lpbench.estimators.tuning_free import *

#: The families and their names.
_FAMILIES = {
    "privatised_labels": "PrivateLabelsClassifier PrivateLabelsRegressor",
    "baselines": "CT DT Hist KRR LabelDT ParDT PGLM PHIST PrivateConstant PrivateMajority PrivateMean",
    "histoftree": "AdHistOfTree HistOfTree",
    "intervals": "PrivateIntervals PrivateSets",
    "label_dp": "CDPMean CDPVote CubeMean CubeVote KNNMean LabelCDPMean LabelCDPVote LabelLDPKNN LabelLDPVote LDPMean "
    "LDPVote",
    "lpct": "LPCT LPCTPrune",
    "private_selection": "PrivateSelectionClassifier PrivateSelectionRegressor",
    "psgd": "PSGD",
    "public_sample": "LPDTRegressor PublicTreeClassifier",
    "tuning_free": "PublicForest PublicForestRegressor ResidualGP ResidualScore",
}
__all__ = sorted(" ".join(_FAMILIES.values()).split())


def __getattr__(name: str) -> Any:
    """Import the family of a name: whoever uses one method does not wait for what the others need."""
    for family, names in _FAMILIES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{family}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
