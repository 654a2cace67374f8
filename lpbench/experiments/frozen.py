"""Dataclasses that are Hydra's schemas and cannot be changed once they are built."""

from dataclasses import FrozenInstanceError, fields
from typing import Any

#: Value of a field that the configuration must give (omegaconf's own mark, without importing it).
MISSING: Any = "???"


class Frozen:
    """Base class of the dataclasses of the configuration.

    ``dataclass(frozen=True)`` would make omegaconf treat the schema itself as read-only, so that nothing could be
    overridden. Here the schema is open and its instances, which ``OmegaConf.to_object`` builds, are frozen: lists
    become tuples, and assigning an attribute raises :class:`dataclasses.FrozenInstanceError`.
    """

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, list):
                object.__setattr__(self, field.name, tuple(value))
        object.__setattr__(self, "_frozen", True)

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_frozen", False):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)
