"""Results that the fits of one process share, such as those of several budgets: computed once from the same inputs."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from lpbench.privacy.users import content_hash

T = TypeVar("T")


class Shared:
    """Cache of the most recent results, keyed by a hash of their inputs' content (least recently used goes first)."""

    def __init__(self, most: int) -> None:
        self._most, self._kept = most, OrderedDict[bytes, Any]()

    def __call__(self, inputs: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """Return ``compute()``, or the cached result for equal ``inputs`` (arrays, plain objects); do not change it.

        ``compute`` may depend on nothing but the inputs.
        """
        key = content_hash(inputs)
        result: T = self._kept.pop(key) if key in self._kept else compute()
        self._kept[key] = result
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return result
