"""A small experiment whose runs meet faults, and what tests do with it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.experiments.helpers import study

NAME = "own/faulty"
CONTENT = study(("private_mean", "par_dt", "label_dt"), NAME, "Faulty", 3, mask=["personalized"])


def words(results: Path, *options: str) -> list[str]:
    return ["reproduce", NAME, "--results", str(results), "--tracking", "none", *options]


def summary(results: Path) -> bytes:
    return (results / NAME / "summary.csv").read_bytes()


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mount something on a folder; skip where that is not allowed."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
