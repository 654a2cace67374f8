"""The leaderboard's rows as a script, in few bytes: pages opened from a disk may load scripts, but no data."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from lpbench.reporting.pages.leaderboard import Line

#: Name of the script beside the page.
SCRIPT = "leaderboard.js"


def as_script(lines: Sequence[Line], view: Mapping[str, str]) -> str:
    """Write the rows down, what rows share once: data sets, methods and experiments in lists, rows by comparison.

    Numbers have the digits that the page shows; a rank has more of them, since rows are sorted by it.
    """
    sets: dict[tuple, int] = {}
    methods: dict[tuple, int] = {}
    experiments: dict[str, int] = {}
    groups: dict[tuple, list[list]] = {}
    for line in lines:
        dataset = (line.dataset_key, line.dataset)
        method = (line.method, line.title, line.protects, _printed(line.work, ".5g"), line.badge, line.paper)
        group = (line.task, line.mask_key, line.mask, line.epsilon, line.selection)
        groups.setdefault(group, []).append(
            [
                sets.setdefault(dataset, len(sets)),
                methods.setdefault(method, len(methods)),
                experiments.setdefault(line.experiment, len(experiments)),
                line.sets,
                _printed(line.score, ".4g"),
                _printed(line.se, ".2g"),
                *(_printed(v, ".2f") for v in (line.floor, line.best)),
                _printed(line.rank, ".3f"),
                *(_printed(v, ".1f") for v in (line.low, line.high)),
                _printed(line.bits, ".5g"),
            ]
        )
    board = {
        "view": dict(view),
        "sets": list(sets),
        "methods": list(methods),
        "experiments": list(experiments),
        "groups": [[*group, rows] for group, rows in groups.items()],
    }
    return f"const BOARD = {json.dumps(board, ensure_ascii=False, separators=(',', ':'))};\n"


def _printed(value: float, form: str) -> Any:
    """Number with the digits of a format, a whole one without a point; none where there is no number."""
    if math.isnan(value):
        return None
    number = float(format(value, form))
    return int(number) if number.is_integer() else number
