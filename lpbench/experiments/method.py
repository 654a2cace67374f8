"""Methods: an estimator class, its fixed parameters, and the grid the papers search."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from lpbench.errors import ConfigurationError, check_known
from lpbench.experiments.frozen import MISSING, Frozen
from lpbench.members import Selector
from lpbench.paths import own_folders

if TYPE_CHECKING:
    from lpbench.estimators.base import LocalEstimator


#: Package of the patches that ``method[mutant=patch]`` names: modules with a class for each estimator that they break.
MUTANTS_PACKAGE = "lpbench.papers.mutants"
#: Before the dotted path of a class, with the privacy model that is stated: its code runs apart (``lpbench.apart``).
APART = "apart:"
#: Largest delta that a method may spend: beyond, a share of the users may be published and the guarantee still hold.
MOST_DELTA = 1e-3


@dataclass(frozen=True)
class EstimatorFacts:
    """Facts about an estimator class that a plan needs; importing the class would take a second.

    They are its module, whether it uses mask and epsilon, its constructor's parameters, and whether it takes others.
    """

    module: str
    uses_mask: bool
    uses_epsilon: bool
    parameters: tuple[str, ...]  # of the constructor
    takes_any: bool  # whether it has ``**parameters`` besides


def is_own(path: str) -> bool:
    """Return True if an estimator's class is not of this library and runs in this process, not apart."""
    return not path.startswith(("lpbench.", APART))


def facts_of(path: str) -> EstimatorFacts:
    """Facts about the class of a dotted path; those of the library's own are kept with the hashes of its sources."""
    return _kept_facts(path) if path.startswith("lpbench.") else _facts(checked(import_object(path)))


def checked(cls: Any) -> Any:
    """Return somebody's own estimator class; ConfigurationError with the remedy if the harness could not call it."""
    from lpbench.estimators.base import LocalEstimator

    name = getattr(cls, "__name__", repr(cls))
    if not (isinstance(cls, type) and issubclass(cls, LocalEstimator)):
        raise ConfigurationError(
            f"{name} must be a class under lpbench.estimators.base.LocalRegressor or LocalClassifier; `lpbench new "
            "method NAME` writes one"
        )
    if cls.learn is LocalEstimator.learn or cls.fit is not LocalEstimator.fit:
        raise ConfigurationError(
            f"{name} must have learn(users) and no fit of its own: fit seals the users' records, and learn asks them, "
            "as in users.ask(device, question); `lpbench new method NAME` writes an example"
        )
    parameters = inspect.signature(cls).parameters
    wanted = ["random_state", *(["epsilon"] if cls.uses_epsilon else [])]
    lacking = [p for p in wanted if p not in parameters]
    lacking += [name for name, p in parameters.items() if p.default is p.empty and p.kind < p.VAR_KEYWORD]
    if not lacking:
        model = cls()
        lacking = [p for p in parameters if not hasattr(model, p)]
    if lacking:
        raise ConfigurationError(
            f"{name}.__init__ does not take, give a default to, and keep the parameter {lacking[0]!r}: leave __init__ "
            "out and declare parameters as fields under @dataclass(eq=False, repr=False)"
        )
    return cls


@cache
def _kept_facts(path: str) -> EstimatorFacts:
    from lpbench.derivation import remembered  # help and lists do without

    code = [path.rpartition(".")[0]]  # it imports the class's own module, if that is another one
    facts = remembered(f"facts of {path}", lambda: asdict(_facts(import_object(path))), {"path": path}, code)
    return EstimatorFacts(**facts | {"parameters": tuple(facts["parameters"])})  # JSON knows lists alone


@cache
def _facts(cls: type[LocalEstimator]) -> EstimatorFacts:
    parameters = inspect.signature(cls).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return EstimatorFacts(cls.__module__, cls.uses_mask, cls.uses_epsilon, (*parameters,), takes_any)


@dataclass
class Method(Frozen):
    """A method as the harness sees it; also the schema of its YAML."""

    name: str = MISSING  # Name of the YAML file without ending; the key in configurations and results.
    title: str = MISSING  # Printed name.
    task: str = MISSING  # {"regression", "classification"}
    estimator: str = MISSING  # Dotted path of the class; its module may lie beside the folder ``methods/``.
    params: dict[str, Any] = field(default_factory=dict)  # Fixed constructor parameters.
    grid: dict[str, Any] = field(default_factory=dict)  # Searched parameter -> list of its values.
    grid_by_mask: dict[str, Any] = field(default_factory=dict)  # Mask -> grid entries for that mask.
    tuning_free: dict[str, Any] | None = None  # The one setting that is fixed without test rows.
    #: {"tuning_free", "private"}: Label of the scores of the setting ``tuning_free``. ``private`` labels methods that
    #: choose their setting from reports that cost budget.
    selection: str = "tuning_free"
    #: Name -> mapping with ``estimator``, ``params``, ``grid`` or ``tuning_free``; ``method[variant=name]`` selects it.
    variants: dict[str, Any] = field(default_factory=dict)
    reference: str = ""  # Paper and section that describe the method.
    #: {"ldp", "semi_feature_ldp", "label_ldp", "label_cdp", "cdp", "none"}: Privacy model; may be left empty.
    privacy: str = ""
    #: Further settings that the privacy audit runs, each as ``param=value,...``.
    audited: list[str] = field(default_factory=list)

    @property
    def estimator_class(self) -> type[LocalEstimator]:
        """Import and return the estimator's class."""
        imported: type[LocalEstimator] = import_object(self.estimator)
        return imported

    def build(self) -> LocalEstimator:
        """Return an estimator with the method's fixed parameters."""
        return self.estimator_class(**self.params)

    def apart(self) -> Method:
        """Return the same method with an estimator that runs its code in isolated processes."""
        return (
            self
            if self.estimator.startswith(APART)
            else replace(self, estimator=f"{APART}{self.privacy}:{self.estimator}")
        )

    def _like(self, estimator: str) -> str:
        """Return a variant's estimator path, marked to run apart if the method itself is."""
        return replace(self, estimator=estimator).apart().estimator if self.estimator.startswith(APART) else estimator

    def select(self, overrides: Mapping[str, Any]) -> Method:
        """Apply ``[param=value,...]``: ``variant`` picks a preset, else parameters are fixed and leave the grid.

        ``mutant`` takes the estimator of the same name from a module of :data:`MUTANTS_PACKAGE`: the method, but wrong.
        """
        changed = dict(overrides)
        params, grid, tuning_free, estimator = self.params, self.grid, self.tuning_free, self.estimator
        variant = changed.pop("variant", None)
        if variant is not None:
            check_known(f"unknown variant of method {self.name}", [str(variant)], self.variants)
            preset = self.variants[variant]
            params = {**params, **preset.get("params", {})}
            grid = _without({**grid, **preset.get("grid", {})}, preset.get("params", {}))
            tuning_free = preset.get("tuning_free", tuning_free)
            estimator = self._like(preset.get("estimator", estimator))
        mutant = changed.pop("mutant", None)
        if mutant is not None:
            estimator = f"{MUTANTS_PACKAGE}.{mutant}.{estimator.rpartition('.')[2]}"
        if changed:
            parameters = facts_of(self.estimator).parameters
            check_known(f"unknown parameter of method {self.name}", changed, parameters)
        return replace(
            self,
            name=str(Selector(self.name, overrides)),
            estimator=estimator,
            params={**params, **changed},
            grid=_without(grid, changed),
            grid_by_mask={mask: _without(grid, changed) for mask, grid in self.grid_by_mask.items()},
            tuning_free=None if tuning_free is None else _without(tuning_free, changed),
        )

    def grid_for(self, mask: str) -> dict[str, Any]:
        """Return the grid under a mask: the common one, with the parameters that this mask's grid replaces."""
        return {**self.grid, **self.grid_by_mask.get(mask, {})}


def _without(mapping: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in mapping.items() if k not in keys}


def import_object(path: str) -> Any:
    """Import ``package.module.Name`` or ``FILE:Name``; modules in a user's own folders are found too, after others."""
    if path.startswith(APART):
        return import_object("lpbench.audit.apart.wrapped")(path.removeprefix(APART))
    if ":" in path:
        return import_object("lpbench.audit.black_box.sources.load_function")(path)
    module, _, name = path.rpartition(".")
    if module not in sys.modules:
        sys.path.extend(str(folder) for folder in own_folders() if str(folder) not in sys.path)
    try:
        return getattr(importlib.import_module(module), name)
    except (ModuleNotFoundError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"cannot import {path!r}: {error}; a method's `estimator` is a dotted path") from error
    except (Exception, SystemExit) as error:  # whatever a user's module raises while it is imported
        frame = traceback.extract_tb(error.__traceback__)[-1]
        file, line = getattr(error, "filename", None) or frame.filename, getattr(error, "lineno", None) or frame.lineno
        raise ConfigurationError(
            f"cannot import {path!r}: {type(error).__name__} in {file}, line {line}: {error}"
        ) from error
