"""What makes the project citable: citation, changelog, metadata of the data sets, and what others are told to run."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

import lpbench
from lpbench.datasets import load_manifest
from lpbench.paths import MANIFESTS, ROOT
from scripts import write_keys


def test_citation_and_changelog_name_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == lpbench.__version__
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    newest = re.search(r"^## (\S+) \((\S+)\)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert newest.groups() == (lpbench.__version__, str(citation["date-released"]))


def test_citation_names_the_papers_that_are_reproduced():
    titles = {
        paper["title"] for paper in yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    }
    assert len(titles) == 3
    printed = (ROOT / "results" / "published" / "README.md").read_text(encoding="utf-8")
    assert sum(title in printed for title in titles) >= 2


def test_metadata_are_those_of_the_manifests_and_valid_croissant():
    # in a process of its own: the library replaces the handlers of Python's logging
    command = [sys.executable, ROOT / "scripts" / "croissant.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_of_all_keys_is_that_of_the_schemas():
    assert write_keys.PAGE.read_text(encoding="utf-8") == write_keys.page(), "run scripts/write_keys.py"


def test_every_data_set_has_a_license_or_says_where_one_was_looked_for():
    for path in MANIFESTS.glob("*.yaml"):
        manifest = load_manifest(path.stem)
        assert manifest.synthetic or manifest.license, path.stem
        if "not established" in manifest.license:
            assert "looked up" in manifest.license or "shipped with" in manifest.license


@pytest.mark.parametrize("name", sorted(path.stem for path in MANIFESTS.glob("*.yaml")))
def test_metadata_repeat_name_title_license_and_fingerprint(name):
    metadata = json.loads((MANIFESTS / f"{name}.json").read_text(encoding="utf-8"))
    manifest = load_manifest(name)
    assert metadata["name"] == name and manifest.title in metadata["description"]
    assert (manifest.license or "MIT") in metadata["license"]
    assert (manifest.fingerprint.get("values") or "") in metadata["description"]


def test_the_workflow_runs_the_same_script_as_everybody_on_the_supported_versions():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert ".ci/run" in [step.get("run") for step in job["steps"]]


def test_the_script_runs_experiments_into_the_clone_before_the_tests():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    made = [line.split()[1] for line in lines if line.startswith("make ")]
    assert made == ["lint", "quick", "reproduce", "test", "wheel"]
    (reproduce,) = [line for line in lines if line.startswith("make reproduce")]
    assert "REPLICATIONS" not in reproduce and reproduce.count("/") == 2


def test_the_container_runs_the_experiments_that_need_no_data():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    (command,) = [json.loads(line.removeprefix("CMD ")) for line in lines if line.startswith("CMD ")]
    assert command == ["lpbench", "reproduce", "extensions/embedded_*"]
    assert list((ROOT / "conf" / "experiment").glob(f"{command[-1]}.yaml"))


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_make_targets_and_files_that_the_pages_name_are_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text, flags=re.MULTILINE)) <= targets
    assert all((ROOT / link).exists() for link in re.findall(r"\]\(([^)#:]+)[)#]", text))
    assert all((ROOT / path).exists() for path in re.findall(r"`(tests/[\w/.]+)`", text))


@pytest.mark.slow
def test_the_documentation_is_built_without_a_warning(tmp_path):
    pytest.importorskip("myst_parser", reason="needs the extra docs (make docs)")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", ROOT / "docs", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "HistOfTree" in (tmp_path / "api.html").read_text(encoding="utf-8")
