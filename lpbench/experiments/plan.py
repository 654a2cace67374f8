"""Plan of an experiment: its groups as a list of blocks, which is the sweep."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lpbench.datasets import describe, make_problem
from lpbench.derivation import Derivation, remembered
from lpbench.digest import canonical_json, file_hash
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog
from lpbench.experiments.config import ROOT_SEED
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.method import Method, facts_of, import_object, is_own
from lpbench.experiments.schema import check_experiment, check_parameters
from lpbench.members import Selector, bare_name, member
from lpbench.problem import Problem


@dataclass(frozen=True, eq=False)
class Block:
    """The unit of work and of storage: one method on one scenario, all replications, budgets and grid points.

    Data set, mask and method are given by names and parameters, ``fingerprint`` is the hash of the data, and
    ``extra_point`` a setting beside the grid; a block's key is a hash of all that decides its scores.
    """

    dataset: str
    dataset_params: Mapping[str, Any]
    fingerprint: str
    mask: str | None
    mask_params: Mapping[str, Any]
    task: str
    estimator: str
    params: Mapping[str, Any]
    grid: Mapping[str, Sequence[Any]]
    extra_point: Mapping[str, Any] | None
    budgets: tuple[float, ...]
    replications: int
    seed: int
    n_train: int = 0
    n_features: int = 0

    @cached_property
    def config(self) -> dict[str, Any]:
        """Everything besides code and libraries that determines the block's numbers."""
        # of somebody's own method, that the block says what was spent: those of former versions do not
        return ({"spent": "by all fits"} if is_own(self.estimator) else {}) | {
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
        }

    @cached_property
    def derivation(self) -> Derivation:
        """The block's rows as what follows from its configuration, the method's code and that of data sets."""
        return Derivation("block", self.config, (facts_of(self.estimator).module, "lpbench.datasets"))

    @property
    def key(self) -> str:
        """Content address of the block."""
        return self.derivation.key

    @cached_property
    def n_points(self) -> int:
        """Grid points; what a word such as ``all`` stands for depends on the number of features."""
        count, module = math.prod(map(len, self.grid.values())), facts_of(self.estimator).module
        if not count or any(isinstance(value, str) for values in self.grid.values() for value in values):
            about = canonical_json([self.estimator, self.params, self.grid, self.n_features])
            is_users = is_own(module)
            count = self._resolved() if is_users else remembered(f"points of {about}", self._resolved, {}, [module])
        return count + (self.extra_point is not None)

    def _resolved(self) -> int:
        from lpbench.estimators.base import expand_grid  # takes half a second to import

        X = np.broadcast_to(0.0, (1, self.n_features))
        model = import_object(self.estimator)(**self.params)
        grid = model.resolve_grid(self.grid, Problem(X, X[:, 0], X, X[:, 0]))
        return len(expand_grid(grid))

    @property
    def fits(self) -> int:
        """Number of fits that a loop over replications, budgets and grid points would do."""
        return self.n_points * len(self.budgets) * self.replications

    @property
    def numbers(self) -> int:
        """Number of training features read over all replications, a measure of the block's size."""
        return self.replications * self.n_train * self.n_features

    @property
    def label(self) -> str:
        """Return the block in one line for logs: data set, mask, method, budgets."""
        name = self.estimator.rpartition(".")[2]
        budgets = ",".join(f"{e:g}" for e in self.budgets)
        scenario = str(Selector(self.dataset, self.dataset_params))
        mask = "-" if self.mask is None else str(Selector(self.mask, self.mask_params))
        return f"{scenario} {mask} {Selector(name, self.params)} eps={budgets}"


@dataclass(frozen=True, eq=False)
class Entry:
    """Row of a plan: a block with its panel, data set, mask and method, or why it is missing."""

    experiment: str
    panel: str
    dataset: str
    mask: str
    method: str
    epsilons: tuple[float, ...]
    x_axis: str | None
    x_value: float | None
    block: Block | None
    wanted: Block
    missing: str = ""
    left_out: str = ""

    @property
    def cells(self) -> int:
        """Return the number of budgets that the entry shows or its block computes, whichever is larger."""
        return max(len(self.epsilons), len(self.block.budgets) if self.block else 0)


@dataclass(frozen=True)
class Plan:
    """Entries of one or more experiments; blocks shared between entries appear once."""

    entries: tuple[Entry, ...]

    @property
    def blocks(self) -> list[Block]:
        """Return the blocks to compute, each once, in the order of the entries."""
        return list({e.block.key: e.block for e in self.entries if e.block is not None}.values())

    @property
    def wanted(self) -> list[Block]:
        """Distinct blocks of a run that lacks no data."""
        return list({e.wanted.key: e.wanted for e in self.entries if not e.left_out}.values())

    @property
    def missing(self) -> dict[str, str]:
        """Data sets that are not at hand -> how to get them."""
        return {bare_name(e.dataset): e.missing for e in self.entries if e.missing}

    @property
    def left_out(self) -> dict[str, str]:
        """Cells that the experiments leave out, ``method on data set`` -> why."""
        return {f"{e.method} on {e.dataset}": e.left_out for e in self.entries if e.left_out}

    def __add__(self, plan: Plan) -> Plan:
        return Plan(self.entries + plan.entries)


def plan_experiment(
    experiment: Experiment, *, seed: int = ROOT_SEED, methods: Mapping[str, Method] | None = None
) -> Plan:
    """Plan a table or figure with methods by selector, as they are run (default: as registered)."""
    as_run = registered_methods(experiment.methods) if methods is None else methods
    check_experiment(experiment, as_run)
    for method in as_run.values():
        check_parameters(method)
    return Plan(tuple(e for group in experiment.groups for e in _plan_group(experiment, group, seed, as_run)))


def registered_methods(selectors: Iterable[str]) -> dict[str, Method]:
    """Methods by selector, as they are registered (composed together)."""
    selectors = list(selectors)
    catalog.methods(dict.fromkeys(map(bare_name, selectors)))
    return {selector: catalog.method(selector) for selector in selectors}


def by_name(methods: Mapping[str, Method]) -> dict[str, Method]:
    """Methods by the name that stands in the results, whose parameters are in alphabetical order."""
    return {method.name: method for method in methods.values()}


def _plan_group(experiment: Experiment, group: Group, seed: int, methods: Mapping[str, Method]) -> Iterator[Entry]:
    """Yield an entry for each data set, mask, method and swept value of a group.

    Each entry has a block of all budgets.
    """
    name = experiment.name
    epsilons = tuple(_budget(e) for e in group.epsilon)
    computed = tuple(_budget(e) for e in group.block_epsilon) or epsilons
    if not set(epsilons) <= set(computed):
        raise ConfigurationError(
            f"experiment {name}: block_epsilon={list(computed)} must contain the group's epsilon={list(epsilons)}"
        )
    kind, _, swept = (group.x or "").partition(".")
    values = group.values if kind in {"dataset", "mask"} else (None,)
    for dataset, mask, method in itertools.product(group.dataset, group.mask, group.method):
        for value in values:
            wanted, missing = _block(
                experiment.data_set(dataset).with_params(**({swept: value} if kind == "dataset" else {})),
                member(mask).with_params(**({swept: value} if kind == "mask" else {})),
                # what is timed is one fit, not a share of a sweep
                replace(methods[method], tuning_free=None) if experiment.kind == "timing" else methods[method],
                group.grid,
                computed,
                experiment.replications,
                seed,
            )
            names = (name, group.panel, dataset, mask, methods[method].name)
            left_out = experiment.left_out.get(f"{method} on {dataset}", "")
            block = None if missing or left_out else wanted
            yield Entry(*names, epsilons, group.x, value, block, wanted, missing, left_out)


def _block(
    dataset: Selector,
    mask: Selector,
    method: Method,
    grid: Mapping[str, Sequence[Any]],
    budgets: tuple[float, ...],
    replications: int,
    seed: int,
) -> tuple[Block, str]:
    """The block of an entry, and a text on how to get its data where they are missing (else empty).

    ``grid`` replaces values of the method's grid. ConfigurationError if method and data set have different tasks.
    """
    mask_params = {**catalog.mask(mask.name).params, **mask.params}
    content = _file_hash(mask_params.get("path"))
    info = describe(dataset.name, dict(dataset.params))
    if method.task != info.task:
        raise ConfigurationError(
            f"method {method.name} is for {method.task}, data set {dataset.name} is for {info.task}; "
            f"choose a method whose `task` is {info.task} (`lpbench list methods`)"
        )
    if content and not info.how_to_get:
        _check_mask(str(dataset), mask.name, canonical_json(mask_params), content)
    facts = facts_of(method.estimator)
    method_grid = method.grid_for(mask.name)
    points = {**method_grid, **{k: v for k, v in grid.items() if k in method_grid}}
    block = Block(
        dataset=dataset.name,
        dataset_params=dataset.params,
        fingerprint=info.fingerprint,
        mask=mask.name if facts.uses_mask else None,
        mask_params=mask_params if facts.uses_mask else {},
        task=method.task,
        estimator=method.estimator,
        params=method.params,
        grid=points,
        extra_point=_extra_point(method.tuning_free, points),
        budgets=budgets if facts.uses_epsilon else (math.inf,),
        replications=replications,
        seed=seed,
        n_train=info.n_train or 0,
        n_features=info.n_features,
    )
    return block, info.how_to_get


def _extra_point(tuning_free: Mapping[str, Any] | None, grid: Mapping[str, Sequence[Any]]) -> dict[str, Any] | None:
    """Return the tuning-free setting as a further grid point; None if there is none or the grid contains it."""
    if tuning_free is None or (set(tuning_free) == set(grid) and all(tuning_free[k] in list(grid[k]) for k in grid)):
        return None
    return dict(tuning_free)


@cache
def _check_mask(dataset: str, mask: str, params: str, content: str) -> None:
    """Refuse a mask file that does not fit the data set, whether the method reads a mask or not."""
    of = member(dataset)
    make_problem(of.name, of.params, mask, json.loads(params))


def _file_hash(path: str | None) -> str | None:
    """Hash of a mask file's content, by which and not by its name it is known; None without a path.

    ConfigurationError if it cannot be read.
    """
    if path is None:
        return None
    try:
        return file_hash(Path(path))
    except OSError as error:
        raise ConfigurationError(f"mask.params.path={path!r} cannot be read: {error.strerror}") from error


def _budget(value: float | str) -> float:
    """Convert a budget from YAML to a float > 0 (inf allowed); ConfigurationError for anything else."""
    if type(value) is float and 1e-9 < value < 1e9:
        return value
    from lpbench.privacy import check_epsilon  # takes half a second to import

    try:
        return check_epsilon(value if not isinstance(value, str) else float(value))
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
