"""What was composed is what runs: every key of the configuration takes effect, or is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pandas as pd
import pytest

from lpbench.cli.main import main
from lpbench.experiments.config import Config
from tests.experiments.helpers import own_experiments

#: An experiment with two methods on embedded data.
SMALL = {
    "name": "own/small",
    "paper": "own",
    "kind": "table",
    "title": "Small",
    "replications": 2,
    "groups": [
        {
            "dataset": ["diabetes_progression"],
            "mask": ["aligned"],
            "method": ["private_mean", "hist"],
            "epsilon": [4.0],
            "grid": {"bins": [1, 2], "threshold": [0.05]},
        }
    ],
}
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


#: Line, override -> whether plan, run and record agree; a text: it is refused with these words.
CASES: list[tuple[list[str], str, Check | str]] = [
    (EXPERIMENT[1:], "experiment=own/small", lambda r: r.record["deviations"] == []),
    (EXPERIMENT, "experiment.name=own/other", "experiment.name"),
    (EXPERIMENT, "experiment.paper=lpct", "experiment.paper"),
    (EXPERIMENT, "experiment.kind=figure", "experiment.kind"),
    (EXPERIMENT, "experiment.on_request=true", "experiment.on_request"),
    (EXPERIMENT, "experiment.scaling=bounds", deviates("scaling", "bounds")),
    (EXPERIMENT, "experiment.title=Other", lambda r: "Other" in r.text and r.deviates("title")),
    (EXPERIMENT, "experiment.notes=[really]", deviates("notes", ["really"])),
    (
        EXPERIMENT,
        "experiment.replications=3",
        lambda r: repeated(r) and r.deviates("replications") and "replications: 2 → 3" in r.text,
    ),
    (EXPERIMENT, "experiment.work_limit=78", deviates("work_limit", 78, "at most 78 s a cell")),
    (
        EXPERIMENT,
        "+experiment.left_out={hist on diabetes_progression:slow}",
        lambda r: (
            set(r.scores.loc[r.scores["status"] == "left_out", "method"]) == {"hist"}
            and r.says("hist on diabetes_progression: slow")
            and r.deviates("left_out")
        ),
    ),
    (EXPERIMENT, "+experiment.left_out={histt on diabetes_progression:slow}", "hist on diabetes_progression"),
    (CELL, "+experiment.left_out={hist on diabetes_progression:slow}", "experiment.left_out"),
    (DRAWING, "+experiment.left_out={hist on diabetes_progression:slow}", "experiment.left_out"),
    (
        EXPERIMENT,
        f"experiment.groups=[{GROUP}]",
        lambda r: (
            set(r.scores["epsilon"]) == {2.0} == set(r.group["epsilon"])
            and r.says("1 blocks")
            and r.record["blocks"] == 1
            and r.deviates("groups[0].epsilon")
            and r.deviates("groups[0].method")
        ),
    ),
    (EXPERIMENT, "+experiment.settings.depth=2", "experiment.settings.depth"),
    *(
        (EXPERIMENT, override, override)
        for override in (
            "dataset=sine_sum dataset.name=sine_sum dataset.title=x dataset.params.split=x mask=all_private "
            "mask.name=all_private mask.title=x method=krr method.name=krr method.title=x "
            "method.task=classification method.estimator=x method.params.clip=true method.grid={} "
            "method.grid_by_mask={} method.tuning_free=null method.selection=private method.variants={} "
            "method.reference=x method.privacy=x method.audited=[x] epsilon=3 selection=tuning_free "
        ).split()
    ),
    (EXPERIMENT, "replications=3", lambda r: repeated(r) and r.deviates("replications")),
    ([*EXPERIMENT, "replications=3"], "experiment.replications=4", "experiment.replications=4"),
    (EXPERIMENT, "seed=7", lambda r: seeds_differ(r) and r.deviates("seed")),
    (EXPERIMENT, "runner.backend=loky", lambda r: r.record["runner"]["backend"] == "loky" and r.says("loky")),
    (EXPERIMENT, "runner.backend=lokyy", "runner.backend"),
    (
        [*EXPERIMENT, "runner.backend=loky"],
        "runner.workers=3",
        lambda r: r.record["workers"] == 3 and r.says("3 at once"),
    ),
    (EXPERIMENT, "runner.address=here", "runner.address"),
    (EXPERIMENT, "runner.order=shuffle", lambda r: r.record["runner"]["order"] == "shuffle" and r.says("shuffle")),
    (EXPERIMENT, "tracking.backend=mlflow", lambda r: (r.folder / "mlflow.db").is_file()),
    (EXPERIMENT, "tracking.backend=mlflw", "tracking.backend"),
    (EXPERIMENT, "tracking.uri=sqlite:///x.db", "tracking.uri"),
    (EXPERIMENT, "mask.params.n_protected=2", "mask.params.n_protected=2"),
    (EXPERIMENT, "~experiment.notes", "deletion"),
    # drawings
    (DRAWING, "experiment.settings.n_selected=1", lambda r: r.experiment["settings"]["n_selected"] == 1),
    (DRAWING, 'experiment.settings.dataset="sine_sum[n=12]"', lambda r: r.deviates("settings.dataset")),
    (DRAWING, "+experiment.settings.n_selectd=1", "n_selected"),
    (DRAWING, "replications=3", "is a drawing"),
    (DRAWING, "experiment.groups=[]", "is a drawing"),
    (DRAWING, "runner.order=plan", "is a drawing"),
    (DRAWING, "seed=7", seeds_differ),
    # one cell
    (CELL, "experiment.name=x", "experiment.name"),
    (CELL, "experiment.groups=[]", "experiment.groups"),
    (CELL, "+experiment.settings.depth=2", "experiment.settings.depth"),
    (CELL, "experiment.title=Other", lambda r: "Other" in r.text),
    (CELL, "experiment.notes=[really]", becomes("notes", ["really"])),
    (CELL[:1] + CELL[2:], "experiment.replications=3", repeated),
    (CELL, "experiment.work_limit=77", becomes("work_limit", 77, "at most 77 s a cell")),
    (CELL, "dataset=sine_sum", lambda r: r.group["dataset"] == ["sine_sum"] and r.says("sine_sum")),
    ([*CELL, "dataset=sine_sum"], "dataset.params.n=60", lambda r: r.group["dataset"] == ["sine_sum[n=60]"]),
    (CELL, "dataset.name=sine_sum", "dataset.name"),
    (CELL, "dataset.title=x", "dataset.title"),
    (CELL, "mask=all_private", lambda r: r.group["mask"] == ["all_private"] and r.says("all_private")),
    (CELL, "mask.params.n_protected=2", lambda r: r.group["mask"] == ["aligned[n_protected=2]"]),
    (CELL, "mask.name=x", "mask.name"),
    (CELL, "mask.title=x", "mask.title"),
    (["replications=2", "tracking=none"], "method=private_mean", lambda r: r.group["method"] == ["private_mean"]),
    (CELL, "method.name=x", "method.name"),
    (CELL, "method.task=classification", "method.task"),
    (CELL, "method.title=Renamed", lambda r: "Renamed" in r.text and r.deviates("method.title")),
    (CELL, "method.reference=x", lambda r: r.deviates("method.reference")),
    (
        ["method=private_mean", "replications=2", "tracking=none"],
        "method.estimator=tests.experiments.fakes.Constant",
        lambda r: r.says("Constant") and r.deviates("method.estimator"),
    ),
    (CELL, "method.estimator=lpbench.estimators.Nothing", "Nothing"),
    (CELL, "method.params.clip=true", lambda r: r.group["method"] == ["hist[clip=true]"] and r.says("clip=true")),
    (CELL, "method.params.bins=2", lambda r: {json.loads(p).get("bins", 2) for p in points(r)} == {2}),
    (CELL, "method.grid.bins=[3]", lambda r: r.deviates("method.grid") and any('"bins":3' in p for p in points(r))),
    ([*CELL, "method.params.bins=2"], "method.grid.bins=[3]", "method.params.bins"),
    (CELL, "+method.grid_by_mask.aligned={bins:[3]}", lambda r: r.deviates("method.grid_by_mask")),
    (CELL, "+method.grid_by_mask.personalized={bins:[3]}", "the mask is aligned"),
    (CELL, "method.tuning_free.bins=3", lambda r: r.deviates("method.tuning_free")),
    (CELL, "method.variants.clipped.params.clip=false", "no variant is chosen"),
    (CELL, "method.selection=private", "a matter of the estimator"),
    (CELL, "method.params.variant=clipped", lambda r: r.group["method"] == ["hist[variant=clipped]"]),
    (CELL, "epsilon=3", lambda r: set(r.scores["epsilon"]) == {3.0} == set(r.group["epsilon"]) and r.says("eps=3")),
    (CELL[:1] + CELL[2:], "replications=3", repeated),
    (CELL, "seed=7", seeds_differ),
    (CELL, "selection=best", "selection='best'"),
    (CELL, "runner=loky", lambda r: r.record["runner"]["backend"] == "loky" and r.says("loky")),
    (CELL, "runner.order=shuffle", lambda r: r.record["runner"]["order"] == "shuffle" and r.says("shuffle")),
    (CELL, "tracking.uri=sqlite:///x.db", "tracking.uri"),
]


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory):
    """The small experiment in a user's folder."""
    with own_experiments(tmp_path_factory.mktemp("overrides"), SMALL) as folder:
        yield folder


#: What starts processes of its own.
LONGEST = ("runner.workers=3", "tracking.backend=mlflow")


@pytest.mark.parametrize(
    ("line", "override", "expected"),
    [pytest.param(*c, id=f"{c[0][0]} {c[1]}", marks=[pytest.mark.slow] * (c[1] in LONGEST)) for c in CASES],
)
def test_an_override_takes_effect_or_is_refused_by_name(line, override, expected, tmp_path, capsys):
    words = [*line, f"results_dir={tmp_path}", override]
    code = main(["plan", *words])
    printed = capsys.readouterr()
    if isinstance(expected, str):
        assert code == 2 or main(words) != 0
        error = printed.err + capsys.readouterr().err
        assert expected in error and "Traceback" not in error
        return
    assert code == 0, printed.err
    assert not list(tmp_path.rglob("run.json")), "a plan runs nothing"
    code = main(words)
    ran = Ran(printed.out, tmp_path)
    assert code == 0, capsys.readouterr().err
    assert expected(ran), (ran.plan, ran.record)


def keys(node: type = Config, prefix: str = "") -> list[str]:
    types = get_type_hints(node)
    found = []
    for name in (f.name for f in fields(node)):
        found += keys(types[name], f"{prefix}{name}.") if is_dataclass(types[name]) else [prefix + name]
    return found


def test_every_key_of_the_configuration_has_its_case():
    tried = {override.lstrip("+~").partition("=")[0] for _, override, _ in CASES} | {"results_dir", "dry_run"}
    assert all(any(t == key or t.startswith(f"{key}.") for t in tried) for key in keys()), keys()


def test_the_selection_chooses_what_a_cell_prints(tmp_path, capsys):
    assert main([*CELL, f"results_dir={tmp_path}", "selection=tuning_free"]) == 0
    assert " tuning_free: mse" in capsys.readouterr().out


def test_another_seed_gives_other_scores(tmp_path):
    for seed in ("2025", "7"):
        assert main([*EXPERIMENT, f"results_dir={tmp_path / seed}", f"seed={seed}"]) == 0
    one, other = (Ran("", tmp_path / seed).scores["value"] for seed in ("2025", "7"))
    assert (one.to_numpy() != other.to_numpy()).any()
