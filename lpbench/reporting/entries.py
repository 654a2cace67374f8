"""An experiment and its artifact, as reports and pages show them."""

from collections.abc import Sequence
from pathlib import Path

from lpbench.experiments.experiment import Experiment
from lpbench.experiments.results import Artifact
from lpbench.reporting.figures.ranks import BUDGETS_SUFFIX
from lpbench.reporting.paper import Page, Paper, paper_of


class ReportEntry(Artifact):
    """Artifact of an experiment, run or not, with what its report page needs: paper, section, files, links."""

    def __init__(self, experiment: Experiment, results_dir: Path, within: str = "", paper: Paper | None = None):
        """Look up an experiment's paper and section; the artifact's files may be missing."""
        name: str = experiment.name
        super().__init__(Path(results_dir) / name, name)
        #: Path from the pages to the artifact.
        self.address: str = name.removeprefix(f"{within}/")
        #: What the report is about.
        self.experiment: Experiment = experiment
        self.title: str = experiment.title or name
        self.paper: Paper = paper or paper_of(name)
        #: Where it is shown.
        self.section: Page = self.paper.section_of(name)
        self.notes: Sequence[str] = experiment.notes
        self.kind: str = experiment.kind

    @property
    def pictures(self) -> list[str]:
        """Vector images, those of scores against the budget left out."""
        return [f for f in self.files if f.endswith(".svg") and f.startswith(self.leaf) and BUDGETS_SUFFIX not in f]

    def links(self, folder: Path, stored: bool) -> list[tuple[str, str]]:
        """Names and addresses of files as seen from pages in ``folder``; in the repository, of those in git."""
        files = [f for f in self.files if (folder / self.address / f).is_file()]
        if stored:
            files += ["scores.parquet"] if (self.folder / "scores.parquet").is_file() else []
        else:  # the others are made again from the scores; numbers.csv has what comparison.csv says
            remade = () if self.kind == "drawing" else ("summary.csv", "comparison.csv")
            files = [f for f in files if f.endswith((".csv", ".svg")) and f not in remade and BUDGETS_SUFFIX not in f]
        # a CSV file may have heads and nothing else
        files = [f for f in files if not f.endswith(".csv") or (self.folder / f).read_bytes().count(b"\n") > 1]
        return [(f, f"{self.address}/{f}") for f in files]
