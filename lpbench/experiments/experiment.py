"""Experiments: one table or figure each, as groups of data sets, masks, methods and budgets."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from lpbench.experiments.frozen import MISSING, Frozen
from lpbench.members import Selector, member

#: Seconds that a cell may take, unless its experiment says otherwise.
WORK_LIMIT = 36_000.0


@dataclass
class Group(Frozen):
    """A product of data sets, masks, methods and swept values inside an experiment.

    ``x`` is the swept axis ("epsilon", "dataset.<param>" ...; None: a table), ``values`` its values, ``grid`` replaces
    parts of the methods' grids, and ``block_epsilon`` are the budgets computed, of which ``epsilon`` are shown.
    """

    panel: str = ""  # Part of the figure or table that shows the group.
    dataset: tuple[str, ...] = ()  # Data sets, each as a selector ``name[param=value,...]``.
    mask: tuple[str, ...] = ("all_private",)  # Masks, as selectors.
    method: tuple[str, ...] = ()  # Methods, as selectors.
    epsilon: tuple[float, ...] = ()  # Privacy budgets.
    #: Budgets that a block computes together: those of ``epsilon``, and further ones (default: none). All budgets of a
    #: block share splits, partitions and computations on public data.
    block_epsilon: tuple[float, ...] = ()
    x: str | None = None  # Horizontal axis: ``epsilon``, ``dataset.<param>``, ``mask.<param>`` or ``method.<param>``.
    values: tuple[Any, ...] = ()  # Values of the swept parameter, if ``x`` names one of a data set or mask.
    #: Parameter -> list of values, in place of the list in the methods' own grids.
    grid: dict[str, Any] = field(default_factory=dict)


@dataclass
class Experiment(Frozen):
    """One table or figure: data sets, masks, methods, budgets, replications, and how it is shown."""

    name: str = MISSING  # Folder and name of the YAML file, without ending, such as ``own/first``.
    paper: str = ""  # Folder of the YAML file.
    #: {"table", "figure", "timing", "drawing", "alternatives", "single"}: A ``table`` has a
    #: cell for each method and data set. A ``figure`` shows curves over ``x``. ``timing`` measures seconds per fit. A
    #: ``drawing`` has no scores; code in ``lpbench/papers/`` draws it. Scores of ``alternatives`` are compared with the
    #: numbers printed for other methods. ``single`` is the one cell of a command line.
    kind: str = "table"
    title: str = ""  # Title above the table or figure.
    replications: int = 1  # Number of random splits of each data set (synthetic: of draws).
    #: Time limit in seconds for a cell: one method, data set, mask and budget, all replications. A block that takes
    #: longer than the limits of its cells together is stopped, and the next run retries it.
    work_limit: float = WORK_LIMIT
    #: Cells that are not run because no machine can: ``METHOD on DATASET`` -> the reason.
    left_out: dict[str, str] = field(default_factory=dict)
    on_request: bool = False  # Whether the experiment runs only by its full name, never by a pattern.
    sealed: bool = False  # Whether sealed data sets may be read; ``--sealed`` sets this key, not the YAML.
    #: {"rows", "bounds"}: Range by which features are scaled if a data set has no public rows. ``rows`` is the range of
    #: all rows, with private and test rows, as in the papers' tables. ``bounds`` are the manifest's public bounds.
    scaling: str = "rows"
    groups: tuple[Group, ...] = ()  # Groups of cells to run; needed unless ``kind`` is ``drawing``.
    notes: tuple[str, ...] = ()  # Notes below the table or figure.
    #: Options of figures and tables of ranks. ``compared`` is the method that the others are compared with.
    #: ``data_sets`` maps each kind of data set (such as ``held_out``) to data sets. ``development_seed`` is the seed
    #: with which choices were made.
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the experiment that ``run.json`` holds; keys that experiments no longer have are passed over."""
        groups = tuple(Group(**group) for group in record.get("groups", ()))
        keys = {f.name for f in fields(cls)}
        return cls(**{key: value for key, value in record.items() if key in keys} | {"groups": groups})

    def data_set(self, selector: str) -> Selector:
        """A data set as the experiment draws it: with ``scaling`` and ``sealed``, unless the selector has them."""
        parsed = member(selector)
        params: dict[str, Any] = {} if self.scaling == "rows" else {"scaling": self.scaling}
        if self.sealed:
            from lpbench.datasets.manifest import load_manifest  # which brings numpy

            params |= {"sealed": True} if load_manifest(parsed.name).role == "sealed" else {}
        return Selector(parsed.name, {**params, **parsed.params}) if params else parsed

    @property
    def methods(self) -> list[str]:
        """Selectors of the methods, each once, in the order of the groups."""
        return list(dict.fromkeys(m for group in self.groups for m in group.method))


def deviations(run: Experiment, registered: Experiment) -> list[str]:
    """List what an experiment changes of the registered one, as ``key: registered → run``."""
    changed: list[str] = []
    for key in (f.name for f in fields(Experiment)):
        ours, theirs = getattr(run, key), getattr(registered, key)
        if ours == theirs or key == "sealed":  # which changes no number
            continue
        if key == "groups" and len(ours) == len(theirs):
            for position, (as_run, as_registered) in enumerate(zip(ours, theirs, strict=True)):
                changed += changes(asdict(as_run), asdict(as_registered), f"groups[{position}].")
        elif key == "settings":
            changed += changes(ours, theirs, "settings.")
        else:
            changed += changes({key: asdict(run)[key]}, {key: asdict(registered)[key]})
    return changed


def changes(run: Mapping[str, Any], registered: Mapping[str, Any], prefix: str = "") -> list[str]:
    """List the values that differ between two mappings, as ``key: registered → run``."""
    keys = dict.fromkeys([*registered, *run])
    return [
        f"{prefix}{key}: {_text(registered.get(key))} → {_text(run.get(key))}"
        for key in keys
        if _text(registered.get(key)) != _text(run.get(key))
    ]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace('"', "")


def labeled(experiment: Experiment, deviating: Sequence[str]) -> Experiment:
    """Return the experiment as reports show it: deviations from the registered one stand in title and first note."""
    if not deviating:
        return experiment
    short = [text if len(text) <= 40 else text.partition(":")[0] for text in deviating]
    title = f"{experiment.title} [deviates: {'; '.join(short)}]"
    note = f"Not the registered experiment: {'; '.join(deviating)}."
    return replace(experiment, title=title, notes=(note, *experiment.notes))
