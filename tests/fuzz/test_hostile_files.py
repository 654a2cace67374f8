"""Whatever a file holds, reading it ends in success or in one of our errors, with nothing written outside its folders.

Names that lead out stay below the test's own folder, and the sandbox stops a write before it happens: a guard that
fails costs nothing but the test.
"""

import bz2
import copy
import gzip
import io
import json
import lzma
import random
import shutil
import warnings
import zipfile

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lpbench.audit.black_box.files import FileSource
from lpbench.datasets import describe, load_table, make_problem
from lpbench.datasets.archives import unpack
from lpbench.datasets.download import Settings, download
from lpbench.datasets.manifest import load_manifest
from lpbench.datasets.sources import SERVED
from lpbench.errors import LpbenchError
from lpbench.experiments import catalog
from lpbench.experiments.results import RECORD, Artifact
from lpbench.paths import own_folders
from lpbench.reporting import publish
from lpbench.selectors import Selector
from tests.datasets.conftest import CSV, MANIFEST, Workshop
from tests.fuzz.sandbox import only_inside

#: Cases of each of the ten fuzzers: 200 in all while developing, 2,000 and more in `make test-all`.
FEW, MANY = 20, 200
NAMES = ("toy.csv", "../victim", "../../victim", "VICTIM", "a/../../victim", "link/victim", "", ".", "a\0b", "x" * 300)
VALUES = (
    *(None, True, False, 0, 1, -1, 7, 2**31, 2**70, 0.5, 1e308, float("inf"), float("nan")),
    *("", "columns", "all", "label"),
    *("kind", "size", "a", "mse", "regression", "classification", "os:system", "sklearn.datasets:load_files", "{a: b}"),
    *([], [[]], {}, {"a": 1}, [0, 1], [1, 0], ["size"], ["kind", "kind"], [None], {"column": "size"}, {"first": 2}),
    *({"column": "kind", "values": ["a"]}, {"column": "kind", "one_hot": ["a", "b"]}, {"sample": 2, "seed": 1}),
    *({"column": "kind", "size": 2}, {"file": "data"}, {"all_except": ["kind"]}, {"column": "kind", "map": {"a": 1}}),
    *({"column": "kind", "positive": ["a"], "negative": ["b"]}, {"type": "arff"}, {"type": "excel"}, {"sep": ""}),
    *({"type": "svmlight"}, {"sep": "(", "header": False}, {"skip_rows": 10**9, "type": "excel"}, {"comment": "##"}),
)


class Mutator:
    """Draws changes of content from one seed, so that a case is small and shrinks."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def content(self, content, times: int = 3):
        """Change, remove and add up to so many values anywhere in nested content."""
        content = copy.deepcopy(content)
        for _ in range(self.rng.randint(0, times)):
            places = list(self._places(content))
            if not places:
                break
            holder, key = self.rng.choice(places)
            how = self.rng.randrange(6)
            if how == 0 and isinstance(holder, dict):
                del holder[key]
            elif how == 1 and isinstance(holder, dict):
                holder[self.rng.choice(("title", "rows", "public", "groups", "scale", "columns", "new"))] = self.value()
            elif how == 2 and isinstance(holder, list):
                holder.append(self.value())
            else:
                holder[key] = self.value()
        return content

    def value(self):
        return copy.deepcopy(self.rng.choice((*VALUES, *NAMES)))

    def _places(self, content):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield content, key
            if isinstance(content[key], (dict, list)) and content[key]:
                yield from self._places(content[key])

    def raw(self, data: bytes) -> bytes:
        """Cut, repeat, flip and insert bytes."""
        data = bytearray(data)
        for _ in range(self.rng.randint(0, 4)):
            place = self.rng.randrange(len(data) + 1)
            how = self.rng.randrange(4)
            if how == 0:
                del data[place : place + self.rng.randint(1, 40)]
            elif how == 1:
                data[place:place] = data[: self.rng.randint(1, 40)]
            elif how == 2 and place < len(data):
                data[place] ^= 1 << self.rng.randrange(8)
            else:
                extra = (b"\0", b"\xff\xfe", b"'", b'"', b",,", b"\n", b"&a [*a]", b"!!python/object", b"1e999", b"nan")
                data[place:place] = self.rng.choice(extra)
        return bytes(data)


class Place:
    """Folders of one test, with a file beside them that nobody may touch."""

    def __init__(self, root):
        # names climb two folders at most
        self.home = root / "outer" / "middle" / "home"
        self.home.mkdir(parents=True)
        self.shop = Workshop(self.home)
        self.victim = root / "victim"
        for folder in (root, root / "outer", root / "outer" / "middle", self.home):
            (folder / "victim").write_text("precious")

    def text(self, content) -> str:
        """YAML of content, names of the victim filled in."""
        return yaml.safe_dump(content, allow_unicode=True).replace("VICTIM", str(self.victim))


@pytest.fixture
def place(tmp_path, monkeypatch):
    found = Place(tmp_path)
    monkeypatch.setenv("LPBENCH_DATA_MIRROR", str(found.shop.mirror))
    monkeypatch.setenv("LPBENCH_CACHE", str(found.shop.cache))
    monkeypatch.setenv("LPBENCH_DATASETS", str(found.shop.manifests))
    for kind in SERVED:
        monkeypatch.setenv(f"LPBENCH_{kind.upper()}_URL", "http://127.0.0.1:1")
    monkeypatch.delenv("LPBENCH_PLUGINS", raising=False)
    monkeypatch.chdir(found.home)
    return found


#: Whether cases of the test that runs succeeded: one that only ever sees refusals would find nothing.
_succeeded: list[bool] = []


def attempt(place: Place, action) -> bool:
    """Run a case; whether it succeeded. Anything but success or an error of ours fails the test."""
    try:
        with only_inside(place.shop.cache), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            action()
    except LpbenchError as error:
        assert str(error).strip()
        _succeeded.append(False)
        return False
    _succeeded.append(True)
    return True


def fuzz(body):
    """The test with few cases, and with many as a slow test."""

    def run(place, cases):
        _succeeded.clear()
        tried = settings(
            max_examples=cases, derandomize=True, deadline=None, database=None,
            phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        )  # fmt: skip
        tried(given(st.integers(0, 2**32 - 1))(lambda seed: body(place, Mutator(seed))))()
        assert {*_succeeded} == {True, False}, "the cases are all alike"

    run.__doc__ = body.__doc__
    return pytest.mark.parametrize("cases", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])(run)


def _use(place: Place) -> None:
    """All that the harness does with a data set; a download that would need the network fails at once."""
    manifest = load_manifest("toy")
    describe("toy")
    if not manifest.synthetic:
        download(manifest, Settings(0.01, 0))
        load_table("toy")
    make_problem("toy", mask="aligned")


@fuzz
def test_manifests(place, mutate):
    text = place.text(mutate.content({**MANIFEST, "fingerprint": {}}))
    (place.shop.manifests / "toy.yaml").write_bytes(
        mutate.raw(text.encode()) if mutate.rng.random() < 0.2 else text.encode()
    )
    place.shop.file()
    attempt(place, lambda: _offline(_use, place))


def _offline(action, place):
    # the sandbox stops connections, which would be an escape; sources of the network are looked up, not asked
    import lpbench.datasets.download as module

    def refused(*_, **__):
        raise module.DownloadError("no network in a test")

    real = module.fetch_file, module._ask_openml
    module.fetch_file = module._ask_openml = refused
    try:
        action(place)
    finally:
        module.fetch_file, module._ask_openml = real


@fuzz
def test_synthetic_manifests(place, mutate):
    content = {
        "title": "T", "task": "regression", "synthetic": "lpbench.datasets.synthetic:sine_sum",
        "params": {"n": 20, "n_test": 20, "noise": 1.0}, "shape": {"n_train": "n", "n_test": "n_test", "n_features": 5},
    }  # fmt: skip
    (place.shop.manifests / "toy.yaml").write_text(place.text(mutate.content(content)))
    attempt(place, lambda: _offline(_use, place))


@fuzz
def test_tables(place, mutate):
    """CSV files, plain and compressed, that are cut, garbled, of other types."""
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    end = mutate.rng.choice(["", "", *pack])
    source = {"kind": "file", "files": {"data": f"toy.csv{end}"}}
    place.shop.manifest(fingerprint={}, rows=[{"drop_missing": "all"}], sources=[source])
    body = mutate.raw(CSV.encode())
    body = mutate.raw(pack[end](body)) if mutate.rng.random() < 0.5 else pack[end](body)
    (place.shop.mirror / f"toy.csv{end}").write_bytes(body)
    attempt(place, lambda: _offline(_use, place))


@fuzz
def test_archives(place, mutate):
    """Archives that are cut and garbled, with names that lead out, inside one another."""
    body = CSV.encode()
    for _ in range(mutate.rng.randint(1, 5)):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of two members of one name
            for name in mutate.rng.sample([*NAMES, "inner.zip", "deep/toy.csv"], 3):
                archive.writestr(name.replace("\0", "") or "empty", body)
        body = buffer.getvalue()
    path = place.shop.cache / "archive.zip"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(mutate.raw(body))
    attempt(place, lambda: unpack(path, "an archive"))


@fuzz
def test_tables_of_reports(place, mutate):
    """CSV and parquet files that `lpbench audit` reads."""
    table = pd.DataFrame({"value": [0, 1] * 20, "report": range(40)})
    table = table.rename(columns={"report": mutate.rng.choice(["report", "value ", "", "a,b"])})
    path = place.home / mutate.rng.choice(["reports.csv", "reports.parquet"])
    buffer = io.BytesIO()
    (table.to_csv if path.suffix == ".csv" else table.to_parquet)(buffer, index=False)
    path.write_bytes(mutate.raw(buffer.getvalue()))
    attempt(place, lambda: FileSource(path))


METHOD = {
    "name": "own_fuzzed", "title": "T", "task": "regression", "estimator": "lpbench.estimators.PrivateMean",
    "params": {"y_range": [0, 1]}, "grid": {}, "tuning_free": {},
}  # fmt: skip
EXPERIMENT = {
    "name": "own/fuzzed", "paper": "own", "kind": "table", "title": "T", "replications": 2,
    "groups": [{"dataset": ["sine_sum"], "mask": ["aligned"], "method": ["private_mean"], "epsilon": [1, 2]}],
}  # fmt: skip


@fuzz
def test_plug_in_folders(place, mutate):
    """Folders with YAMLs of methods and experiments that are wrong in content, text, name or place."""
    folder = place.home / "lpbench_plugins"
    shutil.rmtree(folder, ignore_errors=True)
    catalog.clear()
    for kind, name, content in (("methods", "own_fuzzed", METHOD), ("experiments", "own/fuzzed", EXPERIMENT)):
        path = folder / kind / f"{mutate.rng.choice([name, name, name, 'krr', 'a b', 'ü'])}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = place.text(mutate.content(content)).encode()
        path.write_bytes(mutate.raw(text) if mutate.rng.random() < 0.3 else text)
    if mutate.rng.random() < 0.2:
        (folder / "methods" / "nowhere.yaml").symlink_to(place.home / "nothing")
    for action in (
        own_folders,
        lambda: catalog.heads("method", ["name", "title"]),
        lambda: catalog.methods(["own_fuzzed"]),
        lambda: catalog.experiments(["own/fuzzed"]),
    ):
        attempt(place, action)
    catalog.clear()


@fuzz
def test_records_of_results(place, mutate):
    """``run.json`` of somebody else's results, whose files are copied."""
    folder, target = place.home / "results", place.shop.cache / "reproduced"
    folder.mkdir(exist_ok=True)
    target.mkdir(exist_ok=True)
    (folder / "table.csv").write_text("a")
    if not (folder / "link").exists():
        (folder / "link").symlink_to(place.home)
    names = mutate.rng.sample([*NAMES, "table.csv", "none.csv"], 3)
    record = {"files": dict.fromkeys((n.replace("VICTIM", str(place.victim)) for n in names), 1)}
    (folder / RECORD).write_bytes(mutate.raw(json.dumps(mutate.content(record, 2)).encode()))
    attempt(place, lambda: publish._copy(Artifact(folder, "table"), target))


@fuzz
def test_selectors(place, mutate):
    text = mutate.raw(b"histoftree[bins=2,depth=3,mechanism=grr]").decode("utf-8", "replace")

    def parse():
        found = Selector.parse(text)
        assert Selector.parse(str(found)) == found

    attempt(place, parse)
