"""What the results folder holds of each experiment, for the reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from lpbench.analysis import Summary, read_csv
from lpbench.experiments.results import read_summary
from lpbench.reporting.artefact import summarise_experiment
from lpbench.reporting.cards import get
from lpbench.reporting.figures.standard import BOXES, BUDGETS, DIFFERENCES, RANKS


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
        self._full: Summary | None = None
        self.files = sorted(p.name for p in self.folder.glob("*") if p.suffix in {".svg", ".md", ".tex", ".csv"})

    def _read(self, name: str) -> pd.DataFrame | None:
        path = self.folder / name
        return read_csv(path) if path.is_file() else None

    def full(self, cards: Mapping[str, Mapping]) -> Summary | None:
        """Summary with the chosen replications, kept or made from the scores (once); None where there are none."""
        path = self.folder / "scores.parquet"
        if self._full is None and self.summary is not None and path.is_file():
            self._full = read_summary(self.folder) or summarise_experiment(
                self.experiment, pd.read_parquet(path), cards
            )
        return self._full

    def pictures(self, selection: str = "oracle") -> dict[str, list[str]]:
        """Vector images of one selection: ``main``, then the plots that every table gets."""
        free = f"{self.leaf}_tuning_free"
        stem = self.leaf if selection == "oracle" else free
        mine = [f for f in self.files if f.endswith(".svg") and f.startswith(free) == (selection != "oracle")]
        field = {kind: [f for f in mine if f.startswith(stem + kind)] for kind in (RANKS, BUDGETS, BOXES, DIFFERENCES)}
        return {"main": [f for f in mine if not any(f in found for found in field.values())], **field}

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
