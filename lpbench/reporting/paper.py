"""The Paper type, all that is known of one paper, and the registry of papers.

A paper is a package that exposes ``PAPER``: those of :mod:`lpbench.papers`, and ``papers/<name>/`` in a user's own
folders. Its name is the folder of its experiments. Reporting asks this registry and knows no paper by name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from lpbench.analysis.claims import Claim
from lpbench.errors import ConfigurationError
from lpbench.experiments.catalogue import import_object
from lpbench.paths import own_folders


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
class Page:
    """A page of its own for some experiments of a paper.

    Attributes
    ----------
    name : str
        Name of the file without its ending.
    title : str
    experiments : tuple of str
        Starts of the experiments' names, in the order in which the page shows them.
    notes : Path or None
        Markdown text shown above the experiments.
    """

    name: str
    title: str
    experiments: tuple[str, ...]
    notes: Path | None = None


@dataclass(frozen=True)
class Paper:
    """All that reporting needs to know of one paper.

    Attributes
    ----------
    name : str
        Folder of its experiments, and name of its page.
    title, short : str
        Heading of its page; name in links (default: the title).
    citation : str
        Authors, title, venue, year.
    letter : str
        Name in the column ``paper`` of claims and errata (default: the name).
    order : int
        Place among the papers, the smallest first.
    claims : tuple of Claim
    errata : tuple of Erratum
    repository : str
        Public repository of the released code, ``owner/name``.
    deviations : tuple of Deviation
        Where the released code departs from the paper.
    drawings : mapping
        Experiment -> function(experiment, folder, seed) that draws it and returns the files written.
    pages : tuple of Page
        Pages besides the paper's own.
    """

    name: str
    title: str
    short: str = ""
    citation: str = ""
    letter: str = ""
    order: int = 100
    claims: tuple[Claim, ...] = ()
    errata: tuple[Erratum, ...] = ()
    repository: str = ""
    deviations: tuple[Deviation, ...] = ()
    drawings: Mapping[str, Callable] = field(default_factory=dict)
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
    return _papers(tuple(own_folders()))


@cache
def _papers(folders: tuple[Path, ...]) -> tuple[Paper, ...]:
    ours = importlib.import_module("lpbench.papers")
    modules = [m.name for m in pkgutil.iter_modules(ours.__path__, "lpbench.papers.") if m.ispkg]
    for folder in folders:
        modules += [f"papers.{p.parent.name}" for p in sorted(folder.glob("papers/*/__init__.py"))]
    found: dict[str, Paper] = {}
    for module in modules:
        paper = import_object(f"{module}.PAPER")
        if not isinstance(paper, Paper) or paper.name != module.rpartition(".")[2]:
            raise ConfigurationError(f"{module}.PAPER must be a Paper whose name is that of its package")
        if paper.name in found:
            raise ConfigurationError(f"paper {paper.name!r} is defined twice (second time as {module})")
        found[paper.name] = paper
    return tuple(sorted(found.values(), key=lambda p: (p.order, p.name)))


def paper_of(experiment: str) -> Paper:
    """Return the paper of an experiment's name; one without any knowledge where none is registered."""
    name = experiment.partition("/")[0]
    return next((p for p in papers() if p.name == name), Paper(name, name))


def errata() -> list[dict[str, str]]:
    """Return the findings about all papers with their evidence: dictionaries of paper, where, what, computation."""
    return [
        {"paper": p.letter, "where": e.where, "what": e.what, "computation": e.compute()}
        for p in papers()
        for e in p.errata
    ]
