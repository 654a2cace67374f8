"""Typed schemas under the YAML: a mistyped key or a string where a number belongs fails at composition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING


@dataclass
class NamedSchema:
    """A data set or mask: name and parameters."""

    name: str = MISSING
    title: str = ""
    params: dict[str, Any] = field(default_factory=dict)


@dataclass
class MethodSchema:
    """A method's YAML; the fields are those of :class:`lpbench.experiments.catalogue.MethodSpec`."""

    name: str = MISSING
    title: str = ""
    task: str = MISSING
    estimator: str = MISSING
    params: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, Any] = field(default_factory=dict)
    grid_by_mask: dict[str, Any] = field(default_factory=dict)
    tuning_free: dict[str, Any] | None = None
    variants: dict[str, Any] = field(default_factory=dict)
    reference: str = ""
    privacy: str = ""


@dataclass
class GroupSchema:
    """A product of data sets, masks, methods and swept values inside an experiment.

    ``block_epsilon``: budgets that a block computes together, those of ``epsilon`` among them (default: ``epsilon``);
    splits, partitions and public work serve them all.
    """

    panel: str = ""
    dataset: list[str] = field(default_factory=list)
    mask: list[str] = field(default_factory=lambda: ["all_private"])
    method: list[str] = field(default_factory=list)
    epsilon: list[float] = field(default_factory=list)
    block_epsilon: list[float] = field(default_factory=list)
    x: str | None = None
    values: list[Any] = field(default_factory=list)
    grid: dict[str, Any] = field(default_factory=dict)


@dataclass
class ExperimentSchema:
    """One table or figure."""

    name: str = MISSING
    paper: str = ""
    kind: str = "table"
    title: str = ""
    replications: int = 1
    cell_timeout: float | None = None
    groups: list[GroupSchema] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass
class RunnerSchema:
    """How blocks are executed."""

    backend: str = "loky"
    workers: int | None = None
    address: str | None = None
    cell_timeout: float = 3600.0
    order: str = "longest_first"


@dataclass
class TrackingSchema:
    """Where results are logged besides the results folder."""

    backend: str = "none"
    uri: str | None = None


@dataclass
class ConfigSchema:
    """Top level of the configuration."""

    experiment: ExperimentSchema = field(default_factory=ExperimentSchema)
    dataset: NamedSchema = field(default_factory=NamedSchema)
    mask: NamedSchema = field(default_factory=NamedSchema)
    method: MethodSchema = field(default_factory=MethodSchema)
    epsilon: float = 1.0
    replications: int | None = None
    seed: int = 2025
    results_dir: str = MISSING
    runner: RunnerSchema = field(default_factory=RunnerSchema)
    tracking: TrackingSchema = field(default_factory=TrackingSchema)
    selection: str = "oracle"
    dry_run: bool = False


def register(
    dataset_names: Iterable[str], methods: Iterable[Mapping] = (), experiments: Mapping[str, Mapping] | None = None
) -> None:
    """Register the schema, one option per manifest, and the methods and experiments that are kept outside ``conf/``."""
    store = ConfigStore.instance()
    store.store(name="schema", node=ConfigSchema)
    for name in dataset_names:
        store.store(group="dataset", name=name, node={"name": name, "params": {}})
    for method in methods:
        store.store(group="method", name=method["name"], node=dict(method))
    for name, experiment in (experiments or {}).items():
        folder, _, stem = name.rpartition("/")
        group = f"experiment/{folder}" if folder else "experiment"
        store.store(group=group, name=stem, node=dict(experiment), package="experiment")
