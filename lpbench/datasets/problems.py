"""One replication of a data set under a mask: the entry point of the harness."""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from pkgutil import resolve_name
from typing import Self

import numpy as np

from lpbench.datasets.manifest import Manifest, load_manifest
from lpbench.datasets.masks import INFORMATIVE, make_mask, read_mask, secret_bits
from lpbench.datasets.parameters import check_sealed, resolve_params
from lpbench.datasets.real import draw_real, group_names, group_numbers
from lpbench.datasets.sources import load_table, raw_rows
from lpbench.errors import ConfigurationError, DataError, foreign
from lpbench.problem import Problem
from lpbench.seeds import Streams

#: Bytes of a scenario's first replications that are kept.
_KEPT_BYTES = 1 << 27


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
        Real data: those of :data:`lpbench.datasets.parameters.REAL`.
        Synthetic families: the parameters of the manifest.
    mask : str, optional
        Name of a mask; None leaves ``Problem.mask`` None, which means that every feature is protected.
    mask_params : mapping, optional
        Parameters of the mask.
    replication, seed : int
    replication : int
        Index of the replication.
    seed : int
        Root seed of all draws.

    Returns
    -------
    Problem
        Columns are in the order of sensitivity. Without public rows, features are scaled by the range of all rows
        (HistOfTree App. C.2), or by the manifest's bounds (``scaling=bounds``) and clipped; with public rows by their
        range (LPCT sec. 7.1), so private and test rows may fall outside [0, 1].

    Raises
    ------
    ConfigurationError
        Unknown data set, mask or parameter, an impossible value, or a sealed set without ``sealed=True``.
    DataError, MissingDataError
        The data are damaged or not at hand.
    """
    return Draws(dataset, dataset_params, mask, mask_params, seed).problem(replication)


def mask_names(dataset: str, dataset_params: Mapping | None = None) -> list[str]:
    """Columns and groups of a data set, which the header of a mask file names."""
    columns = make_problem(dataset, dataset_params).context["columns"]
    return list(dict.fromkeys(group_names(load_manifest(dataset), columns)))


class Draws:
    """The replications of one scenario: what :func:`make_problem` returns, with manifest and table read once.

    Parameters
    ----------
    dataset, dataset_params, mask, mask_params, seed
        Of :func:`make_problem`, which says what is raised.
    """

    def __init__(
        self,
        dataset: str,
        dataset_params: Mapping | None = None,
        mask: str | None = None,
        mask_params: Mapping | None = None,
        seed: int = 0,
    ):
        """Load the data set, its table once for all replications, and check its parameters as make_problem does."""
        self._manifest = load_manifest(dataset)
        self._params = resolve_params(self._manifest, dataset_params)
        check_sealed(self._manifest, self._params)
        self._mask, self._mask_params, self._streams = mask, dict(mask_params or {}), Streams(seed)
        synthetic = bool(self._manifest.synthetic)
        self._draw = _draw_synthetic if synthetic else partial(draw_real, load_table(dataset, sealed=True))
        self._kept: dict[int, Problem] = {}  # drawn before, without masks
        self._room = 0  # bytes for them

    def under(self, mask: str | None, mask_params: Mapping | None) -> Self:
        """Return the same replications under another mask.

        The first replications stay in memory, read-only, for further masks.

        Parameters
        ----------
        mask : str or None
            Name of a mask; None: every feature is protected.
        mask_params : mapping or None
            Parameters of the mask.

        Returns
        -------
        Draws
            Replications with equal rows and other masks.
        """
        twin = copy(self)
        twin._mask, twin._mask_params, twin._room = mask, dict(mask_params or {}), _KEPT_BYTES
        return twin

    def problem(self, replication: int) -> Problem:
        """Draw one replication.

        Parameters
        ----------
        replication : int
            Index of the replication.

        Returns
        -------
        Problem
            The same as :func:`make_problem` returns.
        """
        manifest, mask, problem = self._manifest, self._mask, self._kept.get(replication)
        if problem is None:
            streams = self._streams.child("data", dataset=manifest.draws_as or manifest.name, replication=replication)
            problem = self._draw(manifest, dict(self._params), streams, replication)
            check_scaled(problem, manifest.name)
            arrays = [array for array in vars(problem).values() if isinstance(array, np.ndarray)]
            if (replication + 1) * sum(array.nbytes for array in arrays) <= self._room:
                for array in arrays:
                    array.setflags(write=False)
                self._kept[replication] = problem
        if mask is None:
            return problem
        generator = self._streams.generator("mask", dataset=manifest.name, mask=mask, replication=replication)
        return replace(problem, mask=self._drawn_mask(mask, problem, generator))

    def _drawn_mask(self, name: str, problem: Problem, generator: np.random.Generator) -> np.ndarray:
        """Draw the training rows' mask, bool (n, d), or read it (``file``); columns of a group are protected together.

        ConfigurationError if a mask file does not fit the rows.
        """
        n, d = problem.X_train.shape
        params = dict(self._mask_params)
        if name != "file":
            groups = problem.context.get("groups", np.arange(d))
            secret = secret_bits(problem.X_train, problem.y_train, groups) if name in INFORMATIVE else None
            drawn = make_mask(name, n, int(groups.max()) + 1, generator, params, secret)
            return drawn if drawn.shape[1] == d else drawn[:, groups]  # groups are numbered as they occur
        path = params.pop("path", None)
        if params or path is None:
            raise ConfigurationError(f"mask file: give `path` alone: mask.params.path=FILE (got {self._mask_params})")
        names = group_names(self._manifest, problem.context["columns"])
        mask = read_mask(str(path), list(dict.fromkeys(names)))
        if len(mask) != 1:
            of_table, n_raw = ((), 0) if self._manifest.synthetic else self._raw_rows
            if len(mask) != n_raw:
                each = f", or {n_raw}, one for each row of the raw file" * bool(n_raw)
                raise ConfigurationError(
                    f"mask file {path!r} has {len(mask)} rows below its header, expected 1 for all users{each}"
                )
            mask = mask[np.array(of_table)[problem.context["rows"]]]
        return np.broadcast_to(mask[:, group_numbers(names)], (n, d)).copy()

    @cached_property
    def _raw_rows(self) -> tuple[np.ndarray, int]:
        return raw_rows(self._manifest)


def _draw_synthetic(manifest: Manifest, params: dict, streams: Streams, replication: int) -> Problem:
    """Draw a replication of a synthetic family; errors of its function name the data set and the parameters."""
    with foreign(f"data set {manifest.name}: the family {manifest.synthetic} fails with {params}"):
        problem: Problem = resolve_name(manifest.synthetic)(streams, params, replication)
    if not isinstance(problem, Problem):
        raise DataError(f"data set {manifest.name}: {manifest.synthetic} returns no Problem")
    context = {"columns": tuple(f"x{k + 1}" for k in range(problem.X_train.shape[1])), **problem.context}
    return replace(problem, metric=manifest.score, replication=replication, context=context)


def check_scaled(problem: Problem, name: str) -> None:
    """Raise DataError for features not in [0, 1], of a public sample alone if any, unless the range is unknown."""
    if problem.context.get("scaling") == "range unknown":
        return
    parts = ("X_train", "X_test") if problem.X_public is None else ("X_public",)
    for rows in parts:
        X = getattr(problem, rows)
        # Written so that NaN fails too; the ends of private values are not told.
        if not (X.min() >= 0 and X.max() <= 1):
            raise DataError(
                f"data set {name!r}: {rows} has values outside [0, 1]; scale the features before make_problem sees them"
            )
