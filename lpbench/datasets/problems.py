"""One replication of a data set under a mask: what the harness and a user call."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pkgutil import resolve_name

import numpy as np

from lpbench.datasets import splits
from lpbench.datasets.manifest import Manifest, load_manifest
from lpbench.datasets.masks import make_mask, read_mask
from lpbench.datasets.sources import how_to_get, is_available, load_table
from lpbench.datasets.table import Table
from lpbench.errors import ConfigurationError, DataError, unknown_name
from lpbench.problem import Problem
from lpbench.seeds import Streams

#: Parameters of every real data set.
REAL_PARAMS = {
    "split": "random",
    "test_size": None,
    "deduplicate": False,
    "sensitivity": "manifest",
    "private_fraction": 1.0,
    "n_public": None,
}
#: Share of test rows where ``test_size`` is not given: H is silent on it (30 % is ours), L sec. 7 uses 20 %.
TEST_SIZE = {"regression": 0.3, "classification": 0.2}


@dataclass(frozen=True)
class Description:
    """Facts about a data set under given parameters, known without drawing a replication.

    ``n_train``, ``n_test`` and ``n_public`` are None where they need a table that is not at hand. ``fingerprint`` is
    a hash of everything that determines the draws except seed and parameters.
    """

    name: str
    title: str
    task: str
    metric: str
    n_train: int | None
    n_test: int | None
    n_features: int
    n_public: int | None
    y_range: tuple[float, float] | None
    fingerprint: str
    available: bool
    how_to_get: str


def make_problem(
    dataset: str,
    dataset_params: Mapping | None = None,
    mask: str | None = None,
    mask_params: Mapping | None = None,
    replication: int = 0,
    seed: int = 0,
) -> Problem:
    """Draw one replication.

    Splits and draws depend on (seed, data set, replication) alone, neither on the mask nor on sample sizes; the order
    of the users in the mask depends on (seed, data set, mask name, replication).

    Parameters
    ----------
    dataset : str
        Name of a manifest.
    dataset_params : mapping, optional
        Real data: ``split`` (random | published), ``test_size`` (None: 0.3 for regression, 0.2 of the private rows for
        classification), ``deduplicate``, ``sensitivity`` (manifest | columns | reversed | random: order of the
        columns), ``private_fraction`` (share of the training rows that is used), ``n_public`` (None: all).
        Synthetic families: the parameters of the manifest.
    mask : str, optional
        Name of a mask; None leaves ``Problem.mask`` None, which means that every feature is protected.
    mask_params : mapping, optional
    replication, seed : int

    Returns
    -------
    Problem
        Regression: features min-max scaled on all rows of the data set (H App. C.2), columns in the order of
        sensitivity. Classification: features scaled by the range of the public sample (L sec. 7.1), so private and
        test rows may fall outside [0, 1].

    Raises
    ------
    ConfigurationError
        Unknown data set, mask or parameter, or an impossible value.
    DataError, MissingDataError
        The data are damaged or not at hand.
    """
    manifest = load_manifest(dataset)
    params = _resolve(manifest, dataset_params)
    streams = Streams(seed).child("data", dataset=manifest.draws_as or manifest.name, replication=replication)
    draw = _draw_synthetic if manifest.synthetic else _draw_real
    problem = draw(manifest, params, streams, replication)
    _check_scaled(problem, manifest)
    if mask is None:
        return problem
    generator = Streams(seed).generator("mask", dataset=manifest.name, mask=mask, replication=replication)
    return replace(problem, mask=_mask(mask, dict(mask_params or {}), problem, generator))


def describe(dataset: str, dataset_params: Mapping | None = None) -> Description:
    """Return the facts about a data set; nothing is drawn and, where avoidable, nothing read."""
    manifest = load_manifest(dataset)
    params = _resolve(manifest, dataset_params)
    sizes = _synthetic_sizes(manifest, params) if manifest.synthetic else _real_sizes(manifest, params)
    available = bool(manifest.synthetic) or is_available(manifest)
    return Description(
        name=manifest.name,
        title=manifest.title,
        task=manifest.task,
        metric=manifest.score,
        y_range=None if manifest.y_range is None else tuple(map(float, manifest.y_range)),
        fingerprint=_identity(manifest, available),
        available=available,
        how_to_get="" if available else how_to_get(manifest),
        **sizes,
    )


def _resolve(manifest: Manifest, params: Mapping | None) -> dict:
    """Merge parameters into the defaults; an unknown one is an error."""
    known = manifest.params if manifest.synthetic else REAL_PARAMS
    for key in params or {}:
        if key not in known:
            raise unknown_name(f"parameter of data set {manifest.name} ", key, known)
    resolved = {**known, **(params or {})}
    for key, default in known.items():
        if isinstance(default, int) and not isinstance(default, bool):
            _check_count(manifest.name, key, resolved[key])
    return resolved


def _check_count(name: str, key: str, value) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ConfigurationError(f"data set {name}: {key}={value!r} must be a whole number >= 1")


def _draw_synthetic(manifest: Manifest, params: dict, streams: Streams, replication: int) -> Problem:
    problem = resolve_name(manifest.synthetic)(streams, params, replication)
    context = {"columns": tuple(f"x{k + 1}" for k in range(problem.X_train.shape[1])), **problem.context}
    return replace(problem, metric=manifest.score, replication=replication, context=context)


def _draw_real(manifest: Manifest, params: dict, streams: Streams, replication: int) -> Problem:
    table = load_table(manifest.name)
    rows = np.arange(table.y.size)
    if params["deduplicate"]:
        rows = splits.first_occurrences(table.X, table.y, table.public)
    public = rows[:0] if table.public is None else rows[table.public[rows]]
    private = rows if table.public is None else rows[~table.public[rows]]
    test_size = _test_size(manifest, params)
    train, test = splits.train_test_rows(private.size, test_size, params["split"], streams, replication)
    train, test = (
        private[train[: splits.n_train_rows(private.size, test_size, params["private_fraction"])]],
        private[test],
    )
    order = sensitivity_order(manifest, table, params["sensitivity"], streams)
    y = table.y if manifest.task == "regression" else table.y.astype(int)
    shared = {
        "y_train": y[train],
        "y_test": y[test],
        "metric": manifest.score,
        "replication": replication,
        "context": {"columns": tuple(table.columns[k] for k in order), "rows": train, "n_rows": table.y.size,
                    "order": order},
    }  # fmt: skip
    if table.public is None:
        if params["n_public"] is not None:
            raise ConfigurationError(
                f"data set {manifest.name}: n_public={params['n_public']!r}, but it has no public rows"
            )
        X = splits.min_max_scale(table.X, table.X[rows])[:, order]
        return Problem(X_train=X[train], X_test=X[test], y_range=_y_range(manifest), **shared)
    public = public[splits.public_rows(public.size, params["n_public"], streams)]
    low_high = table.X[public][:, order]
    scaled = {part: splits.min_max_scale(table.X[index][:, order], low_high)
              for part, index in {"X_train": train, "X_test": test, "X_public": public}.items()}  # fmt: skip
    classes = np.array([0, 1]) if manifest.task == "classification" else None
    return Problem(**scaled, y_public=y[public], y_range=_y_range(manifest), classes=classes, **shared)


def _y_range(manifest: Manifest) -> tuple[float, float] | None:
    return None if manifest.y_range is None else (float(manifest.y_range[0]), float(manifest.y_range[1]))


def _test_size(manifest: Manifest, params: Mapping) -> float:
    return TEST_SIZE[manifest.task] if params["test_size"] is None else params["test_size"]


def sensitivity_order(manifest: Manifest, table: Table, choice: str, streams: Streams) -> np.ndarray:
    """Return the columns of the table, most sensitive first.

    Parameters
    ----------
    choice : {"manifest", "columns", "reversed", "random"}
        The manifest's order, the file's, the manifest's backwards, or one drawn per replication.
    """
    columns = np.arange(len(table.columns))
    if choice == "columns":
        return columns
    if choice == "random":
        return streams.generator("sensitivity").permutation(columns)
    if choice not in ("manifest", "reversed"):
        raise ConfigurationError(f"sensitivity={choice!r} must be manifest, columns, reversed or random")
    first = manifest.sensitivity.get("order", "columns")
    if first != "columns":
        position = {name: k for k, name in enumerate(table.columns)}
        if unknown := [name for name in first if str(name) not in position]:
            raise DataError(f"data set {manifest.name}: sensitivity names {unknown[0]!r}, which is not a feature")
        ranked = [position[str(name)] for name in first]
        columns = np.array(ranked + [k for k in columns if k not in set(ranked)])
    return columns[::-1] if choice == "reversed" else columns


def _check_scaled(problem: Problem, manifest: Manifest) -> None:
    """Refuse features that were not brought to [0, 1] (by all rows, or by the public sample where there is one)."""
    if problem.context.get("scaling") == "range unknown":
        return
    parts = ("X_train", "X_test") if problem.X_public is None else ("X_public",)
    for part in parts:
        X = getattr(problem, part)
        if not np.isfinite(X).all() or X.min() < 0 or X.max() > 1:
            raise DataError(
                f"data set {manifest.name!r}: {part} has values in [{X.min():g}, {X.max():g}], expected [0, 1]; scale "
                f"the features before they reach make_problem"
            )


def _mask(name: str, params: dict, problem: Problem, generator: np.random.Generator) -> np.ndarray:
    """Draw the mask of the training rows, or read it where ``name`` is "file".

    A file has one row per row of the data set (columns in file order: they follow the data through split and
    reordering) or one per training row (columns in the order of sensitivity).
    """
    n, d = problem.X_train.shape
    if name != "file":
        return make_mask(name, n, d, generator, params)
    path = params.pop("path", None)
    if params or path is None:
        raise ConfigurationError(f"mask file: give `path` and nothing else (got path={path!r}, {params})")
    mask = read_mask(str(path))
    if mask.shape == (problem.context.get("n_rows"), d):
        return mask[problem.context["rows"]][:, problem.context["order"]]
    if mask.shape != (n, d):
        raise DataError(
            f"mask file {path!r} has shape {mask.shape}, expected ({n}, {d}), the training rows x features, or one row "
            f"per row of the data set"
        )
    return mask


def _synthetic_sizes(manifest: Manifest, params: Mapping) -> dict:
    sizes = {key: params[value] if isinstance(value, str) else value for key, value in manifest.shape.items()}
    return {key: sizes.get(key, 0) for key in ("n_train", "n_test", "n_features", "n_public")}


def _real_sizes(manifest: Manifest, params: Mapping) -> dict:
    promised = manifest.fingerprint
    rows, public = promised.get("rows"), promised.get("public", 0)
    if params["deduplicate"]:
        if not is_available(manifest):
            return {"n_train": None, "n_test": None, "n_features": promised["features"], "n_public": None}
        table = load_table(manifest.name)
        kept = splits.first_occurrences(table.X, table.y, table.public)
        rows, public = kept.size, 0 if table.public is None else int(table.public[kept].sum())
    private, test_size = rows - public, _test_size(manifest, params)
    return {
        "n_train": splits.n_train_rows(private, test_size, params["private_fraction"]),
        "n_test": splits.n_test_rows(private, test_size),
        "n_features": promised["features"],
        "n_public": public if params["n_public"] is None else params["n_public"],
    }


def _identity(manifest: Manifest, available: bool) -> str:
    """Hash of what determines the draws: the table and how it is used, or the source of a synthetic family."""
    facts = {"task": manifest.task, "metric": manifest.score, "draws_as": manifest.draws_as or manifest.name}
    if manifest.synthetic:
        module = inspect.getmodule(resolve_name(manifest.synthetic))
        facts |= {"function": manifest.synthetic, "params": manifest.params, "source": inspect.getsource(module)}
    else:
        # A file nobody could hash yet has no promised value hash: then the table at hand decides.
        known = manifest.fingerprint.get("values") is not None or not available
        table = manifest.fingerprint if known else load_table(manifest.name).fingerprint
        facts |= {"table": table, "y_range": manifest.y_range, "sensitivity": manifest.sensitivity.get("order")}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
