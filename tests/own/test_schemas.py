"""Own configuration files: what would fail or be ignored is refused by the name of its key, before anything runs."""

from pathlib import Path

import pytest

from lpbench.datasets import list_datasets, load_manifest
from lpbench.datasets.manifest import Manifest
from lpbench.experiments import catalog
from lpbench.experiments.plan import registered_methods
from lpbench.experiments.schema import check_experiment, check_parameters

GROUP = "{dataset: [diabetes_progression], method: [private_mean, hist], epsilon: [1, 4]%s}"
EXPERIMENT = "name: own/t\npaper: own\nkind: table\nreplications: 2\ngroups:\n  - " + GROUP % "" + "\n"


def write(folder: str, name: str, text: str) -> None:
    path = Path("lpbench_plugins", folder, f"{name}.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def complaints(error: str) -> list[str]:
    """Lines beside the folders of plug-ins, which lists name first."""
    return [line for line in error.splitlines() if not line.startswith("plug-ins: ")]


@pytest.mark.parametrize(
    "command", ["plan own/t", pytest.param("reproduce own/t --tracking none", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: table", "kind: plot", "experiment own/t: unknown kind 'plot'"),
        ("kind: table", "kind: single", "experiment own/t: unknown kind 'single'"),
        ("kind: table", "kind: figure", "experiment own/t: groups[0]: key 'x' is missing"),
        ("groups:\n  - " + GROUP % "", "", "experiment own/t: key 'groups' is missing"),
        (GROUP % "", GROUP % ", grid: {foo: [1]}", "groups[0]: grid: none of its methods searches 'foo': known: bins"),
        (GROUP % "", GROUP % ", grid: {bins: 2}", "groups[0]: grid.bins=2 must be a list"),
        (GROUP % "", GROUP % ", values: [1]", "values=[1] would have no effect"),
        (GROUP % "", "{method: [hist], epsilon: [1]}", "groups[0]: a group has no `dataset`"),
        (GROUP % "", "{dataset: [diabetes_progression], epsilon: [1]}", "groups[0]: a group has no `method`"),
        ("name: own/t", "name: own/zzz", "t.yaml: name 'own/zzz' must equal the file name, 'own/t'"),
        ("paper: own", "paper: mine", "paper='mine' must be 'own'"),
        ("replications: 2", "replications: 0", "replications=0"),
        ("replications: 2", "work_limit: 0", "work_limit=0"),
        ("replications: 2", "replikations: 2", "replikations"),
        (GROUP % "", GROUP % ", datasets: [abalone]", "datasets"),
    ],
)
def test_an_experiment_is_refused_before_it_runs(lpbench, command, old, new, said):
    assert old in EXPERIMENT
    write("experiments/own", "t", EXPERIMENT.replace(old, new))
    code, _, error = lpbench(command)
    assert code == 2 and said in error and len(complaints(error)) == 1, error
    assert not Path("results", "own").exists()


@pytest.mark.parametrize("paper", [pytest.param("paper: own\n", marks=pytest.mark.slow), ""])
def test_the_paper_is_the_folder(lpbench, paper):
    write("experiments/own", "t", EXPERIMENT.replace("paper: own\n", paper))
    for command in ("plan own/t", "reproduce own/t --tracking none --backend serial"):
        code, out, error = lpbench(command)
        assert code == 0 and "not as registered" not in out, out + error
    assert Path("results/own/index.html").is_file()


METHOD = """\
name: mine
title: Mine
task: regression
estimator: lpbench.estimators.Hist
params: {clip: true}
grid: {bins: [1, 2]}
tuning_free: {bins: 2}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("task: regression", "task: regresion", "method mine: unknown task 'regresion': did you mean regression"),
        ("title: Mine", "title: Mine\nprivacy: lpd", "unknown privacy model 'lpd': did you mean ldp"),
        ("title: Mine", "title: Mine\nselection: oracle", "unknown selection 'oracle'"),
        ("bins: [1, 2]", "bins: 2", "grid.bins=2 must be a list"),
        ("bins: [1, 2]", "bin: [1, 2]", "grid: unknown parameter 'bin': did you mean bins"),
        ("clip: true", "klip: true", "params: unknown parameter 'klip': did you mean clip"),
        ("{bins: 2}", "{bin: 2}", "tuning_free: unknown parameter 'bin'"),
        (
            "title: Mine",
            "title: Mine\nvariants: {a: {parms: {}}}",
            "variants.a: unknown key 'parms': did you mean params",
        ),
        ("title: Mine", "title: Mine\nvariants: {a: 3}", "variants.a=3 must be a mapping"),
        ("title: Mine", "title: Mine\ngrids: {}", "grids"),
        ("name: mine", "name: other", "name 'other' must equal the file name, 'mine'"),
    ],
)
def test_a_method_is_refused_before_it_runs(lpbench, old, new, said):
    assert old in METHOD
    write("methods", "mine", METHOD.replace(old, new))
    write("experiments/own", "t", EXPERIMENT.replace("hist]", "mine]"))
    for command in ("dataset=diabetes_progression method=mine replications=1 tracking=none", "plan own/t"):
        code, _, error = lpbench(command)
        assert code == 2 and said in error and len(complaints(error)) == 1, error


def test_every_registered_file_keeps_the_rules():
    methods = catalog.methods()
    for experiment in catalog.experiments().values():
        check_experiment(experiment, registered_methods(experiment.methods))
    for method in methods.values():
        check_parameters(method)
    for name in list_datasets():
        assert isinstance(load_manifest(name), Manifest)
