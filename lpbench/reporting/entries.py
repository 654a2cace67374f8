"""What the results folder holds of each experiment, for the reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lpbench.analysis import read_csv
from lpbench.reporting.cards import get


class Entry:
    """One experiment and what its folder holds."""

    def __init__(self, experiment, results_dir: Path):
        self.name: str = get(experiment, "name")
        self.title: str = get(experiment, "title", self.name)
        self.paper: str = get(experiment, "paper", self.name.partition("/")[0])
        self.notes: Sequence[str] = get(experiment, "notes", [])
        self.leaf = self.name.rpartition("/")[2]
        self.folder = results_dir / self.name
        self.summary = self._read("summary.csv")
        self.comparison = self._read("comparison.csv")
        self.kind: str = get(experiment, "kind", "table")
        self.experiment = experiment
        self.files = sorted(p.name for p in self.folder.glob("*") if p.suffix in {".svg", ".md", ".tex", ".csv"})

    def _read(self, name: str) -> pd.DataFrame | None:
        path = self.folder / name
        return read_csv(path) if path.is_file() else None

    @property
    def was_run(self) -> bool:
        """Whether the folder shows anything."""
        has_numbers = self.summary is not None and self.summary["mean"].notna().any()
        return has_numbers or (self.summary is None and bool(self.files))

    def reasons(self) -> pd.DataFrame:
        """Cells that did not run: columns dataset, method, reason."""
        path = self.folder / "scores.parquet"
        columns = ["dataset", "method", "status", "reason"]
        if not path.is_file():
            return pd.DataFrame(columns=columns)
        rows = pd.read_parquet(path, columns=columns, filters=[("replication", "<", 0)])
        return rows.astype(str).drop_duplicates()

    def record(self) -> dict:
        """Content of ``run.json`` (seed, replications, environment), empty without a run."""
        path = self.folder / "run.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
