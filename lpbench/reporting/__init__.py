"""Tables, figures, comparison with the published numbers, verdicts on the papers' claims, and the report."""

from lpbench.reporting.artefact import write_artefact
from lpbench.reporting.drawings import write_drawing
from lpbench.reporting.pages.site import write_pages
from lpbench.reporting.report import write_report

__all__ = ["write_artefact", "write_drawing", "write_pages", "write_report"]
