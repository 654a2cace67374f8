"""Build the distribution ``lpbench-light`` from the same tree: the library and the audit of code, without the harness.

``python scripts/light_wheel.py FOLDER`` writes the wheel there. It has a part of the package's modules, under the same
names, and needs what :data:`NEEDS` lists; whoever installs the whole distribution uninstalls this one first.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Distributions that the modules import; scikit-learn brings joblib and threadpoolctl.
NEEDS = ("numpy", "scipy", "scikit-learn", "mpmath", "click", "rich")
#: Modules and rooms of the package, by pattern.
PARTS = (
    "__init__.py", "__init__.pyi", "py.typed", "checks.py", "errors.py", "ledger.py", "masks.py", "members.py",
    "paths.py", "problem.py", "process_marks.py", "seeds.py", "selectors.py", "privacy/**/*.py", "partitions/**/*.py",
    "estimators/**/*.py", "audit/__init__.py", "audit/accounting.py", "audit/contract.py", "audit/laws.py",
    "audit/methods.py", "audit/randomizers.py", "audit/recording.py", "audit/samples.py", "audit/black_box/*.py",
    "audit/learner/*.py", "experiments/__init__.py", "experiments/frozen.py", "experiments/method.py",
    "experiments/time_limit.py", "cli/__init__.py", "cli/audit_code.py", "cli/checking.py", "cli/light.py",
    "cli/numbers.py", "cli/surroundings.py",
)  # fmt: skip
#: Modules of those rooms that need more.
LEFT_OUT = ("audit/black_box/files.py",)


def write_sources(target: Path) -> None:
    """Write the package's part and a pyproject.toml of its own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [line for line in project["dependencies"] if re.split("[<>=]", line)[0] in NEEDS]
    version = re.search(r'__version__ = "(.*)"', (ROOT / "lpbench/__init__.py").read_text(encoding="utf-8"))
    assert version is not None and len(needed) == len(NEEDS)
    package = ROOT / "lpbench"
    files = {path for pattern in PARTS for path in package.glob(pattern)} - {package / name for name in LEFT_OUT}
    for path in sorted(files):
        copy = target / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    (target / "README.md").write_text(
        "The library and the audit of code of lpbench, without the harness. `pip install lpbench` has everything.\n",
        encoding="utf-8",
    )
    (target / "pyproject.toml").write_text(
        f"""[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "lpbench-light"
version = "{version[1]}"
description = "Locally private learning as a library, and the audit of anybody's code"
readme = "README.md"
license = "{project["license"]}"
requires-python = "{project["requires-python"]}"
dependencies = {needed!r}

[project.scripts]
lpbench = "lpbench.cli.light:main"

[tool.setuptools.packages.find]
include = ["lpbench*"]

[tool.setuptools.package-data]
"*" = ["py.typed", "*.pyi"]
""",
        encoding="utf-8",
    )


def build(dist: Path) -> Path:
    """Build the wheel into a folder and return it."""
    dist.mkdir(parents=True, exist_ok=True)
    code = f"from setuptools import build_meta; print(build_meta.build_wheel({str(dist.resolve())!r}))"
    with tempfile.TemporaryDirectory(prefix="lpbench-light-") as folder:
        write_sources(Path(folder))
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return dist / done.stdout.splitlines()[-1]


if __name__ == "__main__":
    print(build(Path(*sys.argv[1:])))
