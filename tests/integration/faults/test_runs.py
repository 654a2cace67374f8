"""Faults: killed parents, two runs in one folder, full and read-only disks, files cut short, a clock that is set back.

Finished blocks stay, a sentence says what to do, and the next call completes.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from lpbench.cli.main import main
from lpbench.experiments import catalog
from lpbench.experiments.job import job_of
from lpbench.experiments.records import begin, begun
from lpbench.experiments.store import Store
from tests.integration.faults.faulty import NAME, mounted, summary, words

SLOW = """
import sys
from lpbench.experiments.config import Runner
from lpbench.experiments.plan import Plan
from lpbench.experiments.run import run_blocks
from lpbench.experiments.records import begin, begun
from lpbench.experiments.store import Store
from tests.experiments.helpers import cell
plan = sum([cell(epsilon=e, params={"mode": "sleep"}) for e in (1.0, 2.0, 3.0, 4.0)], Plan(()))
run_blocks(plan.blocks, Store(sys.argv[1]), Runner(workers=2), progress=False)
"""


def living() -> dict[int, int]:
    """Processes and their parents; one that has ended may wait for seconds to be taken note of."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                found[int(path.parent.name)] = int(parent)
    return found


def temporary(pid: int) -> list[Path]:
    """Folders that joblib made for a process; other runs on this machine have theirs beside them."""
    return [p for folder in ("/dev/shm", "/tmp") for p in Path(folder).glob(f"joblib*_{pid}_*")]


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="reads the process table of Linux")
def test_workers_end_with_a_parent_that_was_killed_and_leave_nothing(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path)])
    earlier = temporary(parent.pid)  # of a process that had this number before
    while len(list((tmp_path / "locks").glob("[0-9a-f]*"))) < 2:  # two workers are at work
        assert parent.poll() is None
        time.sleep(0.05)
    workers = {child for child, started_by in living().items() if started_by == parent.pid}
    assert len(workers) >= 2
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    while workers & living().keys():
        time.sleep(0.05)
    # a worker that had lived on would have stored its block
    assert temporary(parent.pid) == earlier and not list(tmp_path.rglob("*.tmp"))
    assert not Store(tmp_path).keys()


def test_a_disk_that_fills_while_artifacts_are_written(tmp_path, sound, capsys):
    results = tmp_path / "small"
    with mounted(results, "-t", "tmpfs", "-o", "size=8m", "tmpfs"):
        shutil.copytree(sound / "store", results / "store")
        keys = Store(results / "store").keys()
        with open(results / "filler", "wb") as filler:
            filler.write(bytes(os.statvfs(results).f_bavail * os.statvfs(results).f_bsize - 8192))
        capsys.readouterr()
        assert main(words(results, "--backend", "serial")) != 0
        said = capsys.readouterr().err
        assert "disk full" in said and "run the same command again" in said and "Traceback" not in said
        assert Store(results / "store").keys() == keys
        (results / "filler").unlink()
        assert main(words(results, "--backend", "serial")) == 0
        assert "0 blocks run" in capsys.readouterr().out and summary(results) == summary(sound)


@pytest.mark.parametrize("file", ["block", "chosen.parquet", "scores.parquet", "summary.csv", "run.json"])
def test_a_file_cut_short_is_made_again(tmp_path, sound, capsys, file):
    results = tmp_path / "results"
    shutil.copytree(sound, results)
    store = Store(results / "store")
    path = store.path(min(store.keys())) if file == "block" else results / NAME / file
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    capsys.readouterr()
    assert main(words(results, "--backend", "serial")) == 0
    printed = capsys.readouterr()
    assert (f"{1 if file == 'block' else 0} blocks run" in printed.out) and summary(results) == summary(sound)
    assert file != "block" or (path.name in printed.err and "it will be recomputed" in printed.err)


def test_a_clock_that_is_set_back(tmp_path, sound, monkeypatch):
    now, calls = time.time(), iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: now - 3600.0 * next(calls))
    assert main(words(tmp_path, "--backend", "serial")) == 0
    assert summary(tmp_path) == summary(sound)


def test_a_read_only_folder(tmp_path, sound, capsys):
    results = tmp_path / "results"
    shutil.copytree(sound / "store", results / "store")
    before = {p: p.stat().st_mtime_ns for p in results.rglob("*.parquet")}
    with mounted(results, "--bind", str(results)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(results)], check=True)
        capsys.readouterr()
        assert main(words(results, "--backend", "serial")) == 2
        said = capsys.readouterr().err
        assert "read-only" in said and "RESULTS=" in said and "Traceback" not in said
    assert {p: p.stat().st_mtime_ns for p in results.rglob("*.parquet")} == before
    assert main(words(results, "--backend", "serial")) == 0
    assert "0 blocks run" in capsys.readouterr().out and summary(results) == summary(sound)


def test_an_interrupted_run_shows_what_is_finished(tmp_path, sound, capsys):
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    # as if it had been killed in its last block: the artifact is not there, and nobody has ended the run
    shutil.rmtree(tmp_path / "own")
    store = Store(tmp_path / "store")
    experiment = catalog.experiment(NAME)
    job = job_of(experiment)
    lost = max(job.plan.blocks, key=lambda block: block.key)
    store.path(lost.key).unlink()
    begin([job], store)
    capsys.readouterr()
    assert main(["show", NAME, "--results", str(tmp_path)]) == 0
    assert f"2 of 3 blocks are stored: lpbench report {NAME} shows what they hold" in capsys.readouterr().out
    assert main(["report", "--results", str(tmp_path)]) == 0
    assert f"{NAME}: 2 of 3 blocks are stored" in capsys.readouterr().out
    report = (tmp_path / "own" / "report.md").read_text(encoding="utf-8")
    assert "1 of 1 experiments have results, 1 of them not in every cell" in report
    assert main(words(tmp_path, "--backend", "serial")) == 0
    assert "1 blocks run" in capsys.readouterr().out
    assert summary(tmp_path) == summary(sound) and "2 of 3" not in capsys.readouterr().out
    assert not begun(store)


def test_a_run_without_any_block_yet_is_named(tmp_path, capsys):
    begin([job_of(catalog.experiment(NAME))], Store(tmp_path / "store"))
    assert main(["report", "--results", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert f"{NAME}: 0 of 3 blocks are stored" in said.out and "has no finished experiment" in said.err


def test_ctrl_c_says_how_much_is_stored(tmp_path, monkeypatch, capsys):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("lpbench.pipeline.run_blocks", interrupted)
    assert main(words(tmp_path, "--backend", "serial")) == 130
    said = capsys.readouterr().err
    assert "0 of 3 blocks are stored; `lpbench report` shows what they hold" in said and "go on" in said
