"""Masks: which features of which user are protected (boolean n x d, True = private).

Column order is the order of sensitivity, most sensitive first. Each function takes the size of the training sample and
a generator that puts the users in random order, so that no row position carries information. The order comes from
ranks of one uniform per user: for equal streams the order does not depend on the parameters of the mask, so masks that
protect more contain those that protect less.
"""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from lpbench.checks import check_number, check_whole
from lpbench.errors import ConfigurationError, check_known, unknown_name


def default_n_protected(n_features: int) -> int:
    """Return s* = ceil(ln sqrt(d)), the number of sensitive features of HistOfTree sec. 5.2 (at least 1)."""
    return max(1, math.ceil(math.log(math.sqrt(n_features))))


def aligned(n: int, d: int, generator: np.random.Generator, *, n_protected: int | None = None) -> np.ndarray:
    """All users protect the first ``n_protected`` features (None: s*) and no other."""
    return np.broadcast_to(np.arange(d) < _n_protected(n_protected, d), (n, d)).copy()


def personalized(
    n: int, d: int, generator: np.random.Generator, *, n_protected: int | None = None, personalized_index: int = 1
) -> np.ndarray:
    """User i protects feature l iff i <= n / 10^floor(l / s*) (HistOfTree sec. 5.2); ``n_protected`` is s*.

    ``personalized_index`` is the first value of l. The paper counts from 1, which gives only s*-1 features that
    everybody protects (none where s* = 1); 0 shifts the blocks so that they are s* wide from the start.
    """
    if personalized_index not in (0, 1):
        raise ConfigurationError(f"personalized_index={personalized_index!r} must be 0 or 1")
    block = (np.arange(d) + personalized_index) // max(1, _n_protected(n_protected, d))
    return _first_users(n, generator, 10.0 ** -block.astype(float))


def power_law(n: int, d: int, generator: np.random.Generator, *, gamma: float = 1.0) -> np.ndarray:
    """User i protects feature l iff i <= n / l^gamma, l = 1..d (HistOfTree sec. 5.1)."""
    if not gamma >= 0:
        raise ConfigurationError(f"gamma={gamma!r} must be >= 0")
    return _first_users(n, generator, np.arange(1.0, d + 1) ** -float(gamma))


def label_only(n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    """Mask without any protected feature: only labels are private (label LDP)."""
    return np.zeros((n, d), dtype=bool)


def all_private(n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    """Mask in which every user protects every feature (LDP)."""
    return np.ones((n, d), dtype=bool)


def equal_number(n: int, d: int, generator: np.random.Generator, *, n_protected: int | None = None) -> np.ndarray:
    """Every user protects ``n_protected`` features (None: s*) at random places (HistOfTree sec. 6)."""
    places = generator.random((n, d)).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return places < _n_protected(n_protected, d)


def informative(
    n: int, d: int, generator: np.random.Generator, *, strength: float = 1.0, label: bool = False, secret: np.ndarray
) -> np.ndarray:
    """Mask that depends on private values: user i protects feature l more often if a secret bit of hers is set.

    The probability is 1 / (1 + e^-strength) if the bit is 1, and e^-strength of that if it is 0. The bit of a feature
    is whether its value is above the median, or with ``label`` whether the user's label is. So the odds of the bit are
    multiplied by e^strength where the user protects, and divided by it where not (:func:`posterior_odds`), whatever
    epsilon is; with ``label`` each of the d features tells of the same bit.
    """
    chances = 1.0 / (1.0 + np.exp(np.array([1.0, -1.0]) * check_number("strength", strength)))
    return generator.random((n, d)) < chances[secret[:, -1:] * np.ones(d, int) if label else secret[:, :d]]


def secret_bits(X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return bits that a mask may depend on: 1 where a group's weighted sum, or last the label, is above its median."""
    weights = np.array([np.sum(groups[:k] == g) + 1.0 for k, g in enumerate(groups)])
    values = np.column_stack([(X * weights)[:, groups == g].sum(axis=1) for g in range(groups.max() + 1)] + [y])
    median = np.median(values, axis=0)
    return np.where(median < values.max(axis=0), values > median, values >= median).astype(int)


def posterior_odds(choices: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Factor P(W | 1) / P(W | 0) by which W multiplies the odds of a secret bit, exactly, one a user.

    ``choices`` (2, k): probability that a user whose bit is 0, and 1, protects each of k features, independently given
    the bit; ``visible``: the mask at these features, boolean (n, k).
    """
    given = np.where(np.asarray(visible)[:, None, :], choices, 1.0 - np.asarray(choices)).prod(axis=2)
    return np.asarray(given[:, 1] / given[:, 0])


#: Words of a mask's file -> whether the cell protects.
_MASK_WORDS = {
    word: protects
    for protects, words in {True: "1 1.0 true t yes y", False: "0 0.0 false f no n"}.items()
    for word in words.split()
}


def read_mask(path: str, names: Sequence[str]) -> np.ndarray:
    """Read a mask of 0 and 1, or no and yes, from a CSV with a header of these names in any order.

    Returns
    -------
    boolean ndarray of shape (rows, names)
        True where a row protects a column.

    Raises
    ------
    ConfigurationError
        A column that is missing, unknown or doubled, a file without header, a cell that is neither 0 nor 1. A column
        that is not there is not taken as public: somebody may have forgotten it.
    """
    header = f"its header must be {mask_header(names)}"
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        first = text.partition("\n")[0]
        separator = max(",;\t", key=lambda sign: len({*_cells(first.split(sign))} & {*names}))
        head, *rows = filter(any, map(_cells, csv.reader(io.StringIO(text, newline=""), delimiter=separator)))
    except (OSError, ValueError, csv.Error) as error:
        raise ConfigurationError(f"mask file {path!r} cannot be read as CSV in UTF-8 ({error}); {header}") from error
    if {cell.lower() for cell in head} <= _MASK_WORDS.keys() and not {*head} <= {*names}:
        raise ConfigurationError(f"mask file {path!r} begins with cells, {','.join(head)}, and has no header; {header}")
    if head[0] == "" or head[0].startswith("Unnamed"):
        raise ConfigurationError(
            f"mask file {path!r}: its first column has no name; leave row numbers out (index=False)"
        )
    lacking = [name for name in names if name not in head]
    if lacking and len({*head} & {*names}) == len(head):
        raise ConfigurationError(
            f"mask file {path!r} has no column {', '.join(lacking)}; of a column that nobody protects every cell is 0; "
            f"{header}"
        )
    if wrong := [*(n for n in names if head.count(n) != 1), *(n for n in head if n not in names)]:
        raise ConfigurationError(f"mask file {path!r}: {wrong[0]!r} is missing, unknown or doubled; {header}")
    for number, row in enumerate(rows, 2):
        if len(row) != len(head) or not {cell.lower() for cell in row} <= _MASK_WORDS.keys():
            raise ConfigurationError(
                f"mask file {path!r}, line {number}: {','.join(row)} must be {len(head)} times 0 or 1, or no or yes"
            )
    table = [[_MASK_WORDS[cell.lower()] for cell in row] for row in rows]
    return np.array(table, dtype=bool).reshape(len(rows), len(head))[:, [head.index(name) for name in names]]


def _cells(row: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in row]


def mask_header(names: Sequence[str]) -> str:
    """Return the column names as the first line of a CSV file of masks."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


#: Masks that are drawn; ``file`` is read instead (see :func:`lpbench.datasets.problems.make_problem`).
MASKS: Mapping[str, Callable[..., np.ndarray]] = {
    "aligned": aligned,
    "personalized": personalized,
    "power_law": power_law,
    "label_only": label_only,
    "all_private": all_private,
    "equal_number": equal_number,
    "informative": informative,
}
#: Masks that depend on the users' values, which no data set without them has.
INFORMATIVE = frozenset({"informative"})


def make_mask(
    name: str,
    n: int,
    d: int,
    generator: np.random.Generator,
    params: Mapping | None = None,
    secret: np.ndarray | None = None,
) -> np.ndarray:
    """Draw a named mask.

    Parameters
    ----------
    name : str
        Key of :data:`MASKS`.
    n, d : int
        Numbers of users and of features.
    generator : numpy.random.Generator
        Source of the draws.
    params : mapping, optional
        Parameters of the mask.
    secret : int ndarray of shape (n, groups + 1), optional
        Bits of the users' values (:func:`secret_bits`), for masks that depend on them.

    Returns
    -------
    bool ndarray of shape (n, d)
        True where a user protects a feature.

    Raises
    ------
    ConfigurationError
        If the mask or a parameter is unknown.
    """
    if name not in MASKS:
        raise unknown_name("mask", name, [*MASKS, "file"])
    params = dict(params or {})
    parameters = MASKS[name].__kwdefaults__ or {}
    check_known(f"unknown parameter of mask {name}", params, parameters)
    given = {"secret": secret} if name in INFORMATIVE else {}
    return MASKS[name](n, d, generator, **params, **given)


def protected_number(name: str, params: Mapping, n_features: int) -> int | None:
    """Return the number of features that every user protects; None where users differ in it."""
    if name in ("aligned", "equal_number"):
        return _n_protected(params.get("n_protected"), n_features)
    return {"label_only": 0, "all_private": n_features}.get(name)


def _n_protected(n_protected: int | None, d: int) -> int:
    checked = check_whole("n_protected", n_protected, most=d, none="ceil(ln sqrt d)")
    return default_n_protected(d) if checked is None else checked


def _first_users(n: int, generator: np.random.Generator, share: np.ndarray) -> np.ndarray:
    """Mask (n, d) in which feature l is protected by the first floor(n * share_l) users of a random order.

    ``share`` is (d,).
    """
    position = np.empty(n, dtype=np.intp)
    position[np.argsort(generator.random(n), kind="stable")] = np.arange(1, n + 1)
    # The tolerance keeps i <= n / 10^k exact where n * 10^-k is rounded just below a whole number.
    return position[:, None] <= n * share[None, :] * (1 + 1e-12)
