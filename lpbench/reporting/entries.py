"""An experiment and its artefact, as reports and pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lpbench.experiments.experiment import Experiment
from lpbench.experiments.results import Artefact
from lpbench.reporting.figures.ranks import BUDGETS, RANKS


class ReportEntry(Artefact):
    """The artefact of an experiment, run or not, and which of its pictures a page shows where.

    ``within`` is the folder of the results in which the pages are, if they are not in that of the results.
    """

    def __init__(self, experiment: Experiment, results_dir: Path, within: str = ""):
        name: str = experiment.name
        super().__init__(Path(results_dir) / name, name)
        #: Path from the pages to the artefact.
        self.address: str = name.removeprefix(f"{within}/")
        self._experiment = experiment
        self.title: str = experiment.title or name
        self.paper: str = experiment.paper or name.partition("/")[0]
        self.notes: Sequence[str] = experiment.notes
        self.kind: str = experiment.kind

    @property
    def experiment(self) -> Experiment:
        """The experiment that the report is about."""
        return self._experiment

    @property
    def pictures(self) -> dict[str, list[str]]:
        """Vector images: ``main``, then the plots that every table gets."""
        mine = [f for f in self.files if f.endswith(".svg") and f.startswith(self.leaf)]
        views = {kind: [f for f in mine if f.startswith(self.leaf + kind)] for kind in (RANKS, BUDGETS)}
        return {"main": [f for f in mine if not any(f in found for found in views.values())], **views}
