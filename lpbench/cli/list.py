"""``lpbench list``: what is registered, as text in columns."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from lpbench.errors import LpbenchError
from lpbench.experiments import catalog as registry
from lpbench.paths import own_folders

#: Names of a kind that stand beside a folder.
_SHOWN = 6
#: Head, rows.
Table = tuple[Sequence[str], Sequence[Sequence[object]]]


def _methods() -> Table:
    heads = registry.heads("method", ("task", "privacy", "title", "reference"))
    rows = [(name, h["task"], h["privacy"] or "-", h["title"], h["reference"]) for name, h in heads.items()]
    return ("METHOD", "TASK", "STATED PRIVACY", "TITLE", "REFERENCE"), rows


def _heads(kind: str, keys: Sequence[str]) -> Table:
    rows = [(name, *head.values()) for name, head in registry.heads(kind, keys).items()]
    texts = [[json.dumps(value) if isinstance(value, dict) else value for value in row] for row in rows]
    return [kind.upper(), *("PARAMETERS" if key == "params" else key.upper() for key in keys)], texts


def _datasets() -> Table:
    """Return header and rows of the table of data sets; one that cannot be read is passed over with a warning."""
    from lpbench.datasets import describe, list_datasets, load_manifest  # takes two seconds

    rows = []
    for name in list_datasets():
        try:
            facts = describe(name, {})
        except LpbenchError as error:  # one manifest that cannot be used hides no other
            print(f"warning: {error}", file=sys.stderr)
            continue
        parts = (facts.n_train, facts.n_test, facts.n_public)  # all that a replication draws
        drawn = None if None in parts else sum(count or 0 for count in parts)
        total = load_manifest(name).fingerprint.get("rows") or drawn
        rows.append((name, facts.task, total or "?", facts.n_features, "yes" if facts.available else "no"))
    return ("DATASET", "TASK", "ROWS", "FEATURES", "AT HAND"), rows


_LISTS: dict[str, Callable[[], Table]] = {
    "methods": _methods,
    "datasets": _datasets,
    "masks": lambda: _heads("mask", ("title", "params")),
    "experiments": lambda: _heads("experiment", ("kind", "replications", "title")),
}


def _contents(folder: Path) -> str:
    """Text on a folder of plug-ins: its path and the names in it, of which code may be run."""
    kinds = {
        kind: sorted(path.stem for path in (folder / kind).rglob("*.yaml"))
        for kind in ("methods", "datasets", "experiments")
    }
    named = "; ".join(
        f"{kind} {', '.join(names[:_SHOWN])}" + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        for kind, names in kinds.items()
        if names
    )
    return f"{folder} ({named or 'nothing registered'})"


@click.command()
@click.argument("what", type=click.Choice(tuple(_LISTS)), metavar="|".join(_LISTS))
def command(what: str) -> int:
    """Print the registered methods, data sets, masks or experiments, with those in the user's folders."""
    for folder in own_folders():
        print(f"plug-ins: {_contents(folder)}", file=sys.stderr)
    head, rows = _LISTS[what]()
    table = [head, *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        print("  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip())
    return 0
