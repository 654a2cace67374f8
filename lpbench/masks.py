"""Masks from names or numbers of protected columns, one row for all users, or a function of the table.

``through`` carries a mask over a scikit-learn transformer: every output column is as protected as what it is made of.
"""

from collections.abc import Collection, Mapping
from copy import copy
from typing import Any

import numpy as np

from lpbench.errors import DataError, unknown_key


def as_mask(mask: Any, X: Any) -> np.ndarray:
    """Return the boolean mask of a table: True where a user protects a feature.

    Parameters
    ----------
    mask : array-like, Series, mapping, DataFrame or callable
        Names or numbers of the columns that everybody protects, a name being all columns of that name; a boolean row of
        shape (d,) for all users; an array of shape (n, d); a Series, mapping or DataFrame, which is matched by the
        columns of X and, with a row for each user, by its index; or a function of X that returns one of these.
    X : array-like or DataFrame of shape (n, d)
        Table whose shape, column names and index the mask is matched with.

    Returns
    -------
    bool ndarray of shape (n, d)
        True where a user protects a feature.

    Raises
    ------
    DataError
        A label is unknown or missing, or the shape is neither (d,) nor (n, d).

    Examples
    --------
    >>> import numpy as np
    >>> from lpbench.masks import as_mask
    >>> as_mask([0], np.zeros((2, 3))).tolist()
    [[True, False, False], [True, False, False]]
    """
    n, d = np.shape(X)
    if type(mask) is np.ndarray and mask.dtype == bool and mask.shape == (n, d):
        return mask
    stated = _stated(mask(X) if callable(mask) else mask, d, _names(X), X)
    if stated.ndim == 1:
        return np.broadcast_to(stated, (n, d)).copy()
    if len(stated) != n:
        raise DataError(f"mask has shape {stated.shape}, expected the shape of X, {(n, d)}")
    return stated


def as_groups(groups: Any, X: Any) -> np.ndarray:
    """Number of the categorical feature of which each column is a level, -1 of none, (d,), by names or numbers."""
    d, names = np.shape(X)[1], _names(X)
    groups_of = np.full(d, -1)
    for number, columns in enumerate(groups):
        for column in [columns] if isinstance(columns, (str, int, np.integer)) else columns:
            places = _positions(int(column) if isinstance(column, np.integer) else column, d, names)
            if (groups_of[places] >= 0).any():
                raise DataError(f"groups names column {column!r} twice; list the levels of each feature once")
            groups_of[places] = number
    return groups_of


def through(transformer: Any, mask: Any, X: Any = None) -> np.ndarray:
    """Return the mask of what a fitted transformer makes of a table.

    A user protects an output column if she protects any column that it is made of. Which these are follows from the
    names of the output (the levels of a OneHotEncoder go together); a column whose name does not tell, such as a
    principal component, is made of all.

    Parameters
    ----------
    transformer : transformer, ColumnTransformer, FeatureUnion or Pipeline
        Fitted to a table with d columns.
    mask : array-like, Series, mapping, DataFrame or callable
        Mask of the table before the transformer, in any form that :func:`as_mask` takes.
    X : array-like or DataFrame of shape (n, d), optional
        The table before the transformer, for a mask that is a function of it.

    Returns
    -------
    bool ndarray of shape (d_out,) or (n, d_out)
        True where an output column is protected: one row for all users, or a row each, as the mask was given.

    Raises
    ------
    DataError
        If the mask is a function and the table is not given, or does not fit the transformer's input.

    Examples
    --------
    >>> import pandas as pd
    >>> from lpbench.masks import through
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> X = pd.DataFrame({"sex": ["f", "m"], "smokes": ["no", "yes"]})
    >>> through(OneHotEncoder().fit(X), ["sex"], X).tolist()
    [True, True, False, False]
    """
    names = _names(X) if X is not None else getattr(transformer, "feature_names_in_", None)
    if callable(mask):
        if X is None:
            raise DataError("mask is a function of the table: pass the table as through(transformer, mask, X)")
        mask = mask(X)
    stated = _stated(mask, int(transformer.n_features_in_), None if names is None else list(names), X)
    made = _made_of(transformer, stated.shape[-1])
    return np.asarray((stated[..., None, :] & made).any(axis=-1))


def _names(X: Any) -> list[Any] | None:
    return list(X.columns) if hasattr(X, "columns") else None


def _labels(table: Any) -> list[Any] | None:
    index = getattr(table, "index", None)
    return None if index is None or callable(index) else list(index)


def _stated(mask: Any, d: int, names: list[Any] | None, X: Any = None) -> np.ndarray:
    """The mask as a boolean array of shape (d,) or (n, d); what has labels is matched by them.

    ``names`` are the columns of X (None: no names). DataError for a wrong shape or values other than 0 and 1.
    """
    columns_of, labels = list(range(d)) if names is None else names, _labels(mask)
    by_label = isinstance(mask, Mapping) or hasattr(mask, "columns")
    rows = (_labels(X) or list(range(len(X) if X is not None else 0))) if by_label else []
    if isinstance(mask, Mapping):
        _check_same(mask, columns_of, "columns")
        columns = (_by_rows(np.asarray(mask[name]), _labels(mask[name]), rows) for name in columns_of)
        values = np.stack(np.broadcast_arrays(*columns), axis=-1)
    elif hasattr(mask, "columns"):
        values = _by_rows(np.asarray(mask)[:, _order(list(mask.columns), columns_of, "columns")], labels, rows)
    else:
        values = np.asarray([mask] if isinstance(mask, str) else mask)
        if values.dtype == object and values.size and all(isinstance(v, (bool, np.bool_)) for v in values.flat):
            values = values.astype(bool)
        if labels is not None and (values.dtype == bool or (set(labels) == set(columns_of) and names is not None)):
            values = values[_order(labels, columns_of, "columns")]
        elif values.ndim == 1 and values.dtype != bool:
            return _named(values.tolist(), d, names)
    if values.ndim not in (1, 2) or values.shape[-1] != d:
        raise DataError(
            f"mask has shape {values.shape}, expected one row of {d} features for all users, or one row for each user"
        )
    plain = values.dtype != object or all(isinstance(v, (bool, int, float)) for v in values.flat)  # pandas' NA is none
    if values.dtype != bool and not (plain and np.isin(values, (0, 1)).all()):
        raise DataError("mask has values other than 0/1 (or False/True); 1 means that the feature is protected")
    return values.astype(bool, copy=False)


def _by_rows(values: np.ndarray, labels: list[Any] | None, rows: list[Any]) -> np.ndarray:
    """Values (n, ...) in the order of ``rows``, the labels of X, where they have as many labels; else as they are."""
    return values if labels is None or len(labels) != len(rows) else values[_order(labels, rows, "rows")]


def _check_same(labels: Collection[Any], expected: Collection[Any], what: str) -> None:
    for label in [*labels, *expected]:
        if label not in expected or label not in labels:
            if isinstance(label, str) and what == "columns" and all(isinstance(name, int) for name in expected):
                raise _without_names(label)
            raise DataError(f"mask and X must have the same {what}; {label!r} is in one of them alone")


def _order(labels: list[Any], expected: list[Any], what: str) -> list[int]:
    """Positions of the expected labels in ``labels``; an error names missing and unknown ones."""
    if labels == expected:
        return list(range(len(expected)))
    position = {label: k for k, label in enumerate(labels)}
    _check_same(position, dict.fromkeys(expected), what)
    if len(position) < len(labels) or len(labels) != len(expected):
        raise DataError(f"mask and X have {what} of the same name, in another order; give mask the {what} of X")
    return [position[label] for label in expected]


def _named(columns: list[Any], d: int, names: list[Any] | None) -> np.ndarray:
    """Mask (d,) for all users, from names or numbers of protected columns; DataError for one that is named twice."""
    row = np.zeros(d, dtype=bool)
    for column in columns:
        places = _positions(column, d, names)
        if row[places].any():
            raise DataError("mask names a column twice; one row for all users is boolean, True = protected")
        row[places] = True
    return row


def _positions(column: Any, d: int, names: list[Any] | None) -> list[int]:
    """Columns, by position, of that name, which may be several, or number; DataError for an unknown one."""
    if names is not None and column in names:
        return [position for position, name in enumerate(names) if name == column]
    if isinstance(column, str) and names is None:
        raise _without_names(column)
    if isinstance(column, int) and 0 <= column < d:
        return [column]
    columns = range(d) if names is None else names
    raise unknown_key("mask: X has no column", str(column), map(str, columns))


def _without_names(column: str) -> DataError:
    return DataError(
        f"mask names column {column!r}, but X has no names; pass a DataFrame, or numbers of columns. A transformer in "
        "front keeps names by set_output(transform='pandas'), and lpbench.masks.through(transformer, mask) carries the "
        "mask over it"
    )


def _made_of(transformer: Any, d: int) -> np.ndarray:
    """Return the input columns that each output column is made of, boolean of shape (d_out, d)."""
    if isinstance(transformer, str):  # "passthrough"
        return np.eye(d, dtype=bool)
    if hasattr(transformer, "steps"):
        made = np.eye(d, dtype=bool)
        for _, step in transformer.steps:
            if step is not None:
                made = (_made_of(step, len(made)).astype(int) @ made.astype(int)) > 0
        return made
    if hasattr(transformer, "transformer_list"):
        parts = [step for _, step in transformer.transformer_list if step != "drop"]
        return np.concatenate([_made_of(step, d) for step in parts])
    if hasattr(transformer, "output_indices_"):
        return _of_columns(transformer, d)
    twin, tags = copy(transformer), [f"\x02{j}\x03" for j in range(d)]
    vars(twin).pop("feature_names_in_", None)  # names of the output are to be made of tags instead
    try:
        written = twin.get_feature_names_out(np.array(tags, dtype=object))
    except AttributeError as error:
        raise DataError(
            f"{type(transformer).__name__} names no output columns; give it get_feature_names_out, or state the mask "
            "of its output"
        ) from error
    made = np.array([[tag in str(name) for tag in tags] for name in written], dtype=bool).reshape(-1, d)
    return made | ~made.any(axis=1, keepdims=True)


def _of_columns(transformer: Any, d: int) -> np.ndarray:
    """Return the input columns behind each output column of a ColumnTransformer, boolean of shape (d_out, d)."""
    names = list(getattr(transformer, "feature_names_in_", []))
    made = np.zeros((max(output.stop for output in transformer.output_indices_.values()), d), dtype=bool)
    for name, step, columns in transformer.transformers_:
        listed: Any = [columns] if isinstance(columns, (str, int)) else columns
        if not isinstance(listed, slice):
            listed = [names.index(c) if isinstance(c, str) else c for c in listed]
        inputs = np.arange(d)[listed if isinstance(listed, slice) or len(listed) else slice(0)]
        if inputs.size and step != "drop":
            rows = np.arange(len(made))[transformer.output_indices_[name]]
            made[np.ix_(rows, inputs)] = _made_of(step, inputs.size)
    return made
