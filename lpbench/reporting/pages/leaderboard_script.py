"""The leaderboard's rows as a script, in few bytes: pages opened from a disk may load scripts, but no data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from lpbench.reporting.numbers import for_script
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
        method = (line.method, line.title, line.protects, for_script(line.work, ".5g"), line.badge, line.paper)
        group = (line.task, line.mask_key, line.mask, line.epsilon, line.selection)
        groups.setdefault(group, []).append(
            [
                sets.setdefault(dataset, len(sets)),
                methods.setdefault(method, len(methods)),
                experiments.setdefault(line.experiment, len(experiments)),
                line.sets,
                for_script(line.score, ".4g"),
                for_script(line.se, ".2g"),
                *(for_script(v, ".2f") for v in (line.constant, line.best)),
                for_script(line.rank, ".3f"),
                *(for_script(v, ".1f") for v in (line.low, line.high)),
                for_script(line.bits, ".5g"),
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
