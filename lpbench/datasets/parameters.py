"""Parameters of a data set: known names, defaults, checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lpbench.checks import check_choice, check_flag, check_whole, with_new_keys
from lpbench.datasets.corruption import check_corruption
from lpbench.datasets.manifest import Manifest
from lpbench.errors import ConfigurationError, check_known
from lpbench.problem import PARTIAL

if TYPE_CHECKING:
    from lpbench.privacy.poisoned import Liars

#: Parameter of every real data set -> its default and its meaning; None stands for a default that depends on the set.
REAL: Mapping[str, tuple[Any, str]] = {
    "split": (
        "random",
        "random, published (by the papers' scripts) or openml (by the manifest's `task`)",
    ),
    "test_size": (None, "share of test rows among private rows; default 0.3 for regression, 0.2 for classification"),
    "deduplicate": (False, "whether repeated rows are removed"),
    "rows_per_unit": (None, "most training rows per `unit` of the manifest, drawn at random; default: all"),
    "sensitivity": ("manifest", "order of the features: manifest, columns, reversed, random, importance or group"),
    "private_fraction": (1.0, "share of the training rows that are used"),
    "public_share": (0.0, "share of the training rows that become public, if the set has no public rows"),
    "n_public": (None, "number of public rows that are used; default: all"),
    "scaling": ("rows", "range of the features if no rows are public: of all `rows`, or the manifest's `bounds`"),
    "label_range": ("file", "public range of the label: the manifest's `y_range` (file) or its `scale` (scale)"),
    "labels": ("recorded", "labels: recorded, permuted, lognormal, cauchy or zeros"),
    "public_sample": ("recorded", "public rows: recorded, label_shift, concept_drift or missing_group"),
    "liars": (0.0, "share of the training users who send false data (liars)"),
    "poison": ("input", "what liars falsify: input (their record) or output (their report)"),
    "goal": ("error", "what liars aim at: error, point (a wrong prediction at the first test row) or flip (one class)"),
    "defense": ("none", "defense of the curator: none, clip (improbable reports) or median (of nine models)"),
    "metric": (
        None,
        "for classes: accuracy, balanced_accuracy or auc; for all tasks: worst_group or group_gap (by the manifest's "
        "`group`), or at_point (at the first test row); default: the manifest's metric",
    ),
    "sealed": (False, "whether a set with `role: sealed` may be read"),
}
#: Former name of a parameter -> today's.
FORMER = {"defence": "defense"}  # codespell:ignore defence
REAL_PARAMS = {name: default for name, (default, _) in REAL.items()}
#: Where the public range of the label comes from.
LABEL_RANGES = ("file", "scale")
#: What brings the features to [0, 1] where there is no public sample.
SCALINGS = ("rows", "bounds")
#: Metrics of classification.
CLASS_METRICS = ("accuracy", "balanced_accuracy", "auc")
#: Parameters about users who lie, in the order of :class:`lpbench.privacy.Liars`.
LIARS = ("liars", "poison", "goal", "defense")
#: Share of test rows where ``test_size`` is not given: 30 % is ours (HistOfTree is silent), LPCT sec. 7 uses 20 %.
TEST_SIZE = {"regression": 0.3, "classification": 0.2}


def resolve_params(manifest: Manifest, params: Mapping | None) -> dict:
    """Merge parameters into the defaults of the data set; a parameter whose default is a whole number is a count."""
    defaults = manifest.params if manifest.synthetic else REAL_PARAMS
    params = with_new_keys(f"data set {manifest.name}", params or {}, FORMER)
    check_known(f"unknown parameter of data set {manifest.name}", params, defaults)
    resolved = {**defaults, **params}
    for key, default in defaults.items():
        name, value = f"data set {manifest.name}: {key}", resolved[key]
        if default is True or default is False:
            check_flag(name, value)
        elif isinstance(default, int):
            check_whole(name, value, least=1)
    if manifest.synthetic:
        return resolved
    if resolved["rows_per_unit"] is not None:
        check_whole(f"data set {manifest.name}: rows_per_unit", resolved["rows_per_unit"], least=1)
    if resolved["split"] == "openml" and resolved["test_size"] is not None:
        raise ConfigurationError(f"data set {manifest.name}: test_size, but split=openml says which rows are for tests")
    if resolved["test_size"] is None:
        resolved["test_size"] = TEST_SIZE[manifest.task]
    check_choice(f"data set {manifest.name}: scaling", resolved["scaling"], SCALINGS)
    source = check_choice(f"data set {manifest.name}: label_range", resolved["label_range"], LABEL_RANGES)
    if source == "scale" and manifest.scale is None:
        raise ConfigurationError(
            f"data set {manifest.name}: label_range='scale', but its manifest states no scale of measurement; use "
            "label_range=file, or add `scale: [low, high]` to the manifest"
        )
    check_corruption(manifest.name, manifest.task, resolved)
    if any(resolved[name] is not REAL_PARAMS[name] for name in LIARS):
        liars_of(resolved)
    metrics = CLASS_METRICS if manifest.task == "classification" else (manifest.score,)
    resolved["metric"] = resolved["metric"] or manifest.score
    check_choice(f"data set {manifest.name}: metric", resolved["metric"], (*metrics, *PARTIAL))
    if "group" in (*resolved["metric"].split("_"), resolved["sensitivity"]) and not manifest.group:
        raise ConfigurationError(
            f"data set {manifest.name}: its manifest names no group; add `group: {{column: NAME, above: NUMBER}}`"
        )
    if resolved["metric"] in PARTIAL:
        resolved["metric"] += "_mse" if manifest.task == "regression" else "_accuracy"
    return resolved


def check_sealed(manifest: Manifest, params: Mapping) -> None:
    """Refuse a sealed set, unless its parameters ask for it."""
    if manifest.role == "sealed" and not params.get("sealed", False):
        raise ConfigurationError(
            f"data set {manifest.name} is sealed: methods run on it once, when all choices are made; to read it, add "
            f"+sealed=yes to a run, --sealed to `lpbench reproduce`, or sealed=True to its parameters in Python"
        )


def liars_of(params: Mapping) -> Liars:
    """Return the false reporters that a data set's parameters describe; an unknown parameter is refused."""
    from lpbench.privacy.poisoned import Liars  # takes half a second to import

    return Liars(*(params[name] for name in LIARS))
