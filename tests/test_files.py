import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbench.disk import inside, locked, relative_name
from lpbench.errors import DataError
from lpbench.experiments.results import RECORD, Artifact
from lpbench.reporting import publish

OUT = ["..", "../a", "a/../../b", "/a", "//a", "", ".", "C:a", "a\\b", "a\nb", "a\0b", "a" * 300]


@pytest.mark.parametrize("name", OUT)
def test_names_that_lead_out_are_refused(tmp_path, name):
    with pytest.raises(DataError, match="a key"):
        inside(tmp_path, name, "a key")


@given(st.text(st.sampled_from("a./\\:~\0 -é"), max_size=12))
def test_a_name_leads_nowhere_but_down_or_is_refused(name):
    try:
        path = relative_name(name, "a key")
    except DataError:
        return
    assert path.parts and not path.is_absolute() and ".." not in path.parts


def test_links_that_lead_out_are_refused_and_others_are_not(tmp_path):
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (folder / "out").symlink_to(other)
    (folder / "own").mkdir()
    (folder / "in").symlink_to(folder / "own")
    with pytest.raises(DataError, match="by a link"):
        inside(folder, "out/file")
    assert inside(folder, "in/file") == folder / "in" / "file"


def test_measured_files_stay_where_the_committed_scores_do(tmp_path):
    folder, destination = tmp_path / "results" / "table", tmp_path / "reproduced" / "table"
    for place, text in ((folder, "run"), (destination, "committed")):
        place.mkdir(parents=True)
        for name in ("seconds.csv", "summary.csv"):
            (place / name).write_text(text)
    (folder / RECORD).write_text(json.dumps({"files": {"seconds.csv": 3, "summary.csv": 3}}))
    publish._copy(Artifact(folder, "table"), destination, measured=False)
    assert [(destination / n).read_text() for n in ("seconds.csv", "summary.csv")] == ["committed", "run"]
    publish._copy(Artifact(folder, "table"), destination)
    assert (destination / "seconds.csv").read_text() == "run"


def test_a_shared_lock_lets_others_share_and_keeps_writers_out(tmp_path):
    lock, order = tmp_path / ".lock", []

    def write():
        with locked(lock):
            order.append("writer")

    writer = threading.Thread(target=write)
    with locked(lock, shared=True), locked(lock, shared=True):
        writer.start()
        writer.join(0.3)
        order.append("readers")
    writer.join(30)
    assert order == ["readers", "writer"]


def test_a_lock_excludes_threads_of_the_same_process(tmp_path):
    held, most = [], []

    def work():
        with locked(tmp_path / ".lock"):
            held.append(1)
            most.append(len(held))
            held.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == [1] * 8
