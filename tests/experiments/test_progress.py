import re
import threading

from lpbench.experiments import progress
from lpbench.experiments.config import Runner
from lpbench.experiments.progress import Progress
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from tests.experiments.helpers import cell


def test_the_time_left_is_by_the_speed_since_the_start_and_what_is_expected_counts(monkeypatch):
    bar, now = Progress(False), [0.0]
    monkeypatch.setattr(bar._bar, "get_time", lambda: now[0])
    bar.expect(150)
    assert "20%" not in bar.line()
    for now[0] in (30.0, 60.0):
        bar.advance(15)
    assert bar.line().startswith("20% done after")


def test_a_log_gets_lines_while_no_block_ends_and_a_terminal_none(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PERIOD", 0.05)
    plan = cell(params={"mode": "slow"}) + cell(epsilon=2.0, params={"mode": "slow"})
    run_blocks(plan.blocks, Store(tmp_path), Runner(backend="serial"))
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if "left" in line]
    assert lines and all(re.fullmatch(r"\d+% done after .+, about .+ left", line) for line in lines)
    assert said.out.count("done") == 2, "a line for each block"
    assert not any(thread.name == progress.THREAD and thread.is_alive() for thread in threading.enumerate())
