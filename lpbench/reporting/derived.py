"""Inputs of the derivations of tables, figures, reports and pages, by content."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lpbench.datasets import describe
from lpbench.digest import hash_of
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.paper import Paper
from lpbench.reporting.published import published_cells, published_rank_sums


def drawn_from(experiment: Experiment, seed: int, methods: Mapping[str, Method], paper: Paper | None) -> dict[str, Any]:
    """Inputs of an experiment's tables and figures besides its scores."""
    cards = {name: asdict(method) for name, method in methods.items()}
    inputs = {"experiment": asdict(experiment), "seed": seed, "methods": cards}
    if paper is None:
        return inputs
    if experiment.kind == "drawing":
        named = experiment.settings.get("datasets") or dict.fromkeys(published_cells(experiment.name, paper)["dataset"])
        sets = {str(name): experiment.data_set(name) for name in named}
        facts = {name: describe(data.name, data.params) for name, data in sets.items()}
        inputs["data"] = {name: [fact.fingerprint, fact.available] for name, fact in facts.items()}
    return inputs | {"published": printed(experiment.name, paper)}


def printed(name: str, paper: Paper) -> str:
    """Hash of the published numbers of an experiment."""
    return hash_of([read(name, paper).to_csv(index=False) for read in (published_cells, published_rank_sums)])
