"""Build sdist and wheel, install the wheel outside the checkout, and use it as a new user would.

Dependencies are those of the interpreter that runs this script; the package itself comes from the wheel alone.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What must be in the wheel, and what must not.
CARRIED = (
    "lpbench/py.typed",
    "lpbench/_project/conf/config.yaml",
    "lpbench/_project/datasets/abalone.yaml",
    "lpbench/_project/docs/methods_notes.md",
    "lpbench/_project/requirements.lock",
    "lpbench/_project/results/published/claims.csv",
    "lpbench/_project/results/reproduced/extensions/embedded_regression/summary.csv",
    "lpbench/_project/results/reproduced/scores/lpct.parquet",
)
LEFT_OUT = re.compile(r"tests/|\.png$|\.svg$|__pycache__")
#: Nothing in the wheel is large but the committed scores and tables, from which it writes the report.
LARGEST = 6.0
#: Commands that a new user types, without data and without a checkout, and what their output says.
COMMANDS = {
    "list methods": "histoftree_cart",
    "list datasets": "diabetes_progression",
    "list experiments": "histoftree/table1",
    "plan experiment=extensions/embedded_regression": "blocks",
    "method=histoftree_cart epsilon=2 replications=2": "histoftree_cart",
    "reproduce extensions/embedded_regression --replications 2 --tracking none": "1 artefacts written",
    "check method private_mean": "private_mean",
    "audit private_mean --samples 10000": "states 1, loses 1",
}


def main() -> None:
    """Raise where something does not work; print how long each step took."""
    with tempfile.TemporaryDirectory(prefix="lpbench-wheel-") as name:
        folder = Path(name)
        wheel = _step(
            "build sdist, and the wheel from it", lambda: build(copy_sources(folder / "src"), folder / "dist")
        )
        check_contents(wheel)
        python = _step("install the wheel", lambda: install(wheel, folder / "env"))
        tried = {f"lpbench {c}": ([python.parent / "lpbench", *c.split()], said) for c, said in COMMANDS.items()}
        tried["the README's example"] = ([python, "-c", readme_example()], "")
        # two at a time, each in a folder of its own: most of a command is its start
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(use, title, folder / f"home{k}", *tried[title]) for k, title in enumerate(tried)]:
                done.result()
        if not list(folder.glob("home*/results/runs/replications=2/index.html")):
            sys.exit("results are not in the working folder")


def use(title: str, home: Path, command: list, said: str) -> None:
    """Run a command in a new folder; its output says something."""
    home.mkdir()
    output = _step(title, lambda: run(command, home))
    if said not in output:
        sys.exit(f"{title} does not say {said!r}:\n{output}")


def copy_sources(target: Path) -> Path:
    """Copy what git knows or would add, so that nothing left from an earlier build comes along."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((ROOT / name).read_bytes())
    return target


def build(source: Path, dist: Path) -> Path:
    """Build the sdist from the sources and the wheel from the unpacked sdist; returns the wheel."""
    dist.mkdir()
    run([sys.executable, "-c", f"from setuptools import build_meta; build_meta.build_sdist({str(dist)!r})"], source)
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(source.parent, filter="data")
    unpacked = source.parent / sdist.name.removesuffix(".tar.gz")
    run([sys.executable, "-c", f"from setuptools import build_meta; build_meta.build_wheel({str(dist)!r})"], unpacked)
    (wheel,) = dist.glob("*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """Look at the names and the size of what the wheel holds."""
    names = zipfile.ZipFile(wheel).namelist()
    wrong = [f"{name} is missing" for name in CARRIED if name not in names]
    wrong += [f"{name} does not belong there" for name in names if LEFT_OUT.search(name)]
    megabytes = wheel.stat().st_size / 1e6
    if megabytes > LARGEST:
        wrong.append(f"{megabytes:.1f} MB are more than {LARGEST}")
    if wrong:
        sys.exit(f"{wheel.name}: " + "; ".join(wrong))
    print(f"{wheel.name}: {len(names)} files, {megabytes:.2f} MB")


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel into a new environment, which sees the dependencies of this one; returns its interpreter."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel], ROOT)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return python


def readme_example() -> str:
    """The README's Python block, followed by the question where the package came from."""
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    return block + "\nimport sys, lpbench\nassert lpbench.__file__.startswith(sys.prefix), lpbench.__file__\n"


def run(command: list, folder: Path) -> str:
    """Run a command without anything of the caller's set-up; returns what it printed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LPBENCH_", "PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([str(word) for word in command], cwd=folder, env=kept, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:200]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _step(title: str, work):
    start = time.perf_counter()
    result = work()
    print(f"{time.perf_counter() - start:6.1f} s  {title}", flush=True)
    return result


if __name__ == "__main__":
    main()
