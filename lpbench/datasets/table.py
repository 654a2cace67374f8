"""The canonical table of a data set, whatever file it came from, and its fingerprint."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from lpbench.errors import DataError


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of one data set after preprocessing, unscaled, in the order of the source."""

    #: Features in the units of the source, float64 of shape (n, d); categories coded as the manifest says. No missing
    #: values.
    X: np.ndarray
    y: np.ndarray  #: Label, float64 of shape (n,) (classification: 0 or 1).
    columns: tuple[str, ...]  #: The d names of the features.
    #: Boolean, shape (n,): true for the rows of the public sample (LPCT's data sets); None where the data set has no
    #: public part.
    public: np.ndarray | None = None
    #: Number of the person or household of each row, shape (n,); None where every row is somebody else's.
    units: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.X.shape != (self.y.size, len(self.columns)):
            raise DataError(
                f"table: X has shape {self.X.shape}, but there are {self.y.size} labels and "
                f"{len(self.columns)} column names"
            )

    @cached_property
    def fingerprint(self) -> dict:
        """Shape, hash of the column names, hash of the canonical values (:func:`value_hash`)."""
        return {
            "rows": self.X.shape[0],
            "features": self.X.shape[1],
            "public": 0 if self.public is None else int(self.public.sum()),
            "columns": hashlib.sha256("\n".join(self.columns).encode()).hexdigest(),
            "values": value_hash(self.X, self.y, self.public, self.units),
        }

    def select(self, rows: np.ndarray) -> Self:
        """Return the table of some rows.

        Parameters
        ----------
        rows : int or bool ndarray
            Indices, or a mask of shape (n,).

        Returns
        -------
        Table
            The rows with the same columns.
        """
        public, units = (None if column is None else column[rows] for column in (self.public, self.units))
        return type(self)(self.X[rows], self.y[rows], self.columns, public, units)


def value_hash(X: np.ndarray, y: np.ndarray, public: np.ndarray | None = None, units: np.ndarray | None = None) -> str:
    """The sha256 of little-endian float64, row by row (X, y, public flags, units); -0.0 and 0.0 are alike."""
    digest = hashlib.sha256()
    for array in (X, y):
        digest.update(np.ascontiguousarray(array + 0.0, dtype="<f8").tobytes())
    if public is not None:
        digest.update(np.ascontiguousarray(public, dtype=np.uint8).tobytes())
    if units is not None:
        digest.update(np.ascontiguousarray(units, dtype="<i8").tobytes())
    return digest.hexdigest()


def check_fingerprint(computed: Mapping, promised: Mapping, name: str, origin: str) -> None:
    """Raise DataError unless the table is what the manifest promises; what is promised as None is not compared."""
    words = {
        "rows": "number of rows",
        "features": "number of features",
        "public": "number of public rows",
        "columns": "hash of the column names",
        "values": "hash of the values",
    }
    for key, text in words.items():
        if promised.get(key) is not None and promised[key] != computed[key]:
            raise DataError(
                f"data set {name!r} from {origin}: {text} is {computed[key]}, but {name}.yaml promises "
                f"{promised[key]}; the file is another version of the data (or damaged): replace it, see `how_to_get` "
                f"in datasets/README.md; if the change is meant, write the manifest anew"
            )
