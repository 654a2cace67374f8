import io
import re
import socket
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from lpbench.datasets.__main__ import main
from lpbench.datasets.download import SERVERS, Settings, fetch_file, server_of
from lpbench.datasets.sources import load_table
from lpbench.errors import DataError, DownloadError
from tests.datasets.conftest import ARFF, CSV, MANIFEST, TABLE
from tests.datasets.server import Answer, serve, zipped

#: Seconds: a client that waits IMPATIENT gives up on a server that takes SLOW.
IMPATIENT, SLOW = 0.5, 1.5


@pytest.fixture
def server(monkeypatch):
    # pooch pauses for seconds between attempts
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))
    with serve() as fake:
        for kind in SERVERS:
            monkeypatch.setenv(f"LPBENCH_{kind.upper()}_URL", fake.url)
        yield fake


def settings(timeout=20.0) -> Settings:
    return Settings(timeout, 2)


def run(server, *names, timeout=20.0, retries=1) -> int:
    return main([*(names or ["toy"]), "--timeout", str(timeout), "--retries", str(retries)])


def no_leftovers(folder) -> bool:
    return not [p for p in folder.rglob("*") if p.suffix == ".tmp" or (p.is_dir() and p.name.startswith("tmp"))]


@pytest.mark.parametrize(
    "bad",
    [
        Answer(b"x" * 1000, send_bytes=500),
        Answer(b"busy", status=503),
        Answer(b"", status=429),
        Answer(b"", delay=SLOW),
    ],
    ids=["truncated", "503", "429", "late"],
)
def test_passing_failures_are_tried_again(server, tmp_path, bad):
    server.add("/f", bad, Answer(b"good"))
    fetch_file(f"{server.url}/f", tmp_path / "f", settings(IMPATIENT if bad.delay else 20.0))
    assert (tmp_path / "f").read_bytes() == b"good"
    assert server.requests["/f"] == 2


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Answer(b"no", status=404), "404 Client Error"),
        (Answer(b"x" * 1000, send_bytes=500), "500 bytes read, 500 more expected"),
        (Answer(b"oops", status=500), "500 Server Error"),
    ],
)
def test_lasting_failures_are_reported_and_leave_nothing(server, tmp_path, bad, reason):
    server.add("/f", bad)
    with pytest.raises(DownloadError, match=reason):
        fetch_file(f"{server.url}/f", tmp_path / "f", settings())
    assert server.requests["/f"] == 3
    assert list(tmp_path.iterdir()) == []


def test_nobody_listens(tmp_path):
    with serve() as fake:
        gone = fake.url
    with pytest.raises(DownloadError, match="was not transferred"):
        fetch_file(f"{gone}/f", tmp_path / "f", Settings(timeout=0.3, retries=0))


def test_openml_delivers_once_and_its_settings_are_put_back(server, workshop, capsys):
    import openml

    before = openml.config.get_config_as_dict()
    workshop.manifest()
    path = server.add_openml(7, ARFF)
    assert run(server) == 0
    assert "downloaded from openml 7" in capsys.readouterr().out
    np.testing.assert_array_equal(load_table("toy").X, TABLE.X)
    assert no_leftovers(workshop.cache)
    assert run(server) == 0
    assert server.requests[path] == 1 and "cache" in capsys.readouterr().out
    assert openml.config.get_config_as_dict() == before


@pytest.mark.parametrize(
    "wrong", [{"status": 404}, {"send_bytes": 30}, {"md5": "0" * 32}], ids=["404", "truncated", "checksum"]
)
def test_uci_steps_in_where_openml_fails(server, workshop, capsys, wrong):
    workshop.manifest()
    server.add_openml(7, ARFF, **wrong)
    server.add_uci(70, "toy.zip", Answer(zipped(toy__csv=CSV.encode())))
    assert run(server, retries=0) == 0
    assert "downloaded from uci 70" in capsys.readouterr().out
    assert not (workshop.cache / "openml" / "7.arff").exists()
    assert load_table("toy").fingerprint == TABLE.fingerprint
    assert no_leftovers(workshop.cache)


def test_tables_of_r_packages_are_fetched_by_name(server, workshop, capsys):
    workshop.manifest(sources=[{"kind": "rdatasets", "table": "Toys/Toy"}])
    server.add("/csv/Toys/Toy.csv", Answer(CSV.encode()))
    assert run(server) == 0
    assert "downloaded from rdatasets Toys/Toy" in capsys.readouterr().out
    assert load_table("toy").fingerprint == TABLE.fingerprint
    assert run(server) == 0 and server.requests["/csv/Toys/Toy.csv"] == 1


UNKNOWN = b"""<oml:error xmlns:oml="http://openml.org/openml"><oml:code>111</oml:code>
<oml:message>Unknown dataset</oml:message></oml:error>"""


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(UNKNOWN, status=412), "Unknown dataset"),
        (Answer(b"<html><body>Please log in</body>"), "missing"),
        (Answer(b"late", delay=SLOW), "did not answer in 0.5 seconds"),
    ],
    ids=["unknown", "web page", "silent"],
)
def test_an_openml_without_the_data_set_is_told(server, workshop, capsys, answer, said):
    workshop.manifest(sources=MANIFEST["sources"][1:2])
    server.add_openml(7, ARFF)
    server.add("/api/v1/xml/data/7", answer)
    assert run(server, retries=0, timeout=IMPATIENT if answer.delay else 20.0) == 1
    assert said in capsys.readouterr().out


def nested(depth: int) -> bytes:
    body = zipped(toy__csv=CSV.encode())
    for _ in range(depth):
        body = zipped(inner__zip=body)
    return body


def bomb(megabytes: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("toy.csv", "w") as member:
        for _ in range(megabytes):
            member.write(bytes(1 << 20))
    return buffer.getvalue()


def encrypted() -> bytes:
    """The flag says that a password is needed."""
    body = bytearray(zipped(toy__csv=CSV.encode()))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        body[body.index(mark) + place] |= 1
    return bytes(body)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>moved</html>", "not a zip archive"),
        (zipped(other__csv=b"1,2"), "holds no 'toy.csv', but other.csv"),
        (zipped(toy__csv=b"kind,size,label\na,nonsense,1\n"), "holds 'nonsense', expected a number"),
        (zipped(toy__csv=CSV.replace("0.25", "0.26").encode()), TABLE.fingerprint["values"]),
        (zipped(toy__csv=CSV[: CSV.rindex("b,")].encode()), "number of rows is 3, but .* promises 4"),
        (nested(1000), "nests archives more than 3 deep"),
        (bomb(100), "inflates to more than 64 MiB"),
        (zipped(inner__zip=bomb(100)), "inflates to more than 64 MiB"),
        (encrypted(), "password required"),
    ],
    ids="not-a-zip member-missing not-numbers other-values rows-missing nested bomb nested-bomb encrypted".split(),
)
def test_wrong_content_and_archives_beyond_the_limits_are_refused_and_removed(server, workshop, capsys, body, reason):
    workshop.manifest(sources=MANIFEST["sources"][2:])
    server.add_uci(70, "toy.zip", Answer(body))
    assert run(server) == 1
    out = capsys.readouterr().out
    assert re.search(reason, out)
    assert "ask the toymaker" in out
    assert not (workshop.cache / "uci" / "70" / "toy.csv").exists()
    assert no_leftovers(workshop.cache)


def test_an_archive_inside_an_archive_and_a_damaged_cache_are_no_obstacle(server, workshop):
    workshop.manifest("inner", sources=MANIFEST["sources"][2:])
    server.add_uci(70, "toy.zip", Answer(zipped(**{"folder/inner__zip": zipped(**{"deep/toy__csv": CSV.encode()})})))
    workshop.manifest()
    server.add_openml(7, ARFF)
    (workshop.cache / "openml").mkdir()
    (workshop.cache / "openml" / "7.arff").write_text(ARFF[:-20])
    assert run(server, "inner") == run(server) == 0


def test_damaged_mirror_is_reported_not_replaced(server, workshop, capsys):
    workshop.manifest()
    workshop.file(CSV[:-10])
    path = server.add_openml(7, ARFF)
    assert run(server) == 1
    assert "damaged" in capsys.readouterr().out
    assert server.requests[path] == 0


def test_offline_downloads_nothing(server, workshop, capsys):
    workshop.manifest()
    path = server.add_openml(7, ARFF)
    assert main(["toy", "--offline"]) == 1
    out = capsys.readouterr().out
    assert server.requests[path] == 0
    assert "ask the toymaker" in out
    assert "0 of 1 data sets" in out


def test_without_network_one_name_is_asked_for_once(workshop, monkeypatch, capsys):
    asked = []

    def unknown(host: str, _: object) -> None:
        asked.append(host)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr("lpbench.datasets.download.getaddrinfo", unknown)
    monkeypatch.setattr("lpbench.datasets.__main__.list_datasets", lambda: ["toy", "abalone", "red_wine", "sine_sum"])
    workshop.manifest()
    assert main([]) == 1
    said = capsys.readouterr()
    assert len(asked) == said.err.count("cannot be resolved") == said.err.count("\n") == 1
    assert "of 3 data sets are at hand" in said.out


def test_sets_without_a_server_do_not_fail_the_whole(workshop, monkeypatch, capsys):
    """``make datasets`` succeeds although files that only people can fetch are missing."""
    workshop.manifest(sources=[MANIFEST["sources"][0], MANIFEST["sources"][3]])
    monkeypatch.setattr("lpbench.datasets.__main__.list_datasets", lambda: ["toy", "sine_sum", "breast_cancer"])
    assert main([]) == 0
    assert "1 of 2 data sets" in capsys.readouterr().out
    assert main(["breast_cancer", "brest_cancer"]) == 1
    out = capsys.readouterr().out
    assert "did you mean breast_cancer" in out and "1 of 2 data sets" in out


def test_addresses_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("LPBENCH_OPENML_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("LPBENCH_UCI_URL", "http://127.0.0.1:2")
    assert [server_of(kind) for kind in SERVERS] == ["http://127.0.0.1:1", "http://127.0.0.1:2", SERVERS["rdatasets"]]


HOSTILE = ("../victim", "a/../../victim", "..", "", "C:/victim", "a\\..\\victim", "a\0b", "x" * 300)


@pytest.mark.parametrize("kind", ["uci", "file"])
@pytest.mark.parametrize("name", [*HOSTILE, "VICTIM"])
def test_a_manifest_names_files_inside_the_cache_alone(server, workshop, tmp_path, capsys, kind, name):
    """Neither written from the archive nor removed when the download fails, whatever a manifest asks for.

    Every victim lies in the test's own folder: should the guard ever fail, nothing of the machine is lost.
    """
    victim = tmp_path / "victim"
    victim.write_text("precious")
    name = str(victim) if name == "VICTIM" else name
    source = {"kind": kind, "files": {"data": name}}
    workshop.manifest(sources=[source | ({"id": 1, "archive": "a.zip"} if kind == "uci" else {})], fingerprint={})
    server.add_uci(1, "a.zip", Answer(zipped(victim=b"overwritten")))
    before = sorted(tmp_path.rglob("*"))
    assert run(server) == 1
    assert "files.data" in capsys.readouterr().out
    assert victim.read_text() == "precious" and sorted(tmp_path.rglob("*")) == before
    with pytest.raises(DataError, match=r"files\.data"):
        load_table("toy")


@pytest.mark.parametrize("changes", [{"id": "../../victim"}, {"archive": "../../a.zip"}, {"id": -1}, {"id": True}])
def test_ids_and_archives_of_a_manifest_lead_nowhere(workshop, changes):
    workshop.manifest(sources=[{**MANIFEST["sources"][2], **changes}])
    with pytest.raises(DataError, match="sources"):
        load_table("toy")


def test_links_inside_the_cache_lead_nowhere(server, workshop, tmp_path, capsys):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "toy.csv").write_text("precious")
    (workshop.cache / "uci").mkdir()
    (workshop.cache / "uci" / "70").symlink_to(victim)
    workshop.manifest(sources=MANIFEST["sources"][2:])
    server.add_uci(70, "toy.zip", Answer(zipped(toy__csv=CSV.encode())))
    assert run(server) == 1
    assert "by a link" in capsys.readouterr().out
    assert (victim / "toy.csv").read_text() == "precious"


def test_one_manifest_that_cannot_be_used_stops_no_other(server, workshop, capsys):
    workshop.manifest("bad", sources=[{"kind": "uci", "id": "x"}])
    workshop.manifest(sources=MANIFEST["sources"][2:])
    server.add_uci(70, "toy.zip", Answer(zipped(toy__csv=CSV.encode())))
    assert run(server, "bad", "toy") == 1
    out = capsys.readouterr().out
    assert "refused" in out and "downloaded from uci 70" in out
