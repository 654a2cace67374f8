"""What runs on a user's device: one record, a limit on the budget, and one answer per round."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from lpbench.deployment.broadcast import Broadcast, campaign_of
from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.wire import seal
from lpbench.privacy.payload import Field, pack


def fresh_generator() -> np.random.Generator:
    """Return a generator seeded by the operating system; a device must never take its seed from anybody."""
    return np.random.default_rng(secrets.randbits(256))


class Client(ABC):
    """Base of all clients: answers each round once, in order, and never beyond its limit.

    Parameters
    ----------
    user : int
        Number given at enrolment.
    token : bytes
        Key given at enrolment, see :func:`lpbench.deployment.wire.user_token`.
    limit : float
        Largest epsilon that the user agrees to spend over all rounds.
    """

    #: Name of the protocol that the client speaks.
    protocol: str

    def __init__(self, user: int, token: bytes, limit: float):
        self.user, self.limit = user, limit
        self._token = token
        self._last = b""
        self._answered = 0
        self.spent = 0.0

    def answer(self, content: bytes) -> bytes:
        """Answer a broadcast with a serialised report.

        Raises
        ------
        ProtocolError
            If the broadcast is of another protocol, makes no sense, is out of order, a second question of the same
            round, does not follow from the round answered before, or asks for more than is left of the limit. Nothing
            is sent or spent then.
        """
        broadcast = Broadcast.decode(content)
        number = broadcast.settings.get("round")
        if broadcast.settings.get("protocol") != self.protocol:
            raise ProtocolError(f"broadcast of protocol {broadcast.settings.get('protocol')!r}, not {self.protocol!r}")
        if number != self._answered + 1:
            raise ProtocolError(f"asked for round {number!r} after answering {self._answered}; each is answered once")
        if number > 1 and broadcast.settings.get("after") != self._last.hex():
            raise ProtocolError(f"round {number} does not follow from the broadcast answered before")
        try:
            cost = self._cost(broadcast)
            if not 0 <= cost <= self.limit - self.spent + 1e-12 * self.limit:
                raise ProtocolError(f"round {number} costs {cost!r}, but only {self.limit - self.spent:g} is left")
            fields, values = self._report(broadcast)
        except ProtocolError:
            raise
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
            raise ProtocolError(f"the broadcast of round {number} makes no sense: {error!r}") from error
        # Whatever was drawn has been spent, even if the report is lost on its way.
        self.spent += cost
        self._answered, self._last = number, campaign_of(content)
        return seal(self._last, number, self.user, pack(fields, values[None]).tobytes(), self._token)

    @abstractmethod
    def _cost(self, broadcast: Broadcast) -> float:
        """Largest epsilon that answering the broadcast can spend; ProtocolError if it makes no sense."""

    @abstractmethod
    def _report(self, broadcast: Broadcast) -> tuple[Sequence[Field], np.ndarray]:
        """Randomise the record: the fields and the values, ndarray of shape (columns,)."""


def numbers(settings: dict, *names: str, least: float = 0.0) -> list[float]:
    """Read numbers >= least (budgets, say) from a broadcast; ProtocolError if one is missing or something else."""
    values = []
    for name in names:
        value = settings.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= least:
            raise ProtocolError(f"the broadcast's {name}={value!r} must be a number >= {least:g}")
        values.append(float(value))
    return values


def whole(settings: dict, name: str, least: int, most: int) -> int:
    """Read a whole number in [least, most] from a broadcast; ProtocolError if it is something else."""
    value = settings.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ProtocolError(f"the broadcast's {name}={value!r} must be a whole number from {least} to {most}")
    return value
