"""Pictures that explain: masks, partitions, pruning, distributions. Drawn from the library's own objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from lpbench.errors import unknown_name
from lpbench.papers.histoftree.drawings import draw_masks
from lpbench.papers.lpct.dataset_sizes import write_facts
from lpbench.papers.lpct.drawings import (
    draw_contours,
    draw_partition,
    draw_pruning,
    draw_ranges,
    draw_two_partitions,
)
from lpbench.reporting.cards import get

#: Experiment -> function(experiment, folder, seed) that draws it.
DRAWINGS: Mapping[str, Callable] = {
    "histoftree/figure1": draw_masks,
    "lpct/figure1": draw_partition,
    "lpct/figure2": draw_pruning,
    "lpct/figure3": draw_contours,
    "lpct/figure8": draw_ranges,
    "lpct/figure9": draw_two_partitions,
    "lpct/table1": write_facts,
}


def write_drawing(experiment, folder: Path, seed: int) -> list[Path]:
    """Draw the picture of an experiment of kind ``drawing``, or the drawn panel of a figure.

    Parameters
    ----------
    experiment : mapping or record
    folder : Path
    seed : int
        Root seed of what is drawn at random.

    Raises
    ------
    ConfigurationError
        No drawing is registered under the experiment's name.
    """
    name = get(experiment, "name")
    if name not in DRAWINGS:
        raise unknown_name("drawing", name, DRAWINGS)
    return DRAWINGS[name](experiment, Path(folder), seed)
