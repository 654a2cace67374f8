"""Interpretations of unspecified settings, and bounds on published numbers.

:class:`Interpretations` are interpretations of a paper, each run, of some published numbers; a :class:`Bound` is a
computation that holds under every interpretation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lpbench.analysis.numbers import AFTER_THE_FACT
from lpbench.experiments.results import Results

#: What an interpretation rests on.
SUPPORT = {
    "text": "the paper's text",
    "silent": "our choice where the text is silent",
    "code": "the authors' public code",
    "inferred": "a pattern in the printed numbers",
    AFTER_THE_FACT: "found later by search: it has the smallest distance from the printed numbers",
    "tried": "tried: not nearer to the printed numbers",
    "refuted": "tried and refuted: farther from the printed numbers",
}


@dataclass(frozen=True)
class Step:
    """One interpretation of a passage that a paper leaves open, and the experiments that ran it.

    ``method`` is the selector that runs it, ``support`` what speaks for it ("text", "code", "tried" ...),
    ``experiment`` and ``panel`` where it was run (empty: the artifact itself), and ``budget`` the factor from its ε to
    the printed one.
    """

    interpretation: str  # what differs from the step before it, or from the first one where it was tried
    method: str  # selector under which it was run; several, joined by "or": the best of them in each replication
    support: str  # what it rests on, see :data:`SUPPORT`
    experiment: str = ""  # where it was run; empty: in the artifacts themselves
    panel: str = ""  # of that experiment
    budget: float = 1.0  # published budget over the one that was run
    mask: str = ""  # under which it was run, if not that of the numbers


@dataclass(frozen=True)
class Interpretations:
    """Candidate interpretations behind some published numbers, the default first.

    ``what`` names the numbers; they are those of ``method`` in ``artifacts`` under ``mask``. ``unexplained`` says what
    no candidate meets.
    """

    what: str  # the published numbers
    artifacts: tuple[str, ...]  # experiments that hold them
    method: str  # as published
    steps: tuple[Step, ...]
    mask: str = ""
    unexplained: str = ""  # what no interpretation explains


@dataclass(frozen=True)
class Bound:
    """Printed numbers that no method can reach on our data, with the computation that shows it.

    ``where`` and ``why`` are text, ``cells`` the keys of these numbers; with a ``standing`` they are classed as not
    comparable.
    """

    where: str
    why: str
    compute: Callable[[Results], str]  # the evidence as a sentence; NotRunError where what it needs was not run
    #: Values of columns of ``numbers.csv`` by which the numbers are known.
    cells: tuple[Mapping[str, object], ...] = ()
    #: Why the numbers cannot be compared: the paper contradicts itself, or our target is a guess. Empty where what
    #: rules them out lies outside the paper, which explains a difference and is no contradiction.
    standing: str = ""


@dataclass(frozen=True)
class Alternative:
    """Alternative to printed numbers, such as a mutant or a constant, and the experiments that ran it.

    ``methods`` maps the selector that judges to the one that was run in its place ("" to one for all), ``counted`` says
    what it counts against, ``budget`` is the printed ε over that of the run, and ``wrong`` marks a faulty method.
    """

    name: str
    counted: str  # what it counts against, see :mod:`lpbench.analysis.alternatives`
    #: Selector that judges -> selector that was run in its place; empty: of every one.
    methods: Mapping[str, str]
    experiments: tuple[str, ...]  # where it was run; empty: in the artifacts themselves
    budget: float = 1.0  # published budget over the one that was run
    artifacts: tuple[str, ...] = ()  # those whose numbers it stands beside; empty: all
    wrong: bool = False  # whether it is a wrong implementation, which may be put in our place

    def stands_for(self, artifact: str, selector: str) -> str:
        """Selector that is run in the place of another; empty where the alternative does not apply."""
        applies = artifact in (self.artifacts or (artifact,))
        return self.methods.get(selector, self.methods.get("", "")) if applies else ""


class Tolerance(NamedTuple):
    """Distance within which a published number counts as met: absolute, or ``relative`` to the number."""

    within: float
    relative: bool = False  # to the published number; ours is then a ratio to the non-private tree
