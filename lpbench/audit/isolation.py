"""Shut a process in: namespaces, a root of read-only folders, an account without rights, few system calls.

The kernel does it, called by way of the C library. A root is made once of the folders that are named. Who is shut in
has no other files, no network and nobody beside it, and writes nowhere. Its parent, the warden, stays outside, stops it
and ends it. What holds is tried from inside before anything is trusted to it.
"""

import ctypes
import os
import platform
import resource
import secrets
import signal
import socket
import struct
import sys
import sysconfig
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from lpbench.paths import PROJECT

#: Address space of a process, in bytes; where it may have others, their number, and the largest file, in memory.
MEMORY, MOST_PROCESSES, LARGEST_FILE = 12 * 2**30, 256, 2**30
#: Where we are root, whose processes nobody counts, each process is of an account of its own from here on.
_ACCOUNTS, _FIRST_ACCOUNT = 2**28, 2**20
#: Linear algebra in the one thread that there is.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: Programs and libraries of the system, and whether it has huge pages.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime",
           "/sys/kernel/mm/transparent_hugepage")  # fmt: skip
_NODES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
#: Data sets that libraries bring, scikit-learn for one; its checks of an estimator read them, beside no private record.
_TABLES = [*Path(sysconfig.get_path("purelib")).glob("*/datasets/data")]
# of <sys/mount.h>, <linux/sched.h> and <sys/prctl.h>
_READ_ONLY, _REMOUNT, _BIND, _PRIVATE, _KEPT_FLAGS = 1, 32, 1 << 12, 1 << 18 | 1 << 14, 2 | 4 | 8
_MOUNTS, _USERS, _OTHERS = 1 << 17, 1 << 28, 1 << 26 | 1 << 27 | 1 << 29 | 1 << 30
_DIE_WITH_PARENT, _NO_NEW_RIGHTS, _FILTER = 1, 38, 22
#: All that computing takes, by number on x86_64 and aarch64: no process, pipe, socket, lock, key or watch on a file,
#: and no count of what the kernel did, by which one process could tell another.
_CALLS = """read 0 63, write 1 64, open 2 -, close 3 57, stat 4 -, fstat 5 80, lstat 6 -, poll 7 -, lseek 8 62,
mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
ioctl 16 29, pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66, access 21 -, select 23 -,
sched_yield 24 124, mremap 25 216, madvise 28 233, dup 32 23, dup2 33 -, dup3 292 24, pause 34 -,
nanosleep 35 101, getitimer 36 102, alarm 37 -, setitimer 38 103, getpid 39 172, exit 60 93, uname 63 160,
getcwd 79 17, chdir 80 49, fchdir 81 50, readlink 89 -, umask 95 166, gettimeofday 96 169, getrlimit 97 163,
getrusage 98 165, times 100 153, getuid 102 174, getgid 104 176, geteuid 107 175, getegid 108 177,
getppid 110 173, getgroups 115 158, getresuid 118 148, getresgid 120 150, rt_sigpending 127 136,
rt_sigtimedwait 128 137, sigaltstack 131 132, statfs 137 43, fstatfs 138 44, arch_prctl 158 -, gettid 186 178,
tkill 200 130, kill 62 129, time 201 -, futex 202 98, sched_setaffinity 203 122, sched_getaffinity 204 123,
getdents64 217 61, set_tid_address 218 96, restart_syscall 219 128, fadvise64 221 223, clock_gettime 228 113,
clock_getres 229 114, clock_nanosleep 230 115, exit_group 231 94, tgkill 234 131, openat 257 56,
newfstatat 262 79, readlinkat 267 78, faccessat 269 48, pselect6 270 72, ppoll 271 73, set_robust_list 273 99,
get_robust_list 274 100, prlimit64 302 261, getrandom 318 278, membarrier 324 283, statx 332 291, rseq 334 293,
faccessat2 439 439"""
#: Machine -> its number in <linux/audit.h>, its column above, and fcntl, of which locks and notices are refused.
_MACHINES = {"x86_64": (0xC000003E, 1, 72), "aarch64": (0xC00000B7, 2, 25)}
HELD = ("no network", "read-only tree", "no other files", "limits")


def _call(name: str, *arguments: bytes | int | None) -> None:
    """Call a function of the C library by name; an OSError if it returns anything but 0."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments)):
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def _unshare(spaces: int) -> None:
    """Move this process into new kernel namespaces, ``spaces`` being their flags.

    Without root rights it also gets a set of accounts of its own.
    """
    account = os.geteuid(), os.getegid()
    _call("unshare", spaces | (_USERS if account[0] else 0))
    if account[0]:
        Path("/proc/self/setgroups").write_text("deny")
        for kind, number in zip(("uid", "gid"), account, strict=True):
            Path(f"/proc/self/{kind}_map").write_text(f"{number} {number} 1")


def make_root(folder: Path, readable: Mapping[Path, Path]) -> None:
    """Make a root folder that only this process and its children see: path in it -> folder that is mounted there."""
    python = dict.fromkeys(map(Path, (*_SYSTEM, sys.prefix, sys.base_prefix)))
    sources = {path: path for path in (*python, *PROJECT)} | dict(readable)
    os.umask(0o022)
    _unshare(_MOUNTS)
    _call("mount", None, b"/", None, _PRIVATE, None)
    _call("mount", b"root", bytes(folder), b"tmpfs", 0, b"mode=755")
    for name in ("home", "run", "tmp", "proc", "dev/shm"):
        (folder / name).mkdir(parents=True)
    places = [(path, source, _READ_ONLY) for path, source in sorted(sources.items())]
    places += [(path, path, 0) for path in map(Path, _NODES)]
    for path, source, read_only in places:
        if source.exists():
            _show(folder / path.relative_to("/"), source, read_only)
    _call("mount", None, bytes(folder), None, _REMOUNT | _READ_ONLY, None)


def _show(target: Path, source: Path, read_only: int) -> None:
    """Mount a file or folder ``source`` at ``target``; ``read_only`` has further flags of the mount, 0 for none."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    _call("mount", bytes(source), bytes(target), None, _BIND, None)
    if read_only:
        flags = os.statvfs(target).f_flag & _KEPT_FLAGS
        _call("mount", None, bytes(target), None, _REMOUNT | _BIND | read_only | flags, None)


def shut_in(root: Path | None, seconds: float, warden: int, *, several: bool) -> None:
    """Return in a child that is shut in, in a root (None: where there is none); this process becomes its warden.

    Parameters
    ----------
    warden : int
        Descriptor by which the warden is told to stop (s) and continue (c) the child, and by its end to end it.
    several : bool
        Whether it may have other processes, a table of them, and files in memory, which they share.
    """
    if root:
        _unshare(_MOUNTS | _OTHERS)
    child = os.fork()
    if child:
        os.closerange(0, warden)
        os.closerange(warden + 1, 4096)
        try:
            _watch(child, warden)
        finally:
            os._exit(0)
    os.close(warden)
    os.setsid()
    if several and root:
        _call("mount", b"proc", bytes(root / "proc"), b"proc", 0, None)
        _call("mount", b"shm", bytes(root / "dev/shm"), b"tmpfs", 0, b"mode=1777")
    elif root:
        for tables in _TABLES:
            _call("mount", b"none", bytes(root / tables.relative_to("/")), b"tmpfs", _READ_ONLY, b"mode=755")
    _limit(seconds, several)
    if root:
        os.chroot(root)
        os.chdir("/")
        if os.geteuid() == 0:
            account = _FIRST_ACCOUNT + secrets.randbelow(_ACCOUNTS)
            os.setgroups([])
            os.setresgid(account, account, account)
            os.setresuid(account, account, account)
        _call("capset", struct.pack("II", 0x20080522, 0), bytes(24))
    if sys.platform == "linux":
        _call("prctl", _DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        _call("prctl", _NO_NEW_RIGHTS, 1, 0, 0, 0)
    if root and not several:
        _allow_few_calls()


def _watch(child: int, orders: int) -> None:
    """Stop and continue a child as ordered over a descriptor; end it, with its session, when the orders end.

    ``orders`` is a socket: the byte b"s" stops the child, any other continues it, and each order is echoed once it is
    done.
    """
    while order := os.read(orders, 1):
        os.kill(child, signal.SIGSTOP if order == b"s" else signal.SIGCONT)
        if order == b"s":
            os.waitpid(child, os.WUNTRACED)
        os.write(orders, order)
    os.kill(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _limit(seconds: float, several: bool) -> None:
    """Limit this process's memory, core files, CPU time (twice ``seconds``), files and processes.

    ``several`` allows some files and processes.
    """
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, int(2 * seconds) + 1),
        (resource.RLIMIT_FSIZE, LARGEST_FILE if several else 0),
        (resource.RLIMIT_NPROC, MOST_PROCESSES if several else 1),
    ):
        resource.setrlimit(kind, (most, most))


def _allow_few_calls() -> None:
    """Refuse all system calls but those of a table, by a kernel filter (seccomp) that cannot be removed."""
    number, column, fcntl = _MACHINES[platform.machine()]
    allowed = [words[column] for words in map(str.split, _CALLS.split(",")) if words[column] != "-"]
    # load a word of the call (0x20); jump over so many steps if it equals, or not (0x15); or is as large (0x35); return
    allow, refuse = (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050001)
    steps = [(0x20, 0, 0, 4), (0x15, 1, 0, number), refuse, (0x20, 0, 0, 0)]
    for call in allowed:
        steps += [(0x15, 0, 1, int(call)), allow]
    steps += [(0x15, 0, 4, fcntl), (0x20, 0, 0, 24), (0x15, 1, 0, 1030), (0x35, 1, 0, 5), allow, refuse]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    _call("prctl", _FILTER, 2, struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(program)), 0, 0)


def tried(outside: str, *folders: str) -> dict[str, bool]:
    """Try each promise of the isolation: no network, no files from outside, folders read-only, limits, one process."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)]
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    return {
        "no network": _refused(lambda: socket.socket(type=socket.SOCK_DGRAM).connect(("192.0.2.1", 9))),
        "read-only tree": all(_refused(TemporaryFile, dir=folder) for folder in folders),
        "no other files": _refused(os.stat, outside),
        "limits": min(limits) >= 0 and _refused(lambda: os.fork() or os._exit(0)),
    }


def _refused(attempt: Callable[..., object], *words: Any, **named: Any) -> bool:
    try:
        attempt(*words, **named)
    except OSError:
        return True
    return False
