import bz2
import gzip
import lzma
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest

from lpbench.datasets import describe, load_table, make_problem, sources
from lpbench.datasets.sources import load_table as load
from lpbench.disk import atomic_write
from lpbench.errors import DataError, MissingDataError
from tests.datasets.conftest import ARFF, CSV, MANIFEST, TABLE


def same_as_toy(name="toy"):
    table = load_table(name)
    np.testing.assert_array_equal(table.X, TABLE.X)
    np.testing.assert_array_equal(table.y, TABLE.y)
    assert table.columns == TABLE.columns
    return table


def parsed(workshop):
    return sorted((workshop.cache / "tables").glob("toy-*.npz"))


def test_mirror_then_cache(workshop):
    workshop.manifest()
    workshop.file()
    same_as_toy()
    (workshop.mirror / "toy" / "toy.csv").unlink()
    assert not describe("toy").available
    (workshop.cache / "files" / "toy").mkdir(parents=True)
    (workshop.cache / "files" / "toy" / "toy.csv").write_text(CSV)
    same_as_toy()


def test_without_a_mirror_the_cache_serves(workshop, monkeypatch):
    monkeypatch.delenv("LPBENCH_DATA_MIRROR")
    workshop.manifest()
    (workshop.cache / "openml").mkdir()
    (workshop.cache / "openml" / "7.arff").write_text(ARFF)
    same_as_toy()


def test_missing_data_say_how_to_get_them(workshop):
    workshop.manifest()
    with pytest.raises(MissingDataError, match=r"ask the toymaker.*toy/toy\.csv"):
        make_problem("toy")
    facts = describe("toy")
    assert not facts.available
    assert "make datasets" in facts.how_to_get
    assert str(workshop.cache) not in facts.how_to_get
    assert (facts.n_train, facts.n_test, facts.n_features) == (2, 2, 2)


@pytest.mark.parametrize(
    ("text", "changes", "reason"),
    [
        (
            CSV.replace("0.25", "0.26"),
            {},
            rf"hash of the values is [0-9a-f]{{64}}, .* promises {TABLE.fingerprint['values']}",
        ),
        (CSV + "a,1.0,1\n", {}, "number of rows is 5, but .* promises 4"),
        ("", {}, "cannot be read as csv"),
        (CSV, {"raw_rows": 5}, r"toy\.csv has 4 rows, expected 5; it is not the whole file"),
        (CSV, {"columns": ["kind", "size"]}, r"toy\.csv has 3 columns, expected 2"),
        (CSV, {"sources": [{**MANIFEST["sources"][0], "format": {"type": "stone"}}]}, "format type 'stone'"),
    ],
)
def test_files_that_are_not_what_was_promised(workshop, text, changes, reason):
    workshop.manifest(**changes)
    workshop.file(text)
    with pytest.raises(DataError, match=reason):
        load_table("toy")


def test_parsed_table_is_kept_and_reused(workshop, monkeypatch):
    workshop.manifest()
    workshop.file()
    same_as_toy()
    (kept,) = parsed(workshop)
    assert load("toy") is load("toy")
    monkeypatch.setattr("lpbench.datasets.sources.build_table", None)
    (workshop.mirror / "toy" / "toy.csv").touch()  # new time, same content: read again, from the cache
    same_as_toy()
    assert parsed(workshop) == [kept]


@pytest.mark.parametrize("damage", ["truncated", "empty", "other values"])
def test_damaged_parsed_table_is_built_again(workshop, damage):
    workshop.manifest()
    workshop.file()
    load_table("toy")
    (kept,) = parsed(workshop)
    if damage == "other values":
        np.savez(kept, X=TABLE.X + 1, y=TABLE.y, columns=np.array(TABLE.columns), public=np.empty(0, bool))
    else:
        kept.write_bytes(kept.read_bytes()[: 100 if damage == "truncated" else 0])
    sources._load.cache_clear()  # as in another process
    with pytest.warns(UserWarning, match="is built again"):
        same_as_toy()


def test_changed_file_is_read_again(workshop):
    workshop.manifest(fingerprint={"features": 2})
    workshop.file()
    same_as_toy()
    workshop.file(CSV.replace("0.25", "0.75"))
    assert load_table("toy").X[3, 1] == 0.75


def test_many_at_once(workshop):
    """Threads that parse and store the same table at the same time all get it, and leave one whole file."""
    workshop.manifest()
    workshop.file()
    with ThreadPoolExecutor(8) as pool:
        tables = list(pool.map(lambda _: load_table("toy"), range(32)))
    assert all(table.fingerprint == TABLE.fingerprint for table in tables)
    (kept,) = parsed(workshop)
    assert [p.name for p in kept.parent.iterdir()] == [kept.name]


def test_interrupted_write_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), atomic_write(tmp_path / "deep" / "file") as file:
        file.write(b"half")
        raise RuntimeError("interrupted")
    assert list((tmp_path / "deep").iterdir()) == []


def test_cache_that_cannot_be_written(workshop, monkeypatch):
    workshop.manifest()
    workshop.file()
    (workshop.cache / "blocked").write_text("a file where a folder should be")
    monkeypatch.setenv("LPBENCH_CACHE", str(workshop.cache / "blocked"))
    with pytest.warns(UserWarning, match="cannot be kept"):
        same_as_toy()


def test_formats_give_the_same_table(workshop):
    folder = workshop.mirror / "toy"
    folder.mkdir()
    (folder / "toy.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    (folder / "semicolon.csv").write_text("| a remark\n" + CSV.split("\n", 1)[1].replace(",", ";"))
    with pd.ExcelWriter(folder / "toy.xlsx") as book:
        pd.DataFrame([["toys", "", ""]]).to_excel(book, sheet_name="front", index=False)
        frame = pd.read_csv(folder / "toy.csv.gz")
        frame.to_excel(book, sheet_name="data", index=False)
    columns = ["kind", "size", "label"]
    for name, path, form in [
        ("gz", "toy/toy.csv.gz", {}),
        ("csv", "toy/semicolon.csv", {"sep": ";", "header": False, "comment": "|"}),
        ("xlsx", "toy/toy.xlsx", {"type": "excel", "sheet": "data"}),
    ]:
        workshop.manifest(f"toy_{name}", columns=columns,
                          sources=[{"kind": "file", "files": {"data": path}, "format": form}])  # fmt: skip
        same_as_toy(f"toy_{name}")


@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.csv.bz2", "bomb.csv.xz", "bomb.csv.zip", "bomb.xlsx"])
def test_files_that_inflate_beyond_the_limit_are_refused(workshop, name):
    zeros, path = bytes(65 << 20), workshop.mirror / name
    openers = {".gz": gzip.open, ".bz2": bz2.open, ".xz": partial(lzma.open, preset=0)}
    if path.suffix in openers:
        with openers[path.suffix](path, "wb") as file:
            file.write(zeros)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bomb.csv", zeros)
    kind = {"type": "excel"} if name.endswith("xlsx") else {}
    workshop.manifest(sources=[{"kind": "file", "files": {"data": name}, "format": kind}])
    with pytest.raises(DataError, match="more than 64 MiB inflated"):
        load_table("toy")


@pytest.mark.parametrize("name", ["toy.csv.gz", "toy.csv.xz", "toy.csv.zip", "toy.xlsx"])
def test_compressed_files_that_are_damaged_are_one_sentence(workshop, name):
    (workshop.mirror / name).write_bytes(gzip.compress(CSV.encode())[:-9] + b"garbled")
    workshop.manifest(sources=[{"kind": "file", "files": {"data": name}}])
    with pytest.raises(DataError, match="is damaged"):
        load_table("toy")


@pytest.mark.slow
def test_plain_files_have_a_limit_of_size(workshop):
    sparse = workshop.mirror / "toy.csv"
    with sparse.open("wb") as file:
        file.truncate((4 << 30) + 1)  # a hole: takes no place
    workshop.manifest(sources=[{"kind": "file", "files": {"data": "toy.csv"}}])
    with pytest.raises(DataError, match="more than 4096 MiB"):
        load_table("toy")


def test_libsvm_format(workshop):
    (workshop.mirror / "toy.svm").write_text("1 2:0.5\n2 1:1 2:1.5\n3 2:-2\n5 1:1 2:0.25\n")
    source = {"kind": "file", "files": {"data": "toy.svm"}, "format": {"type": "svmlight"}}
    workshop.manifest(sources=[source], columns=["label", "kind", "size"], features=["kind", "size"])
    same_as_toy()


def test_synthetic_families_have_no_table():
    with pytest.raises(DataError, match="synthetic"):
        load_table("sine_sum")
