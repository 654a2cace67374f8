"""Audits of libraries' randomizers by sampling, and their table."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from importlib.metadata import version
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from lpbench.audit.adapters.registry import RANDOMIZERS, LibraryRandomizer
from lpbench.audit.empirical import lower_bound
from lpbench.audit.randomizers import Message, Randomizer
from lpbench.errors import ConfigurationError
from lpbench.privacy import GRR
from lpbench.seeds import Streams

EPSILONS = (0.5, 1.0, 4.0)
#: Reports of each of the two values, and the probability that a bound exceeds the loss.
SAMPLES, FAILURE = 10_000, 1e-6


@dataclass(frozen=True)
class LibraryRow:
    """Result of one audit.

    Attributes
    ----------
    epsilon, delta : float
        What is claimed.
    lower_bound : float
        What the sample proves.
    samples : int
        Reports of each of the two values.
    failure : float
        Probability that ``lower_bound`` exceeds the loss.
    verdict : {"within", "exceeds", "refused"}
        "within": the sample does not contradict the claim; "refused": the library does not take this epsilon.
    """

    library: str
    version: str
    name: str
    epsilon: float
    delta: float
    lower_bound: float
    samples: int
    failure: float
    verdict: str
    note: str


def audit_library(
    key: str, epsilon: float, samples: int = SAMPLES, seed: int = 0, failure: float = FAILURE
) -> LibraryRow:
    """Bound the loss of a library's randomizer from below, between two values.

    Parameters
    ----------
    key : str
        ``library/name``, a key of :data:`RANDOMIZERS`.
    epsilon : float
        What it is asked for.
    samples : int
        Reports of each of the two values.
    seed : int
        Of the generators that a library lets be seeded; OpenDP draws from the operating system and multi-freq-ldpy by
        compiled code with a generator of its own, so that their bounds differ slightly from run to run.
    failure : float
        Probability that the bound exceeds the loss.

    Raises
    ------
    ConfigurationError
        If the key is unknown or the library is not installed.
    """
    if key not in RANDOMIZERS:
        raise ConfigurationError(f"library={key!r} must be one of {', '.join(RANDOMIZERS)}")
    subject = RANDOMIZERS[key]
    try:
        report = subject.make(epsilon)
    except ImportError as error:
        raise ConfigurationError(
            f"{subject.library} cannot be imported ({error}): pip install 'lpbench[audit-libraries]' in an environment "
            "of its own"
        ) from error
    except ValueError as error:
        reason = f"the library refuses: {error}"
        return _row(subject, epsilon, 0.0, 0, failure, "refused", reason)

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        rng = streams.generator("library")
        with _seeded(int(rng.integers(2**31))):
            return np.array([np.ravel(report(value, rng)) for _ in range(n)], dtype=np.float64)

    message = Message(GRR(epsilon, 2), np.arange(2), send)
    randomizer = Randomizer(key, "ldp", epsilon, [message], 2, delta=subject.delta)
    bound = lower_bound(randomizer, samples, Streams(seed).child("library", name=key), failure, pair=(0, 1)).epsilon
    verdict = "exceeds" if bound > epsilon else "within"
    return _row(subject, epsilon, bound, samples, failure, verdict, subject.note)


def _row(
    subject: LibraryRandomizer, epsilon: float, bound: float, samples: int, failure: float, verdict: str, note: str
) -> LibraryRow:
    release = version(subject.library)
    return LibraryRow(
        subject.library, release, subject.name, epsilon, subject.delta, bound, samples, failure, verdict, note
    )


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that these libraries draw from, and restore them."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002


def audit_all(keys: Sequence[str] = ()) -> list[LibraryRow]:
    """Audit randomizers (default: all) at every budget, in two processes."""
    tasks = [(key, epsilon) for key in keys or RANDOMIZERS for epsilon in EPSILONS]
    rows: list[LibraryRow] = Parallel(n_jobs=2, batch_size=1)(delayed(audit_library)(*task) for task in tasks)
    return rows


def write_csv(rows: list[LibraryRow], path: Path) -> None:
    """Write rows with the names of the attributes as a header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(LibraryRow)])
        writer.writerows([f"{v:.6g}" if isinstance(v, float) else v for v in astuple(row)] for row in rows)
