"""Write the description of a suite of tasks on OpenML: the tabular data sets of this project that have a number there.

A suite is a list of tasks, and a task is a data set, a target and a way to split its rows. The file that is written has
what ``openml.tasks.create_task`` and ``openml.study.create_benchmark_suite`` take; tasks that are there already have
their number. Creating and uploading need an account, and are a person's act: the last lines say how.

Usage: python scripts/openml_suite.py [FILE]    (default: standard output)
"""

import json
import sys
from pathlib import Path
from typing import Any

from lpbench.datasets import load_manifest
from lpbench.datasets.manifest import Manifest
from lpbench.paths import MANIFESTS

#: Tasks that are there, and the source of their numbers.
TASKS = {"census": 7592, "bank": 14965, "german": 31}
TASKS_KNOWN_FROM = "microsoft/FLAML, test/problems/openml_info.py"
#: Targets by their names at OpenML, as the sources of the numbers have them; others are those that OpenML states.
TARGETS = {
    "abalone": "rings",
    "airfoil": "sound_pressure",
    "breast_cancer": "Class",
    "california": "medianHouseValue",
    "fish_toxicity": "LC50",
    "german": "class",
    "magic": "class:",
    "music_origin": "latitude",
    "red_wine": "quality",
    "spambase": "class",
    "student": "G3",
    "white_wine": "quality",
}
#: Measure by task; the procedure is named, for its numbers are the server's.
MEASURES = {"classification": "predictive_accuracy", "regression": "mean_squared_error"}
PROCEDURE = "10-fold Crossvalidation"


def task_of(manifest: Manifest) -> dict[str, Any]:
    """Return the arguments of ``openml.tasks.create_task`` for a data set, and the task's number if it is there."""
    return {
        "data_set": manifest.name,
        "task_type": f"SUPERVISED_{manifest.task.upper()}",
        "dataset_id": manifest.openml["id"],
        "target_name": TARGETS.get(manifest.name),
        "estimation_procedure": PROCEDURE,
        "evaluation_measure": MEASURES[manifest.task],
        "task_id": TASKS.get(manifest.name),
        "known_from": manifest.openml["known_from"],
        "differs": manifest.openml.get("differs", ""),
    }


def suite() -> dict[str, Any]:
    """Return the description of the suite."""
    manifests = [load_manifest(path.stem) for path in sorted(MANIFESTS.glob("*.yaml"))]
    tasks = [task_of(manifest) for manifest in manifests if manifest.openml]
    return {
        "alias": "lpbench",
        "name": "lpbench: learning under local differential privacy",
        "description": (
            "Tabular data sets on which lpbench compares methods of local differential privacy. Masks, public samples "
            "and orders of sensitivity are in the manifests of lpbench, which OpenML has no place for."
        ),
        "tasks": tasks,
        "tasks_known_from": TASKS_KNOWN_FROM,
        "to_upload": [
            "openml.config.apikey = '...'",
            "look the number of the procedure up: https://www.openml.org/api/v1/json/estimationprocedure/list",
            "where target_name is null: openml.datasets.get_dataset(dataset_id).default_target_attribute",
            "where task_id is null: openml.tasks.create_task(openml.tasks.TaskType[task_type], ...).publish()",
            "openml.study.create_benchmark_suite(name, description, task_ids, alias).publish()",
        ],
    }


def main(arguments: list[str]) -> None:
    """Write the description to a file, or print it."""
    text = json.dumps(suite(), indent=1, ensure_ascii=False) + "\n"
    if arguments:
        Path(arguments[0]).write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main(sys.argv[1:])
