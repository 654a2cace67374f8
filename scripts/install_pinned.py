"""Install lock files with pip, one line a package: ``install_pinned.py requirements.lock`` (no imports to install)."""

from __future__ import annotations

import compileall
import re
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

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
#: Seconds between two reports while pip unpacks.
INTERVAL = 10


def main(locks: list[str]) -> int:
    """Run pip and report each package as it is fetched; everything pip said follows if it fails."""
    total = sum(re.match(r"[\w.\-]+==", line) is not None for name in locks for line in Path(name).open())
    print(f"installing {total} packages into {sys.prefix} (about 1 GB on disk; 2 to 5 minutes)", flush=True)
    start, said, count = time.monotonic(), [], 0
    command = [*PIP, *(word for name in locks for word in ("-r", name))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            said.append(line)
            if found := PACKAGE.match(line):
                count += 1
                print(f"  {count:3d}/{total} {found[1]}", flush=True)
            elif line.startswith(UNPACKING):
                _watch_unpacking(pip)
    if pip.returncode:
        print("".join(said), file=sys.stderr)
    else:
        if any(line.startswith(UNPACKING) for line in said):
            print("  compiling", flush=True)
            compileall.compile_dir(sysconfig.get_paths()["purelib"], quiet=2, workers=0, rx=TESTS)
        print(f"installed in {time.monotonic() - start:.0f} s", flush=True)
    return pip.returncode


def _watch_unpacking(pip: subprocess.Popen) -> None:
    """Report every few seconds how many packages are in place: pip says nothing until all of them are."""
    packages = Path(sysconfig.get_paths()["purelib"])
    while True:
        try:
            pip.wait(INTERVAL)
            return
        except subprocess.TimeoutExpired:
            print(f"  unpacked {sum(1 for _ in packages.glob('*.dist-info'))} packages so far", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
