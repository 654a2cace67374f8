"""Builders of methods and plans on the embedded data, and of experiments in a user's folder."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.method import Method
from lpbench.experiments.plan import Block, Plan, plan_experiment


def method(name="constant", estimator="Constant", **changes) -> Method:
    content = {
        "name": name,
        "title": name,
        "task": "regression",
        "estimator": f"tests.experiments.fakes.{estimator}",
        "grid": {"shift": [0.0, 5.0, -5.0]},
    }
    return Method(**{**content, **changes})


def cell(epsilon=1.0, mask="aligned", replications=3, seed=1, **changes) -> Plan:
    made = method(**changes)
    group = Group(dataset=["diabetes_progression"], mask=[mask], method=[made.name], epsilon=[epsilon])
    experiment = Experiment(name="single", kind="single", replications=replications, groups=[group])
    return plan_experiment(experiment, seed=seed, methods={made.name: made})


def block(**changes) -> Block:
    (only,) = cell(**changes).blocks
    return only


def study(methods: Iterable[str], name="own/small", title="Small", replications=2, **group) -> dict:
    """A table of methods on the embedded data, as a user writes it."""
    group = {"dataset": ["diabetes_progression"], "method": list(methods), "epsilon": [1, 4], **group}
    about = {"name": name, "paper": "own", "kind": "table", "title": title, "replications": replications}
    return {**about, "groups": [group]}


def write_experiment(folder: Path, content: Mapping) -> None:
    path = folder / "experiments" / f"{content['name']}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(dict(content)))


@contextmanager
def own_experiments(folder: Path, *contents: Mapping) -> Iterator[Path]:
    """Experiments in a user's folder, which is the only one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LPBENCH_PLUGINS", str(folder))
        catalog.clear()
        for content in contents:
            write_experiment(folder, content)
        yield folder
        catalog.clear()
