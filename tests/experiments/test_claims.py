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
from lpbench.experiments.leases import Claims

PREAMBLE = "import sys; from pathlib import Path; from lpbench.experiments.leases import Claims\n"


@pytest.fixture
def claims(tmp_path):
    return Claims(tmp_path)


def other_process(tmp_path, code: str) -> subprocess.Popen:
    """Run code in which ``claims`` are those of the folder."""
    program = f"{PREAMBLE}claims = Claims(Path({str(tmp_path)!r}))\n{code}"
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def rewrite(tmp_path, **changes) -> None:
    path = tmp_path / "k"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_claim_is_exclusive_between_live_processes(claims, tmp_path):
    assert claims.take("k")
    assert other_process(tmp_path, "sys.exit(claims.take('k'))").wait() == 0
    claims.release("k")
    assert other_process(tmp_path, "sys.exit(claims.take('k'))").wait() == 1


def test_claim_is_exclusive_between_threads(claims):
    found = []
    with claims.hold("k") as free:
        thread = threading.Thread(target=lambda: found.append(claims.take("k")))
        thread.start()
        thread.join()
    assert free and found == [False] and claims.holder("k") is None


def test_claim_of_a_dead_process_is_taken_over(claims, tmp_path):
    other_process(tmp_path, "claims.take('k')").wait()
    assert claims.is_abandoned("k")
    assert claims.take("k")
    assert claims.holder("k")["pid"] == os.getpid()


def test_killed_process_is_dead_before_its_parent_notices(claims, tmp_path):
    other = other_process(tmp_path, "claims.take('k'); print('taken', flush=True); input()")
    assert other.stdout.readline() == "taken\n" and claims.is_held("k")
    other.send_signal(signal.SIGKILL)
    # the process stays in the table, for nobody has waited for it
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert claims.is_abandoned("k")
    other.wait()


def test_reused_process_id_is_not_mistaken_for_the_claimant(claims, tmp_path):
    claims.take("k")
    rewrite(tmp_path, start="1")
    assert claims.is_abandoned("k")


def test_claim_from_another_machine_lives_as_long_as_it_is_touched(claims, tmp_path):
    claims.take("k")
    rewrite(tmp_path, host="elsewhere", pid=1)
    assert claims.is_held("k") and not claims.take("k")
    long_ago = time.time() - module.LEASE - 1
    os.utime(tmp_path / "k", (long_ago, long_ago))
    assert claims.is_abandoned("k") and claims.take("k")


def test_claim_is_touched_while_it_is_held(claims, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT", 0.01)
    with claims.hold("k"):
        os.utime(tmp_path / "k", (0, 0))
        deadline = time.monotonic() + 10
        while (tmp_path / "k").stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (tmp_path / "k").stat().st_mtime > 0


def test_claim_that_was_taken_over_is_not_released(claims, tmp_path):
    with claims.hold("k"):
        rewrite(tmp_path, host="elsewhere")
    assert claims.holder("k")["host"] == "elsewhere"


def test_dead_claims_are_taken_over_by_one_process_each(claims, tmp_path):
    keys = [f"k{i}" for i in range(300)]
    other_process(tmp_path, f"[claims.take(k) for k in {keys}]").wait()
    race = f"print(); sys.stdout.flush(); input(); print(*[k for k in {keys} if claims.take(k)], flush=True); input()"
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
