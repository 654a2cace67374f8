"""Fits that say what they cost: of somebody's own method on users who hold no record that it could read.

A sweep asks no user, although its scores are those that fits would have. Each block of a method of this library
therefore gets one fit a budget, on the first replication, whose users state what they have spent. A method of
somebody's own is scored by fits alone. All of them count: its users hold no record that it could read, and state what
they have spent after it has predicted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from sklearn.base import clone

from lpbench.errors import NotPublicError, PrivacyError
from lpbench.estimators.base import LocalEstimator, SweepResult
from lpbench.privacy import MODELS, Users
from lpbench.problem import Problem
from lpbench.seeds import Streams

#: What a method of somebody's own sees of its users, as in its audit; the last two are for the ledger.
_SEEN = frozenset(
    "n n_features y_range classes public groups units mask public_features shown ask sums chain release reveal note "
    "spent spent_by_user charged".split()
)


class GuardedUsers:
    """Users as somebody else's method gets them: it can ask them and read public facts, but reach no record."""

    def __init__(self, users: Any) -> None:
        self.__users = users

    def __getattr__(self, name: str) -> Any:
        if name in _SEEN:
            return getattr(self.__users, name)
        try:
            return Users.__getattr__(self, name)  # type: ignore[arg-type]
        except NotPublicError as error:  # no AttributeError, so that a default in getattr does not hide the attempt
            raise PrivacyError(str(error)) from None

    def __reduce__(self) -> NoReturn:
        raise PrivacyError("users cannot be pickled: a fitted model must keep reports only, not its users")

    def fresh(self) -> GuardedUsers:
        """The same users before anything was asked, which is what these state to have spent; for the harness alone."""
        self.__users = self.__users.fresh()
        return GuardedUsers(self.__users)

    def take(self, who: np.ndarray) -> GuardedUsers:
        """Return some of the users, guarded as well."""
        return GuardedUsers(self.__users.take(who))


Users.register(GuardedUsers)


@dataclass
class Spent:
    """Largest spending of users in a block's fits, by budget: epsilon, delta, privacy model, rows of a person.

    ``by_budget`` maps a requested budget to these.
    """

    by_budget: dict[float, list[float]] = field(default_factory=dict)

    def enter(self, budget: float, users: Any) -> None:
        """Record what a fit at a budget spent of its users, if it is more than an earlier fit did."""
        # a person has the budget for each of her rows
        account, rows = users.spent, 1 if users.units is None else np.bincount(users.units).max()
        one = [account.epsilon, account.delta, list(MODELS).index(account.model), int(rows)]
        self.by_budget[budget] = [max(pair) for pair in zip(one, self.by_budget.get(budget, one), strict=True)]

    @property
    def rows(self) -> list[list[Any]]:
        """Budget, epsilon, delta, model, rows of a person."""
        return [[b, e, d, list(MODELS)[int(m)], rows] for b, (e, d, m, rows) in self.by_budget.items()]


def own_sweep(kind: type) -> str:
    """Return the name of the member by which somebody's own class scores grids itself; empty where it only fits."""
    ours = {one for one in kind.__mro__ if getattr(sys.modules.get(one.__module__), one.__name__, None) is one}
    kinds = [one for one in kind.__mro__ if not (one in ours and one.__module__.startswith("lpbench."))]
    return next((name for name in ("learn_grid", "learn_grids") if any(name in vars(one) for one in kinds)), "")


def sweeps_by_fits(estimator: LocalEstimator) -> bool:
    """Return True where the scores of a grid are those of fits alone."""
    kind = type(estimator)
    return kind.learn_grid is LocalEstimator.learn_grid and kind.learn_grids is LocalEstimator.learn_grids


def sweep_by_fits(
    estimator: LocalEstimator,
    budgets: Sequence[float],
    points: Sequence[Mapping[str, Any]],
    problem: Problem,
    streams: Streams,
    spent: Spent,
) -> SweepResult:
    """Score budgets and grid points by fits on guarded users, as a sweep does, and enter what each has spent."""
    values = np.empty((len(budgets), len(points)))
    reasons: dict[tuple[int, int], tuple[str, str]] = {}
    for g, point in enumerate(points):
        model = clone(estimator).set_params(**point)
        task = model.task(problem, streams)
        for b, budget in enumerate(budgets):
            users: Any = GuardedUsers(task.users)
            fitted = model.refitted(replace(task, users=users), [budget], [point])
            values[b, g] = fitted.values[0, 0]
            if (0, 0) in fitted.reasons:
                reasons[b, g] = fitted.reasons[0, 0]
            spent.enter(budget, users)
    return SweepResult(values, reasons)


def spend_once(
    estimator: LocalEstimator,
    problem: Problem,
    budgets: Sequence[float],
    point: Mapping[str, Any],
    streams: Streams,
    spent: Spent,
) -> None:
    """Fit a method once a budget to find what users spend; references without privacy spend nothing."""
    if not estimator.uses_epsilon:
        return
    model = clone(estimator).set_params(**point)
    task = model.task(problem, streams)
    for budget in budgets:
        users = task.users.fresh()
        clone(model).set_params(random_state=task.streams, epsilon=budget).learn_from(users)
        spent.enter(budget, users)
