"""Committed files as git's index holds them, whatever a run has left in the working tree."""

import subprocess
from pathlib import Path

from lpbench.paths import ROOT


def check_out(patterns: str | list[str], folder: Path) -> Path:
    """Write the committed files of some pathspecs below ``folder``; returns the root of the files.

    The index is HEAD with what is staged, so that a change of results is tested before it is committed. A copy of the
    project without git has nothing to compare with: its own files are the committed ones.
    """
    patterns = [patterns] if isinstance(patterns, str) else patterns
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True)
    if listed.returncode or not listed.stdout:
        return ROOT
    command = ["git", "checkout-index", "-z", "--stdin", f"--prefix={folder}/"]
    subprocess.run(command, cwd=ROOT, input=listed.stdout, check=True)
    return folder
