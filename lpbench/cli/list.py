"""``lpbench list``: what is registered, as text in columns."""

from __future__ import annotations

import argparse
import json

from lpbench.experiments import catalogue as registry


def list_things(args: argparse.Namespace) -> int:
    """Print what is registered."""
    head, rows = _LISTS[args.what]()
    table = [head, *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        print("  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip())
    return 0


def _methods() -> tuple[list[str], list[tuple]]:
    rows = [(m.name, m.task, m.title, m.reference) for m in registry.methods().values()]
    return ["METHOD", "TASK", "TITLE", "REFERENCE"], rows


def _experiments() -> tuple[list[str], list[tuple]]:
    rows = [
        (n, e.get("kind", ""), e.get("replications", ""), e.get("title", "")) for n, e in registry.experiments().items()
    ]
    return ["EXPERIMENT", "KIND", "REPLICATIONS", "TITLE"], rows


def _masks() -> tuple[list[str], list[tuple]]:
    rows = [(n, m.get("title", ""), json.dumps(m.get("params") or {})) for n, m in registry.masks().items()]
    return ["MASK", "TITLE", "PARAMETERS"], rows


def _datasets() -> tuple[list[str], list[tuple]]:
    from lpbench.datasets import describe, list_datasets  # takes two seconds

    found = [describe(name, {}) for name in list_datasets()]
    rows = [(i.name, i.task, i.n_train, i.n_features, "yes" if i.available else "no") for i in found]
    return ["DATASET", "TASK", "ROWS", "FEATURES", "AT HAND"], rows


_LISTS = {"methods": _methods, "experiments": _experiments, "masks": _masks, "datasets": _datasets}
