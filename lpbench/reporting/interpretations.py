"""Interpretations of unspecified settings, and bounds on published numbers.

:class:`Candidates` are interpretations of a paper, each run, of some published numbers; a :class:`Bound` is a
computation that holds under every interpretation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lpbench.experiments.results import Results

#: What an interpretation rests on.
SUPPORT = {
    "text": "the paper's text",
    "silent": "our choice where the text is silent",
    "code": "the authors' public code",
    "inferred": "a pattern in the printed numbers",
    "found": "found after the fact: its distance alone",
    "tried": "tried, no nearer",
    "refuted": "tried and refuted: farther off",
}


@dataclass(frozen=True)
class Step:
    """One interpretation of what a paper leaves open.

    Attributes
    ----------
    reading : str
        What differs from the step before it, or from the first one where it was tried.
    method : str
        Selector under which it was run; several, joined by "or": the best of them in each replication, as of one grid.
    support : {"text", "silent", "code", "inferred", "found", "tried", "refuted"}
        What it rests on, see :data:`SUPPORT`.
    experiment : str
        Where it was run; empty: in the artefacts themselves.
    panel : str
        Of that experiment.
    budget : float
        Published budget over the one that was run.
    """

    reading: str
    method: str
    support: str
    experiment: str = ""
    panel: str = ""
    budget: float = 1.0


@dataclass(frozen=True)
class Candidates:
    """Candidate interpretations behind some published numbers, the default first.

    Attributes
    ----------
    what : str
        The published numbers in words.
    artefacts : tuple of str
        Experiments that hold them.
    method, mask : str
        Published method; mask where the paper has several.
    tolerance : float
        Distance within which a number counts as met.
    relative : bool
        Whether it is relative to the published number, and ours the ratio to the non-private tree.
    steps : tuple of Step
    unexplained : str
        What no interpretation explains.
    """

    what: str
    artefacts: tuple[str, ...]
    method: str
    tolerance: float
    steps: tuple[Step, ...]
    mask: str = ""
    relative: bool = False
    unexplained: str = ""


@dataclass(frozen=True)
class Bound:
    """Printed numbers that our data rule out, and the computation that shows it.

    Attributes
    ----------
    where, why : str
    compute : callable
        Function(results) that returns the evidence as a sentence.
    cells : tuple of mappings
        Values of ``experiment``, ``data`` (set), ``base`` (method), ``epsilon`` by which the numbers are known.

    Raises
    ------
    NotRunError
        By ``compute``, where what it needs was not run.
    """

    where: str
    why: str
    compute: Callable[[Results], str]
    cells: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True)
class Total:
    """Share of some published numbers that is met, under one configuration for all of them.

    Attributes
    ----------
    what : str
    artefacts : tuple of str
    tolerance : float
    configurations : mapping of str to tuple of str
        Name -> variants that stand for a method where it was run in one of them; else its default does.
    relative : bool
        Whether the tolerance is relative to the published number.
    """

    what: str
    artefacts: tuple[str, ...]
    tolerance: float
    configurations: Mapping[str, tuple[str, ...]]
    relative: bool = False
