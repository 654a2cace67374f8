"""Results are made again after a change if they depend on it, and no others.

A user's paper with a data set of its own is run, then changed in one place and run again. A result was made again if
its record is another one. What depends on what is stated in :data:`DEPENDS`; ``docs/derivations.md`` explains it.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from lpbench import derivation, tracking
from lpbench.cli.main import main
from lpbench.datasets import manifest, sources
from lpbench.experiments import catalog, committed, method
from lpbench.experiments.committed import SCORES, commit, derived_summary
from lpbench.experiments.results import Results
from lpbench.experiments.store import Store
from lpbench.reporting import paper, publish, published
from lpbench.reporting.publish import drawn_from_scores
from tests.sources import read_sources_again

NAME = "cur/table1"
FILES = {
    "datasets/cur_set.yaml": """
title: A set of the test
task: regression
sources: [{kind: file, files: {data: cur_set.csv}}]
target: y
features: [a, b]
sensitivity: {order: [a, b], reason: it is a test}
y_range: [0, 13]
fingerprint: {features: 2}
""",
    "datasets/cur_set.csv": "a,b,y\n" + "".join(f"{k},{k * k % 17},{(k * 7) % 13}\n" for k in range(60)),
    "methods/cur_mean.yaml": """
name: cur_mean
title: CurMean
task: regression
estimator: cur_method.CurMean
tuning_free: {}
privacy: none
""",
    "cur_method.py": """
import numpy as np

from cur_first import factor
from lpbench.estimators.base import LocalRegressor


class CurMean(LocalRegressor):
    uses_mask = False
    uses_epsilon = False
    protects = "none"

    def __init__(self, epsilon=1.0, random_state=None):
        self.epsilon, self.random_state = epsilon, random_state

    def learn(self, users):
        self.mean_ = factor() * float(users.reveal().y.mean())

    def predict(self, X):
        return np.full(len(X), self.mean_)
""",
    "cur_first.py": "from cur_second import factor\n",
    "cur_second.py": "from cur_third import factor\n",
    "cur_third.py": "def factor():\n    return 1.0\n",
    "papers/cur/__init__.py": """
from pathlib import Path

from lpbench.analysis.claims import Check, Claim, below
from lpbench.analysis.instances import linear
from lpbench.reporting.paper import Paper
from tests.sources import read_sources_again


def small(results):
    'Let errors be small.'
    table = results.table("cur/table1", 1.0, "", ("cur_mean",))
    for dataset in table.datasets:
        yield linear(dataset, (table.cell(dataset, "cur_mean"), [1.0]))


PAPER = Paper(
    name="cur",
    title="A paper of the test",
    published={"cur/table1": Path(__file__).parent / "table1.csv"},
    claims=(Claim("C1", "table1", "The error is small", (Check("size", small, below(100)),)),),
)
""",
    "papers/cur/table1.csv": "dataset,method,epsilon,published\ncur_set,cur_mean,1,7.25\n",
    "experiments/cur/table1.yaml": """
name: cur/table1
paper: cur
kind: table
title: Errors
groups:
  - {dataset: [cur_set], mask: [all_private], method: [cur_mean], epsilon: [1]}
replications: 3
""",
}
ALL = "table block artifact verdicts numbers standings pages mlflow"
#: Change -> results that depend on it. Committed scores are derivations whose inputs are not at hand: their summary and
#: the tables drawn from them (``summary``, ``drawn``) follow from the scores, not from data or methods.
DEPENDS = {
    "nothing": "",
    "data file": ALL,
    "YAML: title": "artifact drawn pages mlflow",
    "YAML: epsilon": "block artifact drawn verdicts numbers standings pages mlflow",
    "YAML of the method: title": "artifact drawn pages",
    "code of the method": "block artifact verdicts numbers standings pages mlflow",
    "helper three imports away": "block artifact verdicts numbers standings pages mlflow",
    "comment in the helper": "",
    "version of numpy": "table block artifact verdicts numbers standings pages summary drawn",
    "version of matplotlib": "artifact pages drawn",
    "published number": "artifact verdicts numbers pages mlflow drawn",
    "claim of the paper": "artifact verdicts numbers standings pages drawn",
    "words of a rule": "verdicts pages",
    "template": "pages",
    "committed scores": "summary drawn",
    "another folder": "",
    "times of all files": "",
    "moved folder": "",
    "clock set back": "",
}
KINDS = f"{ALL} summary drawn".split()


def change(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def forget() -> None:
    """Nothing is remembered from before a change, as in another process."""
    catalog.clear()
    read_sources_again()
    for cached in (
        *(derivation.versions, published.complete_cells, paper._modules, sources._load, manifest._parsed),
        *(committed._summary, committed._digest, method._facts),
    ):
        cached.cache_clear()
    for name in [name for name in sys.modules if name.partition("_")[0] == "cur" or name.startswith("papers")]:
        del sys.modules[name]


class Workshop:
    """A user's folder, results and cache in one folder, and the records of all results there."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch):
        self.home, self.patch = home, patch
        self.move(home)

    def move(self, home: Path) -> None:
        self.home, self.own, self.results = home, home / "own", home / "results"
        self.patch.setenv("LPBENCH_PLUGINS", str(self.own))
        self.patch.setenv("LPBENCH_CACHE", str(home / "cache"))
        self.patch.delenv("LPBENCH_DATA_MIRROR", raising=False)

    def run(self) -> dict[str, str]:
        """Run everything that is outdated; return the record of each kind of result."""
        forget()
        words = ["reproduce", NAME, "--results", str(self.results), "--tracking", "none", "--backend", "serial"]
        assert main(words) == 0
        committed_folder = self.results / "reproduced"
        if not (committed_folder / SCORES).is_dir():
            commit([Results(self.results).artifact(NAME)], committed_folder, "cur", "star")
        kept = Results(committed_folder)
        derived_summary(committed_folder, NAME).make()
        drawn_from_scores(kept.artifact(NAME)).make()
        return self.records()

    def records(self) -> dict[str, str]:
        run, kept = self.results / NAME, self.results / "reproduced" / NAME
        found = {kind: self.results / "cur" / ".derived" / f"{kind}.json" for kind in KINDS[3:7]}
        found |= {"artifact": run / ".derived/artifact.json", "drawn": kept / ".derived/artifact.json"}
        keys = {kind: json.loads(path.read_text())["key"] for kind, path in found.items()}
        keys["summary"] = json.loads((kept / ".derived/summary.json").read_text())["key"]
        keys["block"] = " ".join(sorted(Store(self.results / "store").keys()))
        keys["table"] = " ".join(sorted(path.name for path in (self.home / "cache/tables").iterdir()))
        keys["mlflow"] = tracking.content_of(run, json.loads((run / "run.json").read_text()))
        return keys

    def apply(self, what: str) -> None:
        """Make one change."""
        if what == "data file":
            change(self.own, "datasets/cur_set.csv", "\n1,1,7\n", "\n1,1,8\n")
        elif what == "YAML: title":
            change(self.own, "experiments/cur/table1.yaml", "Errors", "Mean errors")
        elif what == "YAML: epsilon":
            change(self.own, "experiments/cur/table1.yaml", "replications: 3", "replications: 4")
        elif what == "YAML of the method: title":
            change(self.own, "methods/cur_mean.yaml", "title: CurMean", "title: CurrentMean")
        elif what == "code of the method":
            change(self.own, "cur_method.py", "factor() *", "1.5 * factor() *")
        elif what == "helper three imports away":
            change(self.own, "cur_third.py", "1.0", "2.0")
        elif what == "comment in the helper":
            change(self.own, "cur_third.py", "    return", '    """Return a number."""\n    return')
        elif what.startswith("version of "):
            library, version = what.rpartition(" ")[2], derivation.version
            self.patch.setattr(derivation, "version", lambda name: "0" if name == library else version(name))
        elif what == "published number":
            change(self.own, "papers/cur/table1.csv", "7.25", "7.5")
        elif what == "claim of the paper":
            change(self.own, "papers/cur/__init__.py", "below(100)", "below(1)")
        elif what == "words of a rule":
            change(self.own, "papers/cur/__init__.py", "Let errors be small.", "Let each error be small.")
        elif what == "template":
            shutil.copytree(publish.TEMPLATES, self.home / "templates")
            change(self.home, "templates/base.html.j2", "</footer>", "!</footer>")
            self.patch.setattr(publish, "TEMPLATES", self.home / "templates")
        elif what == "committed scores":
            artifact = Results(self.results).artifact(NAME)
            assert artifact.full is not None
            artifact.full.chosen["value"] *= 2
            assert commit([artifact], self.results / "reproduced", "cur", "star")
        elif what == "another folder":
            for place in (self.home / "elsewhere", self.results / "runs" / "seed=1"):
                shutil.copytree(self.own, place)
                change(place, "cur_third.py", "1.0", "3.0")
        elif what == "times of all files":
            for path in self.home.rglob("*"):
                os.utime(path, (10**9, 10**9))
        elif what == "moved folder":
            moved = self.home.with_name("moved")
            self.home.rename(moved)
            self.move(moved)
        elif what == "clock set back":
            now, back = time.time, 86400.0
            self.patch.setattr(time, "time", lambda: now() - back)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A workshop in which everything was run once, and its records."""
    home = tmp_path_factory.mktemp("currency")
    for file, text in FILES.items():
        (home / "own" / file).parent.mkdir(parents=True, exist_ok=True)
        (home / "own" / file).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        records = Workshop(home, patch).run()
    forget()
    return home, records


@pytest.fixture(scope="module")
def made_again(first, tmp_path_factory):
    """Kinds of results that were made again after a change, each change tried once."""
    known: dict[str, set[str]] = {}

    def of(what: str) -> set[str]:
        if what not in known:
            home = tmp_path_factory.mktemp("changed") / "home"
            shutil.copytree(first[0], home)
            with pytest.MonkeyPatch.context() as patch:
                workshop = Workshop(home, patch)
                workshop.apply(what)
                after = workshop.run()
            forget()
            known[what] = {kind for kind in KINDS if after[kind] != first[1][kind]}
        return known[what]

    return of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", DEPENDS)
def test_exactly_what_depends_on_a_change_is_made_again(made_again, what, kind):
    assert (kind in made_again(what)) == (kind in DEPENDS[what].split())


def test_an_experiment_of_the_project_is_composed_again_if_its_file_or_the_schema_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("LPBENCH_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "conf" / "experiment" / "cur" / "table1.yaml"
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(catalog, "CONF", tmp_path / "conf")
    composed = []
    real = catalog._typed
    monkeypatch.setattr(catalog, "_typed", lambda *about: composed.append(1) or real(*about))
    path.write_text(FILES["experiments/cur/table1.yaml"])

    def compose():
        read_sources_again()
        derivation.versions.cache_clear()
        return catalog._object("experiment", NAME, path, catalog.Experiment)

    assert compose().title == "Errors" and compose().title == "Errors" and len(composed) == 1
    os.utime(path, (0, 0))
    assert compose() and len(composed) == 1, "a time decides nothing"
    path.write_text(FILES["experiments/cur/table1.yaml"].replace("Errors", "Mean errors"))
    assert compose().title == "Mean errors" and len(composed) == 2
    monkeypatch.setattr(derivation, "version", lambda name: "0")
    assert compose() and len(composed) == 3
    derivation.versions.cache_clear()


def test_a_file_that_is_not_as_written_is_made_again(tmp_path):
    path, written = tmp_path / "result.txt", []

    def write():
        written.append(1)
        path.write_text("result")
        return [path]

    def made() -> derivation.Derivation:
        return derivation.Derivation("a result", {"x": 1}, (), (), derivation.record_in(tmp_path, "result"), write)

    assert made().changes() == ["it was not made here"]
    assert made().make() and not made().make() and made().changes() == []
    for damage in (lambda: path.write_text("resul"), path.unlink):
        damage()
        assert made().changes() == ["result.txt is not as it was written"]
        assert made().make() and path.read_text() == "result"
    assert len(written) == 3


def test_the_command_says_which_input_changed(first, tmp_path, capsys):
    home = tmp_path / "home"
    shutil.copytree(first[0], home)
    with pytest.MonkeyPatch.context() as patch:
        workshop = Workshop(home, patch)
        why = ["explain", "--results", str(workshop.results), "--why"]
        forget()
        capsys.readouterr()
        assert main([*why, NAME]) == 0
        out = capsys.readouterr().out
        assert "blocks: 1 of 1 current" in out and "outdated" not in out, out
        workshop.apply("helper three imports away")
        workshop.apply("published number")
        workshop.apply("data file")
        forget()
        assert main([*why, "cur_set"]) == 0
        out = capsys.readouterr().out
        assert "data set cur_set: outdated" in out and "files.data: " in out
        assert main([*why, NAME]) == 0
        out = capsys.readouterr().out
        assert "code of cur_method: cur_third changed" in out and "published: " in out, out
    forget()
