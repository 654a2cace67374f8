"""What a device has spent and answered, kept in a file so that a restart forgets nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lpbench.checks import check_number, check_whole
from lpbench.deployment.collector import ProtocolError
from lpbench.files import atomic_write


@dataclass(frozen=True)
class Progress:
    """Where a device stands in a protocol.

    Attributes
    ----------
    round : int
        Last round answered; 0: none.
    campaign : str
        Hexadecimal digest of the broadcast answered last.
    promised : tuple of float
        Budgets of later rounds, announced in the first.
    """

    round: int = 0
    campaign: str = ""
    promised: tuple[float, ...] = ()


class Ledger:
    """Epsilon spent on one record, over all protocols, and the progress in each.

    One process uses a ledger at a time.

    Parameters
    ----------
    path : Path or str, optional
        File that holds the ledger; it is created by the first entry. None: the ledger ends with the process.

    Raises
    ------
    ProtocolError
        If the file cannot be read: whoever does not know what was spent must not spend more.
    """

    def __init__(self, path: Path | str | None = None):
        self._path = None if path is None else Path(path)
        self.spent, self._progress = 0.0, {}  # type: float, dict[str, Progress]
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def _read(self, path: Path) -> None:
        try:
            content = json.loads(path.read_bytes())
            self.spent = check_number("spent", content["spent"], least=0)
            for protocol, entry in content["progress"].items():
                promised = tuple(check_number("promised", budget, least=0) for budget in entry["promised"])
                number = check_whole("round", entry["round"])
                self._progress[protocol] = Progress(number, bytes.fromhex(entry["campaign"]).hex(), promised)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ProtocolError(f"the ledger {path} cannot be read, so nothing may be spent: {error!r}") from error

    def progress(self, protocol: str) -> Progress:
        """Return how far the device has come in a protocol."""
        return self._progress.get(protocol, Progress())

    def record(self, protocol: str, cost: float, **changes: Any) -> None:
        """Enter an answer that is about to leave; what was entered is on the disk when this returns.

        Parameters
        ----------
        protocol : str
        cost : float
            Epsilon of the answer.
        **changes
            Fields of :class:`Progress`.

        Raises
        ------
        OSError
            If the file cannot be written; nothing is entered then.
        """
        spent = self.spent + cost
        progress = {**self._progress, protocol: replace(self.progress(protocol), **changes)}
        if self._path is not None:
            entries = {name: asdict(entry) for name, entry in progress.items()}
            with atomic_write(self._path, durable=True) as file:
                file.write(json.dumps({"spent": spent, "progress": entries}).encode())
        self.spent, self._progress = spent, progress
