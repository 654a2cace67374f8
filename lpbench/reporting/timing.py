"""The report's section on time and memory."""

from __future__ import annotations

from pathlib import Path

from lpbench.analysis import read_csv


def timing_section(folder: Path) -> str:
    """Show ``timing.csv`` of the report's folder; empty if there is none."""
    path = folder / "timing.csv"
    if not path.is_file():
        return ""
    lines = [
        "## Time",
        "",
        "Seconds of the blocks, added up over the workers; a block that serves several artefacts is in the total once. "
        "Memory is the largest that one worker held.",
        "",
        "| artefact | blocks | fits replaced | seconds | workers | peak memory (MB) |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in read_csv(path).itertuples(index=False):
        peak = f"{float(row.peak_mb):.0f}" if row.peak_mb else "-"
        cells = [row.artefact, row.blocks, row.fits_replaced, f"{float(row.seconds):.1f}", row.workers, peak]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)
