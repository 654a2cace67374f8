"""Toy data sets with manifests of their own, in folders of their own."""

import numpy as np
import pytest
import yaml

from lpbench.datasets.table import Table

ROWS = [("a", 0.5, 1), ("b", 1.5, 2), ("a", -2.0, 3), ("b", 0.25, 5)]
CSV = "kind,size,label\n" + "".join(f"{k},{v},{t}\n" for k, v, t in ROWS)
ARFF = "@relation toy\n@attribute kind {a,b}\n@attribute size real\n@attribute label real\n@data\n" + "".join(
    f"{k},{v},{t}\n" for k, v, t in ROWS
)
TABLE = Table(
    np.array([[0.0, 0.5], [1.0, 1.5], [0.0, -2.0], [1.0, 0.25]]), np.array([1.0, 2.0, 3.0, 5.0]), ("kind", "size")
)
MANIFEST = {
    "title": "Toy",
    "task": "regression",
    "sources": [
        {"kind": "file", "files": {"data": "toy/toy.csv"}},
        {"kind": "openml", "id": 7},
        {"kind": "uci", "id": 70, "archive": "toy.zip", "files": {"data": "toy.csv"}},
        {"kind": "manual", "instructions": "ask the toymaker for toy.csv"},
    ],
    "target": "label",
    "features": [{"column": "kind", "map": {"a": 0, "b": 1}}, "size"],
    "sensitivity": {"order": ["size"], "reason": "toys are shy about their size"},
    "y_range": [1, 5],
    "fingerprint": TABLE.fingerprint,
}


class Workshop:
    """A mirror, a cache and a manifest folder of one test."""

    def __init__(self, root):
        self.mirror, self.cache, self.manifests = root / "mirror", root / "cache", root / "manifests"
        for folder in (self.mirror, self.cache, self.manifests):
            folder.mkdir()

    def manifest(self, name: str = "toy", drop: tuple[str, ...] = (), **changes) -> None:
        """Write a manifest: the toy's with changes."""
        content = {k: v for k, v in {**MANIFEST, **changes}.items() if k not in drop}
        (self.manifests / f"{name}.yaml").write_text(yaml.safe_dump(content))

    def file(self, text: str = CSV, path: str = "toy/toy.csv") -> None:
        (self.mirror / path).parent.mkdir(exist_ok=True)
        (self.mirror / path).write_text(text)


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """Folders and environment for toy data sets; the real mirror and cache are out of sight."""
    workshop = Workshop(tmp_path)
    monkeypatch.setenv("LPBENCH_DATA_MIRROR", str(workshop.mirror))
    monkeypatch.setenv("LPBENCH_CACHE", str(workshop.cache))
    monkeypatch.setenv("LPBENCH_DATASETS", str(workshop.manifests))
    return workshop
