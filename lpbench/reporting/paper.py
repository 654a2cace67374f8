"""The Paper type, all that is known of one paper, and the registry of papers.

A paper is a package that exposes ``PAPER``: those of :mod:`lpbench.papers`, and ``papers/<name>/`` in a user's own
folders. ``PAPER.name`` is the folder of its experiments. Reporting asks this registry and knows no paper by name.
"""

import importlib
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from lpbench.analysis.claims import Claim
from lpbench.analysis.significance import RULE_WORDS
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method, import_object
from lpbench.experiments.results import Results
from lpbench.paths import own_folders
from lpbench.reporting.interpretations import Alternative, Bound, Interpretations, Tolerance
from lpbench.reporting.plain_table import PlainTable


@dataclass(frozen=True)
class Citation:
    """Title, authors, venue and link of a paper."""

    title: str
    authors: str
    venue: str
    link: str = ""  # its address


@dataclass(frozen=True)
class Erratum:
    """An error or contradiction in a paper, with the computation that shows it.

    ``where`` is its place, ``what`` the sentence, and ``compute()`` returns the evidence as text.
    """

    where: str  # table, section or equation
    what: str  # the finding
    #: Returns the evidence, computed when the report is written: from published numbers, manifests or formulas.
    compute: Callable[[], str]


@dataclass(frozen=True)
class Deviation:
    """A place where released code departs from its paper.

    ``fact`` says how, ``loss`` what it means for the privacy loss (empty: nothing), and ``known_bad`` names the audit's
    copy of the fault.
    """

    place: str  # file and lines in the public repository, or what the deviation concerns
    commit: str
    fact: str
    loss: str = ""  # what it means for the privacy loss; empty where it has no bearing on it
    known_bad: str = ""  # the mechanism of :mod:`lpbench.audit.known_bad` that rebuilds it, if any


@dataclass(frozen=True)
class Released:
    """Code that a paper's authors released: where it is, and how it departs from the paper."""

    repository: str  # ``owner/name``
    deviations: tuple[Deviation, ...] = ()  # where it departs from the paper


@dataclass(frozen=True)
class Cause:
    """A known cause of differences between reproduced and published numbers.

    ``text`` states it; it applies to cells whose experiment, data set, mask and method begin so, empty ones standing
    for any.
    """

    text: str
    experiment: str = ""  # start of the name of what it concerns, here and below; empty: all of them
    dataset: str = ""
    mask: str = ""
    method: str = ""

    def applies(self, row: Mapping[str, Any]) -> bool:
        """Return True if the cause covers a row: experiment, data set, mask and method begin as it states."""
        keys = ("experiment", "dataset", "mask", "method")
        return all(str(row[key]).startswith(getattr(self, key)) for key in keys)


@dataclass(frozen=True)
class Differences:
    """Causes that are known of differences between reproduced and published numbers."""

    causes: tuple[Cause, ...] = ()
    interpretations: tuple[Interpretations, ...] = ()  # of unspecified settings, the default first
    bounds: tuple[Bound, ...] = ()  # printed numbers that cannot be

    def causes_of(self, *cells: Mapping[str, Any]) -> list[str]:
        """Return the known causes of a difference that apply to at least one of the given cells."""
        return [cause.text for cause in self.causes if any(map(cause.applies, cells))]


@dataclass(frozen=True)
class Judging:
    """Configurations of a paper's experiments on which claims and numbers are judged, and the reason.

    ``words`` is the reason, ``exceptions`` maps the start of an experiment's name to a configuration that judges it in
    place of the first.
    """

    words: str = ""
    #: Start of an artifact's name -> a configuration that judges it in place of the first, named before any run.
    exceptions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableLayout:
    """Layout of a printed table: its rows, columns and budgets, in the paper's order.

    ``columns`` maps a mask ("": none) to methods, ``rows`` are (label, data set), ``value`` says what a cell is and
    ``style`` how it is printed.
    """

    columns: Mapping[str, Sequence[str]]  # mask (empty: the paper has one) -> methods in the order of the paper
    rows: tuple[tuple[str, str], ...]  # (label, data set) in the order of the paper
    epsilons: tuple[float, ...]  # a table each
    caption: str  # may hold ``{epsilon}``
    #: What a cell shows: the mean score, its ratio to the non-private tree's, or seconds as multiples of CT-W's.
    value: Literal["mean", "ratio", "seconds"] = "mean"
    style: Literal["general", "three_digits", "per_cent"] = "general"  # how numbers are printed: `print_number`


@dataclass(frozen=True)
class Page:
    """A page of its own for some experiments of a paper, or a section of a page.

    ``experiments`` are their names or beginnings of them, ``lead`` the paragraphs on top, ``file`` the page's name
    without ending (empty: that of the paper).
    """

    name: str  # anchor of the section
    title: str
    experiments: tuple[str, ...]  # starts of the experiments' names, in the order in which the page shows them
    lead: tuple[str, ...] = ()  # paragraphs shown above the experiments
    file: str = ""  # name of the page without its ending (default: the name)

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", self.file or self.name)


_NO_TOLERANCE = Tolerance(math.nan, relative=True)


@dataclass(frozen=True)
class Output:
    """Facts that a paper adds to one experiment: own tables and figures, printed rank sums, tolerance.

    ``write`` draws into a folder, ``read`` returns tables from it, ``counted`` replaces seconds of (data set, method)
    by a count.
    """

    #: Function(experiment, folder, seed) that writes them; the folder, in that of the results, holds the experiment's
    #: summary and scores.
    write: Callable[[Experiment, Path, int], object] | None = None
    #: Function(folder, rows, cards) that lays them out as tables of texts: what was written there, or the experiment's
    #: rows of the standings (None where they are not at hand).
    read: Callable[[Path, pd.DataFrame | None, Mapping[str, Method]], Sequence[PlainTable]] | None = None
    in_place: bool = False  # whether the standard tables and figures are left out
    rank_sums: Callable[[], pd.DataFrame] | None = None  # those that are printed
    #: When its published numbers are met; NaN where no tolerance is stated.
    tolerance: Tolerance = _NO_TOLERANCE
    #: Function(data set, method), of an experiment that measures seconds: counts what its claims are judged on.
    counted: Callable[[str, str], float] | None = None
    section: str = ""  # heading under which a page shows the experiment together with others


@dataclass(frozen=True, eq=False)
class Paper:
    """Paper whose results are reproduced: identity, claims, errata, interpretations and outputs.

    A package ``lpbench.papers.<name>`` defines one as ``PAPER``; reports ask it for all that is special to the paper.
    """

    name: str  # folder of its experiments, and name of its page
    title: str  # heading of its page
    short: str = ""  # name in links (default: the title)
    citation: Citation | None = None  # None: it is no publication
    letter: str = ""  # name in the column ``paper`` of claims and errata (default: the name)
    order: int = 100  # place among the papers, the smallest first
    claims: tuple[Claim, ...] = ()
    #: Name (text, code, inferred) -> variants that stand for a method wherever it was run in one of them. The text,
    #: which is the first, judges the claims; the others are shown beside it.
    configurations: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"text": ()})
    judging: Judging = field(default_factory=Judging)
    rests_on: tuple[str, ...] = ()  # experiments of other papers that its claims read
    errata: tuple[Erratum, ...] = ()
    released: Released | None = None
    #: Experiment -> its published cells: a CSV file or a function that returns a table, with columns among those
    #: of :data:`lpbench.reporting.published.PUBLISHED_COLUMNS`.
    published: Mapping[str, Path | Callable[[], pd.DataFrame]] = field(default_factory=dict)
    tables: Mapping[str, TableLayout] = field(default_factory=dict)  # experiment -> how the paper lays out its table
    rule: Literal["star", "bold"] = "star"  # which results the paper marks, see :mod:`lpbench.analysis.significance`
    methods: tuple[str, ...] = ()  # their order in tables that no paper lays out
    proposed: tuple[str, ...] = ()  # starts of the names of those that it proposes
    default_variant: str = "default"  # printed name of what a method without a named variant is
    differences: Differences = field(default_factory=Differences)  # from the published numbers
    #: Function(results) that lays out which settings were chosen, a finding that no claim states; counted apart.
    chosen: Callable[[Results], PlainTable | None] | None = None
    alternatives: tuple[Alternative, ...] = ()  # what else might stand in the place of its numbers
    #: Left out when published wins are counted: data sets whose printed numbers the bounds exclude, and methods
    #: that use no private row.
    uncounted: tuple[str, ...] = ()
    outputs: Mapping[str, Output] = field(default_factory=dict)  # experiment -> what the paper adds to it
    leaderboard: tuple[str, ...] = ()  # whose scores enter it: the first that has one counts, and the later paper
    pages: tuple[Page, ...] = ()  # pages besides the paper's own

    def __post_init__(self) -> None:
        object.__setattr__(self, "short", self.short or self.title)
        object.__setattr__(self, "letter", self.letter or self.name)

    def judge_of(self, artifact: str) -> str:
        """Configuration that judges what is said of an artifact, named by the last part of its experiment's name."""
        exceptions = (name for start, name in self.judging.exceptions.items() if artifact.startswith(start))
        return next(exceptions, next(iter(self.configurations)))

    @property
    def rivals(self) -> list[str]:
        """Names of the experiments that ran alternatives to the paper's numbers."""
        return list(dict.fromkeys(name for one in self.alternatives for name in one.experiments))

    def output_of(self, experiment: str) -> Output:
        """Return what the paper adds to an experiment, if anything."""
        return self.outputs.get(experiment, Output())

    def section_of(self, experiment: str) -> Page:
        """Return the section that shows an experiment: the paper's own page, or one of its further ones."""
        further = (page for page in self.pages if experiment.startswith(page.experiments))
        return next(further, Page(self.name, self.citation.title if self.citation else self.title, ("",)))


def papers() -> tuple[Paper, ...]:
    """Return the registered papers in their order, those of a user's own folders among them."""
    return tuple(_modules(tuple(own_folders())).values())


@cache
def _modules(folders: tuple[Path, ...]) -> dict[str, Paper]:
    """Module name to Paper, in order, for lpbench's papers and those in a user's ``folders`` (papers/*/__init__.py).

    ConfigurationError if a module's PAPER is none, is misnamed, or is defined twice.
    """
    ours = importlib.import_module("lpbench.papers")
    modules = [m.name for m in pkgutil.iter_modules(ours.__path__, "lpbench.papers.") if m.ispkg]
    modules += [f"papers.{p.parent.name}" for folder in folders for p in sorted(folder.glob("papers/*/__init__.py"))]
    papers: dict[str, Paper] = {}
    for module in modules:
        paper = import_object(f"{module}.PAPER")
        is_own = module.startswith("papers.")
        if not isinstance(paper, Paper) or (is_own and paper.name != module.rpartition(".")[2]):
            raise ConfigurationError(f"{module}.PAPER must be a Paper whose name is that of its package")
        if any(paper.name == listed.name for listed in papers.values()):
            raise ConfigurationError(f"paper {paper.name!r} is defined twice (second time as {module})")
        papers[module] = paper
    return dict(sorted(papers.items(), key=lambda item: (item[1].order, item[1].name)))


def paper_of(experiment: str) -> Paper:
    """Return the paper of an experiment's name; one without any knowledge where none is registered."""
    name = experiment.partition("/")[0]
    return next((p for p in papers() if p.name == name), None) or _unregistered(name)


@cache
def _unregistered(name: str) -> Paper:
    return Paper(name, name)


def mark_words(experiment: str, paper: Paper) -> str:
    """Return the meaning of the mark (star, bold) in an experiment's tables, by its paper's rule."""
    if experiment in catalog.own_names("experiment"):
        return RULE_WORDS[paper.rule]
    return "an entry that the paper's rule marks, with uncorrected tests"


def page_of(experiment: str) -> str:
    """Return the file name of an experiment's page, without its ending."""
    return paper_of(experiment).section_of(experiment).file


def trial_experiments() -> set[str]:
    """Names of experiments that only try interpretations of a paper's text."""
    return {s.experiment for paper in papers() for c in paper.differences.interpretations for s in c.steps} - {""}


def sources(experiment: str) -> tuple[str, ...]:
    """Modules whose code decides an experiment's tables and figures: reporting's, and the package of its paper."""
    name, in_paper, _ = experiment.partition("/")
    if not in_paper:  # a single cell is of no paper, and papers load matplotlib
        return ("lpbench.reporting.artifact",)
    packages = [module for module, paper in _modules(tuple(own_folders())).items() if paper.name == name]
    return ("lpbench.reporting.artifact", *packages)


def errata(about: Iterable[Paper]) -> list[dict[str, str]]:
    """Return the findings about papers with their evidence: dictionaries of paper, where, what, computation."""
    return [
        {"paper": p.letter, "where": e.where, "what": e.what, "computation": e.compute()}
        for p in about
        for e in p.errata
    ]
