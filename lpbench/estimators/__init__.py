"""All methods as scikit-learn estimators, one package a family; a family is imported when a name of it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lpbench.estimators.baselines import (
        CT,
        DT,
        KRR,
        PGLM,
        PHIST,
        Hist,
        LabelDT,
        ParDT,
        PrivateConstant,
        PrivateMajority,
        PrivateMean,
    )
    from lpbench.estimators.histoftree import AdHistOfTree, HistOfTree
    from lpbench.estimators.intervals import PrivateIntervals, PrivateSets
    from lpbench.estimators.label_dp import (
        CDPMean,
        CDPVote,
        CubeMean,
        CubeVote,
        KNNMean,
        LabelCDPMean,
        LabelCDPVote,
        LabelLDPKNN,
        LabelLDPVote,
        LDPMean,
        LDPVote,
    )
    from lpbench.estimators.lpct import LPCT, LPCTPrune
    from lpbench.estimators.private_selection import PrivateSelectionClassifier, PrivateSelectionRegressor
    from lpbench.estimators.privatised_labels import PrivateLabelsClassifier, PrivateLabelsRegressor
    from lpbench.estimators.psgd import PSGD
    from lpbench.estimators.public_sample import LPDTRegressor, PublicTreeClassifier
    from lpbench.estimators.tuning_free import PublicForest, PublicForestRegressor, ResidualGP, ResidualScore

__all__ = [
    "CT",
    "DT",
    "KRR",
    "LPCT",
    "PGLM",
    "PHIST",
    "PSGD",
    "AdHistOfTree",
    "CDPMean",
    "CDPVote",
    "CubeMean",
    "CubeVote",
    "Hist",
    "HistOfTree",
    "KNNMean",
    "LDPMean",
    "LDPVote",
    "LPCTPrune",
    "LPDTRegressor",
    "LabelCDPMean",
    "LabelCDPVote",
    "LabelDT",
    "LabelLDPKNN",
    "LabelLDPVote",
    "ParDT",
    "PrivateConstant",
    "PrivateIntervals",
    "PrivateLabelsClassifier",
    "PrivateLabelsRegressor",
    "PrivateMajority",
    "PrivateMean",
    "PrivateSelectionClassifier",
    "PrivateSelectionRegressor",
    "PrivateSets",
    "PublicForest",
    "PublicForestRegressor",
    "PublicTreeClassifier",
    "ResidualGP",
    "ResidualScore",
]

#: The families and their names, as above.
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


def __getattr__(name: str) -> Any:
    """Import the family of a name: whoever uses one method does not wait for what the others need."""
    for family, names in _FAMILIES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{family}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
