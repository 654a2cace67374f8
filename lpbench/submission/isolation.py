"""Run a command without network, with a read-only tree but for one folder, and with limits of time and memory.

The operating system does it: bubblewrap where it is installed, else namespaces of util-linux. What was really had is
tried from inside before anything is trusted to it.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Address space of a process, and the largest file it may write, in bytes.
MEMORY, LARGEST_FILE = 12 * 2**30, 2**30
#: Environment that is handed in; everything else stays outside, secrets among it.
_KEPT = ("PATH", "LANG", "LC_ALL", "OPENBLAS_NUM_THREADS", "LPBENCH_DATA_MIRROR", "LPBENCH_CACHE", "LPBENCH_DATASETS")
#: Makes every mount but one folder read-only, then gives up all rights to undo it.
_READ_ONLY = """set -e
mount --make-rprivate / && mount --bind "$1" "$1"
mkdir -p "$1/dev" && mount -t tmpfs -o mode=755 dev "$1/dev" && mkdir "$1/dev/shm"
for node in null zero random urandom; do : > "$1/dev/$node"; mount --bind "/dev/$node" "$1/dev/$node"; done
mount --rbind "$1/dev" /dev
while read -r _ place _; do
  place=$(printf %b "$place")
  case "$place" in /dev|/dev/*|"$1"|"$1"/*) ;; *) mount -o remount,bind,ro "$place" ;; esac
done < /proc/self/mounts
cd "$1" && shift
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
"""
#: Tries to write beside the folder and to reach somebody.
_PROBE = """import json, os, resource, socket, sys
def refused(what):
    try: what()
    except OSError: return True
    return False
def write(folder):
    path = os.path.join(folder, ".probe-of-isolation"); open(path, "w").close(); os.unlink(path)
def reach():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s: s.connect(("192.0.2.1", 9))
limits = [resource.getrlimit(k)[0] for k in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)]
print(json.dumps({"no network": refused(reach), "read-only tree": all(refused(lambda: write(f)) for f in sys.argv[1:]),
                  "limits": all(v > 0 for v in limits)}))
"""


@dataclass(frozen=True)
class Isolation:
    """A way to run commands isolated.

    Attributes
    ----------
    folder : Path
        The one that may be written.
    seconds : float
        Limit of a command.
    by : {"bubblewrap", "unshare", "none"}
    """

    folder: Path
    seconds: float
    by: str

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[int | None, str]:
        """Run a command; its exit code (None: over the time limit) and the end of what it wrote."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        own = {"HOME": str(self.folder), "TMPDIR": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(
            [*self._around(), *command], env=kept | own | dict(environment or {}), cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=self._limit,
        ) as process:  # fmt: skip
            try:
                said, _ = process.communicate(timeout=self.seconds)
                return process.returncode, said[-4000:]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                return None, process.communicate()[0][-4000:]

    def _around(self) -> list[str]:
        if self.by == "bubblewrap":
            folder = str(self.folder)
            return ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev",
                    "--tmpfs", "/dev/shm", "--proc", "/proc", "--bind", folder, folder]  # fmt: skip
        if self.by == "unshare":
            root = [] if os.geteuid() == 0 else ["--map-root-user"]
            spaces = ["--net", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
            return ["unshare", *root, *spaces, "sh", "-c", _READ_ONLY, "sh", str(self.folder)]
        return []

    def _limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        cpu = int(2 * self.seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))

    def probe(self, *folders: Path) -> dict[str, bool]:
        """What is had, tried from inside: no network, nothing of these folders can be written, limits."""
        _, said = self.run([sys.executable, "-I", "-c", _PROBE, *map(str, folders)])
        try:
            found: dict[str, bool] = json.loads(said.splitlines()[-1])
            return found
        except (IndexError, ValueError):
            return dict.fromkeys(("no network", "read-only tree", "limits"), False)


def isolation(folder: Path, seconds: float, *read_only: Path) -> tuple[Isolation, dict[str, bool]]:
    """The best isolation that can be had here, and what it holds; ``read_only`` are tried to be written."""
    tools = {"bubblewrap": ("bwrap",), "unshare": ("unshare", "setpriv", "mount"), "none": ()}
    found = Isolation(folder, seconds, "none"), dict[str, bool]()
    for by, needed in tools.items():
        if all(map(shutil.which, needed)):
            found = Isolation(folder, seconds, by), Isolation(folder, min(seconds, 60.0), by).probe(*read_only)
            if all(found[1].values()):
                break
    return found
