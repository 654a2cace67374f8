"""``lpbench track``: MLflow runs from stored results."""

from __future__ import annotations

from pathlib import Path

import click

from lpbench.cli import options


@click.command()
@options.tracking_uri()
@options.results(exists=True)
def command(tracking_uri: str | None, results: Path) -> int:
    """Rebuild the MLflow runs from stored results."""
    from lpbench.pipeline import track_results

    print(f"{track_results(results, tracking_uri)} runs written")
    return 0
