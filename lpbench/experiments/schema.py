"""Rules of configuration files beyond the types of their keys: kinds, tasks, groups of an experiment, grids."""

from collections.abc import Mapping, Sequence
from typing import Any

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.datasets.manifest import TASKS
from lpbench.datasets.parameters import SCALINGS
from lpbench.errors import ConfigurationError, check_known
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.method import Method, facts_of
from lpbench.members import bare_name

#: Kind of experiments whose scores stand beside printed numbers, and on no page of their own.
ALTERNATIVES = "alternatives"
#: What an experiment makes. ``single`` is the cell of the command line.
KINDS = ("table", "figure", "drawing", "timing", ALTERNATIVES, "single")
#: Keys of :data:`lpbench.privacy.MODELS`, whose package takes half a second to import.
PRIVACY = ("ldp", "semi_feature_ldp", "label_ldp", "cdp", "label_cdp", "none")
#: What a method's variant replaces.
VARIANT_KEYS = ("estimator", "params", "grid", "tuning_free")
#: Under which selections a method's stated setting is shown.
STATED = ("tuning_free", "private")


def check_experiment(experiment: Experiment, methods: Mapping[str, Method]) -> None:
    """Refuse an experiment that would fail, or whose keys would be ignored; its methods are by selector."""
    name, kind = f"experiment {experiment.name}", experiment.kind
    kinds = KINDS if experiment.name == "single" else KINDS[:-1]
    check_known(f"{name}: unknown kind", [kind], kinds)
    folder = experiment.name.partition("/")[0]
    if experiment.paper not in ("", folder):
        raise ConfigurationError(f"{name}: paper={experiment.paper!r} must be {folder!r}, the folder of its file")
    check_whole("replications", experiment.replications, least=1)
    check_number(f"{name}: work_limit", experiment.work_limit, above=0, infinite=True)
    check_choice(f"{name}: scaling", experiment.scaling, SCALINGS)
    if kind == "drawing":
        return
    if not experiment.groups:
        raise ConfigurationError(
            f"{name}: key 'groups' is missing; a {kind} needs at least one group of data sets, methods and budgets"
        )
    for position, group in enumerate(experiment.groups):
        _check_group(f"{name}: groups[{position}]", kind, group, methods)


def check_left_out(experiment: Experiment) -> None:
    """Refuse cells that are left out of a file whose groups do not have them."""
    cells = {f"{m} on {d}" for group in experiment.groups for m in group.method for d in group.dataset}
    check_known(f"experiment {experiment.name}: left_out: none of its groups has", experiment.left_out, cells)


def _check_group(name: str, kind: str, group: Group, methods: Mapping[str, Method]) -> None:
    """Refuse a group of an experiment with a missing key, an impossible axis, or values and grids without effect."""
    for key in ("dataset", "mask", "method", "epsilon"):
        if not getattr(group, key):
            raise ConfigurationError(f"{name}: a group has no `{key}`; give at least one")
    axis, _, swept = (group.x or "").partition(".")
    if group.x not in (None, "epsilon") and not (axis in {"dataset", "mask", "method"} and swept):
        raise ConfigurationError(
            f"{name}: x={group.x!r} must be null, epsilon, dataset.<param>, mask.<param> or method.<param>"
        )
    if kind == "figure" and group.x is None:
        raise ConfigurationError(
            f"{name}: key 'x' is missing; a figure's horizontal axis is epsilon, dataset.<param>, mask.<param> or "
            "method.<param>"
        )
    if axis in {"dataset", "mask"} and not group.values:
        raise ConfigurationError(f"{name}: x={group.x!r} needs `values`, the list of swept values")
    if group.values and axis not in {"dataset", "mask"}:
        raise ConfigurationError(
            f"{name}: values={list(group.values)} would have no effect with x={group.x!r}; they are those of "
            "x: dataset.<param> or x: mask.<param>"
        )
    _check_values(f"{name}: grid", group.grid)
    masks = [*map(bare_name, group.mask)]
    searched = {key for m in group.method for mask in masks for key in methods[m].grid_for(mask)}
    check_known(f"{name}: grid: none of its methods searches", group.grid, searched)


def check_method(method: Method) -> None:
    """Refuse impossible values in a method's YAML; :func:`check_parameters` does so of parameters when it runs."""
    name = f"method {method.name}"
    check_known(f"{name}: unknown task", [method.task], TASKS)
    check_known(f"{name}: unknown privacy model", [method.privacy or None], PRIVACY)
    check_known(f"{name}: unknown selection", [method.selection], STATED)
    _check_values(f"{name}: grid", method.grid)
    for mask, grid in method.grid_by_mask.items():
        _check_mapping(f"{name}: grid_by_mask.{mask}", grid)
        _check_values(f"{name}: grid_by_mask.{mask}", grid)
    for variant, preset in method.variants.items():
        _check_mapping(f"{name}: variants.{variant}", preset)
        check_known(f"{name}: variants.{variant}: unknown key", preset, VARIANT_KEYS)
        _check_values(f"{name}: variants.{variant}.grid", preset.get("grid", {}))
    presets = [vars(method), *method.variants.values()]
    settings = [preset.get(key) or {} for preset in presets for key in ("grid", "tuning_free")]
    if any("epsilon" in setting for setting in (*settings, *method.grid_by_mask.values())):
        raise ConfigurationError(f"{name}: epsilon is the budget of a run, which no grid or setting changes; remove it")


def check_parameters(method: Method) -> None:
    """Refuse parameters that the method's estimator does not have."""
    facts = facts_of(method.estimator)
    if facts.takes_any:
        return
    by_mask = {f"grid_by_mask.{mask}": grid for mask, grid in method.grid_by_mask.items()}
    places: dict[str, Mapping[str, Any]] = {"params": method.params, "grid": method.grid, **by_mask}
    places["tuning_free"] = method.tuning_free or {}
    for key, mapping in places.items():
        check_known(f"method {method.name}: {key}: unknown parameter", mapping, facts.parameters)


def _check_mapping(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{name}={value!r} must be a mapping of names to values")


def _check_values(name: str, grid: Mapping[str, Any]) -> None:
    _check_mapping(name, grid)
    for key, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ConfigurationError(f"{name}.{key}={values!r} must be a list of values, e.g. [{values!r}]")
