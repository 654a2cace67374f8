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
    """Mixin of methods that ask for a label: its noise is that of ``times`` the right scale."""

    times = 1.0

    def _label_question(self, budget: float) -> LabelQuestion:
        """Round 1 of HistOfTree."""
        question: LabelQuestion = super()._label_question(budget)  # type: ignore[misc]
        return replace(question, epsilon=_of_scale(budget, self.times))

    def _messages(self, users: Any) -> Any:
        """Messages of trees on privatized labels."""
        return super()._messages(Door(users, self.times))  # type: ignore[misc]

    def _questions(self, n_features: int) -> tuple[GridCellQuestion, GridCellQuestion]:
        """Questions of Hist, of which the second is about the label."""
        cells, labels = super()._questions(n_features)  # type: ignore[misc]
        assert isinstance(labels.mechanism, Laplace)
        return cells, replace(labels, mechanism=replace(labels.mechanism, scale=self.times * labels.mechanism.scale))


class Door:
    """Users who are asked for their labels with noise of another scale."""

    def __init__(self, users: Any, times: float) -> None:
        self._users, self._times = users, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._users, name)

    def ask(self, device: Any, question: Any, *who: Any) -> Any:
        """Ask, for labels with another budget."""
        if isinstance(question, LabelQuestion):
            question = replace(question, epsilon=_of_scale(question.epsilon, self._times))
        return self._users.ask(device, question, *who)


def _of_scale(budget: float, times: float) -> float:
    """Budget at which Laplace noise has ``times`` the scale."""
    return budget / times if times else math.inf


def exchanged(method: Callable[..., Any], wrong: Any, *places: str) -> Callable[..., Any]:
    """Return a method during which names of modules, in full, stand for something else."""

    @wraps(method)
    def run(*args: Any, **named: Any) -> Any:
        if not places:
            return method(*args, **named)
        with patch(places[0], wrong):
            return exchanged(method, wrong, *places[1:])(*args, **named)

    return run
