"""Jobs, which are experiments as they are run: with a seed, and how they deviate from the registered ones.

Whatever is overridden takes effect in the job that is planned, run and recorded, or is refused by name.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

from lpbench.errors import ConfigurationError, unknown_name
from lpbench.experiments import catalog
from lpbench.experiments.config import ROOT_SEED, SELECTIONS, Config
from lpbench.experiments.experiment import Experiment, Group, changes, deviations
from lpbench.experiments.method import Method
from lpbench.experiments.plan import Plan, plan_experiment, registered_methods
from lpbench.experiments.schema import check_left_out
from lpbench.members import Selector
from lpbench.paths import RUNS

#: Keys that describe what was chosen by name; changing them would only make the name wrong.
_DESCRIPTIONS = {
    "experiment": ("name", "paper", "kind", "on_request"),
    "dataset": ("name", "title"),
    "mask": ("name", "title"),
    "method": ("name", "task", "privacy"),
}
#: Keys of a single cell, which the other experiments fix themselves.
_CELL_KEYS = ("dataset", "mask", "method", "epsilon", "apart")
#: Keys of an experiment that a drawing, which computes no scores, has no use for.
_NOT_DRAWN = (
    *("replications", "experiment.replications", "experiment.work_limit"),
    *("experiment.left_out", "experiment.groups"),
)
#: Longest name of a folder that spells out what deviates; beyond it there is a hash.
_LONGEST = 100
#: What a cell's folder is not named after: its place says it, or it decides no number.
_NOT_NAMED = (
    "groups",
    "title",
    "notes",
    "work_limit",
    "left_out",
    "method.title",
    "method.reference",
    "method.audited",
)


@dataclass(frozen=True)
class Job:
    """One experiment to run, with its methods, seed, deviations from the registered one, and results folder."""

    experiment: Experiment  # as it is run
    seed: int = ROOT_SEED
    deviations: tuple[str, ...] = ()  # from the registered experiment, ``key: registered → run`` each
    overridden: Mapping[str, Method] = field(default_factory=dict)  # by selector, those not as registered
    audits: Mapping[str, str] = field(default_factory=dict)  # what the audit says of methods of somebody's own, by name
    folder: str = ""  # within the results folder

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", self.folder or self.experiment.name)

    @property
    def name(self) -> str:
        """Return the experiment's name."""
        return self.experiment.name

    @property
    def is_cell(self) -> bool:
        """Return True if the job is a single cell composed on the command line."""
        return self.experiment.kind == "single"

    @cached_property
    def methods(self) -> dict[str, Method]:
        """Methods by selector, as they are run."""
        chosen = {s: m for s, m in self.overridden.items() if s in self.experiment.methods}
        registered = [s for s in self.experiment.methods if s not in chosen]
        return registered_methods(registered) | chosen

    @cached_property
    def plan(self) -> Plan:
        """Return the plan of the job's experiment with its seed and methods: all blocks to compute."""
        return plan_experiment(self.experiment, seed=self.seed, methods=self.methods)


def job_of(
    experiment: Experiment, *, replications: int | None = None, work_limit: float | None = None, seed: int = ROOT_SEED
) -> Job:
    """Job of an experiment, registered or derived from a registered one, with what deviates from it."""
    if seed < 0:
        raise ConfigurationError(f"seed={seed} must be >= 0")
    if replications is not None and experiment.kind != "drawing":
        experiment = replace(experiment, replications=replications)
    if work_limit is not None and experiment.kind != "drawing":
        experiment = replace(experiment, work_limit=work_limit)
    deviating = []
    if experiment.name in catalog.experiment_names():
        deviating = deviations(experiment, catalog.experiment(experiment.name))
        deviating += changes({"seed": seed}, {"seed": ROOT_SEED})
    return Job(experiment, seed, tuple(deviating))


def placed(jobs: Sequence[Job]) -> list[Job]:
    """Assign result folders to the jobs of one call: within ``runs/<deviations>`` if any of them deviates."""
    changed = _changed([text for job in jobs if not job.is_cell for text in job.deviations])
    if not changed:
        return list(jobs)
    folder = f"{RUNS}/{_folder_name(changed)}"
    return [job if job.is_cell else replace(job, folder=f"{folder}/{job.name}") for job in jobs]


def _changed(deviating: Iterable[str]) -> dict[str, str]:
    """Map key to the value that was run, from texts ``key: registered → run``."""
    return {key: change.rpartition(" → ")[2] for key, _, change in (text.partition(": ") for text in deviating)}


def _slug(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z_.]+", "-", text).strip("-")


def _folder_name(changed: Mapping[str, str]) -> str:
    """Name of a folder after the deviating settings, "key=value,..."; values that are no short word are hashed."""
    words = []
    for key, value in sorted(changed.items()):
        short = value if re.fullmatch(r"[\w.+-]{1,20}", value) else _hash(value)
        words.append(f"{_slug(key)}={short}")
    name = ",".join(words)
    return name if len(name) <= _LONGEST else f"{len(words)}-keys={_hash(name)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def job_from(config: Config, overrides: Sequence[str] = ()) -> Job:
    """Job of a composed configuration; an override of the command line that would have no effect is refused by name."""
    keys = {override.lstrip("+").partition("=")[0].partition("@")[0]: override for override in overrides}
    for key, override in keys.items():
        if reason := _without_effect(config, key, keys):
            raise ConfigurationError(f"{override!r} would have no effect: {reason}")
    if config.selection not in SELECTIONS:
        raise ConfigurationError(f"selection={config.selection!r} must be {' or '.join(SELECTIONS)}")
    config = replace(config, experiment=replace(config.experiment, sealed=bool(config.sealed)))
    if config.experiment.kind != "single":
        return job_of(config.experiment, replications=config.replications, seed=config.seed)
    return _cell(config)


def _cell(config: Config) -> Job:
    """Make the job of a single cell, data set x mask x method x budget, from the command line's configuration.

    Its folder is named after the cell and what deviates from the registered settings.
    """
    registered, chosen = catalog.methods([config.method.name])[config.method.name], config.method
    if config.apart:
        registered, chosen = registered.apart(), chosen.apart()
    changed = {k: v for k, v in config.method.params.items() if registered.params.get(k) != v}
    method = replace(chosen, params=registered.params).select(changed)
    registered_params = catalog.mask(config.mask.name).params
    mask = {k: v for k, v in config.mask.params.items() if registered_params.get(k) != v}
    group = Group(
        dataset=(str(Selector(config.dataset.name, config.dataset.params)),),
        mask=(str(Selector(config.mask.name, mask)),),
        method=(method.name,),
        epsilon=(config.epsilon,),
    )
    changes_made = changes(asdict(method), asdict(registered.select(changed)), "method.")
    job = job_of(replace(config.experiment, groups=(group,)), replications=config.replications, seed=config.seed)
    others = deviations(job.experiment, catalog.single())
    others += changes({"seed": job.seed, "apart": config.apart}, {"seed": ROOT_SEED, "apart": False})
    named = {k: v for k, v in _changed([*changes_made, *others]).items() if not k.startswith(_NOT_NAMED)}
    budget = f"epsilon={repr(config.epsilon).removesuffix('.0')}"
    places = [*group.dataset, *group.mask, *group.method, ",".join([budget, *filter(None, [_folder_name(named)])])]
    # what is too long for the name of a folder, or has a slash, is cut and hashed
    plain = (
        t if len(t.encode()) <= 2 * _LONGEST and "/" not in t else f"{_slug(t)[:_LONGEST]}-{_hash(t)}" for t in places
    )
    folder = "/".join(["single", *plain])
    return replace(job, deviations=tuple(changes_made), overridden={method.name: method}, folder=folder)


def _without_effect(config: Config, key: str, keys: Mapping[str, str]) -> str:
    """Return the reason why an overridden ``key`` would change nothing; empty if it has an effect.

    ``keys`` are all overridden keys with their values. ConfigurationError for a setting that does not exist.
    """
    top, _, below = key.partition(".")
    name = config.experiment.name
    if key.startswith("~"):
        return "a key cannot be deleted; give it another value"
    if below in _DESCRIPTIONS.get(top, ()):
        return f"it describes what `{top}=...` chose; choose another {top}, or write one of your own"
    if key == "experiment.replications" and "replications" in keys:
        return "`replications` replaces it; give one of the two"
    if config.experiment.kind != "single":
        if top in _CELL_KEYS:
            return (
                f"experiment {name} fixes its own data sets, masks, methods and budgets; leave the key "
                "out, or leave `experiment=` out to run single cells"
            )
        if top == "selection":
            return f"the tables of {name} show both selections; it chooses what a single cell prints"
        if config.experiment.kind == "drawing" and (key in _NOT_DRAWN or key.startswith("runner")):
            return f"{name} is a drawing, which computes no scores"
        if key == "experiment.left_out":
            check_left_out(config.experiment)
        if key.startswith("experiment.settings."):
            settings, setting = catalog.experiment(name).settings, key.split(".")[2]
            if not settings:
                raise ConfigurationError(f"experiment.settings.{setting}: experiment {name} has no settings")
            if setting not in settings:
                raise unknown_name(f"setting of experiment {name}", setting, settings)
        return ""
    if key.startswith(("experiment.groups", "experiment.left_out", "experiment.settings")):
        return "a single cell is given by dataset, mask, method and epsilon; choose an experiment with experiment=NAME"
    return _without_effect_on_method(config, key) if top == "method" and below else ""


def _without_effect_on_method(config: Config, key: str) -> str:
    """Return the reason why an overridden key of a method changes nothing in this cell; empty if it does."""
    method = config.method
    kind, name = [*key.split(".")[1:], "", ""][:2]
    if kind == "variants" and "variant" not in method.params:
        return "no variant is chosen; choose one with method.params.variant=NAME"
    if kind == "selection":
        return "whether reports choose the setting is a matter of the estimator (private_selection_regressor's do)"
    if kind == "grid_by_mask" and name and name != config.mask.name:
        return f"the mask is {config.mask.name}"
    registered = catalog.methods([method.name])[method.name].params
    if kind in ("grid", "tuning_free") and name in method.params and registered.get(name) != method.params[name]:
        return f"method.params.{name} fixes the parameter"
    return ""
