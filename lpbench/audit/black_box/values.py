"""Values that an audit compares, read from words: numbers, JSON, texts, or ``uniform:LOW,HIGH``."""

import math
from collections.abc import Sequence
from typing import Any

from lpbench.errors import ConfigurationError
from lpbench.seeds import Streams
from lpbench.selectors import parse_value

#: Most values whose pairs are searched.
MOST_VALUES = 40
_RANGE = "uniform:"
#: Random values that stand for a range, besides its ends and its middle.
_INSIDE = 5


def parse_values(words: Sequence[str], seed: int = 0) -> list[Any]:
    """Read values: JSON, else text; ``uniform:LOW,HIGH`` is both ends, the middle and random numbers between."""
    values: list[Any] = []
    for word in words:
        for value in _range(word, seed) if word.startswith(_RANGE) else [parse_value(word)]:
            if value not in values:
                values.append(value)
    if not 2 <= len(values) <= MOST_VALUES:
        raise ConfigurationError(
            f"{len(values)} values: an audit compares 2 to {MOST_VALUES} distinct ones, as --values 0 1 or uniform:0,1"
        )
    return values


def show_value(value: Any) -> str:
    """Return a value as text of at most 40 characters."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _range(word: str, seed: int) -> list[float]:
    """Values to compare from "PREFIX low,high": both ends, the middle, and some drawn inside.

    ConfigurationError for anything but two finite, increasing numbers.
    """
    try:
        low, high = (float(end) for end in word.removeprefix(_RANGE).split(","))
    except ValueError:
        raise ConfigurationError(f"values {word!r} must read {_RANGE}LOW,HIGH with two numbers") from None
    if not (low < high and math.isfinite(high - low)):
        raise ConfigurationError(f"values {word!r}: the first number must be below the second, both finite")
    inside = Streams(seed).generator("values").uniform(low, high, _INSIDE)
    return [low, high, (low + high) / 2, *map(float, inside)]
