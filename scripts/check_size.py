"""Fail when a folder has more lines of Python than pyproject states in ``[tool.lpbench.most_lines]``.

Usage: python scripts/check_size.py [FOLDER]
"""

import sys
import tomllib
from pathlib import Path


def lines_of(folder: Path) -> int:
    """Lines of all Python files below a folder."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py"))


def too_long(root: Path) -> list[str]:
    """One sentence for each folder that exceeds its ceiling."""
    stated = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["lpbench"]["most_lines"]
    return [
        f"{folder}/ has {lines} lines of Python, and pyproject.toml allows {most}: delete as many as you add"
        for folder, most in stated.items()
        if (lines := lines_of(root / folder)) > most
    ]


if __name__ == "__main__":
    sys.exit("\n".join(too_long(Path(*sys.argv[1:]))) or 0)
