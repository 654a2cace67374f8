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

    panel: str = ""  # Part of a figure or table in which the group is shown.
    dataset: tuple[str, ...] = ()  # Selectors ``name[param=value,...]``.
    mask: tuple[str, ...] = ("all_private",)  # Selectors ``name[param=value,...]``.
    method: tuple[str, ...] = ()  # Selectors ``name[param=value,...]``.
    epsilon: tuple[float, ...] = ()  # Privacy budgets.
    #: Budgets that a block computes together, including those of ``epsilon`` (default: ``epsilon``); they share
    #: splits, partitions and computations on public data.
    block_epsilon: tuple[float, ...] = ()
    x: str | None = None  # Horizontal axis: ``epsilon``, ``dataset.<param>``, ``mask.<param>`` or ``method.<param>``.
    values: tuple[Any, ...] = ()  # Swept values of a data set's or mask's parameter.
    #: Replaces the grids of the methods, for the parameters that they search.
    grid: dict[str, Any] = field(default_factory=dict)


@dataclass
class Experiment(Frozen):
    """One table or figure: data sets, masks, methods, budgets, replications, and how it is shown."""

    name: str = MISSING  # Folder and name of the YAML without its ending, such as ``own/first``.
    paper: str = ""  # The folder.
    #: {"table", "figure", "timing", "drawing", "alternatives", "single"}: ``table`` has a cell for each method and data
    #: set; ``figure`` shows curves over ``x``; ``timing`` measures seconds per fit; ``drawing`` is made by the
    #: paper's code, without scores; ``alternatives`` are compared with the numbers printed for other methods;
    #: ``single`` is the one cell of the command line.
    kind: str = "table"
    title: str = ""  # Shown above the table or figure.
    replications: int = 1  # Random splits (or draws) of every data set.
    #: Seconds for a cell (one method on one scenario at one budget, all replications); a block is stopped after this
    #: limit times its number of cells, and retried by the next run.
    work_limit: float = WORK_LIMIT
    #: ``METHOD on DATASET`` -> the reason why no machine runs these cells.
    left_out: dict[str, str] = field(default_factory=dict)
    on_request: bool = False  # Whether the experiment runs only if named in full, never by a pattern.
    sealed: bool = False  # Whether its sealed data sets may be read; each run must ask for this.
    #: {"rows", "bounds"}: Range by which features are scaled if a data set has no public rows: ``rows`` is the range of
    #: all rows, private and test rows included, as in the papers' tables; ``bounds`` are the manifest's public bounds.
    scaling: str = "rows"
    groups: tuple[Group, ...] = ()  # The cells that are run; needed unless ``kind`` is ``drawing``.
    notes: tuple[str, ...] = ()  # Shown below the table or figure.
    #: Options of a figure or of a table's further output: ``compared`` is the method whose rank is given for each kind
    #: of data set; ``data_sets`` maps each kind (such as ``held_out``) to its data sets; ``development_seed``.
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
