"""lpbench: reproducible experiments in locally private learning.

The public classes are here, as in ``from lpbench import ResidualGP``: methods, mechanisms, masks, the ledger. A module
is imported when a name of it is asked for; type checkers read ``__init__.pyi``.
"""

import random
from importlib import import_module
from typing import Any

__version__ = "0.4.0"

#: Modules of the public names; all names of ``lpbench.estimators`` are public, too.
_MODULES = {
    "audit.apart": "apart",
    "estimators.base": "LocalClassifier LocalRegressor",
    "estimators.public_scaler": "PublicScaler",
    "estimators.public_table": "PublicTable",
    "ledger": "PrivacyLedger",
    "masks": "as_mask through",
    "sweep": "run",
    "privacy": "BitVector Device DiscreteLaplace Exponential GRR Gaussian Guarantee HadamardResponse Hybrid Laplace "
    "Mechanism NumberChannel Piecewise PriorResponse PrivUnitG RandomizedResponse Staircase SubsetSelection Users",
}


def __getattr__(name: str) -> Any:
    """Import the module of a public name; the caller's random numbers do not depend on it, though rich draws some."""
    if name not in __dir__():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = [module for module, names in _MODULES.items() if name in names.split()]
    state = random.getstate()
    try:
        return getattr(import_module(".".join([__name__, *(modules or ["estimators"])])), name)
    finally:
        random.setstate(state)


def __dir__() -> list[str]:
    methods = import_module(f"{__name__}.estimators").__all__
    return sorted({*globals(), *methods, *" ".join(_MODULES.values()).split()})
