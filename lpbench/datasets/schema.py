"""Checks of a manifest's content: which keys there are, the kinds of their values, names of raw files.

A manifest may come from somebody else. What passes here can be read, downloaded and prepared without surprise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from lpbench.checks import check_range
from lpbench.errors import ConfigurationError, DataError, unknown_key
from lpbench.files import relative_name

#: A check takes the place (for the message) and the value, and raises DataError.
Check = Callable[[str, Any], None]
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


def _refuse(place: str, value: Any, expected: str) -> DataError:
    shown = repr(value)
    return DataError(f"{place}={shown[:80]}{'...' * (len(shown) > 80)} must be {expected}")


def _check_size(path: Any, content: Any) -> None:
    """Count values through their aliases, each time they are used."""
    left, level = _MOST_VALUES, [content]
    for _ in range(_DEEPEST):
        if (left := left - len(level)) < 0:
            break
        inner = [v for v in level if isinstance(v, (dict, list, tuple, set))]
        if not inner:
            return
        level = []
        for value in inner:
            level += [*value, *value.values()] if isinstance(value, dict) else list(value)
            if len(level) > left:
                break
    raise DataError(f"{path} has more than {_MOST_VALUES} values or is nested {_DEEPEST} deep; a manifest is a page")


def _kind(expected: str, *types: type) -> Check:
    def check(place: str, value: Any) -> None:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise _refuse(place, value, expected)
        if isinstance(value, float) and not math.isfinite(value):
            raise _refuse(place, value, f"{expected}, and finite")

    return check


_TEXT, _NUMBER = _kind("text", str), _kind("a number", int, float)
_SCALAR = _kind("text, a number or a flag", str, int, float, bool)
_MAPPING = _kind("a mapping of keys to values", dict)


def _whole(place: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise _refuse(place, value, "a whole number >= 0")


def _or_none(check: Check) -> Check:
    return lambda place, value: None if value is None else check(place, value)


def _listed(check: Check, least: int = 0) -> Check:
    def listed(place: str, value: Any) -> None:
        if not isinstance(value, (list, tuple)) or len(value) < least:
            raise _refuse(place, value, "a list" if least == 0 else f"a list of at least {least}")
        for k, item in enumerate(value):
            check(f"{place}[{k}]", item)

    return listed


def _mapped(check: Check, least: int = 0) -> Check:
    def mapped(place: str, value: Any) -> None:
        _MAPPING(place, value)
        if len(value) < least:
            raise _refuse(place, value, "a mapping that is not empty")
        for key, item in value.items():
            _SCALAR(f"{place}: key", key)
            check(f"{place}.{key}", item)

    return mapped


def _entry(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None, *forms: str) -> Check:
    """A mapping with these keys and no others; beside the required ones, with the keys of exactly one of the forms."""
    known = {**required, **(optional or {})}

    def entry(place: str, value: Any) -> None:
        _MAPPING(place, value)
        for key in value:
            if key not in known:
                raise _unknown(f"{place}: unknown key", key, known)
        if missing := [key for key in required if key not in value]:
            raise DataError(f"{place}: key {missing[0]!r} is missing")
        if forms and {*value} - {*required} not in [{*form.split()} for form in forms]:
            raise DataError(f"{place} must have exactly one of {', '.join(f.replace(' ', ' and ') for f in forms)}")
        for key, item in value.items():
            known[key](f"{place}.{key}", item)

    return entry


def _unknown(what: str, name: Any, known: Mapping[str, Check]) -> DataError:
    return DataError(str(unknown_key(what, str(name), known)))


def _one_of(*forms: Check, expected: str) -> Check:
    def choose(place: str, value: Any) -> None:
        for form in forms:
            try:
                return form(place, value)
            except DataError:
                continue
        raise _refuse(place, value, expected)

    return choose


def _or_mapping(plain: Check, mapping: Check) -> Check:
    return lambda place, value: (mapping if isinstance(value, dict) else plain)(place, value)


def _pair(place: str, value: Any) -> None:
    try:
        check_range(place, value)
    except ConfigurationError as error:
        raise DataError(str(error)) from error
    _listed(_NUMBER)(place, value)


def _raw_file(place: str, value: Any) -> None:
    _TEXT(place, value)
    relative_name(value, place)


def _loader(place: str, value: Any) -> None:
    if value not in EMBEDDED:
        raise _refuse(place, value, f"one of {', '.join(EMBEDDED)}")


def _order(place: str, value: Any) -> None:
    if value != "columns":
        _listed(_SCALAR)(place, value)


def _source(place: str, value: Any) -> None:
    _MAPPING(place, value)
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in _SOURCES:
        raise _unknown(f"{place}: unknown kind", kind, _SOURCES)
    _SOURCES[kind](place, value)


_FILES = _mapped(_raw_file, least=1)
_FORMAT = _entry(
    {},
    {
        "type": _TEXT,
        "sep": _TEXT,
        "header": _kind("true or false", bool),
        "missing": _one_of(_SCALAR, _listed(_SCALAR), expected="text or a list"),
        "comment": _TEXT,
        "sheet": _one_of(_whole, _TEXT, expected="a name or a number"),
        "skip_rows": _whole,
    },
)
_READ = {"format": _FORMAT, "columns": _listed(_TEXT)}
_SOURCES: Mapping[str, Check] = {
    "file": _entry({"kind": _TEXT, "files": _FILES}, _READ),
    "openml": _entry({"kind": _TEXT, "id": _whole}, {"columns": _listed(_TEXT)}),
    "uci": _entry({"kind": _TEXT, "id": _whole, "archive": _raw_file, "files": _FILES}, _READ),
    "embedded": _entry({"kind": _TEXT, "loader": _loader}, {"options": _mapped(_SCALAR)}),
    "manual": _entry({"kind": _TEXT, "instructions": _TEXT}),
}
_CELLS = _listed(_SCALAR)
_CHOSEN = _entry({"column": _SCALAR, "values": _CELLS})
_STEPS: Mapping[str, Check] = {
    "drop_missing": _one_of(_CELLS, _TEXT, expected="all or a list"),
    "fill_missing": _CELLS,
    "keep": _CHOSEN,
    "drop": _CHOSEN,
    "sample": _entry({"size": _whole, "seed": _whole}),
}
_PUBLIC = _entry(
    {},
    {"first": _whole, "sample": _whole, "seed": _whole, "file": _TEXT}
    | {"column": _SCALAR, "values": _CELLS, "size": _whole},
    *("first", "sample seed", "file", "column values", "column size"),
)
_CODES: Mapping[str, Check] = {"map": _mapped(_NUMBER), "one_hot": _CELLS, "date": _TEXT}
_TARGET = _entry(
    {"column": _SCALAR},
    {"positive": _CELLS, "negative": _CELLS, "clip": _pair, "log": _NUMBER},
    *("positive negative", "clip", "log"),
)
_PROMISED = _entry(
    {},
    {key: _or_none(_whole) for key in ("rows", "features", "public")}
    | {key: _or_none(_TEXT) for key in ("columns", "values")},
)
_KEYS: Mapping[str, Check] = {
    **dict.fromkeys(("title", "task", "paper", "role", "origin", "licence", "notes", "synthetic", "metric"), _TEXT),
    "draws_as": _TEXT,
    "unit": _TEXT,
    "published": _mapped(_or_none(_SCALAR)),
    "sources": _listed(_source),
    "columns": _listed(_TEXT),
    "raw_rows": _or_none(_whole),
    "rows": _listed(_entry({}, _STEPS, *_STEPS)),
    "public": _or_none(_PUBLIC),
    "target": _or_mapping(_TEXT, _TARGET),
    "features": _or_mapping(
        _listed(_or_mapping(_SCALAR, _entry({"column": _SCALAR}, _CODES, *_CODES))), _entry({"all_except": _CELLS})
    ),
    "groups": _mapped(_CELLS),
    "sensitivity": _entry({}, {"order": _order, "reason": _TEXT, "importance": _listed(_SCALAR)}),
    "y_range": _or_none(_pair),
    "scale": _or_none(_pair),
    "bounds": _one_of(
        _entry({"known": _mapped(_pair, least=1), "reason": _TEXT}, {"file": _mapped(_pair)}),
        _entry({"file": _mapped(_pair)}),
        expected="{known: {feature: [low, high]}, reason: text}, {file: {feature: [low, high]}} or both",
    ),
    "fingerprint": _PROMISED,
    "params": _mapped(_or_none(_SCALAR)),
    "shape": _entry(
        {},
        dict.fromkeys(
            ("n_train", "n_test", "n_features", "n_public"),
            _one_of(_whole, _TEXT, expected="a number or the name of a parameter"),
        ),
    ),
}
