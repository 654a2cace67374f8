"""What was composed is what runs: every key of the configuration takes effect, or is refused by name."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from lpbench.cli.main import main
from lpbench.cli.names import known_keys
from tests.experiments.helpers import own_experiments, study

#: An experiment with two methods on embedded data.
GRID = {"bins": [1, 2], "threshold": [0.05]}
SMALL = study(("private_mean", "hist"), mask=["aligned"], epsilon=[4.0], grid=GRID)
EXPERIMENT = ["experiment=own/small", "runner=serial", "tracking=none"]
CELL = ["method=hist", "replications=2", "tracking=none"]
DRAWING = ["experiment=histoftree/figure1", "tracking=none"]
GROUP = "{dataset:[diabetes_progression],mask:[aligned],method:[private_mean],epsilon:[2.0]}"


@dataclass
class Ran:
    """What a plan printed, and what the run of the same line left."""

    plan: str
    folder: Path

    @property
    def record(self) -> dict:
        (path,) = self.folder.rglob("run.json")
        return json.loads(path.read_text())

    @property
    def config(self) -> dict:
        return self.record["config"]

    @property
    def experiment(self) -> dict:
        return self.config["experiment"]

    @property
    def group(self) -> dict:
        (group,) = self.experiment["groups"]
        return group

    @property
    def scores(self) -> pd.DataFrame:
        (path,) = self.folder.rglob("scores.parquet")
        return pd.read_parquet(path)

    @property
    def text(self) -> str:
        return " ".join(path.read_text() for path in self.folder.rglob("*.tex"))

    def says(self, *words: str) -> bool:
        return all(word in self.plan for word in words)

    def deviates(self, key: str) -> bool:
        return (
            any(line.startswith(f"{key}:") for line in self.record["deviations"]) and f"registered: {key}:" in self.plan
        )


def points(ran: Ran) -> set[str]:
    return set(ran.scores.loc[ran.scores["method"].astype(str).str.startswith("hist"), "params"].astype(str))


def seeds_differ(ran: Ran) -> bool:
    return ran.config["seed"] == 7 and ran.says("seed 7")


Check = Callable[[Ran], bool]


def becomes(key: str, value: object, *words: str) -> Check:
    """The experiment has the value, and the plan says these words."""
    return lambda ran: ran.experiment[key] == value and ran.says(*words)


def deviates(key: str, value: object, *words: str) -> Check:
    """Likewise, and plan and record name the deviation."""
    return lambda ran: becomes(key, value, *words)(ran) and ran.deviates(key)


def repeated(ran: Ran) -> bool:
    return ran.scores["replication"].nunique() == ran.experiment["replications"] == 3 and ran.says("3 replications")


#: Line -> overrides that are given together -> whether plan, run and record agree about each.
EFFECTS: list[tuple[list[str], dict[str, Check]]] = [
    (
        EXPERIMENT[1:],
        {
            "experiment=own/small": lambda r: r.record["deviations"] == [],
            "runner.backend=loky": lambda r: r.record["runner"]["backend"] == "loky" and r.says("loky"),
            "runner.order=shuffle": lambda r: r.record["runner"]["order"] == "shuffle" and r.says("shuffle"),
        },
    ),
    (
        EXPERIMENT,
        {
            "experiment.scaling=bounds": deviates("scaling", "bounds"),
            "experiment.title=Other": lambda r: "Other" in r.text and r.deviates("title"),
            "experiment.notes=[really]": deviates("notes", ["really"]),
            "experiment.replications=3": lambda r: (
                repeated(r) and r.deviates("replications") and "replications: 2 → 3" in r.text
            ),
            "experiment.work_limit=78": deviates("work_limit", 78, "at most 78 s per cell"),
        },
    ),
    (
        EXPERIMENT,
        {
            f"experiment.groups=[{GROUP}]": lambda r: (
                set(r.scores["epsilon"]) == {2.0} == set(r.group["epsilon"])
                and r.says("1 blocks")
                and r.record["blocks"] == 1
                and r.deviates("groups[0].epsilon")
                and r.deviates("groups[0].method")
            ),
            "replications=3": lambda r: repeated(r) and r.deviates("replications"),
        },
    ),
    (
        EXPERIMENT,
        {
            "+experiment.left_out={hist on diabetes_progression:slow}": lambda r: (
                set(r.scores.loc[r.scores["status"] == "left_out", "method"]) == {"hist"}
                and r.says("hist on diabetes_progression: slow")
                and r.deviates("left_out")
            ),
            "seed=7": lambda r: seeds_differ(r) and r.deviates("seed"),
        },
    ),
    (
        [*EXPERIMENT, "runner.backend=loky"],
        {"runner.workers=3": lambda r: r.record["workers"] == 3 and r.says("3 at once")},
    ),
    (EXPERIMENT, {"tracking.backend=mlflow": lambda r: (r.folder / "mlflow.db").is_file()}),
    (
        DRAWING,
        {
            "experiment.settings.n_selected=1": lambda r: r.experiment["settings"]["n_selected"] == 1,
            'experiment.settings.dataset="sine_sum[n=12]"': lambda r: r.deviates("settings.dataset"),
            "seed=7": seeds_differ,
        },
    ),
    (
        CELL,
        {
            "experiment.title=Other": lambda r: "Other" in r.text,
            "experiment.notes=[really]": becomes("notes", ["really"]),
            "experiment.work_limit=77": becomes("work_limit", 77, "at most 77 s per cell"),
            "dataset=sine_sum": lambda r: r.group["dataset"] == ["sine_sum"] and r.says("sine_sum"),
            "mask=all_private": lambda r: r.group["mask"] == ["all_private"] and r.says("all_private"),
            "method.title=Renamed": lambda r: "Renamed" in r.text and r.deviates("method.title"),
            "method.reference=x": lambda r: r.deviates("method.reference"),
            "method.tuning_free.bins=3": lambda r: r.deviates("method.tuning_free"),
            "epsilon=3": lambda r: set(r.scores["epsilon"]) == {3.0} == set(r.group["epsilon"]) and r.says("eps=3"),
            "seed=7": seeds_differ,
            "runner.order=shuffle": lambda r: r.record["runner"]["order"] == "shuffle" and r.says("shuffle"),
        },
    ),
    (
        [*CELL, "dataset=sine_sum"],
        {
            "dataset.params.n=60": lambda r: r.group["dataset"] == ["sine_sum[n=60]"],
            "mask.params.n_protected=2": lambda r: r.group["mask"] == ["aligned[n_protected=2]"],
            "method.params.clip=true": lambda r: r.group["method"] == ["hist[clip=true]"] and r.says("clip=true"),
            "method.grid.bins=[3]": lambda r: r.deviates("method.grid") and any('"bins":3' in p for p in points(r)),
        },
    ),
    (
        CELL,
        {
            "+method.grid_by_mask.aligned={bins:[3]}": lambda r: r.deviates("method.grid_by_mask"),
            "method.params.variant=clipped": lambda r: r.group["method"] == ["hist[variant=clipped]"],
            "runner=loky": lambda r: r.record["runner"]["backend"] == "loky" and r.says("loky"),
        },
    ),
    (
        ["method=hist", "tracking=none"],
        {
            "experiment.replications=3": repeated,
            "method.params.bins=2": lambda r: {json.loads(p).get("bins", 2) for p in points(r)} == {2},
        },
    ),
    (
        ["tracking=none"],
        {"method=private_mean": lambda r: r.group["method"] == ["private_mean"], "replications=3": repeated},
    ),
    (
        ["method=private_mean", "replications=2", "tracking=none"],
        {
            "method.estimator=tests.experiments.fakes.Constant": lambda r: (
                r.says("Constant") and r.deviates("method.estimator")
            )
        },
    ),
]

#: Line, override, words that it is refused with.
REFUSED: list[tuple[list[str], str, str]] = [
    *(
        (EXPERIMENT, f"{key}={value}", key)
        for key, value in (
            ("experiment.name", "own/other"),
            ("experiment.paper", "lpct"),
            ("experiment.kind", "figure"),
            ("experiment.on_request", "true"),
            ("runner.backend", "lokyy"),
            ("runner.address", "here"),
            ("tracking.backend", "mlflw"),
            ("tracking.uri", "sqlite:///x.db"),
        )
    ),
    (EXPERIMENT, "+experiment.left_out={histt on diabetes_progression:slow}", "hist on diabetes_progression"),
    (CELL, "+experiment.left_out={hist on diabetes_progression:slow}", "experiment.left_out"),
    (DRAWING, "+experiment.left_out={hist on diabetes_progression:slow}", "experiment.left_out"),
    (EXPERIMENT, "+experiment.settings.depth=2", "experiment.settings.depth"),
    *(
        (EXPERIMENT, override, override)
        for override in (
            "dataset=sine_sum dataset.name=sine_sum dataset.title=x dataset.params.split=x mask=all_private "
            "mask.name=all_private mask.title=x mask.params.n_protected=2 method=krr method.name=krr method.title=x "
            "method.task=classification method.estimator=x method.params.clip=true method.grid={} "
            "method.grid_by_mask={} method.tuning_free=null method.selection=private method.variants={} "
            "method.reference=x method.privacy=x method.audited=[x] epsilon=3 selection=tuning_free apart=true "
        ).split()
    ),
    ([*EXPERIMENT, "replications=3"], "experiment.replications=4", "experiment.replications=4"),
    (EXPERIMENT, "~experiment.notes", "deletion"),
    (DRAWING, "+experiment.settings.n_selectd=1", "n_selected"),
    *(
        (DRAWING, override, "is a drawing")
        for override in ("replications=3", "experiment.groups=[]", "runner.order=plan")
    ),
    *(
        (CELL, f"{key}=x", key)
        for key in ("experiment.name", "dataset.name", "dataset.title", "mask.name", "mask.title", "method.name")
    ),
    (CELL, "experiment.groups=[]", "experiment.groups"),
    (CELL, "+experiment.settings.depth=2", "experiment.settings.depth"),
    (CELL, "method.task=classification", "method.task"),
    (CELL, "method.estimator=lpbench.estimators.Nothing", "Nothing"),
    ([*CELL, "method.params.bins=2"], "method.grid.bins=[3]", "method.params.bins"),
    (CELL, "+method.grid_by_mask.personalized={bins:[3]}", "the mask is aligned"),
    (CELL, "method.variants.clipped.params.clip=false", "no variant is chosen"),
    (CELL, "method.selection=private", "a matter of the estimator"),
    (CELL, "selection=best", "selection='best'"),
    (CELL, "tracking.uri=sqlite:///x.db", "tracking.uri"),
]


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory):
    with own_experiments(tmp_path_factory.mktemp("overrides"), SMALL) as folder:
        yield folder


#: What starts processes of its own.
LONGEST = {"runner.workers=3", "tracking.backend=mlflow"}


@pytest.mark.parametrize(
    ("line", "checks"),
    [pytest.param(*c, id=f"{c[0][0]} {next(iter(c[1]))}", marks=[pytest.mark.slow] * (LONGEST & c[1].keys() != set()))
     for c in EFFECTS],
)  # fmt: skip
def test_an_override_takes_effect(line, checks, tmp_path, capsys):
    words = [*line, f"results_dir={tmp_path}", *checks]
    code = main(["plan", *words])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert not list(tmp_path.rglob("run.json")), "a plan runs nothing"
    code = main(words)
    ran = Ran(printed.out, tmp_path)
    assert code == 0, capsys.readouterr().err
    assert [override for override, holds in checks.items() if not holds(ran)] == [], (ran.plan, ran.record)


@pytest.mark.parametrize(("line", "override", "said"), REFUSED, ids=lambda v: v if isinstance(v, str) else v[0])
def test_an_override_without_effect_is_refused_by_name(line, override, said, tmp_path, capsys):
    words = [*line, f"results_dir={tmp_path}", override]
    assert main(["plan", *words]) == 2 or main(words) != 0
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error


def test_every_key_of_the_configuration_has_its_case():
    overrides = [*(override for _, checks in EFFECTS for override in checks), *(override for _, override, _ in REFUSED)]
    tried = {override.lstrip("+~").partition("=")[0] for override in overrides} | {"results_dir", "dry_run", "audit"}
    tried |= {"sealed", "experiment.sealed"}  # by tests/datasets/test_sealed.py
    keys = known_keys()[0]
    assert all(any(t == key or t.startswith(f"{key}.") for t in tried) for key in keys), keys


def test_the_selection_chooses_what_a_cell_prints(tmp_path, capsys):
    assert main([*CELL, f"results_dir={tmp_path}", "selection=tuning_free"]) == 0
    assert " tuning_free: mse" in capsys.readouterr().out
