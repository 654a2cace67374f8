"""Pilot runs: test errors of the tuning-free method and the private constant at several sample sizes and budgets."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lpbench.checks import check_dense, check_range
from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators import PrivateConstant, PrivateMajority, PrivateMean, ResidualGP, ResidualScore
from lpbench.problem import Problem
from lpbench.seeds import Streams

#: Fewest rows of a pilot, and most that are run; of more a sample is drawn.
FEWEST_ROWS, MOST_ROWS = 200, 5000
#: Share of the rows that are held out, and shares of the others on which methods are trained.
TEST_SHARE, TRAIN_SHARES = 0.2, (1.0, 0.5, 0.25, 0.125)
#: Random splits, and the fewest from which an interrupted run answers.
SPLITS, FEWEST_SPLITS = 16, 4

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Pilot:
    """Checked pilot sample: features X (n, d) in [0, 1], labels or class codes y (n,), mask, public range, classes.

    ``y_range`` is None for classes, ``classes`` are empty for labels. ``public`` are the rows of a public sample as
    keywords of ``fit``: ``X_public`` (q, d) and ``y_public`` (q,), in the units of X and y; empty: there is none.
    """

    X: np.ndarray  # (n, d), in [0, 1]
    y: np.ndarray  # (n,), labels or class codes
    mask: np.ndarray  # boolean, (d,) or (n, d), True = protected
    y_range: tuple[float, float] | None  # of labels; None: classes
    classes: np.ndarray  # public; empty for labels
    public: dict[str, Any] = field(default_factory=dict)

    @property
    def metric(self) -> str:
        """Return the metric that follows from the labels: mse for numbers, accuracy for classes."""
        return "mse" if self.y_range is not None else "accuracy"

    def models(self) -> dict[str, Any]:
        """The tuning-free method and private constants, of which the better one counts."""
        if self.y_range is not None:
            kinds = {"method": ResidualGP, "constant": PrivateMean, "shrunk constant": PrivateConstant}
            return {name: kind(y_range=self.y_range) for name, kind in kinds.items()}
        classes = np.arange(self.classes.size)
        return {"method": ResidualScore(classes=classes), "constant": PrivateMajority(classes=classes)}


def make_pilot(
    X: Any, y: Any, mask: Any, y_range: Any, task: str | None, name: str, seed: int, X_public: Any, y_public: Any
) -> Pilot:
    """Check a pilot and a public sample, draw :data:`MOST_ROWS` of more rows of the pilot, and scale the features.

    The range of a feature is that of both samples.
    """
    X, y = np.asarray(check_dense(X), dtype=np.float64), np.asarray(y)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise DataError(f"X has shape {X.shape} and y shape {y.shape}; pass one row and one target value per user")
    shape = X.shape
    if len(y) < FEWEST_ROWS:
        raise DataError(
            f"the pilot has {len(y)} rows, from which no error can be extrapolated; {FEWEST_ROWS} rows are the least"
        )
    if (X_public is None) != (y_public is None):
        raise ConfigurationError("X_public and y_public must be given together")
    if X_public is not None:
        X_public, y_public = np.asarray(check_dense(X_public), dtype=np.float64), np.asarray(y_public)
        if X_public.shape != (*y_public.shape, shape[1]) or not y_public.size:
            raise DataError(
                f"X_public has shape {X_public.shape} and y_public shape {y_public.shape}; pass one row of "
                f"{shape[1]} features and one target value per public record"
            )
        X, y = np.concatenate([X, X_public]), np.concatenate([y, y_public])
    numeric = y.dtype.kind in "fiub"
    if not np.isfinite(X).all() or (numeric and not np.isfinite(y.astype(np.float64)).all()):
        where = "the features have" if not np.isfinite(X).all() else f"target {name!r} has"
        raise DataError(f"{where} missing or infinite values; drop these rows or fill them first")
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise DataError(f"target {name!r} has a single value; nothing is left to predict: choose another")
    if task is None:
        task = "regression" if y.dtype.kind == "f" or (numeric and classes.size > 10) else "classification"
    if task == "regression" and not numeric:
        raise DataError(f"target {name!r} is text; give numbers, or task='classification'")
    if task not in ("regression", "classification"):
        raise ConfigurationError(f"task={task!r} must be 'regression' or 'classification'")
    if task == "classification" and classes.size > len(y) // 20:
        raise DataError(f"target {name!r} has {classes.size} classes in {len(y)} rows; group them, or give numbers")
    mask = np.ones(shape[1], dtype=bool) if mask is None else np.asarray(mask)
    if mask.dtype != bool or mask.shape not in (shape, shape[1:]):
        raise DataError(f"mask has shape {mask.shape} and type {mask.dtype}; pass a boolean a feature, or X's shape")
    lo, hi = X.min(axis=0), X.max(axis=0)
    X = (X - lo) / np.where(hi > lo, hi - lo, 1.0)
    rows = np.arange(shape[0])
    if rows.size > MOST_ROWS:
        rows = np.sort(Streams(seed).generator("pilot rows").permutation(rows.size)[:MOST_ROWS])
    mask = mask[rows] if mask.ndim == 2 else mask

    def public(labels: np.ndarray) -> dict[str, Any]:
        return {} if X_public is None else {"X_public": X[shape[0] :], "y_public": labels[shape[0] :]}

    if task == "classification":
        return Pilot(X[rows], codes[rows], mask, None, classes, public(codes))
    y = y.astype(np.float64)
    ends = (float(y.min()), float(y.max())) if y_range is None else check_range("y_range", y_range)
    if y.min() < ends[0] or y.max() > ends[1]:
        raise DataError(
            f"target {name!r} has values outside its public range ({ends[0]:g}, {ends[1]:g}); declare a wider one, "
            "or clip the column first"
        )
    return Pilot(X[rows], y[rows], mask, ends, np.empty(0), public(y))


@dataclass(frozen=True, eq=False)
class PilotRuns:
    """Test errors of pilot runs: ``losses`` maps a model to an array (splits, numbers of users, budgets)."""

    users: np.ndarray  # (a,), numbers of training users
    budgets: np.ndarray  # (b,), the last is inf: no privacy
    #: By name of :meth:`Pilot.models`, (splits, a, b): squared errors, or shares of wrong classes.
    losses: dict[str, np.ndarray]


def run_pilot(
    pilot: Pilot,
    budgets: Sequence[float],
    seed: int,
    splits: int,
    progress: Progress | None,
    each: Callable[[PilotRuns], object] = lambda _: None,
) -> PilotRuns:
    """Run both methods at all sizes and budgets; an interrupt leaves the splits finished, if enough.

    ``each`` is called after each split with the runs so far.
    """
    n = len(pilot.y)
    held_out = round(TEST_SHARE * n)
    sizes = np.array(sorted({math.ceil(share * (n - held_out)) for share in TRAIN_SHARES}))
    finished: list[dict[str, np.ndarray]] = []
    try:
        for split in range(splits):
            streams = Streams(seed).child("need", split=split)
            order = streams.generator("split").permutation(n)
            by_size = [_scores(pilot, order[held_out:][:size], order[:held_out], budgets, streams) for size in sizes]
            finished.append({name: np.array([scores[name] for scores in by_size]) for name in by_size[0]})
            each(_runs(sizes, budgets, finished))
            if progress is not None:
                progress(split + 1, splits)
    except KeyboardInterrupt:
        if len(finished) < FEWEST_SPLITS:
            raise
    return _runs(sizes, budgets, finished)


def _runs(sizes: np.ndarray, budgets: Sequence[float], finished: Sequence[dict[str, np.ndarray]]) -> PilotRuns:
    losses = {name: np.array([split[name] for split in finished]) for name in finished[0]}
    return PilotRuns(sizes, np.asarray(budgets), losses)


def _scores(
    pilot: Pilot, train: np.ndarray, test: np.ndarray, budgets: Sequence[float], streams: Streams
) -> dict[str, np.ndarray]:
    """Losses of each model at every budget, (budgets,), on the same users with the same randomness.

    ``train`` and ``test`` are indices of the pilot's rows. A loss is the mean squared error or 1 - accuracy.
    """
    mask = np.broadcast_to(pilot.mask, pilot.X.shape)[train]
    problem = Problem(
        pilot.X[train],
        pilot.y[train],
        pilot.X[test],
        pilot.y[test],
        mask,
        y_range=pilot.y_range,
        metric=pilot.metric,
        classes=np.arange(pilot.classes.size) if pilot.y_range is None else None,
        **pilot.public,
    )
    losses = {}
    for name, model in pilot.models().items():
        values = model.sweep(problem, budgets, {}, streams.child(name)).values[:, 0]
        losses[name] = values if pilot.y_range is not None else 1.0 - values
    return losses
