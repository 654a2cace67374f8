"""``lpbench report``: report and pages from stored results."""

from __future__ import annotations

from pathlib import Path

import click

from lpbench.cli import options
from lpbench.errors import ConfigurationError


@click.command()
@options.results(exists=True)
def command(results: Path) -> int:
    """Rewrite report and pages from stored results."""
    from lpbench.experiments.records import missing_data
    from lpbench.experiments.results import Results
    from lpbench.pipeline import publish

    records = Results(results).records()
    if not records:
        raise ConfigurationError(f"--results {results} holds no finished experiment; run one: lpbench reproduce NAME")
    target = publish(results, missing_data(records.values()))
    print(f"report: {target / 'report.md'}")
    return 0
