"""Keys inside a manifest's mappings, and what each means. :mod:`lpbench.datasets.schema` checks their values."""

from __future__ import annotations

from collections.abc import Mapping

_FORMAT = {"format": "how a file is written (default: a CSV whose first line names the columns)"}
_COLUMNS = {"columns": "names of the columns, where they are this source's own"}
#: Kind of a source -> its keys besides `kind`. `format`, `columns` and `options` may be left out.
SOURCES: Mapping[str, Mapping[str, str]] = {
    "file": {"files": "role -> path in the mirror, the cache, or beside the manifest", **_FORMAT, **_COLUMNS},
    "openml": {"id": "number of the data set", **_COLUMNS},
    "uci": {
        "id": "number of the data set",
        "archive": "name of the archive",
        "files": "role -> path in it",
        **_FORMAT,
        **_COLUMNS,
    },
    "embedded": {"loader": "`module:function` of an installed library", "options": "arguments of the loader"},
    "manual": {"instructions": "how a person gets the files"},
}
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
    "importance": "the same by importance in a forest on all rows, for `sensitivity=importance`",
}
BOUNDS = {
    "known": "feature -> `[low, high]`, known without the data",
    "reason": "why they are known",
    "file": "feature -> `[low, high]` of the file, rounded outward, where nothing else is known",
}
FINGERPRINT = {
    "rows": "rows of the table",
    "features": "columns of the table",
    "public": "public rows",
    "columns": "hash of the names of the columns",
    "values": "hash of the values",
}
