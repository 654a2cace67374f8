"""Measure the time of the whole audit on this machine, into ``audit_time.csv`` of the committed results.

Usage: python scripts/measure_audit.py, which runs ``lpbench audit`` into a folder that is removed afterwards.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lpbench.disk import write_text
from lpbench.paths import COMMITTED

AUDIT_TIME = "audit_time.csv"


def main() -> None:
    """Write wall seconds, processor seconds of all processes, and the number of cores."""
    program = Path(sys.executable).with_name("lpbench")
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "audit", "--results", folder], check=True)
    seconds, used = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    row = f"{seconds:.0f},{used.ru_utime + used.ru_stime:.0f},{os.cpu_count()}"
    write_text(f"seconds,cpu_seconds,cores\n{row}\n", COMMITTED / AUDIT_TIME)


if __name__ == "__main__":
    main()
