"""Parameters of a data set: known names, defaults, checks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lpbench.datasets.manifest import Manifest
from lpbench.errors import ConfigurationError, unknown_name

#: Parameters of every real data set; None stands for a default that depends on the data set.
REAL_PARAMS = {
    "split": "random",
    "test_size": None,
    "deduplicate": False,
    "sensitivity": "manifest",
    "private_fraction": 1.0,
    "n_public": None,
}
#: Share of test rows where ``test_size`` is not given: 30 % is ours (HistOfTree is silent), LPCT sec. 7 uses 20 %.
TEST_SIZE = {"regression": 0.3, "classification": 0.2}


def resolve_params(manifest: Manifest, params: Mapping | None) -> dict:
    """Merge parameters into the defaults of the data set.

    Raises
    ------
    ConfigurationError
        An unknown name, or a value of the wrong kind: a parameter whose default is a whole number is a count and must
        be a whole number >= 1; ``deduplicate`` is true or false.
    """
    known = manifest.params if manifest.synthetic else REAL_PARAMS
    for key in params or {}:
        if key not in known:
            raise unknown_name(f"parameter of data set {manifest.name}", key, known)
    resolved = {**known, **(params or {})}
    for key, default in known.items():
        value = resolved[key]
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise ConfigurationError(f"data set {manifest.name}: {key}={value!r} must be true or false")
        elif isinstance(default, int) and not (_is_whole(value) and value >= 1):
            raise ConfigurationError(f"data set {manifest.name}: {key}={value!r} must be a whole number >= 1")
    if not manifest.synthetic and resolved["test_size"] is None:
        resolved["test_size"] = TEST_SIZE[manifest.task]
    return resolved


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
