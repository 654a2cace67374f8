"""Streams of simulated users: the table of users per second and memory, and its figure."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.reporting.figures import style
from lpbench.reporting.paper import paper_of


def write_streaming(table: pd.DataFrame, folder: Path) -> None:
    """Write ``streaming.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    digits = {"seconds": 2, "users_per_second": 0, "memory_mb": 1, "peak_mb": 1, "table_kb": 3}
    write_csv(table.round(digits), folder / "streaming.csv")


def draw_streaming(table: pd.DataFrame, folder: Path) -> None:
    """Draw ``streaming.svg``: a line for each step of each method."""
    with style.look():
        figure, axes = plt.subplots(1, 2, figsize=(8.0, 3.2), sharex=True)
        quantities = (
            ("memory_mb", 1.0, "memory of the process (MB)"),
            ("users_per_second", 1e6, "million users per second of processor time"),
        )
        for ax, (column, unit, label) in zip(axes, quantities, strict=True):
            for k, ((method, step), part) in enumerate(table.groupby(["method", "step"], sort=False)):
                name = f"{paper_of(method).short}, {step}"
                look = {"color": style.COLOURS[k], "marker": style.MARKERS[k], "linestyle": style.LINES[k]}
                ax.plot(part["users"] / 1e6, part[column] / unit, label=name, **look)
            ax.set_ylim(bottom=0)
            ax.set_xlabel("million users so far")
            ax.set_ylabel(label)
        axes[0].legend()
        style.save(figure, folder, "streaming")
