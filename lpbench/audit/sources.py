"""Report source: a function whose result is what devices send, and the question that is behind a call of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.audit.drawn_laws import Law
from lpbench.seeds import Streams

#: What a question costs: a number, one for each asked user, or a function of the fitted estimator.
Cost = float | np.ndarray | Callable[[Any], float]


@dataclass(frozen=True, eq=False)
class Asked:
    """One call of a report source, as seen by everybody.

    Attributes
    ----------
    question : tuple
        What the curator broadcast; it may depend on public data and earlier reports alone.
    epsilon : Cost
        What answering costs each of the users.
    users : int ndarray, optional
        Who is asked, in this order; None: every user once.
    summed : int, optional
        Of how many users' reports the result is the sum.
    """

    question: tuple
    epsilon: Cost = 0.0
    users: np.ndarray | None = None
    summed: int | None = None


@dataclass(frozen=True)
class ReportSource:
    """A function whose results are what devices send.

    Attributes
    ----------
    path : str
        Where the estimator looks it up: ``module.function`` or ``module.Class.method``.
    ask : callable (result, **arguments) -> Asked
        The question behind a call.
    reconcile : callable (model, recorded, fresh) -> result, optional
        How to turn true values and noise into the recorded noisy values; None: the recorded result itself.
    step : str, optional
        Attribute that a method changes by the report, for recursions: what is recorded is the change.
    replayed : bool
        False: the call is compared and accounted for, but its own result is used.
    times : callable (fitted model) -> int, optional
        How often each user is asked here in one fit; None: the accountant does not count these calls.
    law : callable (result, **arguments) -> Law, optional
        What the result must be distributed like; see :mod:`lpbench.audit.drawn_laws` and ``drawn_sums``.
    fresh : callable (arguments, streams) -> dict, optional
        Arguments that give a repeated call other randomness; None: the call cannot be repeated.
    """

    path: str
    ask: Callable[..., Asked]
    reconcile: Callable | None = None
    step: str | None = None
    replayed: bool = True
    times: Callable[[Any], int] | None = lambda fitted: 1
    law: Callable[..., Law] | None = None
    fresh: Callable[[Mapping[str, Any], Streams], dict[str, Any]] | None = None


def source(path: str, ask: Callable[..., Asked], **options: Any) -> ReportSource:
    """A source in the package of estimators."""
    return ReportSource(f"lpbench.estimators.{path}", ask, **options)


#: Lists where an estimator's reports are made.
Sources = Callable[[Any], list[ReportSource]]
