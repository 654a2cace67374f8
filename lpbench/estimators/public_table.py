"""PublicTable: numbers, dates, categories and missing cells of a DataFrame as features, from what is declared."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lpbench.checks import check_range
from lpbench.errors import ConfigurationError, DataError, unknown_key

#: Treatment of missing cells that adds a level or a column for them.
LEVEL = "level"


class PublicTable(TransformerMixin, BaseEstimator):
    """Turn a DataFrame into features in [0, 1] by public knowledge; nothing is learned from its rows.

    A column with a range becomes one feature, clipped to the range; a column with levels becomes one 0/1 feature for
    each level.

    Parameters
    ----------
    columns : mapping of str to (lo, hi) or list
        Tuples are ranges of numbers, or of dates written as YYYY-MM-DD; lists are the levels of a category. Both are
        public knowledge.
    missing : mapping of str to object, or "level", optional
        What a missing cell means, for each column that may have some: a public value of the column, or ``"level"``,
        which adds the feature ``<column>_missing`` (numbers and dates are then the middle of their range). ``"level"``
        alone is meant for all columns. Without it a missing cell is an error; no row is dropped.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], missing: Mapping[str, Any] | str | None = None) -> None:
        self.columns = columns
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check that the declaration is possible and that X has its columns and no other; no value of X is kept.

        Parameters
        ----------
        X : DataFrame of shape (n, d)
            Table with the declared columns.
        y : None
            Ignored, as in scikit-learn.

        Returns
        -------
        PublicTable
            The transformer itself.

        Raises
        ------
        ConfigurationError
            If a column is declared or given alone, or a declaration has no levels or an empty range.
        """
        names = list(getattr(X, "columns", ()))
        for name in [*names, *self.columns]:
            if name not in self.columns:
                raise unknown_key(
                    "X has the undeclared column",
                    str(name),
                    self.columns,
                    " Declare it in `columns`, or drop it from X.",
                )
            if name not in names:
                raise unknown_key("columns: X has no column", str(name), map(str, names))
            declared = self.columns[name]
            if isinstance(declared, tuple):
                check_range(f"columns[{name!r}]", _numbers(declared, _is_dates(declared), name).tolist())
            elif not declared:
                raise ConfigurationError(f"columns[{name!r}]={declared!r} must list the levels, or be a tuple (lo, hi)")
        self.feature_names_in_ = np.array(list(self.columns), dtype=object)
        self.n_features_in_ = len(self.columns)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Turn the declared columns into features.

        Parameters
        ----------
        X : DataFrame of shape (n, d)
            Table with the declared columns.

        Returns
        -------
        ndarray of shape (n, d_out)
            Features in [0, 1].

        Raises
        ------
        DataError
            If a cell is missing without a declared meaning, or a level is not declared.
        """
        check_is_fitted(self)
        return np.column_stack([self._feature(X[name], name) for name in self.columns])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the features: the column, or ``<column>_<level>``.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names to use in the place of the declared columns'.

        Returns
        -------
        ndarray of str of shape (d_out,)
            Names in the order of the features.
        """
        names = []
        for name, written in zip(self.columns, self.columns if input_features is None else input_features, strict=True):
            levels = [] if isinstance(self.columns[name], tuple) else self.columns[name]
            names += [f"{written}_{level}" for level in levels] if levels else [str(written)]
            names += [f"{written}_missing"] * (self._stands_for(name) == LEVEL)
        return np.array(names, dtype=object)

    def _stands_for(self, name: str) -> Any:
        """Return the declared meaning of a missing cell of a column.

        A value, ``"level"``, or None if cells must not be missing.
        """
        return self.missing.get(name) if isinstance(self.missing, Mapping) else self.missing

    def _feature(self, column: Any, name: str) -> np.ndarray:
        """Return the features of one column, shape (n, k) in [0, 1]: a scaled number, or an indicator a declared level.

        Raises DataError for missing cells without a declared meaning, and for levels that are not declared.
        """
        declared, gaps, meant = self.columns[name], np.asarray(column.isna()), self._stands_for(name)
        if gaps.any() and meant is None:
            raise DataError(
                f"column {name!r} has missing values (NaN): say what they mean, missing={{{name!r}: VALUE}} or "
                f"missing={{{name!r}: 'level'}}"
            )
        cells = column.to_numpy(dtype=object, copy=True)
        if isinstance(declared, tuple):
            dates = _is_dates(declared)
            lo, hi = _numbers(declared, dates, name)
            cells[gaps] = declared[0] if meant in (None, LEVEL) else meant
            units = (np.clip(_numbers(cells, dates, name), lo, hi) - lo) / (hi - lo)
            units[gaps & (meant == LEVEL)] = 0.5
            features = [units]
        else:
            cells[gaps] = declared[0] if meant in (None, LEVEL) else meant
            features = [(cells == level) & ~(gaps & (meant == LEVEL)) for level in declared]
            if not np.logical_or.reduce(features, initial=False)[~gaps | (meant != LEVEL)].all():
                raise DataError(
                    f"column {name!r} has a level that is not declared; list every level that may occur in "
                    f"columns[{name!r}], or map rare ones to one of them first"
                )
        return np.column_stack([*features, gaps] if meant == LEVEL else features).astype(float)


def _is_dates(declared: Sequence[Any]) -> bool:
    return not all(isinstance(end, (int, float, np.number)) for end in declared)


def _numbers(values: Any, dates: bool, name: str) -> np.ndarray:
    """Convert cells to floats: numbers, or if ``dates`` days since 1970-01-01; DataError names the column ``name``."""
    try:
        if dates:
            return np.asarray(values, dtype="datetime64[D]").astype(float)
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        written = "dates as YYYY-MM-DD, or converted by pandas.to_datetime" if dates else "numbers"
        raise DataError(f"column {name!r} must hold {written}: {type(error).__name__}") from error
