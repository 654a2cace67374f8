"""One replication of a real data set: rows, order and groups of the columns, scaling."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from lpbench.datasets import splits
from lpbench.datasets.corruption import corrupted_labels, corrupted_public
from lpbench.datasets.manifest import Manifest
from lpbench.datasets.parameters import liars_of
from lpbench.datasets.sources import task_rows
from lpbench.datasets.table import Table
from lpbench.errors import ConfigurationError, DataError
from lpbench.problem import Problem
from lpbench.seeds import Streams


def draw_real(table: Table, manifest: Manifest, params: Mapping, streams: Streams, replication: int) -> Problem:
    """Split, order and scale the rows of a table.

    The problem's ``context`` holds ``columns`` (feature names in their order), ``groups`` (number of each feature's
    group), ``rows`` (table row of each training row) and ``scaling``; with a ``unit``, also its name, ``units`` (of
    each training row) and ``rows_per_unit``.
    """
    private, public = kept_rows(table, params["deduplicate"])
    units = None if table.units is None else np.unique(table.units[private], return_inverse=True)[1]
    n, share, split = private.size, params["test_size"], params["split"]
    if split == "openml":
        train, test = map(streams.generator("split").permutation, task_rows(manifest, private, replication))
        n, share = train.size, 0.0
    else:
        train, test = splits.train_test_rows(n, share, split, streams, replication, units)
    train = train[: splits.n_train_rows(n, share, params["private_fraction"])]
    if params["rows_per_unit"] is not None:
        if units is None:
            raise ConfigurationError(f"data set {manifest.name}: rows_per_unit, but its manifest names no `unit`")
        train = train[splits.first_of_units(units[train], params["rows_per_unit"])]
    of_train = None if units is None else units[train]
    train, test = private[train], private[test]
    if not train.size or not test.size or not table.columns:
        raise DataError(
            f"data set {manifest.name}: {table.y.size} rows with {len(table.columns)} features leave {train.size} "
            f"training and {test.size} test rows; check `rows`, `public` and `features` of its manifest"
        )
    order = sensitivity_order(manifest, table, params["sensitivity"], streams)
    if table.public is None:
        if params["n_public"] is not None:
            raise ConfigurationError(f"data set {manifest.name} has no public rows; leave n_public out")
        train, public = splits.publish_rows(train, params["public_share"], of_train)
        reference, scaling = table.X[private], "all rows"
        if params["scaling"] == "bounds":
            reference, scaling = manifest.feature_bounds(table.columns), "bounds of the manifest"
    else:
        if params["public_share"]:
            raise ConfigurationError(
                f"data set {manifest.name}: public_share={params['public_share']!r}, but it has public rows of its "
                "own; choose their number by n_public"
            )
        public = public[splits.public_rows(public.size, params["n_public"], streams)]
        reference, scaling = table.X[public], "public sample"

    y = table.y if manifest.task == "regression" else table.y.astype(int)
    y, y_range = corrupted_labels(y, manifest.label_range(params["label_range"]), params["labels"], streams)
    parts = {"train": train, "test": test} | ({"public": public} if public.size else {})
    ends, arrays = np.stack([reference.min(axis=0), reference.max(axis=0)]), {}
    for name, rows in parts.items():
        X = _scaled(table, ends.tobytes())[rows][:, order]
        arrays[f"X_{name}"] = X if min(X.strides) > 0 else np.ascontiguousarray(X)
    if scaling == "bounds of the manifest":
        arrays = {name: X.clip(0.0, 1.0) for name, X in arrays.items()}
    arrays |= {f"y_{name}": y[rows] for name, rows in parts.items()}
    further: dict[str, object] = {}
    if params["liars"] or params["defense"] != "none":
        further["liars"] = liars_of(params)
    if manifest.group:
        column = group_column(manifest, table)
        further["group"] = (table.X[test, column] > manifest.group["above"]).astype(int)
    if of_train is not None:  # who has several rows spends as many times epsilon
        of_train = of_train[: train.size]
        further |= {"unit": manifest.unit, "units": of_train, "rows_per_unit": int(np.bincount(of_train).max())}
    if public.size:
        sample = arrays["X_public"], arrays["y_public"]
        arrays["X_public"], arrays["y_public"] = corrupted_public(*sample, params["public_sample"], streams)
    columns, level_of = np.array(table.columns)[order].tolist(), _source(manifest)
    return Problem(
        **arrays,
        y_range=y_range,
        metric=params["metric"],
        classes=np.arange(n_classes(manifest)) if manifest.task == "classification" else None,
        replication=replication,
        context={
            "columns": tuple(columns),
            "levels": group_numbers([level_of.get(column, "") for column in columns]),
            "groups": group_numbers(np.array(group_names(manifest, table.columns))[order].tolist()),
            "rows": train,
            "scaling": scaling,
            **further,
        },
    )


@lru_cache(maxsize=1)
def _scaled(table: Table, ends: bytes) -> np.ndarray:
    """All features (n, d), scaled to [0, 1] by ``ends``, the bytes of their (minima, maxima); the last is kept."""
    return splits.min_max_scale(table.X, np.frombuffer(ends).reshape(2, -1))


def n_classes(manifest: Manifest) -> int:
    """Return the number of classes of a manifest's label."""
    return len(manifest.target.get("classes", "01")) if isinstance(manifest.target, Mapping) else 2


def group_column(manifest: Manifest, table: Table) -> int:
    """Column of the table that says which of two groups a person is of."""
    name = str(manifest.group["column"])
    if name not in table.columns:
        raise DataError(f"data set {manifest.name}: group names {name!r}, which is no feature")
    return list(table.columns).index(name)


def kept_rows(table: Table, deduplicate: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the private and the public rows of a table, each in file order."""
    rows = np.arange(table.y.size)
    if deduplicate:
        rows = splits.first_occurrences(table.X, table.y, table.public)
    if table.public is None:
        return rows, rows[:0]
    return rows[~table.public[rows]], rows[table.public[rows]]


def sensitivity_order(manifest: Manifest, table: Table, choice: str, streams: Streams) -> np.ndarray | slice:
    """Columns of the table, most sensitive first, by choice; a full slice, which copies nothing, if unmoved."""
    unchanged = slice(None)
    if choice == "columns":
        return unchanged
    if choice == "random":
        return streams.generator("sensitivity").permutation(len(table.columns))
    if choice == "group":
        chosen = group_column(manifest, table)
        return np.array([chosen, *(k for k in range(len(table.columns)) if k != chosen)])
    if choice not in ("manifest", "reversed", "importance"):
        choices = "manifest, columns, reversed, random, importance or group"
        raise ConfigurationError(f"sensitivity={choice!r} must be {choices}")
    if choice == "importance" and "importance" not in manifest.sensitivity:
        raise ConfigurationError(f"data set {manifest.name}: its manifest states no `importance` of the features")
    first = manifest.sensitivity.get("importance" if choice == "importance" else "order", "columns")
    if first == "columns":
        return unchanged if choice == "manifest" else slice(None, None, -1)
    position = {name: [k] for k, name in enumerate(table.columns)}
    groups = group_names(manifest, table.columns)
    position |= {group: [k for k, name in enumerate(groups) if name == group] for group in dict.fromkeys(groups)}
    if unknown := [name for name in first if str(name) not in position]:
        raise DataError(f"data set {manifest.name}: sensitivity names {unknown[0]!r}, which is no feature and no group")
    ranked = [k for name in first for k in position[str(name)]]
    columns = np.array(list(dict.fromkeys([*ranked, *range(len(groups))])))
    return columns[::-1] if choice == "reversed" else columns


def _source(manifest: Manifest) -> dict[str, str]:
    """Map each one-hot column to the categorical feature that it is a level of."""
    items = [] if isinstance(manifest.features, Mapping) else manifest.features
    coded = [item for item in items if isinstance(item, Mapping) and "one_hot" in item]
    return {f"{item['column']}={level}": item["column"] for item in coded for level in item["one_hot"]}


def group_names(manifest: Manifest, columns: Sequence[str]) -> list[str]:
    """Return the name of the group of every column: its own name where it is alone."""
    source = dict(zip(columns, columns, strict=True)) | _source(manifest)
    owner: dict[str, str] = {}
    sources = set(source.values())
    for group, members in manifest.groups.items():
        for member in map(str, members):
            if member not in sources:
                raise DataError(f"data set {manifest.name}: group {group!r} lists {member!r}, which is not a feature")
            if member in owner:
                raise DataError(
                    f"data set {manifest.name}: {member!r} is in the groups {owner[member]!r} and {group!r}"
                )
            owner[member] = str(group)
    return [owner.get(source[column], source[column]) for column in columns]


def group_numbers(names: Sequence[str]) -> np.ndarray:
    """Number the groups in the order in which they first occur: int ndarray, one entry per column; -1: of no name."""
    number = {name: k for k, name in enumerate(filter(None, dict.fromkeys(names)))}
    return np.array([number.get(name, -1) for name in names], dtype=np.int64)
