"""A block is computed by one process at a time, and a dead one does not hold it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from lpbench.experiments import leases as module
from lpbench.experiments.leases import Leases

PREAMBLE = "import sys; from pathlib import Path; from lpbench.experiments.leases import Leases\n"


@pytest.fixture
def leases(tmp_path):
    return Leases(tmp_path)


def other_process(tmp_path, code: str) -> subprocess.Popen:
    """Run code in which ``leases`` are those of the folder."""
    program = f"{PREAMBLE}leases = Leases(Path({str(tmp_path)!r}))\n{code}"
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def rewrite(tmp_path, **changes) -> None:
    path = tmp_path / "k"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_lease_is_exclusive_between_live_processes(leases, tmp_path):
    assert leases.take("k")
    assert other_process(tmp_path, "sys.exit(leases.take('k'))").wait() == 0
    leases.release("k")
    assert other_process(tmp_path, "sys.exit(leases.take('k'))").wait() == 1


def test_lease_is_exclusive_between_threads(leases):
    found = []
    with leases.hold("k") as free:
        thread = threading.Thread(target=lambda: found.append(leases.take("k")))
        thread.start()
        thread.join()
    assert free and found == [False] and leases.holder("k") is None


def test_lease_of_a_dead_process_is_taken_over(leases, tmp_path):
    other_process(tmp_path, "leases.take('k')").wait()
    assert leases.is_abandoned("k")
    assert leases.take("k")
    assert leases.holder("k")["pid"] == os.getpid()


def test_killed_process_is_dead_before_its_parent_notices(leases, tmp_path):
    other = other_process(tmp_path, "leases.take('k'); print('taken', flush=True); input()")
    assert other.stdout.readline() == "taken\n" and leases.is_held("k")
    other.send_signal(signal.SIGKILL)
    # the process stays in the table, for nobody has waited for it
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert leases.is_abandoned("k")
    other.wait()


def test_reused_process_id_is_not_mistaken_for_the_holder(leases, tmp_path):
    leases.take("k")
    rewrite(tmp_path, start="1")
    assert leases.is_abandoned("k")


def test_lease_from_another_machine_lives_as_long_as_it_is_touched(leases, tmp_path):
    leases.take("k")
    rewrite(tmp_path, host="elsewhere", pid=1)
    assert leases.is_held("k") and not leases.take("k")
    long_ago = time.time() - module.EXPIRY - 1
    os.utime(tmp_path / "k", (long_ago, long_ago))
    assert leases.is_abandoned("k") and leases.take("k")


def test_lease_is_touched_while_it_is_held(leases, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT", 0.01)
    with leases.hold("k"):
        os.utime(tmp_path / "k", (0, 0))
        deadline = time.monotonic() + 120
        while (tmp_path / "k").stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (tmp_path / "k").stat().st_mtime > 0


def test_lease_that_was_taken_over_is_not_released(leases, tmp_path):
    with leases.hold("k"):
        rewrite(tmp_path, host="elsewhere")
    assert leases.holder("k")["host"] == "elsewhere"


def test_dead_leases_are_taken_over_by_one_process_each(leases, tmp_path):
    keys = [f"k{i}" for i in range(300)]
    other_process(tmp_path, f"[leases.take(k) for k in {keys}]").wait()
    race = f"print(); sys.stdout.flush(); input(); print(*[k for k in {keys} if leases.take(k)], flush=True); input()"
    racers = [other_process(tmp_path, race) for _ in range(3)]
    for racer in racers:
        racer.stdout.readline()
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    taken = [key for racer in racers for key in racer.stdout.readline().split()]
    for racer in racers:
        racer.communicate("\n")
    assert sorted(taken) == sorted(keys)


def test_lease_stamped_before_the_clock_was_set_back_is_dead(leases, tmp_path):
    leases.take("k")
    rewrite(tmp_path, host="elsewhere", pid=1)
    tomorrow = time.time() + 86400
    os.utime(tmp_path / "k", (tomorrow, tomorrow))
    assert leases.is_abandoned("k") and leases.take("k")
