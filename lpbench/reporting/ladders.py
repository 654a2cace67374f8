"""Interpretations of unspecified settings, and bounds on published numbers.

A :class:`Ladder` follows some published numbers from the default through the readings; a :class:`Bound` is a
computation that no reading can get around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lpbench.experiments.results import Results

#: What a reading rests on.
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
    """One reading of what a paper leaves open.

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
class Ladder:
    """Readings of some published numbers, the default first.

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
        What no reading explains.
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
    """Printed numbers that cannot be, and the computation that shows it.

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
