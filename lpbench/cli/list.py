"""``lpbench list``: what is registered, as text in columns."""

import json
import sys
from collections.abc import Callable, Sequence

import click

from lpbench.errors import LpbenchError
from lpbench.experiments import catalogue as registry

#: Head, rows.
Table = tuple[Sequence[str], Sequence[Sequence[object]]]


def _methods() -> Table:
    heads = registry.heads("method", ("task", "privacy", "title", "reference"))
    rows = [(name, h["task"], h["privacy"] or "-", h["title"], h["reference"]) for name, h in heads.items()]
    return ("METHOD", "TASK", "PRIVACY", "TITLE", "REFERENCE"), rows


def _heads(kind: str, keys: Sequence[str]) -> Table:
    rows = [(name, *head.values()) for name, head in registry.heads(kind, keys).items()]
    texts = [[json.dumps(value) if isinstance(value, dict) else value for value in row] for row in rows]
    return [kind.upper(), *("PARAMETERS" if key == "params" else key.upper() for key in keys)], texts


def _datasets() -> Table:
    from lpbench.datasets import describe, list_datasets, load_manifest  # takes two seconds

    rows = []
    for name in list_datasets():
        try:
            facts = describe(name, {})
        except LpbenchError as error:  # one manifest that cannot be used hides no other
            print(f"warning: {error}", file=sys.stderr)
            continue
        parts = (facts.n_train, facts.n_test, facts.n_public)  # all that a replication draws
        drawn = None if None in parts else sum(part or 0 for part in parts)
        total = load_manifest(name).fingerprint.get("rows") or drawn
        rows.append((name, facts.task, total or "?", facts.n_features, "yes" if facts.available else "no"))
    return ("DATASET", "TASK", "ROWS", "FEATURES", "AT HAND"), rows


_LISTS: dict[str, Callable[[], Table]] = {
    "methods": _methods,
    "datasets": _datasets,
    "masks": lambda: _heads("mask", ("title", "params")),
    "experiments": lambda: _heads("experiment", ("kind", "replications", "title")),
}


@click.command()
@click.argument("what", type=click.Choice(tuple(_LISTS)), metavar="|".join(_LISTS))
def command(what: str) -> int:
    """Print what is registered, yours included."""
    head, rows = _LISTS[what]()
    table = [head, *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        print("  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip())
    return 0
