"""Lists of derivations made by processes of this machine."""

import os
from collections.abc import Iterator, Sequence

from lpbench.derivation import Derivation
from lpbench.disk import refusal
from lpbench.errors import LpbenchError
from lpbench.experiments.engines import engine

#: Processes at most: a large figure takes gigabytes.
_WRITERS = 4


def make_all(derivations: Sequence[Derivation], workers: int | None = None) -> Iterator[tuple[Derivation, bool, str]]:
    """Make derivations that are not current; yield each with True if it was written, and why it could not be."""
    outdated = {d.name: d for d in derivations if d.changes()}
    yield from ((d, False, "") for d in derivations if d.name not in outdated)
    writers = min(workers or os.cpu_count() or 1, _WRITERS, len(outdated))
    with engine("loky" if writers > 1 else "serial", writers) as mapping:
        for name, written, problem in mapping(_made, [(d,) for d in outdated.values()]):
            yield outdated.pop(name), written, problem
    for derivation in outdated.values():  # what a worker did not live to write
        yield derivation, *_made(derivation)[1:]


def _made(derivation: Derivation) -> tuple[str, bool, str]:
    """Make a derivation (a result kept in a file); return its name, True if it was written, and why it failed.

    The reason is empty without an error.
    """
    try:
        return derivation.name, derivation.make(), ""
    except LpbenchError as error:
        return derivation.name, False, str(error)
    except OSError as error:
        path = error.filename or derivation.record.parent
        return derivation.name, False, refusal(error, path) or f"{type(error).__name__}: {error}"
