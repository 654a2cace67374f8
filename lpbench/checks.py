"""Checks of arguments: whole numbers, numbers in an interval, names, ranges, flags.

Each returns the value, or raises a :class:`~lpbench.errors.ConfigurationError` that names the argument, its value and
what was expected. scikit-learn's ``check_scalar`` does not serve: it takes True for 1 and does not know NaN.
"""

import math
import numbers
import warnings
from collections.abc import Callable, Iterable, Mapping, Set
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from lpbench.errors import ConfigurationError, DataError

F = TypeVar("F", bound=Callable[..., Any])


def with_new_keys(
    owner: str, given: Mapping[str, Any], new: Mapping[str, str], category: type[Warning] = FutureWarning
) -> dict[str, Any]:
    """Return ``given`` with former keys replaced by those of ``new`` (former -> new name), with a warning for each."""
    for old in new.keys() & given.keys():
        warnings.warn(f"{owner}: {old} is now {new[old]}", category, stacklevel=3)
    return {new.get(key, key): value for key, value in given.items()}


def renamed(**today: str) -> Callable[[F], F]:
    """Decorate a function whose arguments were renamed: it takes old names for one version, with a warning."""

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            return function(*args, **with_new_keys(function.__name__, options, today, DeprecationWarning))

        return cast(F, call)

    return decorate


#: Texts of missing values; a person who is called one of them is nobody.
_NAMELESS = frozenset(("", "nan", "NaN", "NaT", "None", "<NA>"))


def plain(value: Any) -> Any:
    """Convert numpy scalars and arrays, also inside lists, to Python's own, which messages, names and files show."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value)) if type(value) in (list, tuple) else value
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def check_dense(X: Any) -> Any:
    """Return a table; DataError if it is a sparse matrix, as some transformers make them by default."""
    if hasattr(X, "tocsr"):
        raise DataError(
            "X is a sparse matrix, and local privacy reports every cell: let the transformer make a dense one, as by "
            "OneHotEncoder(sparse_output=False) or ColumnTransformer(sparse_threshold=0), or pass X.toarray()"
        )
    return X


def check_whole(
    name: str, value: Any, *, least: int | None = 0, most: int | None = None, none: str | None = None
) -> Any:
    """Return a whole number after checking its interval.

    Parameters
    ----------
    name : str
        Argument, for the message.
    value : object
        Python or numpy integer; a bool is refused.
    least, most : int or None
        Closed interval; None: no limit.
    none : str, optional
        Meaning of None, which is then allowed and returned.

    Returns
    -------
    int or None
        The value as a Python integer.

    Raises
    ------
    ConfigurationError
        If the value is no whole number, or outside the interval.
    """
    if value is None and none is not None:
        return None
    # The exact type first: a grid has hundreds of settings, and asking an abstract class takes ten times as long.
    is_integer = type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool))
    if not is_integer or (least is not None and value < least) or (most is not None and value > most):
        size = "" if least is None else f" >= {least}" if most is None else f" from {least} to {most}"
        meaning = "" if none is None else f" (None: {none})"
        raise ConfigurationError(f"{name}={plain(value)!r} must be a whole number{size}{meaning}")
    return int(value)


def check_number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    infinite: bool = False,
    hint: str = "",
) -> float:
    """Return a real number of an interval as a float; NaN and booleans are none.

    ``least`` and ``most`` are ends that belong to the interval, ``above`` and ``below`` ends that do not. ``infinite``
    allows inf where there is no upper end; ``hint`` tells the meaning of a value, or the way out.
    """
    number = value if type(value) is float else _as_float(value)
    if (
        math.isnan(number)
        or not (least is None or number >= least)
        or not (above is None or number > above)
        or not (most is None or number <= most)
        or not (below is None or number < below)
        or not (infinite or math.isfinite(number))
    ):
        expected = _interval(least, above, most, below, infinite)
        raise ConfigurationError(f"{name}={plain(value)!r} must {expected}{hint and f' ({hint})'}")
    return number


def _as_float(value: Any) -> float:
    """Return a real number as a float; NaN for anything else, and for a whole number beyond all floats."""
    try:
        return float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.nan


def names_nobody(label: Any) -> bool:
    """Return True for the label of a person without a name: NaN, None, NaT, NA, blanks, or a tuple with one."""
    if isinstance(label, tuple):
        return any(map(names_nobody, label))
    return type(label) is not int and str(label).strip() in _NAMELESS


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> Any:
    """Return a value that is one of ``choices``; ConfigurationError names the argument and the choices if it is not."""
    choices = tuple(choices)
    if value not in choices:
        raise ConfigurationError(f"{name}={plain(value)!r} must be one of {', '.join(map(repr, choices))}")
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return a Python or numpy bool as bool; ConfigurationError for anything else, numbers included."""
    if not isinstance(value, (bool, np.bool_)):
        raise ConfigurationError(f"{name}={plain(value)!r} must be True or False")
    return bool(value)


def check_range(name: str, value: Any) -> tuple[float, float]:
    """Return the pair (lo, hi) of finite floats with lo < hi; a text, a set or a mapping has no first and last."""
    unordered = isinstance(value, (str, bytes, Set, Mapping)) or not isinstance(value, Iterable)
    ends = [] if unordered else [_as_float(plain(end)) for end in value]
    lo, hi = ends if len(ends) == 2 else (math.nan, math.nan)
    if not -math.inf < lo < hi < math.inf:
        raise ConfigurationError(f"{name}={plain(value)!r} must be a pair (lo, hi) of finite numbers with lo < hi")
    return lo, hi


def check_domain(domain: Any, n_features: int) -> tuple[Any, Any]:
    """Ends of the features' public range (lo, hi), or of one for each feature: floats or arrays (n_features,)."""
    pairs = isinstance(domain, (list, tuple, np.ndarray)) and any(np.ndim(pair) for pair in domain)
    if not pairs:
        return check_range("domain", domain)
    if len(domain) != n_features:
        raise ConfigurationError(f"domain has {len(domain)} pairs (lo, hi), but X has {n_features} features")
    lo, hi = np.array([check_range("domain", pair) for pair in domain]).T
    return lo, hi


def _interval(least: float | None, above: float | None, most: float | None, below: float | None, infinite: bool) -> str:
    """Say in words which numbers are allowed: ``be a number > 0``, ``be a number in (0, 1]``.

    ``least`` and ``most`` are closed ends, ``above`` and ``below`` open ones, None for no end.
    """
    number = "be a number" if infinite else "be a finite number"
    low, high = (above if least is None else least), (below if most is None else most)
    if low is None and high is None:
        return number
    if high is None:
        return f"{number} {'>=' if above is None else '>'} {low:g}"
    if low is None:
        return f"{number} {'<=' if below is None else '<'} {high:g}"
    return f"be a number in {'[' if above is None else '('}{low:g}, {high:g}{']' if below is None else ')'}"
