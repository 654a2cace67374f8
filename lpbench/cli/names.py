"""Names and keys that may stand on the command line, from file names alone (nothing heavy is imported)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from lpbench.experiments.catalogue import experiment_folders, method_folders
from lpbench.experiments.config import Config
from lpbench.paths import CONF, manifest_folders


def known_names() -> dict[str, list[str]]:
    """Keys that choose something by name -> the names."""
    return {
        "dataset": _stems(manifest_folders()),
        "method": _stems(method_folders()),
        "mask": _stems([CONF / "mask"]),
        "experiment": _stems(experiment_folders()),
        "runner": _stems([CONF / "runner"]),
        "tracking": _stems([CONF / "tracking"]),
    }


def _stems(folders: Iterable[Path]) -> list[str]:
    found = (p.relative_to(folder).with_suffix("").as_posix() for folder in folders for p in folder.rglob("*.yaml"))
    return sorted(set(found))


def plain_keys() -> list[str]:
    """Top-level keys that hold a value (``epsilon``, ``seed``, ...)."""
    return sorted(f.name for f in fields(Config) if f.name not in known_names())
