"""Parts of patches: another budget of the label's noise, and a name of a module exchanged while a method runs."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any
from unittest.mock import patch

from lpbench.estimators.baselines.hist import GridCellQuestion
from lpbench.estimators.private_labels import LabelQuestion
from lpbench.privacy import Laplace


class WrongLabels:
    """Mixin of mutants whose label reports have noise of ``times`` the right scale (0: none), at the stated budget.

    It overrides the methods that ask for labels, of HistOfTree, of trees and of Hist.
    """

    times = 1.0

    def _label_question(self, budget: float) -> LabelQuestion:
        """Return HistOfTree's round-1 question at the label's ``budget`` with ``times`` the right noise."""
        question: LabelQuestion = super()._label_question(budget)  # type: ignore[misc]
        return replace(question, epsilon=_of_scale(budget, self.times))

    def _messages(self, users: Any) -> Any:
        """Return features (n, d) and labels (n,) of trees on privatized labels, asked with the wrong noise."""
        return super()._messages(Door(users, self.times))  # type: ignore[misc]

    def _questions(self, n_features: int) -> tuple[GridCellQuestion, GridCellQuestion]:
        """Return Hist's two questions, of which the label's has the wrong noise."""
        cells, labels = super()._questions(n_features)  # type: ignore[misc]
        assert isinstance(labels.mechanism, Laplace)
        return cells, replace(labels, mechanism=replace(labels.mechanism, scale=self.times * labels.mechanism.scale))


class Door:
    """Wrapper of users that changes the noise scale of questions about their labels, and passes on all others."""

    def __init__(self, users: Any, times: float) -> None:
        self._users, self._times = users, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._users, name)

    def ask(self, device: Any, question: Any, *who: Any) -> Any:
        """Ask the wrapped users; a question about labels gets another budget, and so another noise scale."""
        if isinstance(question, LabelQuestion):
            question = replace(question, epsilon=_of_scale(question.epsilon, self._times))
        return self._users.ask(device, question, *who)


def _of_scale(budget: float, times: float) -> float:
    """Budget at which Laplace noise has ``times`` the scale that it has at ``budget``; inf for 0 times."""
    return budget / times if times else math.inf


def exchanged(method: Callable[..., Any], wrong: Any, *places: str) -> Callable[..., Any]:
    """Wrap a method so that ``wrong`` replaces the objects at some dotted paths while it runs."""

    @wraps(method)
    def run(*args: Any, **named: Any) -> Any:
        if not places:
            return method(*args, **named)
        with patch(places[0], wrong):
            return exchanged(method, wrong, *places[1:])(*args, **named)

    return run
