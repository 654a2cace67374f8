"""What every experiment of the field writes beside the standard tables: ranks, and advice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lpbench.analysis import Summary
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.papers.field.advice import write_advice
from lpbench.papers.field.ranking import write_field


def write_outputs(experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path) -> list[Path]:
    """Write ``field.csv``, ``field_seconds.csv`` and ``advice.csv``."""
    return write_field(experiment, summary, cards, folder) + write_advice(experiment, summary, cards, folder)
