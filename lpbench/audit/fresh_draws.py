"""Other randomness for calls that are executed again."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from lpbench.estimators.histoftree.user_cells import ReportDraws
from lpbench.seeds import Streams

Arguments = Mapping[str, Any]


def fresh_streams(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Other streams."""
    return {"streams": streams}


def fresh_draws(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Other draws of a device."""
    device, records, question = (arguments[name] for name in ("self", "records", "question"))
    return {"draws": device.draws(streams, len(records), question)}


def fresh_subset(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Other draws of users whose categories are known."""
    device, categories, question = (arguments[name] for name in ("self", "categories", "question"))
    return {"draws": device.draws(streams, categories.size, question)}


def fresh_keep(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Other draws of users whose cells, and blind cells, are known."""
    return {"draws": ReportDraws(streams, arguments["places"].choices.size)}


def fresh_seed(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Another seed of a hash."""
    return {"seed": streams.seed}


def fresh_grid(arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """The same true sums with another seed of the noise."""
    twin = copy(arguments["self"])
    twin._seed = streams.seed
    return {"self": twin}
