"""Errors and warnings: one clear sentence naming the argument, its value, what was expected and the way out."""

import difflib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

#: What ``lpbench list`` prints.
LISTED = ("dataset", "mask", "method", "experiment")
#: Names that a sentence holds, and one that says how to list them all.
_MOST_NAMES, _FEW_NAMES = 40, 8
#: Starts of the names of experiments in 0.3.0 -> in what they are called today.
_RENAMED = {
    "field/": "comparison/",
    "extensions/attack": "extensions/corrupted_data",
    "extensions/floor": "extensions/constants",
}


class LpbenchError(Exception):
    """Base class of every error that lpbench raises on purpose."""


class ConfigurationError(LpbenchError, ValueError):
    """A setting (argument, config key, command-line override) has an impossible value."""


class DataError(LpbenchError, ValueError):
    """A data file or table is not what its manifest or the caller promised."""


class MissingDataError(DataError):
    """A data set is not at hand; the message says how to get it."""


class PrivacyError(LpbenchError, RuntimeError):
    """A private value was asked for in a way that no guarantee covers."""


class NotPublicError(PrivacyError, AttributeError):
    """Users do not have an attribute, as a private value would be read by it."""


class LimitError(PrivacyError, ValueError):
    """A fit would cost a user more than is left of a ledger's limit: its epsilon is an impossible value."""


class DownloadError(DataError):
    """A file could not be fetched; the message says why."""


class StoreError(LpbenchError, OSError):
    """The results folder cannot be read or written."""


class NotRunError(LpbenchError):
    """Something needs results that are not there; the message says which."""


class TrackingError(LpbenchError):
    """The tracking store cannot be read or written; results and reports do not need it."""


class CellTimeout(LpbenchError):
    """A block ran longer than its clock allows, or would have by its projected run time."""


class PrivacyLeakWarning(UserWarning):
    """A quantity that should be public knowledge was computed from protected data."""


class ClippingWarning(UserWarning):
    """Many features lie outside the declared public domain and were clipped to it."""


class NoMaskWarning(UserWarning):
    """No mask was given to a method that can use public features: it treats all of them as protected."""


class SpendingWarning(UserWarning):
    """Several fits were paid for where one would do."""


@contextmanager
def foreign(what: str, kind: type[LpbenchError] = DataError) -> Iterator[None]:
    """Context that turns any exception of others' code into one sentence that begins with ``what``.

    SystemExit is caught, too; lpbench's own errors pass.
    """
    try:
        yield
    except LpbenchError:
        raise
    except (Exception, SystemExit) as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise kind(f"{what}: {text[:300]}") from error


def unknown_name(kind: str, name: str, names: Iterable[str]) -> ConfigurationError:
    """Build the error for a name that is not registered, listing the nearest names, and renamed ones by today's.

    Parameters
    ----------
    kind : str
        Noun for the message: method, mask, dataset, experiment.
    name : str
        Unknown name.
    names : iterable of str
        Registered names.

    Returns
    -------
    ConfigurationError
        For the caller to raise.
    """
    if kind == "dataset" and name.startswith("openml_"):
        how = f"`lpbench new dataset openml:{name[7:]}` fetches it where there is a network"
        return ConfigurationError(f"data set openml/{name[7:]} is not in the cache: {how}")
    more = f" (`lpbench list {kind}s` prints them all.)" if kind in LISTED else ""
    today = name
    for former, new in _RENAMED.items():
        today = today.replace(former, new)
    return unknown_key(f"unknown {kind}", name, names, more, today)


def check_known(what: str, names: Iterable[str | None], allowed: Collection[str]) -> None:
    """Raise ConfigurationError for the first name that is not among the allowed ones; None is skipped."""
    for name in names:
        if name is not None and name not in allowed:
            raise unknown_key(what, name, allowed)


def unknown_key(what: str, name: str, names: Iterable[str], more: str = "", like: str = "") -> ConfigurationError:
    """Build the error ``<what> <name>: did you mean ...?``, naming what is nearest to ``like`` (default: the name)."""
    names = sorted(names)
    near = difflib.get_close_matches(like or name, names, n=3, cutoff=0.4)
    most = _FEW_NAMES if more else _MOST_NAMES
    more_known = f" and {len(names) - most} more" if len(names) > most else ""
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(names[:most])}{more_known}."
    return ConfigurationError(f"{what} {name!r}: {hint}{more}")
