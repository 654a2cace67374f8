"""lpbench: reproducible experiments in locally private learning."""

__version__ = "0.1.0"
