"""Pictures that explain, such as masks, partitions and distributions: found among the papers' drawings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lpbench.errors import unknown_name
from lpbench.experiments.experiment import Experiment
from lpbench.reporting.paper import paper_of, papers


def drawing_of(name: str) -> Callable[..., list[Path]] | None:
    """Return the function(experiment, folder, seed) that draws an experiment's picture; None if it has none."""
    return paper_of(name).drawings.get(name)


def write_drawing(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Draw the picture of an experiment of kind ``drawing``, or the drawn panel of a figure.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
    seed : int
        Root seed of what is drawn at random.

    Raises
    ------
    ConfigurationError
        No drawing is registered under the experiment's name.
    """
    name = experiment.name
    draw = drawing_of(name)
    if draw is None:
        raise unknown_name("drawing", name, [d for paper in papers() for d in paper.drawings])
    return draw(experiment, Path(folder), seed)
