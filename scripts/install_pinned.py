"""Install lock files with pip, one line per package: ``install_pinned.py requirements.lock`` (imports nothing)."""

import compileall
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

#: The lock files name all that is needed, so that nothing is resolved; pip would compile on a single core.
PIP = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-compile", "--disable-pip-version-check"]
PIP += ["--progress-bar", "off"]
#: A line of pip that begins with a package, of those that the lock files name, and the one after which it unpacks them.
PACKAGE = re.compile(
    r"(?:Collecting|Processing|Requirement already satisfied:) (?:\S*/)?([\w.]+(?:-[A-Za-z]\w*)*).*from -r"
)
UNPACKING = "Installing collected packages"
#: What nobody imports.
TESTS = re.compile(r"[/\\]tests?[/\\]")
#: What lock files hold besides comments.
PINNED = re.compile(r"[\w.\-]+==")
#: As many pips at once as parts of the lock files: one alone leaves a core idle while it unpacks.
HALVES = 2


def main(locks: list[str]) -> int:
    """Run pip on both halves of the locks at once; everything that it said follows if it fails."""
    pinned = [line for name in locks for line in Path(name).read_text().splitlines() if PINNED.match(line)]
    print(f"installing {len(pinned)} packages into {sys.prefix} (about 1 GB on disk; 2 to 5 minutes)", flush=True)
    start = time.monotonic()
    fetched = Fetched(len(pinned))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(HALVES) as pool:
        halves = [Path(folder) / f"{half}.lock" for half in range(min(HALVES, len(pinned)))]
        for half, path in enumerate(halves):
            path.write_text("\n".join(pinned[half::HALVES]) + "\n")
        ends = list(pool.map(fetched.install, halves))
    if failed := [said for code, said in ends if code]:
        print("".join(failed), file=sys.stderr)
        return 1
    if any(UNPACKING in said for _, said in ends):
        print("  compiling", flush=True)
        compileall.compile_dir(sysconfig.get_paths()["purelib"], quiet=2, workers=0, rx=TESTS)
    print(f"installed in {time.monotonic() - start:.0f} s", flush=True)
    return 0


class Fetched:
    """Counts packages, and prints a line for each."""

    def __init__(self, total: int) -> None:
        self.total, self.count, self.lock = total, 0, Lock()

    def install(self, lock: Path) -> tuple[int, str]:
        """Install one lock file: exit code of pip, and what it said."""
        said = []
        with subprocess.Popen(
            [*PIP, "-r", str(lock)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as pip:
            assert pip.stdout is not None
            for line in pip.stdout:
                said.append(line)
                if found := PACKAGE.match(line):
                    with self.lock:
                        self.count += 1
                        print(f"  {self.count:3d}/{self.total} {found[1]}", flush=True)
                elif line.startswith(UNPACKING):
                    print("  unpacking", flush=True)
        return pip.returncode, "".join(said)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
