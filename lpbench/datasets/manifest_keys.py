"""Keys inside a manifest's mappings: what each means, which are needed; and the check that refuses any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lpbench.checks import check_range
from lpbench.errors import ConfigurationError, DataError, unknown_key
from lpbench.problem import METRICS

#: Kind of a source -> its keys and what they mean; those of the second mapping may be left out.
SOURCES: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "file": ({"files": "role -> path in the mirror, the cache, or beside the manifest"}, {}),
    "openml": ({"id": "number of the data set"}, {}),
    "uci": ({"id": "number of the data set", "archive": "name of the archive", "files": "role -> path in it"}, {}),
    "embedded": ({"loader": "`module:function` of an installed library"}, {"options": "arguments of the loader"}),
    "manual": ({"instructions": "how a person gets the files"}, {}),
}
#: Keys of every source.
OF_ANY_SOURCE = {"format": "how a file is written", "columns": "names of the columns, where they are this source's own"}
FORMAT = {
    "type": "csv (default), excel, arff or svmlight",
    "sep": "separator of a CSV (default `,`)",
    "header": "whether the first line of a CSV names the columns (default true)",
    "missing": "list of cells of a CSV that mean missing, besides the usual ones",
    "comment": "character that begins a comment in a CSV",
    "sheet": "sheet of an Excel file (default the first)",
    "skip_rows": "rows above the data of an Excel file (default 1)",
}
#: Step of ``rows`` -> what it does. One key a step.
ROWS = {
    "drop_missing": "`all`, or a list of columns: rows with a missing cell there are dropped",
    "fill_missing": "list of columns whose missing cells become the median, or the most frequent category",
    "keep": "`{column, values}`: only these rows are kept",
    "drop": "`{column, values}`: these rows are dropped",
    "sample": "`{size, seed}`: as many rows, drawn once and kept in their order",
}
#: One of them decides which rows are public.
PUBLIC = {
    "first": "the first rows that are kept, as many",
    "sample": "as many rows, drawn once by `seed`; the same in every replication",
    "file": "rows of the raw file of this role",
    "column": "rows whose cell is one of `values`, or those of the category whose number of rows is nearest to `size`",
}
#: The label: `positive` and `negative` make a classification, `clip` or `log` belong to a regression.
TARGET = {
    "column": "the label",
    "positive": "list of values that are coded 1",
    "negative": "list of values that are coded 0",
    "clip": "`[low, high]`: labels are clipped to it; give the same `y_range`",
    "log": "offset: the label is the natural logarithm of offset + the column",
}
#: One of them codes a feature that is no number.
FEATURE = {
    "map": "category -> number",
    "one_hot": "list of categories, a column of 0 and 1 each",
    "date": "format of a date such as `%Y-%m-%d`; the feature is its number of days since 1970",
}
SENSITIVITY = {
    "order": "features or groups, most sensitive first (the rest follows), or the word `columns`",
    "reason": "why",
}
FINGERPRINT = {
    "rows": "rows of the table",
    "features": "columns of the table",
    "public": "public rows",
    "columns": "hash of the names of the columns",
    "values": "hash of the values",
}
SHAPE = ("n_train", "n_test", "n_features", "n_public")


def check_keys(content: Mapping[str, Any], path: object) -> None:
    """Refuse keys inside a manifest that mean nothing, and missing ones.

    Parameters
    ----------
    content : mapping
        The manifest.
    path : Path
        Its file, for the message.

    Raises
    ------
    DataError
        The message names the file, the place in it and the key.
    """
    try:
        for k, source in enumerate(content.get("sources") or ()):
            _check_source(f"sources[{k}]", source)
        for k, step in enumerate(content.get("rows") or ()):
            _check_step(f"rows[{k}]", step)
        _check_public(content.get("public"))
        _check_target(content.get("target"))
        _check_features(content.get("features") or ())
        for name, known in (("sensitivity", SENSITIVITY), ("fingerprint", FINGERPRINT), ("shape", SHAPE)):
            _check(name, content.get(name) or {}, known)
        for name in ("y_range", "scale"):
            if content.get(name) is not None:
                check_range(name, content[name])
        if content.get("metric", "") not in ("", *METRICS):
            raise unknown_key("unknown metric", str(content["metric"]), METRICS)
    except ConfigurationError as error:
        raise DataError(f"{path}: {error}") from error


def _check_source(name: str, source: Any) -> None:
    kind = source.get("kind", "") if isinstance(source, Mapping) else ""
    if kind not in SOURCES:
        raise unknown_key(f"{name}: unknown kind", str(kind), SOURCES)
    needed, more = SOURCES[kind]
    _check(name, source, {"kind", *needed, *more, *OF_ANY_SOURCE}, needed=needed)
    _check(f"{name}.format", source.get("format") or {}, FORMAT)


def _check_step(name: str, step: Any) -> None:
    kind = _only(name, step, ROWS)
    if kind in ("keep", "drop"):
        _check(f"{name}.{kind}", step[kind], ("column", "values"), needed=("column", "values"))
    elif kind == "sample":
        _check(f"{name}.{kind}", step[kind], ("size", "seed"), needed=("size", "seed"))


def _check_public(rule: Any) -> None:
    if rule is not None:
        _check("public", rule, (*PUBLIC, "seed", "values", "size"))
        kind = next(iter({*PUBLIC} & {*rule}), None)
        if kind is None:
            raise ConfigurationError(f"public={dict(rule)} must have one of {', '.join(PUBLIC)}")
        if kind == "sample":
            _check("public", rule, ("sample", "seed"), needed=("seed",))


def _check_target(rule: Any) -> None:
    if isinstance(rule, Mapping):
        _check("target", rule, TARGET, needed=("column",))
        if {*rule} - {"column"} not in ({"positive", "negative"}, {"clip"}, {"log"}):
            raise ConfigurationError(f"target={dict(rule)} must have positive and negative, clip, or log")


def _check_features(features: Any) -> None:
    if isinstance(features, Mapping):
        _check("features", features, ("all_except",), needed=("all_except",))
        return
    for k, item in enumerate(features):
        if isinstance(item, Mapping):
            _check(f"features[{k}]", item, ("column", *FEATURE), needed=("column",))
            _only(f"features[{k}]", {key: value for key, value in item.items() if key != "column"}, FEATURE)


def _only(name: str, mapping: Any, known: Mapping[str, str]) -> str:
    """The one key of a mapping."""
    _check(name, mapping, known)
    if len(mapping) != 1:
        raise ConfigurationError(f"{name} must have exactly one of {', '.join(known)}")
    return str(next(iter(mapping)))


def _check(name: str, mapping: Any, known: Iterable[str], needed: Iterable[str] = ()) -> None:
    if not isinstance(mapping, Mapping):
        kind = "list" if isinstance(mapping, Sequence) and not isinstance(mapping, str) else "value"
        raise ConfigurationError(f"{name} is a {kind} and must be a mapping of {', '.join(known)}")
    known = tuple(known)
    for key in mapping:
        if key not in known:
            raise unknown_key(f"{name}: unknown key", str(key), known)
    for key in needed:
        if key not in mapping:
            raise ConfigurationError(f"{name}: key {key!r} is missing")
