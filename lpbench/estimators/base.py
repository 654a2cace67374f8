"""Base classes of the estimators: input checks, public bounds, random streams and the default sweep."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lpbench.checks import check_domain, check_range
from lpbench.errors import ClippingWarning, ConfigurationError, DataError, PrivacyLeakWarning
from lpbench.privacy.mechanism import check_epsilon as check_epsilon
from lpbench.problem import BY_PROBABILITY, Problem
from lpbench.seeds import Streams

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
    """List the points of a grid in the fixed order used everywhere.

    A mapping of parameters to values gives their product; a sequence of points is returned as it is.
    """
    if not isinstance(grid, Mapping):
        return [dict(point) for point in grid] or [{}]
    names = sorted(grid)
    if empty := [name for name in names if len(grid[name]) == 0]:
        raise ConfigurationError(f"grid: parameter {empty[0]!r} has no value; list one or leave it out")
    return [dict(zip(names, point, strict=True)) for point in itertools.product(*(grid[name] for name in names))]


def check_mask(mask: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return the mask as a boolean array of the given shape; None means that every feature is protected."""
    if mask is None:
        return np.ones(shape, dtype=bool)
    mask = np.asarray(mask)
    if mask.shape != shape:
        raise DataError(f"mask has shape {mask.shape}, expected the shape of X, {shape}")
    if mask.dtype != bool:
        if not np.isin(mask, (0, 1)).all():
            raise DataError("mask has values other than 0/1 (or False/True); 1 means that the feature is protected")
        mask = mask.astype(bool)
    return mask


def _is_plain(array: Any, ndim: int) -> bool:
    """Tell whether an array is not empty, finite and of double precision.

    Nothing has to be converted then. scikit-learn's checks, which handle everything else and word the errors, take as
    long as a whole sweep of a small sample.
    """
    if type(array) is not np.ndarray or array.dtype != np.float64 or array.ndim != ndim or array.size == 0:
        return False
    return math.isfinite(array.sum()) or bool(np.isfinite(array).all())


def _is_codes(labels: Any) -> bool:
    """Tell whether class labels are an array of integers, about which scikit-learn has nothing to say."""
    return type(labels) is np.ndarray and labels.ndim == 1 and labels.dtype.kind == "i"


def _encoded(y: np.ndarray, y_public: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the classes of both samples in increasing order, and the number of each label among them."""
    labels = y if y_public is None else np.concatenate([y, y_public])
    if labels.dtype.kind == "i" and labels.min() >= 0 and labels.max() < labels.size:
        # a table of the small numbers takes a tenth of the time of sorting and searching
        classes = np.flatnonzero(np.bincount(labels))
        number = np.empty(classes[-1] + 1, dtype=np.intp)
        number[classes] = np.arange(classes.size)
        return classes.astype(labels.dtype), number[y], None if y_public is None else number[y_public]
    classes = np.unique(labels)
    public_codes = None if y_public is None else np.searchsorted(classes, y_public)
    return classes, np.searchsorted(classes, y), public_codes


class LocalEstimator(BaseEstimator):
    """Base of all estimators of the library.

    Class attributes
    ----------------
    uses_mask : bool
        Whether the result depends on which features are public. If False the harness computes the method once for
        all masks and keeps the mask out of its random streams.
    uses_epsilon : bool
        Whether the result depends on the budget at all (False: non-private references).
    uses_public : bool
        Whether a public sample is read.

    Conventions
    -----------
    Subclasses store constructor parameters only, derive every draw from ``self._streams()`` with a purpose name, draw
    *unit-scale* noise and scale it by the budget, so that equal keys give common random numbers across budgets and
    grid points and ``sweep`` equals ``fit`` bit for bit (up to the order of floating-point sums).
    """

    uses_mask = False
    uses_epsilon = True
    uses_public = False

    #: What ``fit`` took from protected labels because it was not given; ends in the note of ``guarantee_``.
    _leak_note = ""

    def _streams(self) -> Streams:
        return Streams.from_random_state(self.random_state)

    def _to_unit_cube(self, X: np.ndarray) -> np.ndarray:
        """Clip features to the declared public domain and map it to [0, 1]."""
        lo, hi = check_domain(self.domain, X.shape[1])
        return (np.clip(X, lo, hi) - lo) / (hi - lo)

    def _warn_of_clipping(self, X: np.ndarray) -> None:
        """Warn if training features lie outside the domain by more than rounding errors; nothing else reads this."""
        lo, hi = check_domain(self.domain, X.shape[1])
        slack = 1e-9 * (hi - lo)
        outside = (X < lo - slack) | (X > hi + slack)
        if outside.any():
            warnings.warn(
                f"{outside.mean():.1%} of the values of X lie outside domain={self.domain!r} and were clipped to it; "
                "pass the public range of the features as domain=(lo, hi), or one pair for each feature, or scale X "
                "first by lpbench.estimators.public_scaler.PublicScaler",
                ClippingWarning,
                stacklevel=4,
            )

    def _noted(self, *notes: str) -> str:
        """Join the notes of a guarantee and what was taken from protected labels."""
        return "; ".join(filter(None, [*notes, self._leak_note]))

    def resolve_grid(self, grid: Mapping[str, Sequence], problem: Problem) -> dict:
        """Replace grid entries that depend on the problem's shape (such as ``"all"``); the default changes nothing.

        The number of points must not depend on the replication.
        """
        return dict(grid)

    def replications_per_batch(self, problem: Problem) -> int:
        """How many replications :meth:`sweep_many` should get at once (1: one by one)."""
        return 1

    def sweep_many(
        self, problems: Sequence[Problem], budgets: Sequence[float], grid: Grid, streams: Sequence[Streams]
    ) -> list[SweepResult]:
        """Sweep several replications of one scenario; the default is the loop over :meth:`sweep`."""
        return [self.for_problem(p).sweep(p, budgets, grid, s) for p, s in zip(problems, streams, strict=True)]

    def score_many(
        self, problems: Sequence[Problem], budgets: Sequence[float], grid: Grid, streams: Sequence[Streams]
    ) -> list[SweepResult]:
        """Score several replications of one scenario: by :meth:`sweep_many`, or by single fits if probabilities count.

        A sweep scores predictions; of a metric of probabilities nothing but the fitted estimators know.
        """
        if problems[0].metric not in BY_PROBABILITY:
            return self.sweep_many(problems, budgets, grid, streams)
        loops = zip(problems, streams, strict=True)
        return [LocalEstimator.sweep(self.for_problem(p), p, budgets, grid, s) for p, s in loops]

    def for_problem(self, problem: Problem) -> LocalEstimator:
        """Return a clone that knows the problem's public range of the label or classes, where these were left open."""
        model = clone(self)
        known = model.get_params()
        if problem.y_range is not None and "y_range" in known and model.y_range is None:
            model.set_params(y_range=problem.y_range)
        if problem.classes is not None and "classes" in known and model.classes is None:
            model.set_params(classes=problem.classes)
        return model

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score every budget and grid point on one problem.

        The default refits once per budget and point. Subclasses share what the points have in common; a contract
        test holds them to this loop.

        Parameters
        ----------
        problem : Problem
        budgets : sequence of float
            Values of ``epsilon``.
        grid : mapping of str to sequence, or sequence of mappings
            Constructor parameters and their values; the points are those of :func:`expand_grid`, in its order.
        streams : Streams
            Takes the place of ``random_state``.

        Returns
        -------
        SweepResult
        """
        points = expand_grid(grid)
        values = np.full((len(budgets), len(points)), np.nan)
        for b, epsilon in enumerate(budgets):
            if b > 0 and not self.uses_epsilon:
                values[b] = values[0]
                continue
            budget = {"epsilon": epsilon} if self.uses_epsilon else {}
            for g, point in enumerate(points):
                model = clone(self).set_params(random_state=streams, **budget, **point)
                model.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
                by_probability = problem.metric in BY_PROBABILITY
                values[b, g] = problem.score(
                    model.predict_proba(problem.X_test)[:, 1] if by_probability else model.predict(problem.X_test)
                )
        return SweepResult(values)


class LocalRegressor(RegressorMixin, LocalEstimator):
    """Base of the regressors; expects parameters ``y_range``, ``clip``, ``domain`` and ``random_state``."""

    def _check_fit(
        self, X: np.ndarray, y: np.ndarray, mask: np.ndarray | None = None, *, allow_nan: bool = False
    ) -> Any:
        """Validate ``fit``'s arguments.

        Returns
        -------
        X : ndarray of shape (n, d) in [0, 1]; y : ndarray of shape (n,); mask : boolean ndarray of shape (n, d)
        """
        if _is_plain(X, 2) and _is_plain(y, 1) and len(X) == len(y):
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = X.shape[1]
        else:
            X, y = validate_data(
                self, X, y, dtype=np.float64, y_numeric=True, ensure_all_finite="allow-nan" if allow_nan else True
            )
        y = np.asarray(y, dtype=np.float64)
        mask = check_mask(mask, X.shape)
        self.y_range_, self._leak_note = self._public_range(y)
        self._warn_of_clipping(X)
        return self._to_unit_cube(X), y, mask

    def _public_range(self, y: np.ndarray) -> tuple[tuple[float, float], str]:
        if self.y_range is None:
            warnings.warn(
                "y_range was not given: it is taken from the protected labels, which leaks their minimum and maximum; "
                "pass y_range=(lo, hi) from public knowledge",
                PrivacyLeakWarning,
                stacklevel=4,
            )
            lo, hi = float(y.min()), float(y.max())
            return (lo, hi), "y_range taken from protected labels"
        lo, hi = check_range("y_range", self.y_range)
        if y.min() < lo or y.max() > hi:
            raise DataError(
                f"y has values in [{y.min():g}, {y.max():g}], outside y_range=({lo:g}, {hi:g}); "
                "clip the labels or declare a wider public range"
            )
        return (lo, hi), ""

    def _check_predict(self, X: np.ndarray, *, allow_nan: bool = False) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan" if allow_nan else True)
        return self._to_unit_cube(X)

    def _finish(self, predictions: np.ndarray) -> np.ndarray:
        """Post-process predictions: clip to the public range unless ``clip=False`` (costs no privacy)."""
        return np.clip(predictions, *self.y_range_) if self.clip else predictions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.non_deterministic = False
        return tags


class LocalClassifier(ClassifierMixin, LocalEstimator):
    """Base of the classifiers; expects ``domain`` (or None: no clipping), ``random_state`` and mostly ``classes``."""

    #: Whether features outside the domain are clipped to it.
    _clips = True

    def _check_fit(
        self, X: np.ndarray, y: np.ndarray, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Any:
        """Validate ``fit``'s arguments.

        Returns
        -------
        X : ndarray of shape (n, d); codes : int ndarray of shape (n,), index into ``classes_``
        X_public, public_codes : the same for the public sample, or (None, None)
        """
        if _is_plain(X, 2) and _is_codes(y) and len(X) == len(y):
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = X.shape[1]
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
            check_classification_targets(y)
        if mask is not None:
            check_mask(mask, X.shape)
        if (X_public is None) != (y_public is None):
            raise ConfigurationError("X_public and y_public must be given together")
        if X_public is not None:
            named = hasattr(self, "feature_names_in_")
            if named or not _is_plain(X_public, 2) or X_public.shape[1] != self.n_features_in_:
                X_public = validate_data(self, X_public, reset=False, dtype=np.float64)
            y_public = np.asarray(y_public)
            if y_public.shape != (X_public.shape[0],):
                raise DataError(f"y_public has shape {y_public.shape}, expected ({X_public.shape[0]},)")
        self.classes_, codes, public_codes = self._public_classes(y, y_public)
        if self.domain is not None and self._clips:
            self._warn_of_clipping(X)
        return self._prepare(X), codes, None if X_public is None else self._prepare(X_public), public_codes

    def _public_classes(
        self, y: np.ndarray, y_public: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The list of classes, and the number of each label in it; the list is public if it was given."""
        found, codes, public_codes = _encoded(y, y_public)
        self._leak_note = ""
        if getattr(self, "classes", None) is None:
            if self.uses_epsilon:
                warnings.warn(
                    "classes was not given: the list is taken from the protected labels, which leaks the classes that "
                    "occur; pass classes=[...] from public knowledge",
                    PrivacyLeakWarning,
                    stacklevel=4,
                )
                self._leak_note = "list of classes taken from protected labels"
            return found, codes, public_codes
        known = np.unique(self.classes)
        unlisted = found[~np.isin(found, known)]
        if unlisted.size:
            raise DataError(f"y has the class {unlisted[0]!r}, which is not in `classes`")
        place = np.searchsorted(known, found)
        return known, place[codes], None if public_codes is None else place[public_codes]

    def _prepare(self, X: np.ndarray) -> np.ndarray:
        return X if self.domain is None else self._to_unit_cube(X)

    def _check_predict(self, X: np.ndarray) -> np.ndarray:
        check_is_fitted(self)
        return self._prepare(validate_data(self, X, reset=False, dtype=np.float64))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict class labels for X of shape (m, d)."""
        probability = self.predict_proba(X)
        return self.classes_[self._decide(probability)]

    @staticmethod
    def _decide(probability: np.ndarray) -> np.ndarray:
        """Index of the chosen class; ties go to the smaller class (binary: class 1 iff eta > 1/2, LPCT eq. 8)."""
        return np.argmax(probability, axis=-1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
