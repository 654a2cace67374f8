"""lpbench: reproducible experiments in locally private learning."""

__version__ = "0.3.0"
