"""From an experiment's groups to a list of blocks: the list of blocks *is* the sweep."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lpbench.datasets import describe
from lpbench.errors import ConfigurationError, unknown_name
from lpbench.estimators.base import check_epsilon, expand_grid
from lpbench.experiments import catalogue as registry
from lpbench.experiments.catalogue import MethodSpec
from lpbench.experiments.fingerprint import canonical_json, source_hash, versions
from lpbench.selectors import format_selector, parse_selector

#: A fit of a sweep costs about as much as reading this many numbers.
_PER_FIT = 20


@dataclass(frozen=True, eq=False)
class Block:
    """The unit of work and of storage: one method on one scenario, all replications, budgets and grid points."""

    dataset: str
    dataset_params: Mapping
    fingerprint: str
    mask: str | None
    mask_params: Mapping
    task: str
    estimator: str
    params: Mapping
    grid: Mapping
    extra_point: Mapping | None
    budgets: tuple[float, ...]
    replications: int
    seed: int
    table_size: int = 0

    @cached_property
    def config(self) -> dict:
        """Everything that determines the block's numbers."""
        cls = registry.import_object(self.estimator)
        return {
            "dataset": self.dataset,
            "dataset_params": dict(self.dataset_params),
            "fingerprint": self.fingerprint,
            "mask": self.mask,
            "mask_params": dict(self.mask_params),
            "mask_file": _file_hash(self.mask_params.get("path")),
            "estimator": self.estimator,
            "params": dict(self.params),
            "grid": dict(self.grid),
            "extra_point": None if self.extra_point is None else dict(self.extra_point),
            "budgets": list(self.budgets),
            "replications": self.replications,
            "seed": self.seed,
            "source": [source_hash(cls.__module__), source_hash("lpbench.datasets")],
            "versions": versions(),
        }

    @cached_property
    def key(self) -> str:
        """Content address of the block."""
        return hashlib.sha256(canonical_json(self.config).encode()).hexdigest()[:32]

    @cached_property
    def n_points(self) -> int:
        """Grid points (a problem-dependent entry such as ``all`` counts once)."""
        return len(expand_grid(self.grid)) + (self.extra_point is not None)

    @property
    def fits(self) -> int:
        """Fits that a naive loop would do."""
        return self.n_points * len(self.budgets) * self.replications

    @property
    def work(self) -> int:
        """Rough cost, for the order of execution: numbers read in all replications, and some for each fit."""
        return self.replications * self.table_size + _PER_FIT * self.fits

    @property
    def label(self) -> str:
        """One line for people."""
        name = self.estimator.rpartition(".")[2]
        budgets = ",".join(f"{e:g}" for e in self.budgets)
        scenario = format_selector(self.dataset, self.dataset_params)
        mask = "-" if self.mask is None else format_selector(self.mask, self.mask_params)
        return f"{scenario} {mask} {format_selector(name, self.params)} eps={budgets}"


@dataclass(frozen=True, eq=False)
class Entry:
    """Where a block's rows appear in an experiment's results."""

    experiment: str
    panel: str
    dataset: str
    mask: str
    method: str
    epsilons: tuple[float, ...]
    x_axis: str | None
    x_value: float | None
    block: Block | None
    missing: str = ""


@dataclass(frozen=True)
class Plan:
    """Entries of one or more experiments; blocks shared between entries appear once."""

    entries: tuple[Entry, ...]

    @property
    def blocks(self) -> list[Block]:
        """Distinct blocks in plan order."""
        return list({e.block.key: e.block for e in self.entries if e.block is not None}.values())

    @property
    def missing(self) -> dict[str, str]:
        """Data sets that are not at hand -> how to get them."""
        return {parse_selector(e.dataset)[0]: e.missing for e in self.entries if e.missing}

    def __add__(self, other: Plan) -> Plan:
        return Plan(self.entries + other.entries)


def plan_experiment(experiment: Mapping, *, replications: int | None = None, seed: int = 2025) -> Plan:
    """Plan a table or figure.

    Parameters
    ----------
    experiment : mapping
        Content of ``conf/experiment/<name>.yaml``.
    replications : int, optional
        Replaces the experiment's own number.
    seed : int
        Root seed.

    Raises
    ------
    ConfigurationError
        Unknown names, impossible budgets or axes; the message names the key.
    """
    count = _count(experiment.get("replications", 1) if replications is None else replications)
    entries: list[Entry] = []
    for group in experiment.get("groups", []):
        entries.extend(_plan_group(experiment["name"], group, count, seed))
    return Plan(tuple(entries))


def plan_single(dataset: str, mask: str, method: MethodSpec, epsilon: float, replications: int, seed: int) -> Plan:
    """Plan one cell of the product data set x mask x method x budget."""
    count = _count(replications)
    budget = (_budget(epsilon),)
    entry = _entry("single", "", dataset, mask, method, budget, budget, None, None, {}, count, seed)
    return Plan((entry,))


def _plan_group(name: str, group: Mapping, replications: int, seed: int) -> Iterable[Entry]:
    epsilons = tuple(_budget(e) for e in group.get("epsilon") or ())
    if not epsilons:
        raise ConfigurationError(f"experiment {name}: a group has no `epsilon`; give at least one budget")
    computed = tuple(_budget(e) for e in group.get("block_epsilon") or ()) or epsilons
    if not set(epsilons) <= set(computed):
        raise ConfigurationError(
            f"experiment {name}: block_epsilon={list(computed)} must contain the group's epsilon={list(epsilons)}"
        )
    axis = group.get("x")
    kind, _, swept = (axis or "").partition(".")
    if axis not in (None, "epsilon") and not (kind in {"dataset", "mask", "method"} and swept):
        raise ConfigurationError(
            f"experiment {name}: x={axis!r} must be null, epsilon, dataset.<param>, mask.<param> or method.<param>"
        )
    values = group.get("values") or [None]
    if kind in {"dataset", "mask"} and values == [None]:
        raise ConfigurationError(f"experiment {name}: x={axis!r} needs `values`, the list of swept values")
    for dataset, mask, method in itertools.product(
        group["dataset"], group.get("mask") or ["all_private"], group["method"]
    ):
        spec = registry.method(method)
        for value in values if kind in {"dataset", "mask"} else [None]:
            yield _entry(
                name,
                group.get("panel", ""),
                dataset,
                mask,
                spec,
                epsilons,
                computed,
                axis,
                value,
                group.get("grid") or {},
                replications,
                seed,
            )


def _entry(
    name: str,
    panel: str,
    dataset: str,
    mask: str,
    spec: MethodSpec,
    epsilons: tuple[float, ...],
    computed: tuple[float, ...],
    axis: str | None,
    value,
    grid: Mapping,
    replications: int,
    seed: int,
) -> Entry:
    dataset_name, dataset_params = parse_selector(dataset)
    mask_name, mask_params = parse_selector(mask)
    if mask_name not in registry.masks():
        raise unknown_name("mask", mask_name, registry.masks())
    kind, _, swept = (axis or "").partition(".")
    if kind == "dataset":
        dataset_params[swept] = value
    elif kind == "mask":
        mask_params[swept] = value
    info = describe(dataset_name, dataset_params)
    cls = spec.estimator_class
    if spec.task != info.task:
        raise ConfigurationError(
            f"method {spec.name} is for {spec.task}, data set {dataset_name} is for {info.task}; "
            f"choose a method whose `task` is {info.task} (`lpbench list methods`)"
        )
    block = None
    if info.available:
        points = {**spec.grid_for(mask_name), **{k: v for k, v in grid.items() if k in spec.grid_for(mask_name)}}
        block = Block(
            dataset=dataset_name,
            dataset_params=dataset_params,
            fingerprint=info.fingerprint,
            mask=mask_name if cls.uses_mask else None,
            mask_params={**registry.masks()[mask_name].get("params", {}), **mask_params} if cls.uses_mask else {},
            task=spec.task,
            estimator=spec.estimator,
            params=spec.params,
            grid=points,
            extra_point=_extra_point(spec.tuning_free, points),
            budgets=computed if cls.uses_epsilon else (math.inf,),
            replications=replications,
            seed=seed,
            table_size=(info.n_train or 0) * info.n_features,
        )
    missing = "" if info.available else info.how_to_get
    return Entry(name, panel, dataset, mask, spec.name, epsilons, axis, value, block, missing)


def _extra_point(tuning_free: Mapping | None, grid: Mapping[str, Sequence]) -> dict | None:
    """The tuning-free setting, where the grid does not hold it already."""
    if tuning_free is None:
        return None
    if set(tuning_free) == set(grid) and all(tuning_free[k] in list(grid[k]) for k in grid):
        return None
    return dict(tuning_free)


def _file_hash(path: str | None) -> str | None:
    """A mask read from a file is known by its content, not by its name."""
    if path is None:
        return None
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigurationError(f"mask.params.path={path!r} cannot be read: {error.strerror}") from error


def _count(replications) -> int:
    if isinstance(replications, bool) or not isinstance(replications, int) or replications < 1:
        raise ConfigurationError(f"replications={replications!r} must be a whole number >= 1")
    return replications


def _budget(value) -> float:
    try:
        return check_epsilon(value if not isinstance(value, str) else float(value))
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
