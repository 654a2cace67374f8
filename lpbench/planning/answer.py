"""Error at each number of users and budget, least budget and fewest users for a wanted error, from a pilot sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lpbench.checks import check_number, check_whole
from lpbench.errors import ConfigurationError
from lpbench.planning.pilot import SPLITS, TEST_SHARE, Pilot, PilotRuns, Progress, make_pilot, run_pilot
from lpbench.planning.surface import Advantage, Surface
from lpbench.privacy import Guarantee
from lpbench.seeds import Streams

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lpbench.estimators.tuning_free.public_check import Agreement
    from lpbench.estimators.tuning_free.score_trust import SlopeAgreement

#: Budgets that are asked about by default, and those among which the least is looked for.
DEFAULT_BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
#: Numbers of users are refused beyond this multiple of the pilot's rows.
FARTHEST = 100
#: Rows on which the guarantee of a budget is read off.
_ROWS_OF_GUARANTEE = 500
#: Grid of the inverse: steps between the smallest and the largest budget, or number of users.
_GRID_STEPS = 121


@dataclass(frozen=True, eq=False)
class Need:
    """Errors under local privacy at any number of users and budget, estimated from a pilot sample by :func:`need`.

    ``users`` and ``budgets`` are those asked about, ``runs`` the pilot's errors, and ``guarantees`` what its fits
    spent. ``agreements`` diagnose the public sample from reports of the pilot's rows; empty without a public sample.
    """

    pilot: Pilot
    runs: PilotRuns  # everything else follows from them
    budgets: np.ndarray  # asked about
    users: np.ndarray  # numbers of users asked about
    guarantees: dict[float, Guarantee]  # by budget: spending and payload of a user, fitted to part of the pilot
    agreements: dict[float, Agreement | SlopeAgreement | None]  # by budget, from a fit to the whole pilot
    seed: int

    @cached_property
    def _surfaces(self) -> dict[str, Surface]:
        """Law of the errors by model, each fitted to the pilot runs when it is first asked for."""
        return {
            name: Surface(
                self.runs.users, self.runs.budgets, losses, TEST_SHARE, Streams(self.seed).child("surface", which=name)
            )
            for name, losses in self.runs.losses.items()
        }

    @cached_property
    def _advantage(self) -> Advantage:
        method, *others = (self.runs.losses[name] for name in ("method", *self._constants))
        streams = Streams(self.seed).child("surface", which="advantage")
        return Advantage(self.runs.users, self.runs.budgets, method, others, TEST_SHARE, streams)

    @property
    def _constants(self) -> list[str]:
        return [name for name in self.runs.losses if name != "method"]

    @cached_property
    def baseline(self) -> float:
        """Error of the best constant without privacy, to which ``0.8x`` refers."""
        return float(self.runs.losses["constant"][:, -1, -1].mean())

    @property
    def quantity(self) -> str:
        """Return the printed name of the error: mean squared error, or share of wrong classes."""
        return "mean squared error" if self.pilot.metric == "mse" else "share of wrong classes"

    def error(self, users: Any, epsilon: Any) -> np.ndarray:
        """Error and its 90 % interval: ndarray of shape (3, m) for m pairs of users and budget."""
        users, epsilon = np.broadcast_arrays(np.asarray(users), np.asarray(epsilon, dtype=float))
        _check_users(users, len(self.pilot.y))
        return self._surfaces["method"].at(users, epsilon)

    def constant(self, users: Any, epsilon: Any) -> np.ndarray:
        """Error of the better private constant, shape (m,), at m pairs of users and budget."""
        return np.asarray(np.min([self._surfaces[name].at(users, epsilon)[0] for name in self._constants], axis=0))

    def advantage(self, users: Any, epsilon: Any) -> np.ndarray:
        """Error over the better private constant's and its 90 % interval, (3, m), from the same splits for both."""
        return self._advantage.at(*np.broadcast_arrays(np.asarray(users), np.asarray(epsilon, dtype=float)))

    def table(self) -> pd.DataFrame:
        """Return one row for each number of users and budget.

        ``error`` has a 90 % interval from ``low`` to ``high``, ``better`` says whether the interval of
        :meth:`advantage` over the better private ``constant`` lies below one; ``bits`` are those that a user sends;
        ``extrapolated`` rows have more users than the pilot trained on.
        """
        import pandas as pd

        n, epsilon = (grid.ravel() for grid in np.meshgrid(self.users, self.budgets, indexing="ij"))
        error, low, high = self.error(n, epsilon)
        return pd.DataFrame(
            {
                "users": n,
                "epsilon": epsilon,
                "error": error,
                "low": low,
                "high": high,
                "constant": self.constant(n, epsilon),
                "without_privacy": self.error(n, np.inf)[0],
                "better": self.advantage(n, epsilon)[2] < 1.0,
                "bits": [self.guarantees[e].bits_up for e in epsilon],
                "extrapolated": n > self.runs.users[-1],
            }
        )

    def wanted(self, error: float | str) -> float:
        """Return a wanted error as a number: ``"0.8x"`` is 0.8 times that of the best constant without privacy."""
        value, multiple = wanted_error(error)
        return value * self.baseline if multiple else value

    def least_epsilon(self, *, error: float | str, users: Sequence[int] | None = None) -> pd.DataFrame:
        """Return the least budget that reaches an error (see :meth:`wanted`), at each number of users (default: all).

        It has a 90 % interval from ``low`` to ``high``, and is inf where no budget between the smallest and the largest
        one asked about reaches the error.
        """
        grid = np.geomspace(self.budgets.min(), self.budgets.max(), _GRID_STEPS)
        numbers = self.users if users is None else np.asarray(users)
        return self._least(error, "users", numbers, "epsilon", grid, lambda n: self.error(n, grid))

    def least_users(self, *, error: float | str) -> pd.DataFrame:
        """Return the fewest users that reach an error at each budget, as :meth:`least_epsilon` does."""
        grid = np.unique(np.geomspace(self.runs.users[0], FARTHEST * len(self.pilot.y), _GRID_STEPS).astype(int))
        return self._least(error, "epsilon", self.budgets, "users", grid, lambda e: self.error(grid, e))

    def least_useful(self) -> pd.DataFrame:
        """Return the least budget (or inf) that :meth:`table` calls better than a private constant, by ``users``."""
        import pandas as pd

        grid = np.geomspace(self.budgets.min(), self.budgets.max(), _GRID_STEPS)
        least = [_first(grid, self.advantage(n, grid)[2] < 1.0) for n in self.users]
        return pd.DataFrame({"users": self.users, "epsilon": least})

    def _least(
        self,
        error: float | str,
        given: str,
        values: np.ndarray,
        name: str,
        grid: np.ndarray,
        curves: Callable[[Any], np.ndarray],
    ) -> pd.DataFrame:
        """For each of ``values`` (in column ``given``) the first point of ``grid`` whose error is small enough.

        It stands in column ``name``, with the interval in ``low`` and ``high``. ``curves(value)`` are the central, low
        and high errors along the grid; inf where no point reaches ``error``.
        """
        import pandas as pd

        wanted, rows = self.wanted(error), []
        for value in values:
            central, low, high = (_first(grid, curve <= wanted) for curve in curves(value))
            rows.append({given: value, name: central, "low": low, "high": high})
        return pd.DataFrame(rows)

    def plot(self, path: Any = None) -> Figure:
        """Draw the error over the number of users, a line and a band for each budget; save it where a path is given."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.subplots()
        largest = max(self.users.max(), self.runs.users[-1])
        grid = np.unique(np.geomspace(self.runs.users[0], largest, 60).astype(int))
        for k, epsilon in enumerate(self.budgets):
            error, low, high = self.error(grid, epsilon)
            axes.plot(grid, error, color=f"C{k}", label=f"ε = {epsilon:g}")
            axes.fill_between(grid, low, high, color=f"C{k}", alpha=0.15, linewidth=0)
        axes.plot(grid, self.error(grid, np.inf)[0], color="black", label="without privacy")
        axes.axhline(self.baseline, color="gray", linestyle="--", label="best constant without privacy")
        axes.axvline(self.runs.users[-1], color="gray", linestyle=":")
        axes.set(xscale="log", yscale="log", xlabel="users (dotted: the pilot's)", ylabel=self.quantity)
        axes.legend(fontsize="small")
        if path is not None:
            figure.savefig(path)
        return figure


def wanted_error(error: float | str) -> tuple[float, bool]:
    """Parse a wanted error: the number, and True if it is a multiple of the constant's error (``"0.8x"``)."""
    multiple = isinstance(error, str) and error.endswith("x")
    try:
        return check_number("error", float(error[:-1] if multiple else error), above=0), multiple  # type: ignore[index]
    except ValueError as wrong:
        raise ConfigurationError(
            f"error={error!r} must be a number above 0, or a multiple of the constant's error such as '0.8x'"
        ) from wrong


def _first(grid: np.ndarray, reached: np.ndarray) -> float:
    return float(grid[np.argmax(reached)]) if reached.any() else float("inf")


def _check_users(users: np.ndarray, rows: int) -> None:
    if users.size and users.max() > FARTHEST * rows:
        raise ConfigurationError(
            f"users={int(users.max())} is more than {FARTHEST} times the pilot's {rows} rows, beyond which nothing is "
            "known of the error: ask about fewer users, or bring a larger pilot"
        )


def need(
    X: Any,
    y: Any,
    *,
    mask: Any = None,  # boolean, (d,) or (n, d), True = protected; None: every feature; the target always is
    budgets: Sequence[float] = DEFAULT_BUDGETS,  # values of epsilon
    users: Sequence[int] | None = None,  # None: the pilot's and 10 times as many
    y_range: tuple[float, float] | None = None,  # public range; None: the pilot's, which must then be public knowledge
    task: str | None = None,  # regression or classification; None: decided by the target's values
    target: str = "y",  # its name, for messages
    X_public: Any = None,  # (q, d), public rows with the pilot's features; None: no public sample
    y_public: Any = None,  # (q,)
    seed: int = 0,
    splits: int = SPLITS,
    progress: Progress | None = None,  # called with (done, steps) after each split
    each: Callable[[PilotRuns], object] = lambda _: None,  # called with the runs so far after each split
) -> Need:
    """Plan a private data collection from a pilot sample or a public sample like the population.

    The tuning-free method (:class:`~lpbench.estimators.ResidualGP`, of classes
    :class:`~lpbench.estimators.ResidualScore`) and the private constant are run at several sizes and budgets inside
    the pilot, and a law that falls with users and budget (:mod:`lpbench.planning.surface`) is fitted to their errors.
    The pilot is read in the clear: it must be public, or yours to read.

    The features ``X``, of shape (n, d) and complete, are scaled by their range in the pilot and the public sample. The
    method learns from a public sample; ``answer.agreements[epsilon]`` says how far users agree with it, and whether it
    is used.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lpbench.planning import need
    >>> X, y = load_diabetes(return_X_y=True)
    >>> answer = need(X, y, mask=[True] + [False] * 9, budgets=[1, 4], users=[1000], y_range=(0, 400), splits=4)
    >>> answer.table()[["users", "epsilon", "better"]].to_numpy().tolist()
    [[1000, 1.0, True], [1000, 4.0, True]]
    """
    pilot = make_pilot(X, y, mask, y_range, task, target, seed, X_public, y_public)
    epsilons = np.unique([check_number("budgets", float(e), above=0) for e in budgets])
    if epsilons.size == 0:
        raise ConfigurationError("budgets=[] is empty: ask about one or more values of epsilon")
    check_whole("splits", splits, least=2)
    n = len(pilot.y)
    numbers = np.unique([check_whole("users", k, least=1) for k in ([n, 10 * n] if users is None else users)])
    _check_users(numbers, n)
    inside = (
        epsilons
        if epsilons.size <= len(DEFAULT_BUDGETS)
        else np.geomspace(epsilons[0], epsilons[-1], len(DEFAULT_BUDGETS))
    )
    runs = run_pilot(pilot, [*inside, np.inf], seed, splits, progress, each)
    part = slice(0, _ROWS_OF_GUARANTEE)
    guarantees = {float(e): _fitted(pilot, float(e), part).guarantee_ for e in epsilons}
    agreements = {float(e): _fitted(pilot, float(e), slice(None)).agreement_ for e in epsilons if pilot.public}
    return Need(pilot, runs, epsilons, numbers, guarantees, agreements, seed)


def _fitted(pilot: Pilot, epsilon: float, rows: slice) -> Any:
    """Return the method at a budget, fitted to some rows of the pilot and the public sample."""
    model = pilot.models()["method"].set_params(epsilon=epsilon, random_state=0)
    mask = np.broadcast_to(pilot.mask, pilot.X.shape)[rows]
    return model.fit(pilot.X[rows], pilot.y[rows], mask=mask, **pilot.public)
