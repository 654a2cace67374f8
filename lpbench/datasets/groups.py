"""Groups of columns that are protected together: the levels of a one-hot column, and columns that tell the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lpbench.datasets.manifest import Manifest
from lpbench.errors import DataError


def group_names(manifest: Manifest, columns: Sequence[str]) -> list[str]:
    """Return the name of the group of every column: its own name where it is alone.

    Raises
    ------
    DataError
        A listed column is no feature, or is listed twice.
    """
    source = dict(zip(columns, columns, strict=True))
    if not isinstance(manifest.features, Mapping):
        for item in manifest.features:
            if isinstance(item, Mapping) and "one_hot" in item:
                source.update({f"{item['column']}={level}": item["column"] for level in item["one_hot"]})
    owner: dict[str, str] = {}
    known = set(source.values())
    for group, members in manifest.groups.items():
        for member in map(str, members):
            if member not in known:
                raise DataError(f"data set {manifest.name}: group {group!r} lists {member!r}, which is not a feature")
            if member in owner:
                raise DataError(
                    f"data set {manifest.name}: {member!r} is in the groups {owner[member]!r} and {group!r}"
                )
            owner[member] = str(group)
    return [owner.get(source[column], source[column]) for column in columns]


def group_numbers(names: Sequence[str]) -> np.ndarray:
    """Number the groups in the order in which they first occur: int ndarray, one entry a column."""
    number = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], dtype=np.int64)
