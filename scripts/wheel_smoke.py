"""Build sdist and wheels, install each wheel outside the checkout, and use it as a new user would.

Dependencies are those of the interpreter that runs this script; the package itself comes from the wheel alone. The
light wheel sees no other distributions than it needs.
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
from importlib.metadata import distribution, requires
from pathlib import Path

import light_wheel
from packaging.requirements import Requirement

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
LEFT_OUT = re.compile(r"tests/|\.png$|(?<!templates/favicon)\.svg$|__pycache__")
#: Nothing in the wheel is large but the committed scores and tables, from which it writes the report.
LARGEST = 6.0
#: Commands that a new user types, without data and without a checkout, and what their output says.
COMMANDS = {
    "list methods": "histoftree_cart",
    "list datasets": "diabetes_progression",
    "list experiments": "histoftree/table1",
    "plan experiment=extensions/embedded_regression": "blocks",
    "method=histoftree_cart epsilon=2 replications=2": "histoftree_cart",
    "reproduce extensions/embedded_regression --replications 2 --tracking none": "1 artifacts written",
    "check method private_mean": "private_mean",
    "audit private_mean --samples 10000": "states 1, loses 1",
}


#: Code that a user of the light wheel audits, and the commands, with what their output says.
LIGHT_CODE = """
def honest(value, rng):
    return value + rng.laplace(scale=1.0)


class Leaks:
    def __init__(self, epsilon=1.0, random_state=None):
        self.epsilon = epsilon

    def fit(self, X, y):
        self.mean_ = float(y.mean())

    def predict(self, X):
        return X[:, 0] * 0 + self.mean_


from lpbench import PrivateMean


class Mine(PrivateMean):
    pass


class Reveals(PrivateMean):
    def learn(self, users):
        super().learn(users)
        self.mean_ = float(users.reveal().y.mean())
        return self
"""
LIGHT_COMMANDS = {
    "audit code mine.py:honest --epsilon 1 --values 0 1 --samples 2000": (0, "no violation found"),
    "audit code --learner mine.py:Leaks --epsilon 1": (1, "VIOLATED"),
    "check method mine.py:Mine": (0, "1 method(s), 8 checks, 0 broken"),
    "check method mine.py:Reveals --only audit": (1, "the method takes a budget and reads the records"),
    "list methods": (2, "pip install lpbench"),
    "audit code reports.csv --epsilon 1": (2, "pip install lpbench"),
}
#: What must not be imported by then, and how many megabytes its environment may have.
LIGHT_LIBRARY = """
from lpbench import PrivacyLedger, PrivateMean
with PrivacyLedger(limit=2.0) as ledger:
    PrivateMean(1.0, y_range=(0, 2), random_state=0).fit(X, y)
assert ledger.epsilon == 1.0, ledger.epsilon
heavy = {"mlflow", "hydra", "pandas", "matplotlib", "pyarrow"} & set(sys.modules)
assert not heavy, heavy
"""
LIGHT_MEGABYTES = 450.0


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
        try_light(folder)
        if not list(folder.glob("home*/results/runs/replications=2/index.html")):
            sys.exit("results are not in the working folder")


def try_light(folder: Path) -> None:
    """Build the light wheel, install it where nothing is but what it needs, and use it."""
    wheel = _step("build the light wheel", lambda: light_wheel.build(folder / "light"))
    python = _step("install it", lambda: install(wheel, folder / "light-env", brought_by(light_wheel.NEEDS)))
    walked = os.walk(python.parents[1] / "lib", followlinks=True)
    megabytes = sum((Path(place) / name).stat().st_size for place, _, names in walked for name in names) / 1e6
    print(f"{wheel.name}: {megabytes:.0f} MB with all that it needs")
    if megabytes > LIGHT_MEGABYTES:
        sys.exit(f"{megabytes:.0f} MB are more than {LIGHT_MEGABYTES:g}")
    home = folder / "light-home"
    home.mkdir()
    (home / "mine.py").write_text(LIGHT_CODE, encoding="utf-8")
    for words, (code, said) in LIGHT_COMMANDS.items():
        command = [python.parent / "lpbench", *words.split()]
        output = _step(f"light: {words}", lambda command=command, code=code: run(command, home, code))
        if said not in output:
            sys.exit(f"{words} does not say {said!r}:\n{output}")
    _step(
        "light: the README's example and a ledger", lambda: run([python, "-c", readme_example() + LIGHT_LIBRARY], home)
    )


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


def brought_by(names: tuple[str, ...]) -> set[str]:
    """Names of distributions and of all that they need."""
    needed: set[str] = set()
    remaining = list(names)
    while remaining:
        if (name := remaining.pop().lower()) not in needed:
            needed.add(name)
            parsed = map(Requirement, requires(name) or [])
            remaining += [r.name for r in parsed if r.marker is None or r.marker.evaluate({"extra": ""})]
    return needed


def install(wheel: Path, folder: Path, needed: set[str] | None = None) -> Path:
    """Install the wheel into a new environment and return its interpreter.

    The environment sees the dependencies of this one, or has those alone that are ``needed``, by links.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel], ROOT)
    (packages,) = folder.glob("lib/python*/site-packages")
    if needed is None:
        (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    for name in needed or ():
        source = Path(str(distribution(name).locate_file("")))
        for top in {file.parts[0] for file in distribution(name).files or ()} - {"..", "__pycache__", "bin"}:
            (packages / top).symlink_to(source / top)
    return python


def readme_example() -> str:
    """The README's Python block, followed by the question where the package came from."""
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    return block + "\nimport sys, lpbench\nassert lpbench.__file__.startswith(sys.prefix), lpbench.__file__\n"


def run(command: list, folder: Path, code: int = 0) -> str:
    """Run a command without anything of the caller's set-up; returns what it printed, errors if it shall fail."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LPBENCH_", "PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([str(word) for word in command], cwd=folder, env=kept, capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))[:200]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + (done.stderr if code else "")


def _step(title: str, work):
    start = time.perf_counter()
    result = work()
    print(f"{time.perf_counter() - start:6.1f} s  {title}", flush=True)
    return result


if __name__ == "__main__":
    main()
