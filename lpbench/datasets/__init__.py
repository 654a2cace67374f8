"""Data sets: manifests, where they come from, how they are prepared, synthetic families, masks and splits."""

from lpbench.datasets.description import Description, describe
from lpbench.datasets.manifest import Manifest, list_datasets, load_manifest
from lpbench.datasets.masks import make_mask
from lpbench.datasets.problems import Draws, make_problem
from lpbench.datasets.sources import load_table
from lpbench.datasets.synthetic import eta_p, eta_q
from lpbench.datasets.table import Table

__all__ = [
    "Description",
    "Draws",
    "Manifest",
    "Table",
    "describe",
    "eta_p",
    "eta_q",
    "list_datasets",
    "load_manifest",
    "load_table",
    "make_mask",
    "make_problem",
]
