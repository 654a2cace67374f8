"""Interfaces of the black-box audit on one page: subject, reports, witness, decision.

:func:`lpbench.audit.black_box.audit` draws *reports* of two values of a *subject*. *Witnesses* cut the reports into
cells, of which an event is chosen on one half; *decisions* bound the loss by how often it occurs in the other. A new
kind of subject is one class with :meth:`Subject.draw`; a new tester is one class that names its paper.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np

from lpbench.audit.black_box.claims import PrivacyClaim
from lpbench.audit.black_box.reports import Columns, Encoder

#: Map of reports' features, shape (n, d), to the numbers of their cells, shape (n,).
Cells = Callable[[np.ndarray], np.ndarray]
#: Map of the numbers of some cells to a rule in words.
Describe = Callable[[np.ndarray], str]
#: Cells, and rules that describe unions of them.
Partition = tuple[Cells, Describe]
#: How often an event occurs under the value that makes it likelier, and under the other, in n reports of each; and n.
Counts = tuple[int, int, int]


class Subject(Protocol):
    """Code under audit, from which reports of each of some values can be drawn.

    Attributes
    ----------
    name : str
        As it is called in the verdict.
    values : list
        Two or more values that are compared: a user's inputs, or tables.
    unit : str
        What is drawn, for the verdict.
    size : float
        Reports of each value that there are; inf if as many as one asks for.
    """

    name: str
    values: list[Any]
    unit: str = "reports of each value"
    size: float = math.inf

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Indices of the values that the claim compares."""
        return list(combinations(range(len(self.values)), 2))

    @abstractmethod
    def draw(self, value: int, start: int, stop: int) -> Columns:
        """Return the reports number ``start`` to ``stop`` of the value of that index, independent of all others.

        Returns
        -------
        dict
            Columns of shape (stop - start,), the same names for all values.

        Raises
        ------
        DataError
            The code fails, or its reports have another form.
        """


class Witness(Protocol):
    """Tester that tells reports of two values apart."""

    paper: ClassVar[str]

    @abstractmethod
    def cut(self, first: np.ndarray, second: np.ndarray, encoder: Encoder) -> Partition | None:
        """Cut reports into cells, from their features, shape (m, d) of each value; None if it is not made for them."""


class Decision(Protocol):
    """Rule by which counts of an event bound the loss."""

    paper: ClassVar[str]

    @abstractmethod
    def bound(self, claim: PrivacyClaim, tested: Counts, pilot: Counts, failure: float) -> float:
        """Return a lower bound on the loss from an event; 0 if the rule has none for such a claim.

        Parameters
        ----------
        claim : PrivacyClaim
        tested : tuple of int
            Counts among reports that the event was not chosen on.
        pilot : tuple of int
            Counts among those that it was chosen on.
        failure : float
            Probability that the bound exceeds the loss.
        """
