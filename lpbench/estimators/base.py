"""Base classes of the estimators: input checks, public bounds, random streams and the default sweep."""

import itertools
import re
import secrets
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from numbers import Real
from pickle import PicklingError
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.exceptions import DTypePromotionError
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lpbench.checks import check_dense, check_domain, check_range
from lpbench.errors import ClippingWarning, ConfigurationError, DataError, NoMaskWarning, PrivacyLeakWarning
from lpbench.ledger import accounted, unaccounted
from lpbench.masks import as_groups, as_mask
from lpbench.privacy import Liars, PoisonedUsers, PublicSample, Records, SimulatedUsers, Users
from lpbench.privacy.mechanism import check_epsilon as check_epsilon
from lpbench.privacy.poisoned import farthest
from lpbench.privacy.users import Simulation, content_hash
from lpbench.problem import BY_PROBABILITY, Problem
from lpbench.seeds import Seed, Streams

#: Parameters that decide how records are sealed: grid points that differ in them meet users of their own.
SEALED = ("domain", "y_range", "classes")

#: Members that score a grid in one pass, in place of the loop of fits that it equals.
SHORTCUTS = ("learn_grids", "learn_grid", "_scores", "_sweeps", "_swept")

#: Mask or public sample, which ``fit`` may be called without.
Rows = np.ndarray | None


@dataclass
class SweepResult:
    """Scores of a whole grid on one problem.

    Attributes
    ----------
    values : ndarray of shape (n_budgets, n_points)
        Test score of each budget and grid point; NaN where the point was not run.
    reasons : dict
        ``(budget index, point index) -> (status, reason)`` for the points that were not run, status being
        ``"skipped"`` or ``"timeout"``.
    """

    values: np.ndarray
    reasons: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)


Grid = Mapping[str, Sequence] | Sequence[Mapping]


def expand_grid(grid: Grid) -> list[dict]:
    """Points of a grid in the fixed order used everywhere; a sequence of points is returned as it is."""
    if not isinstance(grid, Mapping):
        return [dict(point) for point in grid] or [{}]
    names = sorted(grid)
    if empty := [name for name in names if len(grid[name]) == 0]:
        raise ConfigurationError(f"grid: parameter {empty[0]!r} has no value; list one or leave it out")
    return [dict(zip(names, point, strict=True)) for point in itertools.product(*(grid[name] for name in names))]


@cache
def _warn_no_mask(name: str) -> None:
    """Warn that a fit was given no mask, once a process: a grid search would repeat it at every fit."""
    warnings.warn(
        f"mask=None: {name} takes every feature as protected; name the protected columns, mask=['age', 'income'], to "
        "let it use the others",
        NoMaskWarning,
        stacklevel=3,
    )


@dataclass(frozen=True, eq=False)
class Task:
    """Replication as a method meets it: users, who alone hold their records, and test rows with sealed labels.

    Parameters
    ----------
    users : SimulatedUsers
        Users of the training sample, before anything was asked.
    X_test : ndarray of shape (m, d)
        Test rows, complete.
    streams : Streams
        The curator's randomness; a method that learns from the users takes it as ``random_state``.
    score : callable
        Scores predictions (..., m) of the test rows, see :meth:`lpbench.problem.Problem.score`.
    counts : callable
        ``counts(cells, n_cells)``: test rows of each class in each cell, ndarray of shape (n_classes, n_cells). Cell -1
        leaves a row out, and so does a class that is not in the public list.
    metric : str
        Metric of the problem, such as "mse" or "accuracy".
    simulate : Simulation
        ``simulate(device, family)``: users' answers to each of a family of questions, outside of accounts.
    parts : int
        Number of groups of users who are learned from apart.
    """

    users: SimulatedUsers
    X_test: np.ndarray
    streams: Streams
    score: Callable[[np.ndarray], np.ndarray]
    counts: Callable[[np.ndarray, int], np.ndarray]
    metric: str
    simulate: Simulation
    parts: int = 1  # groups of users who are learned from apart


def _test_counts(y_test: np.ndarray, classes: np.ndarray | None, cells: np.ndarray, n_cells: int) -> np.ndarray:
    """Count the test rows of each class in each cell, as accuracy of a piecewise constant prediction needs.

    ``y_test`` (m,) are labels, ``cells`` (m,) numbers of cells (-1: row left out). Returned is an int array (classes,
    n_cells), classes in sorted order; labels outside ``classes`` (None: those of ``y_test``) are not counted.
    """
    listed = np.unique(y_test) if classes is None else classes
    codes = np.minimum(np.searchsorted(listed, y_test), listed.size - 1)
    counted = (listed[codes] == y_test) & (cells >= 0)
    flat = np.bincount(codes[counted] * n_cells + cells[counted], minlength=listed.size * n_cells)
    return flat.reshape(listed.size, n_cells)


class LocalEstimator(BaseEstimator):
    """Base of all estimators of the library.

    A method implements ``learn(users)`` and ``predict``. ``fit`` is scikit-learn's way in: it checks the arrays and
    seals them in :class:`~lpbench.privacy.SimulatedUsers`. ``guarantee_`` is what the users have spent. A method that
    can score a whole grid in one pass overrides ``learn_grid``.

    Subclasses are dataclasses of their parameters (``@dataclass(eq=False, repr=False)``), derive every draw of the
    curator from ``self._streams()`` with a purpose name, and have their devices draw *unit-scale* noise which budgets
    scale, so that equal keys give common random numbers across budgets and grid points and ``sweep`` equals the loop of
    ``learn_from`` on the same streams (up to the order of floating-point sums). Two ``fit`` share no noise, unless
    parameters, data and seed are the same.
    """

    #: Whether the result depends on which features are public. If False the harness computes the method once for all
    #: masks and keeps the mask out of its random streams.
    uses_mask = False
    #: Whether the result depends on the budget at all (False: non-private references).
    uses_epsilon = True
    #: Whether a public sample is read.
    uses_public = False
    #: Whether a setting is known to spend more than ``epsilon``, for comparison; a note of the guarantee says so.
    exceeds_budget = False
    #: What the method's users protect: "mask" (the features that the mask names), "label" (every feature is public,
    #: whatever the mask), or the whole "record".
    protects = "mask"
    #: Parameters of a later version, with the value at which fits draw what they drew without them.
    added: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    #: Whether the label has a range; otherwise ``y_range`` is not read, nor taken from labels.
    bounded = True
    #: Whether features outside the domain are clipped to it.
    _clips = True
    #: Why scores may differ between processors, by rounding alone; empty: the same bits are promised.
    rounding = ""

    random_state: Seed | Streams  # within ``learn`` the curator's

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()  # from a signature, which takes long to read
        return names

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        mask: Any = None,
        X_public: Rows = None,
        y_public: Rows = None,
        groups: Any = None,
        units: Any = None,
    ) -> Self:
        """Simulate the users of a sample and learn from them.

        The users' randomness derives from ``random_state``, parameters and all data: what two fits on other labels or
        at other budgets shared could be subtracted. The curator's derives from ``random_state`` alone, and tells
        nothing of the data. The same fit again has the same result; parameters that cannot be compared, such as a
        function without a name, draw anew each time.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, complete; entries that ``mask`` protects are read by the users' devices only.
        y : array-like of shape (n,)
            Labels within ``y_range``, or classes. Always protected.
        mask : array-like, DataFrame or callable, optional
            True = protected, shape (n, d); or names or numbers of the columns that everybody protects, a boolean row
            for all users, a DataFrame, or a function of X (:func:`lpbench.masks.as_mask`). None: every feature is
            protected, with a warning where public features would be used. The mask itself is public.
        X_public : array-like of shape (q, d), optional
        y_public : array-like of shape (q,), optional
            Public labeled rows, for methods that use them.
        groups : list of lists, optional
            Names or numbers of the columns that are the levels of one feature (one-hot), for each such feature; a
            column alone in a list has two values. Public.
        units : array-like of shape (n,), optional
            Whose each row is, where one person has several: a label or number. Public. ``guarantee_`` is then what a
            person has spent, who answers once a row.
        """
        if mask is None and self.uses_mask and self.protects == "mask":
            _warn_no_mask(type(self).__name__)
        given = self.random_state
        records, public_facts = sealed(self, X, y, mask, X_public, y_public)
        columns = None if groups is None else as_groups(groups, X)
        whose = None if units is None else np.asarray(units)
        data = records.X, records.y, records.mask, public_facts["public"], columns, whose
        streams = self._streams()
        users = SimulatedUsers(records, _root_of_users(self, streams, data), **public_facts)
        users.tell(columns, units)
        try:
            self.random_state = streams.party("curator")
            with accounted(self, users, X, y, units):
                return self.learn_from(users)
        finally:
            self.random_state = given

    @property
    def fit_epsilon(self) -> float:
        """Epsilon that one fit may spend of a user: the parameter ``epsilon``, unless a subclass says otherwise."""
        return float(self.epsilon)  # type: ignore[attr-defined]  # a parameter of every method that has one

    @abstractmethod
    def learn(self, users: Users) -> Self:
        """Learn from users: ask them, and keep what the curator makes of the answers."""
        raise NotImplementedError(f"{type(self).__name__}.learn")

    def learn_from(self, users: Users) -> Self:
        """Learn from users, who keep the account: ``guarantee_`` is what they have spent."""
        with accounted(self, users):
            self._meet(users)
            self.learn(users)
        self.guarantee_ = users.spent
        return self

    def learn_problem(self, problem: Problem, streams: Streams) -> Self:
        """Learn from a problem's users on the streams of a sweep, which take the place of ``random_state``."""
        task, given = self.task(problem, streams), self.random_state
        try:
            self.random_state = task.streams
            return self.learn_from(task.users)
        finally:
            self.random_state = given

    def _meet(self, users: Users) -> None:
        """Note the users' number of features as ``n_features_in_``, before anything is asked; subclasses note more."""
        self.n_features_in_ = users.n_features

    def _streams(self) -> Streams:
        return Streams.from_random_state(self.random_state)

    def _to_unit_cube(self, X: np.ndarray) -> np.ndarray:
        """Map rows X (m, d) to [0, 1]^d by the public ``domain``, as ``fit`` maps the users' features."""
        return in_unit_cube(X, self.domain, self._clips)

    def _check_predict(self, X: np.ndarray) -> np.ndarray:
        check_is_fitted(self)
        return self._to_unit_cube(validated(self, X, reset=False, dtype=np.float64))

    def resolve_grid(self, grid: Mapping[str, Sequence], problem: Problem) -> dict:
        """Replace entries such as ``"all"`` (default: none); the number of points depends on no replication."""
        return dict(grid)

    def replications_per_batch(self, problem: Problem) -> int:
        """Return the number of replications that :meth:`sweep_many` gets at once; 1, the default: one by one."""
        return 1

    def task(self, problem: Problem, streams: Streams) -> Task:
        """Seal a replication: its users behind their interface, its test labels behind the score."""
        model = _told(copy(self), problem)  # a clone takes as long as sealing a small sample
        records, public_facts = sealed(
            model, problem.X_train, problem.y_train, problem.mask, problem.X_public, problem.y_public
        )
        root = streams.party("users")
        users = SimulatedUsers(records, root, **public_facts)
        users.tell(None if problem.groups is None else as_groups(problem.groups, problem.X_train), problem.units)
        liars = problem.context.get("liars")
        if liars:
            users = _poisoned(model, users, problem, liars, root.child("who lies"))
            records = users.records
        simulate = Simulation(records, root)
        X_test = np.asarray(problem.X_test, dtype=np.float64)
        counts = partial(_test_counts, np.asarray(problem.y_test), users.classes)
        parts = liars.parts if liars else 1
        return Task(users, X_test, streams.party("curator"), problem.score, counts, problem.metric, simulate, parts)

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score every budget and grid point (in the order of :func:`expand_grid`).

        Equals the loop of :meth:`learn_problem` on the same streams, whose randomness fits do not share.

        ``streams`` take the place of ``random_state``.
        """
        return self.sweep_many([problem], budgets, grid, [streams])[0]

    def sweep_many(
        self, problems: Sequence[Problem], budgets: Sequence[float], grid: Grid, streams: Sequence[Streams]
    ) -> list[SweepResult]:
        """Score a grid on several replications of one scenario.

        The method's shortcut (``learn_grid``) is used where it is exact. The loop of single fits is used for a metric
        of probabilities, for users who send false reports, and for a class that overrides ``learn`` below the class
        whose shortcut it inherits: its fits may ask what the shortcut does not know.
        """
        parts, members = [], []
        for parameters, numbers, points in _sealed_alike(grid):
            model = clone(self).set_params(**parameters) if parameters else self
            parts.append((model, [model.task(*pair) for pair in zip(problems, streams, strict=True)], points))
            members.append(numbers)
        with unaccounted():
            liars = problems[0].context.get("liars")  # whose reports no shortcut of a sweep knows
            by_reports = liars and not liars.by_records
            if problems[0].metric in BY_PROBABILITY or by_reports or not self._has_shortcut():
                scored = [[model.refitted(task, budgets, points) for task in tasks] for model, tasks, points in parts]
            else:
                scored = self.learn_grids(parts, budgets)
        return scored[0] if len(scored) == 1 else [_joined(results, members) for results in zip(*scored, strict=True)]

    @classmethod
    def _has_shortcut(cls) -> bool:
        """Return True if a method of ``SHORTCUTS`` is overridden in the class that defines ``learn``, or below it."""
        by_class = next(vars(kind).keys() for kind in cls.__mro__ if {"learn", *SHORTCUTS} & vars(kind).keys())
        return not by_class.isdisjoint(SHORTCUTS)

    def learn_grids(
        self, sealed: Sequence[tuple[Self, Sequence[Task], Grid]], budgets: Sequence[float]
    ) -> list[list[SweepResult]]:
        """Score grids, each with a model and tasks of its own; to be overridden where they share work."""
        return [model.learn_grid(tasks, budgets, grid) for model, tasks, grid in sealed]

    def learn_grid(self, tasks: Sequence[Task], budgets: Sequence[float], grid: Grid) -> list[SweepResult]:
        """Score the whole grid on several replications; by default one after the other."""
        points = expand_grid(grid)
        scores = [self._scores(task, budgets, points) for task in tasks]
        return [SweepResult(values) if isinstance(values, np.ndarray) else values for values in scores]

    def _scores(self, task: Task, budgets: Sequence[float], points: Sequence[dict]) -> np.ndarray | SweepResult:
        """Scores of budgets and grid points on one replication; overridden where points or budgets share work.

        Points are dictionaries of parameters. Returned is an array (n_budgets, n_points), or a SweepResult that also
        has the reasons of points that were not run. Here each is a fit of its own.
        """
        return self.refitted(task, budgets, points)

    def refitted(self, task: Task, budgets: Sequence[float], grid: Grid) -> SweepResult:
        """Score every budget and point by a fit on the users' same randomness: the loop that sweeps must equal."""
        points = expand_grid(grid)
        values, reasons = np.full((len(budgets), len(points)), np.nan), {}
        for b, epsilon in enumerate(budgets):
            if b > 0 and not self.uses_epsilon:
                values[b] = values[0]
                continue
            budget = {"epsilon": epsilon} if self.uses_epsilon else {}
            for g, point in enumerate(points):
                users, step = task.users.fresh(), task.parts
                groups = [users] if step == 1 else [users.take(np.arange(k, users.n, step)) for k in range(step)]
                first, *others = (self._predicted(task, group, point | budget) for group in groups)
                # of two classes the median is the more frequent one
                median = np.median([first, *others], axis=0).astype(first.dtype) if others else first
                values[b, g] = task.score(median)
                if missing := np.sum(median != median):  # NaN alone is not equal to itself
                    rows = f"{missing} of {len(median)} rows"
                    reasons[b, g] = "failed", f"predict returned NaN in {rows}: a method answers for every row"
        return SweepResult(values, reasons)

    def _predicted(self, task: Task, users: Users, params: Mapping[str, Any]) -> np.ndarray:
        """Predictions (m,) for the test rows by one fit on ``users`` with parameters ``params`` and the task's streams.

        Where the metric needs probabilities they are those of class 1 (binary).
        """
        model = clone(self).set_params(random_state=task.streams, **params)
        model.learn_from(users)
        return model.predict_proba(task.X_test)[:, 1] if task.metric in BY_PROBABILITY else model.predict(task.X_test)

    def taught(self, users: Users, streams: Streams, **parameters: Any) -> Self:
        """Learn within another method, with the parameters that are known and its own; no seed stays in the model."""
        parameters |= {"random_state": streams}
        self.set_params(**{name: value for name, value in parameters.items() if name in self.get_params()})
        return self.learn_from(users).set_params(random_state=None)

    def for_problem(self, problem: Problem) -> Self:
        """Return a clone that knows the problem's public range of the label or classes, where these were left open."""
        return _told(clone(self), problem)


def _root_of_users(model: LocalEstimator, streams: Streams, data: tuple[Any, ...]) -> Streams:
    """Return the streams of the users' randomness: a hash of seed, class, parameters and data.

    ``streams`` are the curator's, ``data`` the arrays of the fit. Equal fits draw equal noise, any other draws new
    noise. Where something cannot be hashed, the streams are fresh entropy.
    """
    kind, later = type(model), dict(model.added)
    params = {
        name: _as_floats(v)
        for name, v in model.get_params(deep=False).items()
        if name != "random_state" and (name not in later or v != later[name])
    }
    try:
        digest = content_hash([streams.seed, kind.__module__, kind.__qualname__, params, *data])
    except (TypeError, AttributeError, PicklingError):
        digest = secrets.token_bytes(16)
    return Streams(int.from_bytes(digest[:16], "little"))


def _as_floats(value: Any) -> Any:
    """Convert numbers, also inside lists and tuples, to floats, so that 1 and 1.0 as a parameter have one hash."""
    if type(value) in (float, str, type(None)):  # what a number is among others takes long to ask
        return value
    if isinstance(value, (list, tuple)):
        return [_as_floats(v) for v in value]
    return float(value) if isinstance(value, Real) else value


def _poisoned(model: Any, users: SimulatedUsers, problem: Problem, liars: Liars, streams: Streams) -> PoisonedUsers:
    """Wrap a problem's users so that some of them lie, as ``liars`` states, to spoil one prediction.

    The point whose prediction they want wrong is the first test row, with the label farthest from its own. ``model``
    has the public domain; which users lie is drawn from ``streams``.
    """
    y: Any = np.asarray(problem.y_test[:1])
    y = y if users.classes is None else np.searchsorted(users.classes, y)
    [wrong] = farthest(y, users.y_range, users.classes)
    point = model._to_unit_cube(np.asarray(problem.X_test[:1], dtype=np.float64))[0], wrong
    return PoisonedUsers.of(users, replace(liars, point=point), streams)


def sealed(
    model: Any, X: Any, y: Any, mask: Any = None, X_public: Any = None, y_public: Any = None
) -> tuple[Records, dict[str, Any]]:
    """Check arrays and seal them, as a method declares: records, and what is public about their users."""
    table, classifies = X, isinstance(model, LocalClassifier)
    X, y = validated(model, X, y, dtype=np.float64, y_numeric=not classifies)
    if mask is not None:
        mask = as_mask(mask, table)
    if model.protects != "mask":
        mask = np.zeros(X.shape, dtype=bool) if model.protects == "label" else None
    if (X_public is None) != (y_public is None):
        raise ConfigurationError("X_public and y_public must be given together")
    if X_public is None or not (classifies or model.uses_public):
        X_public = y_public = None
    else:
        X_public = validated(model, X_public, reset=False, dtype=np.float64)
        if not classifies:
            y_public = check_array(y_public, ensure_2d=False, dtype=np.float64, input_name="y_public")
        if np.shape(y_public) != (len(X_public),):
            raise DataError(
                f"y_public has shape {np.shape(y_public)}, expected ({len(X_public)},), one label a row of X_public"
            )
    public_facts: dict[str, Any] = {}
    if classifies:
        public_facts["classes"], y, y_public, public_facts["notes"] = _listed_classes(model, y, y_public)
    else:
        y = np.asarray(y, dtype=np.float64)
        public_facts["y_range"], public_facts["notes"] = _range_of(model, y)
    domain = model.domain, model._clips
    public_facts["public"] = None if X_public is None else PublicSample(in_unit_cube(X_public, *domain), y_public)
    return Records(in_unit_cube(X, *domain, warns=True), y, mask), public_facts


def _is_plain(array: Any, ndim: int) -> bool:
    """Return True for a nonempty, finite array of int64 or float64 with ``ndim`` axes: no conversion is needed."""
    if type(array) is not np.ndarray or array.ndim != ndim or array.dtype not in (np.int64, np.float64):
        return False
    flat = array.ravel("K")  # a finite sum of squares has no other terms, and takes half the time
    return array.size > 0 and bool(np.isfinite(np.vdot(flat, flat)) or np.isfinite(flat).all())


def validated(model: Any, X: Any, y: Any = "no_validation", *, reset: bool = True, **options: Any) -> Any:
    """Checked X, or (X, y), as scikit-learn's checks return them; plain arrays are spared most of these.

    Errors about sparse and missing cells name the way out. ``reset`` False demands the columns of the fit.
    """
    check_dense(X)
    alone = isinstance(y, str)
    if _is_plain(X, 2) and X.dtype == np.float64 and (alone or (_is_plain(y, 1) and len(X) == len(y))):
        columns = X.shape[1] if reset else model.n_features_in_
        if columns == X.shape[1] and not hasattr(model, "feature_names_in_"):
            model.n_features_in_ = columns
            return X if alone else (X, y)
    try:
        return validate_data(model, X, y, reset=reset, **options)
    except (TypeError, ValueError) as error:
        match = re.match(r"Input (X|y) contains (NaN|infinity)", str(error))
        tabular = hasattr(X, "columns") or isinstance(error, (ValueError, DTypePromotionError))
        if match is None and tabular and (columns := _no_numbers(X)):
            raise DataError(
                f"X has cells that are no numbers in {', '.join(columns[:6])}{', ...' * (len(columns) > 6)}: say by "
                "lpbench.estimators.public_table.PublicTable which categories or dates they hold, which makes features "
                "of them, or leave these columns out"
            ) from error
        if match is None:
            raise
        name, value = match.groups()
        ways = {
            "X": "say what a missing cell means by lpbench.estimators.public_table.PublicTable, or fill it by a "
            "public value",
            "y": "leave out the users who have no label",
        }
        raise DataError(f"{name} contains {value}; {ways[name]}") from error


def _no_numbers(X: Any) -> list[str]:
    """List the columns of a table X that cannot be read as numbers, as "column 'name'", for an error message.

    Columns without names are called by number.
    """
    columns = X.items() if hasattr(X, "columns") else enumerate(np.asarray(X).T) if np.ndim(X) == 2 else ()
    return [f"column {name!r}" for name, cells in columns if not _are_numbers(np.asarray(cells))]


def _are_numbers(cells: np.ndarray) -> bool:
    """Return True if the cells of a column convert to float64; dates and durations do not count."""
    if cells.dtype.kind in "OSU":
        try:
            cells.astype(np.float64)
        except (TypeError, ValueError):
            return False
    return cells.dtype.kind not in "mM"


def in_unit_cube(X: np.ndarray, domain: Any, clips: bool, warns: bool = False) -> np.ndarray:
    """Map features, clipped to a public domain if any, to [0, 1]; ``warns`` of those more than rounding outside."""
    if domain is None:
        return X
    lo, hi = check_domain(domain, X.shape[1])
    if not clips:
        return (X - lo) / (hi - lo)
    axis = 0 if isinstance(lo, np.ndarray) else None
    outside = np.maximum(lo - np.minimum.reduce(X, axis=axis), np.maximum.reduce(X, axis=axis) - hi)
    if not (outside <= 0).all():
        if warns and (outside > 1e-9 * (hi - lo)).any():
            warnings.warn(
                f"values of X lie outside domain={domain!r} and were clipped to it; pass the public range of the "
                "features as domain=(lo, hi), or one pair for each feature, or scale X first by "
                "lpbench.estimators.public_scaler.PublicScaler",
                ClippingWarning,
                stacklevel=4,
            )
        X = np.clip(X, lo, hi)
    return X if axis is None and (lo, hi) == (0.0, 1.0) else (X - lo) / (hi - lo)


def _range_of(model: Any, y: np.ndarray) -> tuple[tuple[float, float], list[str]]:
    """Range (lo, hi) of the labels ``y``, and a list of notes for the guarantee, empty if the range is public.

    A method of unbounded labels gets (-inf, inf). A missing ``model.y_range`` is read from ``y``, with a warning and a
    note if the method protects labels. DataError if a label lies outside a stated range.
    """
    if not model.bounded:
        return (-np.inf, np.inf), []
    if model.y_range is None:
        lo, hi = float(y.min()), float(y.max())
        if not model.uses_epsilon:
            return (lo, hi), []  # nothing is protected, so that nothing leaks
        warnings.warn(
            "y_range was not given: it is taken from the protected labels, which leaks their minimum and maximum; "
            "pass y_range=(lo, hi) from public knowledge",
            PrivacyLeakWarning,
            stacklevel=4,
        )
        return (lo, hi), ["y_range taken from protected labels"]
    lo, hi = check_range("y_range", model.y_range)
    if y.min() < lo or y.max() > hi:
        raise DataError(
            f"y has values outside y_range=({lo:g}, {hi:g}); clip the labels or declare a wider public range"
        )
    return (lo, hi), []


def _listed_classes(
    model: Any, y: np.ndarray, y_public: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, list[str]]:
    """Sorted classes, class codes of ``y`` and of ``y_public`` (or None), and a list of notes for the guarantee.

    A code is the index of a label in the classes. A missing ``model.classes`` is read from the labels, with a warning
    and a note if the method protects labels. DataError if a label is not in a stated list.
    """
    if y.dtype.kind != "i":  # the check takes longer than all others
        check_classification_targets(y)
    labels, notes = y if y_public is None else np.concatenate([y, y_public]), []
    if model.classes is not None:
        try:
            listed_values = np.unique(
                list(model.classes) if isinstance(model.classes, (Set, Mapping)) else model.classes
            )
        except TypeError as error:
            raise ConfigurationError(f"classes={model.classes!r} must list labels of one type") from error
        if (
            listed_values.dtype.kind == labels.dtype.kind == "i"
            and listed_values[-1] - listed_values[0] == listed_values.size - 1
        ):
            # consecutive numbers need no search, which takes as long as a small sweep
            codes = labels - listed_values[0] if listed_values[0] else labels
            listed = 0 <= codes.min() and codes.max() < listed_values.size
        else:
            codes = np.minimum(np.searchsorted(listed_values, labels), listed_values.size - 1)
            listed = listed_values.size > 0 and bool((listed_values[codes] == labels).all())
        if not listed:
            raise DataError("y has a class that is not in `classes`; list every class that may occur")
    else:
        listed_values, codes = np.unique(labels, return_inverse=True)
        if model.uses_epsilon:
            warnings.warn(
                "classes was not given: the list is taken from the protected labels, which leaks the classes that "
                "occur; pass classes=[...] from public knowledge",
                PrivacyLeakWarning,
                stacklevel=4,
            )
            notes = ["list of classes taken from protected labels"]
    return listed_values, codes[: y.size], None if y_public is None else codes[y.size :], notes


def _told(model: Any, problem: Problem) -> Any:
    """Set ``y_range`` and ``classes`` of a model to those that the problem makes public, where the model has None."""
    for name in ("y_range", "classes"):
        if getattr(problem, name) is not None and getattr(model, name, model) is None:
            setattr(model, name, getattr(problem, name))
    return model


def _sealed_alike(grid: Grid) -> list[tuple[dict[str, Any], Any, Grid]]:
    """Split a grid by the parameters ``SEALED`` (of preprocessing), on which the users' records depend.

    Each part is (values of these parameters, indices of its points in the grid, its points); indices are () and the
    grid is returned as it is where it names none of them.
    """
    if isinstance(grid, Mapping) and not set(SEALED) & set(grid):
        return [({}, (), grid)]
    parts: dict[str, tuple[dict[str, Any], list[int], list[dict]]] = {}
    for g, point in enumerate(expand_grid(grid)):
        values = {name: point[name] for name in SEALED if name in point}
        _, members, points = parts.setdefault(repr(values) if values else "", (values, [], []))
        members.append(g)
        points.append(point)
    return list(parts.values())


def _joined(parts: Sequence[SweepResult], members: Sequence[Sequence[int]]) -> SweepResult:
    """Merge the score tables of a grid's parts into one for the whole grid, with the reasons of points not run.

    ``members`` are, for each part, the indices that its points have in the grid.
    """
    result = SweepResult(np.empty((len(parts[0].values), sum(map(len, members)))))
    for result_of, numbers in zip(parts, members, strict=True):
        result.values[:, numbers] = result_of.values
        result.reasons.update({(b, int(numbers[g])): why for (b, g), why in result_of.reasons.items()})
    return result


def grouped(points: Sequence[Mapping[str, Any]], cheap: Iterable[str]) -> list[tuple[dict[str, Any], list[int]]]:
    """Group grid points that differ in ``cheap`` parameters alone: shared parameters and indices of the points."""
    cheap, last = set(cheap), None
    groups: dict[str, tuple[dict[str, Any], list[int]]] = {}
    for g, point in enumerate(points):
        costly = [(name, value) for name, value in point.items() if name not in cheap]
        same = [(name, id(value)) for name, value in costly]
        if same != last:  # a product's points share objects, which are written once
            last, shared = same, dict(sorted(costly, key=lambda pair: pair[0]))
            _, members = groups.setdefault(repr(shared), (shared, []))
        members.append(g)
    return list(groups.values())


@dataclass(eq=False, repr=False)
class LocalRegressor(RegressorMixin, LocalEstimator):
    """Base of the regressors.

    Parameters
    ----------
    y_range : (float, float), optional
        Public range of the label. None: taken from the protected labels, with a warning and a note.
    clip : bool
        Clip predictions to ``y_range`` (post-processing, which costs no privacy).
    domain : (float, float), or one pair for each feature
        Public range of the features, which are clipped to it and mapped to [0, 1].
    random_state : int, Generator, RandomState, Streams or None
        Seed of all draws; None: fresh entropy. Who knows it can subtract the users' noise.

    Attributes
    ----------
    y_range_ : (float, float)
    guarantee_ : Guarantee
    """

    y_range: tuple[float, float] | None = field(default=None, kw_only=True)
    clip: bool = field(default=True, kw_only=True)
    domain: Any = field(default=(0.0, 1.0), kw_only=True)
    random_state: Seed | Streams = field(default=None, kw_only=True)

    def _meet(self, users: Users) -> None:
        """Note the users' public label range as ``y_range_``; ConfigurationError if they have none."""
        super()._meet(users)
        if users.y_range is None:
            raise ConfigurationError(
                "y_range=None: the users' range of the label must be public; pass y_range=(lo, hi)"
            )
        self.y_range_ = users.y_range

    @abstractmethod
    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict the labels of complete rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Test rows with all their features, in the units of the training rows.

        Returns
        -------
        ndarray of shape (m,)
            Predictions in the units of the label, within ``y_range`` if ``clip`` is set.
        """
        raise NotImplementedError(f"{type(self).__name__}.predict")

    def _finish(self, predictions: np.ndarray) -> np.ndarray:
        """Post-process predictions: clip to the public range unless ``clip=False`` (costs no privacy)."""
        return np.clip(predictions, *self.y_range_) if self.clip else predictions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


@dataclass(eq=False, repr=False)
class LocalClassifier(ClassifierMixin, LocalEstimator):
    """Base of the classifiers.

    Parameters
    ----------
    domain : (float, float), one pair for each feature, or None
        Public range of the features, which are clipped to it and mapped to [0, 1]; None: as they are.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    random_state : int, Generator, RandomState, Streams or None
        Seed of all draws; None: fresh entropy. Who knows it can subtract the users' noise.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public.
    guarantee_ : Guarantee
    """

    domain: Any = field(default=None, kw_only=True)
    classes: Any = field(default=None, kw_only=True)
    random_state: Seed | Streams = field(default=None, kw_only=True)

    def _meet(self, users: Users) -> None:
        super()._meet(users)
        if users.classes is None:
            raise ConfigurationError("classes=None: the users' list of classes must be public; pass classes=[...]")
        self.classes_ = users.classes

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict the most probable class of complete rows; ties go to the first class of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Test rows with all their features, in the units of the training rows.

        Returns
        -------
        ndarray of shape (m,)
            Entries of ``classes_``.
        """
        probability = self.predict_proba(X)
        return self.classes_[self._decide(probability)]

    @staticmethod
    def _decide(probability: np.ndarray) -> np.ndarray:
        """Index of the largest probability on the last axis (classes); ties go to the smaller class (LPCT eq. (8))."""
        return np.argmax(probability, axis=-1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
