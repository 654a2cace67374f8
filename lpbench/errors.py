"""Errors and warnings: one clear sentence naming the argument, its value, what was expected and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LpbenchError(Exception):
    """Base class of every error that lpbench raises on purpose."""


class ConfigurationError(LpbenchError, ValueError):
    """A setting (argument, config key, command-line override) has an impossible value."""


class DataError(LpbenchError, ValueError):
    """A data file or table is not what its manifest or the caller promised."""


class MissingDataError(DataError):
    """A data set is not at hand; the message says how to get it."""


class StoreError(LpbenchError, OSError):
    """The results folder cannot be read or written."""


class PrivacyLeakWarning(UserWarning):
    """A quantity that should be public knowledge was computed from protected data."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ConfigurationError:
    """Build the error for a name that is not registered, listing the nearest known names."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}."
    return ConfigurationError(f"unknown {kind} {name!r}: {hint} (`lpbench list {kind}s` prints them all.)")
