"""What a device has spent and answered, kept in a file so that a restart forgets nothing."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lpbench.checks import check_number, check_whole
from lpbench.deployment.collector import ProtocolError
from lpbench.files import atomic_write, locked


@dataclass(frozen=True)
class Progress:
    """Where a device stands in a protocol.

    Attributes
    ----------
    round : int
        Last round answered; 0: none.
    campaign : str
        Hexadecimal digest of the broadcast answered last.
    """

    round: int = 0
    campaign: str = ""


class Ledger:
    """Epsilon spent on one record, over all protocols, and the progress in each.

    Clients, threads and processes may share a ledger: :meth:`spend` reads, checks and writes it under one lock, and
    every other answer is what the file holds now.

    Parameters
    ----------
    path : Path or str, optional
        File that holds the ledger; it is created by the first entry, and an empty file for the lock beside it. None:
        the ledger ends with the process.

    Raises
    ------
    ProtocolError
        If the file cannot be read: whoever does not know what was spent must not spend more.
    """

    def __init__(self, path: Path | str | None = None):
        # One file has one lock, whatever links lead to it.
        self._path = None if path is None else Path(path).resolve()
        self._lock = threading.RLock()
        self._spent, self._progress = 0.0, {}  # type: float, dict[str, Progress]
        self._refresh()

    @property
    def spent(self) -> float:
        """Epsilon spent so far."""
        with self._lock:
            self._refresh()
            return self._spent

    def progress(self, protocol: str) -> Progress:
        """Return how far the device has come in a protocol."""
        with self._lock:
            self._refresh()
            return self._progress.get(protocol, Progress())

    def check(self, cost: float, limit: float) -> None:
        """Raise a ProtocolError unless an answer may cost this much."""
        left = limit - self.spent
        if not (0 <= cost <= left + 1e-12 * limit and math.isfinite(cost)):
            raise ProtocolError(f"the answer costs {cost!r}, but only {left:g} is left")

    def spend(self, protocol: str, cost: float, *, limit: float, after: Progress, **changes: Any) -> None:
        """Enter an answer that is about to leave; what was entered is on the disk when this returns.

        Parameters
        ----------
        cost : float
            Epsilon of the answer.
        limit : float
            Largest epsilon over all entries.
        after : Progress
            Where the protocol stood when the answer was planned.
        **changes
            Fields of :class:`Progress`.

        Raises
        ------
        ProtocolError
            If less than ``cost`` is left, the protocol has moved on meanwhile, or the ledger cannot be read or written.
            Nothing may leave then; what could not be written to the end may count as spent.
        """
        try:
            with self._alone():
                if self.progress(protocol) != after:
                    raise ProtocolError(f"a round of {protocol!r} was answered meanwhile; each is answered once")
                self.check(cost, limit)
                self._write(self._spent + cost, {**self._progress, protocol: replace(after, **changes)})
        except OSError as error:
            raise ProtocolError(f"the ledger cannot be written, so nothing is sent: {error}") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of this object and of the file."""
        with self._lock:
            if self._path is None:
                yield
            else:
                with locked(self._path.with_name(f"{self._path.name}.lock")):
                    yield

    def _write(self, spent: float, progress: dict[str, Progress]) -> None:
        if self._path is not None:
            entries = {name: asdict(entry) for name, entry in progress.items()}
            with atomic_write(self._path, durable=True) as file:
                file.write(json.dumps({"spent": spent, "progress": entries}).encode())
        self._spent, self._progress = spent, progress

    def _refresh(self) -> None:
        """Read what the file holds now; ProtocolError if it is damaged, or tells of less than was seen before."""
        if self._path is None or (not self._progress and not self._path.exists()):
            return
        try:
            content = json.loads(self._path.read_bytes())
            spent = check_number("spent", content["spent"], least=self._spent, hint="as much as was entered before")
            self._progress = {name: _progress_of(entry) for name, entry in content["progress"].items()}
            self._spent = spent
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ProtocolError(
                f"the ledger {self._path} cannot be read, so nothing may be spent: {error!r}"
            ) from error


def _progress_of(entry: Any) -> Progress:
    return Progress(check_whole("round", entry["round"]), bytes.fromhex(entry["campaign"]).hex())
