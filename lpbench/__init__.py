"""lpbench: reproducible experiments in locally private learning."""

from importlib import import_module
from typing import Any

__version__ = "0.3.0"


def __getattr__(name: str) -> Any:
    """Return ``lpbench.apart``, which brings numpy and scikit-learn, when it is asked for."""
    if name != "apart":
        raise AttributeError(f"module lpbench has no attribute {name!r}")
    return import_module("lpbench.audit.apart").apart
