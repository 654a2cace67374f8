"""Corrupted data: labels of another distribution, and public samples unlike the private one."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri

from lpbench.checks import check_choice
from lpbench.errors import ConfigurationError
from lpbench.seeds import Streams

Labels = Callable[[np.ndarray], np.ndarray]

#: Name -> (public range, label of a row whose rank among all rows is u in (0, 1)): the order of the labels stays.
HEAVY: Mapping[str, tuple[tuple[float, float], Labels]] = {
    "lognormal": ((0.0, 200.0), lambda u: np.exp(1.5 * ndtri(u))),
    "cauchy": ((-100.0, 100.0), lambda u: np.tan(np.pi * (u - 0.5))),
    "zeros": ((0.0, 1.0), lambda u: np.maximum(0.0, (u - 0.99) / 0.01)),
}
#: What may take the place of the recorded labels; permuted ones have nothing to do with the features.
LABELS = ("recorded", "permuted", *HEAVY)
#: How a public sample may differ from the private one.
PUBLIC_SAMPLES = ("recorded", "label_shift", "concept_drift", "missing_group")


def check_corruption(name: str, task: str, params: Mapping[str, Any]) -> None:
    """Refuse values that do not exist, or that do not fit the task."""
    labels = check_choice(f"data set {name}: labels", params["labels"], LABELS)
    public = check_choice(f"data set {name}: public_sample", params["public_sample"], PUBLIC_SAMPLES)
    if labels in HEAVY and task == "classification":
        raise ConfigurationError(f"data set {name}: labels={labels!r} are numbers; of classes, labels=permuted is left")
    if public != "recorded" and task == "regression":
        raise ConfigurationError(f"data set {name}: public_sample={public!r} is for classes; leave it out")


def corrupted_labels(
    y: np.ndarray, y_range: tuple[float, float] | None, labels: str, streams: Streams
) -> tuple[np.ndarray, tuple[float, float] | None]:
    """Replace the labels of all rows of a table by others, clipped to their public range, which is returned too."""
    if labels == "recorded":
        return y, y_range
    order = streams.generator("labels").permutation(y.size)
    if labels == "permuted":
        return y[order], y_range
    rank = np.empty(y.size)
    rank[order[np.argsort(y[order], kind="stable")]] = np.arange(1, len(y) + 1)
    bounds, law = HEAVY[labels]
    return np.clip(law((rank - 0.5) / y.size), *bounds), bounds


def corrupted_public(
    X: np.ndarray, y: np.ndarray, public_sample: str, streams: Streams
) -> tuple[np.ndarray, np.ndarray]:
    """Make a public sample of two classes, 0 and 1, unlike the private one; its size stays.

    ``label_shift``: rows are drawn again so that the classes swap their shares. ``concept_drift``: labels are swapped
    where the most sensitive feature is above its median. ``missing_group``: rows are drawn again from those where it
    is not.
    """
    if public_sample == "recorded" or y.size == 0:
        return X, y
    above = X[:, 0] > np.median(X[:, 0])
    if public_sample == "concept_drift":
        return X, np.where(above, 1 - y, y)
    share = y.mean()
    weight = np.where(y == 1, 1.0 - share, share) / np.where(y == 1, max(share, 1e-12), max(1.0 - share, 1e-12))
    if public_sample == "missing_group":
        weight = (~above).astype(float)
    if not weight.sum():
        return X, y
    rows = streams.generator("public sample").choice(y.size, size=y.size, p=weight / weight.sum())
    return X[rows], y[rows]
