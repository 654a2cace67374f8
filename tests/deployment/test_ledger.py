"""Ledger: never over the limit, no round twice, nothing forgotten, whoever shares it and wherever they are killed."""

import builtins
import json
import multiprocessing
import os
import shutil
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.ledger import Ledger, Progress
from tests.deployment.devices import DEVICES, LIMIT

FORK = multiprocessing.get_context("fork")
#: Steps of an entry at which a process can be killed: the system's calls, in their order.
STEPS = ("open", "fsync", "replace", "fsync")
EIGHTH = 0.125


def spend(ledger: Ledger, protocol: str, cost: float = EIGHTH, limit: float = 1.0) -> bool:
    """Answer the next round of a protocol; whether something left."""
    before = ledger.progress(protocol)
    try:
        ledger.spend(protocol, cost, limit=limit, after=before, round=before.round + 1)
    except ProtocolError:
        return False
    return True


def test_two_clients_of_one_file_spend_no_more_than_the_limit(tmp_path):
    path = tmp_path / "ledger.json"
    one, other = DEVICES["LPCT (rr)"], DEVICES["LPCT (discrete)"]
    first, second = one.make(0, 1, ledger=path), other.make(0, 1, ledger=path)
    first.answer(one.broadcasts()[0])
    with pytest.raises(ProtocolError, match=r"only 0 is left|answered once"):
        second.answer(other.broadcasts()[0])
    assert first.spent == second.spent == Ledger(path).spent == pytest.approx(LIMIT)


def test_a_label_leaves_once_though_another_protocol_wrote_meanwhile(tmp_path):
    path, hist = tmp_path / "ledger.json", DEVICES["HistOfTree (grr)"]
    other = Ledger(path)
    client = hist.make(0, 1, ledger=path)
    for content in hist.broadcasts()[:2]:
        client.answer(content)
    assert spend(other, "another", 0.01, 2 * LIMIT)
    again = hist.make(0, 1, ledger=path)
    with pytest.raises(ProtocolError, match="answered once"):
        again.answer(hist.broadcasts()[1])
    assert client.spent == again.spent == other.spent


def test_a_round_that_was_answered_meanwhile_is_refused(tmp_path):
    one, other = Ledger(tmp_path / "l.json"), Ledger(tmp_path / "l.json")
    before = other.progress("p")
    assert spend(one, "p")
    with pytest.raises(ProtocolError, match="answered meanwhile"):
        other.spend("p", EIGHTH, limit=1.0, after=before, round=1)
    assert other.spent == EIGHTH


@pytest.mark.parametrize("in_memory", [False, True])
def test_threads_that_share_a_ledger(tmp_path, in_memory):
    path = None if in_memory else tmp_path / "l.json"
    shared = Ledger(path)
    answered: list[bool] = []
    barrier = threading.Barrier(2)

    def work(name):
        ledger = shared if in_memory else Ledger(path)
        barrier.wait()
        answered.extend(spend(ledger, name) for _ in range(8))

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(answered) == 8 and shared.spent == 1.0
    assert sum(shared.progress(name).round for name in ("a", "b")) == 8


def _compete(path, name, barrier, queue):
    ledger = Ledger(path)
    barrier.wait()
    queue.put(sum(spend(ledger, name) for _ in range(8)))


@pytest.mark.parametrize("names", ["ab", "aa"])
def test_processes_that_share_a_ledger(tmp_path, names):
    """Of two protocols, or of one, whose rounds leave once."""
    path, queue, barrier = tmp_path / "l.json", FORK.Queue(), FORK.Barrier(2)
    workers = [FORK.Process(target=_compete, args=(path, name, barrier, queue)) for name in names]
    for worker in workers:
        worker.start()
    answered = sum(queue.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
    found = Ledger(path)
    assert found.spent == answered * EIGHTH <= 1.0
    assert sum(found.progress(name).round for name in set(names)) == answered


def _killed(path, step, late):
    """Spend, and end without notice before or after one of the system's calls."""
    calls = iter(range(len(STEPS)))

    def dying(real):
        def call(*arguments, **options):
            number = next(calls)
            if number == step and not late:
                os._exit(9)
            result = real(*arguments, **options)
            if number == step:
                os._exit(9)
            return result

        return call

    ledger = Ledger(path)
    opened = builtins.open

    def first_of(name, *arguments, **options):
        # the temporary file alone, not the lock
        call = dying(opened) if str(name).endswith(".tmp") else opened
        return call(name, *arguments, **options)

    builtins.open = first_of
    os.fsync, os.replace = dying(os.fsync), dying(os.replace)
    spend(ledger, "p")
    os._exit(0)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("step", range(len(STEPS)))
def test_a_kill_at_any_step_leaves_the_old_ledger_or_the_new_one(tmp_path, step, late):
    path = tmp_path / "l.json"
    assert spend(Ledger(path), "p")
    child = FORK.Process(target=_killed, args=(path, step, late))
    child.start()
    child.join()
    assert child.exitcode == 9, f"{STEPS[step]} was not reached"
    replaced = (step, late) >= (STEPS.index("replace"), True)
    after = Ledger(path)
    assert (after.spent, after.progress("p").round) == ((2 * EIGHTH, 2) if replaced else (EIGHTH, 1))
    assert spend(after, "p"), "a lock outlived its process"


def test_the_folder_is_on_the_disk_before_a_report_leaves(tmp_path, monkeypatch):
    """A rename is kept by the folder; without its fsync a power cut brings the old ledger back."""
    calls = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor):
        calls.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("rename"), replace(a, b)))
    assert spend(Ledger(tmp_path / "l.json"), "p")
    assert calls == ["file", "rename", "folder"]


def test_a_ledger_that_went_back_or_away_stops_the_device(tmp_path):
    path = tmp_path / "l.json"
    ledger = Ledger(path)
    assert spend(ledger, "p")
    old = path.read_bytes()
    assert spend(ledger, "p")
    path.write_bytes(old)
    with pytest.raises(ProtocolError, match="nothing may be spent"):
        ledger.spend("p", EIGHTH, limit=1.0, after=Progress(round=2), round=3)
    path.unlink()
    with pytest.raises(ProtocolError, match="nothing may be spent"):
        ledger.spend("p", EIGHTH, limit=1.0, after=Progress(round=2), round=3)


@pytest.mark.parametrize("cost", [-0.5, float("nan"), float("inf")])
def test_costs_that_are_none_are_refused(cost):
    ledger = Ledger()
    with pytest.raises(ProtocolError, match="is left"):
        ledger.spend("p", cost, limit=1.0, after=Progress(), round=1)
    assert ledger.spent == 0


class Crash(BaseException):
    """The process ends here."""


class Ledgers(RuleBasedStateMachine):
    """Several clients of one file, of several protocols, that are started, answer, and are killed in between.

    ``left`` is what curators may have: every answer whose entry was not refused, also of a process that was killed
    after the entry. The model: the file holds at least what left, at most one entry a round, at most the limit.
    """

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "ledger.json"
        self.clients = [Ledger(self.path)]
        self.left: dict[tuple[str, int], float] = {}
        self.planned: list = []

    @rule()
    def start(self):
        self.clients.append(Ledger(self.path))

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), protocol=st.sampled_from("ab"), cost=st.sampled_from([0.0, 0.125, 0.25, 0.5]))
    def plan(self, data, protocol, cost):
        """Read where the protocol stands; the answer may be entered much later."""
        client = data.draw(st.sampled_from(self.clients))
        self.planned.append((client, protocol, cost, client.progress(protocol)))

    @precondition(lambda self: self.planned)
    @rule(data=st.data(), crash=st.sampled_from([None, None, None, 0, 1, 2]))
    def enter(self, data, crash):
        client, protocol, cost, before = self.planned.pop(data.draw(st.integers(0, len(self.planned) - 1)))
        number = before.round + 1
        steps = iter(range(3))
        real = os.fsync, os.replace

        def dying(call):
            def step(*arguments):
                if next(steps) == crash:
                    raise Crash
                return call(*arguments)

            return step

        os.fsync, os.replace = map(dying, real)
        try:
            client.spend(protocol, cost, limit=1.0, after=before, round=number)
        except ProtocolError:
            return
        except Crash:
            # the client is gone with its plans; nothing left
            self.clients = [c for c in self.clients if c is not client]
            self.planned = [entry for entry in self.planned if entry[0] is not client]
            return
        finally:
            os.fsync, os.replace = real
        assert (protocol, number) not in self.left, "a round left twice"
        self.left[protocol, number] = cost

    @invariant()
    def holds(self):
        if not hasattr(self, "path"):
            return
        found = Ledger(self.path)
        assert sum(self.left.values()) <= found.spent <= 1.0
        for protocol, number in self.left:
            assert number <= found.progress(protocol).round
        if self.path.exists():
            assert set(json.loads(self.path.read_bytes())) == {"spent", "progress"}
        assert all(client.spent == found.spent for client in self.clients)

    def teardown(self):
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)


TestLedgers = Ledgers.TestCase
TestLedgers.settings = settings(max_examples=40, stateful_step_count=25)
