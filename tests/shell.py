"""Commands of pages, run by bash as a reader would, with this Python's programs."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def in_bash(commands: str, folder: Path, environment: Mapping[str, str] = os.environ, patience: float = 7200) -> str:
    """What commands print, none of which may fail; one that hangs is given up after so many seconds."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder, env={**environment, "PATH": path}, capture_output=True, text=True, timeout=patience,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
