"""Run a command without network, with few files, and with limits of time, memory, output and processes.

The operating system does it: bubblewrap where it is installed, else namespaces of util-linux. A root is made of the
folders that are named, read-only, and empty ones for the rest, /home, /run and /tmp among them. What was really had is
tried from inside before anything is trusted to it.
"""

import ctypes
import json
import os
import resource
import secrets
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lpbench.paths import PROJECT

#: Address space of a process, and the largest file it may write, in bytes; processes and threads of one user.
MEMORY, LARGEST_FILE, MOST_PROCESSES = 12 * 2**30, 2**30, 256
#: Bytes that a command may print.
MOST_PRINTED = 16 * 2**20
#: Where we are root, whose processes nobody counts, a command is run by one of so many accounts from here on.
_ACCOUNTS, _FIRST_ACCOUNT = 2**28, 2**20
#: Environment that is handed in; everything else stays outside, secrets among it.
_FOLDERS = ("LPBENCH_DATA_MIRROR", "LPBENCH_CACHE", "LPBENCH_DATASETS")
_KEPT = ("LANG", "LC_ALL", "OPENBLAS_NUM_THREADS", *_FOLDERS)
#: Where the system's own tools are, chroot among them, beside what PATH says.
_TOOLS = "/usr/sbin:/usr/bin:/sbin:/bin"
#: Programs and libraries of the system, and whether it has huge pages.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime",
           "/sys/kernel/mm/transparent_hugepage")  # fmt: skip
#: Makes a root of the folders up to "--", then gives up all rights to undo it.
_ROOT = """set -e
umask 022
place=$1; who=$2; shift 2
mount --make-rprivate / && mkdir -p "$place/.root" && mount -t tmpfs -o mode=755 root "$place/.root"
cd "$place/.root" && mkdir -p home run tmp proc dev/shm ".$place"
mount -t proc proc proc && mount -t tmpfs -o mode=1777 shm dev/shm
for node in null zero random urandom; do : > "dev/$node"; mount --bind "/dev/$node" "dev/$node"; done
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p ".$1"; else [ -e ".$1" ] || { mkdir -p ".${1%/*}"; : > ".$1"; }; fi
  mount --bind "$1" ".$1" && mount -o remount,bind,ro ".$1"; shift
done
shift
mount --bind "$place" ".$place" && mount -o remount,bind,ro .
exec chroot . setpriv $who --bounding-set=-all --inh-caps=-all --no-new-privs sh -c 'cd "$0" && exec "$@"' "$place" "$@"
"""
#: Tries to write beside the folder, to read what is not named, to reach somebody, and to run more than is allowed.
_PROBE = """import json, os, resource, socket, sys
def refused(what):
    try: what()
    except OSError: return True
    return False
def write(folder):
    path = os.path.join(folder, ".probe-of-isolation"); open(path, "w").close(); os.unlink(path)
def reach():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s: s.connect(("192.0.2.1", 9))
def fork():
    if not os.fork(): os._exit(0)
limits = [resource.getrlimit(k)[0] for k in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)]
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
own, *others = sys.argv[1:]
print(json.dumps({"no network": refused(reach), "read-only tree": all(refused(lambda: write(f)) for f in others),
                  "no other files": refused(lambda: open(own).close()) and not os.listdir("/run"),
                  "limits": all(v > 0 for v in limits) and refused(fork)}))
"""
HELD = ("no network", "read-only tree", "no other files", "limits")


@dataclass(frozen=True)
class Isolation:
    folder: Path  # the one that may be written
    seconds: float  # limit of a command
    by: str  # {"bubblewrap", "unshare", "none"}
    readable: tuple[Path, ...] = ()  # beside the system, Python and the project

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[str, str]:
        """Run a command; a sentence if it did not end well, and the end of what it wrote."""
        with self.start(command, environment, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT) as process:
            ended, said = self._listen(process)
            if ended:
                os.killpg(process.pid, 9)
        # processes that fail at once write between each other's lines; those that say why are not indented
        last = next((line for line in reversed(said.splitlines()) if line[:1].strip()), "")
        return ended or (f"exit code {process.returncode}: {last}" if process.returncode else ""), said

    def start(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None, **streams: Any
    ) -> subprocess.Popen[bytes]:
        """Start a command, whose standard output is a pipe."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        own = {"PATH": _path(), "HOME": str(self.folder), "TMPDIR": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.Popen(
            [*self._around(), *command],
            env=kept | own | dict(environment or {}),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=self._limit,
            **streams,
        )

    def _listen(self, process: subprocess.Popen[bytes]) -> tuple[str, str]:
        """Why the command has to be ended, if it has, and the end of what it wrote, which is never held whole."""
        assert process.stdout is not None
        end, heard, tail, over = time.monotonic() + self.seconds, 0, b"", f"over the limit of {self.seconds:g} s"
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            while waiting.select(max(end - time.monotonic(), 0.0)):
                part = os.read(process.stdout.fileno(), 1 << 16)
                heard, tail = heard + len(part), (tail + part)[-4000:]
                if heard > MOST_PRINTED or not part:
                    break
            else:
                return over, tail.decode(errors="replace")
        if heard > MOST_PRINTED:
            return f"printed more than {MOST_PRINTED >> 20} MiB", tail.decode(errors="replace")
        try:
            process.wait(max(end - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            return over, tail.decode(errors="replace")
        return "", tail.decode(errors="replace")

    def _around(self) -> list[str]:
        place = str(self.folder)
        given = [Path(os.environ[name]) for name in _FOLDERS if name in os.environ]
        python = sys.prefix, sys.base_prefix
        named = {str(p) for p in (*map(Path, (*_SYSTEM, *python)), *PROJECT, *given, *self.readable)}
        there = sorted(path for path in named if os.path.exists(path))
        if self.by == "bubblewrap":
            binds = [word for path in there for word in ("--ro-bind", path, path)]
            empty = [word for path in ("/home", "/run", "/tmp") for word in ("--dir", path)]
            return [
                "bwrap",
                "--unshare-all",
                "--die-with-parent",
                *empty,
                *binds,
                "--dev",
                "/dev",
                "--proc",
                "/proc",
                "--tmpfs",
                "/dev/shm",
                "--bind",
                place,
                place,
                "--remount-ro",
                "/",
            ]
        if self.by == "unshare":
            root = [] if os.geteuid() == 0 else ["--map-root-user"]
            own = self.folder.stat().st_uid
            who = f"--reuid={own} --regid={own} --clear-groups --pdeathsig KILL" if os.geteuid() == 0 else ""
            spaces = ["--net", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
            return ["unshare", *root, *spaces, "sh", "-c", _ROOT, "sh", place, who, *there, "--"]
        return []

    def _limit(self) -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG: it does not outlive who started it
        for kind, most in (
            (resource.RLIMIT_AS, MEMORY),
            (resource.RLIMIT_FSIZE, LARGEST_FILE),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, int(2 * self.seconds) + 1),
            (resource.RLIMIT_NPROC, MOST_PROCESSES),
        ):
            resource.setrlimit(kind, (most, most))

    def probe(self, *folders: Path) -> dict[str, bool]:
        """What is had, tried from inside: no network, no other files, nothing of these folders written, limits."""
        secret = self.folder.with_name(f"{self.folder.name}-outside")
        secret.write_text("")
        try:
            _, said = self.run([sys.executable, "-I", "-c", _PROBE, str(secret), *map(str, folders)])
        finally:
            secret.unlink()
        try:
            found: dict[str, bool] = json.loads(said.splitlines()[-1])
            return found
        except (IndexError, ValueError):
            return dict.fromkeys(HELD, False)


def _path() -> str:
    return os.pathsep.join(filter(None, [os.environ.get("PATH"), _TOOLS]))


def isolation(
    folder: Path, seconds: float, *read_only: Path, readable: Sequence[Path] = ()
) -> tuple[Isolation, dict[str, bool]]:
    """The best isolation that can be had here, and what it holds; ``read_only`` are tried to be written."""
    if os.geteuid() == 0:
        own = _FIRST_ACCOUNT + secrets.randbelow(_ACCOUNTS)
        os.chown(folder, own, own)
    tools = {"bubblewrap": ("bwrap",), "unshare": ("unshare", "setpriv", "mount", "chroot"), "none": ()}
    found = Isolation(folder, seconds, "none"), dict[str, bool]()
    for by, needed in tools.items():
        if all(shutil.which(tool, path=_path()) for tool in needed):
            how = Isolation(folder, seconds, by, tuple(readable))
            found = how, Isolation(folder, min(seconds, 60.0), by, tuple(readable)).probe(*read_only)
            if all(found[1].values()):
                break
    return found
