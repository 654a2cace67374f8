"""All methods as scikit-learn estimators, one package a family; a module is imported when a name of it is asked for."""
# ruff: noqa: F401

import random
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lpbench.estimators.baselines.constant_baselines import PrivateConstant, PrivateMajority, PrivateMean
    from lpbench.estimators.baselines.ct import CT
    from lpbench.estimators.baselines.hist import Hist
    from lpbench.estimators.baselines.krr import KRR
    from lpbench.estimators.baselines.pglm import PGLM
    from lpbench.estimators.baselines.phist import PHIST
    from lpbench.estimators.baselines.trees import DT, LabelDT, ParDT
    from lpbench.estimators.histoftree.adhistoftree import AdHistOfTree
    from lpbench.estimators.histoftree.histoftree import HistOfTree
    from lpbench.estimators.intervals.conformal import PrivateIntervals, PrivateSets
    from lpbench.estimators.label_dp.full import LDPMean, LDPVote
    from lpbench.estimators.label_dp.knn import KNNMean, LabelLDPKNN
    from lpbench.estimators.label_dp.mean import CDPMean, CubeMean, LabelCDPMean
    from lpbench.estimators.label_dp.vote import CDPVote, CubeVote, LabelCDPVote, LabelLDPVote
    from lpbench.estimators.lpct.lpct import LPCT
    from lpbench.estimators.lpct.lpct_prune import LPCTPrune
    from lpbench.estimators.private_selection.selection import PrivateSelectionClassifier, PrivateSelectionRegressor
    from lpbench.estimators.privatized_labels.classifier import PrivateLabelsClassifier
    from lpbench.estimators.privatized_labels.regressor import PrivateLabelsRegressor
    from lpbench.estimators.psgd.psgd import PSGD
    from lpbench.estimators.public_sample.lpdt import LPDTRegressor, PublicTreeClassifier
    from lpbench.estimators.tuning_free.public_forest import PublicForest, PublicForestRegressor
    from lpbench.estimators.tuning_free.residual_gp import ResidualGP
    from lpbench.estimators.tuning_free.residual_score import ResidualScore

#: Modules of the families and their methods.
_MODULES = {
    "baselines.constant_baselines": "PrivateConstant PrivateMajority PrivateMean",
    "baselines.ct": "CT",
    "baselines.hist": "Hist",
    "baselines.krr": "KRR",
    "baselines.pglm": "PGLM",
    "baselines.phist": "PHIST",
    "baselines.trees": "DT LabelDT ParDT",
    "histoftree.adhistoftree": "AdHistOfTree",
    "histoftree.histoftree": "HistOfTree",
    "intervals.conformal": "PrivateIntervals PrivateSets",
    "label_dp.full": "LDPMean LDPVote",
    "label_dp.knn": "KNNMean LabelLDPKNN",
    "label_dp.mean": "CDPMean CubeMean LabelCDPMean",
    "label_dp.vote": "CDPVote CubeVote LabelCDPVote LabelLDPVote",
    "lpct.lpct": "LPCT",
    "lpct.lpct_prune": "LPCTPrune",
    "private_selection.selection": "PrivateSelectionClassifier PrivateSelectionRegressor",
    "privatized_labels.classifier": "PrivateLabelsClassifier",
    "privatized_labels.regressor": "PrivateLabelsRegressor",
    "psgd.psgd": "PSGD",
    "public_sample.lpdt": "LPDTRegressor PublicTreeClassifier",
    "tuning_free.public_forest": "PublicForest PublicForestRegressor",
    "tuning_free.residual_gp": "ResidualGP",
    "tuning_free.residual_score": "ResidualScore",
}
__all__ = sorted(" ".join(_MODULES.values()).split())


def __getattr__(name: str) -> Any:
    """Import the module of a name: whoever uses one method does not wait for what the others need.

    scikit-learn's modules load rich, which draws from the global generator when it is imported. The caller's seed is
    put back, so that her numbers do not depend on which import came first.
    """
    for module, names in _MODULES.items():
        if name in names.split():
            state = random.getstate()
            try:
                return getattr(import_module(f"{__name__}.{module}"), name)
            finally:
                random.setstate(state)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
