"""The Paper type, all that is known of one paper, and the registry of papers.

A paper is a package that exposes ``PAPER``: those of :mod:`lpbench.papers`, and ``papers/<name>/`` in a user's own
folders. ``PAPER.name`` is the folder of its experiments. Reporting asks this registry and knows no paper by name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from lpbench.analysis.claims import Claim
from lpbench.analysis.significance import RULE_WORDS
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment
from lpbench.paths import own_folders
from lpbench.reporting.interpretations import Bound, Candidates, Total
from lpbench.reporting.plain_table import PlainTable, RateGrid


@dataclass(frozen=True)
class Erratum:
    """An error or contradiction in a paper, with the computation that shows it.

    Attributes
    ----------
    where : str
        Table, section or equation.
    what : str
        The finding.
    compute : callable
        Returns the evidence, computed when the report is written: from published numbers, manifests or formulas.
    """

    where: str
    what: str
    compute: Callable[[], str]


@dataclass(frozen=True)
class Deviation:
    """A place where released code departs from its paper.

    Attributes
    ----------
    place : str
        File and lines in the public repository, or what the deviation concerns.
    commit : str
    fact : str
    loss : str
        What it means for the privacy loss; empty where it has no bearing on it.
    known_bad : str
        The mechanism of :mod:`lpbench.audit.known_bad` that rebuilds it, if any.
    """

    place: str
    commit: str
    fact: str
    loss: str = ""
    known_bad: str = ""


@dataclass(frozen=True)
class Cause:
    """A known cause of differences between reproduced and published numbers.

    Attributes
    ----------
    text : str
    experiment, dataset, mask, method : str
        Start of the name of what it concerns; empty: all of them.
    """

    text: str
    experiment: str = ""
    dataset: str = ""
    mask: str = ""
    method: str = ""

    def applies(self, row: Mapping[str, Any]) -> bool:
        """Whether it concerns a row of the comparison."""
        keys = ("experiment", "dataset", "mask", "method")
        return all(str(row[key]).startswith(getattr(self, key)) for key in keys)


@dataclass(frozen=True)
class TableLayout:
    """Rows and columns of a printed table.

    Attributes
    ----------
    columns : mapping of str to sequence of str
        Mask -> methods in the order of the paper; the mask is empty where the paper has one.
    rows : tuple of (label, data set)
        In the order of the paper.
    epsilons : tuple of float
        A table each.
    caption : str
        May hold ``{epsilon}``.
    value : {"mean", "ratio", "seconds"}
        What a cell shows: the mean score, its ratio to the non-private tree's, or seconds as multiples of CT-W's.
    style : {"general", "three_digits", "per_cent"}
        How numbers are printed, see :func:`lpbench.reporting.tables.grid.print_number`.
    """

    columns: Mapping[str, Sequence[str]]
    rows: tuple[tuple[str, str], ...]
    epsilons: tuple[float, ...]
    caption: str
    value: Literal["mean", "ratio", "seconds"] = "mean"
    style: Literal["general", "three_digits", "per_cent"] = "general"


@dataclass(frozen=True)
class Output:
    """Further tables and figures of an experiment.

    Attributes
    ----------
    write : callable
        Function(experiment, summary, cards, folder) that writes them; ``folder`` holds the experiment's summary and
        scores and lies in the folder of the results.
    replaces : bool
        Whether they take the place of the standard tables and figures.
    """

    write: Callable[..., object]
    replaces: bool = False


@dataclass(frozen=True)
class Page:
    """A page of its own for some experiments of a paper.

    Attributes
    ----------
    name : str
        Name of the file without its ending.
    title : str
    experiments : tuple of str
        Starts of the experiments' names, in the order in which the page shows them.
    lead : tuple of str
        Paragraphs shown above the experiments.
    """

    name: str
    title: str
    experiments: tuple[str, ...]
    lead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """All that reporting needs to know of one paper.

    Attributes
    ----------
    name : str
        Folder of its experiments, and name of its page.
    title, short : str
        Heading of its page; name in links (default: the title).
    full_title, authors, venue, link : str
        As the paper itself has them; ``link`` is its address.
    letter : str
        Name in the column ``paper`` of claims and errata (default: the name).
    order : int
        Place among the papers, the smallest first.
    claims : tuple of Claim
    configurations : mapping of str to tuple of str
        Name -> variants that stand for a method wherever it was run in one of them. The first judges the claims, the
        others are shown beside it.
    judge : str
        Why the first one judges.
    errata : tuple of Erratum
    repository : str
        Public repository of the released code, ``owner/name``.
    deviations : tuple of Deviation
        Where the released code departs from the paper.
    published : mapping of str to path or callable
        Experiment -> its published cells: a CSV file or a function that returns a table, with columns among those of
        :data:`lpbench.reporting.published.COLUMNS`.
    rank_sums : mapping of str to callable
        Experiment -> function that returns the printed rank sums, see
        :func:`lpbench.reporting.published.published_rank_sums`.
    tables : mapping of str to TableLayout
        Experiment -> how the paper lays out its table.
    rule : {"star", "bold"}
        Which results the paper marks, see :mod:`lpbench.analysis.significance`.
    methods, proposed : tuple of str
        Order of its methods in tables that no paper lays out; starts of the names of those that it proposes.
    default_variant : str
        Printed name of the variant that a method without a named variant is, in figures that show several.
    causes : tuple of Cause
        Known causes of differences from the published numbers.
    interpretations : tuple of Candidates
        Interpretations of unspecified settings, from the default to those that were only tried.
    bounds : tuple of Bound
        Printed numbers that cannot be.
    uncounted : tuple of str
        Left out when published wins are counted: data sets whose printed numbers the bounds exclude, and methods that
        use no private row.
    totals : tuple of Total
        Numbers met, under one configuration for all of them.
    drawings : mapping of str to callable
        Experiment -> function(experiment, folder, seed) that draws it and returns the files written.
    outputs : mapping of str to Output
        Experiment -> its further tables and figures. Here and in ``advice`` and ``choices`` a name ``settings.KEY``
        stands for all experiments that have the setting (:func:`asked`).
    text_tables : mapping of str to callable
        Experiment -> function(folder) that reads what was written there as a table of texts, or returns None; for
        experiments that are no tables of scores.
    advice : mapping of str to callable
        Experiment -> function(folder) that lays out what follows from it for a user, shown above its tables; None
        where nothing does.
    choices : mapping of str to callable
        Experiment -> function(folder) that lays the same out for the page "What should I use?": what is public, number
        of users, budget, method, loss, command; its legend heads the table.
    baselines : tuple of str
        Experiments that ran the feature-free baselines beside everything else.
    leaderboard : tuple of str
        Experiments whose scores enter the leaderboard; where several have a score, the first counts, and
        the later paper.
    grids : mapping of str to callable
        Experiment -> function(folder) that lays its result out as a :class:`lpbench.reporting.plain_table.RateGrid`, or
        returns None.
    pages : tuple of Page
        Pages besides the paper's own.
    """

    name: str
    title: str
    short: str = ""
    full_title: str = ""
    authors: str = ""
    venue: str = ""
    link: str = ""
    letter: str = ""
    order: int = 100
    claims: tuple[Claim, ...] = ()
    configurations: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"as registered": ()})
    judge: str = ""
    errata: tuple[Erratum, ...] = ()
    repository: str = ""
    deviations: tuple[Deviation, ...] = ()
    published: Mapping[str, Path | Callable[[], pd.DataFrame]] = field(default_factory=dict)
    rank_sums: Mapping[str, Callable[[], pd.DataFrame]] = field(default_factory=dict)
    tables: Mapping[str, TableLayout] = field(default_factory=dict)
    rule: Literal["star", "bold"] = "star"
    methods: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()
    default_variant: str = "default"
    causes: tuple[Cause, ...] = ()
    interpretations: tuple[Candidates, ...] = ()
    bounds: tuple[Bound, ...] = ()
    uncounted: tuple[str, ...] = ()
    totals: tuple[Total, ...] = ()
    drawings: Mapping[str, Callable[..., list[Path]]] = field(default_factory=dict)
    outputs: Mapping[str, Output] = field(default_factory=dict)
    text_tables: Mapping[str, Callable[[Path], PlainTable | None]] = field(default_factory=dict)
    advice: Mapping[str, Callable[[Path], PlainTable | None]] = field(default_factory=dict)
    choices: Mapping[str, Callable[[Path], PlainTable | None]] = field(default_factory=dict)
    baselines: tuple[str, ...] = ()
    leaderboard: tuple[str, ...] = ()
    grids: Mapping[str, Callable[[Path], RateGrid | None]] = field(default_factory=dict)
    pages: tuple[Page, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "short", self.short or self.title)
        object.__setattr__(self, "letter", self.letter or self.name)


def papers() -> tuple[Paper, ...]:
    """Return the registered papers in their order, those of a user's own folders among them.

    Raises
    ------
    ConfigurationError
        A package has no ``PAPER``, cannot be imported, or has the name of another paper.
    """
    return tuple(_modules(tuple(own_folders())).values())


@cache
def _modules(folders: tuple[Path, ...]) -> dict[str, Paper]:
    """Modules of the packages, with their papers in order."""
    found: dict[str, Paper] = {}
    for module in _packages(folders):
        paper = catalogue.import_object(f"{module}.PAPER")
        own = module.startswith("papers.")
        if not isinstance(paper, Paper) or (own and paper.name != module.rpartition(".")[2]):
            raise ConfigurationError(f"{module}.PAPER must be a Paper whose name is that of its package")
        if any(paper.name == known.name for known in found.values()):
            raise ConfigurationError(f"paper {paper.name!r} is defined twice (second time as {module})")
        found[module] = paper
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[1].name)))


def _packages(folders: Sequence[Path]) -> list[str]:
    """Modules of the packages, by their place alone."""
    ours = importlib.import_module("lpbench.papers")
    modules = [m.name for m in pkgutil.iter_modules(ours.__path__, "lpbench.papers.") if m.ispkg]
    own = (p.parent.name for folder in folders for p in sorted(folder.glob("papers/*/__init__.py")))
    return [*modules, *(f"papers.{name}" for name in own)]


def paper_of(experiment: str) -> Paper:
    """Return the paper of an experiment's name; one without any knowledge where none is registered."""
    name = experiment.partition("/")[0]
    return next((p for p in papers() if p.name == name), Paper(name, name))


def asked(what: str, experiment: Experiment) -> Any:
    """The entry for an experiment in one of the papers' mappings, None without one.

    It stands under the experiment's name, or in any paper's mapping under ``settings.KEY`` where the experiment has
    that setting.
    """
    own = getattr(paper_of(experiment.name), what).get(experiment.name)
    by_setting = (getattr(paper, what).get(f"settings.{key}") for paper in papers() for key in experiment.settings)
    return own or next(filter(None, by_setting), None)


def mark_words(experiment: str) -> str:
    """What a mark in an experiment's table means: its paper's rule, in words where no paper prints it."""
    if experiment in catalogue.own_experiment_names():
        return RULE_WORDS[paper_of(experiment).rule]
    return "marked by the paper's rule with raw tests"


def page_of(experiment: str) -> str:
    """Return the name of an experiment's page: its paper's, or one of the paper's further pages."""
    further = (page for paper in papers() for page in paper.pages)
    return next((p.name for p in further if experiment.startswith(p.experiments)), experiment.partition("/")[0])


def trial_experiments() -> set[str]:
    """Experiments that only tried interpretations of a paper's text."""
    return {s.experiment for paper in papers() for candidates in paper.interpretations for s in candidates.steps} - {""}


def sources(experiment: str) -> list[str]:
    """Modules whose code decides an experiment's tables and figures: reporting's, and the package of its paper."""
    name = experiment.partition("/")[0]
    own = [module for module, paper in _modules(tuple(own_folders())).items() if paper.name == name]
    return ["lpbench.reporting.artefact", "lpbench.reporting.drawings", *own]


def errata() -> list[dict[str, str]]:
    """Return the findings about all papers with their evidence: dictionaries of paper, where, what, computation."""
    return [
        {"paper": p.letter, "where": e.where, "what": e.what, "computation": e.compute()}
        for p in papers()
        for e in p.errata
    ]
